/** What the reader prefers, where the server keeps it: shown, changed and deleted in the menu. */

import { el, fill } from "../dom.js";
import { language, textsOf, translator } from "../i18n.js";
import { changeMemory, forgetMemory, memory, serverError } from "../run/server.js";

const say = translator("page.memory");
const DIETS = textsOf("preferred.diets");
/** Offered for answers; another one that was set elsewhere stays. */
const TAGS = ["zh", "zh-Hant", "en", "ja", "ko", "fr", "de", "es", "it", "pt", "ru", "ar", "fi"];

/**
 * Makes the part of the menu, which asks the server when it is unfolded.
 * @param {NonNullable<Config["memory"]>} form
 */
export function memoryPanel({ diet, longest }) {
  const body = el("div");
  const node = el("details", {
    class: "memory", dataset: { part: "memory" },
    ontoggle: () => { if (node.open) show(memory()); },
  }, el("summary", { class: "button quiet" }, say("title")), body);

  /** Shows the form as the server has it. @param {Promise<Person>} told @param {string} [done] */
  async function show(told, done = "") {
    try {
      fill(body, personForm(await told, { diet, longest, done, show }));
    } catch (error) {
      fill(body, el("p", { class: "small", role: "alert" }, serverError(error).message));
    }
  }
  return node;
}

/**
 * @param {Person} person
 * @param {{diet: string[], longest: number, done: string,
 *   show: (told: Promise<Person>, done?: string) => Promise<void>}} parts
 */
function personForm(person, { diet, longest, done, show }) {
  const status = el("p", { class: "small", role: "status" });
  /** @param {keyof Person} name @param {Attributes} attributes */
  const input = (name, attributes) => el("input", { class: "field", name, ...attributes });
  const tick = { type: "checkbox", class: null };
  const on = input("on", { ...tick, role: "switch", checked: person.on });
  const children = input("with_children", { ...tick, checked: person.with_children });
  const city = input("home_city", { type: "text", value: person.home_city, maxlength: longest });
  const budget = input("budget", { type: "number", min: 1, max: 1_000_000, value: person.budget });
  const currency = input("currency", {
    type: "text", value: person.currency, pattern: "[A-Z]{3}", maxlength: 3, required: true,
    autocapitalize: "characters", "aria-label": say("currency") });
  const diets = diet.map((name) =>
    el("input", { type: "checkbox", value: name, checked: person.diet.includes(name) }));
  const tongue = languageChoice(person.language);
  const values = () => ({
    on: on.checked, with_children: children.checked, home_city: city.value.trim(),
    budget: budget.value ? Number(budget.value) : null, currency: currency.value,
    diet: diets.filter((box) => box.checked).map((box) => box.value), language: tongue.value,
  });
  // Said where it is there already: what comes with its words is not read out.
  setTimeout(() => fill(status, done));
  return el("form", {
    class: "connect-form", autocomplete: "off",
    onsubmit: async (event) => {
      event.preventDefault();
      try {
        await show(Promise.resolve(await changeMemory(values())), say("kept"));
      } catch (error) {
        fill(status, serverError(error).message);
      }
    },
  },
    el("p", { class: "small muted" }, say("lead")),
    ticked(on, say("on"), "switch"),
    labelled(say("home_city"), city), ticked(children, say("with_children")),
    labelled(say("budget"), el("div", { class: "memory-budget" }, budget, currency)),
    el("fieldset", { class: "memory-diets" }, el("legend", {}, say("diet")),
      ...diets.map((box) => ticked(box, DIETS.get(box.value) ?? box.value))),
    labelled(say("language"), tongue),
    el("div", { class: "connect-end" },
      el("button", { class: "button primary", type: "submit" }, say("keep")),
      el("button", { class: "button quiet", type: "button",
        onclick: () => show(forgetMemory(), say("forgotten")) }, say("forget")),
      status));
}

/** @param {string} words @param {HTMLElement} field */
const labelled = (words, field) => el("label", {}, el("span", {}, words), field);

/** @param {HTMLInputElement} box @param {string} words @param {string} [kind] */
const ticked = (box, words, kind = "") =>
  el("label", { class: `memory-tick ${kind}` }, box, el("span", {}, words));

/** Makes the choice of a language, by its own name. @param {string} chosen a tag; "" as one asks */
function languageChoice(chosen) {
  const tags = TAGS.includes(chosen) || !chosen ? TAGS : [...TAGS, chosen];
  const names = new Intl.DisplayNames(language, { type: "language" });
  return el("select", { class: "field", name: "language" },
    el("option", { value: "" }, say("as_asked")),
    ...tags.map((tag) => el("option", { value: tag, selected: tag === chosen }, names.of(tag))));
}
