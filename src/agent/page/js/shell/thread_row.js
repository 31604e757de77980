/** A row of the list of questions: its title, when it was, how it stands; renamed and deleted in place. */

import { el, fill, icon } from "../dom.js";
import { language, locale, textsOf, translator } from "../i18n.js";

/** @import { ThreadSummary } from "../run/threads.js" */

const say = translator("page.thread_row");
const DAY_S = 86_400;
/** @type {[number, Intl.RelativeTimeFormatUnit][]} */
const STEPS = [[60, "minute"], [3600, "hour"], [DAY_S, "day"]];
const relative = new Intl.RelativeTimeFormat(language, { numeric: "auto", style: "short" });
const dated = new Intl.DateTimeFormat(locale, { month: "short", day: "numeric" });

/** @type {Map<string, IconName>} */
const SIGNS = new Map([
  ["deep_research", "deep_research"], ["team_answer", "team_answer"], ["plan_execute", "plan_execute"],
]);
const WHO = textsOf("page.assistants.titles");

/**
 * Makes the row of a thread.
 * @param {ThreadSummary} thread
 * @param {{current: boolean, href: string, onOpen: () => void, onRename: (title: string) => void,
 *   onRemove: () => void}} options
 */
export function threadRow(thread, { current, href, onOpen, onRename, onRemove }) {
  const title = thread.title || say("untitled");
  const name = el("a", {
    class: "thread-link", href, tabindex: -1, "aria-current": current ? "page" : null,
    "aria-keyshortcuts": "F2 Delete",
    onclick: (event) => {
      if (event.metaKey || event.ctrlKey || event.shiftKey || event.button) return;
      event.preventDefault();
      onOpen();
    },
    onkeydown: ({ key }) => {
      if (key === "F2") rename();
      else if (key === "Delete") askRemoval();
    },
  }, icon(SIGNS.get(thread.assistant) ?? "pin"),
    el("span", { class: "thread-name" },
      el("span", { class: "visually-hidden" }, WHO.get(thread.assistant) ?? "", " "),
      el("span", { class: "thread-title" }, title), el("span", { class: "thread-state small" },
        thread.status === "idle" ? ago(thread.updated_at) : say(thread.status))));
  const end = el("span", { class: "thread-end" });
  const dataset = { status: thread.status, threadId: thread.thread_id };
  const row = el("li", { class: "thread", dataset }, name, end);
  const settle = () => {
    fill(end, control("rename", "rename", rename), control("remove", "remove", askRemoval));
    fill(row, name, end);
  };
  const keep = () => {
    settle();
    name.focus();
  };
  settle();
  return row;

  /** @param {"rename"|"remove"} key @param {IconName} sign @param {() => void} onclick */
  function control(key, sign, onclick) {
    const words = say(key, { title });
    const named = { type: "button", tabindex: -1, "aria-label": words, title: words };
    return el("button", { class: "button quiet", ...named, onclick }, icon(sign));
  }

  function rename() {
    const field = el("input", { class: "field rename", value: title, "aria-label": say("title") });
    field.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" && event.key !== "Enter") return;
      event.preventDefault();
      event.stopPropagation();
      const words = field.value.trim();
      keep();
      if (event.key === "Enter" && words && words !== title) onRename(words);
    });
    field.addEventListener("blur", settle);
    fill(row, field);
    field.select();
  }

  function askRemoval() {
    const remove = say("remove", { title });
    const no = el("button", { class: "button", type: "button", onclick: keep }, say("no"));
    const yes = el("button",
      { class: "button danger", type: "button", "aria-label": remove, title: remove, onclick: onRemove },
      say("yes"));
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
  }
}

/**
 * Names the group of days that a moment is in, by the reader's clock: "today", "yesterday", "week" or
 * "earlier".
 * @param {string} iso @param {number} now ms
 */
export function dayOf(iso, now = Date.now()) {
  const days = Math.round((new Date(now).setHours(0, 0, 0, 0) - new Date(iso).setHours(0, 0, 0, 0)) / 864e5);
  if (days < 1) return "today";
  if (days === 1) return "yesterday";
  return days < 7 ? "week" : "earlier";
}

/** Tells how long ago, in a word or two. @param {string} iso @param {number} now ms */
export function ago(iso, now = Date.now()) {
  const seconds = (now - Date.parse(iso)) / 1000;
  if (!(seconds < 6 * DAY_S)) return dated.format(new Date(iso));
  const step = STEPS.findLast(([size]) => seconds >= size);
  return step ? relative.format(-Math.floor(seconds / step[0]), step[1]) : say("now");
}
