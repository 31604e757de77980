/** The ways an answer found: how far, how long, step by step, and on to the map service. */

import { el, fill, link } from "../dom.js";
import { credit, metres } from "../map/wording.js";
import { recordSources } from "./record_sources.js";
import { language, speaking } from "../words.js";

const WORDS = {
  zh: {
    routes: "路线", walking: "步行", driving: "驾车", bicycling: "骑行", transit: "公交",
    minutes: "{n} 分钟", steps: "怎么走（{n} 步）", open: "在高德地图中打开",
  },
  en: {
    routes: "Routes", walking: "Walk", driving: "Drive", bicycling: "Cycle", transit: "Transit",
    minutes: "{n} min", steps: "The way, steps: {n}", open: "Open in Amap",
  },
};
const say = speaking(WORDS);

/** @returns {{node: HTMLElement, update: (turn: object) => void}} */
export function routesView() {
  const list = el("ul", { class: "record-list" });
  const owner = el("p", { class: "map-credit" });
  const node = el("section", { class: "routes", dataset: { part: "routes" }, hidden: true },
    el("h3", {}, say("routes")), list, owner);
  const sources = recordSources(list);
  let shown = null;
  function update(turn) {
    if (turn.answer === shown) return;
    shown = turn.answer;
    const routes = [...new Map((shown?.routes ?? []).map((route) => [route.id, route])).values()];
    node.hidden = routes.length === 0;
    sources.take(shown?.sources ?? []);
    fill(list, ...routes.map((route) => routeItem(route, sources.cite(route.source))));
    // A forecast or a list of places that follows says the same.
    const isSaid = shown?.places.length || shown?.weather.length;
    owner.textContent = isSaid ? "" : credit(routes, language);
  }
  return { node, update };
}

function routeItem(route, citation) {
  const facts = [metres(route.distance_m), minutes(route.duration_s)].filter(Boolean).join(" · ");
  const steps = route.steps ?? [];
  return el("li", { class: "route" },
    el("p", {}, el("span", { class: "tag" }, modeOf(route)), " ",
      el("strong", {}, `${route.origin} → ${route.destination}`), " ",
      el("span", { class: "muted" }, facts), " ", citation),
    steps.length > 0 && el("details", {}, el("summary", {}, say("steps", { n: steps.length })),
      el("ol", {}, ...steps.map((step) => el("li", {}, stepText(step))))),
    el("p", {}, link(route.url, say("open"), { class: "place-open" })));
}

function modeOf({ mode }) {
  return Object.hasOwn(WORDS.en, mode) ? say(mode) : mode;
}

/** What to do, and how far where the words do not say so. */
function stepText({ instruction, distance_m: far }) {
  return !far || /\d\s*(?:米|公里|m|km)/.test(instruction) ? instruction : `${instruction} · ${metres(far)}`;
}

/** Whole minutes, at least one. @param {number|null} seconds */
function minutes(seconds) {
  return seconds ? say("minutes", { n: Math.max(1, Math.round(seconds / 60)) }) : "";
}
