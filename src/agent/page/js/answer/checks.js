/** How much of an answer its sources bear: a quiet bar, and a way to the sentences without a source. */

import { el, fill, textsIn } from "../dom.js";
import { language, text as sayOf, translator } from "../i18n.js";

const say = translator("page.checks");
const BLOCKS = "p, li, .place-said, td, th, blockquote, h3, h4, h5, h6";
/** Ends a sentence before the one that a sign belongs to. */
const ENDS = /[。！？!?](?=.)|\.(?=\s)/gsu;
/** The kinds that a sign in the text stands for. @type {Record<string, string>} */
const SIGNS = { contradicted: "‡", marked: "†" };
/** Those of sentences that nobody judged: no sign stands in the text, so they are named. */
const UNJUDGED = new Set(["unchecked", "late"]);
const CITES = /\s?\[\d+\w*\](?:\([^()]*\))?|\*\*/gu;
/** The sentences that are picked out, of all answers. */
const picked = typeof Highlight === "function" ? new Highlight() : null;
if (picked) CSS.highlights.set("unsourced", picked);

/**
 * Counts the sentences by what bears them, in the order in which they are told.
 * @param {Answer["checks"]} checks
 * @returns {[string, number][]}
 */
export function countsOf({ claims = {}, statements = [] }) {
  const contradicted = statements.filter(({ verdict }) => verdict === "contradicted").length;
  if ((claims.version ?? 1) > 1) return comparedCounts(claims, contradicted);
  const of = (/** @type {string} */ verdict) => claims[verdict] ?? 0;
  /** @type {[string, number][]} */
  const counts = [
    ["borne", of("quoted") + of("rematched") + of("attached")], ["computed", of("computed")],
    ["repaired", of("repaired")], ["own", of("own")], ["unchecked", of("unchecked")],
    ["contradicted", contradicted], ["marked", of("marked") - contradicted],
  ];
  // Of nothing but the assistant's own words there is nothing to tell.
  return counts.some(([kind, n]) => n && kind !== "own") ? counts.filter(([, n]) => n > 0) : [];
}

/**
 * The same of an answer that a judge compared with its sources: the first of how many there are of all.
 * @param {Record<string, number>} claims
 * @param {number} contradicted
 * @returns {[string, number][]}
 */
function comparedCounts(claims, contradicted) {
  const total = claims.total - claims.own;
  const late = claims.late ?? 0;
  if (total > 0 && claims.unchecked === total) return [[late === total ? "none_in_time" : "none", total]];
  /** @type {[string, number][]} */
  const counts = [
    ["computed", claims.computed], ["revised", claims.revised], ["contradicted", contradicted],
    ["marked", claims.marked - contradicted], ["unchecked", claims.unchecked - late], ["late", late],
  ];
  return total > 0 ? [["supported", claims.supported], ...counts.filter(([, n]) => n > 0)] : [];
}

/**
 * Returns the words of the sentences that nobody judged.
 * @param {Pick<Answer, "text"|"checks">} answer
 */
export function unjudgedOf({ text, checks }) {
  const points = [...text];
  const rows = (checks.statements ?? []).filter(({ verdict }) => verdict === "unchecked");
  return rows.map(({ start, end }) => points.slice(start, end).join("").replace(CITES, "").trim());
}

/** @implements {View} */
export class ChecksView {
  #body;
  /** @type {Answer|null} */
  #shown = null;
  /** The sentences that are picked out. */
  #kind = "";
  /** @type {Range[]} */
  #ranges = [];
  #named = el("ul", { hidden: true });
  node = el("div", { class: "checks", dataset: { part: "checks" }, hidden: true });

  /** @param {HTMLElement} body the answer's text */
  constructor(body) { this.#body = body; }

  /** @param {Turn} turn */
  update({ answer }) {
    if (answer === this.#shown) return;
    this.#shown = answer;
    const counts = countsOf(answer?.checks ?? {});
    this.node.hidden = counts.length === 0;
    this.#show("");
    const { version = 1, total = 0, own = 0 } = answer?.checks.claims ?? {};
    const isCompared = version > 1;
    if (counts.length) this.#fill(counts, isCompared ? total - own : total, isCompared);
  }

  /** @param {[string, number][]} counts @param {number} total @param {boolean} isCompared by a judge */
  #fill(counts, total, isCompared) {
    const between = isCompared ? sayOf("punctuation.semicolon", language) : "\u00a0· ";
    const [before, after] = isCompared ? [] : words("total", { n: total, parts: "\0" }).split("\0");
    const parts = counts.flatMap(([kind, n], index) =>
      [index > 0 && between, this.#part(kind, n, isCompared ? total : 0)]);
    const bar = el("span", { class: "checks-bar", "aria-hidden": "true" },
      ...counts.map(([kind, n]) => segment(kind, n)));
    fill(this.node, bar, el("p", {}, before, ...parts, after), this.#named);
  }

  /** Tells one count; those of sentences lead to them. @param {string} kind @param {number} n */
  #part(kind, n, total = 0) {
    const told = total ? sayOf(`export.compared.${kind}`, language, { n, total }) : words(kind, { n });
    if (!SIGNS[kind] && !UNJUDGED.has(kind)) return told;
    return el("button", {
      class: "checks-part", type: "button", "aria-pressed": "false", title: say("show"), dataset: { kind },
      onclick: () => this.#show(this.#kind === kind ? "" : kind),
    }, told);
  }

  /** Leaves the sentences of a kind highlighted; "" shows all alike again. @param {string} kind */
  #show(kind) {
    this.#kind = kind;
    for (const button of this.node.querySelectorAll("button")) {
      button.setAttribute("aria-pressed", String(button.dataset.kind === kind));
    }
    const marks = [...this.#body.querySelectorAll("abbr.unsourced")]
      .filter((mark) => kind && mark.textContent === SIGNS[kind] && !isLegend(mark));
    const unjudged = this.#shown && UNJUDGED.has(kind) ? unjudgedOf(this.#shown) : [];
    this.#named.hidden = !unjudged.length;
    fill(this.#named, ...unjudged.map((words) => el("li", {}, words)));
    this.#body.classList.toggle("picked", marks.length > 0);
    for (const range of this.#ranges) picked?.delete(range);
    this.#ranges = marks.map(sentenceOf);
    for (const range of this.#ranges) picked?.add(range);
    marks[0]?.scrollIntoView({ block: "nearest" });
  }
}

/** @param {string} kind @param {number} n */
function segment(kind, n) {
  const part = el("span", { dataset: { kind } });
  part.style.flexGrow = String(n);
  return part;
}

/** @param {string} key @param {Record<string, unknown>} values */
const words = (key, values) => sayOf(`export.statements.${key}`, language, values);

/** Says whether a sign is only explained here. @param {Element} mark */
const isLegend = (mark) => /^[†‡]/u.test(mark.closest(BLOCKS)?.textContent ?? "");

/** Returns the sentence that a sign stands behind. @param {Element} mark */
function sentenceOf(mark) {
  const range = document.createRange();
  range.selectNodeContents(mark.closest(BLOCKS) ?? mark);
  range.setEndAfter(mark);
  const last = [...range.toString().slice(0, -1).matchAll(ENDS)].at(-1);
  if (last) moveStart(range, last.index + last[0].length);
  return range;
}

/** Moves a range's start on by so many characters. @param {Range} range @param {number} left */
function moveStart(range, left) {
  for (const text of textsIn(range.commonAncestorContainer)) {
    if (left <= text.length) { range.setStart(text, left); return; }
    left -= text.length;
  }
}
