/** How a question reaches the server: its thread, and a run on it, each made once. */

import { newId } from "./ids.js";
import { startedBy, TURN } from "./turns.js";

const TITLE_LENGTH = 120;
const STREAM = {
  streamMode: ["custom", "messages-tuple"],
  streamResumable: true,
  durability: "sync",
  multitaskStrategy: "reject",
};

/**
 * A new thread, named after its first question.
 * @param {object} client of the LangGraph SDK
 * @param {import("./turns.js").Turn} turn
 * @returns {Promise<string>} its id; throws what the SDK throws
 */
export async function makeThread(client, turn) {
  const threadId = newId();
  await client.threads.create({
    threadId, ifExists: "do_nothing", graphId: turn.assistant, metadata: named(turn.question),
  });
  return threadId;
}

/** What the metadata of a thread begun here says. */
function named(question) {
  return { title: [...question].slice(0, TITLE_LENGTH).join(""), asked_over: "page" };
}

/**
 * A run for the turn; found again where the server took it but its reply was lost.
 * @param {object} client of the LangGraph SDK
 * @param {{threadId: string, question: string}} thread with the question that it is named after
 * @param {import("./turns.js").Turn} turn its settings are the run's context
 * @param {{input?: object, command?: object}} payload
 * @returns {Promise<object>} the run's record; throws what the SDK throws
 */
export async function startRun(client, { threadId, question }, turn, payload) {
  const context = Object.keys(turn.settings).length ? turn.settings : undefined;
  // A server that dies makes the thread anew, and goes on with the run, by what the run says of them.
  const metadata = { ...named(question), [TURN]: turn.id };
  try {
    return await client.runs.create(threadId, turn.assistant, { ...STREAM, ...payload, context, metadata });
  } catch (error) {
    const runs = await client.runs.list(threadId, { limit: 5 }).catch(() => []);
    const taken = runs.find((run) => startedBy(run, turn, payload));
    if (taken) return taken;
    throw error;
  }
}
