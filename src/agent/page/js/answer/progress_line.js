/** A progress event in plain words, as the terminal and MCP clients are told it. */

import { language } from "../i18n.js";
import { oneDecimal } from "../rounding.js";

const WIDEST = 160;
const WIDEST_NOTICE = 600;
const LISTS = new Set(["queries", "sub_questions", "tasks"]);
// What Python's str.splitlines and str.isprintable go by.
const LINE_END = /\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/u;
const UNPRINTABLE = /[\p{C}\p{Z}]/gu;

/**
 * One event in words; empty for those that say nothing new.
 * @param {{type: string, text?: string, count?: number, seconds?: number, speaker?: string}} told
 * @param {{events: object, speakers: object}} config the page's: the words by language and kind
 * @param {"zh"|"en"} language
 * @returns {string} at most 160 characters, and the duration in seconds
 */
export function eventLine(told, config, language) {
  const text = String(told.text || "");
  if (told.type === "notice") return oneLine(text, WIDEST_NOTICE);
  const template = templateOf(told, config.events[language]);
  if (template === undefined) return "";
  const speaker = String(told.speaker || "");
  const values = {
    count: String(told.count ?? 0),
    speaker: config.speakers?.[language]?.[speaker] ?? speaker,
    text: LISTS.has(told.type) ? splitLines(text).join(language === "zh" ? "；" : "; ") : text,
  };
  const line = oneLine(template.replace(/\{(count|speaker|text)\}/g, (_, key) => values[key]), WIDEST);
  return typeof told.seconds === "number" ? `${line} (${oneDecimal(told.seconds)} s)` : line;
}

/** The text without line breaks and control characters, cut to `longest` characters. */
export function oneLine(text, longest) {
  const characters = [...text.replace(UNPRINTABLE, " ").split(" ").filter(Boolean).join(" ")];
  return characters.length <= longest ? characters.join("") : `${characters.slice(0, longest - 1).join("")}…`;
}

function templateOf(told, templates) {
  const kind = told.type === "reflection" && !told.count ? "enough" : told.type;
  return Object.hasOwn(templates, kind) ? templates[kind] : undefined;
}

function splitLines(text) {
  const lines = text.split(LINE_END);
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

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
