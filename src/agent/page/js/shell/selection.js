/** The choice of places on one map for several answers: whose are on it, and which of them is chosen. */

import { el, fill, icon } from "../dom.js";
import { translator } from "../i18n.js";
import { readableName } from "../map/place_facts.js";
import { hasScene } from "../map/scene.js";

const say = translator("page.selection");

export class Selection {
  #map;
  #views;
  #layout;
  #bar = el("div", { class: "map-choice", hidden: true });
  /** @type {Turn[]} */
  #turns = [];
  /** @type {string|null} */
  #chosenTurn = null;
  /** @type {Turn|null} */
  #shown = null;

  /**
   * @param {{map: import("../map/map.js").MapView, turns: import("../answer/turn_list.js").TurnList,
   *   layout: import("./layout.js").Layout}} parts
   */
  constructor({ map, turns, layout }) {
    this.#map = map;
    this.#views = turns;
    this.#layout = layout;
    this.node = map.node;
    map.frame.append(this.#bar);
  }

  /**
   * Shows the conversation as it is now: the map has the chosen answer's places, else the newest's.
   * @param {Turn[]} turns
   */
  update(turns) {
    if (turns.at(-1)?.id !== this.#turns.at(-1)?.id) this.#chosenTurn = null;
    this.#turns = turns;
    this.#showTurn();
  }

  /**
   * Takes up that a place was chosen in an answer or its list.
   * @param {string} turnId
   * @param {string|null} placeId
   * @param {ChoiceReason} [why] "cited": its citation is read, and stays in view;
   *   "map": it is to be seen on the map
   */
  choose(turnId, placeId, why) {
    this.#chosenTurn = turnId;
    this.#showTurn();
    if (!why) this.#views.select(turnId, placeId);
    if (why === "map" && this.#layout.narrow) this.#layout.show("map");
    this.#map.select(placeId);
    this.#name(placeId);
  }

  /** Takes up that a place was chosen on the map. @param {string|null} placeId */
  chooseOnMap(placeId) {
    if (!this.#layout.narrow) this.#views.select(this.#shown?.id ?? null, placeId);
    this.#map.select(placeId);
    this.#name(placeId);
  }

  #showTurn() {
    const shown = this.#turns.find((turn) => turn.id === this.#chosenTurn)
      ?? this.#turns.findLast(hasScene) ?? this.#turns.at(-1) ?? null;
    if (shown?.id !== this.#shown?.id) this.#bar.hidden = true;
    this.#shown = shown;
    this.#map.update(shown);
  }

  /** @param {string|null} placeId */
  #name(placeId) {
    const answer = this.#shown?.answer;
    const place = answer?.places?.find(({ id }) => id === placeId);
    this.#bar.hidden = !place;
    if (!answer || !place) return;
    const open = () => {
      this.#layout.show("answer");
      this.#views.select(this.#shown?.id ?? null, placeId);
    };
    fill(this.#bar, icon("pin"), el("strong", {}, readableName(place, answer.spoken)),
      el("button", { class: "button", type: "button", onclick: open }, say("details")));
  }
}
