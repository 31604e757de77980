/** Lets Node load `js/texts.js`, which the server makes: `--import` it; PAGE_TEXTS names a copy. */

import { register } from "node:module";
import { pathToFileURL } from "node:url";

// Node 20 has none, and the page's language follows it; tests define their own.
globalThis.navigator ??= { languages: ["en"] };

// Nor this, which every browser has since 2024.
Map.groupBy ??= (items, keyOf) => {
  const groups = new Map();
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item]);
  return groups;
};

const hook = `export const resolve = (specifier, context, next) => specifier.endsWith("/texts.js")
  ? { url: ${JSON.stringify(pathToFileURL(process.env.PAGE_TEXTS).href)}, format: "module", shortCircuit: true }
  : next(specifier, context);`;
register(`data:text/javascript,${encodeURIComponent(hook)}`);
