import assert from "node:assert/strict";
import { test } from "node:test";

import { isPoint, lngNear, niceStep } from "../../src/agent/page/js/map/coordinates.js";

const PARIS = { lng: 2.3522, lat: 48.8566 };

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
