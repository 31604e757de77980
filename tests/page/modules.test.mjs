/** The page's files fit together: every module is imported, every style sheet and drawing is there. */

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { it } from "node:test";
import { fileURLToPath } from "node:url";

const PAGE = join(dirname(fileURLToPath(import.meta.url)), "../../src/agent/page");
/** The server makes it of the texts. */
const MADE = "js/texts.js";
const IMPORT = /(?:^(?:import|export)\s(?:[^;"]*?from\s)?|\bimport\()"(\.[^"]+)"/gm;
const html = readFileSync(join(PAGE, "index.html"), "utf8");
const addresses = (pattern) => [...html.matchAll(pattern)].map(([, address]) => address);

function imported(path, found = new Set()) {
  if (found.has(path)) return found;
  found.add(path);
  if (path.startsWith("vendor/") || path === MADE) return found;
  for (const [, to] of readFileSync(join(PAGE, path), "utf8").matchAll(IMPORT)) {
    imported(normalize(join(dirname(path), to)), found);
  }
  return found;
}

it("has no module that nothing imports: the server has browsers load all of them", () => {
  const there = ["js", "vendor"].flatMap((folder) => readdirSync(join(PAGE, folder), { recursive: true })
    .filter((name) => name.endsWith(".js")).map((name) => `${folder}/${name}`));
  assert.deepEqual([...imported("js/main.js")].sort(), [...there, MADE].sort());
});

it("has no script, style or listener of its own in the page", () => {
  assert.doesNotMatch(html, /<style|<script(?![^>]* src=)|\sstyle=|\son[a-z]+=/);
});

it("names every style sheet there is, and no other", () => {
  const named = addresses(/<link rel="stylesheet" href="app\/files\/([^"]+)"/g);
  const there = ["style", "vendor"].flatMap((folder) =>
    readdirSync(join(PAGE, folder)).filter((name) => name.endsWith(".css")).map((name) => `${folder}/${name}`));
  assert.deepEqual(named.sort(), there.sort());
});

it("has every drawing that the modules ask for", () => {
  const drawn = new Set(addresses(/<symbol id="icon-(\w+)"/g));
  for (const path of imported("js/main.js")) {
    if (path === MADE) continue;
    for (const [, name] of readFileSync(join(PAGE, path), "utf8").matchAll(/\bicon\("(\w+)"\)/g)) {
      assert.ok(drawn.has(name), `${name} in ${path}`);
    }
  }
});
