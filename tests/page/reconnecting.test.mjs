/** Lost connections, reloads and other windows: every turn once, and to its end. */

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { answered, startHarness, is, until } from "./harness.mjs";

const ASK = { assistant: "agent" };
let at;
before(async () => { at = await startHarness(); });
after(() => at.close());

async function asking(question = "where?") {
  const conversation = at.conversation();
  const started = at.server.nextRun();
  await conversation.ask(question, ASK);
  return { conversation, run: await started, thread: at.server.threads.get(conversation.threadId) };
}

function finish(run, thread, text) {
  thread.state.values = { messages: answered(run, text) };
  run.end("success");
}

const types = (turn) => turn.events.map((event) => event.type);
const lastJoin = () => at.server.requests.findLast(({ route }) => route.endsWith("/stream"));

describe("a lost connection", () => {
  it("is taken up where it broke, and nothing is heard twice", async () => {
    const { conversation, run, thread } = await asking();
    run.tell("metadata", {});
    run.progress("queries");
    run.say("One ");
    await until(conversation, (turn) => turn.text === "One ");
    run.drop();
    run.progress("search_started");
    run.say("two");
    await until(conversation, (turn) => turn.text === "One two");
    assert.deepEqual(types(conversation.current), ["queries", "search_started"]);
    assert.equal(lastJoin().headers["last-event-id"], run.log[1].id);
    finish(run, thread, "One two");
    await until(conversation, is("done"));
  });

  it("is told while it lasts, and no longer", async () => {
    const { conversation, run, thread } = await asking();
    run.tell("metadata", {});
    run.progress("queries");
    await until(conversation, (turn) => turn.events.length === 1);
    assert.equal(conversation.current.isAway, false);
    at.server.refuse("GET /threads/*/runs/*/stream", 502);
    at.server.refuse("GET /threads/*/runs/*/stream", 502);
    run.drop();
    await until(conversation, (turn) => turn.isAway);
    assert.equal(conversation.current.status, "running");
    await until(conversation, (turn) => !turn.isAway);
    finish(run, thread, "Done.");
    assert.equal((await until(conversation, is("done"))).isAway, false);
  });

  it("is heard once even where the server repeats what it told", async () => {
    const { conversation, run, thread } = await asking();
    run.tell("metadata", {});
    run.progress("queries");
    await until(conversation, (turn) => turn.events.length === 1);
    const { join } = run;
    run.join = (response) => join.call(run, response, "-1");
    run.drop();
    run.progress("answering");
    finish(run, thread, "Done.");
    assert.deepEqual(types(await until(conversation, is("done"))), ["queries", "answering"]);
  });

  it("that stays lost ends with what the thread has", async () => {
    const { conversation, run, thread } = await asking();
    run.tell("metadata", {});
    await until(conversation, is("running"));
    for (let tries = 0; tries < 40; tries += 1) at.server.refuse("GET /threads/*/runs/*/stream", 400);
    run.drop();
    finish(run, thread, "Told by the thread.");
    assert.equal((await until(conversation, is("done"))).text, "Told by the thread.");
    at.server.forgive();
  });

  it("while the run is started does not start a second one", async () => {
    const conversation = at.conversation();
    const started = at.server.nextRun();
    at.server.refuse("POST /threads/*/runs", "lost");
    await conversation.ask("lost reply", ASK);
    const run = await started;
    assert.equal(conversation.current.runId, run.run_id);
    assert.equal(at.server.threads.get(conversation.threadId).runs.length, 1);
  });

  it("to a deleted thread ends the turn with the reason", async () => {
    const { conversation, run } = await asking();
    at.server.threads.delete(conversation.threadId);
    run.drop();
    assert.match((await until(conversation, is("failed"))).error, /not have it any more/);
  });
});

