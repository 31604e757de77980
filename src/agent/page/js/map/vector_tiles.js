/** Streets of a self-hosted file of vector tiles; loaded only where they are shown. */

import { L } from "../../vendor/leaflet.js";
import { el } from "../dom.js";

/** @import { PaintRule, LabelRule } from "../../vendor/protomaps-leaflet.js" */

const MAJOR = new Set(["highway", "major_road"]);
const GREEN = new Set([
  "park", "forest", "wood", "grass", "grassland", "garden", "nature_reserve", "cemetery", "golf_course",
  "village_green", "playground", "zoo", "scrub",
]);
const FAINT = new Set(["path", "other"]);

/**
 * Makes the layer; its tiles follow the schema of Protomaps' base maps.
 * @param {Tiles} tiles
 * @returns {Promise<L.Layer>}
 */
export async function vectorTiles({ url, max_zoom: maxDataZoom }) {
  // The library extends the Leaflet that it finds there.
  Object.assign(globalThis, { L });
  const library = await import("../../vendor/protomaps-leaflet.js");
  // A variable holds its light and its dark colour; only a colour in use is one of them.
  const probe = el("i", { hidden: true });
  document.body.append(probe);
  /** @param {string} name */
  const ink = (name) => {
    probe.style.color = `var(--map-${name})`;
    return getComputedStyle(probe).color;
  };
  const layer = library.leafletLayer({
    url,
    maxDataZoom,
    backgroundColor: ink("earth"),
    paintRules: paint(library, ink),
    labelRules: labels(library, ink),
  });
  probe.remove();
  return layer;
}

/**
 * @param {typeof import("../../vendor/protomaps-leaflet.js")} library
 * @param {(name: string) => string} ink
 * @returns {PaintRule[]}
 */
function paint({ PolygonSymbolizer, LineSymbolizer }, ink) {
  /** @param {string} dataLayer @param {string} colour */
  const area = (dataLayer, colour) =>
    ({ dataLayer, symbolizer: new PolygonSymbolizer({ fill: ink(colour) }) });
  /** @param {string} colour @param {number} width @param {PaintRule["filter"]} filter */
  const road = (colour, width, filter) => ({ dataLayer: "roads", filter,
    symbolizer: new LineSymbolizer({ color: ink(colour), width }) });
  /** @param {unknown} kind */
  const known = (kind) => MAJOR.has(String(kind)) || FAINT.has(String(kind)) || kind === "rail";
  return [
    area("earth", "earth"),
    { ...area("landuse", "green"), filter: (_zoom, { props }) => GREEN.has(String(props.kind)) },
    area("water", "water"),
    area("buildings", "building"),
    road("path", 1, (_zoom, { props }) => FAINT.has(String(props.kind))),
    road("rail", 1, (_zoom, { props }) => props.kind === "rail"),
    road("road", 2.5, (_zoom, { props }) => !known(props.kind)),
    road("major", 4, (_zoom, { props }) => MAJOR.has(String(props.kind))),
  ];
}

/**
 * @param {typeof import("../../vendor/protomaps-leaflet.js")} library
 * @param {(name: string) => string} ink
 * @returns {LabelRule[]}
 */
function labels({ CenteredTextSymbolizer, LineLabelSymbolizer }, ink) {
  const text = { labelProps: ["name"], fill: ink("text"), stroke: ink("earth"), width: 2 };
  /** @param {string} look */
  const font = (look) => ({ ...text, font: `${look} sans-serif` });
  return [
    { dataLayer: "places", symbolizer: new CenteredTextSymbolizer(font("600 13px")) },
    { dataLayer: "water", symbolizer: new CenteredTextSymbolizer(font("12px")) },
    { dataLayer: "roads", minzoom: 14, symbolizer: new LineLabelSymbolizer(font("11px")) },
  ];
}
