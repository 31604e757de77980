/** What a run has used, in words. */

import { language, speaking } from "../words.js";

const WORDS = {
  zh: {
    searches: "{n} 次网页搜索",
    map_calls: "{n} 次地图查询",
    model_calls: "{n} 次模型调用",
    tokens: "{n} 词元",
    cost: "约 ${n}",
  },
  en: {
    searches: "{n} web searches",
    map_calls: "{n} map calls",
    model_calls: "{n} model calls",
    tokens: "{n} tokens",
    cost: "about ${n}",
  },
};
const ONE = {
  zh: WORDS.zh,
  en: { searches: "1 web search", map_calls: "1 map call", model_calls: "1 model call", tokens: "1 token" },
};
const COUNTED = ["searches", "map_calls", "model_calls"];
const say = speaking(WORDS);
const sayOne = speaking(ONE);

/** "4 web searches · 6 map calls · 9 model calls"; what was not used is left out. */
export function usageLine(usage) {
  return COUNTED.filter((name) => usage[name] > 0).map((name) => counted(name, usage[name])).join(" · ");
}

/** The same with tokens and what it cost (US dollars), where that is known. */
export function usageDetail(usage) {
  const tokens = (usage.input_tokens || 0) + (usage.output_tokens || 0);
  const parts = [usageLine(usage)];
  if (tokens) parts.push(counted("tokens", tokens));
  if (usage.cost_usd > 0) parts.push(say("cost", { n: money(usage.cost_usd) }));
  return parts.filter(Boolean).join(" · ");
}

/** A duration: "8.2 s", "12 s", "2 min 5 s"; whole seconds stay whole. */
export function duration(seconds) {
  const hasTenths = seconds < 10 && !Number.isInteger(seconds);
  if (seconds < 60) return `${hasTenths ? seconds.toFixed(1) : Math.floor(seconds)} s`;
  return `${Math.floor(seconds / 60)} min ${Math.floor(seconds % 60)} s`;
}

function counted(name, n) {
  return n === 1 ? sayOne(name, { n }) : say(name, { n: n.toLocaleString(language) });
}

function money(dollars) {
  return dollars < 0.01 ? dollars.toPrecision(1) : dollars.toFixed(2);
}
