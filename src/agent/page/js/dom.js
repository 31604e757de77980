/** The page's elements: HTML, SVG and icons. Text is always text, never markup. */

import { direction, foreign } from "./i18n.js";

/** `rel` of every link out of the page. */
export const LINK_REL = "noopener nofollow ugc";

/**
 * Makes an element. Strings among the children become text nodes; null and false are left out. One with
 * text alone says its language where that is not the page's, and that it runs from the right.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Attributes} attributes `class`, `dataset` {…}, `on…` listeners, booleans
 * @param {...Child} children
 */
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "dataset") Object.assign(element.dataset, value);
    else if (typeof value === "function") {
      element.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    } else element.setAttribute(name, value === true ? "" : String(value));
  }
  if (!("lang" in attributes) && !children.some((child) => child instanceof Node)) {
    const words = children.filter(isShown).join("");
    const [lang, dir] = [foreign(words), direction(words)];
    if (lang) element.lang = lang;
    if (dir) element.dir = dir;
  }
  return fill(element, ...children);
}

/**
 * Replaces everything in `element`.
 * @template {Element} T
 * @param {T} element
 * @param {...Child} children
 */
export function fill(element, ...children) {
  const shown = children.filter(isShown);
  element.replaceChildren(...shown.map((child) => (child instanceof Node ? child : String(child))));
  return element;
}

/** @param {Child} child @returns {child is Node|string|number} */
const isShown = (child) => child !== null && child !== undefined && child !== false;

/**
 * Makes a view of what an answer has, drawn where the answer is another than before.
 * @template {Element} T
 * @param {T} node
 * @param {(answer: Answer|null, turn: Turn) => void} draw
 */
export function answerView(node, draw) {
  /** @type {Answer|null} */
  let shown = null;
  /** @param {Turn} turn */
  const update = (turn) => {
    if (turn.answer === shown) return;
    shown = turn.answer;
    draw(shown, turn);
  };
  return { node, update };
}

/** Focuses at the click, not its press: what unfolds would move it. @param {HTMLElement} button */
export function focusOnClick(button) {
  button.addEventListener("mousedown", (event) => event.preventDefault());
  const quietly = { preventScroll: true, focusVisible: false };
  button.addEventListener("click", ({ detail }) => { if (detail) button.focus(quietly); });
}

/** Returns the texts within a node. @param {Node} node @returns {Text[]} */
export function textsIn(node) {
  const walker = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
  /** @type {Text[]} */
  const texts = [];
  while (walker.nextNode()) texts.push(/** @type {Text} */ (walker.currentNode));
  return texts;
}

/** Tells whether an event's target lies in `node`. @param {Node} node @param {EventTarget|null} target */
export const contains = (node, target) => target instanceof Node && node.contains(target);

/** Returns the address if it is absolute and http or https, else null. @param {unknown} address */
export function safeUrl(address) {
  try {
    const url = new URL(String(address));
    return url.protocol === "https:" || url.protocol === "http:" ? url.href : null;
  } catch {
    return null;
  }
}

/** Returns it if it may lead somewhere: the names of sample pages never do. @param {unknown} address */
export function openUrl(address) {
  const href = safeUrl(address);
  return href && !new URL(href).hostname.endsWith(".invalid") ? href : null;
}

/**
 * Makes a link out of the page, or the text alone where the address is none to follow.
 * @param {unknown} address
 * @param {Child} text
 * @param {Attributes} attributes
 */
export function link(address, text, attributes = {}) {
  const href = openUrl(address);
  if (href === null) return el("span", attributes, text);
  return el("a", { ...attributes, href, target: "_blank", rel: LINK_REL }, text);
}

const NAMESPACE = "http://www.w3.org/2000/svg";

/**
 * Makes an SVG element.
 * @param {string} tag
 * @param {Record<string, string|number>} attributes
 * @param {...(Node|string)} children strings become text
 * @returns {SVGElement}
 */
export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS(NAMESPACE, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children);
  return /** @type {SVGElement} */ (element);
}

/**
 * Makes a decorative icon, hidden from screen readers: the control around it carries the name.
 * @param {IconName} name
 */
export function icon(name) {
  return svg("svg", { class: "icon", "aria-hidden": "true" }, svg("use", { href: `#icon-${name}` }));
}
