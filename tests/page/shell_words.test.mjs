/** Who may be asked and how long ago a question was, in words. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";

// The words are chosen when their module is read.
Object.defineProperty(globalThis, "navigator", { value: { languages: ["zh-CN"] }, configurable: true });
const JS = "../../src/agent/page/js";
const { choicesOf } = await import(`${JS}/shell/assistant_choice.js`);
const { sitesOf } = await import(`${JS}/shell/source_rules.js`);
const { ago, dayOf } = await import(`${JS}/shell/thread_row.js`);

describe("an assistant on offer", () => {
  const made = { assistant_id: "5e1f", graph_id: "agent", name: "My guide", description: "Only parks." };

  it("is called by what it does where we know it, and asked for by its graph", () => {
    const [own] = choicesOf([{ assistant_id: "fe09", graph_id: "agent", name: "agent", description: "…" }]);
    assert.equal(own.value, "agent");
    assert.equal(own.title, "查一查");
  });

  it("keeps its own name and id where somebody made it over a graph", () => {
    const [other] = choicesOf([made]);
    assert.deepEqual(other, { value: "5e1f", graphId: "agent", title: "My guide", line: "Only parks." });
  });

  it("has one place in the list, whichever the server names first: ours, then those made later", () => {
    const own = (id) => ({ assistant_id: id, graph_id: id, name: id, description: "" });
    const named = choicesOf([made, own("plan_execute"), own("other"), own("deep_research"), own("agent")]);
    assert.deepEqual(named.map(({ value }) => value), ["agent", "deep_research", "plan_execute", "5e1f", "other"]);
  });

  it("goes by its graph's id where nothing is known of it", () => {
    const [unknown] = choicesOf([{ assistant_id: "1", graph_id: "constructor", name: "constructor", description: "" }]);
    assert.deepEqual(unknown, { value: "constructor", graphId: "constructor", title: "constructor", line: "" });
  });
});

describe("how long ago", () => {
  const NOW = Date.parse("2026-05-20T12:00:00Z");
  for (const [then, words] of [
    ["2026-05-20T11:59:30Z", "刚刚"],
    ["2026-05-20T12:00:10Z", "刚刚"],
    ["2026-05-20T11:57:00Z", "3分钟前"],
    ["2026-05-20T09:30:00Z", "2小时前"],
    ["2026-05-19T11:00:00Z", "昨天"],
    // The day is that of the reader's own zone.
    [new Date(2026, 4, 2, 12).toISOString(), "5月2日"],
  ]) it(`${then} is ${words}`, () => assert.equal(ago(then, NOW), words));
});

describe("sites that a person writes or pastes", () => {
  it("are read whatever parts them, without what is not a domain's", () => {
    assert.deepEqual(sitesOf("https://www.gov.cn/zhengce/ ，-example.com;a.org"),
      { sites: ["www.gov.cn", "-example.com", "a.org"], isWhole: true });
  });

  it("may be all that end so", () => {
    assert.deepEqual(sitesOf("*.gov -*.edu.cn *"), { sites: ["*.gov", "-*.edu.cn"], isWhole: false });
  });

  it("leave out words that are none, and say so", () => {
    assert.deepEqual(sitesOf("知乎 a.org"), { sites: ["a.org"], isWhole: false });
  });
});

describe("the day of a question", () => {
  const NOW = new Date(2026, 4, 20, 0, 30).getTime();
  for (const [then, day] of [
    [new Date(2026, 4, 20, 0, 10), "today"], [new Date(2026, 4, 19, 23, 50), "yesterday"],
    [new Date(2026, 4, 14, 1), "week"], [new Date(2026, 4, 13, 23), "earlier"],
  ]) it(`of ${then} is ${day}`, () => assert.equal(dayOf(then.toISOString(), NOW), day));
});
