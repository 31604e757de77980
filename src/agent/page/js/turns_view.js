/** All questions of the conversation, in order; nothing is drawn again that did not change. */

import { fill } from "./dom.js";
import { turnView } from "./turn_view.js";

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

  /** @param {object[]} turns of the conversation, oldest first */
  update(turns) {
    const ids = turns.map((turn) => turn.id);
    if (ids.join() !== [...this.#views.keys()].join() || !ids.length) this.#arrange(ids);
    for (const turn of turns) this.#views.get(turn.id).update(turn);
  }

  /** One line instead of a conversation. */
  fail(line) {
    this.#views.clear();
    fill(this.#place, line);
  }

  /** Shows a place's card in its answer. */
  select(turnId, placeId) { this.#views.get(turnId)?.select(placeId); }

  /** The newest question at the top of the window. */
  showLast() {
    const last = [...this.#views.values()].at(-1);
    if (this.#views.size > 1) last.node.scrollIntoView({ block: "start" });
    else scrollTo(0, 0);
  }

  #arrange(ids) {
    for (const id of this.#views.keys()) if (!ids.includes(id)) this.#views.delete(id);
    const kept = new Map(ids.map((id) => [id, this.#views.get(id) ?? turnView(this.#config, this.#options)]));
    this.#views = kept;
    const nodes = ids.length ? [...kept.values()].map((view) => view.node) : [this.#options.empty];
    const same = nodes.length === this.#place.children.length && nodes.every((node, at) => this.#place.children[at] === node);
    if (!same) fill(this.#place, ...nodes);
  }
}
