/** The conversation's questions in order, each with everything that came of it. */

import { el, fill, icon } from "../dom.js";
import { translator } from "../i18n.js";
import { PlacesView } from "../map/places.js";
import { failed } from "../shell/notice.js";
import { questionEditor } from "../shell/edit_question.js";
import { reviewView } from "../shell/review.js";
import { AnswerView } from "./answer.js";
import { gapsView, nextView, outingView, suggestionsView, toolbarView, usageView } from "./answer_footer.js";
import { changesView } from "./changes.js";
import { outlineView } from "./outline.js";
import { routesView, weatherView } from "./map_records.js";
import { sourcesView } from "./sources.js";
import { Timeline } from "./timeline.js";

const say = translator("page.turn_list");
const SIGNS = /** @type {const} */ ({ again: "again", near: "pin", finish: "send" });
/** Events that tell how much was found. */
const FOUND = /^(search|map|task)_done$|^passages$/;
/** @import { Choice } from "../shell/assistant_choice.js" */

/**
 * @typedef {object} TurnOptions
 * @property {() => string|null} threadId
 * @property {(turnId: string, placeId: string|null, why?: ChoiceReason) => void} onPlace
 * @property {(answer: Decision) => Promise<void>} onReview
 * @property {(turn: Turn) => void} onAgain
 * @property {() => void} onFinish has the last turn, which was stopped, answered from what it had found
 * @property {(turn: Turn) => void} onNear
 * @property {(question: string) => void} onAsk asks a follow-up
 * @property {(turn: Turn) => void} onAnew asks its question on a thread of its own, to compare the answers
 * @property {() => string|null} since THREAD.MESSAGE of the answer that the first one is compared with
 * @property {(turnId: string) => boolean} isFirst
 * @property {(turn: Turn, question: string, assistant: string) => void} onReplace asks anew in its place
 * @property {() => Choice[]} assistants
 */

