/** Asking, hearing, reviewing and stopping, against a server of the test's own. */

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { answered, startHarness, is, until } from "./harness.mjs";

const ASK = { assistant: "agent" };
let at;
before(async () => { at = await startHarness(); });
after(() => at.close());

/** A conversation that has asked, and the run that was started for it. */
async function asking(options = ASK, question = "附近有什么好玩的？") {
  const conversation = at.conversation();
  const started = at.server.nextRun();
  await conversation.ask(question, options);
  return { conversation, run: await started, thread: at.server.threads.get(conversation.threadId) };
}

describe("a wish", () => {
  it("is passed on while a run goes on, and to nobody otherwise", async () => {
    const passed = [];
    const steer = async (threadId, wish) => { passed.push({ threadId, wish }); };
    const conversation = at.conversation({ steer });
    await assert.rejects(conversation.steer({ wish: "too early" }), { status: 409 });
    const started = at.server.nextRun();
    await conversation.ask("附近有什么好玩的？", ASK);
    const run = await started;
    await conversation.steer({ drop: "parks" });
    assert.deepEqual(passed, [{ threadId: conversation.threadId, wish: { drop: "parks" } }]);
    run.end("error");
    await until(conversation, is("failed"));
    await assert.rejects(conversation.steer({ wish: "too late" }), { status: 409 });
    assert.equal(passed.length, 1);
  });
});

