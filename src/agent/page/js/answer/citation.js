/** What stands behind a citation's number: one card for the whole page, shown where it is asked for. */

import { el, fill, link, safeUrl } from "../dom.js";
import { translator } from "../i18n.js";
import { kindSign, sourceOrigin } from "./sources.js";

const say = translator({
  zh: {
    source: "来源 {n}", named: "来源 {n}：{title}", card: "来源", open: "打开来源", map: "在地图上看",
    close: "关闭",
  },
  en: {
    source: "Source {n}", named: "Source {n}: {title}", card: "Source", open: "Open source",
    map: "See on the map", close: "Close",
  },
});
const CARD_ID = "citation-card";
const SHOW_MS = 120;
const HIDE_MS = 220;
const MOST_QUOTES = 3;
const CONTEXT = 240;
const MARGIN = 8;
const LEAST = 96;
const NARROW = "(max-width: 560px)";

/**
 * Makes the citations in `body` tell their source: on hover, focus, tap and Enter.
 * @param {HTMLElement} body holds `a.cite[data-source-number]`, now and later
 * @param {(number: string) => {source: object, show: ((why: "cited"|"map") => void)|null}|null} lookup
 *   what a number stands for; `show` selects its place on the map
 */
export function tellSources(body, lookup) {
  const cite = (event) => {
    const anchor = event.target.closest?.("a.cite[data-source-number]");
    return anchor && lookup(anchor.dataset.sourceNumber) ? anchor : null;
  };
  const listen = (name, act) =>
    body.addEventListener(name, (event) => {
      const anchor = cite(event);
      if (anchor) act(anchor, lookup(anchor.dataset.sourceNumber), event);
    });
  listen("pointerover", (anchor, found, event) => event.pointerType === "mouse" && card.soon(anchor, found));
  listen("pointerout", (_anchor, _found, event) => event.pointerType === "mouse" && card.leave());
  listen("focusin", (anchor, found) => card.focused(anchor, found));
  listen("focusout", (_anchor, _found, event) => card.blurred(event.relatedTarget));
  listen("click", (anchor, found, event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    found.show?.("cited");
    card.pin(anchor, found, event.detail === 0);
  });
}

/** Names a citation for screen readers. */
export function nameCitation(anchor, source) {
  const number = anchor.dataset.sourceNumber;
  anchor.setAttribute("aria-label", say("named", { n: number, title: source.title }));
  anchor.setAttribute("aria-expanded", "false");
}

class Card {
  #node = null;
  #anchor = null;
  #isPinned = false;
  #quiet = null;
  #timer = 0;

