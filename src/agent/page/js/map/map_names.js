/** Names beside the pins, and the lines from pins that had to give way to where they belong. */

import { pinBox, placeLabel, shortened, spread } from "./arrange.js";
import { svg } from "../svg.js";

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
export function pinNames(map) {
  let shown = { pins: [], centre: null };
  let selected = null;
  const node = svg("svg", { class: "map-names leaflet-zoom-hide", "aria-hidden": "true", width: 1, height: 1 });
  map.createPane(PANE).append(node);
  const draw = () => node.replaceChildren(...arranged(map, shown, selected));
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

function arranged(map, { pins, centre }, selected) {
  const places = pins.map(({ at }) => map.latLngToLayerPoint(at));
  const spots = spread(places, PIN_GAP);
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
  const taken = [...spots.map(pinBox), ...signs(inside)];
  const wanted = named.map(({ name, spot }) => ({ name, spot, kind: "map-name" }));
  if (centre) {
    const { x, y } = map.latLngToLayerPoint(centre.at);
    taken.push({ left: x - CENTRE, top: y - CENTRE, right: x + CENTRE, bottom: y + CENTRE });
    wanted.push({ name: centre.name, spot: { x, y: y + CENTRE }, kind: "map-name centre" });
  }
  return wanted.flatMap(({ name, spot, kind }) => {
    const text = shortened(name, longest, widthOf);
    const label = placeLabel(text, widthOf(text), spot, taken, inside);
    if (!label) return [];
    taken.push(label.box);
    return [svg("text", { class: kind, x: label.x, y: label.y, "text-anchor": label.align }, text)];
  });
}

/** Where the map's controls lie, in the upper corners of the view. */
function signs({ left, top, right }) {
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
