/**
 * Facts about places in words, as in the exports (`export/finished.py`), and the sources that speak of
 * them. Pure.
 */

import { hasText, isChinese, language, text } from "../i18n.js";
import { halfEven, oneDecimal } from "../rounding.js";

/**
 * Tells a length: "350 m", "1.2 km" or "1,2 km", "12 km"; empty for null.
 * @param {number|null|undefined} value metres @param {Spoken} [spoken]
 */
export function metres(value, spoken = language) {
  if (value === null || value === undefined) return "";
  if (value < 1000) return text("records.m", spoken, { n: halfEven(value) });
  const kilometres = value / 1000;
  if (kilometres < 10) return text("records.km", spoken, { n: decimal(oneDecimal(kilometres), spoken) });
  return text("records.km", spoken, { n: halfEven(kilometres).toLocaleString("en-US") });
}

/** Writes a figure as a language writes decimals. @param {string} figure @param {Spoken} [spoken] */
const decimal = (figure, spoken) =>
  (spoken ? figure.replace(".", text("punctuation.decimal", spoken)) : figure);

/** The local name behind a Chinese one: in each line it is only long. */
const LOCAL_NAME = /^(.*\p{Script=Han}.*?) \([^()\p{Script=Han}]*\p{Ll}[^()\p{Script=Han}]*\)$/u;

/**
 * Tells "距王府井 350 m", "350 m from 王府井", or the figure alone where nobody said from where; of a place
 * that was looked for at several ones, how far it is from each, and by how much a way over it is longer. A
 * walk that was measured stands for the straight line.
 * @param {Pick<Place, "distance_m"|"distance_from"|"distance_from_en"|"further"> & Partial<Place>} place
 * @param {Spoken} spoken
 */
export function distanceText(place, spoken) {
  const { distance_from, distance_from_en, distance_m, from_middle } = place;
  const own = { origin: distance_from, origin_en: distance_from_en, metres: distance_m, from_middle };
  const told = [own, ...(place.further ?? [])].map((each) => {
    const distance = (each === own && walk(place, spoken)) || metres(each.metres, spoken);
    const name = (!isChinese(spoken) && each.origin_en) || each.origin?.replace(LOCAL_NAME, "$1");
    const origin = name && each.from_middle ? text("records.middle_of", spoken, { origin: name }) : name;
    return distance && origin ? text("export.far", spoken, { origin, distance }) : distance;
  });
  const detour = metres(place.detour_m, spoken);
  const key = place.detour_walked ? "records.detour_on_foot" : "records.detour";
  return [...told, detour && text(key, spoken, { distance: detour })].filter(Boolean).join(" · ");
}

/**
 * Tells how far one walks, and how long; empty where that was not measured.
 * @param {Partial<Place>} place @param {Spoken} spoken
 */
function walk({ walk_m: far, walk_s: seconds }, spoken) {
  const distance = metres(far, spoken);
  const time = minutes(seconds, spoken);
  return distance && text("records.walk", spoken, { distance: time ? `${distance} (${time})` : distance });
}

/** Tells whole minutes, at least one. @param {number|null|undefined} seconds @param {Spoken} spoken */
export function minutes(seconds, spoken) {
  return seconds ? text("records.minutes", spoken, { minutes: Math.max(1, Math.round(seconds / 60)) }) : "";
}

/**
 * Tells "4.5" or "4,5"; empty where there is no rating.
 * @param {Pick<Place, "rating">} place @param {Spoken} [spoken]
 */
export function rating(place, spoken) {
  return place.rating === null || place.rating === undefined ? "" : decimal(general(place.rating), spoken);
}

/**
 * Tells "¥40/人", yuan per person, "¥300/晚" of a room, "¥8" where nobody knows, "free"; empty without one.
 * @param {Pick<Place, "cost"|"per_head"|"per_night"|"currency">} place
 * @param {Spoken} spoken
 */
export function cost(place, spoken) {
  if (place.cost === null || place.cost === undefined) return "";
  if (place.cost === 0) return text("records.free", spoken);
  if (place.currency) return `${general(place.cost)} ${place.currency}`;
  const other = place.per_night ? "records.per_night" : "records.price";
  const key = place.per_head === false ? other : "export.cost";
  return text(key, spoken, { cost: general(place.cost) });
}

/**
 * Lists the facts of one line: distance, rating, price; those that are known.
 * @param {Pick<Place, "distance_m"|"distance_from"|"further"|"rating"|"cost"|"per_head"|"per_night"
 *   |"currency">} place
 * @param {Spoken} spoken
 */
export function shortFacts(place, spoken) {
  const stars = rating(place, spoken);
  return [distanceText(place, spoken), stars && `★ ${stars}`, cost(place, spoken)].filter(Boolean);
}

