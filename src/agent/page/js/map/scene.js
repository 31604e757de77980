/** What of a turn can be drawn: first what its events have located, then what its answer has. Pure. */

import { isChinese } from "../i18n.js";
import { isPoint } from "./coordinates.js";

/**
 * @typedef {object} Way
 * @property {string} id
 * @property {Anchor[]} stops where it starts, goes over and ends
 * @property {string[]} letters of the stops
 * @property {[number, number][]|null} line the way as the map draws it; null where it gives none
 */
/**
 * @typedef {object} Scene
 * @property {{place: Place, number: number|null}[]} places in the list's numbers; null while there is no list
 * @property {Anchor|null} anchor what the places lie around
 * @property {Way[]} ways
 * @property {Located[]} path a planned day's stops in their order, and its named ends
 */

/**
 * Returns what there is to draw of a turn.
 * @param {Turn|null} turn
 * @returns {Scene}
 */
export function sceneOf(turn) {
  if (!turn?.answer) return turn ? foundScene(turn) : { places: [], anchor: null, ways: [], path: [] };
  const { answer } = turn;
  const places = (answer.places ?? [])
    .map((place, index) => ({ place, number: place.number ?? index + 1 }))
    .filter(({ place }) => isPoint(place.wgs84));
  const routes = answer.routes ?? [];
  const stops = routes.map(({ ends: [start, end] = [], via = [] }) => [start, ...via, end]);
  const lines = routes.map(({ line = [] }) => (line.length > 1 ? line : null));
  const { stops: planned = [], start, end = start, back } = answer.outing ?? {};
  const visits = planned.flatMap((stop) =>
    places.filter(({ place }) => place.id === stop.place).map(({ place }) => place));
  const path = [start, ...visits, back && end].filter((at) => !!at);
  return { places, anchor: places.length ? anchorOf(answer) : null, ways: waysOf(stops, lines), path };
}

/** Tells whether a turn has anything to draw. @param {Turn} turn */
export function hasScene(turn) {
  const { places, anchor, ways } = sceneOf(turn);
  return places.length + ways.length > 0 || anchor !== null;
}

/**
 * Returns what the events of a turn without an answer have located; a place counts as named once the text
 * that is being written names it.
 * @param {Turn} turn
 * @returns {Scene}
 */
function foundScene({ events, text }) {
  const spots = events.flatMap((event) => event.spots ?? []).filter(isPoint);
  const located = spots.map(({ role, id, name, lng, lat }) => ({ role, id, name, wgs84: { lng, lat } }));
  /** @param {SpotRole} role */
  const those = (role) => located.filter((spot) => spot.role === role);
  const places = new Map(those("place").map((spot) => [spot.id, spot]));
  const destinations = those("destination");
  return {
    places: [...places.values()].map((spot) => ({ place: foundPlace(spot, text), number: null })),
    anchor: those("anchor")[0] ?? null,
    ways: waysOf(those("origin").map((origin, index) => [origin, destinations[index]])),
    path: [],
  };
}

/**
 * Names the districts that the places and their centre lie in, each in their middle and south of them.
 * @param {(Located & {district?: string|null, district_en?: string})[]} located
 * @param {Spoken} spoken
 * @returns {Anchor[]}
 */
export function districtsOf(located, spoken) {
  const names = [...new Set(located.map(({ district }) => district))].filter((name) => name);
  return names.map((name) => {
    const own = located.filter(({ district }) => district === name);
    const lng = own.reduce((sum, { wgs84 }) => sum + wgs84.lng, 0) / own.length;
    const lat = Math.min(...own.map(({ wgs84 }) => wgs84.lat));
    const english = !isChinese(spoken) && own.find((each) => each.district_en)?.district_en;
    return { name: english || String(name), wgs84: { lng, lat } };
  });
}

/** @param {Anchor & {id?: string}} spot @param {string} text */
function foundPlace({ id = "", name, wgs84 }, text) {
  return /** @type {Place} */ ({ id, name, wgs84, mentioned: text.includes(name) });
}

/**
 * Returns a line for the same stops, however one goes between them.
 * @param {(Anchor|undefined)[][]} routes the stops of each
 * @param {(Way["line"])[]} lines of each
 */
function waysOf(routes, lines = []) {
  /** @type {Map<string, Way>} */
  const ways = new Map();
  /** @type {string[]} */
  const known = [];
  for (const [index, route] of routes.entries()) {
    const stops = route.flatMap((stop) => (stop && isPoint(stop.wgs84) ? [stop] : []));
    if (stops.length < 2 || stops.length < route.length) continue;
    const keys = stops.map(({ wgs84 }) => `${wgs84.lng},${wgs84.lat}`);
    for (const key of keys) if (!known.includes(key)) known.push(key);
    const letters = keys.map((key) => String.fromCharCode(65 + known.indexOf(key) % 26));
    const id = keys.join(" ");
    const line = ways.get(id)?.line ?? lines[index] ?? null;
    ways.set(id, { id, stops, letters, line });
  }
  return [...ways.values()];
}

/**
 * Returns what the places lie around: as the run says it, else from its collection of features.
 * @param {Answer} answer
 * @returns {Anchor|null}
 */
function anchorOf(answer) {
  if (answer.anchor && isPoint(answer.anchor.wgs84)) return answer.anchor;
  const feature = answer.geojson?.features?.find(({ properties }) => properties?.role === "anchor");
  if (!feature) return null;
  const [lng, lat] = feature.geometry.coordinates;
  const { name = "", gcj02 } = feature.properties ?? {};
  return { name, wgs84: { lng, lat }, ...(gcj02 && { location: { ...gcj02, crs: "GCJ-02" } }) };
}