describe("a question", () => {
  it("shows nothing more of a text that is taken back, as soon as that is told", async () => {
    const { conversation, run } = await asking(ASK);
    run.tell("metadata", { run_id: run.run_id });
    run.say("> Sample.\n\nThe person wants a park, so I");
    await until(conversation, (turn) => turn.text.endsWith("so I"));
    run.progress("withdrawn", { text: "> Sample.\n\n" });
    run.say("The park.");
    const turn = await until(conversation, ({ text }) => text.endsWith("park."));
    assert.equal(turn.text, "> Sample.\n\nThe park.");
    assert.deepEqual(turn.events, []);
    run.end("error");
    await until(conversation, is("failed"));
  });

  it("makes a thread named after it and is answered while it is heard", async () => {
    const { conversation, run, thread } = await asking({ ...ASK, near: { lng: 116.4, lat: 39.9 } });
    assert.deepEqual(thread.metadata, { title: "附近有什么好玩的？", asked_over: "page", graph_id: "agent" });
    assert.deepEqual(run.asked.input.user_location, { lng: 116.4, lat: 39.9 });
    assert.equal(run.asked.stream_resumable, true);
    assert.equal(run.asked.durability, "sync");
    run.tell("metadata", { run_id: run.run_id });
    run.progress("queries", { text: "one" });
    run.say("The ");
    run.say("park");
    await until(conversation, (turn) => turn.text === "The park");
    thread.state.values = {
      messages: answered(run, "The park [1]", { sources: [{ id: "w0-0" }] }),
      anchors: [{ name: "here" }],
      geojson: { type: "FeatureCollection" },
    };
    run.end("success");
    const turn = await until(conversation, is("done"));
    assert.deepEqual(turn.events, [{ type: "queries", node: "n", text: "one" }]);
    assert.equal(turn.messageId, "ai-1");
    assert.equal(turn.answer.text, "The park [1]");
    assert.deepEqual(turn.answer.sources, [{ id: "w0-0" }]);
    assert.deepEqual(turn.answer.anchor, { name: "here" });
    assert.deepEqual(turn.answer.geojson, { type: "FeatureCollection" });
    assert.deepEqual(turn.answer.places, []);
    assert.equal(turn.answer.mode, "offline");
  });

  it("may be asked while only a judge still reads the answer before it", async () => {
    const { conversation, run, thread } = await asking();
    const first = conversation.current;
    run.tell("metadata", { run_id: run.run_id });
    run.progress("answering");
    run.say("The park.");
    await until(conversation, (turn) => turn.text === "The park.");
    assert.equal(await conversation.ask("And now?", ASK), null);
    run.progress("checking");
    await until(conversation, (turn) => turn.events.length === 2);
    const started = at.server.nextRun();
    await conversation.ask("And now?", ASK);
    const next = await started;
    assert.equal(next.asked.multitask_strategy, "enqueue");
    assert.equal(run.asked.multitask_strategy, "reject");
    thread.state.values = { messages: answered(run, "The park†.") };
    run.end("success");
    await until(conversation, () => first.status === "done");
    assert.equal(first.answer.text, "The park†.");
    const [human, reply] = answered(next, "Now that.");
    thread.state.values.messages.push(human, { ...reply, id: "ai-2" });
    next.end("success");
    assert.equal((await until(conversation, is("done"))).answer.text, "Now that.");
  });

  it("is shown later with the progress that its answer keeps", async () => {
    const { conversation, run, thread } = await asking();
    const progress = [{ type: "queries", text: "one", at: 20 }, { type: "done", count: 1, at: 900 }];
    thread.state.values = { messages: answered(run, "The park.", { progress }) };
    run.end("success");
    await until(conversation, is("done"));
    const later = at.conversation();
    await later.open(conversation.threadId);
    assert.deepEqual(later.turns[0].events, progress);
  });

  it("is followed by another on the same thread", async () => {
    const { conversation, run, thread } = await asking();
    thread.state.values = { messages: answered(run, "One.") };
    run.end("success");
    await until(conversation, is("done"));
    const next = at.server.nextRun();
    await conversation.ask("and then?", ASK);
    assert.equal((await next).thread_id, conversation.threadId);
    assert.equal(conversation.turns.length, 2);
    assert.equal(conversation.turns[0].answer.text, "One.");
  });

  it("is asked once however often it is sent", async () => {
    const conversation = at.conversation();
    const asked = await Promise.all([conversation.ask("once", ASK), conversation.ask("once", ASK)]);
    assert.equal(asked[1], null);
    assert.equal(conversation.turns.length, 1);
    assert.equal(at.server.threads.get(conversation.threadId).runs.length, 1);
  });

  it("is not asked when it is empty or longer than the server takes", async () => {
    const conversation = at.conversation({ maxQuestion: 3 });
    assert.equal(await conversation.ask("  \n ", ASK), null);
    assert.equal(await conversation.ask("1234", ASK), null);
    assert.deepEqual(conversation.turns, []);
  });

  it("that fails says why in one line", async () => {
    const { conversation, run } = await asking();
    run.tell("error", { error: "InputError", message: "messages: the question\nis empty" });
    run.end("error");
    const turn = await until(conversation, is("failed"));
    assert.equal(turn.error, "messages: the question is empty");
  });

  it("that fails before its stream is heard says why, too", async () => {
    const { conversation, run, thread } = await asking();
    thread.error = { error: "InputError", message: "there is no such collection" };
    run.end("error");
    assert.equal((await until(conversation, is("failed"))).error, "There is no such collection");
  });

  it("on a server that can keep nothing more says so in the page's words", async () => {
    const { conversation, run } = await asking();
    run.tell("error", { error: "StoreFailed", message: "TANLU_DATA_DIR: the disk is full" });
    run.end("error");
    const turn = await until(conversation, is("failed"));
    assert.match(turn.error, /^The server can keep no more results.*TANLU_DATA_DIR: the disk is full$/);
  });

  it("without a key fails and asks for one", async () => {
    const conversation = at.conversation();
    let wanted = 0;
    conversation.addEventListener("signin", () => { wanted += 1; });
    at.server.refuse("POST /threads", 401, { detail: "a key is needed" });
    const turn = await conversation.ask("who?", ASK);
    assert.equal(turn.status, "failed");
    assert.equal(turn.error, "A key is needed");
    assert.equal(wanted, 1);
  });

  it("that the server never took is asked again in its own place", async () => {
    const conversation = at.conversation();
    at.server.refuse("POST /threads", 503, { detail: "later" });
    await conversation.ask("who?", ASK);
    assert.equal(conversation.current.status, "failed");
    await conversation.ask("who?", ASK);
    assert.deepEqual(conversation.turns.map(({ question, status }) => [question, status]), [["who?", "running"]]);
  });

  it("is refused while another window's is being answered", async () => {
    const { conversation, run, thread } = await asking();
    thread.state.values = { messages: answered(run, "One.") };
    run.end("success");
    await until(conversation, is("done"));
    at.server.startRun(thread, { input: { messages: [{ role: "user", content: "elsewhere" }] } });
    const turn = await conversation.ask("here", ASK);
    assert.equal(turn.status, "failed");
    assert.match(turn.error, /still being answered/);
  });
});

