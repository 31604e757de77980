/** A plan under a person's hands. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";

// The words are chosen when their module is read.
Object.defineProperty(globalThis, "navigator", { value: { languages: ["en-GB"] }, configurable: true });
const JS = "../../src/agent/page/js";
const plan = await import(`${JS}/shell/review.js`);

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

  it("says what it takes as it is now, in the page's language", () => {
    const share = (searches, map_calls, low, high) =>
      ({ searches, map_calls, model_calls: 1, cost_usd: { low, high } });
    const shares = { lines: [share(1, 4, 0.02, 0.04), share(1, 0, 0.01, 0.02)], own: share(1, 0, 0.01, 0.02) };
    const review = { ...WRITTEN, estimate: { ...share(2, 4, 0.05, 0.1), model_calls: 6 }, shares };
    const { lines } = plan.draftFor(review, null);
    const begin = "Estimate (for the plan as written, without follow-ups): ";
    const end = " (the upper end with follow-ups)";
    const said = () => plan.estimateWords(review, lines).replace(begin, "").replace(end, "");
    assert.equal(said(), "web searches 2, map calls 4, model calls 6; about $0.05 to $0.10");
    lines[0].onMap = false;
    assert.equal(said(), "web searches 2, map calls 0, model calls 6; about $0.04 to $0.08");
    lines.push(plan.emptyLine(), plan.emptyLine());
    assert.equal(said(), "web searches 4, map calls 0, model calls 8; about $0.06 to $0.12");
    lines.splice(0, 3);
    assert.equal(said(), "web searches 1, map calls 0, model calls 5; about $0.03 to $0.06");
    review.estimate.cost_usd = null;
    assert.match(said(), /model calls 5; cost unknown$/);
  });

  it("says what it takes as written where nobody says what a line adds", () => {
    const estimate = { searches: 2, map_calls: 0, model_calls: 3, cost_usd: { low: 0, high: 0 } };
    const { lines } = plan.draftFor(WRITTEN, null);
    assert.match(plan.estimateWords({ ...WRITTEN, estimate }, lines.slice(1)), /searches 2, .*; free of charge$/);
    assert.equal(plan.estimateWords(WRITTEN, lines), "");
    for (const [low, high, words] of [[1, 20, "about 1 minute"], [61, 119, "about 2 minutes"], [30, 400, "1 to 7 minutes"]]) {
      const timed = { ...WRITTEN, estimate: { ...estimate, seconds: { low, high } } };
      assert.match(plan.estimateWords(timed, lines.slice(1)), new RegExp(`; ${words}$`));
    }
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
