/** The forecast an answer found, day by day, with the day of the week that people plan by. */

import { el, fill } from "../dom.js";
import { credit } from "../map/wording.js";
import { recordSources } from "./record_sources.js";
import { language, speaking } from "../words.js";

const say = speaking({
  zh: { weather: "天气", degrees: "{low} ~ {high} °C" },
  en: { weather: "Weather", degrees: "{low} to {high} °C" },
});
const DAY = { weekday: "short", month: "short", day: "numeric", timeZone: "UTC" };
const dated = new Intl.DateTimeFormat(language === "zh" ? "zh-CN" : "en", DAY);

/** @returns {{node: HTMLElement, update: (turn: object) => void}} */
export function weatherView() {
  const places = el("div", {});
  const owner = el("p", { class: "map-credit" });
  const node = el("section", { class: "weather", dataset: { part: "weather" }, hidden: true },
    el("h3", {}, say("weather")), places, owner);
  const sources = recordSources(places);
  let shown = null;
  function update(turn) {
    if (turn.answer === shown) return;
    shown = turn.answer;
    const found = [...new Map((shown?.weather ?? []).map((one) => [one.id, one])).values()];
    node.hidden = found.length === 0;
    sources.take(shown?.sources ?? []);
    fill(places, ...found.flatMap((one) => forecast(one, sources.cite(one.source))));
    // A list of places says the same.
    owner.textContent = shown?.places.length ? "" : credit(found, language);
  }
  return { node, update };
}

function forecast({ city, days }, citation) {
  return [
    el("p", {}, el("strong", {}, city), " ", citation),
    el("ul", { class: "record-list" }, ...days.map((day) => el("li", { class: "day" },
      ...[dayName(day.date), sky(day), degrees(day), day.wind].map((told) => el("span", {}, told ?? ""))))),
  ];
}

/** "11月22日周日", "Sun, Nov 22"; the text itself where it is no date. @param {string} date ISO 8601 */
export function dayName(date) {
  const moment = new Date(`${date}T00:00:00Z`);
  return Number.isNaN(moment.getTime()) ? date : dated.format(moment);
}

function sky({ day, night }) {
  return day === night ? day : [day, night].filter(Boolean).join(" / ");
}

/** Celsius, the lowest and the highest. */
function degrees({ low_c: low, high_c: high }) {
  return Number.isFinite(low) && Number.isFinite(high) ? say("degrees", { low, high }) : "";
}