class TurnView {
  /** @type {Turn|null} */
  #turn = null;
  #seen = "";
  #question = el("h2", { class: "question", dir: "auto", tabindex: "-1" });
  #end = el("div", { class: "turn-end" });
  #edit = el("button", { class: "button quiet of-last", type: "button", title: say("edit"),
    "aria-label": say("edit"), hidden: true, onclick: () => this.edit() }, icon("rename"));
  #head;
  #places;
  #views;
  #options;

  /** @param {Config} config @param {TurnOptions} options */
  constructor(config, options) {
    this.#options = options;
    const { threadId, onPlace, onReview, onAsk, onAnew, since, isFirst } = options;
    /** @type {ChoosePlace} */
    const choose = (placeId, why) => { if (this.#turn) onPlace(this.#turn.id, placeId, why); };
    /** @param {Turn} turn */
    const onOnceMore = (turn) => options.onReplace(turn, turn.question, turn.assistant);
    const links = { threadId, onPlace: choose, onAnew, onOnceMore, since, isFirst };
    const [toolbar, answer] = [toolbarView(links, config), new AnswerView(config, links)];
    this.#places = new PlacesView(config, answer.node, { onSelect: choose });
    const outline = outlineView(answer.node);
    const views = [
      new Timeline(), reviewView({ onAnswer: onReview }), answer, changesView(links),
      routesView({ onAsk }), weatherView(), this.#places, outingView({ onAsk }), nextView({ onAsk }),
      gapsView(),
      sourcesView(), suggestionsView(links), usageView(),
    ];
    this.#views = [toolbar, ...views, outline];
    toolbar.node.prepend(this.#edit);
    this.#head = el("div", { class: "turn-head" }, this.#question, toolbar.node);
    this.node = el("article", { class: "turn" }, this.#head, ...views.map((view) => view.node));
    answer.node.before(outline.node);
    this.node.insertBefore(this.#end, this.#places.node);
  }

  /**
   * Shows the turn. Cheap where nothing changed, so it may be called for every turn at every change.
   * @param {Turn} turn
   */
  update(turn) {
    const now = JSON.stringify([
      turn.status, turn.messageId, turn.text.length, turn.events.length, turn.error, turn.endedAt,
      turn.isLost, turn.isAway, Boolean(turn.answer), turn.review,
    ]);
    if (now === this.#seen) return;
    this.#seen = now;
    this.#turn = turn;
    this.node.dataset.status = turn.status;
    this.#question.textContent = turn.question;
    this.#edit.hidden = turn.status !== "done" || !turn.messageId;
    for (const view of this.#views) view.update(turn);
    this.#showEnd(turn);
  }

  /** Moves the focus to where reading begins. */
  focus() { this.#question.focus({ preventScroll: true }); }

  /** Lets the question be changed in its place; false where it cannot be. */
  edit() {
    const turn = this.#turn;
    if (!turn || this.#edit.hidden) return false;
    const close = () => {
      fill(this.#head, ...before);
      this.#edit.focus();
    };
    const before = [...this.#head.childNodes];
    const editor = questionEditor(turn, this.#options.assistants(), {
      onCancel: close,
      onAsk: (question, assistant) => {
        fill(this.#head, ...before);
        this.#options.onReplace(turn, question, assistant);
      },
    });
    fill(this.#head, editor.node);
    editor.focus();
    return true;
  }

  /** Shows the place's card, in view. @param {string|null} placeId */
  select(placeId) { this.#places.select(placeId); }

  /** @param {Turn} turn */
  #showEnd(turn) {
    const again = () => this.#options.onAgain(turn);
    const text = turn.error ?? say("interrupted");
    if (turn.status === "failed") fill(this.#end, failed({ text, again, lead: say("lead") }));
    else if (turn.status === "stopped" || turn.status === "aside") {
      // Before anything was found there is nothing to answer from; of a turn of old nothing is told.
      const canFinish = turn.status === "stopped" && turn.runId
        && (!turn.startedAt || turn.events.some(({ type, count = 0 }) => count > 0 && FOUND.test(type)));
      fill(this.#end, canFinish && askButton("finish", this.#options.onFinish), askButton("again", again));
    } else if (["place", "origin"].includes(turn.answer?.needs ?? "")) {
      fill(this.#end, askButton("near", () => this.#options.onNear(turn)));
    } else if (turn.error) fill(this.#end, failed({ text: turn.error, again: null }));
    else fill(this.#end);
  }
}

/** @param {"again"|"near"|"finish"} name @param {() => void} onclick */
function askButton(name, onclick) {
  const sign = icon(SIGNS[name]);
  const title = name === "finish" ? say("finish_how") : null;
  const attributes = { class: "button", type: "button", title, dataset: { ask: name }, onclick };
  return el("button", attributes, sign, say(name));
}

/** Shows a conversation on its way: lines where it will be. */
export const opening = () =>
  el("div", { class: "opening", "aria-hidden": "true" }, el("p"), el("p"), el("p"), el("p"));

export class TurnList {
  #place;
  #config;
  #options;
  /** @type {Map<string, TurnView>} */
  #views = new Map();

  /**
   * @param {HTMLElement} place
   * @param {Config} config
   * @param {TurnOptions & {empty: HTMLElement}} options `empty`: what stands here before the first
   */
  constructor(place, config, options) {
    this.#place = place;
    this.#config = config;
    this.#options = options;
  }

  /**
   * @param {Turn[]} turns of the conversation, oldest first
   * @param {HTMLElement|null} instead what stands here while there are none; null: the welcome
   */
  update(turns, instead) {
    const ids = turns.map((turn) => turn.id);
    if (ids.join() !== [...this.#views.keys()].join() || !ids.length) {
      this.#arrange(ids, instead ?? this.#options.empty);
    }
    for (const turn of turns) this.#views.get(turn.id)?.update(turn);
  }

  /** Lets the last question be changed in its place; false where it cannot be. */
  editLast() { return [...this.#views.values()].at(-1)?.edit() ?? false; }

  /** Shows a place's card in its answer. @param {string|null} turnId @param {string|null} placeId */
  select(turnId, placeId) { this.#views.get(turnId ?? "")?.select(placeId); }

  /** Shows the newest question at the top of the window; reading goes on there, unless one is writing. */
  showLast() {
    const last = [...this.#views.values()].at(-1);
    if (!last) return;
    const show = () => last.node.scrollIntoView({ block: "start" });
    if (this.#views.size > 1) {
      show();
      // Earlier turns get other heights once they are out of view.
      requestAnimationFrame(show);
    } else scrollTo(0, 0);
    // A phone's keyboard would hide what is to be read.
    const hasKeyboard = !matchMedia("(pointer: coarse)").matches;
    if (!(hasKeyboard && document.activeElement?.matches("textarea"))) last.focus();
  }

  /** @param {string[]} ids @param {HTMLElement} instead */
  #arrange(ids, instead) {
    for (const id of this.#views.keys()) if (!ids.includes(id)) this.#views.delete(id);
    /** @param {string} id */
    const viewOf = (id) => this.#views.get(id) ?? new TurnView(this.#config, this.#options);
    this.#views = new Map(ids.map((id) => [id, viewOf(id)]));
    const nodes = ids.length ? [...this.#views.values()].map((view) => view.node) : [instead];
    const shown = this.#place.children;
    // Those that stay are not touched: their frames would load again.
    for (const old of [...shown]) if (!nodes.includes(/** @type {HTMLElement} */ (old))) old.remove();
    nodes.forEach((node, at) => {
      if (shown[at] !== node) this.#place.insertBefore(node, shown[at] ?? null);
    });
  }
}
