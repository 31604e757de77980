/** Choosing who answers, from the server's own list. */

import { disclosure } from "../disclosure.js";
import { el, fill } from "../dom.js";
import { textsOf, translator } from "../i18n.js";

const TITLES = textsOf("page.assistants.titles");
const LINES = textsOf("page.assistants.lines");
const FIRST = "agent";
const say = translator("page.assistant_choice");

/** @typedef {{value: string, graphId: string, title: string, line: string}} Choice */

/** The chooser; until `offer` is called there is the main assistant alone. */
export class AssistantChoice {
  #choices = choicesOf([{ assistant_id: FIRST, graph_id: FIRST }]);
  #value = FIRST;
  #label = el("span", {});
  #panel = el("div", { class: "choices", role: "radiogroup", "aria-label": say("choose") });

  constructor() {
    this.node = disclosure({ label: this.#label, panel: this.#panel, name: say("choose") }).node;
    this.#show();
  }

  /** Returns the chosen one: `value` is what the server knows it by. */
  get chosen() {
    return this.#choices.find((choice) => choice.value === this.#value) ?? this.#choices[0];
  }

  /** Returns all of whom one may be chosen. */
  get all() { return this.#choices; }

  /** Offers the server's list. One asked for before it came is chosen now. @param {Assistant[]} assistants */
  offer(assistants) {
    if (!assistants.length) return;
    this.#choices = choicesOf(assistants);
    this.#show();
  }

  /** @param {string|undefined} value nothing changes without one */
  choose(value) {
    if (!value) return;
    this.#value = value;
    this.#mark();
  }

  #show() {
    const caption = el("p", { class: "small muted", "aria-hidden": "true" }, say("choose"));
    fill(this.#panel, caption, ...this.#choices.map((choice) => this.#option(choice)));
    this.#mark();
  }

  /** @param {Choice} choice */
  #option({ value, title, line }) {
    const attributes = { type: "radio", name: "assistant", value };
    const radio = el("input", { ...attributes, onchange: () => this.choose(value) });
    return el("label", { class: "choice" }, radio,
      el("span", {}, el("strong", {}, title), el("span", { class: "small muted" }, line)));
  }

  #mark() {
    const { value, title } = this.chosen;
    fill(this.#label, title);
    for (const radio of this.#panel.querySelectorAll("input")) radio.checked = radio.value === value;
  }
}

/**
 * Returns what is offered for the server's assistants, the main one first. A graph's own assistant goes by
 * the graph's id, others made over the same graph by their own id and name.
 * @param {Assistant[]} assistants
 * @returns {Choice[]}
 */
export function choicesOf(assistants) {
  const offered = assistants.map(({ assistant_id: id, graph_id: graphId, name, description }) => {
    const isOwn = !name || name === graphId;
    const known = isOwn ? TITLES.get(graphId) : "";
    const title = known || name || graphId;
    const line = known ? LINES.get(graphId) ?? "" : description ?? "";
    return { value: isOwn ? graphId : id, graphId, title, line };
  });
  return offered.sort((one, other) => rank(one.value) - rank(other.value));
}

/**
 * Ranks those we know in our order, then the rest: servers make theirs all at once, in any order.
 * @param {string} value
 */
function rank(value) {
  const at = [...TITLES.keys()].indexOf(value);
  return at < 0 ? TITLES.size : at;
}
