/** A turn's run from where it is to its end, under whatever id it goes on. */

import { continued } from "./continued.js";
import { following, LostRun } from "./following.js";
import { Hearing } from "./hearing.js";

/**
 * Hears the run of a turn to its end; the turn has what it tells.
 * @param {object} client of the LangGraph SDK
 * @param {{threadId: string, turn: import("./turns.js").Turn}} heard
 * @param {{signal: AbortSignal, wait: typeof import("./following.js").waiting,
 *   changed: (continued: boolean) => void}} options `changed` is told whether another run goes on
 * @returns {Promise<{status: string, failure: object|null}|undefined>} how it ended; undefined
 *   where `signal` ended it; throws ServerError where it cannot be reached any more
 */
export async function heardOut(client, { threadId, turn }, { signal, wait, changed }) {
  for (;;) {
    const hearing = new Hearing(turn);
    try {
      const parts = following(client, { threadId, runId: turn.runId }, { signal, wait });
      let part = await parts.next();
      for (; !part.done; part = await parts.next()) if (hearing.hear(part.value)) changed(false);
      return part.value && { status: part.value.status, failure: hearing.failure };
    } catch (error) {
      if (!(error instanceof LostRun)) throw error;
    }
    Object.assign(turn, { isLost: true });
    changed(false);
    const run = await continued(client, { threadId, runIds: [turn.firstRunId, turn.runId] }, { signal, wait });
    if (run === undefined) return undefined;
    if (run === null) return { status: "success", failure: null };
    // What was written of the answer stays until the other run begins to write.
    Object.assign(turn, { isLost: false, runId: run.run_id, messageId: null });
    changed(true);
  }
}
