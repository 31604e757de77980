/** The ground under the places: streets, where there are any and the reader wants them, else a sheet. */

import { L } from "../../vendor/leaflet.js";
import { el, fill, link } from "../dom.js";
import { language, translator } from "../i18n.js";
import { prefer, preference } from "../preferences.js";
import { sheetLayer } from "./sheet.js";

const say = translator("page.base_layer");
/** The map's own options: a sheet can be zoomed by less than what tiles are drawn for. */
export const ZOOM = { minZoom: 3, maxZoom: 19, zoomSnap: 0.25, zoomDelta: 0.5 };

/**
 * @typedef {object} Ground
 * @property {HTMLElement} node says why there are no streets, or lets the reader show and hide them
 * @property {boolean} hasStreets
 * @property {(centre: LatLng|null) => void} show draws distances from there while there are no streets
 */

/**
 * Lays the ground. The sheet also comes where not one tile can be loaded.
 * @param {L.Map} map
 * @param {Tiles|null} tiles null: the server has no base map
 * @param {() => void} onChange called when streets were shown or hidden
 * @returns {Ground}
 */
export function layGround(map, tiles, onChange) {
  const sheet = sheetLayer(map);
  const node = el("div", { class: "map-streets", dataset: { part: "streets" } });
  // Streets of this server need no asking.
  let wanted = Boolean(tiles) && (preference("streets") ?? (tiles?.host ? "off" : "on")) === "on";
  /** @type {L.Layer[]} */
  let layers = [];
  const lay = async () => {
    for (const layer of layers) layer.remove();
    layers = [];
    sheet.setVisible(!(wanted && tiles));
    fill(node, ...about(tiles, wanted, toggle));
    const laid = wanted && tiles ? await streets(tiles, () => sheet.setVisible(true)) : [];
    if (!wanted || layers.length) return;
    layers = laid;
    for (const layer of laid) layer.addTo(map);
  };
  function toggle() {
    wanted = !wanted;
    prefer("streets", wanted ? "on" : "off");
    lay();
    node.querySelector("button")?.focus();
    onChange();
  }
  lay();
  return { node, get hasStreets() { return wanted; }, show: (centre) => sheet.show(centre) };
}

/** Says whose the streets are, with a link to their terms. @param {Tiles} tiles */
export function attribution(tiles) {
  const text = tiles[`attribution_${language}`];
  return tiles.attribution_url ? link(tiles.attribution_url, text) : text;
}

/** @param {Tiles|null} tiles @param {boolean} shown @param {() => void} toggle */
function about(tiles, shown, toggle) {
  if (!tiles) return [el("p", {}, say("none"))];
  const told = tiles.host ? say("told", { host: tiles.host }) : say("own");
  return [
    el("button", { type: "button", class: "button", onclick: toggle }, say(shown ? "hide" : "show")),
    !shown && el("p", {}, told),
  ];
}

/**
 * Makes the layers, not yet on the map. The renderer of vector tiles is only loaded here.
 * @param {Tiles} tiles
 * @param {() => void} onNothing called where not one could be loaded
 * @returns {Promise<L.Layer[]>}
 */
async function streets(tiles, onNothing) {
  let loaded = false;
  const layers = tiles.kind === "vector" ? [await vectorLayer(tiles)] : [tiles.url, ...tiles.overlays]
    .map((url) => L.tileLayer(url, {
      subdomains: tiles.subdomains.length ? tiles.subdomains : "a",
      maxZoom: ZOOM.maxZoom,
      maxNativeZoom: tiles.max_zoom,
      referrerPolicy: tiles.referrer_policy,
    }));
  for (const layer of layers) {
    layer.on("tileload", () => { loaded = true; });
    layer.on("tileerror", () => { if (!loaded) onNothing(); });
  }
  return layers;
}

/** @param {Tiles} tiles */
async function vectorLayer(tiles) {
  const { vectorTiles } = await import("./vector_tiles.js");
  return vectorTiles(tiles);
}
