/** A plan under a person's hands, and how its map tasks read. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";

// The words are chosen when their module is read.
Object.defineProperty(globalThis, "navigator", { value: { languages: ["en-GB"] }, configurable: true });
const JS = "../../src/agent/page/js";
const plan = await import(`${JS}/shell/review.js`);
const { taskLine, estimateLines } = await import(`${JS}/shell/describe_plan.js`);

const TASK = { intent: "nearby", place: "王府井", city: "北京", keywords: ["公园"], radius_m: 1500 };
const WRITTEN = {
  queries: [{ query: "王府井 遛娃", map: TASK, rationale: "why" }, { query: "北京 亲子", map: null }],
};

describe("a plan", () => {
  it("goes back as it was written where nothing is changed, without what the run does not read", () => {
    assert.deepEqual(plan.answerOf(plan.draftFor(WRITTEN, null)), {
      queries: [{ query: "王府井 遛娃", map: TASK }, { query: "北京 亲子", map: null }],
    });
  });

  it("goes back with what the person changed, added and took away", () => {
    const draft = plan.draftFor(WRITTEN, null);
    draft.lines[0].onMap = false;
    draft.lines[1].text = "  北京 博物馆 ";
    draft.lines.push({ ...plan.emptyLine(), text: "雨天 去处" }, plan.emptyLine());
    assert.deepEqual(plan.answerOf(draft).queries, [
      { query: "王府井 遛娃", map: null },
      { query: "北京 博物馆", map: null },
      { query: "雨天 去处", map: null },
    ]);
  });

  for (const [part, shown, answer] of [
    ["topics", [{ id: "T1", name: "cost", what_to_find: "per kWh" }],
      [{ id: "T1", name: "mine", what_to_find: "per kWh" }, "more"]],
    ["tasks", [{ id: "T1", query: "cells", dep: [], company: "CATL" }],
      [{ id: "T1", query: "mine", dep: [], company: "CATL" }, "more"]],
    ["steps", ["who"], ["mine", "more"]],
  ]) {
    it(`of ${part} keeps what belongs to a line under its new words`, () => {
      const draft = plan.draftFor({ [part]: shown, most: 4 }, null);
      draft.lines[0].text = "mine";
      draft.lines.push({ ...plan.emptyLine(), text: "more" });
      assert.deepEqual(plan.answerOf(draft), { [part]: answer });
    });
  }

  it("of tasks tells by number which ones a task waits for", () => {
    const tasks = [{ id: "T1", query: "a", dep: [] }, { id: "T2", query: "b", dep: ["T1", "T9"] }];
    const draft = plan.draftFor({ tasks }, null);
    assert.deepEqual(draft.lines.map((line) => plan.waitsFor(draft, line)), [[], [1]]);
    assert.deepEqual(plan.waitsFor(draft, plan.emptyLine()), []);
  });

  it("is no answer once every line is emptied", () => {
    const draft = plan.draftFor(WRITTEN, null);
    for (const line of draft.lines) line.text = " ";
    assert.equal(plan.answerOf(draft), null);
  });

  it("is found as it was left when the run asks about it again", () => {
    const before = plan.draftFor(WRITTEN, null);
    before.lines[0].text = "changed";
    const again = plan.draftFor({ ...WRITTEN, problem: "queries[0].query: is too long" }, before);
    assert.equal(again.lines[0].text, "changed");
  });

  it("is read anew when it is another plan", () => {
    const before = plan.draftFor(WRITTEN, null);
    before.lines[0].text = "changed";
    assert.equal(plan.draftFor({ queries: [{ query: "other" }] }, before).lines[0].text, "other");
  });

  it("has room for as many lines as it says, and keeps one", () => {
    const draft = plan.draftFor({ ...WRITTEN, most: 3 }, null);
    assert.ok(plan.hasRoom(draft) && plan.mayRemove(draft));
    draft.lines.push(plan.emptyLine());
    assert.ok(!plan.hasRoom(draft));
    assert.ok(!plan.mayRemove({ ...draft, lines: [plan.emptyLine()] }));
  });
});

describe("a map task in words", () => {
  for (const [task, line] of [
    [TASK, "公园 within 1.5 km of 王府井 (北京)"],
    [{ intent: "nearby", keywords: ["cafe", "park"], radius_m: 500 }, "cafe, park within 500 m of the position given"],
    [{ intent: "nearby", place: "the Bund" }, "places within 2 km of the Bund"],
    [{ intent: "area", city: "杭州", keywords: ["茶馆"] }, "茶馆 in 杭州"],
    [{ intent: "poi", place: "故宫博物院" }, "The place 故宫博物院"],
    [{ intent: "route", origin: "A", destination: "B", mode: "walking" }, "Way on foot: A → B"],
    [{ intent: "route", origin: "A", destination: "B", mode: "constructor" }, "Way constructor: A → B"],
    [{ intent: "route", destination: "B" }, "Way: the position given → B"],
    [{ intent: "distance", origin: "A", destination: "B" }, "Distance: A → B"],
    [{ intent: "weather", city: "北京" }, "Weather in 北京"],
    [{ intent: "regeo", place: "116.4,39.9" }, "What is at 116.4,39.9"],
    [{ intent: "constructor", place: "X" }, "constructor: X"],
  ]) {
    it(`reads: ${line}`, () => assert.equal(taskLine(task), line));
  }

  it("comes with what the plan takes", () => {
    const counts = { searches: 3, map_calls: 6, model_calls: 9 };
    assert.equal(estimateLines({ ...counts, cost_usd: { low: 0.031, high: 0.2 } }).cost,
      "about $0.03 to $0.20 (the upper end with follow-ups)");
    assert.equal(estimateLines({ ...counts, cost_usd: { low: 0, high: 0 } }).cost, "free of charge");
    assert.deepEqual(estimateLines({ ...counts, cost_usd: null }), {
      counts: "Web searches: 3 · map calls: 6 · model calls: 9", cost: "cost unknown",
    });
  });
});
