/** A run's stream to its very end, over lost connections and servers that start again. */

import { ServerError, serverError } from "./server.js";
import { isActive } from "./turns.js";

/** @import { StreamPart } from "../../vendor/langgraph-sdk.js" */
/** @typedef {{threadId: string, runId: string}} RunIds */

const TRIES = 8;
const POLLS = 60;
const LONGEST_WAIT_MS = 5000;
/** The server sends a sign of life every 5 s; without any for this long the connection is dead. */
const SILENCE_MS = 15_000;
const FINAL = new Set([401, 403, 404, 422]);

/** Says that the server that came back does not know the run: it may go on under another id. */
export class LostRun extends ServerError {
  /** @override */
  name = "LostRun";

  constructor() {
    super(404, serverError({ status: 404 }).message);
  }
}

/**
 * Yields what a run tells, each part once; returns the run's record once it has ended.
 * @param {Client} client
 * @param {RunIds} run
 * @param {Following & {silence?: number, away?: (isAway: boolean) => void}} options `silence` in ms;
 *   `away` is told when the connection breaks and when it is back
 * @returns {AsyncGenerator<StreamPart, Run|undefined>} undefined
 *   where `signal` ended it; throws ServerError where the run cannot be reached any more, LostRun
 *   where it is gone since the connection broke
 */
export async function* resumableStream(client, run, { signal, wait, silence = SILENCE_MS, away }) {
  const seen = new SeenParts();
  let failures = 0;
  let broke = false;
  for (let vain = 1; failures < TRIES && !signal.aborted; vain += 1) {
    try {
      for await (const part of connect(client, run, seen.since, { signal, silence })) {
        if (failures) away?.(false);
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
      if (isFinal(error) && !signal.aborted) throw serverError(broke ? gone(error) : error);
      failures += 1;
      broke = true;
      if (!signal.aborted) away?.(true);
    }
    await wait(backoff(vain), signal);
  }
  return signal.aborted ? undefined : poll(client, run, { signal, wait });
}

/** @param {any} error */
const isFinal = (error) => FINAL.has(error?.status);
/** @param {any} error */
const gone = (error) => (error?.status === 404 ? new LostRun() : error);

/**
 * Returns the run's record once it has ended, by asking every few seconds.
 * @param {Client} client @param {RunIds} run @param {Following} options
 */
async function poll(client, run, { signal, wait }) {
  const ask = () =>
    client.runs.get(run.threadId, run.runId, { signal }).catch((error) => { throw gone(error); });
  for (;;) {
    const now = await withRetries(ask, { signal, wait, tries: POLLS });
    if (!now || !isActive(now)) return now;
    await wait(LONGEST_WAIT_MS, signal);
  }
}

/**
 * Makes a request again where it fails for now.
 * @template T
 * @param {() => Promise<T>} act
 * @param {Following & {tries?: number}} options
 * @returns {Promise<T|undefined>} undefined where `signal` ended it; throws ServerError
 */
export async function withRetries(act, { signal, wait, tries = TRIES }) {
  for (let failures = 0; !signal.aborted;) {
    try {
      return await act();
    } catch (error) {
      failures += 1;
      if (signal.aborted) return undefined;
      if (isFinal(error) || failures >= tries) throw serverError(error);
      await wait(backoff(failures), signal);
    }
  }
  return undefined;
}

/**
 * Yields the parts of one connection, which is given up where not even a sign of life comes.
 * @param {Client} client @param {RunIds} run @param {string} lastEventId
 * @param {{signal: AbortSignal, silence: number}} options
 */
async function* connect(client, { threadId, runId }, lastEventId, { signal, silence }) {
  const own = new AbortController();
  const end = () => own.abort();
  const either = AbortSignal.any([signal, own.signal]);
  let timer = setTimeout(end, silence);
  try {
    const parts = client.runs.joinStream(threadId, runId, { lastEventId, signal: either });
    for await (const part of parts) {
      clearTimeout(timer);
      timer = setTimeout(end, silence);
      if (part.event) yield part;
    }
    if (own.signal.aborted && !signal.aborted) throw new Error("silence");
  } finally {
    clearTimeout(timer);
  }
}

/** Knows what was seen already: a server replays from an id on, and may give several parts the same id. */
class SeenParts {
  /** A new connection asks for what came after this: all under the last id may not have come. */
  since = "-1";
  #last = "-1";
  /** @type {Set<string>} */
  #under = new Set();

  /** Adds a part; returns whether it is new, which it is once. @param {StreamPart} part */
  add({ id, event, data }) {
    if (!id) return true;
    const order = compare(id, this.#last);
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

/**
 * Returns a number below 0 where an id comes before another; ids are `<ms>-<n>` where the server can replay.
 * @param {string} id @param {string} other
 */
function compare(id, other) {
  if (id === other) return 0;
  const [one, two] = [id, other].map((text) => /^(\d+)-(\d+)$/.exec(text)?.slice(1).map(Number));
  return one && two ? one[0] - two[0] || one[1] - two[1] : 1;
}

/** Returns the milliseconds to wait after so many failures in a row. @param {number} failures */
export const backoff = (failures) => Math.min(500 * 2 ** (failures - 1), LONGEST_WAIT_MS);

/**
 * Waits; sooner over where `signal` ends it.
 * @param {number} ms @param {AbortSignal} signal @returns {Promise<void>}
 */
export function delay(ms, signal) {
  const end = AbortSignal.any([signal, AbortSignal.timeout(ms)]);
  return new Promise((resolve) => {
    if (end.aborted) resolve();
    else end.addEventListener("abort", () => resolve());
  });
}
