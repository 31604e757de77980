/** The last question, changed in place: other words, another assistant, or the same once more. */

import { el } from "../dom.js";
import { translator } from "../i18n.js";

/** @import { Choice } from "./assistant_choice.js" */

const say = translator("page.edit_question");

/**
 * Makes the form that stands in the question's place.
 * @param {Turn} turn
 * @param {Choice[]} assistants
 * @param {{onAsk: (question: string, assistant: string) => void, onCancel: () => void}} listeners
 */
export function questionEditor(turn, assistants, { onAsk, onCancel }) {
  const text = el("textarea", { class: "field", dir: "auto", rows: 2, "aria-label": say("question"),
    onkeydown: (event) => {
      if (event.key === "Escape") onCancel();
      else if (event.key === "Enter" && !event.shiftKey && !event.isComposing && event.keyCode !== 229) ask();
      else return;
      event.preventDefault();
      event.stopPropagation();
    } });
  text.value = turn.question;
  const who = el("select", { class: "field", "aria-label": say("assistant") },
    ...assistants.map(({ value, graphId, title }) =>
      el("option", { value, selected: [value, graphId].includes(turn.assistant) }, title)));
  const ask = () => {
    const question = text.value.trim();
    if (question) onAsk(question, who.value);
  };
  const node = el("div", { class: "question-editor", dataset: { part: "edit" } }, text,
    el("div", {}, who,
      el("button", { class: "button", type: "button", onclick: onCancel }, say("cancel")),
      el("button", { class: "button primary", type: "button", onclick: ask }, say("ask"))),
    el("p", { class: "small muted" }, say("hint")));
  return { node, focus: () => text.focus() };
}
