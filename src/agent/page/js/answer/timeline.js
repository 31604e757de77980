/** The steps of a run, live and in plain words; folded into one line once it has ended. */

import { el, fill } from "../dom.js";
import { hasText, language, text, translator } from "../i18n.js";
import { eventLine, mapCallsLine, mapCallWords } from "./progress_line.js";
import { Steps } from "./steps.js";
import { duration, usageLine } from "./usage.js";

const say = translator("page.timeline");
const LIVE = new Set(["starting", "running"]);
const BETWEEN_WORDS_MS = 4000;
/** Seconds below which a duration says nothing. */
const MOMENT_S = 0.05;

/** @import { Step } from "./steps.js" */

/** @implements {View} */
export class Timeline {
  /** @type {Turn|null} */
  #turn = null;
  #steps = new Steps();
  /** @type {RunEvent[]} */
  #taken = [];
  /** @type {HTMLElement[]} by the keys of their steps */
  #items = [];
  #gaveWay = false;
  #spokenAt = 0;
  #timer = 0;
  #now = el("span", { class: "now" });
  #passed = el("span", { class: "passed" });
  #status = el("p", { class: "visually-hidden", role: "status" });
  #list = el("ol", { class: "steps", "aria-label": say("list") });
  #fold = el("details", { class: "timeline-fold" },
    el("summary", {}, el("span", { class: "sign", "aria-hidden": "true" }),
      el("span", { class: "line" }, this.#now, " ", this.#passed)),
    this.#list);
  node = el("section", { class: "timeline", dataset: { part: "timeline" } }, this.#fold, this.#status);

  /** @param {Turn} turn */
  update(turn) {
    const before = this.#turn;
    if (before?.id !== turn.id || !this.#continues(turn.events)) this.#reset();
    this.#turn = { ...turn };
    const isLive = LIVE.has(turn.status);
    if (before?.status !== turn.status || before?.id !== turn.id) this.#enter(turn.status, isLive);
    this.#take(turn);
    if (isLive && turn.text) this.#giveWay();
    if (!isLive && turn.status !== "waiting") this.#close(turn.status === "done");
    this.#paintSummary();
    this.#speak(isLive);
  }

  #reset() {
    this.#steps = new Steps();
    this.#taken = [];
    this.#items = [];
    this.#gaveWay = false;
    fill(this.#list);
  }

  /**
   * Tells whether `events` begin with those already shown; a re-joined run may tell them anew.
   * @param {RunEvent[]} events
   */
  #continues(events) {
    const last = this.#taken.at(-1);
    const same = events[this.#taken.length - 1];
    return !last || (same !== undefined && last.type === same.type && last.text === same.text);
  }

  /** @param {Turn} turn */
  #take(turn) {
    const events = turn.events.slice(this.#taken.length);
    if (!events.length) return;
    const atEnd = this.#list.scrollHeight - this.#list.scrollTop - this.#list.clientHeight < 24;
    for (const event of events) {
      const step = this.#steps.take(event);
      if (step) this.#paint(step);
    }
    this.#taken.push(...events);
    if (atEnd) this.#list.scrollTop = this.#list.scrollHeight;
  }

  /** @param {boolean} isDone */
  #close(isDone) {
    const open = this.#steps.list.filter((step) => step.state === "open");
    this.#steps.close(isDone);
    for (const step of open) this.#paint(step);
  }

  /** @param {TurnStatus} status @param {boolean} isLive */
  #enter(status, isLive) {
    this.node.dataset.status = status;
    const hasGivenWay = this.#gaveWay;
    this.#gaveWay &&= isLive;
    if (!hasGivenWay) this.#fold.open = isLive;
    this.#list.tabIndex = isLive ? 0 : -1; // Then it scrolls, also by keyboard.
    clearInterval(this.#timer);
    if (isLive) this.#timer = window.setInterval(() => this.#tick(), 1000);
  }

  #tick() {
    if (this.node.isConnected) this.#paintSummary();
    else clearInterval(this.#timer);
  }

  /** Folds once, before the answer's first words: folding later would move what is being read. */
  #giveWay() {
    if (this.#gaveWay) return;
    this.#gaveWay = true;
    this.#fold.open = false;
  }

  /** @param {Step} step */
  #paint(step) {
    const item = this.#items[step.key] ?? this.#added(step);
    item.dataset.kind = step.event.type;
    item.dataset.state = step.state;
    const newest = step.calls.at(-1)?.text;
    const isOpen = step.state === "open";
    const calls = isOpen ? mapCallWords(newest, language) : mapCallsLine(step.calls, language);
    fill(item,
      el("span", { class: "sign", "aria-hidden": "true" }),
      el("span", { class: "words" }, this.#line(step)),
      step.state === "left" && el("span", { class: "took" }, say("left")),
      step.event.seconds !== undefined && step.event.type !== "done" &&
        el("span", { class: "took" }, duration(step.event.seconds)),
      calls && el("span", { class: "calls" }, calls));
  }

  /**
   * Adds an item: after all that is part of the same task, turn or topic, else at the end.
   * @param {Step} step
   */
  #added(step) {
    const item = el("li", { class: "step", dataset: { level: step.parent === null ? 0 : 1 } });
    this.#items[step.key] = item;
    const last = this.#steps.list.findLast((other) => other.key < step.key && isBeside(other, step));
    if (last && step.parent !== null) this.#items[last.key].after(item);
    else this.#list.append(item);
    return item;
  }

  /** Tells a step in words; how long it took stands in a column of its own. @param {Step} step */
  #line({ event }) {
    if (event.type === "done") return say(event.count ? "written" : "written_none", { n: event.count });
    const told = event.type === "map_call" ? mapCallWords(event.text, language) : event.text;
    return eventLine({ ...event, text: told, seconds: undefined }, language);
  }

  #paintSummary() {
    const turn = this.#turn;
    if (!turn) return;
    const isLive = LIVE.has(turn.status);
    this.node.classList.toggle("away", isLive && turn.isAway);
    const state = hasText(`page.timeline.${turn.status}`) ? turn.status : "research";
    this.#now.textContent = isLive ? this.#nowLine(turn) : say(state);
    const seconds = secondsOf(turn);
    const passed = duration(isLive ? Math.floor(seconds) : seconds);
    const ended = () => this.#endParts(turn, passed).map((part) => ` · ${part}`).join("");
    this.#passed.textContent = isLive ? passed : ended();
  }

