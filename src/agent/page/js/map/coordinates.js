/**
 * Coordinates: GCJ-02 ↔ WGS-84, distance, and which of the two a map layer is drawn in.
 * The same figures as the server's `evidence/geodesy.py`; a test holds the two together.
 */

export const EARTH_RADIUS_M = 6_371_008.8;
export const METRES_PER_DEGREE = (EARTH_RADIUS_M * Math.PI) / 180;
const KRASOVSKY_A = 6_378_245.0;
const KRASOVSKY_EE = 0.006693421622965943;
const INVERSE_STEPS = 30;
const INVERSE_PRECISION = 1e-12;

const { PI, abs, asin, cos, hypot, min, sin, sqrt } = Math;
/** @param {number} degrees */
const radians = (degrees) => (degrees * PI) / 180;

/** Tells whether the point is in the box outside which the two systems are the same. @param {Point} point */
export function inChinaBox({ lng, lat }) {
  return lng >= 72.004 && lng <= 137.8347 && lat >= 0.8293 && lat <= 55.8271;
}

/**
 * Converts WGS-84 degrees to GCJ-02 degrees; unchanged outside the box.
 * @param {Point} point
 * @returns {Point}
 */
export function wgs84ToGcj02(point) {
  if (!inChinaBox(point)) return { lng: point.lng, lat: point.lat };
  const moved = offset(point);
  return { lng: point.lng + moved.lng, lat: point.lat + moved.lat };
}

/**
 * Converts GCJ-02 degrees to WGS-84 degrees, by iteration (error below a hundredth of a millimetre).
 * @param {Point} point
 * @returns {Point}
 */
export function gcj02ToWgs84(point) {
  const { lng, lat } = point;
  let guess = { lng, lat };
  if (!inChinaBox(point)) return guess;
  for (let step = 0; step < INVERSE_STEPS; step += 1) {
    const moved = offset(guess);
    const next = { lng: lng - moved.lng, lat: lat - moved.lat };
    const change = hypot(next.lng - guess.lng, next.lat - guess.lat);
    guess = next;
    if (change < INVERSE_PRECISION) break;
  }
  return guess;
}

/**
 * Returns the metres along the sphere between two points of the same system.
 * @param {Point} a
 * @param {Point} b
 */
export function distance(a, b) {
  const [latA, latB] = [radians(a.lat), radians(b.lat)];
  let h = sin((latB - latA) / 2) ** 2;
  h += cos(latA) * cos(latB) * sin((radians(b.lng) - radians(a.lng)) / 2) ** 2;
  return 2 * EARTH_RADIUS_M * asin(sqrt(min(1, h)));
}

/**
 * Returns where something is on a layer of that system.
 *
 * A position the map service itself gave is used where it is in the layer's system; only then is
 * nothing converted twice, and a place abroad (WGS-84 from the service) is left alone.
 * @param {Located} located
 * @param {LayerCrs} crs
 * @returns {Point}
 */
export function inLayer(located, crs) {
  if (crs === "wgs84") return located.wgs84;
  return located.location ?? wgs84ToGcj02(located.wgs84);
}

/**
 * Returns the WGS-84 position of a point of a layer.
 * @param {Point} point degrees in the layer's system
 * @param {LayerCrs} crs
 */
export function fromLayer(point, crs) {
  return crs === "wgs84" ? { lng: point.lng, lat: point.lat } : gcj02ToWgs84(point);
}

/** Tells whether these are degrees at all. @param {Point|null|undefined} point @returns {point is Point} */
export function isPoint(point) {
  if (!point) return false;
  const { lng, lat } = point;
  return Number.isFinite(lng) && Number.isFinite(lat) && abs(lng) <= 180 && abs(lat) <= 90;
}

/**
 * Returns the longitude (degrees, perhaps beyond ±180) by which `lng` is within half a turn of `near`.
 * @param {number} lng
 * @param {number} near
 */
export function lngNear(lng, near) {
  if (abs(lng - near) <= 180) return lng;
  return near + ((((lng - near + 180) % 360) + 360) % 360) - 180;
}

/** Returns the largest of 1, 2, 5 times a power of ten that is not above `value`. @param {number} value */
export function niceStep(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [5, 2, 1].map((factor) => factor * power).find((step) => step <= value * 1.0000001) ?? power;
}

/** Returns what GCJ-02 adds to a WGS-84 point, in degrees. @param {Point} point */
function offset({ lng, lat }) {
  const [x, y] = [lng - 105, lat - 35];
  const wave = 20 * sin(6 * x * PI) + 20 * sin(2 * x * PI);
  let north = -100 + 2 * x + 3 * y + 0.2 * y * y + 0.1 * x * y + 0.2 * sqrt(abs(x));
  north += ((wave + 20 * sin(y * PI) + 40 * sin((y / 3) * PI)) * 2) / 3;
  north += ((160 * sin((y / 12) * PI) + 320 * sin((y * PI) / 30)) * 2) / 3;
  let east = 300 + x + 2 * y + 0.1 * x * x + 0.1 * x * y + 0.1 * sqrt(abs(x));
  east += ((wave + 20 * sin(x * PI) + 40 * sin((x / 3) * PI)) * 2) / 3;
  east += ((150 * sin((x / 12) * PI) + 300 * sin((x / 30) * PI)) * 2) / 3;
  const magic = 1 - KRASOVSKY_EE * sin(radians(lat)) ** 2;
  const meridian = (KRASOVSKY_A * (1 - KRASOVSKY_EE)) / (magic * sqrt(magic));
  const parallel = (KRASOVSKY_A / sqrt(magic)) * cos(radians(lat));
  return { lng: degreesOf(east, parallel), lat: degreesOf(north, meridian) };
}

/**
 * Returns the angle, in degrees, of an arc of that many metres.
 * @param {number} metres
 * @param {number} radiusM
 */
function degreesOf(metres, radiusM) {
  return (metres * 180) / (radiusM * PI);
}
