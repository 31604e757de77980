/** The plan of a paused run: read it, change it, go on with it or stop here. */

import { el, fill, icon } from "../dom.js";
import { translator } from "../i18n.js";
import { estimateLines, taskLine } from "./describe_plan.js";

const say = translator({
  zh: {
    title: "检索计划",
    lead: "还没有搜索。可以修改、删除、添加，再继续。",
    query: "检索词 {n}",
    map: "查地图",
    remove: "删除第 {n} 条",
    add: "添加一条",
    go: "按这个计划继续",
    cancel: "取消",
    empty: "至少要留一条检索词。",
    problem: "上一次的计划用不了：{problem}",
    estimate: "估计（按原计划，不含追加检索）",
  },
  en: {
    title: "The plan",
    lead: "Nothing is searched yet. Change, remove or add, then go on.",
    query: "Query {n}",
    map: "On the map",
    remove: "Remove query {n}",
    add: "Add a query",
    go: "Go on with this plan",
    cancel: "Cancel",
    empty: "At least one query has to stay.",
    problem: "The plan before could not be used: {problem}",
    estimate: "Estimate (for the plan as written, without follow-ups)",
  },
});

/**
 * @param {{onAnswer: (answer: {queries: object[]}|{cancel: true}) => Promise<void>}} options where it
 *   fails, the plan can be answered again
 * @returns {{node: HTMLElement, update: (turn: {status: string, review: object|null}) => void}}
 */
export function reviewView({ onAnswer }) {
  const node = el("section", { class: "review", dataset: { part: "review" }, hidden: true });
  const form = new ReviewForm(node, onAnswer);
  let shown = "";
  return {
    node,
    update(turn) {
      const waiting = turn.status === "waiting" && turn.review;
      const now = waiting ? JSON.stringify(turn.review) : "";
      if (now === shown) return;
      shown = now;
      node.hidden = !waiting;
      if (waiting) form.open(turn.review);
      else node.replaceChildren();
    },
  };
}

class ReviewForm {
  #node;
  #onAnswer;
  #before = null;
  #draft = [];
  #list;
  #add;
  #problem;

  constructor(node, onAnswer) {
    this.#node = node;
    this.#onAnswer = onAnswer;
  }

  open(review) {
    this.#before = draftFor(review, this.#before);
    this.#draft = this.#before.lines;
    this.#list = el("ol", { class: "review-queries" });
    this.#add = el("button", { class: "button quiet", type: "button", onclick: () => this.#append() },
      icon("new"), say("add"));
    this.#problem = el("p", { class: "notice warn", role: "alert", hidden: true });
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

  #row(line, place) {
    const number = place + 1;
    const text = el("textarea", {
      class: "field", rows: 1, maxlength: MAX_QUERY, "aria-label": say("query", { n: number }),
      oninput: () => { line.query = text.value; },
      onkeydown: (event) => { if (event.key === "Enter") event.preventDefault(); },
    });
    text.value = line.query;
    const remove = el("button", {
      class: "button quiet", type: "button", disabled: !mayRemove(this.#draft),
      "aria-label": say("remove", { n: number }), title: say("remove", { n: number }),
      onclick: () => this.#remove(place),
    }, icon("remove"));
    return el("li", { class: "review-query" }, text, remove, line.map && mapSwitch(line));
  }

  #append() {
    this.#draft.push(emptyLine());
    this.#show();
    this.#list.lastElementChild.querySelector("textarea").focus();
  }

  #remove(place) {
    this.#draft.splice(place, 1);
    this.#show();
    const next = this.#list.children[Math.min(place, this.#draft.length - 1)];
    next.querySelector("textarea").focus();
  }

  #goOn() {
    const answer = answerOf(this.#draft);
    if (answer) this.#answer(answer);
    else this.#tell(say("empty"));
  }

  async #answer(answer) {
    this.#freeze(true);
    try {
      await this.#onAnswer(answer);
    } catch {
      this.#freeze(false);
    }
  }

  #freeze(frozen) {
    for (const control of this.#node.querySelectorAll("button, textarea, input")) control.disabled = frozen;
  }

  #tell(problem) {
    this.#problem.hidden = !problem;
    fill(this.#problem, problem);
  }
}

function mapSwitch(line) {
  const box = el("input", {
    type: "checkbox", checked: line.onMap, onchange: () => { line.onMap = box.checked; },
  });
  return el("label", { class: "review-map" }, box,
    el("span", {}, el("span", { class: "tag" }, say("map")), ` ${taskLine(line.map)}`));
}

function estimateNode(estimate) {
  if (!estimate) return null;
  const { counts, cost } = estimateLines(estimate);
  return el("div", { class: "review-estimate" },
    el("p", { class: "muted small" }, say("estimate")), el("p", {}, counts), el("p", {}, cost));
}

/** Not while the person is writing something: their words would go elsewhere. */
function takeFocus(title) {
  const active = document.activeElement;
  if (active?.matches("textarea, input") && active.value) return;
  title.focus({ preventScroll: true });
  title.scrollIntoView({ block: "nearest" });
}

export const MAX_QUERIES = 10;
export const MAX_QUERY = 400;

/**
 * @typedef {{query: string, map: object|null, onMap: boolean}} Line a query under edit; `onMap`:
 *   whether its map task stays
 */

/**
 * The plan as it can be edited.
 * @param {{query: string, map?: object|null}[]} queries
 * @returns {Line[]}
 */
export function draftOf(queries) {
  return queries.map(({ query, map }) => ({ query: String(query), map: map ?? null, onMap: Boolean(map) }));
}

/** A query of the person's own, for the web alone. */
export const emptyLine = () => ({ query: "", map: null, onMap: false });

/**
 * What goes back to the run: the queries in order, trimmed; those emptied are left out.
 * @param {Line[]} draft
 * @returns {{queries: {query: string, map: object|null}[]}|null} null where nothing is left
 */
export function answerOf(draft) {
  const queries = draft
    .map(({ query, map, onMap }) => ({ query: query.trim(), map: onMap ? map : null }))
    .filter(({ query }) => query !== "");
  return queries.length ? { queries } : null;
}

/** Whether another query may be added. */
export const hasRoom = (draft) => draft.length < MAX_QUERIES;

/** Whether a query may go: one has to stay. */
export const mayRemove = (draft) => draft.length > 1;

/**
 * The plan to edit for a review. Asked about the same plan again, after an answer that could not
 * be used or did not arrive, a person finds it as they left it.
 * @param {{queries: object[]}} review
 * @param {{of: string, lines: Line[]}|null} before
 * @returns {{of: string, lines: Line[]}}
 */
export function draftFor(review, before) {
  const of = JSON.stringify(review.queries ?? []);
  return before?.of === of ? before : { of, lines: draftOf(review.queries ?? []) };
}
