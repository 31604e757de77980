/** What could not be found out, and why. */

import { el, fill } from "../dom.js";
import { speaking } from "../words.js";

const say = speaking({
  zh: { gaps: "没有查到的", asked: "查的是：{text}", between: "；" },
  en: { gaps: "What could not be found", asked: "Looked for: {text}", between: "; " },
});
const MOST_QUERIES = 4;

/** @returns {{node: HTMLElement, update: (turn: object) => void}} */
export function gapsView() {
  const list = el("ul", {});
  const node = el("section", { class: "gaps", dataset: { part: "gaps" }, hidden: true },
    el("h3", {}, say("gaps")), list);
  let shown = null;
  function update(turn) {
    if (turn.answer === shown) return;
    shown = turn.answer;
    const gaps = byMessage(shown?.gaps ?? []);
    node.hidden = gaps.size === 0;
    fill(list, ...[...gaps].map(([message, queries]) => gapItem(message, queries)));
  }
  return { node, update };
}

/** Each reason once, with what it concerns. */
function byMessage(gaps) {
  const found = new Map();
  for (const { message, query } of gaps) {
    const queries = found.get(message) ?? new Set();
    found.set(message, query ? queries.add(query) : queries);
  }
  return found;
}

function gapItem(message, queries) {
  const named = [...queries].slice(0, MOST_QUERIES);
  const asked = named.join(say("between")) + (queries.size > MOST_QUERIES ? " …" : "");
  return el("li", {}, message, asked && el("p", { class: "gap-asked" }, say("asked", { text: asked })));
}
