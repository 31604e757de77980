/** Markdown of an answer as elements in which nothing a model or a page wrote can act. */

import MarkdownIt from "../../vendor/markdown-it.js";
import purify from "../../vendor/purify.js";
import { el, LINK_REL, openUrl, safeUrl, textsIn } from "../dom.js";
import { foreign, translator } from "../i18n.js";

/** @import { Token } from "../../vendor/markdown-it.js" */
/** @typedef {{sources?: {number?: number|null}[]}} NumberedSources */

const say = translator("page.render_markdown");
/** Matches a number, an amount, a date or a time, which stays on one line. */
const FIGURE = /^[-+–~¥$€%°\d.,:/ ]{1,24}$/;
/** Matches a moment, or from when to when. */
const HOURS = /^\d?\d:\d\d(?:\s?[–~-]\s?\d?\d:\d\d)?$/;
/** Matches two temperatures. */
const DEGREES = /(-?\d{1,3}–-?\d{1,3}\u00a0°C)/;
const TOP_LEVEL = 3; // Below the page's title and the question; a report's own title is not shown.
const PURE = {
  RETURN_DOM_FRAGMENT: true,
  ALLOWED_TAGS: [
    "p", "br", "hr", "em", "strong", "a", "ul", "ol", "li", "blockquote", "pre", "code",
    "h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td",
  ],
  ALLOWED_ATTR: ["href", "class", "start", "data-source-number"],
  ALLOWED_URI_REGEXP: /^https?:\/\//i,
  ADD_URI_SAFE_ATTR: ["start", "data-source-number"],
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
};

const parser = new MarkdownIt("commonmark", { html: false }).enable("table").disable("image");
parser.validateLink = (/** @type {string} */ url) => safeUrl(url) !== null;
parser.core.ruler.push("shown", (state) => show(state.tokens, state.env.numbers));
/** @typedef {new (type: string, tag: string, nesting: -1|0|1) => Token} MakesTokens */

/**
 * Renders an answer's Markdown as nodes: raw HTML is text, images are links, links are http(s) only.
 * @param {string} text
 * @param {NumberedSources} options citations of these are marked with
 *   `data-source-number`; without sources every numbered link looks like a citation
 * @returns {DocumentFragment}
 */
export function renderMarkdown(text, { sources = [] } = {}) {
  const fragment = purify.sanitize(answerHtml(text, { sources }), PURE);
  for (const anchor of fragment.querySelectorAll("a")) {
    const href = anchor.getAttribute("href");
    if (openUrl(href)) Object.assign(anchor, { target: "_blank", rel: LINK_REL });
    else if (anchor.matches(".cite") && (!href || safeUrl(href))) {
      anchor.href = `#source-${anchor.textContent}`;
    } else anchor.replaceWith(...anchor.childNodes);
  }
  for (const table of fragment.querySelectorAll("table")) {
    scrollable(table, nameOf(table));
    if (isTimetable(table)) table.className = "timetable";
  }
  for (const code of fragment.querySelectorAll("pre")) scrollable(code, say("code"));
  for (const text of textsIn(fragment)) {
    // A line begins neither with the dot between two facts nor with a unit.
    if (!text.parentElement?.closest("code")) text.data = text.data.replace(/ (?=· |°C)/g, "\u00a0");
    if (foreign(text.data)) text.replaceWith(...withLanguage(text.data));
    else if (DEGREES.test(text.data)) text.replaceWith(...whole(text.data));
  }
  return fragment;
}

/** Parts a text so that two temperatures stay on one line. @param {string} text */
function whole(text) {
  return text.split(DEGREES)
    .map((part) => (DEGREES.test(part) ? el("span", { class: "figure" }, part) : part));
}

/** Parts a text so that its Chinese words say what they are. @param {string} text */
function withLanguage(text) {
  return text.split(/(\p{Script=Han}+)/u).filter(Boolean)
    .map((part) => (foreign(part) ? el("span", { lang: "zh" }, part) : part));
}

