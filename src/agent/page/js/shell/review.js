/** The plan of a paused run: read it, change it, go on with it or stop here. */

import { el, fill, icon } from "../dom.js";
import { language, languageOf, text as sayAny, translator } from "../i18n.js";

const say = translator("page.review");
const sayOf = translator("review");

const MOST = 10;
const LONGEST = 400;
const LEAST_USD = 0.00005;
/** The key of a line's text by the part of a plan; empty where the line is one. */
const TEXTS = /** @type {const} */ ({ queries: "query", topics: "name", tasks: "query", steps: "" });
const TITLES = /** @type {const} */ ({
  queries: "title_queries", topics: "title_topics", tasks: "title_tasks", steps: "title_steps",
});
const PARTS = /** @type {PlanPart[]} */ (Object.keys(TEXTS));

/**
 * @typedef {{text: string, shown: unknown, map: MapTask|null, words: string, onMap: boolean,
 *   share?: Estimate}} Line a line under edit; `shown` as it came, `words` of its map task, `onMap`: whether
 *   that stays, `share`: what it adds to the estimate
 * @typedef {{of: string, part: PlanPart, most: number, lines: Line[]}} Draft of the plan that `of` is
 * @typedef {(answer: Decision) => Promise<void>} OnAnswer
 */

/**
 * Shows the plan of a run that waits for a decision.
 * @param {{onAnswer: OnAnswer}} options where it fails, the plan can be answered again
 * @returns {View}
 */
export function reviewView({ onAnswer }) {
  const node = el("section", { class: "review", dataset: { part: "review" }, hidden: true });
  const form = new ReviewForm(node, onAnswer);
  let shown = "";
  return {
    node,
    update(turn) {
      const review = turn.status === "waiting" ? turn.review : null;
      const now = review ? JSON.stringify(review) : "";
      if (now === shown) return;
      shown = now;
      node.hidden = !review;
      if (review) form.open(review);
      else node.replaceChildren();
    },
  };
}

class ReviewForm {
  #node;
  #onAnswer;
  /** @type {Draft|null} */
  #before = null;
  /** @type {Draft} */
  #draft = { of: "", part: "queries", most: MOST, lines: [] };
  /** @type {Review} */
  #review = {};
  #estimate = el("p", { class: "review-estimate" });
  #list = el("ol", { class: "review-queries" });
  #add = el("button", { class: "button quiet", type: "button",
    onclick: () => this.#show(this.#draft.lines.push(emptyLine()) - 1) }, icon("new"), say("add"));
  #problem = el("p", { class: "notice warn", role: "alert", hidden: true });

  /** @param {HTMLElement} node @param {OnAnswer} onAnswer */
  constructor(node, onAnswer) {
    this.#node = node;
    this.#onAnswer = onAnswer;
  }

