/** The first screen: what this is for, and a question to try for each task. */

import { el, icon } from "../dom.js";
import { textsOf, translator } from "../i18n.js";

const say = translator("page.welcome");
const QUESTIONS = textsOf("examples");
const NAMES = textsOf("page.welcome.names");
const TIMES = textsOf("page.welcome.times");
/** Who answers, where it is not the main assistant; `page.assistants` has the same keys. */
const OTHERS = new Map([
  ["deep_research", "deep_research"], ["team_answer", "team_answer"],
  ["plan_execute", "plan_execute"], ["documents", "plan_execute"],
]);
/** @type {Map<string, IconName>} */
const ICONS = new Map([["nearby", "pin"]]);

/** @typedef {{question: string, assistant: string, ownFiles: boolean}} Example */

/**
 * Makes what stands above the question box before the first question, and the cards below it.
 * @param {{onExample: (example: Example) => void}} options
 */
export function welcome({ onExample }) {
  const cards = [...QUESTIONS].map(([task, question]) => card(task, question, onExample));
  return {
    node: el("section", { class: "welcome" }, el("h2", {}, say("title")), el("p", {}, say("lead"))),
    cards: el("ul", { class: "examples", "aria-label": say("examples") }, ...cards),
  };
}

/** @param {string} task @param {string} question @param {(example: Example) => void} onExample */
function card(task, question, onExample) {
  const assistant = OTHERS.get(task) ?? "agent";
  const sign = ICONS.get(task) ?? /** @type {IconName} */ (task);
  return el("li", {}, el("button", {
    class: "example", type: "button",
    onclick: () => onExample({ question, assistant, ownFiles: task === "documents" }),
  },
    el("span", { class: "example-task" }, icon(sign), el("strong", {}, NAMES.get(task))),
    el("span", {}, question), el("span", { class: "small muted" }, TIMES.get(task))));
}
