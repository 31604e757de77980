/** What of a turn can be drawn, while it works and after. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { hasScene, sceneOf } from "../../src/agent/page/js/map/scene.js";

const spot = (role, name, lng, more = {}) => ({ role, name, lng, lat: 39.9, ...more });
const turn = (fields) => ({ answer: null, text: "", events: [], ...fields });
const FOUND = turn({
  events: [
    { type: "map_started", text: "王府井 书店" },
    { type: "map_found", spots: [spot("anchor", "王府井", 116.41)] },
    { type: "map_found", spots: [spot("place", "王府井书店", 116.411, { id: "amap:1" })] },
    { type: "map_found", spots: [spot("place", "涵芬楼", 116.412, { id: "amap:2" })] },
    { type: "map_found", spots: [spot("place", "涵芬楼", 116.412, { id: "amap:2" })] },
  ],
});

test("what was located is drawn at once, each place once, without a number yet", () => {
  const { places, anchor } = sceneOf(FOUND);
  assert.deepEqual(places.map(({ place, number }) => [place.id, number]), [["amap:1", null], ["amap:2", null]]);
  assert.deepEqual(anchor.wgs84, { lng: 116.41, lat: 39.9 });
});

test("a place that the growing answer names is no longer hollow", () => {
  const { places } = sceneOf({ ...FOUND, text: "- 涵芬楼 [1](https://uri.amap.com/)" });
  assert.deepEqual(places.map(({ place }) => place.mentioned), [false, true]);
});

test("nothing is drawn of what has no position", () => {
  assert.equal(hasScene(turn({ events: [{ type: "map_started", text: "?" }] })), false);
  const broken = [{ type: "map_found", spots: [spot("place", "?", Number.NaN, { id: "x" })] }];
  assert.equal(hasScene(turn({ events: broken })), false);
  assert.equal(hasScene(turn({ answer: { places: [], routes: [], anchor: { name: "a", wgs84: { lng: 1, lat: 1 } } } })),
    false, "a centre around which nothing lies");
  assert.equal(hasScene(turn({ events: [{ type: "map_found", spots: [spot("anchor", "王府井", 116)] }] })), true);
});

test("ways of several modes between the same ends are one line, and each end has one letter", () => {
  const end = (name, lng) => ({ name, wgs84: { lng, lat: 39.9 } });
  const route = (from, to, mode) => ({ mode, ends: [from, to] });
  const [a, b, c] = [end("王府井", 116.41), end("故宫", 116.39), end("天坛", 116.42)];
  const routes = [route(a, b, "walking"), route(a, b, "transit"), route(b, c, "walking"), { mode: "walking" }];
  const { ways } = sceneOf(turn({ answer: { places: [], routes } }));
  assert.deepEqual(ways.map(({ letters }) => letters), [["A", "B"], ["B", "C"]]);
});

test("a stop on the way has a pin and a letter between the ends", () => {
  const [a, b, c] = [13.4, 13.5, 13.6].map((lng) => ({ name: String(lng), wgs84: { lng, lat: 52.5 } }));
  const { ways } = sceneOf(turn({ answer: { places: [], routes: [{ ends: [a, c], via: [b] }, { ends: [a, c] }] } }));
  assert.deepEqual(ways.map(({ letters }) => letters), [["A", "B", "C"], ["A", "C"]]);
  assert.deepEqual(ways[0].stops, [a, b, c]);
});

test("the stops of a planned day are a path in their order", () => {
  const places = ["amap:1", "amap:2"].map((id, at) => ({ id, name: id, mentioned: true, wgs84: { lng: 116 + at / 10, lat: 39.9 } }));
  const stops = [{ place: "amap:2", name: "b" }, { name: "lunch" }, { place: "amap:1", name: "a" }];
  const { path } = sceneOf(turn({ answer: { places, outing: { stops } } }));
  assert.deepEqual(path.map(({ id }) => id), ["amap:2", "amap:1"]);
});

test("a way is drawn along the line that one of its routes has", () => {
  const ends = [{ name: "A", wgs84: { lng: 13.4, lat: 52.5 } }, { name: "B", wgs84: { lng: 13.5, lat: 52.5 } }];
  const line = [[13.4, 52.5], [13.45, 52.6], [13.5, 52.5]];
  const routes = [{ ends }, { ends, line }, { ends, line: [[13.4, 52.5], [13.5, 52.5]] }];
  assert.deepEqual(sceneOf(turn({ answer: { places: [], routes } })).ways.map((way) => way.line), [line]);
  const unknown = sceneOf(turn({ answer: { places: [], routes: [{ ends, line: [] }] } }));
  assert.deepEqual(unknown.ways.map((way) => way.line), [null]);
});

test("the line of a planned day leads from its named start over its stops and back there", () => {
  const at = (lng) => ({ wgs84: { lng, lat: 60 } });
  const places = [{ id: "a", ...at(24.95) }, { id: "b", ...at(24.94) }];
  const outing = { stops: [{ place: "a" }, { place: "b" }], start: { name: "station", ...at(24.9) }, back: {} };
  const lngs = (day) => sceneOf(turn({ answer: { places, outing: day } })).path.map(({ wgs84 }) => wgs84.lng);
  assert.deepEqual(lngs(outing), [24.9, 24.95, 24.94, 24.9]);
  assert.deepEqual(lngs({ ...outing, end: { name: "port", ...at(24.97) } }), [24.9, 24.95, 24.94, 24.97]);
  assert.deepEqual(lngs({ stops: outing.stops }), [24.95, 24.94]);
});
