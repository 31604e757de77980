/** What a run does, live and in plain words; folded into one line once it has ended. */

import { el, fill } from "../dom.js";
import { language, translator } from "../i18n.js";
import { oneDecimal } from "../rounding.js";
import { eventLine, mapCallsLine, mapCallWords } from "./progress_line.js";
import { eventsOfAnswer, Steps } from "./steps.js";
import { duration, inSeconds, usageLine } from "./usage.js";

const say = translator({
  zh: {
    research: "研究过程", stopped: "已停止", failed: "没有完成", waiting: "等您确认计划",
    steps: "{n} 步", step: "1 步", more: "（另有 {n} 项在进行）",
    written: "答案已写好，引用 {n} 个来源", left: "未完成", list: "研究步骤",
    lost: "服务器重启过，正在接着做…",
  },
  en: {
    research: "Research", stopped: "Stopped", failed: "Not finished", waiting: "Waiting for your plan",
    steps: "{n} steps", step: "1 step", more: " (and {n} more)",
    written: "Answer written, sources cited: {n}", left: "not finished", list: "Steps of the research",
    lost: "The server restarted; the run is about to go on …",
  },
});
const LIVE = new Set(["starting", "running"]);
const ENDED = { done: "research", stopped: "stopped", failed: "failed", waiting: "waiting" };
const BETWEEN_WORDS_MS = 4000;
/** Seconds below which a duration says nothing. */
const MOMENT_S = 0.05;

/**
 * @param {{events: object, speakers: object, starting: object}} config
 * @returns {{node: HTMLElement, update: (turn: object) => void}}
 */
export function timelineView(config) {
  const timeline = new Timeline(config);
  return { node: timeline.node, update: (turn) => timeline.update(turn) };
}

