/**
 * How facts about places are worded, as in the exports (`export/wording.py`), and which facts:
 * their order and numbers, the sources that speak of them, the photo. Pure.
 */

import { halfEven, oneDecimal } from "../rounding.js";

/** @typedef {"zh"|"en"} Language */

const WORDS = {
  zh: { from: "距{from} {metres}", perPerson: "/人", asOf: "数据时间", owner: "数据 © 高德地图" },
  en: { from: "{metres} from {from}", perPerson: " a head", asOf: "as of", owner: "Data © Amap (高德地图)" },
};
/** Where Amap keeps photos of places; what the page's policy lets in. */
export const PHOTO_HOSTS = ["store.is.autonavi.com", "aos-comment.amap.com", "aos-cdn-image.amap.com"];

/**
 * "350 m", "1.2 km", "12 km"; empty for null.
 * @param {number|null|undefined} value metres
 */
export function metres(value) {
  if (value === null || value === undefined) return "";
  if (value < 1000) return `${halfEven(value)} m`;
  const kilometres = value / 1000;
  if (kilometres < 10) return `${oneDecimal(kilometres)} km`;
  return `${halfEven(kilometres).toLocaleString("en-US")} km`;
}

/**
 * "距王府井 350 m", "350 m from 王府井", or the figure alone where nobody said from where.
 * @param {{distance_m: number|null, distance_from: string|null}} place
 * @param {Language} language
 */
export function distanceText(place, language) {
  const told = metres(place.distance_m);
  if (!told || !place.distance_from) return told;
  const values = { from: place.distance_from, metres: told };
  return WORDS[language].from.replace(/\{(\w+)\}/g, (_, name) => values[name]);
}

/** "4.5"; empty where there is no rating. */
export function rating(place) {
  return place.rating === null || place.rating === undefined ? "" : general(place.rating);
}

/** "¥40/人"; empty where the price is not known. Yuan per person. */
export function cost(place, language) {
  if (place.cost === null || place.cost === undefined) return "";
  return `¥${general(place.cost)}${WORDS[language].perPerson}`;
}

/** The facts of one line: distance, rating, price; those that are known. */
export function shortFacts(place, language) {
  const stars = rating(place);
  return [distanceText(place, language), stars && `★ ${stars}`, cost(place, language)].filter(Boolean);
}

/**
 * An ISO 8601 moment as "2026-11-21 19:40" on the reader's clock; the text itself if it is none.
 * @param {string} iso
 */
export function localTime(iso) {
  const moment = new Date(iso);
  if (Number.isNaN(moment.getTime())) return iso;
  const two = (value) => String(value).padStart(2, "0");
  const day = [moment.getFullYear(), two(moment.getMonth() + 1), two(moment.getDate())].join("-");
  return `${day} ${two(moment.getHours())}:${two(moment.getMinutes())}`;
}

/** The line every list of places or routes carries: whose data, and from when; empty without any. */
export function credit(places, language) {
  const newest = places.map((place) => place.fetched_at).filter(Boolean).sort().at(-1);
  if (!places.length) return "";
  const { owner, asOf } = WORDS[language];
  return newest ? `${owner} · ${asOf} ${localTime(newest)}` : owner;
}

/** Those the answer names first, otherwise as found; a place's number is its index here plus one. */
export function byMention(places) {
  return [...places.filter((place) => place.mentioned), ...places.filter((place) => !place.mentioned)];
}

/**
 * Numbers of the sources that stand for the place or name it in their title or quotes, ascending.
 * @param {{name: string, source: string}} place
 * @param {{id: string, title: string, quotes: string[], number?: number|null}[]} sources as cited
 * @returns {number[]}
 */
export function sourceNumbers(place, sources) {
  const name = place.name.trim();
  const names = (text) => name.length > 1 && String(text).includes(name);
  const numbers = sources.flatMap((source, index) => {
    const said = [source.title, ...(source.quotes ?? [])].some(names);
    return source.id === place.source || said ? [source.number ?? index + 1] : [];
  });
  return [...new Set(numbers)].sort((a, b) => a - b);
}

/**
 * A photo's address that the page may load: https, at one of the map service's hosts; else null.
 * @param {string|null|undefined} address
 */
export function photoUrl(address) {
  try {
    const url = new URL(String(address));
    if (!["http:", "https:"].includes(url.protocol) || url.port || url.username || url.password) return null;
    if (!PHOTO_HOSTS.includes(url.hostname)) return null;
    url.protocol = "https:";
    return url.href;
  } catch {
    return null;
  }
}

/** Up to six significant digits, without trailing noughts. */
function general(value) {
  return String(Number(value.toPrecision(6)));
}
