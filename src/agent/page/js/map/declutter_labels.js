/** Pins and their labels, layOut so that they do not cover each other. Pixels; y grows downwards. */

import { svg } from "../dom.js";

/** @import { L } from "../../vendor/leaflet.js" */
/** @typedef {{x: number, y: number}} Spot */
/** @typedef {{left: number, top: number, right: number, bottom: number}} Box */
/** @typedef {{text: string, x: number, y: number, align: "start"|"end"|"middle", box: Box}} Label */
/**
 * @typedef {{marker: L.Marker, at: LatLng, name: string, strong: boolean}} Pin `at`: latitude and longitude
 *   of the place; the marker may stand beside it
 * @typedef {{at: LatLng, name: string}} Named
 * @typedef {{pins: Pin[], centre: Named|null, districts: Named[], notes: Named[]}} Shown `notes`: what is
 *   told of lines, in the middle of each
 */

const PANE = "names";
const MOST_TURNS = 60;
const LINE = 14;
const BESIDE = 20;
/** No map shows more of a name; measuring every length of a very long one would take minutes. */
const MOST_LETTERS = 120;
const FONT = "600 13px";
/** Shares of the map's width; a name without room for one is cut to the next. */
const LONGEST = [1, 0.8, 0.6, 0.4, 0.2];
/** A district's letters are larger than others', and wide apart. */
const DISTRICT = { scale: 1.25, apart: 5 };
const PIN_GAP = 26;
const EDGE = 4;
/** Half the width of the sign of the search's centre. */
const CENTRE = 10;

/**
 * Arranges the pins whenever the map comes to rest.
 * @param {L.Map} map
 * @param {(pins: Pin[], selected: L.Marker|null) => Pin[]} cluster returns what is to be placed of many pins
 * @returns {{show(shown: Shown): void, select(marker: L.Marker|null): void}}
 */
export function pinLabels(map, cluster) {
  /** @type {Shown} */
  let shown = { pins: [], centre: null, districts: [], notes: [] };
  /** @type {L.Marker|null} */
  let selected = null;
  const size = { width: 1, height: 1 };
  const node = svg("svg", { class: "map-names leaflet-zoom-hide", "aria-hidden": "true", ...size });
  map.createPane(PANE).append(node);
  const draw = () => {
    const pins = cluster(shown.pins, selected);
    node.replaceChildren(...layOut(map, { ...shown, pins }, selected));
  };
  map.on("zoomend moveend resize viewreset", draw);
  return {
    show(now) {
      shown = now;
      map.whenReady(draw);
    },
    select(marker) {
      selected = marker;
      map.whenReady(draw);
    },
  };
}

/** @param {L.Map} map @param {Shown} shown @param {L.Marker|null} selected */
function layOut(map, { pins, ...others }, selected) {
  const places = pins.map(({ at }) => map.latLngToLayerPoint(at));
  const spots = spreadApart(places, PIN_GAP);
  pins.forEach(({ marker, at }, index) => {
    const moved = spots[index].x !== places[index].x || spots[index].y !== places[index].y;
    marker.setLatLng(moved ? map.layerPointToLatLng([spots[index].x, spots[index].y]) : at);
  });
  const named = pins.map((pin, index) => ({ ...pin, spot: spots[index] }))
    .filter(({ strong, marker }) => strong || marker === selected)
    .sort((a, b) => Number(b.marker === selected) - Number(a.marker === selected));
  return [...leaders(places, spots), ...labels(map, named, others, spots)];
}

/** @param {Spot[]} places @param {Spot[]} spots */
function leaders(places, spots) {
  return places.flatMap((from, index) => {
    const to = spots[index];
    if (Math.hypot(to.x - from.x, to.y - from.y) < 2) return [];
    return [svg("path", { class: "map-leader", d: `M${from.x} ${from.y}L${to.x} ${to.y}` })];
  });
}

/**
 * Writes notes and the chosen pin's name first; the faint ones say theirs when they are pointed at.
 * Districts come last, where there is room.
 * @param {L.Map} map
 * @param {(Pin & {spot: Spot})[]} named
 * @param {Omit<Shown, "pins">} others
 * @param {Spot[]} spots
 */
