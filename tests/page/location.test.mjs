import assert from "node:assert/strict";
import { test } from "node:test";

import { asBrowser } from "./browser.mjs";

asBrowser("http://localhost:2024");
const { nearMe, positionName } = await import("../../src/agent/page/js/map/location.js");

/** A browser that answers at once. */
function answering(act) {
  const asked = [];
  const getCurrentPosition = (found, failed, options) => {
    asked.push(options);
    act(found, failed);
  };
  return { asked, geolocation: { getCurrentPosition }, secure: true };
}

const codeOf = (browser) => nearMe(browser).then(() => null, (code) => code);

test("a position is told with its accuracy and asked for with a time limit", async () => {
  const coords = { longitude: 116.4, latitude: 39.9, accuracy: 35, speed: 1 };
  const browser = answering((found) => found({ coords }));
  assert.deepEqual(await nearMe(browser), { lng: 116.4, lat: 39.9, accuracy: 35 });
  assert.ok(browser.asked[0].timeout > 0);
});

test("each way of getting no position has its own word", async () => {
  for (const [code, word] of [[1, "denied"], [2, "unavailable"], [3, "timeout"], [9, "unavailable"]]) {
    assert.equal(await codeOf(answering((_, failed) => failed({ code }))), word);
  }
});

test("where browsers tell no position it is not even asked for", async () => {
  const browser = answering(() => assert.fail("asked"));
  assert.equal(await codeOf({ ...browser, secure: false }), "insecure");
  assert.equal(await codeOf({ geolocation: null, secure: true }), "unavailable");
});

test("the browser's own position is told from a spot on the map, however exact it is", () => {
  assert.deepEqual(positionName({ lng: 116.4, lat: 39.9, accuracy: 35 }), ["My position", "±35 m"]);
  assert.deepEqual(positionName({ lng: 116.4, lat: 39.9, accuracy: 0 }), ["My position", ""]);
  assert.deepEqual(positionName({ lng: 116.4, lat: 39.9 }), ["A spot on the map", ""]);
  assert.deepEqual(positionName(null), ["Near me", ""]);
});
