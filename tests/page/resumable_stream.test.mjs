/** How long a run is followed, where its connection or its server fails in every way. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { asBrowser } from "./browser.mjs";

asBrowser("http://127.0.0.1:1");
const { resumableStream, withRetries, delay } = await import("../../src/agent/page/js/run/resumable_stream.js");
const RUN = { threadId: "t", runId: "r" };

/** A client whose connections go as `streams` say, one after the other, the last one for ever. */
function client(streams, status = () => "success") {
  const made = { joins: [], gets: 0 };
  made.runs = {
    async *joinStream(_thread, _run, { lastEventId, signal }) {
      const stream = streams[Math.min(made.joins.length, streams.length - 1)];
      made.joins.push(lastEventId);
      yield* stream(signal);
    },
    async get() {
      made.gets += 1;
      return { status: status(made.gets) };
    },
  };
  return made;
}

const breaks = async function* () { throw new TypeError("fetch failed"); };
const part = (id) => ({ id, event: "custom", data: { type: "queries" } });

/** Everything that was told, what came of it, and how long was waited. */
async function followed(one, options = {}) {
  const waits = [];
  const wait = async (ms) => { waits.push(ms); };
  const parts = resumableStream(one, RUN, { signal: new AbortController().signal, wait, ...options });
  const told = [];
  for (;;) {
    const { done, value } = await parts.next();
    if (done) return { told, run: value, waits };
    told.push(value.id);
  }
}

describe("a run", () => {
  it("is joined again where not even a sign of life comes", async () => {
    const silent = async function* (signal) {
      yield part("4-0");
      yield part("5-0");
      await new Promise((_, reject) => { signal.addEventListener("abort", () => reject(new Error("AbortError"))); });
    };
    const one = client([silent, async function* () { yield part("5-0"); yield part("6-0"); }]);
    const { told, run } = await followed(one, { silence: 20 });
    assert.deepEqual([told, one.joins, run.status], [["4-0", "5-0", "6-0"], ["-1", "4-0"], "success"]);
  });

  it("is joined ever more seldom where its stream ends at once", async () => {
    const one = client([async function* () {}], (asked) => (asked < 7 ? "running" : "success"));
    const { waits } = await followed(one);
    assert.deepEqual(waits, [500, 1000, 2000, 4000, 5000, 5000]);
  });

  it("that cannot be heard is asked after until it ends", async () => {
    const one = client([breaks], (asked) => (asked < 3 ? "running" : "interrupted"));
    const { run } = await followed(one);
    assert.equal(run.status, "interrupted");
    assert.equal(one.joins.length, 8);
  });

  it("whose server is gone for good is given up", async () => {
    const one = client([breaks], () => { throw new TypeError("fetch failed"); });
    await assert.rejects(followed(one), { name: "ServerError", status: 0 });
    assert.equal(one.gets, 60);
  });

  it("that this person may not see is given up at once", async () => {
    const one = client([async function* () { throw Object.assign(new Error("no"), { status: 403 }); }]);
    await assert.rejects(followed(one), { name: "ServerError", status: 403 });
    assert.equal(one.joins.length, 1);
  });

  it("that is left is heard of no more", async () => {
    const leaving = new AbortController();
    const one = client([async function* () { yield part("1-0"); leaving.abort(); throw new Error("AbortError"); }]);
    assert.deepEqual((await followed(one, { signal: leaving.signal })).run, undefined);
    assert.equal(one.gets, 0);
  });

  it("that is heard out of order is told in order, each part once", async () => {
    const streams = [["9-0", "10-0"], ["9-0", "10-0", "10-1"]].map((ids) => async function* () {
      for (const id of ids) yield part(id);
    });
    const { told } = await followed(client(streams, (asked) => (asked < 2 ? "running" : "success")));
    assert.deepEqual(told, ["9-0", "10-0", "10-1"]);
  });
});

describe("parts of the same millisecond", () => {
  const under = (id, text) => ({ id, event: "custom", data: { type: "search_done", text } });

  it("are told, each once, also where the connection broke between them", async () => {
    const streams = [
      async function* () { yield* [under("4-0", "a"), under("5-0", "b"), under("5-0", "c")]; },
      async function* () { yield* [under("5-0", "b"), under("5-0", "c"), under("5-0", "d"), under("6-0", "d")]; },
    ];
    const one = client(streams, (asked) => (asked < 2 ? "running" : "success"));
    const { told } = await followed(one);
    assert.deepEqual(told, ["4-0", "5-0", "5-0", "5-0", "6-0"]);
    assert.deepEqual(one.joins, ["-1", "4-0"]);
  });
});

describe("patience", () => {
  it("ends with the first success", async () => {
    let tries = 0;
    const act = async () => { tries += 1; if (tries < 3) throw new TypeError("fetch failed"); return tries; };
    assert.equal(await withRetries(act, { signal: new AbortController().signal, wait: async () => {} }), 3);
  });

  it("ends at once where it is no longer wanted", async () => {
    const leaving = new AbortController();
    const waited = delay(60_000, leaving.signal);
    leaving.abort();
    await waited;
    await delay(60_000, leaving.signal);
    assert.equal(await withRetries(async () => 1, { signal: leaving.signal, wait: delay }), undefined);
  });
});
