/** The routes and the forecast of an answer, with citations of their own. */

import { answerView, el, fill, icon, link } from "../dom.js";
import { askedIn, hasText, isChinese, language, localeOf, text, textsOf, translator } from "../i18n.js";
import { amapLink } from "../map/navigation.js";
import { credit, mapName, mapOf, metres, minutes, readableName } from "../map/place_facts.js";
import { nameCitation, tellSources } from "./citation.js";
import { byNumber } from "./sources.js";

const say = translator("page.map_records");
const ASKS = textsOf("page.map_records.asks");
/** @type {Intl.DateTimeFormatOptions} */
const DAY = { weekday: "short", month: "short", day: "numeric", timeZone: "UTC" };
/** What a forecast's sky is drawn as, the hardest weather first. @type {[RegExp, IconName][]} */
const SKIES = [[/雷/, "thunder"], [/[雪冰冻]/, "snow"], [/雨/, "rain"], [/[雾霾尘沙]/, "fog"], [/风|飑/, "wind"],
  [/阴/, "overcast"], [/云/, "cloudy"], [/晴/, "weather"]];

/**
 * Shows the routes: how far, how long, step by step, and on to the map service.
 * @param {{onAsk: (question: string) => void}} links asks for another mode
 */
export function routesView({ onAsk }) {
  const list = el("ul", { class: "record-list" });
  const owner = el("p", { class: "map-credit" });
  const node = el("section", { class: "routes", dataset: { part: "routes" }, hidden: true },
    el("h3", {}, say("routes")), list, owner);
  const sources = recordSources(list);
  return answerView(node, (answer) => {
    const routes = distinct(answer?.routes);
    node.hidden = routes.length === 0;
    sources.take(answer?.sources ?? []);
    const ways = Map.groupBy(routes, ({ origin, destination }) => `${origin} → ${destination}`);
    const { spoken = language } = answer ?? {};
    fill(list, ...[...ways.values()].map((modes) => wayItem(modes, spoken, sources.cite, onAsk)));
    // A forecast or a list of places that follows says the same.
    const isSaid = answer?.places.length || answer?.weather.length;
    owner.textContent = isSaid ? "" : credit(routes, language, answer?.mode);
  });
}

/** Returns each record once. @template {{id: string}} T @param {T[]} [records] */
const distinct = (records = []) => [...new Map(records.map((each) => [each.id, each])).values()];

/**
 * Shows the modes of one way: each on a tab with its time, and on others those that can be asked for.
 * @param {Route[]} modes
 * @param {Spoken} spoken
 * @param {(id: string) => HTMLElement|null} cite
 * @param {(question: string) => void} onAsk
 */
function wayItem(modes, spoken, cite, onAsk) {
  const panels = modes.map((route) => el("div", {}, ...routeParts(route, spoken, cite(route.source))));
  /** @param {number} chosen */
  const choose = (chosen) => {
    panels.forEach((panel, index) => { panel.hidden = index !== chosen; });
    tabs.forEach((tab, index) => tab.setAttribute("aria-pressed", String(index === chosen)));
  };
  const tabs = modes.map((route, index) => el("button", { type: "button", class: "button",
    onclick: () => choose(index) }, [modeOf(route, spoken), minutes(route.duration_s, spoken)]
    .filter(Boolean).join(" ")));
  choose(0);
  const own = askedIn(spoken);
  const [origin, destination] = endsOf(modes[0], own);
  const asks = [...ASKS.keys()].filter((mode) => modes.every((route) => route.mode !== mode)).map((mode) => {
    const question = text("page.map_records.ask_question", own,
      { origin, destination, mode: text(`records.modes.${mode}`, own) });
    return el("button", { type: "button", class: "button quiet", title: question,
      onclick: () => onAsk(question) }, ASKS.get(mode));
  });
  return el("li", { class: "route" },
    el("div", { class: "tabs", role: "group", "aria-label": say("modes") }, ...tabs, ...asks),
    ...panels);
}

/** @param {Route} route @param {Spoken} spoken */
function endsOf({ origin, destination, origin_en, destination_en, ends: [from, to] = [] }, spoken) {
  const ends = [{ name: origin, name_en: origin_en ?? from?.name_en },
    { name: destination, name_en: destination_en ?? to?.name_en }];
  return ends.map((end) => readableName(end, spoken));
}

