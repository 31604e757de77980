/** What lies under the places: licensed tiles where the server names them, else our own grid. */

import { L } from "../../vendor/leaflet.js";
import { link } from "../dom.js";
import { gridLayer } from "./grid_layer.js";
import { language } from "../words.js";

const GRID_ZOOM = { minZoom: 3, maxZoom: 19 };

/**
 * How the map's own options depend on the base layer.
 * @param {object|null} tiles config.tiles
 */
export function zoomRange(tiles) {
  if (!tiles) return { ...GRID_ZOOM, zoomSnap: 0.25, zoomDelta: 0.5 };
  return { minZoom: GRID_ZOOM.minZoom, maxZoom: tiles.max_zoom };
}

/**
 * Lays the ground. The grid also comes where not one tile can be loaded.
 * @param {L.Map} map
 * @param {object|null} tiles config.tiles
 * @returns {{crs: "wgs84"|"gcj02", setOrigin(point: object|null): void}}
 */
export function layGround(map, tiles) {
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

/** Whose tiles these are, with a link to their terms; null for the grid. */
export function attribution(tiles) {
  return tiles && link(tiles.attribution_url, tiles[`attribution_${language}`]);
}

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
