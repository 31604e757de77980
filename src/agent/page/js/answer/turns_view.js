/** All questions of the conversation, in order; nothing is drawn again that did not change. */

import { el, fill } from "../dom.js";
import { turnView } from "./turn_view.js";

/** A conversation on its way: lines where it will be. */
export const opening = () =>
  el("div", { class: "opening", "aria-hidden": "true" }, el("p"), el("p"), el("p"), el("p"));

export class Turns {
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
