/** A progress event in plain words, as the terminal and MCP clients are told it. */

import { hasText, text as say } from "../i18n.js";
import { oneDecimal } from "../rounding.js";

const WIDEST = 160;
const WIDEST_NOTICE = 600;
const LISTS = new Set(["queries", "sub_questions", "tasks"]);
// What Python's str.splitlines and str.isprintable go by.
const LINE_END = /\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/u;
const UNPRINTABLE = /[\p{C}\p{Z}]/gu;

/**
 * Tells one event in words; empty for those that say nothing new.
 * @param {RunEvent} event
 * @param {Language} language
 * @returns {string} at most 160 characters, and the duration in seconds
 */
export function eventLine(event, language) {
  const text = String(event.text || "");
  if (event.type === "notice") return oneLine(text, WIDEST_NOTICE);
  const key = keyOf(event);
  if (!hasText(key)) return "";
  const speaker = String(event.speaker || ""), known = `progress.speakers.${speaker}`;
  const values = {
    count: String(event.count ?? 0),
    speaker: hasText(known) ? say(known, language) : speaker,
    text: LISTS.has(event.type) ? splitLines(text).join(say("punctuation.semicolon", language)) : text,
  };
  const line = oneLine(say(key, language, values), WIDEST);
  return typeof event.seconds === "number" ? `${line} (${oneDecimal(event.seconds)} s)` : line;
}

/**
 * Returns the text without line breaks and control characters, cut to `longest` characters.
 * @param {string} text
 * @param {number} longest
 */
export function oneLine(text, longest) {
  const characters = [...text.replace(UNPRINTABLE, " ").split(" ").filter(Boolean).join(" ")];
  if (characters.length <= longest) return characters.join("");
  return `${characters.slice(0, longest - 1).join("")}…`;
}

/** @param {RunEvent} event */
function keyOf(event) {
  const ending = event.text ? "short" : "enough";
  const most = event.type === "reflection" && !event.count ? ending : event.type;
  return `progress.events.${most}`;
}

/** @param {string} text */
function splitLines(text) {
  const lines = text.split(LINE_END);
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

/**
 * Tells `text` of a `map_call` event in words; the text itself where its tool is none we know.
 * @param {string|undefined} text
 * @param {Language} language
 */
export function mapCallWords(text, language) {
  const [tool, ...rest] = String(text ?? "").split(" ");
  const names = [tool, tool.split("_").slice(0, 2).join("_")].map((name) => `progress.map_calls.${name}`);
  const key = names.find(hasText);
  return key ? say(key, language, { text: rest.join(" ") }).trim() : String(text ?? "");
}

/**
 * Tells several calls as one line; the same said once, with how often.
 * @param {RunEvent[]} calls
 * @param {Language} language
 */
export function mapCallsLine(calls, language) {
  const said = Map.groupBy(calls.map(({ text }) => mapCallWords(text, language)), (words) => words);
  return [...said].map(([words, { length }]) => (length > 1 ? `${words} ×${length}` : words)).join(" · ");
}
