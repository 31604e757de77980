/** The answer itself: streaming in as Markdown, then with citations that tell their source. */

import { el, fill, textsIn } from "../dom.js";
import { direction, tagOf, translator } from "../i18n.js";
import { answerBody, growingBody, noticeOf } from "./answer_body.js";
import { ChecksView } from "./checks.js";
import { citationsIn, giveQuotes, nameCitation, quotesOfStatements, tellSources } from "./citation.js";
import { mergeEqual, tellFigures } from "./figures.js";
import { lastBlock, renderMarkdown } from "./render_markdown.js";
import { byNumber } from "./sources.js";

const say = translator("page.answer");
const BETWEEN_RENDERS_MS = 100;
/** Letters of an answer that tell which way it runs. */
const ENOUGH = 2000;
/** The signs of sentences that no source says, or of which one says otherwise; hours, which stay whole. */
const MARKS = /([†‡]|\d?\d:\d\d\s?[-–]\s?\d?\d:\d\d|全天[营營][业業])/;

/** @implements {View} */
export class AnswerView {
  #config;
  #onPlace;
  /** @type {Turn|null} */
  #turn = null;
  /** @type {Answer|string|null} */
  #rendered = null;
  /** @type {Map<string, Source>} */
  #sources = new Map();
  #timer = 0;
  #renderedAt = 0;
  /** What of a growing answer is rendered for good: its Markdown, and how many nodes that made. */
  #settled = { text: "", nodes: 0 };
  #notices = el("div", { class: "answer-notices" });
  #origin = el("div", { class: "answer-origin" });
  #body = el("div", { class: "prose" });
  node = el("section",
    { class: "answer", dataset: { part: "answer" }, "aria-label": say("answer"), hidden: true },
    this.#notices, this.#body);
  #checks = new ChecksView(this.#body);

  /** @param {{mode: string, notice?: InLanguages<string>|null}} config @param {AnswerLinks} links */
  constructor(config, { onPlace }) {
    this.#config = config;
    this.#onPlace = onPlace;
    tellSources(this.#body, (number) => this.#lookup(number));
    this.node.append(this.#checks.node, this.#origin);
  }

  /** @param {Turn} turn */
  update(turn) {
    // As of now: shown later, it must not be ahead of the other views.
    this.#turn = { ...turn };
    const isGrowing = turn.answer === null && (turn.status === "running" || turn.status === "starting");
    this.node.dataset.status = turn.status;
    this.#body.setAttribute("aria-busy", String(isGrowing));
    if (!isGrowing) this.#render();
    else if (!this.#timer) {
      const wait = Math.max(0, BETWEEN_RENDERS_MS - (performance.now() - this.#renderedAt));
      this.#timer = window.setTimeout(() => this.#render(), wait);
    }
  }

  /** Shows the turn as it is now, at once. */
  #render() {
    clearTimeout(this.#timer);
    this.#timer = 0;
    if (!this.#turn) return;
    const { answer, text, question, events } = this.#turn;
    const shown = answer ?? text;
    if (shown === this.#rendered) return;
    this.#rendered = shown;
    this.#renderedAt = performance.now();
    if (answer) this.#showAnswer(answer, question);
    else {
      const notice = events.find(({ type }) => type === "notice")?.text;
      this.#showGrowing(growingBody(text, { question, notice }));
    }
    this.#body.dir = direction(this.#body.textContent.slice(0, ENOUGH)) ?? "";
    this.#checks.update(this.#turn);
    fill(this.#notices, ...(answer ? this.#cautions(answer) : []));
    fill(this.#origin, answer && this.#writtenBy(answer));
    this.node.hidden = !this.#body.hasChildNodes() && !this.#notices.hasChildNodes();
  }

  /** @param {Answer} answer @param {string} question */
  #showAnswer(answer, question) {
    const { sources, gaps, places, routes, weather } = answer;
    const elsewhere = { notice: noticeOf(answer), sources, gaps, places, routes, weather };
    const fragment = renderMarkdown(answerBody(answer.text, { question, ...elsewhere }), { sources });
    this.#settled = { text: "", nodes: 0 };
    this.#sources = byNumber(sources);
    if (answer.final_answer && answer.outcome === "answer") markHeadline(fragment, answer.verified);
    giveQuotes(citationsIn(fragment), quotesOfStatements(answer));
    explainMarks(fragment);
    for (const anchor of citationsIn(fragment)) {
      const source = this.#sources.get(anchor.dataset.sourceNumber ?? "");
      if (source) nameCitation(anchor, source);
    }
    mergeEqual(fragment);
    tellFigures(fragment, (anchor) => this.#quotesOf(anchor));
    patch(this.#body, fragment);
    this.#body.lang = tagOf(answer.spoken);
  }

  /** Renders blocks that have ended once; the last one anew each time. @param {string} markdown */
  #showGrowing(markdown) {
    if (!markdown.startsWith(this.#settled.text)) this.#settled = { text: "", nodes: 0 };
    const tail = markdown.slice(this.#settled.text.length);
    const end = lastBlock(tail);
    const [ended, last] = [tail.slice(0, end), tail.slice(end)].map((part) => renderMarkdown(part, {}));
    for (const fragment of [ended, last]) explainMarks(fragment);
    for (const old of [...this.#body.childNodes].slice(this.#settled.nodes)) old.remove();
    this.#body.append(ended);
    this.#settled = { text: this.#settled.text + tail.slice(0, end), nodes: this.#body.childNodes.length };
    this.#body.append(last);
  }

  /** Returns what has to be known before the answer is read. @param {Answer} answer */
  #cautions(answer) {
    const isSample = answer.mode === "offline" && this.#config.mode !== "offline";
    return [
      isSample && hint("sample", noticeOf(answer) || say("sample")),
      answer.degraded && hint("degraded", say("degraded")),
    ];
  }

  /**
   * Returns who wrote a sample answer; that it is one is said on the whole page.
   * @param {Answer} answer
   */
  #writtenBy(answer) {
    if (answer.mode !== "offline" || this.#config.mode !== "offline") return null;
    const notice = noticeOf(answer);
    const told = Object.values(this.#config.notice ?? {}).find((said) => notice.startsWith(said));
    const text = told && notice.slice(told.length).trim();
    return text && hint("sample", text);
  }

  /** @param {HTMLAnchorElement} anchor */
  #quotesOf({ dataset: { sourceNumber = "", quote } }) {
    const quotes = this.#sources.get(sourceNumber)?.quotes ?? [];
    return quote ? [quote, ...quotes] : quotes;
  }

  /** @param {string} number */
  #lookup(number) {
    const source = this.#sources.get(number);
    if (!source) return null;
    const place = this.#turn?.answer?.places.find((each) => each.source === source.id);
    return { source, show: place ? (/** @type {ChoiceReason} */ why) => this.#onPlace(place.id, why) : null };
  }
}

/**
 * Makes the first line, which gives the exact answer, a headline that says whether it was verified.
 * @param {DocumentFragment} fragment @param {boolean} isVerified
 */
function markHeadline(fragment, isVerified) {
  const line = fragment.firstElementChild;
  const value = line?.firstElementChild;
  if (!line || value?.localName !== "strong" || line.childNodes.length > 1) return;
  line.className = "final-answer";
  line.append(" ", el("span", { class: "badge", dataset: { verified: String(isVerified) } },
    say(isVerified ? "verified" : "unverified")));
}

/** @param {string} mark */
const explained = (mark) => (mark.length > 1 ? el("span", { class: "figure" }, mark)
  : el("abbr", { class: "unsourced", title: say(mark === "†" ? "unsourced" : "contradicted") }, mark));

/** Gives each mark its meaning, and keeps hours on one line. @param {DocumentFragment} fragment */
function explainMarks(fragment) {
  for (const text of textsIn(fragment)) {
    if (!MARKS.test(text.data) || text.parentElement?.closest("code, a")) continue;
    const parts = text.data.split(MARKS);
    text.replaceWith(...parts.map((part) => (MARKS.test(part) ? explained(part) : part)));
  }
}

/**
 * Replaces only what differs: what is read or selected further up stays.
 * @param {Element} element
 * @param {DocumentFragment} fragment
 */
function patch(element, fragment) {
  const after = [...fragment.childNodes];
  const before = [...element.childNodes];
  let same = 0;
  while (same < after.length && same < before.length && before[same].isEqualNode(after[same])) same += 1;
  for (const old of before.slice(same)) old.remove();
  element.append(...after.slice(same));
}

/** @param {string} kind @param {string} words */
function hint(kind, words) {
  return el("p", { class: "hint", dataset: { kind } }, words);
}
