/** Follows a turn's run from where it is to its end, under whatever id it goes on. */

import { backoff, resumableStream, LostRun, withRetries } from "./resumable_stream.js";
import { serverError, statusOf } from "./server.js";
import { StreamReader } from "./stream_reader.js";
import { MARK } from "./turns.js";

/** About two minutes: of a machine that is gone, servers that share its runs know after one and a half. */
const LOOKS = 28;
const LISTED = 20;
const PATIENT_TRIES = 60;

/**
 * Follows the run of a turn to its end; the turn has what it tells.
 * @param {Client} client
 * @param {{threadId: string, turn: Turn}} followed whose run the server has taken
 * @param {Following & {changed: (isAnother: boolean) => void}} options `changed` is told whether another
 *   run goes on
 * @returns {Promise<{status: RunStatus, failure: Failure}|undefined>} how it ended; undefined
 *   where `signal` ended it; throws ServerError where it cannot be reached any more
 */
export async function followToEnd(client, { threadId, turn }, { signal, wait, changed }) {
  for (;;) {
    const reader = new StreamReader(turn);
    /** @param {boolean} isAway */
    const away = (isAway) => {
      if (turn.isAway === isAway) return;
      turn.isAway = isAway;
      changed(false);
    };
    try {
      const parts = resumableStream(client, { threadId, runId: turn.runId ?? "" }, { signal, wait, away });
      let part = await parts.next();
      for (; !part.done; part = await parts.next()) if (reader.read(part.value)) changed(false);
      return part.value && { status: part.value.status, failure: reader.failure };
    } catch (error) {
      if (!(error instanceof LostRun)) throw error;
    }
    Object.assign(turn, { isLost: true, isAway: false });
    changed(false);
    const runIds = [turn.firstRunId, turn.runId];
    const run = await findContinuation(client, { threadId, runIds }, { signal, wait });
    if (run === undefined) return undefined;
    if (run === null) return { status: "success", failure: null };
    // What was written of the answer stays until the other run begins to write.
    Object.assign(turn, { isLost: false, runId: run.run_id, messageId: null });
    changed(true);
  }
}

/** @typedef {{threadId: string, runIds: (string|null)[]}} KnownRun with the ids it had so far */

/**
 * Finds what became of the run.
 * @param {Client} client
 * @param {KnownRun} run
 * @param {Following} options
 * @returns {Promise<Run|null|undefined>} the record of the run that goes on with it; null where
 *   the thread has all that was to come; undefined where `signal` ended it; throws ServerError,
 *   404 where nobody goes on with it
 */
export async function findContinuation(client, run, { signal, wait }) {
  for (let looks = 1; ; looks += 1) {
    const seen = await withRetries(() => look(client, run, signal), { signal, wait, tries: PATIENT_TRIES });
    if (!seen || seen.run !== undefined) return seen?.run;
    if (looks === LOOKS) throw serverError({ status: 404 });
    await wait(backoff(looks), signal);
  }
}

/**
 * Returns {run}, or {} where there is nothing to see yet.
 * @param {Client} client @param {KnownRun} known @param {AbortSignal} signal
 * @returns {Promise<{run?: Run|null}>}
 */
async function look(client, { threadId, runIds }, signal) {
  try {
    const runs = await client.runs.list(threadId, { limit: LISTED, signal });
    const run = runs.find(({ run_id, metadata }) => runIds.includes(metadata?.[MARK] ?? run_id));
    if (run) return { run };
    const state = await client.threads.getState(threadId, undefined, { signal });
    return hasEnded(state, runIds) ? { run: null } : {};
  } catch (error) {
    if (statusOf(error) === 404) return {};
    throw error;
  }
}

/**
 * Tells whether the thread's last step is the run's, and nothing is left to do, or a person is asked.
 * @param {ThreadState} state @param {(string|null)[]} runIds
 */
function hasEnded({ metadata, interrupts, tasks, next }, runIds) {
  const isIts = [metadata?.run_id, metadata?.[MARK]].some((id) => runIds.includes(id ?? ""));
  return isIts && Boolean(interrupts?.length || !(tasks?.length || next?.length));
}
