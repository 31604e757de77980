/** Choosing who answers, from the server's own list. */

import { disclosure } from "../disclosure.js";
import { el, fill } from "../dom.js";
import { language, translator } from "../i18n.js";

/** Says what each is called and does. @type {InLanguages<Record<string, [string, string]>>} */
const KNOWN = {
  zh: {
    agent: ["查一查", "网页和地图一起查，每句话附出处。适合找地方、定行程。约半分钟。"],
    deep_research: ["深入研究", "拆成几个子题逐个读网页，写成带出处的长报告。要几分钟，最多半小时。"],
    team_answer: ["求准答案", "几位成员讨论、计算、互相核对，只给一个答案，没有把握就直说。要几分钟，最多一刻钟。"],
    plan_execute: ["资料汇编", "百科、论文、公告和您自己的文档逐项查，数字列成表，引用到页。要几分钟，最多二十分钟。"],
  },
  en: {
    agent: ["Look it up",
      "Web and map together, a source for every statement. For places and plans. About half a minute."],
    deep_research: ["Deep research",
      "Reads the web topic by topic and writes a long report with sources. Minutes, at most half an hour."],
    team_answer: ["One exact answer",
      "A team discusses, calculates and checks: one answer, or an honest “not found”. Minutes, at most 15."],
    plan_execute: ["Dossier",
      "Encyclopedia, papers, filings and your own documents; figures in tables, cited by page. "
      + "Minutes, at most 20."],
  },
};
const FIRST = "agent";
const say = translator({ zh: { choose: "由谁来答" }, en: { choose: "Who answers" } });

/** @typedef {{value: string, graphId: string, title: string, line: string}} Choice */

/** The chooser; until `offer` is called there is the main assistant alone. */
export class AssistantChoice {
  #onChange;
  #choices = choicesOf([{ assistant_id: FIRST, graph_id: FIRST }]);
  #value = FIRST;
  #label = el("span", {});
  #panel = el("div", { class: "choices", role: "radiogroup", "aria-label": say("choose") });

  /** @param {{onChange: () => void}} options */
  constructor({ onChange }) {
    this.#onChange = onChange;
    this.node = disclosure({ label: this.#label, panel: this.#panel, name: say("choose") }).node;
    this.#show();
  }

  /** Returns the chosen one: `value` is what the server knows it by. */
  get chosen() {
    return this.#choices.find((choice) => choice.value === this.#value) ?? this.#choices[0];
  }

  /** Offers the server's list. One asked for before it came is chosen now. @param {Assistant[]} assistants */
  offer(assistants) {
    if (!assistants.length) return;
    this.#choices = choicesOf(assistants);
    this.#show();
    this.#onChange();
  }

  /** @param {string|undefined} value nothing changes without one */
  choose(value) {
    if (!value) return;
    this.#value = value;
    this.#mark();
    this.#onChange();
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
    const words = isOwn && Object.hasOwn(KNOWN[language], graphId) ? KNOWN[language][graphId] : [];
    const [title = name || graphId, line = description ?? ""] = words;
    return { value: isOwn ? graphId : id, graphId, title, line };
  });
  return offered.sort((one, other) => rank(one.value) - rank(other.value));
}

/**
 * Ranks those we know in our order, then the rest: servers make theirs all at once, in any order.
 * @param {string} value
 */
function rank(value) {
  const known = Object.keys(KNOWN[language]);
  return known.includes(value) ? known.indexOf(value) : known.length;
}
