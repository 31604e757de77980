/** The conversation's questions in order, each with everything that came of it. */

import { el, fill, icon } from "../dom.js";
import { translator } from "../i18n.js";
import { placesView } from "../map/places.js";
import { failed } from "../shell/notice.js";
import { reviewView } from "../shell/review.js";
import { answerView } from "./answer.js";
import { exportsView, gapsView, suggestionsView } from "./answer_footer.js";
import { routesView, weatherView } from "./map_records.js";
import { sourcesView } from "./sources.js";
import { timelineView } from "./timeline.js";

const say = translator({
  zh: {
    again: "再问一次", near: "附上我的位置，再问一次", interrupted: "没有完成。", lead: "没能回答：中途出了错。",
  },
  en: {
    again: "Ask again", near: "Ask again with my position", interrupted: "Not finished.",
    lead: "No answer: something failed on the way.",
  },
});

/**
 * @param {object} config
 * @param {{threadId: () => string, onPlace: (turnId: string, placeId: string, why?: string) => void,
 *   onReview: (answer: object) => Promise<void>, onAgain: (turn: object) => void,
 *   onNear: (turn: object) => void}} options
 * @returns {{node: HTMLElement, update: (turn: object) => void, select: (placeId: string) => void,
 *   focus: () => void}}
 */
export function turnView(config, options) {
  const view = new TurnView(config, options);
  return {
    node: view.node,
    update: (turn) => view.update(turn),
    select: (id) => view.select(id),
    focus: () => view.focus(),
  };
}

class TurnView {
  #turn = null;
  #seen = "";
  #question = el("h2", { class: "question", tabindex: "-1" });
  #end = el("div");
  #places;
  #views;
  #onAgain;
  #onNear;

  constructor(config, { threadId, onPlace, onReview, onAgain, onNear }) {
    this.#onAgain = onAgain;
    this.#onNear = onNear;
    const chosen = (placeId, why) => onPlace(this.#turn.id, placeId, why);
    const shared = { threadId, onPlace: chosen };
    this.#places = placesView(config, { onSelect: chosen });
    this.#views = [
      timelineView(config), reviewView({ onAnswer: onReview }), answerView(config, shared), routesView(), weatherView(), this.#places,
      gapsView(config, shared), suggestionsView(config, shared), sourcesView(config, shared),
      exportsView(config, shared),
    ];
    this.node = el("article", { class: "turn" }, this.#question, ...this.#views.map((view) => view.node));
    this.node.insertBefore(this.#end, this.#places.node);
  }

  /** Cheap where nothing changed, so it may be called for every turn at every change. */
  update(turn) {
    const now = JSON.stringify([
      turn.status, turn.messageId, turn.text?.length, turn.events.length, turn.error, turn.endedAt,
      turn.isLost, Boolean(turn.answer), turn.review,
    ]);
    if (now === this.#seen) return;
    this.#seen = now;
    this.#turn = turn;
    this.node.dataset.status = turn.status;
    this.#question.textContent = turn.question;
    for (const view of this.#views) view.update(turn);
    this.#showEnd(turn);
  }

  /** Where reading begins. */
  focus() { this.#question.focus({ preventScroll: true }); }

  /** The place's card, in view. */
  select(placeId) { this.#places.select(placeId); }

  #showEnd(turn) {
    const again = () => this.#onAgain(turn);
    if (turn.status === "failed") fill(this.#end, failed({ text: turn.error ?? say("interrupted"), again, lead: say("lead") }));
    else if (turn.status === "stopped") fill(this.#end, askButton("again", again));
    else if (turn.answer?.needs === "place") fill(this.#end, askButton("near", () => this.#onNear(turn)));
    else if (turn.error) fill(this.#end, failed({ text: turn.error, again: null }));
    else fill(this.#end);
  }
}

function askButton(name, onclick) {
  return el("button", { class: "button", type: "button", onclick }, icon(name === "near" ? "pin" : "again"), say(name));
}

/** A conversation on its way: lines where it will be. */
export const opening = () =>
  el("div", { class: "opening", "aria-hidden": "true" }, el("p"), el("p"), el("p"), el("p"));

export class TurnList {
  #place;
  #config;
  #options;
  #views = new Map();

  /**
   * @param {HTMLElement} place
   * @param {object} config
   * @param {object} options those of a turn, and `empty`: what stands here before the first
   */
  constructor(place, config, options) {
    this.#place = place;
    this.#config = config;
    this.#options = options;
  }

  /**
   * @param {object[]} turns of the conversation, oldest first
   * @param {HTMLElement|null} instead what stands here while there are none; null: the welcome
   */
  update(turns, instead) {
    const ids = turns.map((turn) => turn.id);
    if (ids.join() !== [...this.#views.keys()].join() || !ids.length) {
      this.#arrange(ids, instead ?? this.#options.empty);
    }
    for (const turn of turns) this.#views.get(turn.id).update(turn);
  }

  /** Shows a place's card in its answer. */
  select(turnId, placeId) { this.#views.get(turnId)?.select(placeId); }

  /** The newest question at the top of the window; reading goes on there, unless one is writing. */
  showLast() {
    const last = [...this.#views.values()].at(-1);
    if (!last) return;
    if (this.#views.size > 1) last.node.scrollIntoView({ block: "start" });
    else scrollTo(0, 0);
    // A phone's keyboard would hide what is to be read.
    const isWriting = document.activeElement?.matches("textarea") && !matchMedia("(pointer: coarse)").matches;
    if (!isWriting) last.focus();
  }

  #arrange(ids, instead) {
    for (const id of this.#views.keys()) if (!ids.includes(id)) this.#views.delete(id);
    const kept = new Map(ids.map((id) => [id, this.#views.get(id) ?? turnView(this.#config, this.#options)]));
    this.#views = kept;
    const nodes = ids.length ? [...kept.values()].map((view) => view.node) : [instead];
    const shown = this.#place.children;
    if (nodes.length !== shown.length || nodes.some((node, at) => shown[at] !== node)) fill(this.#place, ...nodes);
  }
}