describe("a stop", () => {
  it("of a running question waits for the server", async () => {
    const { conversation, run } = await asking();
    run.tell("metadata", {});
    await conversation.stop();
    assert.equal(run.status, "interrupted");
    assert.equal(conversation.current.status, "stopped");
  });

  it("before the run exists starts none", async () => {
    const conversation = at.conversation();
    const asked = conversation.ask("too soon", ASK);
    await conversation.stop();
    await asked;
    assert.equal(conversation.current.status, "stopped");
    assert.deepEqual(at.server.threads.get(conversation.threadId)?.runs ?? [], []);
  });

  it("while the run is being started ends it", async () => {
    const conversation = at.conversation();
    const started = at.server.nextRun();
    const asked = conversation.ask("just now", ASK);
    const run = await started;
    assert.equal(conversation.current.status, "starting");
    await conversation.stop();
    await asked;
    assert.equal(run.status, "interrupted");
    assert.equal(conversation.current.status, "stopped");
  });

  it("that the server refuses says so, and the run is heard on", async () => {
    const { conversation, run, thread } = await asking();
    at.server.refuse("POST /threads/*/runs/*/cancel", 403, { detail: "not yours" });
    await conversation.stop();
    assert.match(conversation.current.error, /Not yours/);
    assert.equal(conversation.current.status, "running");
    thread.state.values = { messages: answered(run, "Done anyway.") };
    run.end("success");
    assert.equal((await until(conversation, is("done"))).error, null);
  });

  it("that comes too late leaves the answer", async () => {
    const { conversation, run, thread } = await asking();
    thread.state.values = { messages: answered(run, "Already.") };
    run.end("success");
    await conversation.stop();
    assert.equal(conversation.current.status, "done");
  });
});

describe("a review", () => {
  const REVIEW = { queries: [{ query: "one", map: null }], estimate: { searches: 1 } };
  const paused = (thread) => { thread.state.tasks = [{ interrupts: [{ id: "i", value: REVIEW }] }]; };

  it("shows the plan and goes on with it under the same settings", async () => {
    const { conversation, run, thread } = await asking({ ...ASK, review: true, settings: { max_research_loops: 2 } });
    assert.deepEqual(run.asked.context, { max_research_loops: 2, review_plan: true });
    paused(thread);
    run.end("success");
    assert.deepEqual((await until(conversation, is("waiting"))).review, REVIEW);
    const next = at.server.nextRun();
    await conversation.resume({ queries: REVIEW.queries });
    const resumed = await next;
    assert.deepEqual(resumed.asked.command, { resume: { queries: REVIEW.queries } });
    assert.deepEqual(resumed.asked.context, run.asked.context);
    thread.state = { values: { messages: answered(run, "Planned.") }, tasks: [] };
    resumed.end("success");
    assert.equal((await until(conversation, is("done"))).answer.text, "Planned.");
    assert.equal(conversation.turns.length, 1);
  });

  it("that the server did not take still waits", async () => {
    const { conversation, run, thread } = await asking({ ...ASK, review: true });
    paused(thread);
    run.end("success");
    await until(conversation, is("waiting"));
    at.server.refuse("POST /threads/*/runs", 422, { detail: "no such field" });
    await conversation.resume({ queries: [] });
    assert.equal(conversation.current.status, "waiting");
    assert.deepEqual(conversation.current.review, REVIEW);
    assert.match(conversation.current.error, /No such field/);
  });

  it("is put aside by another question, and still is when the thread is opened again", async () => {
    const { conversation, run, thread } = await asking({ ...ASK, review: true });
    paused(thread);
    run.end("success");
    await until(conversation, is("waiting"));
    const next = at.server.nextRun();
    await conversation.ask("something else", ASK);
    const other = await next;
    const [question, reply] = answered(other, "Else.");
    thread.state = { values: { messages: [run.asked.input.messages[0], question, reply] }, tasks: [] };
    other.end("success");
    await until(conversation, is("done"));
    const statuses = ({ turns }) => turns.map(({ status }) => status);
    assert.deepEqual(statuses(conversation), ["aside", "done"]);
    const again = at.conversation();
    await again.open(conversation.threadId);
    assert.deepEqual(statuses(again), ["aside", "done"]);
  });

  it("is cancelled by a stop", async () => {
    const { conversation, run, thread } = await asking({ ...ASK, review: true });
    paused(thread);
    run.end("success");
    await until(conversation, is("waiting"));
    const next = at.server.nextRun();
    await conversation.stop();
    assert.deepEqual((await next).asked.command, { resume: { cancel: true } });
  });
});
