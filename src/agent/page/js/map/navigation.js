/** Links that lead a person to a place with the map they use. Pure. */

import { mapOf } from "./place_facts.js";

const NAME_LENGTH = 20;
/** Amap's names of the ways to travel. @type {Record<string, string>} */
const MODES = { walking: "walk", transit: "bus", driving: "car", bicycling: "ride" };

/** @typedef {"amap"|"apple"|"google"} Navigator */

/**
 * Returns a link for each service, from where the person is to the place.
 *
 * The roads of all three are drawn in GCJ-02 in mainland China, so each gets the map service's own
 * position; elsewhere that is WGS-84.
 * @param {Located & {name: string, id?: string}} place
 * @returns {[Navigator, string][]} the name of the service, and its address
 */
export function navigationLinks(place) {
  const { lng, lat } = place.location ?? place.wgs84;
  const at = `${lat},${lng}`;
  return [
    ...(mapOf(place) === "amap" ? [/** @type {[Navigator, string]} */ (["amap", amapLink(place)])] : []),
    ["apple", `https://maps.apple.com/?${new URLSearchParams({ daddr: at, dirflg: "w" })}`],
    ["google", `https://www.google.com/maps/dir/?${new URLSearchParams({ api: "1", destination: at })}`],
  ];
}

/**
 * Returns Amap's navigation to a place from where the person is.
 * @param {Located & {name: string}} place
 * @param {string} mode
 */
export function amapLink({ name, location, wgs84 }, mode = "walking") {
  const { lng, lat } = location ?? wgs84;
  const to = `${lng},${lat},${name.replaceAll(/[,|]/g, " ").slice(0, NAME_LENGTH)}`;
  const coordinate = location?.crs === "GCJ-02" ? "gaode" : "wgs84";
  const values = { to, mode: MODES[mode] ?? "walk", src: "tanlu", coordinate, callnative: "1" };
  return `https://uri.amap.com/navigation?${new URLSearchParams(values)}`;
}

/** Returns the address of a QR code, made by this server, that opens Amap. @param {string} link */
export const qrCode = (link) => `app/qr.svg?${new URLSearchParams({ url: link })}`;
