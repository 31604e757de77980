/** Choosing who answers, from the server's own list. */

import { choicesOf, FIRST } from "./assistant_words.js";
import { disclosure } from "../disclosure.js";
import { el, fill } from "../dom.js";
import { speaking } from "../words.js";

const say = speaking({ zh: { choose: "由谁来答" }, en: { choose: "Who answers" } });

/** The chooser; until `offer` is called there is the main assistant alone. */
export class AssistantChoice {
  #onChange;
  #choices = choicesOf([{ graph_id: FIRST }]);
  #wanted = FIRST;
  #label = el("span", {});
  #panel = el("div", { class: "choices", role: "radiogroup", "aria-label": say("choose") });

  /** @param {{onChange: () => void}} options */
  constructor({ onChange }) {
    this.#onChange = onChange;
    this.node = disclosure({ label: this.#label, panel: this.#panel, name: say("choose") }).node;
    this.#show();
  }

  /** The chosen one: `value` is what the server knows it by. */
  get chosen() {
    return this.#choices.find((one) => one.value === this.#wanted) ?? this.#choices[0];
  }

  /** The server's list. One asked for before it came is chosen now. */
  offer(assistants) {
    if (!assistants.length) return;
    this.#choices = choicesOf(assistants);
    this.#show();
    this.#onChange();
  }

  /** @param {string|undefined} value nothing changes without one */
  choose(value) {
    if (!value) return;
    this.#wanted = value;
    this.#mark();
    this.#onChange();
  }

  #show() {
    const caption = el("p", { class: "small muted", "aria-hidden": "true" }, say("choose"));
    fill(this.#panel, caption, ...this.#choices.map((one) => this.#option(one)));
    this.#mark();
  }

  #option({ value, title, line }) {
    const radio = el("input", { type: "radio", name: "assistant", value, onchange: () => this.choose(value) });
    return el("label", { class: "choice" }, radio,
      el("span", {}, el("strong", {}, title), el("span", { class: "small muted" }, line)));
  }

  #mark() {
    const { value, title } = this.chosen;
    fill(this.#label, title);
    for (const radio of this.#panel.querySelectorAll("input")) radio.checked = radio.value === value;
  }
}