  /** @param {Turn} turn */
  #nowLine(turn) {
    if (turn.isLost) return say("lost");
    if (turn.isAway) return say("away");
    const { current, atOnce } = this.#steps;
    const line = current ? this.#line(current) : text("progress.starting", language);
    return atOnce > 1 ? line + say("more", { n: atOnce - 1 }) : line;
  }

  /** @param {Turn} turn @param {string} passed */
  #endParts(turn, passed) {
    const { count } = this.#steps;
    const lookedUp = usageLine(turn.answer?.usage ?? {});
    const steps = turn.events.length > 0 && count > 0 && say("steps", { n: count });
    return [!lookedUp && steps, secondsOf(turn) >= MOMENT_S && passed, lookedUp].filter(Boolean);
  }

  /**
   * Has it read out every few seconds at most; how it ended is said on the page for all its parts.
   * @param {boolean} isLive
   */
  #speak(isLive) {
    const now = Date.now();
    if (isLive && now - this.#spokenAt < BETWEEN_WORDS_MS) return;
    this.#spokenAt = isLive ? now : 0;
    const words = isLive ? this.#now.textContent : "";
    if (this.#status.textContent !== words) this.#status.textContent = words;
  }
}

/** Tells whether `other` is what holds `step`, or held by the same. @param {Step} other @param {Step} step */
const isBeside = (other, step) => other.key === step.parent || other.parent === step.parent;

/** Returns the seconds the run took, by its own count where it has ended. @param {Turn} turn */
function secondsOf(turn) {
  const counted = turn.answer?.usage?.seconds;
  if (counted && turn.status === "done") return counted;
  if (!turn.startedAt) return 0;
  const end = LIVE.has(turn.status) ? Date.now() : turn.endedAt ?? turn.startedAt;
  return Math.max(0, end - turn.startedAt) / 1000;
}
