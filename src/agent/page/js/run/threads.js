/** The person's threads that were begun on this page. */

import { client, serverError } from "./server.js";

const FIELDS = ["thread_id", "metadata", "status", "updated_at"];
const GOING_ON = ["running", "pending"];

/**
 * The threads last worked on first.
 * @param {{limit?: number, offset?: number}} window
 * @returns {Promise<{thread_id: string, title: string, updated_at: string,
 *   status: "idle"|"busy"|"interrupted"|"error"}[]>} throws ServerError
 */
export async function recentThreads({ limit = 20, offset = 0 } = {}) {
  const found = await told(client.threads.search({
    limit, offset, metadata: { asked_over: "page" }, sortBy: "updated_at", sortOrder: "desc", select: FIELDS,
  }));
  return found.map(({ thread_id, metadata, status, updated_at }) =>
    ({ thread_id, title: metadata?.title ?? "", updated_at, status }));
}

/** Deletes a thread with everything on it; what runs there is stopped first. Throws ServerError. */
export async function removeThread(threadId) {
  for (const status of GOING_ON) {
    for (const run of await told(client.runs.list(threadId, { status, limit: 100 }))) {
      await client.runs.cancel(threadId, run.run_id, true).catch(unlessEnded);
    }
  }
  await told(client.threads.delete(threadId));
}

/** A run that has ended by itself cannot be cancelled. */
function unlessEnded(error) {
  if (error?.status !== 404) throw serverError(error);
}

function told(request) {
  return request.catch((error) => { throw serverError(error); });
}
