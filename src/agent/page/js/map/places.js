/** The places of an answer as a list, in the map's numbers. */

import { el, fill } from "../dom.js";
import { language, translator } from "../i18n.js";
import { placeCard } from "./place_card.js";
import { byMention, credit } from "./place_facts.js";

const say = translator({
  zh: { places: "地点", more: "另外找到的 {count} 个地点" },
  en: { places: "Places", more: "{count} more that were found" },
});
const FEW = 3;
let lists = 0;

/**
 * @param {object} config of /app/config.json; `photos` says whether photos are loaded
 * @param {{onSelect(placeId: string|null): void}} listeners told when the person opens a place,
 *   and with null when the open one is closed
 * @returns {{node: HTMLElement, update(turn: object|null): void, select(id: string|null): void}}
 *   `select` opens and shows a place of the list, or closes the open one
 */
export function placesView(config, listeners) {
  const view = new PlacesView(config, listeners);
  return { node: view.node, update: (turn) => view.update(turn), select: (id) => view.select(id) };
}

class PlacesView {
  constructor(config, { onSelect }) {
    this.photos = config.photos === true;
    this.onSelect = onSelect;
    this.cards = new Map();
    this.selected = null;
    this.shown = "";
    this.prefix = `place-${(lists += 1)}`;
    this.list = el("ol", { class: "place-list" });
    this.rest = el("button", { type: "button", class: "button quiet place-rest", onclick: () => this.#showRest() });
    this.credit = el("p", { class: "map-credit" });
    const heading = el("h3", { class: "places-heading", id: `${this.prefix}-heading` }, say("places"));
    this.node = el("section", { class: "places", hidden: true, "aria-labelledby": heading.id, dataset: { part: "places" } },
      heading, this.list, this.rest, this.credit);
  }

  update(turn) {
    const { places = [], sources = [] } = turn?.answer ?? {};
    const shown = JSON.stringify([places, sources]);
    if (shown === this.shown) return;
    this.shown = shown;
    this.#draw(byMention(places), sources);
  }

  select(id) {
    if (this.selected === id) return;
    this.cards.get(this.selected)?.expand(false);
    this.selected = this.cards.has(id) ? id : null;
    const card = this.cards.get(id);
    if (!card) return;
    if (card.node.hidden) this.#showRest();
    card.expand(true);
    scrollTo(card.node);
  }

  #draw(places, sources) {
    this.cards.clear();
    this.selected = null;
    places.forEach((place, index) => {
      const [number, id] = [index + 1, `${this.prefix}-${index + 1}`];
      const listeners = { onChoose: () => this.#choose(place.id), onSource: (...chosen) => this.#showSource(...chosen) };
      this.cards.set(place.id, placeCard({ place, number, sources, photos: this.photos, id }, listeners));
    });
    fill(this.list, ...[...this.cards.values()].map((card) => card.node));
    this.#foldRest(places);
    this.credit.textContent = credit(places, language);
    this.node.hidden = places.length === 0;
  }

  /** Those the answer does not name are folded away, unless they are few. */
  #foldRest(places) {
    const others = places.filter((place) => !place.mentioned);
    const fold = others.length > FEW && others.length < places.length;
    for (const place of others) this.cards.get(place.id).node.hidden = fold;
    this.rest.hidden = !fold;
    this.rest.textContent = say("more", { count: others.length });
  }

  #showRest() {
    const folded = [...this.cards.values()].filter((card) => card.node.hidden);
    const had = document.activeElement === this.rest;
    for (const card of folded) card.node.hidden = false;
    this.rest.hidden = true;
    if (had) folded[0]?.node.querySelector("button").focus();
  }

  #choose(id) {
    const next = this.selected === id ? null : id;
    this.select(next);
    this.onSelect(next);
  }

  /** Goes to the source of this very answer; other answers of the page have the same numbers. */
  #showSource(event, number) {
    const wanted = `[data-part="sources"] [data-source-number="${Number(number)}"]`;
    let around = this.node.parentElement;
    while (around && !around.querySelector(wanted)) around = around.parentElement;
    const found = around?.querySelector(wanted);
    if (!found) return;
    event.preventDefault();
    scrollTo(found);
    found.focus({ preventScroll: true });
  }
}

function scrollTo(node) {
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  node.scrollIntoView({ block: "nearest", behavior: calm ? "auto" : "smooth" });
}
