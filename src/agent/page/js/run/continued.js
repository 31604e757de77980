/** Where a run goes on that its server lost when it died: begun again, under another id. */

import { backoff, patiently } from "./following.js";
import { serverError } from "./server.js";
import { MARK } from "./turns.js";

/** About two minutes: of a machine that is gone, servers that share its runs know after one and a half. */
const LOOKS = 28;
const LISTED = 20;
const PATIENT_TRIES = 60;

/**
 * What became of the run.
 * @param {object} client of the LangGraph SDK
 * @param {{threadId: string, runIds: string[]}} run the ids it had so far
 * @param {{signal: AbortSignal, wait: typeof import("./following.js").waiting}} options
 * @returns {Promise<object|null|undefined>} the record of the run that goes on with it; null where
 *   the thread has all that was to come; undefined where `signal` ended it; throws ServerError,
 *   404 where nobody goes on with it
 */
export async function continued(client, run, { signal, wait }) {
  for (let looks = 1; ; looks += 1) {
    const found = await patiently(() => look(client, run, signal), { signal, wait, tries: PATIENT_TRIES });
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