class Timeline {
  #config;
  #turn = null;
  #steps = new Steps();
  #taken = [];
  #items = [];
  #gaveWay = false;
  #isPast = false;
  #spokenAt = 0;
  #now = el("span", { class: "now" });
  #passed = el("span", { class: "passed" });
  #status = el("p", { class: "visually-hidden", role: "status" });
  #list = el("ol", { class: "steps", "aria-label": say("list") });
  #fold = el("details", { class: "timeline-fold" },
    el("summary", {}, el("span", { class: "sign", "aria-hidden": "true" }),
      el("span", { class: "line" }, this.#now, " ", this.#passed)),
    this.#list);
  node = el("section", { class: "timeline", dataset: { part: "timeline" } }, this.#fold, this.#status);

  constructor(config) {
    this.#config = config;
  }

  update(turn) {
    const before = this.#turn;
    const isToldNow = this.#isPast && turn.events.length > 0;
    if (before?.id !== turn.id || isToldNow || !this.#continues(turn.events)) this.#reset();
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
    this.#isPast = false;
    fill(this.#list);
  }

  /** Whether `events` begin with those already shown; a re-joined run may tell them anew. */
  #continues(events) {
    const last = this.#taken.at(-1);
    const same = events[this.#taken.length - 1];
    return !last || (same !== undefined && last.type === same.type && last.text === same.text);
  }

  #take(turn) {
    const isPast = turn.events.length === 0 && turn.answer?.queries?.length && this.#items.length === 0;
    const events = isPast ? eventsOfAnswer(turn.answer) : turn.events.slice(this.#taken.length);
    if (!events.length) return;
    this.#isPast = isPast;
    const atEnd = this.#list.scrollHeight - this.#list.scrollTop - this.#list.clientHeight < 24;
    for (const told of events) {
      const step = this.#steps.take(told);
      if (step) this.#paint(step);
    }
    if (!isPast) this.#taken.push(...events);
    if (atEnd) this.#list.scrollTop = this.#list.scrollHeight;
  }

  #close(isDone) {
    const open = this.#steps.list.filter((step) => step.state === "open");
    this.#steps.close(isDone);
    for (const step of open) this.#paint(step);
  }

  #enter(status, isLive) {
    this.node.dataset.status = status;
    const hasGivenWay = this.#gaveWay;
    this.#gaveWay &&= isLive;
    if (!hasGivenWay) this.#fold.open = isLive;
    this.#list.tabIndex = isLive ? 0 : -1; // Then it scrolls, also by keyboard.
    if (isLive) startElapsedTimer(this.node, () => this.#paintSummary());
    else stopElapsedTimer(this.node);
  }

  /** Folds once, before the answer's first words: folding later would move what is being read. */
  #giveWay() {
    if (this.#gaveWay) return;
    this.#gaveWay = true;
    this.#fold.open = false;
  }

  #paint(step) {
    const item = this.#items[step.key] ?? this.#added(step);
    item.dataset.kind = step.told.type;
    item.dataset.state = step.state;
    const calls = step.state === "open" ? mapCallWords(step.calls.at(-1)?.text) : mapCallsLine(step.calls);
    fill(item,
      el("span", { class: "sign", "aria-hidden": "true" }),
      el("span", { class: "words" }, this.#line(step)),
      step.state === "left" && el("span", { class: "took" }, say("left")),
      step.told.seconds !== undefined && step.told.type !== "done" && took(step.told.seconds),
      calls && el("span", { class: "calls" }, calls));
  }

  /** A new item: after all that is part of the same task, turn or topic, else at the end. */
  #added(step) {
    const item = el("li", { class: "step", dataset: { level: step.parent === null ? 0 : 1 } });
    this.#items[step.key] = item;
    const last = this.#steps.list.findLast((other) => other.key < step.key && isBeside(other, step));
    if (last && step.parent !== null) this.#items[last.key].after(item);
    else this.#list.append(item);
    return item;
  }

  /** A step's words; how long it took stands in a column of its own. */
  #line({ told }) {
    if (told.type === "done") return say("written", { n: told.count ?? 0 });
    const text = told.type === "map_call" ? mapCallWords(told.text) : told.text;
    return eventLine({ ...told, text, seconds: undefined }, this.#config, language);
  }

  #paintSummary() {
    const turn = this.#turn;
    const isLive = LIVE.has(turn.status);
    this.#now.textContent = isLive ? this.#nowLine() : say(ENDED[turn.status]);
    const seconds = secondsOf(turn);
    const passed = duration(isLive ? Math.floor(seconds) : seconds);
    if (isLive) this.#passed.textContent = passed;
    else this.#passed.textContent = this.#endParts(turn, passed).map((part) => ` · ${part}`).join("");
  }

  #nowLine() {
    if (this.#turn.isLost) return say("lost");
    const { current, atOnce } = this.#steps;
    const line = current ? this.#line(current) : this.#config.starting[language];
    return atOnce > 1 ? line + say("more", { n: atOnce - 1 }) : line;
  }

  #endParts(turn, passed) {
    const { count } = this.#steps;
    const lookedUp = usageLine(turn.answer?.usage ?? {});
    const steps = turn.events.length > 0 && count > 0 && (count === 1 ? say("step") : say("steps", { n: count }));
    return [!lookedUp && steps, secondsOf(turn) >= MOMENT_S && passed, lookedUp].filter(Boolean);
  }

  /** Read out every few seconds at most; how it ended is said on the page for all its parts. */
  #speak(isLive) {
    const now = Date.now();
    if (isLive && now - this.#spokenAt < BETWEEN_WORDS_MS) return;
    this.#spokenAt = isLive ? now : 0;
    const words = isLive ? this.#now.textContent : "";
    if (this.#status.textContent !== words) this.#status.textContent = words;
  }
}

/** Whether `other` is what holds `step`, or held by the same. */
function isBeside(other, step) {
  return other.key === step.parent || other.parent === step.parent;
}

/** Seconds the run took, by its own count where it has ended. */
function secondsOf(turn) {
  const counted = turn.answer?.usage?.seconds;
  if (counted && turn.status === "done") return counted;
  if (!turn.startedAt) return 0;
  const end = LIVE.has(turn.status) ? Date.now() : turn.endedAt ?? turn.startedAt;
  return Math.max(0, end - turn.startedAt) / 1000;
}

function took(seconds) {
  return el("span", { class: "took" }, inSeconds(oneDecimal(seconds)));
}

const painters = new Map();
let timer = null;

/**
 * Calls `paint` once a second while `node` is in the page.
 * @param {Node} node
 * @param {() => void} paint
 */
export function startElapsedTimer(node, paint) {
  painters.set(node, paint);
  timer ??= setInterval(tick, 1000);
}

export function stopElapsedTimer(node) {
  painters.delete(node);
  if (painters.size === 0) halt();
}

function tick() {
  for (const [node, paint] of painters) {
    if (node.isConnected) paint();
    else painters.delete(node);
  }
  if (painters.size === 0) halt();
}

function halt() {
  clearInterval(timer);
  timer = null;
}
