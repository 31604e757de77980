/** What the reader has chosen for the page in this browser: its language, its colours, notifications. */

/** @typedef {"language"|"theme"|"notify"|"streets"} Preference */

const PREFIX = "tanlu.";

/** Returns a choice; null where none was made, or the browser keeps nothing. @param {Preference} name */
export function preference(name) {
  try {
    return localStorage.getItem(PREFIX + name);
  } catch {
    return null;
  }
}

/** Keeps a choice; "" forgets it. @param {Preference} name @param {string} value */
export function prefer(name, value) {
  try {
    if (value) localStorage.setItem(PREFIX + name, value);
    else localStorage.removeItem(PREFIX + name);
  } catch {
    // It then holds until the page is left.
  }
}

/** Shows the page light or dark, or as the system has it ("" or null). @param {string|null} theme */
export function showTheme(theme) {
  document.documentElement.dataset.theme = theme ?? "";
}
