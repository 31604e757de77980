/** The list of threads, the assistants, and signing in. */

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { desk } from "./desk.mjs";

let at;
before(async () => { at = await desk(); });
after(() => at.close());

describe("the list of threads", () => {
  it("names those begun on the page, last worked on first", async () => {
    at.server.threads.clear();
    const thread = at.server.thread([], { metadata: { title: "where?", asked_over: "page" }, status: "busy" });
    assert.deepEqual(await at.page.recentThreads({ limit: 5, offset: 10 }), [
      { thread_id: thread.thread_id, title: "where?", updated_at: "2026-11-21T10:00:00Z", status: "busy" },
    ]);
    const { body } = at.server.requests.findLast(({ route }) => route === "POST /threads/search");
    assert.deepEqual(
      [body.limit, body.offset, body.metadata, body.sort_by, body.sort_order],
      [5, 10, { asked_over: "page" }, "updated_at", "desc"],
    );
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
    await assert.rejects(at.page.recentThreads(), { status: 403, message: "The server answered 403: not from there" });
  });
});
