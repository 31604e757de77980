/** The sources of an answer: their list, and each one's sign, site and number. */

import { el, fill, link, safeUrl, svg } from "../dom.js";
import { translator } from "../i18n.js";

const say = translator("page.sources");
/** @type {Record<SourceKind, string[]>} */
const SIGNS = {
  page: [
    "M12 3.5a8.5 8.5 0 1 0 0 17a8.5 8.5 0 1 0 0-17z",
    "M3.5 12h17M12 3.5c5 4.5 5 12.5 0 17c-5-4.5-5-12.5 0-17z",
  ],
  place: [
    "M12 21s7-6 7-11.5a7 7 0 0 0-14 0C5 15 12 21 12 21z",
    "M12 7a2.5 2.5 0 1 0 0 5a2.5 2.5 0 1 0 0-5z",
  ],
  paper: ["M6 3.5h8l4 4v13H6z", "M9 11h6M9 14h6M9 17h4"],
  filing: ["M4 20.5h16M6 20V10M12 20V5M18 20v-7"],
  document: ["M5 4.5c3-1 5-1 7 1c2-2 4-2 7-1v14c-3-1-5-1-7 1c-2-2-4-2-7-1z", "M12 5.5v14"],
};

/** Lists the sources an answer cites, under their numbers. @returns {View} */
export function sourcesView() {
  const list = el("ol", { class: "source-list" });
  const node = el("section", { class: "sources", dataset: { part: "sources" }, hidden: true },
    el("h3", {}, say("sources")), list);
  /** @type {Answer|null} */
  let shown = null;
  /** @param {Turn} turn */
  function update(turn) {
    if (turn.answer === shown) return;
    shown = turn.answer;
    const sources = shown?.sources ?? [];
    node.hidden = sources.length === 0;
    fill(list, ...numbered(sources).map(([number, source]) => sourceItem(number, source)));
  }
  return { node, update };
}

/** @param {number} number @param {Source} source */
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

/** Draws the sign of a kind of source, with its name for those who do not see it. @param {SourceKind} kind */
export function kindSign(kind) {
  const known = Object.hasOwn(SIGNS, kind) ? kind : "page";
  const shapes = SIGNS[known].map((d) => svg("path", { d }));
  const attributes = { class: "icon", viewBox: "0 0 24 24", role: "img", "aria-label": say(known) };
  return svg("svg", attributes, ...shapes);
}

/** Tells where a source is from: a page's site, else the site and who provides it. @param {Source} source */
export function sourceOrigin(source) {
  const href = safeUrl(source.url);
  const site = source.site || (href ? new URL(href).hostname.replace(/^www\./, "") : "");
  if (source.kind === "page") return site;
  const provider = source.provider ?? "";
  return [site, provider.slice(0, 1).toUpperCase() + provider.slice(1)].filter(Boolean).join(" · ");
}

/** Pairs sources with their numbers in the answer, in that order. @param {Source[]} sources */
export function numbered(sources) {
  /** @type {[number, Source][]} */
  const pairs = sources.map((source, index) => [source.number ?? index + 1, source]);
  return pairs.sort(([a], [b]) => a - b);
}
