/** Links that lead a person to a place with the map they use. Pure. */

import { inLayer } from "./coordinates.js";

const NAME_LENGTH = 20;
/** Amap's names of the ways to travel. @type {Record<string, string>} */
const MODES = { walking: "walk", transit: "bus", driving: "car", bicycling: "ride" };

/** @typedef {"amap"|"apple"|"google"} Navigator */

/**
 * Returns a link for each service, from where the person is to the place.
 *
 * The roads of all three are drawn in GCJ-02 in mainland China, so each gets the map service's own
 * position; elsewhere that is WGS-84.
 * @param {Located & {name: string}} place
 * @returns {[Navigator, string][]} the name of the service, and its address
 */
export function navigationLinks(place) {
  const { lng, lat } = inLayer(place, "gcj02");
  const at = `${lat},${lng}`;
  return [
    ["amap", amapLink(place)],
    ["apple", `https://maps.apple.com/?${new URLSearchParams({ daddr: at, dirflg: "w" })}`],
    ["google", `https://www.google.com/maps/dir/?${new URLSearchParams({ api: "1", destination: at })}`],
  ];
}

/**
 * Returns Amap's navigation to a place, from another one or from where the person is.
 * @param {Located & {name: string}} to
 * @param {{from?: Located & {name: string}, mode?: string}} options
 */
export function amapLink(to, { from, mode = "walking" } = {}) {
  const values = new URLSearchParams({ to: named(to), mode: MODES[mode] ?? "walk", src: "tanlu",
    coordinate: to.location?.crs === "WGS-84" ? "wgs84" : "gaode", callnative: "1" });
  if (from) values.set("from", named(from));
  return `https://uri.amap.com/navigation?${values}`;
}

/** @param {Located & {name: string}} place */
function named(place) {
  const { lng, lat } = inLayer(place, "gcj02");
  return `${lng},${lat},${place.name.replaceAll(/[,|]/g, " ").slice(0, NAME_LENGTH)}`;
}

/** Returns the address of a QR code, made by this server, that opens Amap. @param {string} link */
export const qrCode = (link) => `/app/qr.svg?${new URLSearchParams({ url: link })}`;
