import assert from "node:assert/strict";
import { test } from "node:test";

import { groupNear, overlap, pinBox, placeDistrict, placeLabel, placeNames, shorten, spreadApart } from "../../src/agent/page/js/map/declutter_labels.js";

const INSIDE = { left: 0, top: 0, right: 300, bottom: 300 };
const widthOf = (text) => text.length * 10;

test("pins of one building move apart and the first keeps its place", () => {
  const spots = spreadApart(Array.from({ length: 12 }, () => ({ x: 100, y: 100 })), 26);
  assert.deepEqual(spots[0], { x: 100, y: 100 });
  for (const [index, a] of spots.entries()) {
    for (const b of spots.slice(index + 1)) assert.ok(Math.hypot(a.x - b.x, a.y - b.y) >= 26);
  }
});

test("pins that are apart stay where they are", () => {
  const spots = [{ x: 0, y: 0 }, { x: 40, y: 0 }];
  assert.deepEqual(spreadApart(spots, 26), spots);
});

test("a name stands right of its pin, and left of it at the right edge", () => {
  assert.equal(placeLabel("name", 40, { x: 100, y: 100 }, [], INSIDE).align, "start");
  assert.equal(placeLabel("name", 40, { x: 280, y: 100 }, [], INSIDE).align, "end");
});

test("a name of a pin at the edge stands above or below it, as far inside as it has to", () => {
  const pin = { x: 20, y: 100 };
  const beside = [{ left: 30, top: 70, right: 60, bottom: 104 }];
  const label = placeLabel("a long name", 110, pin, beside, INSIDE);
  assert.ok(label.box.left >= 0 && label.box.right <= 300);
  assert.ok(!overlap(label.box, pinBox(pin)));
});

test("a district's name is whole, and neither on a pin nor on a name", () => {
  const pins = [{ x: 30, y: 100 }, { x: 40, y: 150 }];
  const taken = [...pins.map(pinBox), { left: 0, top: 130, right: 300, bottom: 180 }];
  const { box } = placeDistrict("Dongcheng", 70, { x: 30, y: 100 }, taken, INSIDE);
  assert.ok(box.left >= 0 && box.right <= 300);
  assert.ok(taken.every((other) => !overlap(box, other)));
  assert.equal(placeDistrict("Dongcheng District", 300, { x: 30, y: 100 }, [], INSIDE), undefined, "wider than the map");
});

test("a name without room is left out", () => {
  assert.equal(placeLabel("name", 40, { x: 100, y: 100 }, [INSIDE], INSIDE), null);
});

test("no name covers a pin or another name", () => {
  const pins = [{ x: 60, y: 60 }, { x: 95, y: 62 }, { x: 75, y: 90 }];
  const taken = pins.map(pinBox);
  for (const pin of pins) {
    const label = placeLabel("name", 40, pin, taken, INSIDE);
    if (!label) continue;
    assert.ok(taken.every((box) => !overlap(box, label.box)));
    taken.push(label.box);
  }
  assert.ok(taken.length > pins.length);
});

test("a name is cut only where another name needs the room", () => {
  const name = "A very long name of 27 char";
  const [alone] = placeNames([{ name, spot: { x: 10, y: 100 }, kind: "" }], widthOf, [], INSIDE);
  assert.equal(alone.text, name);
  const [one, other] = ["one", "other"].map((kind) => ({ name, spot: { x: kind === "one" ? 10 : 280, y: 100 }, kind }));
  const walls = [{ left: 0, top: 0, right: 300, bottom: 70 }, { left: 0, top: 90, right: 300, bottom: 300 }];
  const both = placeNames([one, other], widthOf, walls, INSIDE);
  assert.deepEqual(both.map(({ kind }) => kind), ["one", "other"]);
  assert.ok(both.every(({ text }) => text.endsWith("…")));
  assert.ok(!overlap(both[0].box, both[1].box));
});

test("long names end in an ellipsis, whole characters only", () => {
  assert.equal(shorten("  王府井   书店 ", 100, widthOf), "王府井 书店");
  assert.equal(shorten("Haidilao (Wangfujing)", 100, widthOf), "Haidilao");
  assert.equal(shorten("🍜🍜🍜🍜🍜🍜", 50, (text) => [...text].length * 10), "🍜🍜🍜🍜…");
});

test("a name without end is measured a hundred times or so, not once for every letter", () => {
  let measured = 0;
  const widthOf = (text) => { measured += 1; return text.length * 10; };
  assert.equal(shorten("长".repeat(100_000), 50, widthOf), "长长长长…");
  assert.ok(measured < 200, String(measured));
});

test("each pin is in one group, with those near the first of it", () => {
  const spots = [{ x: 0, y: 0 }, { x: 300, y: 0 }, { x: 20, y: 20 }, { x: 310, y: 5 }, { x: 60, y: 0 }];
  assert.deepEqual(groupNear(spots, 52), [[0, 2], [1, 3], [4]]);
});

test("a hundred pins at one spot are one group, none are none", () => {
  assert.deepEqual(groupNear([], 52), []);
  assert.equal(groupNear(Array.from({ length: 100 }, () => ({ x: 5, y: 5 })), 52)[0].length, 100);
});
