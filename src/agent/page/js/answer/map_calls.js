/** A call to the map service in plain words: its tools have names nobody should have to read. */

import { language } from "../words.js";

const TOOLS = [
  [/^maps_geo\b/, { zh: "定位 {about}", en: "locating {about}" }],
  [/^maps_regeocode\b/, { zh: "看这个位置是哪里", en: "naming the position" }],
  [/^maps_around_search\b/, { zh: "附近找 {about}", en: "looking nearby for {about}" }],
  [/^maps_text_search\b/, { zh: "找 {about}", en: "looking for {about}" }],
  [/^maps_search_detail\b/, { zh: "看地点详情", en: "a place's details" }],
  [/^maps_weather\b/, { zh: "查天气 {about}", en: "weather {about}" }],
  [/^maps_distance\b/, { zh: "量距离", en: "measuring distances" }],
  [/^maps_(?:direction_|bicycling)/, { zh: "查路线", en: "finding a route" }],
];

/** `text` of a `map_call` event in words; the text itself where its tool is none we know. */
export function mapCallWords(text) {
  const [tool, ...rest] = String(text ?? "").split(" ");
  const words = TOOLS.find(([name]) => name.test(tool))?.[1][language];
  return words ? words.replace("{about}", () => rest.join(" ")).trim() : String(text ?? "");
}

/** Several calls as one line; the same said once, with how often. */
export function mapCallsLine(calls) {
  const counts = new Map();
  for (const { text } of calls) counts.set(mapCallWords(text), (counts.get(mapCallWords(text)) ?? 0) + 1);
  return [...counts].map(([words, times]) => (times > 1 ? `${words} ×${times}` : words)).join(" · ");
}
