/** The list of sources an answer cites, under their numbers. */

import { el, fill, link } from "../dom.js";
import { kindSign, numbered, sourceOrigin } from "./source_kind.js";
import { speaking } from "../words.js";

const say = speaking({
  zh: { sources: "来源", quotes: "引用的原文（{n}）" },
  en: { sources: "Sources", quotes: "What it says ({n})" },
});

/** @returns {{node: HTMLElement, update: (turn: object) => void}} */
export function sourcesView() {
  const list = el("ol", { class: "source-list" });
  const node = el("section", { class: "sources", dataset: { part: "sources" }, hidden: true },
    el("h3", {}, say("sources")), list);
  let shown = null;
  function update(turn) {
    if (turn.answer === shown) return;
    shown = turn.answer;
    const sources = shown?.sources ?? [];
    node.hidden = sources.length === 0;
    fill(list, ...numbered(sources).map(([number, source]) => sourceItem(number, source)));
  }
  return { node, update };
}

function sourceItem(number, source) {
  const quotes = source.quotes ?? [];
  return el("li", { class: "source", value: number, tabindex: "-1", dataset: { sourceNumber: number } },
    el("span", { class: "number", "aria-hidden": "true" }, number),
    el("div", {},
      el("p", { class: "source-title" },
        kindSign(source.kind), " ", link(source.url, source.title || source.url)),
      el("p", { class: "source-site" }, sourceOrigin(source)),
      quotes.length > 0 && el("details", {},
        el("summary", {}, say("quotes", { n: quotes.length })),
        ...quotes.map((quote) => el("blockquote", {}, quote)))));
}
