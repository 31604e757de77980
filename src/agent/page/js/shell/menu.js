/** The menu of the header: who is signed in, the page's language and colours, notifications, shortcuts. */

import { disclosure } from "../disclosure.js";
import { el, icon } from "../dom.js";
import { language, textsOf, translator } from "../i18n.js";
import { prefer, preference, showTheme } from "../preferences.js";
import { memoryPanel } from "./memory.js";
import { accountParts } from "./sign_in.js";

const say = translator("page.menu");
/** What the keys below lead to. */
const LEADS_TO = textsOf("page.menu.keys");
const SHORTCUTS = { question: ["/"], threads: ["Ctrl", "K"], edit: ["↑"] };
const LANGUAGES = { zh: "中文", en: "English" };
/** Shorter runs are waited for. */
const LONG_MS = 15_000;
/** Browsers that notify; on other sites than https and this machine they do not. */
const canNotify = "Notification" in globalThis && isSecureContext;

/** @param {Config} config */
export function menu({ user, memory }) {
  const panel = el("div", { class: "choices menu" },
    ...(user ? accountParts(user) : []),
    choice("language", LANGUAGES, language, (chosen) => {
      prefer("language", chosen);
      location.reload();
    }),
    choice("theme", { "": say("system"), light: say("light"), dark: say("dark") }, preference("theme") ?? "",
      (chosen) => {
        prefer("theme", chosen);
        showTheme(chosen);
      }),
    canNotify && notifySwitch(),
    memory && memoryPanel(memory),
    el("dl", { class: "shortcuts small" }, ...Object.entries(SHORTCUTS).map(([name, keys]) =>
      el("div", {}, el("dt", {}, ...keys.map((key) => el("kbd", {}, key))),
        el("dd", {}, LEADS_TO.get(name))))));
  const label = el("span", {}, icon(user ? "person" : "settings"),
    el("span", { class: user ? "wide" : "visually-hidden" }, user ?? say("settings")));
  return disclosure({ label, panel, name: say(user ? "account" : "menu") }).node;
}

/**
 * Makes a group of which one is chosen.
 * @param {"language"|"theme"} name @param {Record<string, string>} options words by value
 * @param {string} chosen @param {(value: string) => void} onChoose
 */
function choice(name, options, chosen, onChoose) {
  return el("fieldset", { class: "segments" }, el("legend", { class: "small muted" }, say(name)),
    el("div", {}, ...Object.entries(options).map(([value, words]) => el("label", {},
      el("input",
        { type: "radio", name, value, checked: value === chosen, onchange: () => onChoose(value) }),
      el("span", { lang: name === "language" ? value : null }, words)))));
}

/** Offers to tell of the end of long runs; the browser asks the reader, and only then. */
function notifySwitch() {
  const isOn = preference("notify") === "1" && Notification.permission === "granted";
  const box = el("input", {
    type: "checkbox", role: "switch", checked: isOn,
    onchange: async () => {
      box.checked &&= await Notification.requestPermission() === "granted";
      prefer("notify", box.checked ? "1" : "");
      note.hidden = box.checked || Notification.permission !== "denied";
    },
  });
  const note = el("p", { class: "small muted", role: "status", hidden: true }, say("denied"));
  const label = el("label", { class: "switch button quiet" }, box, el("span", {}, say("notify")));
  return el("div", {}, label, note);
}

/**
 * Tells that a long run has ended, if the reader asked for it and looks elsewhere.
 * @param {Turn} turn @param {string} words how it ended
 */
export function notifyEnd({ id, question, startedAt, endedAt }, words) {
  const isAsked = canNotify && preference("notify") === "1" && Notification.permission === "granted";
  if (!isAsked || document.hasFocus() || (endedAt ?? 0) - startedAt < LONG_MS) return;
  try {
    const told = new Notification(words, { body: question, tag: id });
    told.addEventListener("click", () => { focus(); told.close(); });
  } catch {
    // Phones want a service worker for it.
  }
}
