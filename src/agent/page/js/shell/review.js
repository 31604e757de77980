/** The plan of a paused run: read it, change it, go on with it or stop here. */

import { el, fill, icon } from "../dom.js";
import { translator } from "../i18n.js";
import { estimateLines, taskLine } from "./describe_plan.js";

const say = translator("page.review");

const MAX_QUERIES = 10;
const MAX_QUERY = 400;

/**
 * @typedef {{query: string, map: MapTask|null, onMap: boolean}} Line a query under edit; `onMap`: whether
 *   its map task stays
 * @typedef {{of: string, lines: Line[]}} Draft of the plan that `of` is
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
  /** @type {Line[]} */
  #draft = [];
  #list = el("ol", { class: "review-queries" });
  #add = el("button", { class: "button quiet", type: "button", onclick: () => this.#append() },
    icon("new"), say("add"));
  #problem = el("p", { class: "notice warn", role: "alert", hidden: true });

  /** @param {HTMLElement} node @param {OnAnswer} onAnswer */
  constructor(node, onAnswer) {
    this.#node = node;
    this.#onAnswer = onAnswer;
  }

  /** @param {Review} review */
  open(review) {
    this.#before = draftFor(review, this.#before);
    this.#draft = this.#before.lines;
    const title = el("h3", { class: "review-title", tabindex: "-1" }, say("title"));
    fill(this.#node, title, el("p", { class: "muted" }, say("lead")), this.#problem,
      this.#list, this.#add, estimateNode(review.estimate), this.#decision());
    this.#tell(review.problem ? say("problem", { problem: review.problem }) : "");
    this.#show();
    takeFocus(title);
  }

  #decision() {
    return el("div", { class: "review-decision" },
      el("button", { class: "button primary", type: "button", onclick: () => this.#goOn() }, say("go")),
      el("button", { class: "button", type: "button", onclick: () => this.#answer({ cancel: true }) },
        say("cancel")));
  }

  #show() {
    fill(this.#list, ...this.#draft.map((line, place) => this.#row(line, place)));
    this.#add.disabled = !hasRoom(this.#draft);
  }

  /** @param {Line} line @param {number} place */
  #row(line, place) {
    const number = place + 1;
    const text = el("textarea", {
      class: "field", rows: 1, maxlength: MAX_QUERY, "aria-label": say("query", { n: number }),
      onkeydown: (event) => { if (event.key === "Enter") event.preventDefault(); },
    });
    text.value = line.query;
    text.addEventListener("input", () => { line.query = text.value; });
    const remove = el("button", {
      class: "button quiet", type: "button", disabled: !mayRemove(this.#draft),
      "aria-label": say("remove", { n: number }), title: say("remove", { n: number }),
      onclick: () => this.#remove(place),
    }, icon("remove"));
    return el("li", { class: "review-query" }, text, remove, line.map && mapSwitch(line, line.map));
  }

  #append() {
    this.#draft.push(emptyLine());
    this.#show();
    this.#list.lastElementChild?.querySelector("textarea")?.focus();
  }

  /** @param {number} place */
  #remove(place) {
    this.#draft.splice(place, 1);
    this.#show();
    const next = this.#list.children[Math.min(place, this.#draft.length - 1)];
    next.querySelector("textarea")?.focus();
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

/** @param {Line} line @param {MapTask} task */
function mapSwitch(line, task) {
  const box = el("input", { type: "checkbox", checked: line.onMap });
  box.addEventListener("change", () => { line.onMap = box.checked; });
  return el("label", { class: "review-map" }, box,
    el("span", {}, el("span", { class: "tag" }, say("map")), ` ${taskLine(task)}`));
}

/** @param {Estimate|null|undefined} estimate */
function estimateNode(estimate) {
  if (!estimate) return null;
  const { counts, cost } = estimateLines(estimate);
  return el("div", { class: "review-estimate" },
    el("p", { class: "muted small" }, say("estimate")), el("p", {}, counts), el("p", {}, cost));
}

/**
 * Takes the focus, but not while the person is writing something: their words would go elsewhere.
 * @param {HTMLElement} title
 */
function takeFocus(title) {
  const active = document.activeElement;
  const isField = active instanceof HTMLTextAreaElement || active instanceof HTMLInputElement;
  if (isField && active.value) return;
  title.focus({ preventScroll: true });
  title.scrollIntoView({ block: "nearest" });
}

/**
 * Returns the plan as it can be edited.
 * @param {PlannedQuery[]} queries
 * @returns {Line[]}
 */
function draftOf(queries) {
  return queries.map(({ query, map }) => ({ query: String(query), map: map ?? null, onMap: Boolean(map) }));
}

/** Makes a query of the person's own, for the web alone. @returns {Line} */
export const emptyLine = () => ({ query: "", map: null, onMap: false });

/**
 * Returns what goes back to the run: the queries in order, trimmed; those emptied are left out.
 * @param {Line[]} draft
 * @returns {{queries: PlannedQuery[]}|null} null where nothing is left
 */
export function answerOf(draft) {
  const queries = draft
    .map(({ query, map, onMap }) => ({ query: query.trim(), map: onMap ? map : null }))
    .filter(({ query }) => query !== "");
  return queries.length ? { queries } : null;
}

/** Tells whether another query may be added. @param {Line[]} draft */
export const hasRoom = (draft) => draft.length < MAX_QUERIES;

/** Tells whether a query may go: one has to stay. @param {Line[]} draft */
export const mayRemove = (draft) => draft.length > 1;

/**
 * Returns the plan to edit for a review. Asked about the same plan again, after an answer that could not
 * be used or did not arrive, a person finds it as they left it.
 * @param {Review} review
 * @param {Draft|null} before
 * @returns {Draft}
 */
export function draftFor(review, before) {
  const of = JSON.stringify(review.queries ?? []);
  return before?.of === of ? before : { of, lines: draftOf(review.queries ?? []) };
}
