/** What an answer that was asked for again tells otherwise than the one before. */

import { answerView, el, fill } from "../dom.js";
import { locale, translator } from "../i18n.js";
import { changes as pageChanges } from "../run/server.js";

const say = translator("changes");

/**
 * Shows what has changed, below the first answer of a thread whose address names an earlier one.
 * @param {AnswerLinks} links
 */
export function changesView({ threadId, since, isFirst }) {
  const node = el("section", { class: "changes", dataset: { part: "changes" }, hidden: true });
  return answerView(node, async (answer, { id, messageId }) => {
    const [thread, earlier] = [threadId(), since()];
    node.hidden = true;
    if (!answer || !thread || !messageId || !earlier || !isFirst(id)) return;
    const told = await pageChanges(thread, messageId, earlier).catch(() => null);
    if (!told || thread !== threadId()) return;
    node.hidden = false;
    fill(node, ...parts(told));
  });
}

/** @param {AnswerChanges} told */
function parts(told) {
  const rows = [
    ...told.figures.map((row) => say("figures_row", row)),
    ...told.new.map((text) => say("new_row", { text })),
    ...told.gone.map((text) => say("gone_row", { text })),
  ];
  const day = new Date(told.since).toLocaleString(locale, { dateStyle: "medium", timeStyle: "short" });
  return [
    el("h3", {}, say("title", { day })),
    rows.length > 0 && el("ul", {}, ...rows.map((row) => el("li", {}, row))),
    (told.same > 0 || !rows.length) &&
      el("p", { class: "small muted" }, say(rows.length ? "same" : "nothing")),
  ];
}
