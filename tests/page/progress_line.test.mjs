/** Events in words: what the comparison with the server's own words cannot see. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { asBrowser } from "./browser.mjs";

asBrowser("http://localhost", "en");
const JS = "../../src/agent/page/js";
const { eventLine, mapCallsLine, mapCallWords } = await import(`${JS}/answer/progress_line.js`);
const { text } = await import(`${JS}/i18n.js`);
const { Steps } = await import(`${JS}/answer/steps.js`);
const { duration, usageDetail, usageLine } = await import(`${JS}/answer/usage.js`);

const shown = (steps) => steps.list.map(({ event, state }) => [event.type, state]);
function folded(...events) {
  const steps = new Steps();
  for (const event of events) steps.take(event);
  return steps;
}

describe("an event's line", () => {
  it("is empty for what no template speaks of, whatever its name", () => {
    assert.equal(eventLine({ type: "done" }, "en"), "");
    assert.equal(eventLine({ type: "constructor" }, "en"), "");
  });

  it("takes a text that looks like a placeholder or a pattern as it is", () => {
    const event = { type: "turn", speaker: "$& {text}", text: "{count} $1" };
    assert.equal(eventLine(event, "en"), "$& {text}: {count} $1");
  });
});

describe("a text that counts", () => {
  for (const [n, words] of [[0, "0 files"], [1, "1 file"], ["1", "1 file"], [2, "2 files"], ["1,001", "1,001 files"]]) {
    it(`has the form beside ${JSON.stringify(n)}, whatever its key`, () => {
      assert.equal(text("page.documents.files", "en", { n }), words);
    });
  }

  it("agrees with each of its numbers, and leaves forms whose number is not there", () => {
    const told = (n, total) => text("export.compared.supported", "en", { n, total });
    assert.equal(told(1, 1), "1 of 1 statement found in the sources");
    assert.equal(told(0, 2), "0 of 2 statements found in the sources");
    assert.equal(text("page.documents.files", "en", {}), "{n} {n|file|files}");
  });
});

describe("steps", () => {
  it("turn what was begun into what came of it, in the order of their beginnings", () => {
    const steps = folded(
      { type: "queries", text: "a\nb" },
      { type: "search_started", id: "w0", text: "a" },
      { type: "map_started", id: "a0", text: "b" },
      { type: "map_call", id: "a0", text: "maps_geo x" },
      { type: "search_done", id: "w0", text: "a", count: 3 },
    );
    assert.deepEqual(shown(steps), [["queries", "done"], ["search_done", "done"], ["map_started", "open"]]);
    assert.equal(steps.current.event.type, "map_started");
    assert.equal(steps.list[2].calls.length, 1);
  });

  it("tell apart searches that share an id by their text", () => {
    const steps = folded(
      { type: "search_started", id: "t1", text: "one" },
      { type: "search_started", id: "t1", text: "two" },
      { type: "search_done", id: "t1", text: "two", count: 1 },
    );
    assert.deepEqual(shown(steps), [["search_started", "open"], ["search_done", "done"]]);
  });

  it("end topics without an id by their text, and leave others open", () => {
    const steps = folded(
      { type: "topic_started", text: "history" },
      { type: "topic_started", text: "food" },
      { type: "topic_done", text: "history", count: 1 },
    );
    assert.deepEqual(shown(steps), [["topic_done", "done"], ["topic_started", "open"]]);
  });

  it("end with the answer; a run's end without one adds nothing", () => {
    assert.deepEqual(shown(folded({ type: "answering" }, { type: "done", count: 2 })), [["done", "done"]]);
    assert.deepEqual(shown(folded({ type: "done" })), []);
  });

  it("are left where the run was stopped, and done with where it ended well", () => {
    const stopped = folded({ type: "search_started", id: "w0", text: "a" });
    stopped.close(false);
    assert.deepEqual(shown(stopped), [["search_started", "left"]]);
    const ended = folded({ type: "search_started", id: "w0", text: "a" });
    ended.close(true);
    assert.deepEqual(shown(ended), [["search_started", "done"]]);
  });

  it("are part of the task, turn or topic in which they are event, as long as it lasts", () => {
    const parents = (...events) => folded(...events).list.map(({ parent }) => parent);
    const search = { type: "search_started", id: "T1", text: "a" };
    const tasks = ["T1", "T2"].map((id) => ({ type: "task_started", id }));
    assert.deepEqual(parents(...tasks, search), [null, null, 0]);
    assert.equal(folded(...tasks, search).atOnce, 1);
    const turn = { type: "turn_started", id: "1", speaker: "analyst" };
    const code = { type: "code", text: "1+1", speaker: "analyst" };
    assert.deepEqual(parents(turn, code, { ...code, speaker: "verifier" }), [null, 0, null]);
    const topic = { type: "topic_started", text: "x" };
    const done = { type: "topic_done", text: "x" };
    assert.deepEqual(parents(topic, { type: "thought" }, done, { type: "thought" }), [null, 0, null]);
  });

  it("tell of a long text one phase after another, in one line each, until it is there", () => {
    const draft = (count) => ({ type: "drafting", id: "draft", count });
    const checked = (count) => ({ type: "judged", id: "check-1", text: "52", count });
    const events = [{ type: "answering" }, draft(0), draft(900), checked(24), checked(38)];
    const steps = folded(...events);
    assert.deepEqual(shown(steps), [["answering", "open"], ["drafting", "done"], ["judged", "open"]]);
    assert.equal(steps.current.event.count, 38);
    assert.equal(steps.atOnce, 1);
    const again = { type: "judged", id: "check-2", text: "54", count: 54 };
    assert.deepEqual(shown(folded(...events, { type: "revising", id: "revision" }, again)).slice(2), [
      ["judged", "done"], ["revising", "done"], ["judged", "open"],
    ]);
  });

  it("are counted without the notice", () => {
    assert.equal(folded({ type: "notice", text: "!" }, { type: "thought", text: "." }).count, 1);
  });
});

describe("steps that are event again, as a task tried again tells them", () => {
  const begun = (id, text) => ({ type: "search_started", id, text });
  const done = (id, text) => ({ type: "search_done", id, text, count: 3 });

  it("stay one line each, open again", () => {
    const both = [begun("w0", "a"), begun("w1", "b")];
    assert.deepEqual(shown(folded(...both, ...both)), [["search_started", "open"], ["search_started", "open"]]);
    const again = folded(begun("w0", "a"), done("w0", "a"), begun("w0", "a"));
    assert.deepEqual(shown(again), [["search_started", "open"]]);
    assert.deepEqual(shown(folded(begun("w0", "a"), done("w0", "a"), begun("w0", "a"), done("w0", "a"))), [["search_done", "done"]]);
  });

  it("count the calls to the map that are made again only", () => {
    const started = { type: "map_started", id: "a0", text: "b" };
    const call = { type: "map_call", id: "a0", text: "maps_geo x" };
    assert.equal(folded(started, call, started, call).list[0].calls.length, 1);
  });

  it("are one where what has no id is event twice in a row, or still goes on", () => {
    const queries = { type: "queries", text: "a\nb", count: 2 };
    assert.deepEqual(shown(folded(queries, queries)), [["queries", "done"]]);
    assert.deepEqual(shown(folded({ type: "answering" }, { type: "answering" })), [["answering", "open"]]);
  });

  it("are two where the same was done twice", () => {
    const reflection = { type: "reflection", text: "hours", count: 1 };
    assert.equal(folded(reflection, begun("w2", "hours"), reflection).list.length, 3);
    const reading = [{ type: "reading", text: "x", count: 2 }, { type: "compressed", text: "x", count: 1 }];
    assert.equal(folded(...reading, ...reading).list.length, 2);
  });
});

describe("calls to the map", () => {
  it("are event in words, an unknown tool as it is", () => {
    assert.equal(mapCallWords("maps_around_search 咖啡馆", "en"), "looking nearby for 咖啡馆");
    assert.equal(mapCallWords("maps_search_detail B0SAMPW008", "en"), "a place's details");
    assert.equal(mapCallWords("maps_new_tool x", "en"), "maps_new_tool x");
    assert.equal(mapCallWords(undefined, "en"), "");
  });

  it("of one search become one line", () => {
    const calls = ["maps_geo Bund", "maps_search_detail B1", "maps_search_detail B2"].map((text) => ({ text }));
    assert.equal(mapCallsLine(calls, "en"), "locating Bund · a place's details ×2");
  });
});

describe("the end of a run", () => {
  it("counts the sources of its answer, in the singular where there is one", () => {
    const written = (n) => text("page.timeline.written", "en", { n });
    assert.equal(written(5), "Answer written with 5 sources");
    assert.equal(written(1), "Answer written with 1 source");
  });
});

describe("what was used", () => {
  it("is counted in words, without what was not used", () => {
    const usage = { searches: 1, map_calls: 0, model_calls: 9 };
    assert.equal(usageLine(usage), "1 web search");
    assert.equal(usageDetail(usage), "1 web search · 9 model calls");
  });

  it("names the tokens, and the cost where there is one", () => {
    const usage = { searches: 2, input_tokens: 12_000, output_tokens: 345, cost_usd: 0.0042 };
    assert.equal(usageDetail(usage), "2 web searches · 12,345 tokens · about $0.004");
    assert.equal(usageDetail({ searches: 2, cost_usd: null }), "2 web searches");
  });

  it("takes seconds, then minutes", () => {
    assert.deepEqual([0.34, 3, 12.7, 125.2].map(duration), ["0.3 s", "3 s", "12 s", "2 min 5 s"]);
  });
});
