/** Links to a place in other maps, and whether it is open. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { amapLink, navigationLinks, qrCode } from "../../src/agent/page/js/map/navigation.js";
import { isOpen } from "../../src/agent/page/js/map/place_facts.js";

const WGS84 = { lng: 116.405042, lat: 39.912386 };
const PLACE = { name: "和平菓局", wgs84: WGS84, location: { lng: 116.411284, lat: 39.913789, crs: "GCJ-02" } };
const linksOf = (place) => Object.fromEntries(navigationLinks(place).map(([name, url]) => [name, new URL(url)]));

test("each map is led to the position in its own datum", () => {
  const { amap, apple, google } = linksOf(PLACE);
  assert.equal(amap.searchParams.get("to"), "116.411284,39.913789,和平菓局");
  assert.equal(amap.searchParams.get("coordinate"), "gaode");
  assert.equal(apple.searchParams.get("daddr"), "39.913789,116.411284");
  assert.equal(google.searchParams.get("destination"), "39.913789,116.411284");
});

test("where the map's own position is WGS-84 nothing is moved", () => {
  const abroad = { name: "台北101", wgs84: { lng: 121.56, lat: 25.03 },
    location: { lng: 121.56, lat: 25.03, crs: "WGS-84" } };
  const { amap, google } = linksOf(abroad);
  assert.equal(amap.searchParams.get("coordinate"), "wgs84");
  assert.equal(google.searchParams.get("destination"), "25.03,121.56");
});

test("a position that the map did not give is told to Amap as what it is", () => {
  const amap = new URL(amapLink({ name: "A", wgs84: WGS84 }));
  assert.equal(amap.searchParams.get("to"), "116.405042,39.912386,A");
  assert.equal(amap.searchParams.get("coordinate"), "wgs84");
});

test("no name breaks a link", () => {
  const amap = new URL(amapLink({ ...PLACE, name: "a,b|c&to=1,1" }, "transit"));
  assert.equal(amap.searchParams.get("to"), "116.411284,39.913789,a b c&to=1 1");
  assert.equal(amap.searchParams.get("mode"), "bus");
  assert.equal(new URL(qrCode(amap.href), "http://x").searchParams.get("url"), amap.href);
});

test("whether a place is open is told by its own clock, past midnight too", () => {
  const opening = [{ days: [5], start: 18 * 60, end: 26 * 60 }];
  const at = (iso) => isOpen({ opening }, new Date(iso));
  assert.equal(at("2026-11-27T17:59:00+08:00"), false);
  assert.equal(at("2026-11-27T18:00:00+08:00"), true);
  assert.equal(at("2026-11-28T01:59:00+08:00"), true);
  assert.equal(at("2026-11-28T02:00:00+08:00"), false);
  assert.equal(at("2026-11-28T18:00:00+08:00"), false);
  assert.equal(at("2026-11-27T17:00:00Z"), true);
  assert.equal(isOpen({}, new Date()), null);
  const late = new Date("2026-11-28T18:30:00Z");
  const zones = ["Asia/Shanghai", "Asia/Tokyo", "Europe/London", "America/Los_Angeles"];
  const daily = [{ days: [1, 2, 3, 4, 5, 6, 7], start: 10 * 60, end: 18 * 60 }];
  assert.deepEqual(zones.map((zone) => isOpen({ opening: daily, zone }, late)), [false, false, false, true]);
});

test("a place of another map is led to by the maps of the world alone", () => {
  const cafe = { id: "osm:node/1", name: "Café", wgs84: { lng: 13.4, lat: 52.5 },
    location: { lng: 13.4, lat: 52.5, crs: "WGS-84" } };
  assert.deepEqual(navigationLinks(cafe).map(([name]) => name), ["apple", "google"]);
});
