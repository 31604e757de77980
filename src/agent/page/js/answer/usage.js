/** What a run has used, in words. */

import { language, translator } from "../i18n.js";

const WORDS = {
  zh: {
    searches: "{n} 次网页搜索",
    map_calls: "{n} 次地图查询",
    model_calls: "{n} 次模型调用",
    tokens: "{n} 词元",
    cost: "约 ${n}",
    seconds: "{n} 秒",
    minutes: "{m} 分 {s} 秒",
  },
  en: {
    searches: "{n} web searches",
    map_calls: "{n} map calls",
    model_calls: "{n} model calls",
    tokens: "{n} tokens",
    cost: "about ${n}",
    seconds: "{n} s",
    minutes: "{m} min {s} s",
  },
};
const ONE = {
  zh: WORDS.zh,
  en: { searches: "1 web search", map_calls: "1 map call", model_calls: "1 model call", tokens: "1 token" },
};
const LOOKED_UP = ["searches", "map_calls"];
const COUNTED = [...LOOKED_UP, "model_calls"];
const say = translator(WORDS);
const sayOne = translator(ONE);

/** "4 web searches · 6 map calls": what was looked up; what was not used is left out. */
export function usageLine(usage) {
  return line(LOOKED_UP, usage);
}

/** The same with model calls, tokens and what it cost (US dollars), where that is known. */
export function usageDetail(usage) {
  const tokens = (usage.input_tokens || 0) + (usage.output_tokens || 0);
  const parts = [line(COUNTED, usage)];
  if (tokens) parts.push(counted("tokens", tokens));
  if (usage.cost_usd > 0) parts.push(say("cost", { n: money(usage.cost_usd) }));
  return parts.filter(Boolean).join(" · ");
}

/** A duration: "8.2 s", "12 s", "2 min 5 s", "8.2 秒"; whole seconds stay whole. */
export function duration(seconds) {
  const hasTenths = seconds < 10 && !Number.isInteger(seconds);
  if (seconds < 60) return say("seconds", { n: hasTenths ? seconds.toFixed(1) : Math.floor(seconds) });
  return say("minutes", { m: Math.floor(seconds / 60), s: Math.floor(seconds % 60) });
}

/** How long one step took: "0.4 s", "0.4 秒". @param {string} told a figure */
export function inSeconds(told) {
  return say("seconds", { n: told });
}

function line(names, usage) {
  return names.filter((name) => usage[name] > 0).map((name) => counted(name, usage[name])).join(" · ");
}

function counted(name, n) {
  return n === 1 ? sayOne(name, { n }) : say(name, { n: n.toLocaleString(language) });
}

function money(dollars) {
  return dollars < 0.01 ? dollars.toPrecision(1) : dollars.toFixed(2);
}
