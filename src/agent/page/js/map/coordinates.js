/** Coordinates in WGS-84 degrees, and the steps that distances are drawn in. */

/** Along a meridian of a sphere with the earth's mean radius. */
export const METRES_PER_DEGREE = (6_371_008.8 * Math.PI) / 180;

/** Tells whether these are degrees at all. @param {Point|null|undefined} point @returns {point is Point} */
export function isPoint(point) {
  if (!point) return false;
  const { lng, lat } = point;
  return Number.isFinite(lng) && Number.isFinite(lat) && Math.abs(lng) <= 180 && Math.abs(lat) <= 90;
}

/**
 * Returns the longitude (degrees, perhaps beyond ±180) by which `lng` is within half a turn of `near`.
 * @param {number} lng
 * @param {number} near
 */
export function lngNear(lng, near) {
  if (Math.abs(lng - near) <= 180) return lng;
  return near + ((((lng - near + 180) % 360) + 360) % 360) - 180;
}

/** Returns the largest of 1, 2, 5 times a power of ten that is not above `value`. @param {number} value */
export function niceStep(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [5, 2, 1].map((factor) => factor * power).find((step) => step <= value * 1.0000001) ?? power;
}
