/** A plan in words: its map tasks and what it will take, in the page's language. */

import { translator } from "../i18n.js";

const say = translator("page.describe_plan");
const MODES = /** @type {const} */ (["walking", "driving", "bicycling", "transit"]);
const INTENTS = /** @type {const} */ (["nearby", "area", "poi", "route", "distance", "weather", "regeo"]);
const DEFAULT_RADIUS_M = 2000;

/** Tells one map task as a person would say it. @param {MapTask} task */
export function taskLine(task) {
  const mode = MODES.find((known) => known === task.mode);
  return say(INTENTS.find((known) => known === task.intent) ?? "other", {
    intent: task.intent,
    place: placeOf(task),
    keywords: (task.keywords ?? []).join(say("between")) || say("anything"),
    radius: radiusOf(task.radius_m ?? DEFAULT_RADIUS_M),
    mode: mode ? say(mode) : task.mode ?? "",
    origin: task.origin || say("here"),
    destination: task.destination || say("here"),
  }).replace(/ +([:：])/, "$1");
}

/**
 * Tells what a plan will take: counts and money. The counts are of the plan as the assistant wrote it.
 * @param {Estimate} estimate
 */
export function estimateLines(estimate) {
  return { counts: say("counts", { ...estimate }), cost: costOf(estimate.cost_usd) };
}

/** @param {Estimate["cost_usd"]} cost */
function costOf(cost) {
  if (!cost) return say("unknown");
  if (!cost.high) return say("free");
  return say("cost", { low: cost.low.toFixed(2), high: cost.high.toFixed(2) });
}

/** @param {MapTask} task */
function placeOf(task) {
  const place = task.place || task.city || say("here");
  return task.place && task.city && !task.place.includes(task.city) ? `${place} (${task.city})` : place;
}

/** @param {number} metres */
function radiusOf(metres) {
  if (metres < 1000) return say("metres", { n: metres });
  return say("kilometres", { n: Number((metres / 1000).toFixed(1)) });
}
