/** The sources of an answer: their list, and each one's sign, site and number. */

import { answerView, el, fill, icon, link, safeUrl } from "../dom.js";
import { textsOf, translator } from "../i18n.js";

/** @typedef {[number, Source]} Numbered a source under its number in the answer */

const say = translator("page.sources");
const KINDS = textsOf("page.sources.kinds");
/** Matches the page of a document in its title, in either language. */
const PAGE = /(?:, p\. |，第 )(\d+)(?: [页頁])?/u;
/** A day, or a month or a year. */
const DAY = /^\d{4}(?:-\d\d){0,2}(?!\d)/;

/**
 * Lists the sources an answer cites, under their numbers; the map's, which say little, folded.
 */
export function sourcesView() {
  const list = el("ol", { class: "source-list" });
  const heading = el("h3", {});
  const ofMap = el("ol", { class: "source-list" });
  const name = el("summary", {});
  const map = el("details", { class: "map-sources" }, name, ofMap);
  const node = el("section", { class: "sources", dataset: { part: "sources" }, hidden: true },
    heading, list, map);
  return answerView(node, (answer) => {
    const { true: places = [], false: pages = [] } =
      Object.groupBy(numbered(answer?.sources ?? []), ([, { kind }]) => String(kind === "place"));
    node.hidden = places.length + pages.length === 0;
    heading.hidden = list.hidden = pages.length === 0;
    map.hidden = places.length === 0;
    const isWeb = pages.every(([, { kind }]) => kind === "page");
    fill(heading, say(isWeb ? "web" : "sources", { n: pages.length }));
    fill(name, say("map", { n: places.length }));
    fill(list, ...byDocument(pages).map(([title, parts]) => documentItem(title, parts)));
    fill(ofMap, ...places.map(([number, source]) => sourceItem(number, source)));
  });
}

/**
 * Gathers the pages of one document under its title, each document where its first page stood.
 * @param {Numbered[]} sources
 * @returns {[string, Numbered[]][]}
 */
export function byDocument(sources) {
  const documents = Map.groupBy(sources, ([number, { title, url }]) =>
    (PAGE.test(title) ? `${url.split("#")[0]} ${title.replace(PAGE, "")}` : number));
  return [...documents.values()].map((parts) => [parts[0][1].title.replace(PAGE, ""), parts]);
}

/** @param {string} title @param {Numbered[]} parts */
function documentItem(title, parts) {
  const [[first, source]] = parts;
  if (parts.length === 1) return sourceItem(first, source);
  return el("li", { class: "source-document" },
    el("p", { class: "source-title" }, kindSign(source.kind), " ", title),
    el("p", { class: "source-site" }, sourceOrigin(source)),
    el("ol", { class: "source-list" }, ...parts.map(([number, page]) => sourceItem(number, page, true))));
}

/**
 * @param {number} number
 * @param {Source} source
 * @param {boolean} isPage whether its document is named above
 */
function sourceItem(number, source, isPage = false) {
  const quotes = source.quotes ?? [];
  const name = isPage ? say("on_page", { n: PAGE.exec(source.title)?.[1] }) : source.title || source.url;
  return el("li", { class: "source", value: number, tabindex: "-1", dataset: { sourceNumber: number } },
    el("span", { class: "number", "aria-hidden": "true" }, number),
    el("div", {},
      el("p", { class: "source-title" }, !isPage && kindSign(source.kind), " ", link(source.url, name)),
      !isPage && el("p", { class: "source-site" }, sourceOrigin(source)),
      quotes.length > 0 && el("details", {},
        el("summary", {}, say("quotes", { n: quotes.length })),
        ...quotes.map((quote) => el("blockquote", {}, quote)))));
}

/** Draws the sign of a kind of source, with its name for those who do not see it. @param {SourceKind} kind */
export function kindSign(kind) {
  const known = KINDS.has(kind) ? kind : "page";
  const sign = icon(`kind-${known}`);
  sign.removeAttribute("aria-hidden");
  sign.setAttribute("role", "img");
  sign.setAttribute("aria-label", KINDS.get(known) ?? "");
  return sign;
}

/**
 * Tells where a source is from: a page's site and day, else the site and who provides it.
 * @param {Source} source
 */
export function sourceOrigin(source) {
  const href = safeUrl(source.url);
  const site = source.site || (href ? new URL(href).hostname.replace(/^www\./, "") : "");
  const day = DAY.exec(source.published ?? "")?.[0] ?? "";
  if (source.kind === "page") return [site, day].filter(Boolean).join(" · ");
  const provider = source.provider ?? "";
  return [site, provider.slice(0, 1).toUpperCase() + provider.slice(1)].filter(Boolean).join(" · ");
}

/** Returns sources by the text of their numbers, in that order. @param {Source[]} sources */
export const byNumber = (sources) =>
  new Map(numbered(sources).map(([number, source]) => [String(number), source]));

/** Pairs sources with their numbers in the answer, in that order. @param {Source[]} sources */
export function numbered(sources) {
  /** @type {Numbered[]} */
  const pairs = sources.map(({ sums, ...source }, index) =>
    [source.number ?? index + 1, sums ? { ...source, quotes: sums } : source]);
  return pairs.sort(([a], [b]) => a - b);
}
