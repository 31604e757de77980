/**
 * The server behind the page: what it offers, who asks, and what went wrong with it.
 *
 * Every address is relative to the page's own, which may lie below a prefix that a proxy takes off.
 */

import { Client } from "../../vendor/langgraph-sdk.js";
import { language, sentence, translator } from "../i18n.js";

const say = translator("page.server");
const LONGEST = 300;

/**
 * The LangGraph SDK on the page's own server; requests carry the page's cookie. It would repeat
 * what was aborted, too, and hold its few places meanwhile: who calls decides what to try again.
 */
export const client = new Client({
  apiUrl: new URL(".", location.href).href.slice(0, -1),
  apiKey: null,
  callerOptions: { maxRetries: 0, maxConcurrency: 32 },
});

/** Says what a server refused: `status` is 0 where nothing answered, `message` one line for people. */
export class ServerError extends Error {
  /** @override */
  name = "ServerError";

  /** @param {number} status @param {string} message */
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/**
 * Returns the HTTP status of an error, undefined where it has none.
 * @param {any} error
 * @returns {number|undefined}
 */
export const statusOf = (error) => error?.status;

/**
 * Tells any failure of a request about a conversation as one line in the page's language.
 * @param {any} error of the SDK, of `fetch`, or one of ours
 * @returns {ServerError}
 */
export function serverError(error) {
  if (error instanceof ServerError) return error;
  const status = Number(error?.status) || 0;
  if (status === 0) return new ServerError(0, say("unreachable"));
  if (status === 401) return new ServerError(401, say("key"));
  if (status === 404) return new ServerError(404, say("gone"));
  if (status === 409) return new ServerError(409, say("busy"));
  return new ServerError(status, say("status", { status, text: detail(error.text ?? error.message) }));
}

/** Tells what a run says about its failure as one line. @param {Failure} failure */
export function failureText(failure) {
  if (typeof failure === "object" && failure?.error === "StoreFailed") {
    return say("full", { text: oneLine(failure.message ?? "") });
  }
  const text = typeof failure === "string" ? failure : failure?.message ?? failure?.error;
  return oneLine(text ?? "") || say("failed");
}

/**
 * Reads the server's settings for the page; without a key only what a sign-in needs.
 * @returns {Promise<PublicConfig|Config>} throws ServerError
 */
export async function readConfig() {
  return own("app/config.json", {});
}

/**
 * Signs in with a key, which the server keeps in a cookie of its own.
 * @param {string} key
 * @returns {Promise<{user: string}>} throws ServerError, 401 where the key is none
 */
export async function signIn(key) {
  return own("app/sign-in", { method: "POST", body: JSON.stringify({ key }) });
}

/**
 * Adds to what a run under way is asked, or takes a part away.
 * @param {string} threadId
 * @param {Wish} wish
 * @returns {Promise<void>} throws ServerError
 */
export async function steer(threadId, wish) {
  try {
    const path = `threads/${encodeURIComponent(threadId)}/steer`;
    await own(path, { method: "POST", body: JSON.stringify(wish) });
  } catch (error) {
    throw statusOf(error) === 409 ? new ServerError(409, say("not_now")) : error;
  }
}

/**
 * Shares an answer with whoever has its address; the thread's last answer without a message's id.
 * @param {string} threadId
 * @param {string|null} message
 * @returns {Promise<Share>} throws ServerError
 */
export async function share(threadId, message) {
  const body = JSON.stringify(message ? { message } : {});
  return own(sharePath(threadId), { method: "POST", body });
}

/** Ends the sharing of an answer. @param {string} threadId @param {string} message throws ServerError */
export async function withdraw(threadId, message) {
  await own(`${sharePath(threadId)}?message=${encodeURIComponent(message)}`, { method: "DELETE" });
}

/**
 * Says what an answer tells otherwise than an earlier one.
 * @param {string} threadId @param {string} message the answer's id
 * @param {string} since THREAD.MESSAGE of the earlier answer, as the address has it
 * @returns {Promise<AnswerChanges>} throws ServerError
 */
export async function changes(threadId, message, since) {
  const [thread, ...rest] = since.split(".");
  const query = new URLSearchParams({ message, since: thread, since_message: rest.join(".") });
  return own(`app/runs/${encodeURIComponent(threadId)}/changes?${query}`, {});
}

/** @param {string} threadId */
const sharePath = (threadId) => `threads/${encodeURIComponent(threadId)}/share`;

/** Reads what one prefers. @returns {Promise<Person>} throws ServerError */
export const memory = async () => own("memory", {});

/** Changes it. @param {Partial<Person>} fields @returns {Promise<Person>} throws ServerError */
export const changeMemory = async (fields) =>
  own("memory", { method: "PATCH", body: JSON.stringify(fields) });

/** Deletes it. @returns {Promise<Person>} throws ServerError */
export const forgetMemory = async () => own("memory", { method: "DELETE" });

const DOCUMENTS = "app/documents";

/** Lists one's own documents. @returns {Promise<OwnDocuments>} throws ServerError */
export async function documents() {
  return own(DOCUMENTS, {});
}

/** Deletes a file that was given. @param {string} collection @param {string} file throws ServerError */
export async function removeDocument(collection, file) {
  await own(`${DOCUMENTS}?${new URLSearchParams({ collection, file })}`, { method: "DELETE" });
}

/**
 * Gives a file to the server, which reads it; `fetch` tells nothing of how far it is.
 * @param {File} file @param {string} collection
 * @param {(share: number) => void} onProgress with what has gone out, 1 at the end
 * @returns {Promise<{outcome: string, passages: number, note: InLanguages<string>}>} rejects with
 *   {code, message}
 */
export function give(file, collection, onProgress) {
  const request = new XMLHttpRequest();
  request.open("POST", `${DOCUMENTS}?${new URLSearchParams({ collection, name: file.name })}`);
  request.setRequestHeader("content-type", "application/octet-stream");
  request.upload.addEventListener("progress",
    ({ loaded, total }) => onProgress(total ? loaded / total : 1));
  return new Promise((resolve, reject) => {
    const refuse = () => {
      const { status, responseText: text } = request;
      let code = "";
      try { code = JSON.parse(text).code; } catch { /* A proxy answers in its own words. */ }
      reject({ code, message: serverError({ status, text }).message });
    };
    request.addEventListener("load", () => {
      if (request.status < 300) resolve(JSON.parse(request.responseText));
      else refuse();
    });
    for (const end of ["error", "abort"]) request.addEventListener(end, refuse);
    request.send(file);
  });
}

/** Has keys tried, and kept where they work. @param {Record<string, string>} given throws ServerError */
export async function connect(given) {
  const options = { method: "POST", headers: { "content-type": "application/json" },
    body: JSON.stringify(given) };
  const response = await fetch(`app/connect?language=${language}`, options)
    .catch((error) => { throw serverError(error); });
  // What the service says of its key is what helps.
  if (!response.ok) throw new ServerError(response.status, detail(await response.text()));
}

/** Forgets the key. Throws ServerError. */
export async function signOut() {
  await own("app/sign-out", { method: "POST", body: "{}" });
}

/** Lists the assistants, in the server's own order. @returns {Promise<Assistant[]>} throws ServerError */
export async function assistants() {
  const request = client.assistants.search({ limit: 100 });
  const list = await request.catch((error) => { throw serverError(error); });
  return list
    .sort((one, other) => one.created_at.localeCompare(other.created_at))
    .map(({ assistant_id, graph_id, name, description }) =>
      ({ assistant_id, graph_id, name: name ?? graph_id, description: description ?? "" }));
}

/** Requests one of the page's own routes, as JSON. @param {string} path @param {RequestInit} options */
async function own(path, options) {
  const headers = { accept: "application/json", "content-type": "application/json" };
  const response = await fetch(path, { ...options, headers, credentials: "same-origin" })
    .catch((error) => { throw serverError(error); });
  const text = await response.text();
  if (!response.ok) throw serverError({ status: response.status, text });
  return text ? JSON.parse(text) : null;
}

/** Returns the server's own words, which come as {detail}. @param {string} text */
function detail(text) {
  try {
    const words = JSON.parse(text).detail;
    return oneLine(typeof words === "string" ? words : JSON.stringify(words ?? text));
  } catch {
    return oneLine(String(text));
  }
}

/** @param {string} text */
function oneLine(text) {
  const line = String(text).replace(/\s+/g, " ").trim();
  return sentence(line.length > LONGEST ? `${line.slice(0, LONGEST - 1)}…` : line);
}

/**
 * Returns the path of what the server makes of a finished turn.
 * @param {string} threadId
 * @param {string} what "answer.md", "suggestions/0", …
 * @param {string|null} messageId the answer's; null for the thread's last
 */
export function runAddress(threadId, what, messageId) {
  const query = messageId ? `?message=${encodeURIComponent(messageId)}` : "";
  return `app/runs/${encodeURIComponent(threadId)}/${what}${query}`;
}

/**
 * Returns the path of a thread, by which it is opened again.
 * @param {string} threadId @param {string|null} since the answer that its first one is compared with
 */
export function threadPath(threadId, since = null) {
  return `app?${new URLSearchParams({ thread: threadId, ...(since && { since }) })}`;
}
