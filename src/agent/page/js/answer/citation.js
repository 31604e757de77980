/** The source behind a citation's number: one card for the whole page, shown where it is asked for. */

import { contains, el, fill, link, openUrl } from "../dom.js";
import { translator } from "../i18n.js";
import { citationOf, figuresIn, finder, TOLD, withMarked } from "./figures.js";
import { byNumber, kindSign, sourceOrigin } from "./sources.js";

/**
 * @typedef {{source: Source, show: ((why: ChoiceReason) => void)|null}} Cited what a number stands for;
 *   `show` selects its place on the map
 */

const say = translator("page.citation");
const CITATION = "a.cite[data-source-number]";
const LINKED = /\[(\d{1,4})\]\(/g;
const CARD_ID = "citation-card";
const ANCHOR = "--cited";
const SHOW_MS = 120;
const HIDE_MS = 220;
const MOST_QUOTES = 3;
/** Of sentences with a sign. */
const MARKED = new Set(["marked", "contradicted"]);
const CONTEXT = 240;

/**
 * Makes the citations in `body` tell their source: on hover, focus, tap and Enter.
 * @param {HTMLElement} body holds `a.cite[data-source-number]`, now and later
 * @param {(number: string) => Cited|null} lookup
 */
export function tellSources(body, lookup) {
  /**
   * @template {keyof HTMLElementEventMap} Kind
   * @param {Kind} kind
   * @param {(event: HTMLElementEventMap[Kind], anchor: HTMLAnchorElement, cited: Cited, at: HTMLElement)
   *   => void} act `at` is the citation, or a figure that it bears
   */
  const listen = (kind, act) =>
    body.addEventListener(kind, (event) => {
      const at = event.target instanceof Element ? event.target.closest(`${CITATION}, ${TOLD}`) : null;
      const anchor = at instanceof HTMLAnchorElement ? at : at && citationOf(at);
      if (!anchor || !(at instanceof HTMLElement)) return;
      const cited = lookup(anchor.dataset.sourceNumber ?? "");
      if (cited) act(event, anchor, cited, at);
    });
  listen("pointerover", (event, anchor, cited, at) =>
    event.pointerType === "mouse" && card.soon(anchor, cited, at));
  listen("pointerout", (event) => event.pointerType === "mouse" && card.leave());
  // Shown as soon as a finger is down, the sheet would get the rest of its tap.
  listen("focusin", (_event, anchor, cited) =>
    anchor.matches(":focus-visible") && card.focused(anchor, cited));
  listen("focusout", (event) => card.blurred(event.relatedTarget));
  listen("click", (event, anchor, cited, at) => {
    if (at !== anchor) {
      card.pin(anchor, cited, false, at);
      return;
    }
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    cited.show?.("cited");
    card.pin(anchor, cited, event.detail === 0);
  });
}

/** Finds the citations within a node. @param {ParentNode} node @returns {NodeListOf<HTMLAnchorElement>} */
export const citationsIn = (node) => node.querySelectorAll(CITATION);

/** @typedef {{quote: string, says: string, verdict: string, missing: string[]}} Found of a sentence */

/**
 * Returns what was found of checked sentences, by "number:occurrence" of their citations.
 * @param {Pick<Answer, "text"|"sources"|"checks">} answer
 * @returns {Map<string, Found>}
 */
export function quotesOfStatements({ text, sources, checks }) {
  const listed = byNumber(sources);
  const points = [...text];
  /** @type {Map<string, Found>} */
  const found = new Map();
  for (const { start, end, source, quote, says = "", spans = [], verdict } of checks.statements ?? []) {
    const missing = MARKED.has(verdict) ? spans : [];
    if (!quote && !missing.length) continue;
    const before = occurrences(points.slice(0, start).join(""));
    for (const number of numbersIn(points.slice(start, end).join(""))) {
      const count = (before.get(number) ?? 0) + 1;
      before.set(number, count);
      const cited = listed.get(number);
      const own = quote && cited?.id === source ? whole(quote, cited) : "";
      if (own || missing.length) found.set(`${number}:${count}`, { quote: own, says, verdict, missing });
    }
  }
  return found;
}

/**
 * Returns what a passage, without the title, is cut from, of a record its own line.
 * @param {string} quote @param {Source} source
 */
function whole(quote, { kind, title = "", quotes = [] }) {
  const told = (quote.startsWith(title) && quote.slice(title.length).trim()) || quote;
  return quotes.find((each) => kind === "place" || each.includes(told)) ?? told;
}

/** @param {string} text */
const numbersIn = (text) => [...text.matchAll(LINKED)].map((found) => found[1]);

/** @param {string} text @returns {Map<string, number>} how often each number is cited */
function occurrences(text) {
  const counts = new Map();
  for (const number of numbersIn(text)) counts.set(number, (counts.get(number) ?? 0) + 1);
  return counts;
}

/**
 * Tells each citation what was found of its own sentence.
 * @param {Iterable<HTMLElement>} anchors in the order of the text
 * @param {Map<string, Found>} found
 */
export function giveQuotes(anchors, found) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const anchor of anchors) {
    const number = anchor.dataset.sourceNumber ?? "";
    const count = (counts.get(number) ?? 0) + 1;
    counts.set(number, count);
    const { quote = "", says = "", verdict = "", missing = [] } = found.get(`${number}:${count}`) ?? {};
    if (quote) anchor.dataset.quote = quote;
    if (says) anchor.dataset.says = says;
    if (missing.length) Object.assign(anchor.dataset, { verdict, missing: missing.join(" · ") });
  }
}

