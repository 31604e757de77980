/** Choosing who answers, from the server's own list. */

import { disclosure } from "../disclosure.js";
import { el, fill } from "../dom.js";
import { language, translator } from "../i18n.js";

const say = translator({ zh: { choose: "由谁来答" }, en: { choose: "Who answers" } });

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

const KNOWN = {
  zh: {
    agent: ["查一查", "网页和地图一起查，每句话附出处。适合找地方、定行程。约半分钟。"],
    deep_research: ["深入研究", "拆成几个子题逐个读网页，写成带出处的长报告。要几分钟，最多半小时。"],
    team_answer: ["求准答案", "几位成员讨论、计算、互相核对，只给一个答案，没有把握就直说。要几分钟，最多一刻钟。"],
    plan_execute: ["资料汇编", "百科、论文、公告和您自己的文档逐项查，数字列成表，引用到页。要几分钟，最多二十分钟。"],
  },
  en: {
    agent: ["Look it up", "Web and map together, a source for every statement. For places and plans. About half a minute."],
    deep_research: ["Deep research", "Reads the web topic by topic and writes a long report with sources. Minutes, at most half an hour."],
    team_answer: ["One exact answer", "A team discusses, calculates and checks: one answer, or an honest “not found”. Minutes, at most 15."],
    plan_execute: ["Dossier", "Encyclopedia, papers, filings and your own documents; figures in tables, cited by page. Minutes, at most 20."],
  },
};
export const FIRST = "agent";

/**
 * What is offered for the server's assistants, the main one first. A graph's own assistant goes by the graph's id,
 * others made over the same graph by their own id and name.
 * @param {{assistant_id: string, graph_id: string, name: string, description: string}[]} assistants
 * @returns {{value: string, graphId: string, title: string, line: string}[]}
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

/** Servers make theirs all at once, in any order: those we know are offered in ours, then the rest. */
function rank(value) {
  const known = Object.keys(KNOWN[language]);
  return known.includes(value) ? known.indexOf(value) : known.length;
}
