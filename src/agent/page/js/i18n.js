/** The page's language, and texts in it. */

/** "zh" or "en", after the browser's languages. */
export const language = (navigator.languages ?? [navigator.language])
  .map((tag) => tag.slice(0, 2).toLowerCase())
  .find((tag) => tag === "zh" || tag === "en") ?? "en";

/**
 * A speaker of one table of words.
 * @param {{zh: Record<string, string>, en: Record<string, string>}} table
 * @returns {(key: string, values?: Record<string, unknown>) => string} `{name}` is replaced
 */
export function translator(table) {
  return (key, values = {}) =>
    table[language][key].replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
}
