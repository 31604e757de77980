import assert from "node:assert/strict";
import { test } from "node:test";

import {
  distance, fromLayer, gcj02ToWgs84, inLayer, isPoint, lngNear, niceStep, wgs84ToGcj02,
} from "../../src/agent/page/js/map/coordinates.js";

const TIANANMEN = { lng: 116.391265, lat: 39.90735 };
const PARIS = { lng: 2.3522, lat: 48.8566 };

test("a position in China is some hundred metres away in the other system", () => {
  const moved = distance(TIANANMEN, wgs84ToGcj02(TIANANMEN));
  assert.ok(moved > 100 && moved < 700, `${moved} m`);
});

test("there and back again is the same spot", () => {
  assert.ok(distance(TIANANMEN, gcj02ToWgs84(wgs84ToGcj02(TIANANMEN))) < 1e-4);
});

test("outside the box the two systems are the same", () => {
  assert.deepEqual(wgs84ToGcj02(PARIS), PARIS);
  assert.deepEqual(gcj02ToWgs84(PARIS), PARIS);
});

test("a layer shows what the map service said if it speaks the same system", () => {
  const place = { wgs84: TIANANMEN, location: { lng: 116.4, lat: 39.9, crs: "GCJ-02" } };
  assert.equal(inLayer(place, "wgs84"), place.wgs84);
  assert.equal(inLayer(place, "gcj02"), place.location);
});

test("a position that only the browser knows is converted for a shifted layer", () => {
  assert.deepEqual(inLayer({ wgs84: TIANANMEN }, "gcj02"), wgs84ToGcj02(TIANANMEN));
});

test("a tap on a shifted layer is told in WGS-84", () => {
  assert.ok(distance(fromLayer(wgs84ToGcj02(TIANANMEN), "gcj02"), TIANANMEN) < 1e-4);
  assert.deepEqual(fromLayer(TIANANMEN, "wgs84"), TIANANMEN);
});

test("only degrees within their bounds are a point", () => {
  assert.ok(isPoint(PARIS));
  for (const wrong of [null, {}, { lng: NaN, lat: 0 }, { lng: 181, lat: 0 }, { lng: 0, lat: -91 }, { lng: "1", lat: 2 }]) {
    assert.equal(isPoint(wrong), false);
  }
});

test("places on both sides of the date line stay together", () => {
  assert.equal(lngNear(-179.5, 179.5), 180.5);
  assert.equal(lngNear(179.5, -179.5), -180.5);
  assert.equal(lngNear(116.4, 116.3), 116.4);
});

test("steps are 1, 2 or 5 times a power of ten and never above what was asked", () => {
  const asked = [1, 1.9, 2, 4.99, 5, 9.9, 10, 730, 0.3];
  assert.deepEqual(asked.map(niceStep), [1, 1, 2, 2, 5, 5, 10, 500, 0.2]);
});
