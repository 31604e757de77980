/** A run's stream to its very end, over lost connections and servers that start again. */

import { ServerError, serverError } from "./server.js";
import { isActive } from "./turns.js";

const TRIES = 8;
const POLLS = 60;
const LONGEST_WAIT_MS = 5000;
/** The server sends a sign of life every 5 s; without any for this long the connection is dead. */
const SILENCE_MS = 25_000;
const FINAL = new Set([401, 403, 404, 422]);

/** The server that came back does not know the run: it may go on under another id. */
export class LostRun extends ServerError {
  name = "LostRun";

  constructor() {
    super(404, serverError({ status: 404 }).message);
  }
}

/**
 * What a run tells, each part once; returns the run's record once it has ended.
 * @param {object} client of the LangGraph SDK
 * @param {{threadId: string, runId: string}} run
 * @param {{signal: AbortSignal, wait: typeof delay, silence?: number}} options `silence` in ms
 * @returns {AsyncGenerator<{id?: string, event: string, data: any}, object|undefined>} undefined
 *   where `signal` ended it; throws ServerError where the run cannot be reached any more, LostRun
 *   where it is gone since the connection broke
 */
export async function* resumableStream(client, run, { signal, wait, silence = SILENCE_MS }) {
  const seen = new SeenParts();
  let failures = 0;
  let broke = false;
  for (let vain = 1; failures < TRIES && !signal.aborted; vain += 1) {
    try {
      for await (const part of joined(client, run, seen.since, { signal, silence })) {
        if (!seen.add(part)) continue;
        failures = vain = 0;
        if (part.id) broke = false;
        yield part;
      }
      // A stream may end before its run: its log is gone, or the server starts again.
      const now = await client.runs.get(run.threadId, run.runId, { signal });
      if (!isActive(now)) return now;
      failures = 0;
      broke = false;
    } catch (error) {
      if (FINAL.has(error?.status) && !signal.aborted) throw serverError(broke ? gone(error) : error);
      failures += 1;
      broke = true;
    }
    await wait(backoff(vain), signal);
  }
  return signal.aborted ? undefined : polled(client, run, { signal, wait });
}

const gone = (error) => (error?.status === 404 ? new LostRun() : error);

/** The run's record once it has ended, by asking every few seconds. */
async function polled(client, run, { signal, wait }) {
  const ask = () => client.runs.get(run.threadId, run.runId, { signal }).catch((error) => { throw gone(error); });
  for (;;) {
    const now = await withRetries(ask, { signal, wait, tries: POLLS });
    if (!now || !isActive(now)) return now;
    await wait(LONGEST_WAIT_MS, signal);
  }
}

/**
 * A request made again where it fails for now.
 * @template T
 * @param {() => Promise<T>} act
 * @param {{signal: AbortSignal, wait: typeof delay, tries?: number}} options
 * @returns {Promise<T|undefined>} undefined where `signal` ended it; throws ServerError
 */
export async function withRetries(act, { signal, wait, tries = TRIES }) {
  for (let failures = 0; !signal.aborted;) {
    try {
      return await act();
    } catch (error) {
      failures += 1;
      if (signal.aborted) return undefined;
      if (FINAL.has(error?.status) || failures >= tries) throw serverError(error);
      await wait(backoff(failures), signal);
    }
  }
  return undefined;
}

/** One connection; given up where not even a sign of life comes. */
async function* joined(client, { threadId, runId }, lastEventId, { signal, silence }) {
  const own = new AbortController();
  const end = () => own.abort();
  signal.addEventListener("abort", end);
  let timer = setTimeout(end, silence);
  try {
    for await (const part of client.runs.joinStream(threadId, runId, { lastEventId, signal: own.signal })) {
      clearTimeout(timer);
      timer = setTimeout(end, silence);
      if (part.event) yield part;
    }
    if (own.signal.aborted && !signal.aborted) throw new Error("silence");
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", end);
  }
}

/** What was seen already: a server replays from an id on, and may give several parts the same id. */
class SeenParts {
  /** A new connection asks for what came after this: all under the last id may not have come. */
  since = "-1";
  #last = "-1";
  #under = new Set();

  /** Whether the part is new, which it is once. */
  add({ id, event, data }) {
    if (!id) return true;
    const order = compared(id, this.#last);
    const part = JSON.stringify([event, data]);
    if (order < 0 || (order === 0 && this.#under.has(part))) return false;
    if (order > 0) {
      this.since = this.#last;
      this.#last = id;
      this.#under.clear();
    }
    this.#under.add(part);
    return true;
  }
}

/** Below 0 where an id comes before another; ids are `<ms>-<n>` where the server can replay. */
function compared(id, other) {
  if (id === other) return 0;
  const [one, two] = [id, other].map((text) => /^(\d+)-(\d+)$/.exec(text)?.slice(1).map(Number));
  return one && two ? one[0] - two[0] || one[1] - two[1] : 1;
}

/** Milliseconds to wait after so many failures in a row. @param {number} failures */
export const backoff = (failures) => Math.min(500 * 2 ** (failures - 1), LONGEST_WAIT_MS);

/** Waits; sooner over where `signal` ends it. @param {number} ms @param {AbortSignal} signal */
export function delay(ms, signal) {
  return new Promise((resolve) => {
    const done = () => { clearTimeout(timer); signal.removeEventListener("abort", done); resolve(); };
    const timer = setTimeout(done, signal.aborted ? 0 : ms);
    signal.addEventListener("abort", done);
  });
}
