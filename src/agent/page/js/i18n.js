/** The page's language, and texts in it; the server makes `texts.js` of what `texts/*.toml` has for it. */

import { preference } from "./preferences.js";
import { TEXTS } from "./texts.js";

/** Follows the reader's choice, else the browser's languages. @type {Language} */
export const language = [preference("language"), ...(navigator.languages ?? [navigator.language])]
  .map((tag) => tag?.slice(0, 2).toLowerCase())
  .find(/** @returns {tag is Language} */ (tag) => tag === "zh" || tag === "en") ?? "en";

/** Tells the language of a text that is not the page's: Chinese on an English page. @param {string} words */
export const foreign = (words) => (language === "en" && /\p{Script=Han}/u.test(words) ? "zh" : null);

/** Tells a text's language as the server does (`texts.detect_language`). @param {string} words */
export function languageOf(words) {
  const plain = words.replace(/https?:\/\/[!-~]+/g, " ");
  const count = (/** @type {RegExp} */ letters) => plain.match(letters)?.length ?? 0;
  const han = count(/[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]/g);
  const isOther = !han || count(/[\u3040-\u30ff\u31f0-\u31ff]/g) >= han / 4;
  return isOther || han / 1.5 < count(/[A-Za-zÀ-ɏ]+/g) ? "en" : "zh";
}

/**
 * Tells how an answer's own parts speak: in a language of the page, else by words that came with it.
 * @param {string} tag @param {Record<string, string>} [words]
 * @returns {Spoken}
 */
export function spokenIn(tag, words) {
  if (tag === "zh" || tag === "en") return tag;
  return { tag, texts: words ?? (tag.startsWith("zh") ? TEXTS.zh : {}) };
}

/** Returns the tag of a language. @param {Spoken} spoken */
export const tagOf = (spoken) => (typeof spoken === "string" ? spoken : spoken.tag);

/** Tells whether its reader gets a map's Chinese words; all others those beside. @param {Spoken} spoken */
export const isChinese = (spoken) => tagOf(spoken).startsWith("zh");

/** Returns what to ask on in: the answer's language where the page has it. @param {Spoken} spoken */
export const askedIn = (spoken) => (typeof spoken === "string" ? spoken : language);

/** Tells how another script runs: from the right where most of its letters do. @param {string} words */
export function direction(words) {
  const others = words.match(/[\p{Script=Arabic}\p{Script=Hebrew}]/gu)?.length;
  return others && others * 2 > (words.match(/\p{L}/gu)?.length ?? 0) ? "rtl" : null;
}

/**
 * Returns a text with each `{name}` replaced by the value of that name, `{name|one|more}` by the form
 * beside it.
 * @param {string} key
 * @param {Spoken} spoken what its texts lack is English
 * @param {Record<string, unknown>} values
 */
export function text(key, spoken, values = {}) {
  /** @param {string} whole @param {string} name @param {string} [one] @param {string} [more] */
  function replaced(whole, name, one, more) {
    if (!Object.hasOwn(values, name)) return whole;
    const value = String(values[name]);
    return (value === "1" ? one : more) ?? value;
  }
  const texts = typeof spoken === "string" ? TEXTS[spoken] : spoken.texts;
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

/** Names a language where dates are written. @param {Spoken} spoken */
export const localeOf = (spoken) => (spoken === "zh" ? "zh-CN" : tagOf(spoken));
/** The page's. */
export const locale = localeOf(language);

/**
 * Begins the server's words, some of which are meant to stand within others, as a sentence; the name of a
 * setting stays as it is.
 * @param {string} words
 */
export const sentence = (words) => words.replace(/^[a-z](?=[a-z]*[ ,])/, (first) => first.toUpperCase());
