/** The resources a run has used, in words. */

import { language, translator } from "../i18n.js";

const say = translator("page.usage");
/** @typedef {"searches"|"map_calls"|"model_calls"} Counted */
/** @type {Counted[]} */
const LOOKED_UP = ["searches", "map_calls"];
/** @type {Counted[]} */
const COUNTED = [...LOOKED_UP, "model_calls"];

/**
 * Tells what was looked up: "4 web searches · 6 map calls"; what was not used is left out.
 * @param {Usage} usage
 */
export const usageLine = (usage) => line(LOOKED_UP, usage);

/**
 * Tells the same with model calls, tokens and what it cost (US dollars), where that is known.
 * @param {Usage} usage
 */
export function usageDetail(usage) {
  const tokens = (usage.input_tokens || 0) + (usage.output_tokens || 0);
  const parts = [line(COUNTED, usage)];
  if (tokens) parts.push(say("tokens", { n: tokens.toLocaleString(language) }));
  if (usage.cost_usd && usage.cost_usd > 0) parts.push(say("cost", { n: money(usage.cost_usd) }));
  return parts.filter(Boolean).join(" · ");
}

/**
 * Tells a duration: "8.2 s", "12 s", "2 min 5 s", "8.2 秒"; whole seconds stay whole.
 * @param {number} seconds
 */
export function duration(seconds) {
  const hasTenths = seconds < 10 && !Number.isInteger(seconds);
  if (hasTenths) return say("seconds", { n: seconds.toFixed(1) });
  if (seconds < 60) return say("seconds", { n: Math.floor(seconds) });
  return say("minutes", { m: Math.floor(seconds / 60), s: Math.floor(seconds % 60) });
}

/** @param {Counted[]} names @param {Usage} usage */
function line(names, usage) {
  const counts = names.map((name) => /** @type {const} */ ([name, usage[name] ?? 0]));
  const used = counts.filter(([, n]) => n > 0);
  return used.map(([name, n]) => say(name, { n: n.toLocaleString(language) })).join(" · ");
}

/** @param {number} dollars */
function money(dollars) { return dollars < 0.01 ? dollars.toPrecision(1) : dollars.toFixed(2); }
