/** A long run's end is told to whoever asked for that and looks elsewhere, and to nobody else. */

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { asBrowser } from "./browser.mjs";

const shown = [];
class Notification {
  static permission = "granted";
  constructor(words, options) {
    shown.push({ words, ...options });
  }
  addEventListener() {}
}
const chosen = new Map();
let hasFocus = false;
Object.assign(globalThis, {
  Notification,
  isSecureContext: true,
  localStorage: { getItem: (name) => chosen.get(name) ?? null },
  document: { documentElement: { lang: "en" }, hasFocus: () => hasFocus },
});
asBrowser("http://127.0.0.1:1");
const { notifyEnd } = await import("../../src/agent/page/js/shell/menu.js");
const LONG = { id: "t1", question: "How tall is it?", startedAt: 0, endedAt: 15_000 };

beforeEach(() => {
  shown.length = 0;
  hasFocus = false;
  Notification.permission = "granted";
  chosen.clear();
  chosen.set("tanlu.notify", "1");
});

test("a long run's end is told with its question, once for each turn", () => {
  notifyEnd(LONG, "Answered");
  assert.deepEqual(shown, [{ words: "Answered", body: "How tall is it?", tag: "t1" }]);
});

test("a short run's end is not told", () => {
  notifyEnd({ ...LONG, endedAt: 14_999 }, "Answered");
  assert.deepEqual(shown, []);
});

test("nobody is told who looks at the page, did not ask, or refused", () => {
  hasFocus = true;
  notifyEnd(LONG, "Answered");
  hasFocus = false;
  chosen.clear();
  notifyEnd(LONG, "Answered");
  chosen.set("tanlu.notify", "1");
  Notification.permission = "denied";
  notifyEnd(LONG, "Answered");
  assert.deepEqual(shown, []);
});

test("a browser that wants a service worker for it breaks nothing", () => {
  globalThis.Notification = class extends Notification {
    constructor() {
      super();
      throw new TypeError("Illegal constructor");
    }
  };
  assert.doesNotThrow(() => notifyEnd(LONG, "Answered"));
  globalThis.Notification = Notification;
});
