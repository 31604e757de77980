/** A row of the list of questions: its title, when it was, whether it still runs. */

import { el, fill, icon } from "../dom.js";
import { language, locale, translator } from "../i18n.js";

/** @import { ThreadSummary } from "../run/threads.js" */

const say = translator("page.thread_row");
const DAY_S = 86_400;
/** @type {[number, Intl.RelativeTimeFormatUnit][]} */
const STEPS = [[60, "minute"], [3600, "hour"], [DAY_S, "day"]];
const relative = new Intl.RelativeTimeFormat(language, { numeric: "auto", style: "short" });
const dated = new Intl.DateTimeFormat(locale, { month: "short", day: "numeric" });

/**
 * Makes the row of a thread.
 * @param {ThreadSummary} thread
 * @param {{current: boolean, href: string, onOpen: () => void, onRemove: () => void}} options
 */
export function threadRow(thread, { current, href, onOpen, onRemove }) {
  const title = thread.title || say("untitled");
  const name = el("a", {
    class: "thread-link", href, "aria-current": current ? "page" : null,
    onclick: (event) => {
      if (event.metaKey || event.ctrlKey || event.shiftKey || event.button) return;
      event.preventDefault();
      onOpen();
    },
  }, el("span", { class: "thread-title" }, title), stateOf(thread));
  const end = el("span", { class: "thread-end" });
  const dataset = { status: thread.status, threadId: thread.thread_id };
  offerRemoval(end, title, onRemove);
  return el("li", { class: "thread", dataset }, name, end);
}

/** Tells how long ago, in a word or two. @param {string} iso @param {number} now ms */
export function ago(iso, now = Date.now()) {
  const seconds = (now - Date.parse(iso)) / 1000;
  if (!(seconds < 6 * DAY_S)) return dated.format(new Date(iso));
  const step = STEPS.findLast(([size]) => seconds >= size);
  return step ? relative.format(-Math.floor(seconds / step[0]), step[1]) : say("now");
}

/** @param {ThreadSummary} thread */
function stateOf({ status, updated_at: when }) {
  return el("span", { class: "thread-state small" }, status === "idle" ? ago(when) : say(status));
}

/** @param {HTMLElement} end @param {string} title @param {() => void} onRemove */
function offerRemoval(end, title, onRemove) {
  const name = say("remove", { title });
  const named = { type: "button", "aria-label": name, title: name };
  const remove = el("button", { class: "button quiet", ...named }, icon("remove"));
  const keep = () => {
    fill(end, remove);
    remove.focus();
  };
  remove.addEventListener("click", () => {
    const no = el("button", { class: "button", type: "button", onclick: keep }, say("no"));
    const yes = el("button", { class: "button danger", ...named, onclick: onRemove }, say("yes"));
    const sure = el("span", {
      class: "sure",
      onkeydown: (event) => {
        if (event.key !== "Escape") return;
        event.stopPropagation();
        keep();
      },
    }, el("span", { class: "small" }, say("sure")), no, yes);
    fill(end, sure);
    no.focus();
  });
  fill(end, remove);
}
