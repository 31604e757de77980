/** What of a bullet's words a place's line of facts says already, as parts of its text. Pure. */

import { metres, rating } from "./place_facts.js";

/**
 * Parts clauses; a colon, a dash or a stop within a figure does not. A run of blanks or digits is
 * read from its beginning only.
 */
const BETWEEN = /(?:(?<!\s)\s+)?(?:[,;:](?=\s|$)|[，、；：。·،؛]|\s[—–-]\s|\.(?=\s|\u0001|$))\s*/gu;
const LENGTH = /(?<![\d.])(\d+(?:[.,]\d+)?)\s?(米|公里|千米|k?m(?![a-z])|kilomet(?:re|er)s?|met(?:re|er)s?)/giu;
const STARS =
  /★\s?(\d(?:[.,]\d)?)|(\d(?:[.,]\d)?)\s?(?:分|stars?)|(?<![\d.,¥￥])(\d[.,]\d)(?!\s?[\p{L}\d.%])/giu;
const PRICE = /[¥￥]\s?(\d+)|(?<!\d)(\d+)\s?(?:元|yuan)/giu;
const HOURS = /\d?\d:\d\d\s?[-–~]\s?(?:次日)?\d?\d:\d\d/gu;
/** Words with nothing but told facts in brackets behind them say something themselves. */
const OWN_WORDS = /\p{L}\s?[(（]\s?[)）]/u;
/** Beyond these a clause says more than the fact: letters of scripts without blanks, words of others. */
const MOST_LETTERS = 8, MOST_WORDS = 4;
/** Matches Thai, Lao, Burmese, Khmer, Japanese and Chinese letters, and words of other letters. */
const UNSPACED = /[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]/gu;
const WORD = new RegExp(`(?:(?!${UNSPACED.source})\\p{L})+`, "gu");
/** Characters before a bullet's name, and such as tell when one is there. */
const MOST_BEFORE = 6, MOST_TIME = 24;
const ALIAS = /^\s?[(（]((?:[^()（）]|[(（][^()（）]{1,60}[)）]){1,80})[)）]/u;
const NAME_END = /^[\s,，:：;；·،—–-]+/u;

/**
 * Returns the parts of a bullet's text that its card says: its name, what only counts it before, and clauses
 * of nothing but distance, rating, price or hours as the record has them, before and behind all others: one
 * between them belongs to them.
 * @param {string} text in which each character of a citation is U+0001, and of a sign U+0002
 * @param {Place} place
 * @param {[number, number]|null} name where it stands, which is at the front
 * @returns {[number, number][]} from the front
 */
export function toldParts(text, place, name) {
  const [from, to] = name ?? [0, 0];
  // The name in the other language may stand behind, in brackets.
  const alias = to ? ALIAS.exec(text.slice(to)) : null;
  const end = to + (alias && isName(alias[1], place) ? alias[0].length : 0);
  const begin = end + (end && (NAME_END.exec(text.slice(end))?.[0].length ?? 0));
  /** @type {[number, number][]} */
  let parts = begin ? [[/\p{L}|\d:\d/u.test(text.slice(0, from)) ? from : 0, begin]] : [];
  const ends = [...text.matchAll(BETWEEN)].filter(({ index }) => index >= begin)
    .map((found) => [found.index, found.index + found[0].length]);
  let at = begin, last = begin, front = 0, hasWords = false;
  for (const [end, next] of [...ends, [text.length, text.length]]) {
    const cited = text.slice(at, end).trimEnd().replace(/\u0001+$/, "").length;
    // With what joins it to the words before, or, without any, to those that follow.
    if (isTold(text.slice(at, at + cited), place)) {
      parts.push(hasWords || at + cited < end ? [hasWords ? last : at, at + cited] : [at, next]);
    } else if (/\p{L}/u.test(text.slice(at, end))) {
      if (!hasWords) front = parts.length;
      parts = parts.slice(0, front);
      hasWords = true;
    }
    last = end;
    at = next;
  }
  return parts;
}

/**
 * Tells whether a clause says nothing but facts of the record.
 * @param {string} clause @param {Place} place
 */
function isTold(clause, place) {
  const far = metres(place.distance_m).replace(/[\s,]/g, ""), stars = rating(place);
  const told = [place.open_time, place.open_time_en, place.hours].filter((each) => each != null);
  const hours = plain(told.join(" "));
  let count = 0;
  /** @param {boolean} same @param {string} found */
  const taken = (same, found) => {
    if (same) count += 1;
    return same ? "" : found;
  };
  const rest = told
    .reduce((words, each) => words.replace(each, (found) => taken(true, found)), clause)
    .replace(HOURS, (found) => taken(hours.includes(plain(found)), found))
    .replace(LENGTH, (found, figure, unit) =>
      taken(`${point(figure)}${/^(公里|千米|k)/iu.test(unit) ? "km" : "m"}` === far, found))
    .replace(STARS, (found, one, two, three) => taken(point(one ?? two ?? three) === stars, found))
    .replace(PRICE, (found, one, other) => taken(Number(one ?? other) === place.cost, found));
  const letters = rest.match(UNSPACED)?.length ?? 0, words = rest.match(WORD)?.length ?? 0;
  const isOther = /[\d\u0001\u0002]/u.test(rest) || OWN_WORDS.test(rest);
  return count > 0 && !isOther && letters <= MOST_LETTERS && words <= MOST_WORDS;
}

/** Writes "4,5" as 4.5. @param {string} figure */
const point = (figure) => figure.replace(",", ".");

/** @param {string} hours */
const plain = (hours) => hours.replace(/[–~]/gu, "-").replaceAll(" ", "");

/**
 * Returns where a bullet names its place at the front: after a time or a label; null elsewhere. In "from the
 * station to Harald" the name is of the sentence.
 * @param {string} text @param {Place} place
 * @param {string} [head] what it prints bold: of a name some words do
 * @returns {[number, number]|null}
 */
export function nameIn(text, place, head = "") {
  const part = head.trim().includes(" ") && isName(head, place) ? head : "";
  const found = [...namesOf(place), part].flatMap((each) => {
    const at = each ? text.indexOf(each) : -1, before = text.slice(0, Math.max(at, 0)).trimEnd();
    const isLabel = at <= MOST_BEFORE && /[:：]$/u.test(before);
    const isFront = isLabel || (at <= MOST_TIME && !/\p{L}/u.test(before));
    /** @type {[number, number][]} */
    const spans = each && at >= 0 && isFront ? [[at, at + each.length]] : [];
    return spans;
  });
  return found.reduce((one, each) => (one && one[0] <= each[0] ? one : each), found[0] ?? null);
}

/** Tells whether words are a place's name and nothing else. @param {string} words @param {Place} place */
export function isName(words, place) {
  const called = namesOf(place), all = [...called, place.name_pinyin ?? ""].join(" ").toLowerCase();
  const known = new Set(all.match(/[\p{L}\d]+/gu) ?? []);
  const rest = called.reduce((left, name) => left.replace(name, ""), words).replace(/[(（][^)）]*[)）]/gu, "");
  const left = rest.toLowerCase().match(/[\p{L}\d]+/gu) ?? [];
  return words.trim() !== "" && left.every((word) => known.has(word));
}

/** Returns how a place is called; without its branch, too. @param {Place} place */
function namesOf({ name, name_hant: traditional, name_en: english }) {
  return [name, traditional, english].flatMap((each) =>
    (each ? [each, each.replace(/[(（].*/u, "").trimEnd()] : []));
}
