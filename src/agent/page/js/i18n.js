/** The page's language, and texts in it. */

/** Follows the browser's languages. @type {Language} */
export const language = (navigator.languages ?? [navigator.language])
  .map((tag) => tag.slice(0, 2).toLowerCase())
  .find(/** @returns {tag is Language} */ (tag) => tag === "zh" || tag === "en") ?? "en";

/**
 * Returns a function that says texts of one table, `{name}` replaced by the value of that name.
 * @template {string} Key
 * @param {InLanguages<Record<Key, string>>} table
 */
export function translator(table) {
  /** @param {Key} key @param {Record<string, unknown>} values */
  const say = (key, values = {}) => table[language][key]
    .replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
  return say;
}

/** Names the language where dates are written. */
export const locale = language === "zh" ? "zh-CN" : "en";
