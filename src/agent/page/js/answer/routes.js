/** The ways an answer found: how far, how long, step by step, and on to the map service. */

import { tellSources, nameCitation } from "./citation.js";
import { el, fill, link } from "../dom.js";
import { credit, metres } from "../map/wording.js";
import { numbered } from "./source_kind.js";
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
  const list = el("ul", { class: "route-list" });
  const owner = el("p", { class: "map-credit" });
  const node = el("section", { class: "routes", dataset: { part: "routes" }, hidden: true },
    el("h3", {}, say("routes")), list, owner);
  let shown = null;
  let sources = new Map();
  tellSources(list, (number) => {
    const source = sources.get(number);
    return source ? { source, show: null } : null;
  });
  function update(turn) {
    if (turn.answer === shown) return;
    shown = turn.answer;
    sources = new Map(numbered(shown?.sources ?? []).map(([number, source]) => [String(number), source]));
    const routes = new Map((shown?.routes ?? []).map((route) => [route.id, route]));
    node.hidden = routes.size === 0;
    fill(list, ...[...routes.values()].map((route) => routeItem(route, sources)));
    // A list of places that follows says the same.
    owner.textContent = shown?.places.length ? "" : credit([...routes.values()], language);
  }
  return { node, update };
}

function routeItem(route, sources) {
  const facts = [metres(route.distance_m), minutes(route.duration_s)].filter(Boolean).join(" · ");
  const steps = route.steps ?? [];
  return el("li", { class: "route" },
    el("p", {}, el("span", { class: "tag" }, modeOf(route)), " ",
      el("strong", {}, `${route.origin} → ${route.destination}`), " ",
      el("span", { class: "muted" }, facts), " ", citation(route, sources)),
    steps.length > 0 && el("details", {}, el("summary", {}, say("steps", { n: steps.length })),
      el("ol", {}, ...steps.map((step) => el("li", {}, stepText(step))))),
    el("p", {}, link(route.url, say("open"), { class: "place-open" })));
}

function modeOf({ mode }) {
  return Object.hasOwn(WORDS.en, mode) ? say(mode) : mode;
}

function citation(route, sources) {
  const [number, source] = [...sources].find(([, one]) => one.id === route.source) ?? [];
  if (!source) return null;
  const anchor = link(source.url, number, { class: "cite", dataset: { sourceNumber: number } });
  nameCitation(anchor, source);
  return anchor;
}

/** What to do, and how far where the words do not say so. */
function stepText({ instruction, distance_m: far }) {
  return !far || /\d\s*(?:米|公里|m|km)/.test(instruction) ? instruction : `${instruction} · ${metres(far)}`;
}

/** Whole minutes, at least one. @param {number|null} seconds */
function minutes(seconds) {
  return seconds ? say("minutes", { n: Math.max(1, Math.round(seconds / 60)) }) : "";
}
