/** Threads on the server: listed, made, removed; and runs started on them, each once. */

import { client as pageClient, serverError, statusOf } from "./server.js";
import { REPLACES, startedBy, TURN } from "./turns.js";

/**
 * @typedef {Pick<Thread, "thread_id"|"updated_at"> & {title: string, assistant: string,
 *   status: Thread["status"]|"stopped"}} ThreadSummary
 */

const FIELDS = ["thread_id", "metadata", "status", "updated_at", "interrupts"];
/** @type {RunStatus[]} */
const GOING_ON = ["running", "pending"];
const TITLE_LENGTH = 120;
const STREAM = {
  streamMode: ["custom", "messages-tuple"],
  streamResumable: true,
  durability: "sync",
  multitaskStrategy: "reject",
};

/**
 * Lists the threads last worked on first.
 * @param {{limit?: number, offset?: number}} window
 * @returns {Promise<ThreadSummary[]>} throws ServerError
 */
export async function recentThreads({ limit = 20, offset = 0 } = {}) {
  const threads = await orServerError(pageClient.threads.search({
    limit, offset, metadata: { asked_over: "page" }, sortBy: "updated_at", sortOrder: "desc",
    select: FIELDS,
  }));
  return threads.map((thread) => ({
    thread_id: thread.thread_id, title: thread.metadata?.title ?? "", updated_at: thread.updated_at,
    assistant: thread.metadata?.graph_id ?? "",
    status: thread.status === "interrupted" && !waits(thread) ? "stopped" : thread.status,
  }));
}

/** Tells a thread that waits for a person from one that was stopped. @param {Thread} thread */
const waits = ({ interrupts }) =>
  // Aegra lists no interrupts, and calls no stopped thread interrupted.
  interrupts === undefined || Object.values(interrupts).some((asked) => asked.length > 0);

/**
 * Names a thread after its changed question, unless somebody has named it.
 * @param {Client} client @param {string} threadId @param {string} before @param {string} question
 */
export async function renameAfter(client, threadId, before, question) {
  const { metadata } = await client.threads.get(threadId);
  if (metadata?.title !== cut(before)) return;
  await client.threads.update(threadId, { metadata: { title: cut(question) } });
}

/** Gives a thread another title. Throws ServerError. @param {string} threadId @param {string} title */
export async function renameThread(threadId, title) {
  await orServerError(pageClient.threads.update(threadId, { metadata: { title: cut(title) } }));
}

/**
 * Deletes a thread with everything on it; what runs there is stopped first. Throws ServerError.
 * @param {string} threadId
 */
export async function removeThread(threadId) {
  for (const status of GOING_ON) {
    for (const run of await orServerError(pageClient.runs.list(threadId, { status, limit: 100 }))) {
      await pageClient.runs.cancel(threadId, run.run_id, true).catch(unlessEnded);
    }
  }
  await orServerError(pageClient.threads.delete(threadId));
}

/** Forgives that a run that has ended by itself cannot be cancelled. @param {unknown} error */
function unlessEnded(error) { if (statusOf(error) !== 404) throw serverError(error); }

/** @template T @param {Promise<T>} request */
function orServerError(request) {
  return request.catch((error) => { throw serverError(error); });
}

/**
 * Makes a thread, named after its first question.
 * @param {Client} client
 * @param {Turn} turn
 * @returns {Promise<string>} its id; throws what the SDK throws
 */
export async function makeThread(client, turn) {
  const threadId = newId();
  await client.threads.create({
    threadId, ifExists: "do_nothing", graphId: turn.assistant, metadata: metadataOf(turn.question),
  });
  return threadId;
}

/** Returns the metadata of a thread begun here. @param {string} question */
function metadataOf(question) {
  return { title: cut(question), asked_over: "page" };
}

/** @param {string} title */
const cut = (title) => [...title].slice(0, TITLE_LENGTH).join("");

/**
 * Starts a run for the turn; finds it again where the server took it but its reply was lost.
 * @param {Client} client
 * @param {{threadId: string, question: string, isNext?: boolean}} thread with the question that it is
 *   named after; `isNext` where the run waits for the one before it, whose answer is written
 * @param {Turn} turn its settings are the run's context
 * @param {RunPayload} payload
 * @returns {Promise<Run>} the run's record; throws what the SDK throws
 */
export async function startRun(client, { threadId, question, isNext = false }, turn, payload) {
  const context = Object.keys(turn.settings).length ? turn.settings : undefined;
  // A server that dies makes the thread anew, and goes on with the run, by what the run says of them.
  const metadata = { ...metadataOf(question), [TURN]: turn.id,
    ...(turn.replaces && { [REPLACES]: turn.replaces }) };
  const multitaskStrategy = isNext ? "enqueue" : STREAM.multitaskStrategy;
  const options = { ...STREAM, multitaskStrategy, ...payload, context, metadata };
  try {
    return await client.runs.create(threadId, turn.assistant, options);
  } catch (error) {
    const runs = await client.runs.list(threadId, { limit: 5 }).catch(() => []);
    const taken = runs.find((run) => startedBy(run, turn, payload));
    if (taken) return taken;
    throw error;
  }
}

/** Makes a random UUID (version 4); `crypto.randomUUID` exists only on https and loopback. */
export function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return [[0, 8], [8, 12], [12, 16], [16, 20], [20]].map((cut) => hex.slice(...cut)).join("-");
}
