/** Pins and their labels, layOut so that they do not cover each other. Pixels; y grows downwards. */

import { svg } from "../dom.js";

const PANE = "names";
const FONT = "600 13px";
/** Of the map's width. */
const LONGEST = 0.4;
const PIN_GAP = 26;
const EDGE = 4;
/** Half the width of the sign of the search's centre. */
const CENTRE = 10;

/**
 * @typedef {{marker: L.Marker, at: [number, number], name: string, strong: boolean}} Pin
 *   `at`: latitude and longitude of the place; the marker may stand beside it
 */
/**
 * Arranges the pins whenever the map comes to rest.
 * @param {L.Map} map
 * @returns {{show(pins: Pin[], centre: {at: [number, number], name: string}|null): void, select(marker: L.Marker|null): void}}
 */
export function pinLabels(map) {
  let shown = { pins: [], centre: null };
  let selected = null;
  const node = svg("svg", { class: "map-names leaflet-zoom-hide", "aria-hidden": "true", width: 1, height: 1 });
  map.createPane(PANE).append(node);
  const draw = () => node.replaceChildren(...layOut(map, shown, selected));
  map.on("zoomend moveend resize viewreset", draw);
  return {
    show(pins, centre) {
      shown = { pins, centre };
      map.whenReady(draw);
    },
    select(marker) {
      selected = marker;
      map.whenReady(draw);
    },
  };
}

function layOut(map, { pins, centre }, selected) {
  const places = pins.map(({ at }) => map.latLngToLayerPoint(at));
  const spots = spreadApart(places, PIN_GAP);
  pins.forEach(({ marker, at }, index) => {
    const moved = spots[index].x !== places[index].x || spots[index].y !== places[index].y;
    marker.setLatLng(moved ? map.layerPointToLatLng([spots[index].x, spots[index].y]) : at);
  });
  const named = pins.map((pin, index) => ({ ...pin, spot: spots[index] }))
    .filter(({ strong, marker }) => strong || marker === selected)
    .sort((a, b) => (b.marker === selected) - (a.marker === selected));
  return [...leaders(places, spots), ...labels(map, named, centre, spots)];
}

function leaders(places, spots) {
  return places.flatMap((from, index) => {
    const to = spots[index];
    if (Math.hypot(to.x - from.x, to.y - from.y) < 2) return [];
    return [svg("path", { class: "map-leader", d: `M${from.x} ${from.y}L${to.x} ${to.y}` })];
  });
}

/** The chosen pin's name first; the faint ones say theirs when they are pointed at. */
function labels(map, named, centre, spots) {
  const widthOf = measure(map.getContainer());
  const inside = view(map);
  const longest = LONGEST * (inside.right - inside.left);
  const taken = [...spots.map(pinBox), ...controlBoxes(inside)];
  const wanted = named.map(({ name, spot }) => ({ name, spot, kind: "map-name" }));
  if (centre) {
    const { x, y } = map.latLngToLayerPoint(centre.at);
    taken.push({ left: x - CENTRE, top: y - CENTRE, right: x + CENTRE, bottom: y + CENTRE });
    wanted.push({ name: centre.name, spot: { x, y: y + CENTRE }, kind: "map-name centre" });
  }
  return wanted.flatMap(({ name, spot, kind }) => {
    const text = shorten(name, longest, widthOf);
    const label = placeLabel(text, widthOf(text), spot, taken, inside);
    if (!label) return [];
    taken.push(label.box);
    return [svg("text", { class: kind, x: label.x, y: label.y, "text-anchor": label.align }, text)];
  });
}

/** Where the map's controls lie, in the upper corners of the view. */
function controlBoxes({ left, top, right }) {
  return [
    { left, top, right: left + 130, bottom: top + 32 },
    { left: right - 90, top, right, bottom: top + 56 },
    { left: right - 56, top, right, bottom: top + 164 },
  ];
}

/** What is in view, in the pane's pixels. */
function view(map) {
  const corner = map.containerPointToLayerPoint([0, 0]);
  const { x, y } = map.getSize();
  return { left: corner.x + EDGE, top: corner.y + EDGE, right: corner.x + x - EDGE, bottom: corner.y + y - EDGE };
}

function measure(container) {
  const context = document.createElement("canvas").getContext("2d");
  context.font = `${FONT} ${getComputedStyle(container).fontFamily}`;
  return (text) => context.measureText(text).width;
}

/** @typedef {{x: number, y: number}} Spot */
/** @typedef {{left: number, top: number, right: number, bottom: number}} Box */
/** @typedef {{text: string, x: number, y: number, align: "start"|"end"|"middle", box: Box}} Label */

const MOST_TURNS = 60;
const LINE = 14;
const BESIDE = 20;
/** No map shows more of a name; measuring every length of a very long one would take minutes. */
const MOST_LETTERS = 120;

/**
 * Moves spots that lie on each other apart, outwards in a spiral; earlier ones stay.
 * @param {Spot[]} spots
 * @param {number} gap the least distance of two
 * @returns {Spot[]}
 */
export function spreadApart(spots, gap) {
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

/** What a pin covers whose tip is at the spot. */
export function pinBox({ x, y }) {
  return { left: x - 15, top: y - 36, right: x + 15, bottom: y + 2 };
}

/** Whether two boxes cover each other anywhere. */
export function overlap(a, b) {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}

/**
 * The name right, left, below or above of the pin whose tip is at `pin`; null without room.
 * @param {string} text
 * @param {number} width of the text
 * @param {Spot} pin
 * @param {Box[]} taken what must stay free
 * @param {Box} inside what it must not leave
 * @returns {Label|null}
 */
export function placeLabel(text, width, pin, taken, inside) {
  const { x, y } = pin;
  const spots = [
    ["start", x + BESIDE, y - 17, x + BESIDE],
    ["end", x - BESIDE, y - 17, x - BESIDE - width],
    ["middle", x, y + 15, x - width / 2],
    ["middle", x, y - 40, x - width / 2],
  ];
  for (const [align, atX, atY, left] of spots) {
    const box = { left, top: atY - LINE + 2, right: left + width, bottom: atY + 4 };
    const fits = box.left >= inside.left && box.right <= inside.right &&
      box.top >= inside.top && box.bottom <= inside.bottom;
    if (fits && !taken.some((other) => overlap(box, other))) return { text, x: atX, y: atY, align, box };
  }
  return null;
}

/** The text cut so that it is at most as wide, by the measure given. */
export function shorten(text, longest, widthOf) {
  const told = text.split(/\s+/).filter(Boolean).join(" ");
  const letters = [...told].slice(0, MOST_LETTERS);
  if (letters.join("") === told && widthOf(told) <= longest) return told;
  while (letters.length && widthOf(`${letters.join("")}…`) > longest) letters.pop();
  return `${letters.join("").trimEnd()}…`;
}
