/** Figures of an answer that stand in a source's words, and citations that need not be repeated. */

import { el } from "../dom.js";

const FIGURE = /\d+(?:[.,:]\d+)*/g;
/** Ends what a house number follows: 北极阁路9号 is a name. */
const STREET = /[路街道巷弄]$|胡同$/u;
const BLOCKS = "p, li, td, th, blockquote, h3, h4, h5, h6";
/** Selects a figure whose source can be shown. */
export const TOLD = "span.told";

/** The citation behind each figure. @type {WeakMap<Element, HTMLAnchorElement>} */
const citations = new WeakMap();

/** Returns the citation that bears a figure. @param {Element} figure */
export const citationOf = (figure) => citations.get(figure) ?? null;

/**
 * Returns the figures of a text, each with the sign after it where it is short: a bare 3 is anywhere.
 * @param {string} text
 */
export function figuresIn(text) {
  return [...text.matchAll(FIGURE)].map((found) => {
    const end = found.index + found[0].length;
    const unit = /^\s?[\p{L}%°]/u.exec(text.slice(end))?.[0].trim() ?? "";
    const isHouse = unit === "号" && STREET.test(text.slice(0, found.index));
    const sign = found[0].length < 2 ? unit || null : "";
    return { text: found[0], start: found.index, end, unit: isHouse ? null : sign };
  });
}

/**
 * Returns the expression that finds the figures in a quote; null where it has none of them.
 * @param {ReturnType<typeof figuresIn>} figures
 * @param {string} quote
 */
export function finder(figures, quote) {
  const forms = figures.filter(({ unit }) => unit !== null)
    .map(({ text, unit }) => text.replaceAll(".", "\\.") + (unit && `(?=\\s?${unit})`));
  if (!forms.length) return null;
  const pattern = new RegExp(`(?<![\\d.,:])(${forms.join("|")})(?![.,:]?\\d)`, "gu");
  return pattern.test(quote) ? new RegExp(pattern.source, "gu") : null;
}

/**
 * Returns a quote with the figures marked.
 * @param {string} quote
 * @param {ReturnType<typeof figuresIn>} figures
 * @returns {(Node|string)[]}
 */
export function withMarked(quote, figures) {
  const pattern = finder(figures, quote);
  if (!pattern) return [quote];
  return quote.split(pattern).map((part, index) => (index % 2 ? el("mark", {}, part) : part));
}

/**
 * Makes each figure that a quote of its citation has one that tells it.
 * @param {DocumentFragment} fragment
 * @param {(anchor: HTMLAnchorElement) => string[]} quotesOf
 */
export function tellFigures(fragment, quotesOf) {
  for (const group of groups(fragment)) {
    for (const text of group.texts) {
      /** @type {(Node|string)[]} */
      const parts = [];
      let at = 0;
      for (const figure of figuresIn(text.data)) {
        const bears = (/** @type {HTMLAnchorElement} */ anchor) =>
          quotesOf(anchor).some((quote) => finder([figure], quote));
        const anchor = group.anchors.find(bears);
        if (!anchor) continue;
        const node = el("span", { class: "told" }, figure.text);
        citations.set(node, anchor);
        parts.push(text.data.slice(at, figure.start), node);
        at = figure.end;
      }
      if (parts.length) text.replaceWith(...parts, text.data.slice(at));
    }
  }
}

/**
 * Takes away citations that the next sentence of the paragraph repeats; not where one of the two has
 * words that nothing bears.
 * @param {ParentNode} fragment
 */
export function mergeEqual(fragment) {
  const cited = groups(fragment).filter(({ anchors }) => anchors.length > 0);
  const key = (/** @type {Group} */ { anchors }) =>
    anchors.map(({ textContent, dataset }) => [textContent, dataset.missing].join("\n")).join();
  for (const [index, group] of cited.slice(0, -1).entries()) {
    const next = cited[index + 1];
    if (next.block === group.block && key(next) === key(group)) {
      for (const anchor of group.anchors) takeAway(anchor);
    }
  }
}

/** @param {HTMLAnchorElement} anchor */
function takeAway(anchor) {
  const { previousSibling: before, nextSibling: after } = anchor;
  const ends = /^\s*[\p{P}]|^\s/u.test(after?.textContent ?? "");
  if (before instanceof Text && ends) before.data = before.data.trimEnd();
  const isWide = before instanceof Text && /[。！？；]$/.test(before.data);
  if (isWide && after instanceof Text) after.data = after.data.trimStart();
  anchor.remove();
}

/** @typedef {{block: Element|null, texts: Text[], anchors: HTMLAnchorElement[]}} Group */

/**
 * Splits each block at its citations: the text before some, and those that end it.
 * @param {ParentNode} fragment
 */
function groups(fragment) {
  const kinds = NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT;
  const walker = document.createTreeWalker(/** @type {Node} */ (fragment), kinds);
  /** @type {Group[]} */
  const all = [];
  while (walker.nextNode()) {
    const { currentNode: node } = walker;
    const isCitation = node instanceof HTMLAnchorElement && node.matches("a.cite[data-source-number]");
    if (!isCitation && !(node instanceof Text)) continue;
    const parent = node.parentElement;
    const block = parent?.closest(BLOCKS) ?? null;
    let group = all.at(-1);
    if (node instanceof Text) {
      if (!node.data.trim() || parent?.closest("a, code, abbr")) continue;
      if (group?.block === block && group.anchors.length && !/[\p{L}\p{N}]/u.test(node.data)) continue;
      if (group?.block !== block || group.anchors.length) {
        all.push((group = { block, texts: [], anchors: [] }));
      }
      group.texts.push(node);
    } else {
      if (group?.block !== block) all.push((group = { block, texts: [], anchors: [] }));
      group.anchors.push(node);
    }
  }
  return all;
}