function labels(map, named, { centre, districts, notes }, spots) {
  const widthOf = measure(map.getContainer());
  const inside = view(map);
  const taken = [...spots.map(pinBox), ...controlBoxes(inside)];
  const names = named.map(({ name, spot }) => ({ name, spot, kind: "map-name" }));
  const middle = centre && map.latLngToLayerPoint(centre.at);
  if (centre && middle) {
    const { x, y } = middle;
    taken.push({ left: x - CENTRE, top: y - CENTRE, right: x + CENTRE, bottom: y + CENTRE });
    names.push({ name: centre.name, spot: { x, y: y + CENTRE }, kind: "map-name centre" });
  }
  const told = notes.map(({ name, at }) => ({ name, spot: map.latLngToLayerPoint(at), kind: "map-note" }));
  // A name is kept within the view; without its pin it would say that the place is there.
  const seen = [...told, ...names].filter(({ spot }) => overlap(pinBox(spot), inside));
  const written = placeNames(seen, widthOf, taken, inside);
  taken.push(...written.map(({ box }) => box));
  // The figures of the rings stand above it.
  if (middle) taken.push({ ...inside, left: middle.x - 2 * CENTRE, right: middle.x + 2 * CENTRE });
  for (const { name, at } of districts) {
    const label = placeDistrict(name, widthOf(name), map.latLngToLayerPoint(at), taken, inside);
    if (!label) continue;
    taken.push(label.box);
    written.push({ ...label, kind: "map-district" });
  }
  return written.map(({ kind, x, y, align, text }) =>
    svg("text", { class: kind, x, y, "text-anchor": align }, text));
}

/**
 * Places as many names as there is room for, each as long as it can be then.
 * @param {{name: string, spot: Spot, kind: string}[]} names
 * @param {(text: string) => number} widthOf
 * @param {Box[]} taken what must stay free
 * @param {Box} inside what no name must leave
 * @returns {(Label & {kind: string})[]}
 */
export function placeNames(names, widthOf, taken, inside) {
  const longest = LONGEST.map((share) => share * (inside.right - inside.left));
  const texts = names.map(({ name }) => longest.map((length) => shorten(name, length, widthOf)));
  const layouts = longest.map((_, cut) => {
    const busy = [...taken];
    return names.flatMap(({ spot, kind }, index) => {
      const label = texts[index].slice(cut)
        .map((text) => placeLabel(text, widthOf(text), spot, busy, inside)).find(Boolean);
      if (label) busy.push(label.box);
      return label ? [{ ...label, kind }] : [];
    });
  });
  return layouts.reduce((best, layout) => (layout.length > best.length ? layout : best));
}

/**
 * Places a district's name near its places, below or above them and beside the figures of the rings.
 * @param {string} text
 * @param {number} width of the name in the letters of the others
 * @param {Spot} spot
 * @param {Box[]} taken what must stay free
 * @param {Box} inside what it must not leave
 * @returns {Label|undefined}
 */
export function placeDistrict(text, width, { x, y }, taken, inside) {
  const half = (width * DISTRICT.scale + DISTRICT.apart * [...text].length) / 2;
  const [columns, rows] = [[0, half + 30, -half - 30], [44, -64, 68, -88, 92, -112, 140, -160]];
  const spots = rows.flatMap((row) => columns.map((column) => ({ x: x + column, y: y + row })));
  return spots.map((spot) => {
    const box = { left: spot.x - half, top: spot.y - 16, right: spot.x + half, bottom: spot.y + 6 };
    return /** @type {Label} */ ({ text, ...spot, align: "middle", box });
  }).find(({ box }) => isFree(box, taken, inside));
}

/** Returns where the map's controls lie, in the corners of the view. @param {Box} view */
function controlBoxes({ left, top, right, bottom }) {
  return [
    { left, top, right: left + 130, bottom: top + 32 },
    { left: right - 90, top, right, bottom: top + 56 },
    { left: right - 56, top, right, bottom: top + 164 },
    { left, top: bottom - 52, right: left + 240, bottom },
  ];
}

/** Returns what is in view, in the pane's pixels. @param {L.Map} map @returns {Box} */
function view(map) {
  const corner = map.containerPointToLayerPoint([0, 0]);
  const { x, y } = map.getSize();
  const [left, top] = [corner.x + EDGE, corner.y + EDGE];
  return { left, top, right: corner.x + x - EDGE, bottom: corner.y + y - EDGE };
}

