/** The page below a prefix that a proxy takes off: whatever it asks for lies below it, too. */

import assert from "node:assert/strict";
import { it } from "node:test";

import { asBrowser } from "./browser.mjs";

const PAGE = "http://host.example/tanlu/app?thread=1";
const asked = [];
asBrowser(PAGE);
globalThis.fetch = async (address) => {
  asked.push(new URL(address, PAGE).pathname);
  return new Response("[]", { headers: { "content-type": "application/json" } });
};
const server = await import("../../src/agent/page/js/run/server.js");
const { qrCode } = await import("../../src/agent/page/js/map/navigation.js");

it("asks the server below the prefix", async () => {
  await server.assistants();
  await server.client.threads.search({ limit: 1 });
  await server.readConfig();
  await server.signOut();
  assert.deepEqual(asked.splice(0), [
    "/tanlu/assistants/search", "/tanlu/threads/search", "/tanlu/app/config.json", "/tanlu/app/sign-out",
  ]);
});

it("links to threads, exports and codes below the prefix", () => {
  const links = [server.threadPath("1"), server.runAddress("1", "answer.md"), qrCode("https://uri.amap.com/")];
  assert.deepEqual(links.map((link) => new URL(link, PAGE).pathname), [
    "/tanlu/app", "/tanlu/app/runs/1/answer.md", "/tanlu/app/qr.svg",
  ]);
});