  /** After a moment, for a pointer that may only pass. */
  soon(anchor, found) {
    clearTimeout(this.#timer);
    if (anchor === this.#anchor || this.#isPinned) return;
    this.#timer = setTimeout(() => this.#show(anchor, found), SHOW_MS);
  }

  leave() {
    clearTimeout(this.#timer);
    if (!this.#isPinned) this.#timer = setTimeout(() => this.hide(), HIDE_MS);
  }

  focused(anchor, found) {
    if (this.#quiet !== anchor && !(this.#isPinned && anchor === this.#anchor)) this.#show(anchor, found);
  }

  blurred(next) {
    this.#quiet = null;
    if (!this.#isPinned && !this.#node?.contains(next)) this.hide();
  }

  /** Stays until it is closed; with the keyboard, the focus goes in. */
  pin(anchor, found, byKeyboard) {
    if (this.#isPinned && anchor === this.#anchor) return this.hide();
    this.#show(anchor, found);
    this.#isPinned = true;
    if (!byKeyboard) return;
    (this.#node.querySelector(".card-ways > *") ?? this.#node.querySelector("button")).focus();
  }

  hide({ focus = false } = {}) {
    clearTimeout(this.#timer);
    const anchor = this.#anchor;
    if (!anchor) return;
    this.#anchor = null;
    this.#isPinned = false;
    this.#node.hidden = true;
    anchor.setAttribute("aria-expanded", "false");
    anchor.removeAttribute("aria-describedby");
    if (!focus) return;
    this.#quiet = anchor;
    anchor.focus();
  }

  #show(anchor, found) {
    clearTimeout(this.#timer);
    if (this.#anchor !== anchor) this.hide();
    this.#node ??= this.#made();
    this.#anchor = anchor;
    fill(this.#node, ...this.#content(anchor, found));
    this.#node.hidden = false;
    anchor.setAttribute("aria-expanded", "true");
    anchor.setAttribute("aria-describedby", CARD_ID);
    this.#place();
  }

  #content(anchor, { source, show }) {
    const quotes = nearestFirst(source.quotes ?? [], textBefore(anchor)).slice(0, MOST_QUOTES);
    return [
      el("p", { class: "card-head" }, kindSign(source.kind),
        el("span", {}, say("source", { n: anchor.dataset.sourceNumber })),
        el("button", { class: "button quiet card-close", type: "button", "aria-label": say("close"),
          onclick: () => this.hide({ focus: true }) }, "×")),
      el("p", { class: "card-title" }, source.title),
      el("p", { class: "card-site" }, sourceOrigin(source)),
      ...quotes.map((quote, index) => el("blockquote", { class: index ? "" : "nearest" }, quote)),
      el("p", { class: "card-ways" },
        safeUrl(source.url) && link(source.url, say("open"), { class: "button" }),
        show && el("button", { class: "button", type: "button", onclick: () => this.#leadTo(show) }, say("map"))),
    ];
  }

  #leadTo(show) {
    this.hide();
    show("map");
  }

  #made() {
    const node = el("div", {
      class: "citation-card", id: CARD_ID, role: "dialog", "aria-label": say("card"),
      dataset: { part: "citation" }, hidden: true,
      onpointerenter: () => clearTimeout(this.#timer),
      onpointerleave: (event) => event.pointerType === "mouse" && this.leave(),
      onkeydown: (event) => this.#tab(event),
      onfocusout: (event) => {
        if (event.relatedTarget && !node.contains(event.relatedTarget)) this.hide();
      },
    });
    document.body.append(node);
    document.addEventListener("keydown", (event) => this.#escape(event), true);
    document.addEventListener("pointerdown", (event) => this.#outside(event));
    addEventListener("scroll", () => this.#place(), { capture: true, passive: true });
    addEventListener("resize", () => this.#place());
    return node;
  }

  #escape(event) {
    if (event.key !== "Escape" || !this.#anchor) return;
    event.stopPropagation();
    const isInside = this.#node.contains(document.activeElement) || document.activeElement === this.#anchor;
    this.hide({ focus: isInside });
  }

  /** The card stands at the page's end; Tab leads from it to where its citation is. */
  #tab(event) {
    if (event.key !== "Tab") return;
    const stops = [...this.#node.querySelectorAll("a[href], button")];
    const edge = event.shiftKey ? stops[0] : stops.at(-1);
    if (document.activeElement !== edge) return;
    if (event.shiftKey) event.preventDefault();
    this.hide({ focus: true });
  }

  #outside(event) {
    if (!this.#anchor) return;
    if (this.#node.contains(event.target) || this.#anchor.contains(event.target)) return;
    this.hide();
  }

  /** Below its citation, or above where there is more room; a sheet at the bottom if narrow. */
  #place() {
    if (!this.#anchor) return;
    const { style } = this.#node;
    const at = this.#anchor.getClientRects()[0];
    const isGone = !this.#anchor.isConnected || !at;
    if (isGone || (!this.#isPinned && (at.bottom < 0 || at.top > innerHeight))) return this.hide();
    style.left = style.top = style.maxHeight = "";
    if (matchMedia(NARROW).matches) return;
    const { width, height } = this.#node.getBoundingClientRect();
    const answer = this.#anchor.closest("[data-part]").getBoundingClientRect();
    const edge = Math.min(answer.right, document.documentElement.clientWidth - MARGIN);
    const left = Math.min(at.left - 24, edge - width);
    const below = at.bottom + MARGIN + height < innerHeight || at.top < innerHeight - at.bottom;
    style.left = `${Math.max(MARGIN, left)}px`;
    // A citation that was scrolled out below must not take its card along.
    const above = Math.min(at.top, innerHeight);
    style.top = `${below ? at.bottom + MARGIN : Math.max(MARGIN, above - MARGIN - height)}px`;
    // A card that is too long for a low window scrolls; what is outside could not be reached.
    const room = (below ? innerHeight - at.bottom : above) - 2 * MARGIN;
    if (height > room) style.maxHeight = `${Math.max(LEAST, room)}px`;
  }
}

const card = new Card();

/** What the citation ends: the text since the one before it, in the same paragraph. */
function textBefore(anchor) {
  const block = anchor.closest("p, li, td, th, blockquote") ?? anchor.parentElement;
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
  return range.toString().slice(-CONTEXT);
}

/**
 * The sentences, those most like the text before the citation first.
 * @param {string[]} quotes
 * @param {string} context the text that the citation ends
 */
export function nearestFirst(quotes, context) {
  const said = pairs(context);
  const scored = quotes.map((quote, index) => ({ quote, index, score: likeness(quote, said) }));
  return scored.sort((a, b) => b.score - a.score || a.index - b.index).map(({ quote }) => quote);
}

function likeness(quote, said) {
  const own = pairs(quote);
  if (own.size === 0) return 0;
  let shared = 0;
  for (const pair of own) if (said.has(pair)) shared += 1;
  return shared / own.size;
}

/** Pairs of neighbouring characters: they tell Chinese apart as well as English. */
function pairs(text) {
  const letters = [...text.toLowerCase().replace(/[\p{P}\p{Z}\p{S}\p{C}]+/gu, "")];
  return new Set(letters.slice(1).map((letter, index) => letters[index] + letter));
}