/** Returns where the last top-level block of a Markdown text begins, in characters. @param {string} text */
export function lastBlock(text) {
  const tokens = parser.parse(text, { numbers: new Set() });
  const line = tokens.findLast((token) => token.level === 0 && token.map)?.map?.[0] ?? 0;
  let begin = 0;
  for (let passed = 0; passed < line; passed += 1) begin = text.indexOf("\n", begin) + 1;
  return begin;
}

/**
 * Renders the same as HTML, before the sanitizer; not to be shown.
 * @param {string} text
 * @param {NumberedSources} options
 */
export function answerHtml(text, { sources = [] } = {}) {
  const numbers = new Set(sources.map((source, index) => String(source.number ?? index + 1)));
  return parser.render(text, { numbers });
}

/**
 * Names a table after the heading above and its columns, so that no two are called the same.
 * @param {Element} table
 */
function nameOf(table) {
  let above = table.previousElementSibling;
  while (above && !/^h\d$/.test(above.localName)) above = above.previousElementSibling;
  const columns = [...table.querySelectorAll("th")].map((cell) => cell.textContent);
  return [say("table"), above?.textContent, ...columns].filter(Boolean).join(" · ");
}

/** Tells whether each row begins with a time, as in a planned day. @param {HTMLTableElement} table */
const isTimetable = ({ rows }) => rows.length > 1
  && [...rows].slice(1).every(({ cells: [first] }) => HOURS.test(first?.textContent.trim() ?? ""));

/** @param {Element} wide @param {string} label */
function scrollable(wide, label) {
  const box = el("div", { class: "wide", role: "region", tabindex: "0", "aria-label": label });
  wide.replaceWith(box);
  box.append(wide);
}

/** @param {Token[]} tokens @param {Set<string>} numbers */
function show(tokens, numbers) {
  for (const [index, token] of tokens.entries()) {
    if (token.type === "heading_open" || token.type === "heading_close") {
      token.tag = `h${Math.min(6, Math.max(TOP_LEVEL, Number(token.tag[1]) + TOP_LEVEL - 2))}`;
    }
    const isCell = token.type === "th_open" || token.type === "td_open";
    if (isCell) alignByClass(token, tokens[index + 1].content);
    if (token.children) {
      token.children = linkNumbers(token.children, numbers);
      markCitations(token.children, numbers);
    }
  }
}

/**
 * Aligns by class: the policy of the page forbids style attributes, which the parser aligns columns with.
 * @param {Token} token
 * @param {string} text
 */
function alignByClass(token, text) {
  const side = /text-align:(center|right)/.exec(token.attrGet("style") ?? "")?.[1];
  const classes = [side, FIGURE.test(text) && "figure"].filter(Boolean);
  token.attrs = classes.length ? [["class", classes.join(" ")]] : null;
}

/**
 * Makes links of the numbers of sources without an address, such as one's own documents.
 * @param {Token[]} children
 * @param {Set<string>} numbers
 */
function linkNumbers(children, numbers) {
  let depth = 0;
  return children.flatMap((token) => {
    const Made = /** @type {MakesTokens} */ (token.constructor);
    if (token.type.startsWith("link_")) depth += token.nesting;
    if (token.type !== "text" || depth) return [token];
    return token.content.split(/(\[\d{1,4}[a-c]?[a-z]?\])/).filter(Boolean).flatMap((part) => {
      const [, cited, number = ""] = /^\[((\d+)\w*)]$/.exec(part) ?? [];
      const make = (/** @type {string} */ type, /** @type {-1|0|1} */ nesting, content = "") =>
        Object.assign(new Made(type, nesting ? "a" : "", nesting), { content });
      if (!numbers.has(number)) return [make("text", 0, part)];
      return [make("link_open", 1), make("text", 0, cited), make("link_close", -1)];
    });
  });
}

/** @param {Token[]} children @param {Set<string>} numbers */
function markCitations(children, numbers) {
  children.forEach((token, index) => {
    const [text, close] = [children[index + 1], children[index + 2]];
    if (token.type !== "link_open" || text?.type !== "text" || close?.type !== "link_close") return;
    const [number] = /^\d{1,4}(?=[a-z]{0,2}$)/.exec(text.content) ?? [];
    if (!number) return;
    if (numbers.has(number)) token.attrSet("data-source-number", number);
    else if (numbers.size) return;
    token.attrSet("class", "cite");
  });
}
