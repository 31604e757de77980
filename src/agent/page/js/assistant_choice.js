/** Choosing who answers: the server's own list, in plain words where we know the assistant. */

import { el, fill } from "./dom.js";
import { disclosure } from "./disclosure.js";
import { language, speaking } from "./words.js";

const KNOWN = {
  zh: {
    agent: ["查一查", "网页和地图一起查，半分钟左右给出有出处的回答。"],
    deep_research: ["深入研究", "拆成子题逐个读，写一份带来源的长报告，要几分钟。"],
    team_answer: ["求准答案", "几位成员讨论、计算、互相核对，给出唯一的答案。"],
    plan_execute: ["资料汇编", "百科、论文、公告和自己的文档逐项查，引用到页。"],
  },
  en: {
    agent: ["Look it up", "Searches the web and the map; an answer with sources in about half a minute."],
    deep_research: ["Deep research", "Reads topic by topic and writes a long report with sources. Takes minutes."],
    team_answer: ["One exact answer", "A team discusses, calculates and checks each other, for one answer."],
    plan_execute: ["Dossier", "Encyclopedia, papers, filings and own documents, cited by page."],
  },
};
const say = speaking({ zh: { choose: "由谁来答" }, en: { choose: "Who answers" } });
const FIRST = "agent";

/** An assistant's name and what it does, in a line each. */
export function introduced({ graph_id, name, description }) {
  const [title, line] = KNOWN[language][graph_id] ?? [name || graph_id, description ?? ""];
  return { title, line };
}

/**
 * The chooser; until `offer` is called it offers nobody and answers for the main assistant.
 * @param {{onChange: (graphId: string) => void}} options
 * @returns {{node: HTMLElement, value: string, offer: (list: object[]) => void, choose: (id: string) => void}}
 */
export function assistantChoice({ onChange }) {
  const panel = el("div", { class: "choices", role: "radiogroup", "aria-label": say("choose") });
  const label = el("span", {});
  const fold = disclosure({ label, panel, name: say("choose") });
  let list = [{ graph_id: FIRST, name: FIRST }];
  let value = FIRST;

  function show() {
    const current = list.find((one) => one.graph_id === value) ?? list[0];
    fill(label, introduced(current).title);
    fill(panel, el("p", { class: "small muted", "aria-hidden": "true" }, say("choose")), ...list.map(option));
  }

  function option(assistant) {
    const { title, line } = introduced(assistant);
    const radio = el("input", {
      type: "radio", name: "assistant", value: assistant.graph_id, checked: assistant.graph_id === value,
      onchange: () => choose(assistant.graph_id),
    });
    return el("label", { class: "choice" }, radio,
      el("span", {}, el("strong", {}, title), el("span", { class: "small muted" }, line)));
  }

  function choose(id) {
    if (!list.some((one) => one.graph_id === id) || id === value) return;
    value = id;
    fill(label, introduced(list.find((one) => one.graph_id === id)).title);
    for (const radio of panel.querySelectorAll("input")) radio.checked = radio.value === id;
    onChange(id);
  }

  show();
  return {
    node: fold.node,
    get value() { return value; },
    offer(given) {
      if (given.length) list = given;
      if (!list.some((one) => one.graph_id === value)) value = list[0].graph_id;
      show();
      onChange(value);
    },
    choose,
  };
}
