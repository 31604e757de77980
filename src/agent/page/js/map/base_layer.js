/** The ground under the places: licensed tiles where the server names them, else a grid of our own. */

import { L } from "../../vendor/leaflet.js";
import { link, svg } from "../dom.js";
import { language, translator } from "../i18n.js";
import { METRES_PER_DEGREE, niceStep } from "./coordinates.js";
import { metres } from "./place_facts.js";

const GRID_ZOOM = { minZoom: 3, maxZoom: 19 };

/** @typedef {{setOrigin(point: Point|null): void}} Ground distances are counted from the origin */

/** Returns those of the map's own options that depend on the base layer. @param {Tiles|null} tiles */
export function zoomRange(tiles) {
  if (!tiles) return { ...GRID_ZOOM, zoomSnap: 0.25, zoomDelta: 0.5 };
  return { minZoom: GRID_ZOOM.minZoom, maxZoom: tiles.max_zoom };
}

/**
 * Lays the ground. The grid also comes where not one tile can be loaded.
 * @param {L.Map} map
 * @param {Tiles|null} tiles
 * @returns {Ground & {crs: LayerCrs}}
 */
export function layGround(map, tiles) {
  /** @type {Point|null} */
  let origin = null;
  let grid = tiles ? null : gridLayer(map);
  if (tiles) addTiles(map, tiles, () => {
    grid ??= gridLayer(map);
    grid.setOrigin(origin);
  });
  return {
    crs: tiles?.crs ?? "wgs84",
    setOrigin(point) {
      origin = point;
      grid?.setOrigin(point);
    },
  };
}

/** Says whose tiles these are, with a link to their terms; null for the grid. @param {Tiles|null} tiles */
export function attribution(tiles) {
  return tiles && link(tiles.attribution_url, tiles[`attribution_${language}`]);
}

/**
 * @param {L.Map} map
 * @param {Tiles} tiles
 * @param {() => void} onNothing called where not one could be loaded
 */
function addTiles(map, tiles, onNothing) {
  let loaded = false;
  const options = {
    subdomains: tiles.subdomains.length ? tiles.subdomains : "a",
    maxZoom: tiles.max_zoom,
    referrerPolicy: tiles.referrer_policy,
  };
  for (const url of [tiles.url, ...tiles.overlays]) {
    const layer = L.tileLayer(url, options).addTo(map);
    layer.on("tileload", () => { loaded = true; });
    layer.on("tileerror", () => { if (!loaded) onNothing(); });
  }
}

const say = translator("page.base_layer");
const SPACING_PX = 110;
const LARGEST_STEP_M = 2_000_000;
/** Lines start from here if nothing is looked for anywhere. */
const NOWHERE = { lng: 105, lat: 35 };
const MOST_LINES = 60;
const LABEL_PX = 76;
/** The map's own signs stand there: no labels. */
const CORNER = { left: 156, top: 60, right: 150, bottom: 8 };
const EVENTS = "move zoom viewreset resize zoomend";

/**
 * Draws the grid under the map's panes, in the container's pixels, whenever the view changes.
 * @param {L.Map} map with a view, or before it has one
 * @returns {Ground} origin: degrees in the layer's system; null: lines only
 */
function gridLayer(map) {
  /** @type {Point|null} */
  let origin = null;
  const node = svg("svg", { class: "map-grid", "aria-hidden": "true" });
  map.getContainer().append(node);
  const draw = () => {
    node.replaceChildren(...lines(map, origin ?? NOWHERE, origin !== null));
  };
  map.on(EVENTS, draw);
  map.whenReady(draw);
  return {
    setOrigin(point) {
      origin = point;
      map.whenReady(draw);
    },
  };
}

/** @param {L.Map} map @param {Point} origin @param {boolean} counts */
function lines(map, origin, counts) {
  const { x: width, y: height } = map.getSize();
  const step = stepOf(map, origin);
  const bounds = map.getBounds();
  /** @param {number} lat @param {number} lng */
  const pixel = (lat, lng) => map.latLngToContainerPoint([lat, lng]);
  const across = step / (METRES_PER_DEGREE * Math.cos((origin.lat * Math.PI) / 180));
  const down = step / METRES_PER_DEGREE;
  const columns = indices(bounds.getWest(), bounds.getEast(), origin.lng, across)
    .map((index) => ({ index, x: crisp(pixel(origin.lat, origin.lng + index * across).x) }));
  const rows = indices(bounds.getSouth(), bounds.getNorth(), origin.lat, down)
    .map((index) => ({ index, y: crisp(pixel(origin.lat + index * down, origin.lng).y) }));
  const seldom = columns.length > 1 && columns[1].x - columns[0].x < LABEL_PX ? 2 : 1;
  /** @param {{index: number}} line */
  const isLabelled = ({ index }) => counts && index !== 0 && index % seldom === 0;
  return [
    ...columns.map(({ index, x }) => rule(counts && index === 0, `M${x} 0V${height}`)),
    ...rows.map(({ index, y }) => rule(counts && index === 0, `M0 ${y}H${width}`)),
    ...columns.filter((line) => isLabelled(line) && line.x < width - CORNER.right && line.x > CORNER.left)
      .map(({ index, x }) => label(index > 0 ? "east" : "west", Math.abs(index) * step, x + 4, 14)),
    ...rows.filter((line) => isLabelled(line) && line.y > CORNER.top && line.y < height - CORNER.bottom)
      .map(({ index, y }) => label(index > 0 ? "north" : "south", Math.abs(index) * step, 6, y - 4)),
  ];
}

/** Returns the metres between two lines at this zoom. @param {L.Map} map @param {Point} origin */
function stepOf(map, origin) {
  const at = map.latLngToContainerPoint([origin.lat, origin.lng]);
  const beside = map.containerPointToLatLng([at.x + SPACING_PX, at.y]);
  const perDegree = METRES_PER_DEGREE * Math.cos((origin.lat * Math.PI) / 180);
  const wide = Math.abs(beside.lng - origin.lng) * perDegree;
  return Math.min(niceStep(Math.max(wide, 1)), LARGEST_STEP_M);
}

/**
 * Lists which lines, counted from the origin, lie between two edges; none where they would be a wall.
 * @param {number} from
 * @param {number} to
 * @param {number} origin
 * @param {number} step
 */
function indices(from, to, origin, step) {
  const [first, last] = [Math.ceil((from - origin) / step), Math.floor((to - origin) / step)];
  if (!(last - first < MOST_LINES)) return [];
  return Array.from({ length: last - first + 1 }, (_, offset) => first + offset);
}

/** @param {boolean} middle @param {string} d */
function rule(middle, d) {
  return svg("path", { class: middle ? "map-grid-middle" : "map-grid-line", d });
}

/**
 * @param {"east"|"west"|"north"|"south"} side
 * @param {number} far metres
 * @param {number} x
 * @param {number} y
 */
function label(side, far, x, y) {
  return svg("text", { class: "map-grid-label", x, y }, say(side, { far: metres(far) }));
}

/** Moves a line of one pixel so that it covers one. @param {number} pixels */
function crisp(pixels) {
  return Math.round(pixels) + 0.5;
}
