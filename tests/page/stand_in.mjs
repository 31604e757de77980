/** A LangGraph server of a test's own: its routes and streams, with runs that the test leads. */

import { randomUUID } from "node:crypto";
import { createServer } from "node:http";

let clock = 1_800_000_000_000;

/** A run as its test leads it: `tell` an event, `end` it. */
export class Run {
  log = [];
  listeners = new Set();
  status = "pending";
  began = (clock += 1000);
  created_at = new Date(this.began).toISOString();
  updated_at = this.created_at;

  constructor(threadId, body) {
    this.run_id = randomUUID();
    this.thread_id = threadId;
    this.asked = body;
  }

  get active() {
    return this.status === "pending" || this.status === "running";
  }

  record() {
    const { run_id, thread_id, status, created_at, updated_at, asked } = this;
    const { input = null, command = null, context = {}, metadata } = asked;
    const kwargs = { input, command, context };
    return { run_id, thread_id, status, created_at, updated_at, metadata: { graph_id: "agent", ...metadata }, kwargs };
  }

  tell(event, data) {
    this.status = "running";
    const part = { id: `${this.began + (this.log.length + 1) * 10}-0`, event, data };
    this.log.push(part);
    for (const listener of this.listeners) listener.write(sse(part));
  }

  progress(type, more = {}) {
    this.tell("custom", { type, node: "n", ...more });
  }

  say(text, id = "ai-1") {
    this.tell("messages", [{ type: "AIMessageChunk", id, content: text }, {}]);
  }

  end(status) {
    this.status = status;
    this.updated_at = new Date().toISOString();
    for (const listener of this.listeners) listener.end();
  }

  /** Breaks every connection that listens. */
  drop() {
    for (const listener of [...this.listeners]) listener.destroy();
  }

  join(response, last) {
    response.writeHead(200, { "content-type": "text/event-stream" });
    const after = last === "-1" ? -1 : this.log.findIndex((part) => part.id === last);
    for (const part of this.log.slice(after + 1)) response.write(sse(part));
    if (!this.active) return response.end();
    response.write(": heartbeat\n\n");
    this.listeners.add(response);
    return response.on("close", () => this.listeners.delete(response));
  }
}

const sse = ({ id, event, data }) => `id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`;

export class StandIn {
  threads = new Map();
  assistants = [];
  requests = [];
  #refusals = [];
  #waiting = [];
  #server = createServer((request, response) => this.#serve(request, response));

  async start() {
    await new Promise((done) => { this.#server.listen(0, "127.0.0.1", done); });
    this.url = `http://127.0.0.1:${this.#server.address().port}`;
  }

  async close() {
    const closed = new Promise((done) => { this.#server.close(done); });
    this.#server.closeAllConnections();
    await closed;
  }

  /** The next request of this kind (`POST /threads`, ids as `*`) gets this status; "lost": done, but no reply. */
  refuse(route, status, body = { detail: "no" }) {
    this.#refusals.push({ route, status, body });
  }

  /** Refuses nothing any more. */
  forgive() {
    this.#refusals = [];
  }

  /** Resolves with the next run that is started. */
  nextRun() {
    return new Promise((resolve) => { this.#waiting.push(resolve); });
  }

  /** A thread with these messages. */
  thread(messages = [], more = {}) {
    const state = { values: { messages }, tasks: [] };
    const made = { thread_id: randomUUID(), metadata: { graph_id: "agent" }, status: "idle", runs: [], state, ...more };
    this.threads.set(made.thread_id, made);
    return made;
  }

  /** A run on a thread that somebody else started. */
  startRun(thread, body) {
    const run = new Run(thread.thread_id, body);
    thread.runs.unshift(run);
    this.#waiting.shift()?.(run);
    return run;
  }

  /** As after kill -9: the thread and its run are not known any more. */
  forget(run) {
    const thread = this.threads.get(run.thread_id);
    this.threads.delete(run.thread_id);
    thread.runs = [];
    run.drop();
    return thread;
  }

  async #serve(request, response) {
    const url = new URL(request.url, this.url);
    const route = `${request.method} ${url.pathname.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "*")}`;
    const body = await read(request);
    this.requests.push({ route, body, headers: request.headers });
    const refusal = this.#refusals.findIndex((one) => one.route === route);
    const [refused] = refusal < 0 ? [] : this.#refusals.splice(refusal, 1);
    if (refused && refused.status !== "lost") return reply(response, refused.status, refused.body);
    const [, , threadId, , runId] = url.pathname.split("/");
    const thread = this.threads.get(threadId);
    const run = thread?.runs.find((one) => one.run_id === runId);
    const act = ROUTES[route];
    const isGone = threadId && route.includes("*") && !thread;
    if (!act || isGone || (route.includes("/runs/*") && !run)) return reply(response, 404, { detail: "not found" });
    const lost = refused !== undefined;
    const answer = act.call(this, { thread, run, body, request, response: lost ? null : response, query: url.searchParams });
    return lost ? response.destroy() : answer;
  }
}

/** By method and path; each replies. `response` is null where the reply is to be lost. */
const ROUTES = {
  "POST /threads"({ body, response }) {
    const made = this.thread([], { thread_id: body.thread_id, metadata: body.metadata });
    reply(response, 200, shown(made));
  },
  "GET /threads/*": ({ thread, response }) => reply(response, 200, shown(thread)),
  "GET /threads/*/state": ({ thread, response }) => reply(response, 200, thread.state),
  "GET /threads/*/runs"({ thread, response, query }) {
    const wanted = query.get("status");
    reply(response, 200, thread.runs.map((run) => run.record()).filter((run) => !wanted || run.status === wanted));
  },
  "POST /threads/*/runs"({ thread, body, response }) {
    const waits = body.multitask_strategy === "enqueue";
    if (!waits && thread.runs.some((run) => run.active)) return reply(response, 409, { detail: "busy" });
    const run = this.startRun(thread, body);
    return reply(response, 200, run.record());
  },
  "GET /threads/*/runs/*": ({ run, response }) => reply(response, 200, run.record()),
  "GET /threads/*/runs/*/stream": ({ run, request, response }) => run.join(response, request.headers["last-event-id"]),
  async "POST /threads/*/runs/*/cancel"({ run, response }) {
    if (!run.active) return reply(response, 404, { detail: "No matching runs" });
    run.end("interrupted");
    return reply(response, 200, {});
  },
  "DELETE /threads/*"({ thread, response }) {
    this.threads.delete(thread.thread_id);
    reply(response, 204);
  },
  "POST /threads/search"({ response }) {
    reply(response, 200, [...this.threads.values()].map(shown));
  },
  "POST /assistants/search"({ response }) {
    reply(response, 200, this.assistants);
  },
  "GET /app/config.json": ({ response }) => reply(response, 200, { keys: true, user: "someone" }),
  "POST /app/sign-in": ({ body, response }) => reply(response, 200, { user: body.key }),
  "POST /app/sign-out": ({ response }) => reply(response, 204),
};

const shown = ({ thread_id, metadata, status, error = null, interrupts = {}, updated_at = "2026-11-21T10:00:00Z" }) =>
  ({ thread_id, metadata, status, error, interrupts, updated_at });

function reply(response, status, body) {
  const text = body === undefined ? "" : JSON.stringify(body);
  response?.writeHead(status, { "content-type": "application/json" }).end(text);
}

async function read(request) {
  let text = "";
  for await (const piece of request) text += piece;
  return text ? JSON.parse(text) : null;
}
