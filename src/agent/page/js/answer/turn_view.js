/** One question with everything that came of it, top to bottom. */

import { answerView } from "./answer.js";
import { el, fill } from "../dom.js";
import { exportsView } from "./exports.js";
import { gapsView } from "./gaps.js";
import { icon } from "../icons.js";
import { failed } from "../shell/notice.js";
import { placesView } from "../map/places.js";
import { reviewView } from "../shell/review.js";
import { routesView } from "./routes.js";
import { sourcesView } from "./sources.js";
import { suggestionsView } from "./suggestions.js";
import { timelineView } from "./timeline.js";
import { weatherView } from "./weather.js";
import { speaking } from "../words.js";

const say = speaking({
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
