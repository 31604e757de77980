/** The sheet under the places where no streets are shown: rings of distance. */

import { svg } from "../dom.js";
import { METRES_PER_DEGREE, niceStep } from "./coordinates.js";
import { metres } from "./place_facts.js";

/** @import { L } from "../../vendor/leaflet.js" */

const SPACING_PX = 96;
const LARGEST_STEP_M = 2_000_000;
const MOST_RINGS = 60;
/** The map's own signs stand at the edges: no figures. */
const EDGE = { top: 60, side: 28, bottom: 48 };

/**
 * Draws under the map's panes, in the container's pixels, whenever the view changes.
 * @param {L.Map} map with a view, or before it has one
 * @returns {{show(centre: LatLng|null): void, setVisible(visible: boolean): void}} `centre` is what
 *   distances are counted from; without it there are no rings
 */
export function sheetLayer(map) {
  /** @type {LatLng|null} */
  let shown = null;
  const node = svg("svg", { class: "map-sheet", "aria-hidden": "true" });
  map.getContainer().append(node);
  const draw = () => {
    node.classList.toggle("lattice", !shown);
    node.replaceChildren(...(shown ? rings(map, shown) : []));
  };
  map.on("move zoom viewreset resize zoomend", draw);
  map.whenReady(draw);
  return {
    show(centre) {
      shown = centre;
      map.whenReady(draw);
    },
    setVisible(visible) { node.classList.toggle("away", !visible); },
  };
}

/** @param {L.Map} map @param {LatLng} centre */
function rings(map, centre) {
  const size = map.getSize();
  const { x, y } = map.latLngToContainerPoint(centre);
  const metre = pixelsOfMetre(map, centre);
  const step = Math.min(niceStep(SPACING_PX / metre), LARGEST_STEP_M);
  const [across, down] = [[x, size.x - x], [y, size.y - y]];
  const nearest = Math.hypot(...[across, down].map((sides) => Math.max(0, -Math.min(...sides))));
  const farthest = Math.hypot(Math.max(...across.map(Math.abs)), Math.max(...down.map(Math.abs)));
  const [first, last] = [nearest, farthest].map((pixels) => pixels / (step * metre));
  const from = Math.max(1, Math.ceil(first));
  const count = Math.max(0, Math.min(MOST_RINGS, Math.floor(last) - from + 1));
  const drawn = Array.from({ length: count }, (_, index) => (from + index) * step);
  return [
    svg("path", { class: "map-axes", d: `M${crisp(x)} 0V${size.y}M0 ${crisp(y)}H${size.x}` }),
    ...drawn.map((far) => svg("circle", { cx: x, cy: y, r: far * metre })),
    ...drawn.flatMap((far) => figure(metres(far), { x, y }, far * metre, size)),
  ];
}

/**
 * Writes a ring's radius where the ring crosses north, east, south or west in view.
 * @param {string} text
 * @param {L.PixelPoint} middle
 * @param {number} radius pixels
 * @param {L.PixelPoint} size
 */
function figure(text, middle, radius, size) {
  const crossings = [[0, -radius], [radius, 0], [0, radius], [-radius, 0]];
  const seen = crossings.map(([east, south]) => ({ x: middle.x + east, y: middle.y + south }))
    .find(({ x, y }) => x > EDGE.side && x < size.x - EDGE.side && y > EDGE.top && y < size.y - EDGE.bottom);
  return seen ? [svg("text", { class: "map-ring", x: seen.x, y: seen.y + 4 }, text)] : [];
}

/** Returns how many pixels a metre is there. @param {L.Map} map @param {LatLng} at */
function pixelsOfMetre(map, [lat, lng]) {
  const here = map.latLngToContainerPoint([lat, lng]);
  const degree = METRES_PER_DEGREE * Math.cos((lat * Math.PI) / 180);
  const beside = map.containerPointToLatLng([here.x + SPACING_PX, here.y]);
  return SPACING_PX / Math.max(1, Math.abs(beside.lng - lng) * degree);
}

/** Moves a line of one pixel so that it covers one. @param {number} pixels */
function crisp(pixels) { return Math.round(pixels) + 0.5; }
