/** The page's language, and texts in it; the server makes `texts.js` of what `texts/*.toml` has for it. */

import { preference } from "./preferences.js";
import { TEXTS } from "./texts.js";

/** Follows the reader's choice, else the browser's languages. @type {Language} */
export const language = [preference("language"), ...(navigator.languages ?? [navigator.language])]
  .map((tag) => tag?.slice(0, 2).toLowerCase())
  .find(/** @returns {tag is Language} */ (tag) => tag === "zh" || tag === "en") ?? "en";

/** Tells the language of a text that is not the page's: Chinese on an English page. @param {string} words */
export const foreign = (words) => (language === "en" && /\p{Script=Han}/u.test(words) ? "zh" : null);

/** Tells how another script runs: from the right where most of its letters do. @param {string} words */
export function direction(words) {
  const others = words.match(/[\p{Script=Arabic}\p{Script=Hebrew}]/gu)?.length;
  return others && others * 2 > (words.match(/\p{L}/gu)?.length ?? 0) ? "rtl" : null;
}

/**
 * Returns a text with each `{name}` replaced by the value of that name, `{name|one|more}` by the form
 * beside it.
 * @param {string} key
 * @param {Spoken} spoken a language of the page, or an answer's own words; what they lack is English
 * @param {Record<string, unknown>} values
 */
export function text(key, spoken, values = {}) {
  /** @param {string} whole @param {string} name @param {string} [one] @param {string} [more] */
  function replaced(whole, name, one, more) {
    if (!Object.hasOwn(values, name)) return whole;
    const value = String(values[name]);
    return (value === "1" ? one : more) ?? value;
  }
  const texts = typeof spoken === "string" ? TEXTS[spoken] : spoken;
  return (texts[key] ?? TEXTS.en[key]).replace(/\{(\w+)(?:\|([^{}|]*)\|([^{}|]*))?\}/g, replaced);
}

/** Says whether there is such a text. @param {string} key */
export const hasText = (key) => Object.hasOwn(TEXTS.en, key);

/** Returns a function that says texts of one table in the page's language. @param {string} table */
export function translator(table) {
  /** @param {string} key @param {Record<string, unknown>} values */
  const say = (key, values = {}) => text(`${table}.${key}`, language, values);
  return say;
}

/** Returns the texts of one table by their keys, in the page's language. @param {string} table */
export function textsOf(table) {
  const inside = Object.entries(TEXTS[language]).filter(([key]) => key.startsWith(`${table}.`));
  return new Map(inside.map(([key, value]) => [key.slice(table.length + 1), value]));
}

/** Names the language where dates are written. */
export const locale = language === "zh" ? "zh-CN" : "en";

/**
 * Begins the server's words, some of which are meant to stand within others, as a sentence; the name of a
 * setting stays as it is.
 * @param {string} words
 */
export const sentence = (words) => words.replace(/^[a-z](?=[a-z]*[ ,])/, (first) => first.toUpperCase());