describe("a reload", () => {
  it("joins the run from its beginning and hears it to the end", async () => {
    const { conversation, run, thread } = await asking("long one");
    run.tell("metadata", {});
    run.progress("queries");
    run.say("Half ");
    await until(conversation, (turn) => turn.text === "Half ");
    thread.state.values = { messages: run.asked.input.messages };
    const again = at.conversation();
    await again.open(conversation.threadId);
    const turn = await until(again, (one) => one.text === "Half ");
    assert.equal(turn.question, "long one");
    assert.equal(turn.status, "running");
    assert.deepEqual(turn.events, conversation.current.events);
    run.say("done");
    finish(run, thread, "Half done");
    await until(again, is("done"));
    assert.equal(again.turns.length, 1);
    assert.equal(again.current.id, conversation.current.id);
  });

  it("just after the end still shows how it went", async () => {
    const { conversation, run, thread } = await asking();
    run.tell("metadata", {});
    run.progress("queries");
    finish(run, thread, "Done.");
    await until(conversation, is("done"));
    const again = at.conversation();
    await again.open(conversation.threadId);
    const turn = await until(again, (one) => one.events.length === 1);
    assert.deepEqual(turn.events, conversation.current.events);
    assert.equal(turn.text, "Done.");
  });

  it("takes no question before the thread is there", async () => {
    const thread = at.server.thread([{ type: "human", id: "h", content: "old" }]);
    const conversation = at.conversation();
    const opened = conversation.open(thread.thread_id);
    assert.equal(await conversation.ask("too soon", ASK), null);
    await opened;
    assert.deepEqual(conversation.turns.map((turn) => turn.question), ["old"]);
  });

  it("shows nothing of an answer whose beginning is gone, until it is finished", async () => {
    const { conversation, run, thread } = await asking();
    run.log.length = 0;
    const again = at.conversation();
    await again.open(conversation.threadId);
    run.say("the tail");
    run.progress("done");
    assert.equal((await until(again, (turn) => turn.events.length === 1)).text, "");
    finish(run, thread, "The head and the tail");
    assert.equal((await until(again, is("done"))).text, "The head and the tail");
  });

  it("finds the review that waits, and answers it under the run's settings", async () => {
    const conversation = at.conversation();
    const started = at.server.nextRun();
    await conversation.ask("plan it", { ...ASK, review: true });
    const run = await started;
    const thread = at.server.threads.get(conversation.threadId);
    const review = { queries: [{ query: "q", map: null }], estimate: {} };
    thread.state = { values: { messages: run.asked.input.messages }, tasks: [{ interrupts: [{ value: review }] }] };
    run.end("success");
    const again = at.conversation();
    await again.open(conversation.threadId);
    assert.deepEqual(again.current.review, review);
    const next = at.server.nextRun();
    await again.resume({ cancel: true });
    assert.deepEqual((await next).asked.context, { review_plan: true });
  });

  it("rebuilds every turn: answered, failed, stopped before it began, asked elsewhere", async () => {
    const kept = { sources: [], assistant: "deep_research" };
    const thread = at.server.thread([
      { type: "human", id: "h1", content: "first" },
      { type: "ai", id: "a1", content: "Answer one.", additional_kwargs: kept },
      { type: "human", id: "h2", content: [{ type: "text", text: "second" }] },
    ], { error: { error: "InputError", message: "second: too vague" } });
    const ask = (id, content) => ({ input: { messages: [{ type: "human", id, content }] } });
    const elsewhere = { input: { messages: [{ role: "user", content: "first" }] } };
    const runs = [[elsewhere, "success"], [ask("h3", "never begun"), "interrupted"], [ask("h2", "second"), "error"]];
    runs.forEach(([body, status], second) => {
      const run = at.server.startRun(thread, body);
      run.created_at = `2026-11-21T10:00:0${second}Z`;
      run.end(status);
    });
    const conversation = at.conversation();
    await conversation.open(thread.thread_id);
    assert.deepEqual(
      conversation.turns.map(({ question, status, error, assistant }) => [question, status, error, assistant]),
      [
        ["first", "done", null, "deep_research"],
        ["never begun", "stopped", null, "agent"],
        ["second", "failed", "second: too vague", "agent"],
      ],
    );
    assert.equal(conversation.turns[0].messageId, "a1");
  });

  it("of something that is no thread says so", async () => {
    const conversation = at.conversation();
    const gone = { name: "ServerError", status: 404 };
    await assert.rejects(conversation.open("00000000-0000-4000-8000-000000000000"), gone);
    await assert.rejects(conversation.open("nonsense"), gone);
    assert.equal(conversation.threadId, null);
  });
});

describe("another window", () => {
  it("that asks is joined, and its turn is there once", async () => {
    const { conversation, run, thread } = await asking("mine");
    finish(run, thread, "Mine.");
    await until(conversation, is("done"));
    const other = at.server.startRun(thread, { input: { messages: [{ role: "user", content: "theirs" }] } });
    await conversation.refresh();
    assert.deepEqual(
      conversation.turns.map((turn) => [turn.question, turn.status]), [["mine", "done"], ["theirs", "running"]],
    );
    other.tell("metadata", {});
    other.say("Theirs.", "ai-2");
    await until(conversation, (turn) => turn.text === "Theirs.");
    thread.state.values.messages.push(
      { type: "human", id: "given by the server", content: "theirs" },
      { type: "ai", id: "ai-2", content: "Theirs.", additional_kwargs: {} },
    );
    other.end("success");
    await until(conversation, is("done"));
    await conversation.refresh();
    assert.equal(conversation.turns.length, 2);
  });

  it("is left alone once this one shows another thread", async () => {
    const { conversation, run } = await asking("first thread");
    conversation.reset();
    run.tell("metadata", {});
    run.say("unheard");
    assert.equal(conversation.threadId, null);
    assert.deepEqual(conversation.turns, []);
    assert.equal(run.status, "running");
  });
});