/** Names a citation for screen readers. @param {HTMLElement} anchor @param {Source} source */
export function nameCitation(anchor, source) {
  anchor.setAttribute("aria-label", say("named", { n: anchor.textContent, title: source.title }));
  anchor.setAttribute("aria-expanded", "false");
}

class Card {
  /** @type {HTMLElement|null} */
  #element = null;
  /** @type {HTMLElement|null} */
  #anchor = null;
  /** What it stands at: the citation, or a figure that it bears. @type {HTMLElement|null} */
  #at = null;
  #isPinned = false;
  /** The citation that gets the focus back, without its card. @type {HTMLElement|null} */
  #quiet = null;
  #timer = 0;

  /** Makes the card when it is first needed. */
  get #node() { return (this.#element ??= this.#make()); }

  /**
   * Shows after a moment, for a pointer that may only pass.
   * @param {HTMLElement} anchor
   * @param {Cited} cited
   * @param {HTMLElement} at
   */
  soon(anchor, cited, at) {
    clearTimeout(this.#timer);
    if (at === this.#at || this.#isPinned) return;
    this.#timer = setTimeout(() => this.#show(anchor, cited, at), SHOW_MS);
  }

  leave() {
    clearTimeout(this.#timer);
    if (!this.#isPinned) this.#timer = setTimeout(() => this.hide(), HIDE_MS);
  }

  /** @param {HTMLElement} anchor @param {Cited} cited */
  focused(anchor, cited) {
    if (this.#quiet !== anchor && !(this.#isPinned && anchor === this.#anchor)) this.#show(anchor, cited);
  }

  /** @param {EventTarget|null} next */
  blurred(next) {
    this.#quiet = null;
    if (!this.#isPinned && !contains(this.#node, next)) this.hide();
  }

  /**
   * Shows until it is closed; with the keyboard, the focus goes in.
   * @param {HTMLElement} anchor
   * @param {Cited} cited
   * @param {boolean} byKeyboard
   * @param {HTMLElement} at
   */
  pin(anchor, cited, byKeyboard, at = anchor) {
    if (this.#isPinned && at === this.#at) {
      this.hide();
      return;
    }
    this.#show(anchor, cited, at);
    this.#isPinned = true;
    at.scrollIntoView({ block: "nearest" });
    if (!byKeyboard) return;
    const first = this.#node.querySelector(".card-ways > *") ?? this.#node.querySelector("button");
    if (first instanceof HTMLElement) first.focus();
  }

  hide({ focus = false } = {}) {
    clearTimeout(this.#timer);
    const anchor = this.#anchor;
    if (!anchor) return;
    this.#at?.style.removeProperty("anchor-name");
    this.#anchor = this.#at = null;
    this.#isPinned = false;
    this.#node.hidden = true;
    anchor.setAttribute("aria-expanded", "false");
    anchor.removeAttribute("aria-describedby");
    if (!focus) return;
    this.#quiet = anchor;
    anchor.focus();
  }

  /** @param {HTMLElement} anchor @param {Cited} cited @param {HTMLElement} at */
  #show(anchor, cited, at = anchor) {
    clearTimeout(this.#timer);
    if (this.#at !== at) this.hide();
    this.#anchor = anchor;
    this.#at = at;
    fill(this.#node, ...this.#content(anchor, cited, at));
    this.#node.hidden = false;
    anchor.setAttribute("aria-expanded", "true");
    anchor.setAttribute("aria-describedby", CARD_ID);
    // The style places the card beside what has this name.
    at.style.setProperty("anchor-name", ANCHOR);
  }

  /** @param {HTMLElement} anchor @param {Cited} cited @param {HTMLElement} at */
  #content(anchor, { source, show }, at) {
    const { quote: own, says = "", verdict = "", missing = "" } = anchor.dataset;
    const figures = at === anchor ? figuresIn(textBefore(anchor)) : figuresIn(figureText(at)).slice(0, 1);
    const quotes = quotesFor(anchor, source, at === anchor ? [] : figures).slice(0, MOST_QUOTES);
    return [
      el("p", { class: "card-head" }, kindSign(source.kind),
        el("span", {}, say("source", { n: anchor.textContent })),
        el("button", { class: "button quiet card-close", type: "button", "aria-label": say("close"),
          onclick: () => this.hide({ focus: true }) }, "×")),
      el("p", { class: "card-title" }, source.title),
      el("p", { class: "card-site" }, sourceOrigin(source)),
      ...quotes.map((quote, index) => el("blockquote", { class: index ? "" : "nearest" },
        ...(quote === own && says ? withWords(quote, says) : withMarked(quote, figures)))),
      missing && el("p", { class: "card-missing", dataset: { verdict } },
        say(verdict === "contradicted" ? "otherwise" : "missing", { words: missing })),
      el("p", { class: "card-ways" },
        openUrl(source.url) && link(source.url, say("open"), { class: "button" }),
        show && el("button", { class: "button", type: "button",
          onclick: () => { this.hide(); show("map"); } }, say("map"))),
    ];
  }

  #make() {
    const node = el("div", {
      class: "citation-card", id: CARD_ID, role: "dialog", "aria-label": say("card"),
      dataset: { part: "citation" }, hidden: true,
      onpointerenter: () => clearTimeout(this.#timer),
      onpointerleave: (event) => event.pointerType === "mouse" && this.leave(),
      onkeydown: (event) => this.#tab(event),
      onfocusout: (event) => {
        if (event.relatedTarget && !contains(node, event.relatedTarget)) this.hide();
      },
    });
    document.body.append(node);
    document.addEventListener("keydown", (event) => this.#escape(event), true);
    document.addEventListener("pointerdown", (event) => this.#outside(event));
    return node;
  }

  /** @param {KeyboardEvent} event */
  #escape(event) {
    if (event.key !== "Escape" || !this.#anchor) return;
    event.stopPropagation();
    const { activeElement } = document;
    const isInside = contains(this.#node, activeElement) || activeElement === this.#anchor;
    this.hide({ focus: isInside });
  }

  /**
   * Leads with Tab from the card, which stands at the page's end, to where its citation is.
   * @param {KeyboardEvent} event
   */
  #tab(event) {
    if (event.key !== "Tab") return;
    const stops = [...this.#node.querySelectorAll("a[href], button")];
    const edge = event.shiftKey ? stops[0] : stops.at(-1);
    if (document.activeElement !== edge) return;
    if (event.shiftKey) event.preventDefault();
    this.hide({ focus: true });
  }

  /** @param {Event} event */
  #outside(event) {
    if (!this.#anchor) return;
    const own = [this.#node, this.#anchor, this.#at ?? this.#node];
    if (own.some((node) => contains(node, event.target))) return;
    this.hide();
  }
}

const card = new Card();

/** Returns a quote with some words marked. @param {string} quote @param {string} words */
function withWords(quote, words) {
  const at = quote.indexOf(words);
  if (at < 0) return [quote];
  return [quote.slice(0, at), el("mark", {}, words), quote.slice(at + words.length)];
}

/** Returns a figure with what follows it, which tells its unit. @param {HTMLElement} figure */
const figureText = (figure) => `${figure.textContent}${(figure.nextSibling?.textContent ?? "").slice(0, 2)}`;

/**
 * Returns a citation's quotes, first of its words, figure or letter.
 * @param {HTMLElement} anchor
 * @param {Source} source
 * @param {ReturnType<typeof figuresIn>} figures
 */
export function quotesFor(anchor, source, figures) {
  const nearest = nearestFirst(source.quotes ?? [], textBefore(anchor).slice(-CONTEXT));
  const { quote: own } = anchor.dataset;
  const others = nearest.filter((quote) => !own || !(quote.startsWith(own) || own.includes(quote.trim())));
  const quotes = own ? [own, ...others] : others;
  const line = anchor.textContent.replace(/\d+(.*)/, "$1. ");
  const has = (/** @type {string} */ quote) =>
    Number(figures.length ? !!finder(figures, quote) : quote.startsWith(line));
  return quotes.toSorted((one, other) => has(other) - has(one));
}

/**
 * Returns what the citation ends: the text since the one before it, in the same paragraph.
 * @param {HTMLElement} anchor
 */
function textBefore(anchor) {
  const block = anchor.closest("p, li, td, th, blockquote, .place-said") ?? anchor.parentElement ?? anchor;
  const range = document.createRange();
  range.setStart(block, 0);
  for (const other of block.querySelectorAll("a.cite")) {
    if (other === anchor) break;
    range.setEndBefore(anchor);
    const from = range.startContainer;
    const at = range.startOffset;
    range.setStartAfter(other);
    if (!range.toString().trim()) range.setStart(from, at);
  }
  range.setEndBefore(anchor);
  return range.toString();
}

/**
 * The sentences, those most like the text before the citation first.
 * @param {string[]} quotes
 * @param {string} context
 */
export function nearestFirst(quotes, context) {
  const contextPairs = pairs(context);
  const scored = quotes.map((quote, index) => ({ quote, index, score: likeness(quote, contextPairs) }));
  return scored.sort((a, b) => b.score - a.score || a.index - b.index).map(({ quote }) => quote);
}

/** @param {string} quote @param {Set<string>} contextPairs */
function likeness(quote, contextPairs) {
  const own = pairs(quote);
  if (own.size === 0) return 0;
  let shared = 0;
  for (const pair of own) if (contextPairs.has(pair)) shared += 1;
  return shared / own.size;
}

/**
 * Returns pairs of neighbouring characters: they tell Chinese apart as well as English.
 * @param {string} text
 */
function pairs(text) {
  const letters = [...text.toLowerCase().replace(/[\p{P}\p{Z}\p{S}\p{C}]+/gu, "")];
  return new Set(letters.slice(1).map((letter, index) => letters[index] + letter));
}
