/** The list of threads, the assistants, and signing in. */

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { startHarness } from "./harness.mjs";

let at;
before(async () => { at = await startHarness(); });
after(() => at.close());

describe("the list of threads", () => {
  it("names those begun on the page, last worked on first", async () => {
    at.server.threads.clear();
    const thread = at.server.thread([], { metadata: { title: "where?", asked_over: "page", graph_id: "agent" }, status: "busy" });
    assert.deepEqual(await at.page.recentThreads({ limit: 5, offset: 10 }), [
      {
        thread_id: thread.thread_id, title: "where?", updated_at: "2026-11-21T10:00:00Z", assistant: "agent",
        status: "busy",
      },
    ]);
    const { body } = at.server.requests.findLast(({ route }) => route === "POST /threads/search");
    assert.deepEqual(
      [body.limit, body.offset, body.metadata, body.sort_by, body.sort_order],
      [5, 10, { asked_over: "page" }, "updated_at", "desc"],
    );
  });

  it("tells a thread that waits for a person from one that was stopped", async () => {
    at.server.threads.clear();
    const titled = (title, interrupts) =>
      at.server.thread([], { metadata: { title, asked_over: "page" }, status: "interrupted", interrupts });
    titled("plan", { "task-1": [{ value: { queries: [] } }] });
    titled("stopped", {});
    titled("stopped early", { "task-1": [] });
    const threads = await at.page.recentThreads();
    const states = Object.fromEntries(threads.map(({ title, status }) => [title, status]));
    assert.deepEqual(states, { "plan": "interrupted", "stopped": "stopped", "stopped early": "stopped" });
    const { body } = at.server.requests.findLast(({ route }) => route === "POST /threads/search");
    assert.ok(body.select.includes("interrupts"));
  });

  it("loses a thread only after what runs on it was stopped", async () => {
    const thread = at.server.thread();
    const run = at.server.startRun(thread, {});
    await at.page.removeThread(thread.thread_id);
    assert.equal(run.status, "interrupted");
    assert.equal(at.server.threads.has(thread.thread_id), false);
  });

  it("says why it cannot be read", async () => {
    at.server.refuse("POST /threads/search", 403, { detail: "not from there" });
    await assert.rejects(at.page.recentThreads(), { status: 403, message: "The server answered 403: Not from there" });
  });
});

describe("the server", () => {
  it("names its assistants in the order it was given them", async () => {
    const made = (name, created_at, more = {}) => ({ assistant_id: `id-${name}`, graph_id: name, name, created_at, ...more });
    at.server.assistants = [made("deep", "2026-02"), made("agent", "2026-01", { description: "answers", version: 1 })];
    assert.deepEqual(await at.page.assistants(), [
      { assistant_id: "id-agent", graph_id: "agent", name: "agent", description: "answers" },
      { assistant_id: "id-deep", graph_id: "deep", name: "deep", description: "" },
    ]);
  });

  it("is told a key as JSON and nothing else", async () => {
    assert.deepEqual(await at.page.signIn("a key of sixteen"), { user: "a key of sixteen" });
    const { body, headers } = at.server.requests.at(-1);
    assert.deepEqual(body, { key: "a key of sixteen" });
    assert.equal(headers["content-type"], "application/json");
    assert.equal(await at.page.signOut(), undefined);
    assert.deepEqual(await at.page.readConfig(), { keys: true, user: "someone" });
  });

  it("that takes no such key says 401", async () => {
    at.server.refuse("POST /app/sign-in", 401, { detail: "no such key" });
    await assert.rejects(at.page.signIn("wrong"), { status: 401, message: "A key is needed" });
  });

  it("that does not answer is told from one that refuses", async () => {
    const none = at.page.serverError(new TypeError("fetch failed"));
    assert.deepEqual([none.status, none.message], [0, "The server cannot be reached"]);
    const html = at.page.serverError({ status: 502, text: "<html>\n  bad\n  gateway" });
    assert.equal(html.message, "The server answered 502: <html> bad gateway");
    assert.ok(at.page.serverError({ status: 500, text: "x".repeat(9000) }).message.length < 400);
  });
});
