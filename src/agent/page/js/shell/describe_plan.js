/** A plan in words: its map tasks and what it will take, in the page's language. */

import { translator } from "../i18n.js";

const say = translator({
  zh: {
    nearby: "{place}周边 {radius}：{keywords}",
    area: "{place}：{keywords}",
    poi: "查地点：{place}",
    route: "{mode}路线：{origin} → {destination}",
    distance: "距离：{origin} → {destination}",
    weather: "天气：{place}",
    regeo: "这个位置是哪里：{place}",
    other: "{intent}：{place}",
    here: "所在位置",
    anything: "地点",
    between: "、",
    metres: "{n} 米内",
    kilometres: "{n} 公里内",
    walking: "步行",
    driving: "驾车",
    bicycling: "骑行",
    transit: "公交",
    counts: "网页搜索 {searches} 次 · 地图 {map_calls} 次 · 模型 {model_calls} 次",
    cost: "约 ${low} 至 ${high}（高的一端含追加检索）",
    free: "不花钱",
    unknown: "费用未知",
  },
  en: {
    nearby: "{keywords} {radius} of {place}",
    area: "{keywords} in {place}",
    poi: "The place {place}",
    route: "Way {mode}: {origin} → {destination}",
    distance: "Distance: {origin} → {destination}",
    weather: "Weather in {place}",
    regeo: "What is at {place}",
    other: "{intent}: {place}",
    here: "the position given",
    anything: "places",
    between: ", ",
    metres: "within {n} m",
    kilometres: "within {n} km",
    walking: "on foot",
    driving: "by car",
    bicycling: "by bicycle",
    transit: "by public transport",
    counts: "Web searches: {searches} · map calls: {map_calls} · model calls: {model_calls}",
    cost: "about ${low} to ${high} (the upper end with follow-ups)",
    free: "free of charge",
    unknown: "cost unknown",
  },
});
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
