/** A turn's run from where it is to its end, under whatever id it goes on. */

import { backoff, resumableStream, LostRun, withRetries } from "./resumable_stream.js";
import { serverError } from "./server.js";
import { StreamReader } from "./stream_reader.js";
import { MARK } from "./turns.js";

/** About two minutes: of a machine that is gone, servers that share its runs know after one and a half. */
const LOOKS = 28;
const LISTED = 20;
const PATIENT_TRIES = 60;

/**
 * Hears the run of a turn to its end; the turn has what it tells.
 * @param {object} client of the LangGraph SDK
 * @param {{threadId: string, turn: import("./turns.js").Turn}} heard
 * @param {{signal: AbortSignal, wait: typeof import("./resumable_stream.js").delay,
 *   changed: (continued: boolean) => void}} options `changed` is told whether another run goes on
 * @returns {Promise<{status: string, failure: object|null}|undefined>} how it ended; undefined
 *   where `signal` ended it; throws ServerError where it cannot be reached any more
 */
export async function followToEnd(client, { threadId, turn }, { signal, wait, changed }) {
  for (;;) {
    const reader = new StreamReader(turn);
    try {
      const parts = resumableStream(client, { threadId, runId: turn.runId }, { signal, wait });
      let part = await parts.next();
      for (; !part.done; part = await parts.next()) if (reader.read(part.value)) changed(false);
      return part.value && { status: part.value.status, failure: reader.failure };
    } catch (error) {
      if (!(error instanceof LostRun)) throw error;
    }
    Object.assign(turn, { isLost: true });
    changed(false);
    const run = await findContinuation(client, { threadId, runIds: [turn.firstRunId, turn.runId] }, { signal, wait });
    if (run === undefined) return undefined;
    if (run === null) return { status: "success", failure: null };
    // What was written of the answer stays until the other run begins to write.
    Object.assign(turn, { isLost: false, runId: run.run_id, messageId: null });
    changed(true);
  }
}

/**
 * What became of the run.
 * @param {object} client of the LangGraph SDK
 * @param {{threadId: string, runIds: string[]}} run the ids it had so far
 * @param {{signal: AbortSignal, wait: typeof import("./resumable_stream.js").delay}} options
 * @returns {Promise<object|null|undefined>} the record of the run that goes on with it; null where
 *   the thread has all that was to come; undefined where `signal` ended it; throws ServerError,
 *   404 where nobody goes on with it
 */
export async function findContinuation(client, run, { signal, wait }) {
  for (let looks = 1; ; looks += 1) {
    const found = await withRetries(() => look(client, run, signal), { signal, wait, tries: PATIENT_TRIES });
    if (!found || "run" in found) return found?.run;
    if (looks === LOOKS) throw serverError({ status: 404 });
    await wait(backoff(looks), signal);
  }
}

/** {run}, or {} where there is nothing to see yet. */
async function look(client, { threadId, runIds }, signal) {
  try {
    const runs = await client.runs.list(threadId, { limit: LISTED, signal });
    const run = runs.find(({ run_id, metadata }) => runIds.includes(metadata?.[MARK] ?? run_id));
    if (run) return { run };
    const state = await client.threads.getState(threadId, undefined, { signal });
    return hasEnded(state, runIds) ? { run: null } : {};
  } catch (error) {
    if (error?.status === 404) return {};
    throw error;
  }
}

/** Whether the thread's last step is the run's, and nothing is left to do, or a person is asked. */
function hasEnded({ metadata, interrupts, tasks, next }, runIds) {
  const isIts = [metadata?.run_id, metadata?.[MARK]].some((id) => runIds.includes(id));
  return isIts && Boolean(interrupts?.length || !(tasks?.length || next?.length));
}
