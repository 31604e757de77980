/** One map, several answers: whose places are on it, and which of them is chosen. */

import { el, fill, icon } from "../dom.js";
import { translator } from "../i18n.js";

const say = translator({ zh: { details: "看详情" }, en: { details: "Details" } });

export class Selection {
  #map;
  #views;
  #layout;
  #bar = el("div", { class: "map-choice", hidden: true });
  #turns = [];
  #chosenTurn = null;
  #shown = null;
  #busy = false;

  /**
   * @param {{map: object, turns: import("../answer/turn_list.js").TurnList, layout: object}} parts
   */
  constructor({ map, turns, layout }) {
    this.#map = map;
    this.#views = turns;
    this.#layout = layout;
    this.nodes = [map.node, this.#bar];
  }

  /** The conversation as it is now: the map shows the chosen answer's places, else the newest's. */
  update(turns) {
    if (turns.at(-1)?.id !== this.#turns.at(-1)?.id) this.#chosenTurn = null;
    this.#turns = turns;
    this.#showTurn();
  }

  /**
   * A place was chosen in an answer or its list.
   * @param {string} turnId
   * @param {string|null} placeId
   * @param {"cited"|"map"} [why] "cited": its citation is read, and stays in view;
   *   "map": it is to be seen on the map
   */
  choose(turnId, placeId, why) {
    this.#once(() => {
      this.#chosenTurn = turnId;
      this.#showTurn();
      if (!why) this.#views.select(turnId, placeId);
      if (why === "map" && this.#layout.narrow) this.#layout.show("map");
      this.#map.select(placeId);
      this.#name(placeId);
    });
  }

  /** A place was chosen on the map. */
  chooseOnMap(placeId) {
    this.#once(() => {
      if (!this.#layout.narrow) this.#views.select(this.#shown?.id, placeId);
      this.#map.select(placeId);
      this.#name(placeId);
    });
  }

  #showTurn() {
    const shown = this.#turns.find((turn) => turn.id === this.#chosenTurn)
      ?? this.#turns.findLast(hasPlaces) ?? this.#turns.at(-1) ?? null;
    if (shown?.id !== this.#shown?.id) this.#bar.hidden = true;
    this.#shown = shown;
    this.#map.update(shown);
  }

  #name(placeId) {
    const place = this.#shown?.answer?.places?.find((one) => one.id === placeId);
    this.#bar.hidden = !place;
    if (!place) return;
    const open = () => {
      this.#layout.show("answer");
      this.#views.select(this.#shown.id, placeId);
    };
    fill(this.#bar, icon("pin"), el("strong", {}, place.name),
      el("button", { class: "button", type: "button", onclick: open }, say("details")));
  }

  /** A view that is told to select may tell of a selection in turn. */
  #once(act) {
    if (this.#busy) return;
    this.#busy = true;
    try {
      act();
    } finally {
      this.#busy = false;
    }
  }
}

/** Whether a turn has anything to draw. */
export function hasPlaces(turn) {
  return Boolean(turn.answer?.places?.length || turn.answer?.geojson?.features?.length);
}
