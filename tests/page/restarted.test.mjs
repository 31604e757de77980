/** A server that died with a run it had just taken, and begins it again under another id. */

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { answered, startHarness, is, until } from "./harness.mjs";

let at;
before(async () => { at = await startHarness(); });
after(() => at.close());

/** A conversation whose server has died; `looks` are what has happened by its next waits. */
async function restarted(...looks) {
  const waits = [];
  const wait = async (ms) => {
    waits.push(ms);
    await new Promise((done) => { setImmediate(done); });
    if (conversation.current.isLost) looks.shift()?.();
  };
  const conversation = at.conversation({ wait });
  const started = at.server.nextRun();
  await conversation.ask("where?", { assistant: "agent", settings: { max_research_loops: 2 } });
  const run = await started;
  run.tell("metadata", {});
  run.progress("search_started", { id: "w0", text: "a" });
  run.say("Half an ans");
  await until(conversation, (turn) => turn.text !== "");
  const thread = at.server.forget(run);
  return { conversation, run, thread, waits };
}

/** The server has the thread again, and a run that goes on with this one from its steps. */
function goesOn(run, thread) {
  at.server.threads.set(thread.thread_id, thread);
  return at.server.startRun(thread, { metadata: { ...run.asked.metadata, tanlu_run: run.run_id } });
}

function finish(again, run, thread, text) {
  thread.state.values = { messages: answered(run, text) };
  again.end("success");
}

const steps = (turn) => turn.events.map(({ type, id }) => `${type} ${id ?? ""}`.trim());

describe("a run that the server lost", () => {
  it("is waited for, and heard to its end under its new id", async () => {
    const { conversation, run, thread, waits } = await restarted(() => {}, () => goesOn(run, thread));
    const lost = await until(conversation, (turn) => turn.isLost);
    assert.deepEqual([lost.status, lost.text], ["running", "Half an ans"]);
    const turn = await until(conversation, (one) => !one.isLost);
    const [again] = thread.runs;
    assert.equal(turn.runId, again.run_id);
    again.tell("metadata", {});
    again.progress("search_started", { id: "w0", text: "a" });
    again.say("The whole answer.");
    await until(conversation, (one) => one.text === "The whole answer.");
    finish(again, run, thread, "The whole answer.");
    await until(conversation, is("done"));
    assert.equal(conversation.turns.length, 1);
    assert.equal(turn.answer.text, "The whole answer.");
    assert.deepEqual(steps(turn), ["search_started w0", "search_started w0"]);
    assert.deepEqual(waits, [250, 500, 1000]);
  });

  it("is found again when the server dies once more", async () => {
    const { conversation, run, thread } = await restarted(() => goesOn(run, thread), () => {}, () => goesOn(run, thread));
    const turn = await until(conversation, (one) => one.runId !== run.run_id);
    const [second] = thread.runs;
    second.tell("metadata", {});
    second.progress("search_done", { id: "w0", text: "a" });
    await until(conversation, (one) => one.events.length === 2);
    at.server.forget(second);
    await until(conversation, (one) => one.runId !== second.run_id);
    finish(thread.runs[0], run, thread, "At last.");
    assert.equal((await until(conversation, is("done"))).text, "At last.");
    assert.equal(turn, conversation.current);
  });

  it("had ended: the thread has its answer, or the plan that waits", async () => {
    for (const isPlan of [false, true]) {
      const { conversation, run, thread } = await restarted(() => {
        const interrupts = isPlan ? [{ value: { queries: [], estimate: {} } }] : [];
        const messages = isPlan ? run.asked.input.messages : answered(run, "Just before.");
        thread.state = { values: { messages }, tasks: [], next: [], interrupts, metadata: { run_id: run.run_id } };
        at.server.threads.set(thread.thread_id, thread);
      });
      const turn = await until(conversation, is(isPlan ? "waiting" : "done"));
      assert.equal(turn.answer?.text ?? turn.review.queries.length, isPlan ? 0 : "Just before.");
    }
  });

  it("is not taken for ended while the thread waits for what was there before it", async () => {
    const { conversation, run, thread } = await restarted(() => {
      thread.state = { values: { messages: [] }, tasks: [], next: [], interrupts: [], metadata: { run_id: "earlier" } };
      at.server.threads.set(thread.thread_id, thread);
    }, () => {}, () => goesOn(run, thread));
    const turn = await until(conversation, (one) => one.runId !== run.run_id);
    assert.equal(turn.status, "running");
  });

  it("is given up after about two minutes", async () => {
    const { conversation, waits } = await restarted();
    const turn = await until(conversation, is("failed"));
    assert.match(turn.error, /not have it any more/);
    assert.equal(turn.isLost, false);
    const waited = waits.reduce((sum, ms) => sum + ms, 0);
    assert.ok(waited > 110_000 && waited < 150_000, String(waited));
  });

  it("and that is to be stopped is stopped once it goes on", async () => {
    const { conversation, run, thread } = await restarted(() => {}, () => goesOn(run, thread));
    await until(conversation, (turn) => turn.isLost);
    await conversation.stop();
    assert.equal(conversation.current.status, "stopped");
    assert.equal(thread.runs[0].status, "interrupted");
  });

  it("is one turn in a window opened afterwards, with its question and settings", async () => {
    const { conversation, run, thread } = await restarted(() => goesOn(run, thread));
    thread.state.values = { messages: run.asked.input.messages };
    await until(conversation, (turn) => turn.runId !== run.run_id);
    const again = at.conversation();
    await again.open(thread.thread_id);
    assert.deepEqual(again.turns.map((turn) => [turn.question, turn.status]), [["where?", "running"]]);
    finish(thread.runs[0], run, thread, "Seen by both.");
    await until(again, is("done"));
    await until(conversation, is("done"));
  });
});

describe("a run that somebody else asked for", () => {
  it("and that goes on after the server died is the last question's", async () => {
    const thread = at.server.thread([
      { type: "human", id: "h1", content: "first" }, { type: "ai", id: "a1", content: "One." },
      { type: "human", id: "h2", content: "second" },
    ]);
    at.server.startRun(thread, { input: null, metadata: { tanlu_run: "gone" } });
    const conversation = at.conversation();
    await conversation.open(thread.thread_id);
    assert.deepEqual(conversation.turns.map((turn) => turn.status), ["done", "running"]);
  });
});