/** @param {Route} route @param {Spoken} spoken @param {HTMLElement|null} citation */
function routeParts(route, spoken, citation) {
  const facts = [metres(route.distance_m, spoken), minutes(route.duration_s, spoken)]
    .filter(Boolean).join(" · ");
  const steps = route.steps ?? [];
  return [
    el("p", {}, el("span", { class: "tag" }, modeOf(route, spoken)), " ",
      el("strong", {}, endsOf(route, spoken).join(" → ")), " ",
      el("span", { class: "muted" }, facts), " ", citation),
    steps.length > 0 && el("details", {}, el("summary", {}, say("steps", { n: steps.length })),
      el("ol", {}, ...steps.map((step) => el("li", {}, stepText(step, spoken))))),
    el("p", {},
      link(route.url, text("page.place_card.open", spoken, { map: mapName(route, spoken) }),
        { class: "button place-way" }),
      route.ends?.length === 2 && mapOf(route) === "amap"
        && link(amapLink(route.ends[1], route.mode), say("from_here"), { class: "button place-way" })),
  ];
}

/** @param {Route} route @param {Spoken} spoken */
const modeOf = ({ mode }, spoken) =>
  (hasText(`records.modes.${mode}`) ? text(`records.modes.${mode}`, spoken) : mode);

/**
 * Tells what to do, and how far where the words do not say so.
 * @param {RouteStep} step @param {Spoken} spoken
 */
function stepText({ instruction, distance_m: far }, spoken) {
  const isSaid = /\d\s*(?:米|公里|m|km)/.test(instruction);
  return !far || isSaid ? instruction : `${instruction} · ${metres(far, spoken)}`;
}

/** Shows the forecast day by day, with the day of the week that people plan by. */
export function weatherView() {
  const places = el("div", {});
  const owner = el("p", { class: "map-credit" });
  const node = el("section", { class: "weather", dataset: { part: "weather" }, hidden: true },
    el("h3", {}, say("weather")), places, owner);
  const sources = recordSources(places);
  return answerView(node, (answer) => {
    const forecasts = distinct(answer?.weather);
    node.hidden = forecasts.length === 0;
    sources.take(answer?.sources ?? []);
    const { spoken = language } = answer ?? {};
    fill(places, ...forecasts.flatMap((each) => forecast(each, spoken, sources.cite(each.source))));
    // A list of places says the same.
    owner.textContent = answer?.places.length ? "" : credit(forecasts, language, answer?.mode);
  });
}

/** @param {Weather} weather @param {Spoken} spoken @param {HTMLElement|null} citation */
function forecast({ city, city_en, days }, spoken, citation) {
  return [
    el("p", {}, el("strong", {}, readableName({ name: city, name_en: city_en }, spoken)), " ", citation),
    el("ul", { class: "record-list" }, ...days.map((day) => el("li",
      { class: "day", "aria-current": day.asked && "date" },
      ...[dayName(day.date, spoken), [symbol(day), sky(day, spoken)], degrees(day, spoken),
        readableName({ name: day.wind ?? "", name_en: day.wind_en }, spoken)]
        .map((fact) => el("span", {}, ...[fact].flat()))))),
  ];
}

/**
 * Names a day: "11月22日周日", "Sun, Nov 22"; the text itself where it is no date.
 * @param {string} date ISO 8601
 * @param {Spoken} spoken
 */
export function dayName(date, spoken) {
  const moment = new Date(`${date}T00:00:00Z`);
  return Number.isNaN(moment.getTime()) ? date : moment.toLocaleDateString(localeOf(spoken), DAY);
}

/** @param {WeatherDay} day @param {Spoken} spoken */
function sky({ day, night, sky_en: english }, spoken) {
  if (!isChinese(spoken) && english) return english.replace("/", " / ");
  return day === night ? day : [day, night].filter(Boolean).join(" / ");
}

/** Draws the sky by day, by night where a forecast has no other. @param {WeatherDay} day */
function symbol({ day, night }) {
  const kind = SKIES.find(([words]) => words.test(day || night))?.[1];
  return kind ? icon(kind) : "";
}

/** Tells Celsius, the lowest and the highest. @param {WeatherDay} day @param {Spoken} spoken */
function degrees({ low_c: low, high_c: high }, spoken) {
  const isTold = Number.isFinite(low) && Number.isFinite(high);
  return isTold ? text("page.map_records.degrees", spoken, { low, high }) : "";
}

/**
 * Makes citations within `node` that tell their source as those of the text do.
 * @param {HTMLElement} node
 * @returns {{take: (sources: Source[]) => void, cite: (id: string) => HTMLElement|null}} `take` says
 *   which sources there are from now on; `cite` is null for one that the answer does not cite
 */
function recordSources(node) {
  /** @type {Map<string, Source>} */
  let known = new Map();
  tellSources(node, (number) => {
    const source = known.get(number);
    return source ? { source, show: null } : null;
  });
  return {
    take(sources) { known = byNumber(sources); },
    cite(id) {
      const [number, source] = [...known].find(([, each]) => each.id === id) ?? [];
      if (!source || !number) return null;
      const anchor = link(source.url, number, { class: "cite", dataset: { sourceNumber: number } });
      nameCitation(anchor, source);
      return anchor;
    },
  };
}