/**
 * Returns the first telephone number of a record, empty where what it has first is none.
 * @param {Pick<Place, "phone">} place
 */
export function telephone({ phone }) {
  const number = (phone ?? "").split(/[;,/；，、]/)[0].trim();
  const isNumber = number.length <= 25 && /^\+?[\d -]+$/.test(number);
  return isNumber && /^\+?\d{3,15}$/.test(dialled(number)) ? number : "";
}

/** Writes a telephone number as a telephone takes it. @param {string} number */
export const dialled = (number) => number.replaceAll(/[ -]/g, "");

const DAY_MINUTES = 1440;

/**
 * Tells whether the record's hours hold at a moment, by the place's clock; null where they are not known.
 * @param {Pick<Place, "opening"|"zone">} place
 * @param {Date} now
 */
export function isOpen({ opening, zone = "Asia/Shanghai" }, now) {
  if (!opening) return null;
  // What the clock there shows, read as if it were UTC.
  const there = new Date(`${now.toLocaleString("sv", { timeZone: zone }).replace(" ", "T")}Z`);
  const minute = there.getUTCHours() * 60 + there.getUTCMinutes();
  const [today, yesterday] = [there.getUTCDay() || 7, (there.getUTCDay() + 6) % 7 || 7];
  return opening.some(({ days, start, end }) =>
    (days.includes(today) && minute >= start && minute < end)
    || (days.includes(yesterday) && minute + DAY_MINUTES < end));
}

/**
 * Tells an ISO 8601 moment as "2026-11-21 19:40" on the reader's clock; the text itself if it is none.
 * @param {string} iso
 */
export function localTime(iso) {
  const moment = new Date(iso);
  if (Number.isNaN(moment.getTime())) return iso;
  // Sweden writes dates as ISO 8601 does.
  return moment.toLocaleString("sv", { dateStyle: "short", timeStyle: "short" });
}

/**
 * Tells whose data a list of places or routes is, and from when; empty without any. A sample is of no time.
 * @param {{id: string, fetched_at: string}[]} places
 * @param {Language} language
 * @param {string} mode of their answer
 */
export function credit(places, language, mode = "online") {
  if (!places.length) return "";
  const newest = places.map((place) => place.fetched_at).filter(Boolean).sort().at(-1);
  const when = newest && `${text("export.as_of", language)} ${localTime(newest)}`;
  const about = mode === "offline" ? text("page.answer.sample", language) : when;
  const owner = text("records.attribution", language, { maps: owners(places, language) });
  return [owner, about].filter(Boolean).join(" · ");
}

/** Returns the map that a record is of, by its name in ids. @param {{id?: string}} record */
export const mapOf = ({ id = "amap:" }) => id.split(":", 1)[0];

/** Names the map of a record. @param {{id?: string}} record @param {Spoken} spoken */
export const mapName = (record, spoken) => named("maps", mapOf(record), spoken);

/** @param {string} table @param {string} map @param {Spoken} spoken */
function named(table, map, spoken) {
  const key = `records.${table}.${map}`;
  return hasText(key) ? text(key, spoken) : map;
}

/**
 * Names whose data the records are, by the map in their ids.
 * @param {{id: string}[]} records
 * @param {Language} language
 */
function owners(records, language) {
  const names = [...new Set(records.map(mapOf))].map((map) => named("owners", map, language));
  return names.join(text("punctuation.comma", language));
}

/**
 * Names a place, or where a way leads, as its reader can say it.
 * @param {{name: string, name_en?: string, name_pinyin?: string, name_hant?: string}} place
 * @param {Spoken} spoken
 */
export function readableName({ name, name_en: english, name_pinyin: sound, name_hant: traditional }, spoken) {
  return (!isChinese(spoken) && (english || sound)) || traditional || name;
}

/**
 * Returns the numbers of the sources that stand for the place or name it in their title or quotes, ascending.
 * @param {Pick<Place, "name"|"source">} place
 * @param {Pick<Source, "id"|"title"|"quotes"|"number">[]} sources as cited
 * @returns {number[]}
 */
export function sourceNumbers(place, sources) {
  const name = place.name.trim();
  const names = (/** @type {string} */ text) => name.length > 1 && String(text).includes(name);
  const numbers = sources.flatMap((source, index) => {
    const isNamed = [source.title, ...(source.quotes ?? [])].some(names);
    return source.id === place.source || isNamed ? [source.number ?? index + 1] : [];
  });
  return [...new Set(numbers)].sort((a, b) => a - b);
}

/** Writes up to six significant digits, without trailing noughts. @param {number} value */
function general(value) { return String(Number(value.toPrecision(6))); }
