/** The ground of a map without tiles: lines every nice number of metres, said how far from where. */

import { METRES_PER_DEGREE, niceStep } from "./coordinates.js";
import { svg } from "./svg.js";
import { metres } from "./wording.js";
import { speaking } from "./words.js";

const say = speaking({
  zh: { east: "东 {far}", west: "西 {far}", north: "北 {far}", south: "南 {far}" },
  en: { east: "{far} E", west: "{far} W", north: "{far} N", south: "{far} S" },
});
const SPACING_PX = 110;
const LARGEST_STEP_M = 2_000_000;
const MOST_LINES = 60;
const EVENTS = "move zoom viewreset resize zoomend";

/**
 * Draws the grid under the map's panes, in the container's pixels, whenever the view changes.
 * @param {import("../vendor/leaflet.js").Map} map with a view, or before it has one
 * @returns {{setOrigin(point: {lng: number, lat: number}|null): void, remove(): void}}
 *   origin: degrees in the layer's system; distances are counted from there
 */
export function gridLayer(map) {
  let origin = null;
  const node = svg("svg", { class: "map-grid", "aria-hidden": "true" });
  map.getContainer().append(node);
  const draw = () => {
    if (!map._loaded) return;
    node.replaceChildren(...lines(map, origin ?? map.getCenter()));
  };
  map.on(EVENTS, draw);
  map.whenReady(draw);
  return {
    setOrigin(point) {
      origin = point;
      draw();
    },
    remove() {
      map.off(EVENTS, draw);
      node.remove();
    },
  };
}

function lines(map, origin) {
  const { x: width, y: height } = map.getSize();
  const step = stepOf(map, origin);
  const across = { size: width, degrees: step / (METRES_PER_DEGREE * Math.cos((origin.lat * Math.PI) / 180)) };
  const down = { size: height, degrees: step / METRES_PER_DEGREE };
  const bounds = map.getBounds();
  const pixel = (lat, lng) => map.latLngToContainerPoint([lat, lng]);
  const drawn = [];
  for (const index of indices(bounds.getWest(), bounds.getEast(), origin.lng, across.degrees)) {
    const { x } = pixel(origin.lat, origin.lng + index * across.degrees);
    drawn.push(rule(index, `M${round(x)} 0V${height}`));
    if (index) drawn.push(label(index > 0 ? "east" : "west", Math.abs(index) * step, round(x) + 4, 14));
  }
  for (const index of indices(bounds.getSouth(), bounds.getNorth(), origin.lat, down.degrees)) {
    const { y } = pixel(origin.lat + index * down.degrees, origin.lng);
    drawn.push(rule(index, `M0 ${round(y)}H${width}`));
    if (index) drawn.push(label(index > 0 ? "north" : "south", Math.abs(index) * step, 6, round(y) - 4));
  }
  return drawn;
}

/** Metres between two lines at this zoom. */
function stepOf(map, origin) {
  const at = map.latLngToContainerPoint([origin.lat, origin.lng]);
  const beside = map.containerPointToLatLng([at.x + SPACING_PX, at.y]);
  const wide = Math.abs(beside.lng - origin.lng) * METRES_PER_DEGREE * Math.cos((origin.lat * Math.PI) / 180);
  return Math.min(niceStep(Math.max(wide, 1)), LARGEST_STEP_M);
}

/** Which lines, counted from the origin, lie between two edges; none where they would be a wall. */
function indices(from, to, origin, step) {
  const [first, last] = [Math.ceil((from - origin) / step), Math.floor((to - origin) / step)];
  if (!(last - first < MOST_LINES)) return [];
  return Array.from({ length: last - first + 1 }, (_, offset) => first + offset);
}

function rule(index, d) {
  return svg("path", { class: index === 0 ? "map-grid-middle" : "map-grid-line", d });
}

function label(side, far, x, y) {
  return svg("text", { class: "map-grid-label", x, y }, say(side, { far: metres(far) }));
}

function round(pixels) {
  return Math.round(pixels) + 0.5;
}