/** @param {HTMLElement} container */
function measure(container) {
  const context = document.createElement("canvas").getContext("2d");
  if (!context) throw new Error("no canvas to measure text on");
  context.font = `${FONT} ${getComputedStyle(container).fontFamily}`;
  return (/** @type {string} */ text) => context.measureText(text).width;
}

/**
 * Moves spots that lie on each other apart, outwards in a spiral; earlier ones stay.
 * @param {Spot[]} spots
 * @param {number} gap the least distance of two
 * @returns {Spot[]}
 */
export function spreadApart(spots, gap) {
  /** @type {Spot[]} */
  const placed = [];
  for (const { x, y } of spots) {
    let spot = { x, y };
    for (let turn = 0; turn < MOST_TURNS; turn += 1) {
      const [radius, angle] = [4 * turn, 2.4 * turn];
      spot = { x: x + radius * Math.cos(angle), y: y + radius * Math.sin(angle) };
      if (placed.every((other) => Math.hypot(spot.x - other.x, spot.y - other.y) >= gap)) break;
    }
    placed.push(spot);
  }
  return placed;
}

/**
 * Groups spots around the first of each group, in their order.
 * @param {Spot[]} spots
 * @param {number} gap the least distance of two groups' first spots
 * @returns {number[][]} indices
 */
export function groupNear(spots, gap) {
  /** @type {number[][]} */
  const groups = [];
  spots.forEach((spot, index) => {
    const near = groups.find(([first]) => Math.hypot(spots[first].x - spot.x, spots[first].y - spot.y) < gap);
    if (near) near.push(index);
    else groups.push([index]);
  });
  return groups;
}

/** Returns what a pin covers whose tip is at the spot. @param {Spot} spot @returns {Box} */
export function pinBox({ x, y }) {
  return { left: x - 15, top: y - 36, right: x + 15, bottom: y + 2 };
}

/** Tells whether two boxes cover each other anywhere. @param {Box} a @param {Box} b */
export function overlap(a, b) {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}

/** Tells whether a box is in view, on nothing. @param {Box} box @param {Box[]} taken @param {Box} inside */
const isFree = (box, taken, inside) => box.left >= inside.left && box.right <= inside.right &&
  box.top >= inside.top && box.bottom <= inside.bottom && !taken.some((other) => overlap(box, other));

/**
 * Places the name right, left, below or above of the pin whose tip is at `pin`, or beside the middle there
 * where the edge is near, or beside the pin's head; null without room.
 * @param {string} text
 * @param {number} width of the text
 * @param {Spot} pin
 * @param {Box[]} taken what must stay free
 * @param {Box} inside what it must not leave
 * @returns {Label|null}
 */
export function placeLabel(text, width, pin, taken, inside) {
  const { x, y } = pin;
  const within = Math.min(Math.max(x - width / 2, inside.left), inside.right - width);
  /** @type {[Label["align"], number, number, number][]} */
  const spots = [
    ["start", x + BESIDE, y - 17, x + BESIDE],
    ["end", x - BESIDE, y - 17, x - BESIDE - width],
    ["start", within, y + 15, within],
    ["start", within, y - 40, within],
    ["start", x - 10, y + 15, x - 10],
    ["end", x + 10, y + 15, x + 10 - width],
    ["start", x + BESIDE, y - 31, x + BESIDE],
    ["end", x - BESIDE, y - 31, x - BESIDE - width],
  ];
  for (const [align, atX, atY, left] of spots) {
    const box = { left, top: atY - LINE + 2, right: left + width, bottom: atY + 4 };
    if (isFree(box, taken, inside)) return { text, x: atX, y: atY, align, box };
  }
  return null;
}

/**
 * Cuts the text so that it is at most as wide, by the measure given: first what it has in brackets.
 * @param {string} text
 * @param {number} longest
 * @param {(text: string) => number} widthOf
 */
export function shorten(text, longest, widthOf) {
  const line = text.split(/\s+/).filter(Boolean).join(" ");
  const letters = [...line].slice(0, MOST_LETTERS);
  const brief = letters.join("").replace(/(?<=\S)\s*[(（].*$/u, "");
  if (letters.join("") === line && widthOf(line) <= longest) return line;
  if (brief !== letters.join("") && widthOf(brief) <= longest) return brief;
  while (letters.length && widthOf(`${letters.join("")}…`) > longest) letters.pop();
  return `${letters.join("").trimEnd()}…`;
}
