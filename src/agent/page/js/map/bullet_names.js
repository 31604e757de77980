/** Where a bullet of an answer names its place, as the exports find it (`export/bullet_names.py`). Pure. */

/** Characters before a bullet's name, and such as tell when one is there. */
const MOST_BEFORE = 6, MOST_TIME = 24;

/** @typedef {Pick<Place, "name"|"name_hant"|"name_en"|"name_pinyin">} Named */

/**
 * Returns where a bullet names its place at the front: after a time or a label; null elsewhere. In "from the
 * station to Harald" the name is of the sentence.
 * @param {string} text @param {Named} place
 * @param {string} [head] what it prints bold: of a name some words do
 * @returns {[number, number]|null}
 */
export function nameIn(text, place, head = "") {
  const part = head.trim().includes(" ") && isName(head, place) ? head : "";
  const found = [...namesOf(place), part].flatMap((each) => {
    const at = each ? text.indexOf(each) : -1, before = text.slice(0, Math.max(at, 0)).trimEnd();
    const isFront = (at <= MOST_BEFORE && /[:：]$/u.test(before))
      || (at <= MOST_TIME && !/\p{L}/u.test(before));
    const end = at + each.length, isWay = /^\s*→\s*[^\s\d]/.test(text.slice(end));
    return /** @type {[number, number][]} */ (at >= 0 && isFront && !isWay ? [[at, end]] : []);
  });
  return found.toSorted((a, b) => a[0] - b[0])[0] ?? null;
}

/** Tells whether words are a place's name and nothing else. @param {string} words @param {Named} place */
function isName(words, place) {
  const called = namesOf(place), all = [...called, place.name_pinyin ?? ""].join(" ").toLowerCase();
  const known = new Set(all.match(/[\p{L}\d]+/gu) ?? []);
  const rest = called.reduce((left, name) => left.replace(name, ""), words).replace(/[(（][^)）]*[)）]/gu, "");
  const left = rest.toLowerCase().match(/[\p{L}\d]+/gu) ?? [];
  return words.trim() !== "" && left.every((word) => known.has(word));
}

/** Returns how a place is called; without its branch, too. @param {Named} place */
function namesOf({ name, name_hant: traditional, name_en: english }) {
  return [name, traditional, english].flatMap((each) =>
    (each ? [each, each.replace(/[(（].*/u, "").trimEnd()] : []));
}
