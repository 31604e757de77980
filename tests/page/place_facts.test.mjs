import assert from "node:assert/strict";
import { test } from "node:test";

import { spokenIn } from "../../src/agent/page/js/i18n.js";
import {
  cost, credit, distanceText, localTime, metres,
  rating, readableName, shortFacts, sourceNumbers,
} from "../../src/agent/page/js/map/place_facts.js";

const PLACE = { name: "东单公园", distance_m: 931, distance_from: "王府井", rating: 4.4, cost: 40, source: "a0-2" };

test("metres are told as in the exports", () => {
  const told = [0, 81, 999, 1000, 1150, 1250, 1750, 9949, 10500, 11500, 1234567].map((value) => metres(value));
  assert.deepEqual(told, ["0 m", "81 m", "999 m", "1.0 km", "1.1 km", "1.2 km", "1.8 km", "9.9 km", "10 km", "12 km",
    "1,235 km"]);
  assert.equal(metres(null), "");
  const german = spokenIn("de", { "punctuation.decimal": "," });
  assert.equal(metres(1150, german), "1,1 km");
  assert.equal(rating({ rating: 4.5 }, german), "4,5");
});

test("a distance says from where, in the reader's language", () => {
  assert.equal(distanceText(PLACE, "zh"), "距王府井 931 m");
  assert.equal(distanceText(PLACE, "en"), "931 m from 王府井");
  assert.equal(distanceText({ ...PLACE, distance_from: null }, "en"), "931 m");
  assert.equal(distanceText({ ...PLACE, distance_m: null }, "en"), "");
});

test("from what it is far has no local name behind the Chinese one in each line; a branch stays", () => {
  /** @param {string} distance_from */
  const told = (distance_from) => distanceText({ ...PLACE, distance_from }, "zh");
  assert.equal(told("赫尔辛基中央车站 (Helsingin päärautatieasema)"), "距赫尔辛基中央车站 931 m");
  assert.equal(told("星巴克 (王府井店)"), "距星巴克 (王府井店) 931 m");
});

test("a name of a place is never taken for a blank to fill in", () => {
  assert.equal(distanceText({ ...PLACE, distance_from: "{metres} $& $1" }, "en"), "931 m from {metres} $& $1");
});

test("a place looked for at two places is far from each of them", () => {
  const twice = { ...PLACE, further: [{ origin: "故宫", metres: 1240 }, { origin: "天坛", metres: null }] };
  assert.equal(distanceText(twice, "zh"), "距王府井 931 m · 距故宫 1.2 km");
});

test("a way that was walked stands for the straight line, and a detour beside it", () => {
  const walked = { ...PLACE, walk_m: 1240, walk_s: 960, detour_m: 37, detour_walked: true };
  assert.equal(distanceText(walked, "zh"), "距王府井 步行 1.2 km (16 分钟) · 步行绕路 37 m");
  const beside = { ...PLACE, detour_m: 37 };
  assert.equal(distanceText(beside, "en"), "931 m from 王府井 · a detour of 37 m by straight lines");
});

test("what is measured from the middle of an area is told from there", () => {
  const further = [{ origin: "人民公园", metres: 90, from_middle: true }, { origin: "北海", metres: 80 }];
  const place = { ...PLACE, distance_from: "西湖", distance_from_en: "West Lake", from_middle: true, further };
  assert.equal(distanceText(place, "zh"), "距西湖中心点 931 m · 距人民公园中心点 90 m · 距北海 80 m");
  assert.match(distanceText(place, "en"), /^931 m from the middle of West Lake · /);
  assert.equal(distanceText({ ...place, distance_from: null, distance_from_en: "", further: [] }, "en"), "931 m");
});

test("what is not known is left out of the line", () => {
  assert.deepEqual(shortFacts(PLACE, "zh"), ["距王府井 931 m", "★ 4.4", "¥40/人"]);
  assert.deepEqual(shortFacts({ distance_m: null, rating: null, cost: null }, "zh"), []);
  assert.equal(rating({ rating: 5 }), "5");
  assert.equal(cost({ cost: 12.5 }, "en"), "¥12.5 a head");
  assert.equal(cost({ cost: 300, per_head: false }, "en"), "¥300 (per what: not on the map)");
  assert.equal(cost({ cost: 300, per_head: false, per_night: true }, "en"), "¥300 a night");
  assert.equal(cost({ cost: 0, per_head: false }, "zh"), "免费");
});

test("sources are those that stand for a place and those that say its name", () => {
  const sources = [
    { id: "w0-0", title: "王府井带孩子怎么玩", quotes: ["东单公园有滑梯"], number: 5 },
    { id: "a0-2", title: "东单公园", quotes: ["东单公园，公园"], number: 3 },
    { id: "w0-1", title: "北海公园", quotes: [], number: 1 },
    { id: "w0-2", title: "去东单公园", quotes: [] },
  ];
  assert.deepEqual(sourceNumbers(PLACE, sources), [3, 4, 5]);
});

test("a name of one letter is in every text and says nothing", () => {
  assert.deepEqual(sourceNumbers({ name: "园", source: "a" }, [{ id: "b", title: "公园", quotes: [] }]), []);
});

test("the credit names the newest record and stands under places only", () => {
  assert.equal(credit([], "zh"), "");
  const places = ["2026-11-21T09:00:00+00:00", "2026-11-21T11:40:00+00:00"].map((fetched_at) => (
    { id: "amap:B0", fetched_at }
  ));
  assert.equal(credit(places, "en"), `Data © Amap · as of ${localTime(places[1].fetched_at)}`);
  assert.equal(credit(places, "en", "offline"), "Data © Amap · Sample data, not live results.");
  assert.match(localTime(places[1].fetched_at), /^2026-11-2\d \d\d:\d\d$/);
  assert.equal(localTime("yesterday"), "yesterday");
});

test("the credit names each map that records are of", () => {
  const places = ["osm:node/1", "amap:B0", "osm:way/2"].map((id) => ({ id, fetched_at: "" }));
  assert.equal(credit(places, "en"), "Data © OpenStreetMap contributors (ODbL), Amap");
});

test("an answer's own words frame its places' facts; what they lack is English", () => {
  const german = spokenIn("de", { "export.far": "{distance} von {origin}", "records.free": "kostenlos" });
  assert.equal(distanceText(PLACE, german), "931 m von 王府井");
  assert.equal(distanceText({ ...PLACE, distance_from_en: "Wangfujing" }, german), "931 m von Wangfujing");
  assert.equal(cost({ cost: 0 }, german), "kostenlos");
  assert.equal(cost({ cost: 40 }, german), "¥40 a head");
});

test("a place has the name that its answer's reader reads", () => {
  const place = { name: "东单公园", name_en: "", name_pinyin: "Dōngdān gōngyuán" };
  const named = [...["zh", "zh-Hant", "en", "de"].map((tag) => readableName(place, spokenIn(tag, {})))];
  assert.deepEqual(named, ["东单公园", "东单公园", "Dōngdān gōngyuán", "Dōngdān gōngyuán"]);
  assert.equal(readableName({ ...place, name_en: "Dongdan Park" }, "en"), "Dongdan Park");
});

test("traditional characters that came without words are told in the simplified ones", () => {
  assert.equal(distanceText(PLACE, spokenIn("zh-Hant")), "距王府井 931 m");
});
