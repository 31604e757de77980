/** A run's stream to its very end, over lost connections and servers that start again. */

import { serverError } from "./server.js";
import { isActive } from "./turns.js";

const TRIES = 8;
const POLLS = 60;
const LONGEST_WAIT_MS = 5000;
/** The server sends a sign of life every 5 s; without any for this long the connection is dead. */
const SILENCE_MS = 25_000;
const FINAL = new Set([401, 403, 404, 422]);

/**
 * What a run tells, each part once; returns the run's record once it has ended.
 * @param {object} client of the LangGraph SDK
 * @param {{threadId: string, runId: string}} run
 * @param {{signal: AbortSignal, wait: typeof waiting, silence?: number}} options `silence` in ms
 * @returns {AsyncGenerator<{id?: string, event: string, data: any}, object|undefined>} undefined
 *   where `signal` ended it; throws ServerError where the run cannot be reached any more
 */
export async function* following(client, run, { signal, wait, silence = SILENCE_MS }) {
  let last = "-1";
  let failures = 0;
  for (let vain = 1; failures < TRIES && !signal.aborted; vain += 1) {
    try {
      for await (const part of joined(client, run, last, { signal, silence })) {
        if (!isAfter(part.id, last)) continue;
        failures = vain = 0;
        last = part.id ?? last;
        yield part;
      }
      // A stream may end before its run: its log is gone, or the server starts again.
      const now = await client.runs.get(run.threadId, run.runId, { signal });
      if (!isActive(now)) return now;
      failures = 0;
    } catch (error) {
      if (FINAL.has(error?.status) && !signal.aborted) throw serverError(error);
      failures += 1;
    }
    await wait(backoff(vain), signal);
  }
  return signal.aborted ? undefined : polled(client, run, { signal, wait });
}

/** The run's record once it has ended, by asking every few seconds. */
async function polled(client, run, { signal, wait }) {
  const ask = () => client.runs.get(run.threadId, run.runId, { signal });
  for (;;) {
    const now = await patiently(ask, { signal, wait, tries: POLLS });
    if (!now || !isActive(now)) return now;
    await wait(LONGEST_WAIT_MS, signal);
  }
}

/**
 * A request made again where it fails for now.
 * @template T
 * @param {() => Promise<T>} act
 * @param {{signal: AbortSignal, wait: typeof waiting, tries?: number}} options
 * @returns {Promise<T|undefined>} undefined where `signal` ended it; throws ServerError
 */
export async function patiently(act, { signal, wait, tries = TRIES }) {
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

/** Whether an event id comes after another; ids are `<ms>-<n>` where the server can replay. */
function isAfter(id, last) {
  const [one, other] = [id, last].map((text) => /^(\d+)-(\d+)$/.exec(text ?? "")?.slice(1).map(Number));
  if (!one || !other) return true;
  return one[0] > other[0] || (one[0] === other[0] && one[1] > other[1]);
}

const backoff = (failures) => Math.min(500 * 2 ** (failures - 1), LONGEST_WAIT_MS);

/** Waits; sooner over where `signal` ends it. @param {number} ms @param {AbortSignal} signal */
export function waiting(ms, signal) {
  return new Promise((resolve) => {
    const done = () => { clearTimeout(timer); signal.removeEventListener("abort", done); resolve(); };
    const timer = setTimeout(done, signal.aborted ? 0 : ms);
    signal.addEventListener("abort", done);
  });
}
