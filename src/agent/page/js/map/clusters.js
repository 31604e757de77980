/** Pins too many to be told apart, drawn together: a disc with their number, which opens when chosen. */

import { L } from "../../vendor/leaflet.js";
import { el } from "../dom.js";
import { translator } from "../i18n.js";
import { groupNear } from "./declutter_labels.js";
import { pressable } from "./markers.js";

/** @import { Pin } from "./declutter_labels.js" */

const say = translator("page.clusters");
const MOST_PINS = 30;
const NEAR_PX = 52;
/** @type {L.Padding} */
const FIT = { paddingTopLeft: [48, 80], paddingBottomRight: [64, 88] };

/**
 * Hides pins that lie close together behind a disc, while there are more than thirty.
 * @param {L.Map} map
 * @returns {(pins: Pin[], selected: L.Marker|null) => Pin[]} what is left to be placed, discs among it; the
 *   chosen pin stays one
 */
export function clustering(map) {
  const discs = L.layerGroup().addTo(map);
  return (pins, selected) => {
    discs.clearLayers();
    const many = pins.length > MOST_PINS && map.getZoom() < map.getMaxZoom();
    const groups = many
      ? groupNear(pins.map(({ at }) => map.latLngToLayerPoint(at)), NEAR_PX)
      : pins.map((_, index) => [index]);
    return groups.flatMap((members) => {
      const own = members.map((index) => pins[index]);
      const left = own.filter(({ marker }) => own.length === 1 || marker === selected);
      for (const pin of own) pin.marker.getElement()?.toggleAttribute("hidden", !left.includes(pin));
      if (own.length === 1) return own;
      const bounds = L.latLngBounds(own.map(({ at }) => at));
      const { lat, lng } = bounds.getCenter();
      const marker = disc(own.length, [lat, lng], () => map.fitBounds(bounds, FIT)).addTo(discs);
      return [...left, { marker, at: [lat, lng], name: "", strong: false }];
    });
  };
}

/** @param {number} count @param {LatLng} at @param {() => void} open */
function disc(count, at, open) {
  const icon = L.divIcon({ className: "map-cluster", html: el("span", {}, count), iconSize: [40, 40] });
  const marker = L.marker(at, { icon, keyboard: true, zIndexOffset: 400 });
  pressable(marker, say("cluster", { count }), open);
  return marker;
}