  /** @param {Review} review */
  open(review) {
    this.#before = this.#draft = draftFor(review, this.#before);
    this.#review = review;
    const title = el("h3", { class: "review-title", tabindex: "-1" }, say(TITLES[this.#draft.part]));
    const decision = el("div", { class: "review-decision" },
      el("button", { class: "button primary", type: "button", onclick: () => this.#goOn() }, say("go")),
      el("button", { class: "button", type: "button", onclick: () => this.#answer({ cancel: true }) },
        say("cancel")));
    fill(this.#node, title, el("p", { class: "muted" }, say("lead")), this.#problem,
      this.#list, this.#add, this.#estimate, decision);
    this.#tell(review.problem ? say("problem", { problem: review.problem }) : "");
    this.#show();
    takeFocus(title, decision);
  }

  /** Shows the lines as they are now. @param {number} [place] of the line that gets the focus */
  #show(place) {
    const rows = this.#draft.lines.map((line, at) => this.#row(line, at));
    fill(this.#list, ...rows);
    this.#add.disabled = !hasRoom(this.#draft);
    this.#renew();
    if (place !== undefined) rows[place].querySelector("textarea")?.focus();
  }

  #renew() { fill(this.#estimate, estimateWords(this.#review, this.#draft.lines)); }

  /** @param {Line} line @param {number} place */
  #row(line, place) {
    const number = place + 1;
    const text = el("textarea", {
      class: "field", dir: "auto", rows: 1, maxlength: LONGEST, lang: languageOf(line.text),
      "aria-label": say("line", { n: number }),
      onkeydown: (event) => { if (event.key === "Enter") event.preventDefault(); },
    });
    text.value = line.text;
    text.addEventListener("input", () => { line.text = text.value; });
    /**
     * @param {"raise"|"remove"} name
     * @param {IconName} sign
     * @param {boolean} disabled
     * @param {() => void} onclick
     */
    const tool = (name, sign, disabled, onclick) => {
      const words = say(name, { n: number });
      const attributes = { class: "button quiet", type: "button", "aria-label": words, title: words };
      return el("button", { ...attributes, disabled, onclick }, icon(sign));
    };
    const raise = tool("raise", "up", place === 0, () => this.#raise(place));
    const remove = tool("remove", "remove", !mayRemove(this.#draft), () => this.#remove(place));
    const after = waitsFor(this.#draft, line);
    return el("li", { class: "review-query" }, text, raise, remove,
      after.length > 0 &&
        el("p", { class: "muted small review-after" }, say("after", { numbers: after.join(", ") })),
      line.map && mapSwitch(line, () => this.#renew()));
  }

  /** @param {number} place */
  #remove(place) {
    this.#draft.lines.splice(place, 1);
    this.#show(Math.min(place, this.#draft.lines.length - 1));
  }

  /** Puts a line before the one above it. @param {number} place */
  #raise(place) {
    const { lines } = this.#draft;
    lines.splice(place - 1, 2, lines[place], lines[place - 1]);
    this.#show(place - 1);
  }

  #goOn() {
    const answer = answerOf(this.#draft);
    if (answer) this.#answer(answer);
    else this.#tell(say("empty"));
  }

  /** @param {Decision} answer */
  async #answer(answer) {
    this.#freeze(true);
    try {
      await this.#onAnswer(answer);
    } catch {
      this.#freeze(false);
    }
  }

  /** @param {boolean} frozen */
  #freeze(frozen) {
    /** @type {NodeListOf<HTMLButtonElement|HTMLTextAreaElement|HTMLInputElement>} */
    const controls = this.#node.querySelectorAll("button, textarea, input");
    for (const control of controls) control.disabled = frozen;
  }

  /** @param {string} problem */
  #tell(problem) {
    this.#problem.hidden = !problem;
    fill(this.#problem, problem);
  }
}

/** @param {Line} line @param {() => void} onChange */
function mapSwitch(line, onChange) {
  const box = el("input", { type: "checkbox", checked: line.onMap });
  box.addEventListener("change", () => {
    line.onMap = box.checked;
    onChange();
  });
  const words = el("span", { lang: languageOf(line.words) }, line.words);
  return el("label", { class: "review-map" }, box,
    el("span", {}, el("span", { class: "tag" }, say("map")), " ", words));
}

/**
 * Tells what a plan takes as its lines are now, where the run says what each adds.
 * @param {Review} review @param {Line[]} lines
 */
export function estimateWords({ estimate, shares }, lines) {
  if (!estimate) return "";
  // Without its map task a line is as one of the person's own.
  const now = shares ? lines.map((line) => (line.map && !line.onMap ? null : line.share) ?? shares.own) : [];
  /** @param {(one: Estimate) => number} of */
  const total = (of) => [estimate, ...now].reduce((sum, one) => sum + of(one), 0)
    - (shares?.lines ?? []).reduce((sum, one) => sum + of(one), 0);
  const [low, high] = /** @type {const} */ (["low", "high"])
    .map((end) => Math.max(0, total((one) => one.cost_usd?.[end] ?? 0)));
  const cost = !estimate.cost_usd ? "unknown" : high > LEAST_USD ? "cost" : "free";
  const [least, most] = /** @type {const} */ (["low", "high"])
    .map((end) => Math.max(1, Math.ceil(total((one) => one.seconds?.[end] ?? 0) / 60)));
  const time = least === most ? "minutes_about" : "minutes";
  const parts = [sayOf(cost, { low: low.toFixed(2), high: high.toFixed(2) }),
    ...(estimate.seconds ? [sayOf(time, { low: String(least), high: String(most) })] : [])];
  return sayOf("estimate", {
    searches: total((one) => one.searches), map_calls: total((one) => one.map_calls),
    model_calls: total((one) => one.model_calls),
    cost: parts.join(sayAny("punctuation.semicolon", language)),
  });
}

/**
 * Shows how to go on, unless the person reads elsewhere; takes the focus, but not while they are writing
 * something: their words would go elsewhere.
 * @param {HTMLElement} title @param {HTMLElement} end
 */
function takeFocus(title, end) {
  const { top } = title.getBoundingClientRect();
  if (top >= 0 && top < innerHeight) end.scrollIntoView({ block: "nearest" });
  const active = document.activeElement;
  const isField = active instanceof HTMLTextAreaElement || active instanceof HTMLInputElement;
  if (!isField || !active.value) title.focus({ preventScroll: true });
}

/** Makes a line of the person's own; a query is for the web alone. @returns {Line} */
export const emptyLine = () => ({ text: "", shown: null, map: null, words: "", onMap: false });

/**
 * Returns what goes back to the run: the lines in order, trimmed; those emptied are left out.
 * @param {Draft} draft
 * @returns {Decision|null} null where nothing is left
 */
export function answerOf({ part, lines }) {
  const written = lines.filter(({ text }) => text.trim() !== "").map((line) => asAnswer(part, line));
  return written.length ? { [part]: written } : null;
}

/** @param {PlanPart} part @param {Line} line */
function asAnswer(part, { text, shown, map, onMap }) {
  if (part === "queries") return { query: text.trim(), map: onMap ? map : null };
  const own = shown && typeof shown === "object" ? shown : null;
  return own ? { ...own, [TEXTS[part]]: text.trim() } : text.trim();
}

/** Tells whether another line may be added. @param {Draft} draft */
export const hasRoom = ({ lines, most }) => lines.length < most;

/** Tells whether a line may go: one has to stay. @param {Draft} draft */
export const mayRemove = ({ lines }) => lines.length > 1;

/** Returns the numbers of the tasks that a task waits for. @param {Draft} draft @param {Line} line */
export function waitsFor({ lines }, line) {
  const deps = /** @type {{dep?: string[]}|null} */ (line.shown)?.dep ?? [];
  const ids = lines.map(({ shown }) => /** @type {{id?: string}|null} */ (shown)?.id);
  return deps.map((dep) => ids.indexOf(dep) + 1).filter((number) => number > 0);
}

/**
 * Returns the plan to edit for a review. Asked about the same plan again, after an answer that could not
 * be used or did not arrive, a person finds it as they left it.
 * @param {Review} review
 * @param {Draft|null} before
 * @returns {Draft}
 */
export function draftFor(review, before) {
  const part = PARTS.find((one) => review[one]) ?? "queries";
  const shown = review[part] ?? [];
  const of = JSON.stringify(shown);
  if (before?.of === of) return before;
  const lines = shown.map((line, index) => lineOf(part, line, review, index));
  return { of, part, most: review.most ?? MOST, lines };
}

/** @param {PlanPart} part @param {unknown} shown @param {Review} review @param {number} index */
function lineOf(part, shown, { words, shares }, index) {
  const own = /** @type {Record<string, unknown>} */ (shown);
  const map = part === "queries" ? /** @type {PlannedQuery} */ (shown).map ?? null : null;
  const text = String(TEXTS[part] ? own[TEXTS[part]] : shown);
  const [name, share] = [words?.maps[index] ?? "", shares?.lines[index]];
  return { text, shown, map, words: name, onMap: Boolean(map), share };
}
