/** The places of an answer, in the map's numbers: in its bullets, and a list of those without one. */

import { el, fill } from "../dom.js";
import { direction, language, tagOf, translator } from "../i18n.js";
import { nameIn } from "./bullet_names.js";
import { citesIn, placeCard } from "./place_card.js";
import { credit } from "./place_facts.js";

/** @import { PlaceCard } from "./place_card.js" */

const say = translator("page.places");
const FEW = 3;
let lists = 0;

/** @implements {View} */
export class PlacesView {
  #photos;
  #body;
  #onSelect;
  /** @type {Map<string, PlaceCard>} */
  #cards = new Map();
  /** @type {string|null} */
  #selected = null;
  /** @type {Answer|null} */
  #shown = null;
  #prefix = `place-${(lists += 1)}`;
  #list = el("ol", { class: "place-list" });
  #others = el("ol", { class: "place-list" });
  #count = el("summary", {});
  #rest = el("details", { class: "place-rest" }, this.#count, this.#others);
  #owner = el("p", { class: "map-credit" });
  #heading = el("h3", { class: "places-heading", id: `${this.#prefix}-heading` }, say("places"));
  node = el("section",
    { class: "places", hidden: true, "aria-labelledby": this.#heading.id, dataset: { part: "places" } },
    this.#heading, this.#list, this.#rest, this.#owner);

  /**
   * @param {Pick<Config, "photos">} config says whether photos are loaded
   * @param {ParentNode} body the answer's text, which has been shown before this is updated
   * @param {{onSelect: ChoosePlace}} listeners told when the person opens a place, and with null when the
   *   open one is closed
   */
  constructor(config, body, { onSelect }) {
    this.#photos = config.photos;
    this.#body = body;
    this.#onSelect = onSelect;
  }

  /** @param {Turn} turn */
  update(turn) {
    if (turn.answer === this.#shown) return;
    this.#shown = turn.answer;
    const { places = [], sources = [], outing, mode, spoken = language } = turn.answer ?? {};
    this.#draw(places, sources, outing, spoken);
    for (const list of [this.#list, this.#others]) {
      list.lang = tagOf(spoken);
      list.dir = direction(Object.values(typeof spoken === "string" ? {} : spoken.texts).join("")) ?? "";
    }
    this.#owner.textContent = credit(places, language, mode);
  }

  /** Opens and shows a place of the list, or closes the open one. @param {string|null} id */
  select(id) {
    if (this.#selected === id) return;
    this.#cards.get(this.#selected ?? "")?.expand(false);
    const card = this.#cards.get(id ?? "");
    this.#selected = card ? id : null;
    if (!card) return;
    card.node.closest("details")?.setAttribute("open", "");
    card.expand(true);
    scrollTo(card.node);
  }

  /**
   * @param {Place[]} places @param {Source[]} sources
   * @param {Answer["outing"]|undefined} outing a bullet that says why a place is not in it stays one
   * @param {Spoken} spoken
   */
  #draw(places, sources, outing, spoken) {
    const bullets = this.#bulletsOf(places, sources, outing);
    this.#cards.clear();
    this.#selected = null;
    /** @type {Place[]} */
    const listed = [];
    /** @type {Node[]} */
    const inText = [];
    for (const [index, place] of places.entries()) {
      const number = place.number ?? index + 1;
      const cited = recordOf(place, sources), bullet = bullets.get(place);
      const id = `${this.#prefix}-${number}`;
      const shown = { place, number, cited, sources, photos: this.#photos, id, bullet, spoken };
      this.#cards.set(place.id, placeCard(shown, {
        onChoose: () => this.#choose(place.id),
        onSource: (event, source) => this.#showSource(event, source),
      }));
      if (bullet) inText.push(bullet);
      else if (!place.told || !this.#putBehind(place.id, cited)) listed.push(place);
    }
    if (outing) inPinOrder(inText);
    // Those the answer does not name are folded away, unless they are few.
    const named = listed.filter((place) => place.mentioned);
    const others = listed.filter((place) => !place.mentioned);
    const isFolded = others.length > FEW && others.length < places.length;
    const nodes = (/** @type {Place[]} */ all) => all.map(({ id }) => this.#cards.get(id)?.node);
    fill(this.#list, ...nodes(isFolded ? named : listed));
    fill(this.#others, ...(isFolded ? nodes(others) : []));
    this.#count.textContent = say("more", { count: others.length });
    this.#rest.hidden = !isFolded;
    this.#heading.hidden = this.#list.hidden = listed.length === 0;
    this.#heading.textContent = say(listed.length && listed.length < places.length ? "others" : "places");
    this.node.hidden = places.length === 0;
  }

  /**
   * Returns the bullet of each place that has one: it names the place first and cites its record, of two of
   * one name first, or can mean no other. One that calculates is about a sum.
   * @param {Place[]} places @param {Source[]} sources @param {Answer["outing"]|undefined} outing
   */
  #bulletsOf(places, sources, outing) {
    const left = new Map(outing?.left_out?.map(({ place, text }) => [place, text]));
    /** @type {Map<Place, HTMLElement>} */
    const found = new Map();
    /** @type {NodeListOf<HTMLElement>} */
    const nodes = this.#body.querySelectorAll("li:not([data-place-id])");
    for (const node of nodes) {
      if (node.textContent.includes(" = ")) continue;
      const cites = citesIn(node), head = node.querySelector("strong")?.textContent ?? "";
      const named = places.filter((place) => nameIn(node.textContent, place, head));
      /** @param {Place} place */
      const turn = (place) => (cites.indexOf(recordOf(place, sources) ?? 0) + 1) || Infinity;
      const place = named.toSorted((a, b) => turn(a) - turn(b)).find((each) => {
        const why = left.get(each.id);
        return !found.has(each) && !(why && node.textContent.includes(why))
          && (turn(each) < Infinity || isNamedAlone(node, named, head));
      });
      if (place) found.set(place, node);
    }
    if (!outing) dropSteps(found);
    return found;
  }

  /**
   * Puts a place's card behind the paragraph that is the first to cite it, and tells whether there is one.
   * @param {string} id @param {number|undefined} cited
   */
  #putBehind(id, cited) {
    const block = this.#body.querySelector(`a.cite[data-source-number="${cited}"]`)?.closest("p, li");
    const card = this.#cards.get(id)?.node;
    if (!block || !card) return false;
    const isItem = block.matches("li"), next = isItem ? block.lastElementChild : block.nextElementSibling;
    const list = next?.matches(".place-list") ? next : el("ol", { class: "place-list" });
    if (list !== next) block[isItem ? "append" : "after"](list);
    list.append(card);
    return true;
  }

  /** @param {string} id */
  #choose(id) {
    const next = this.#selected === id ? null : id;
    this.select(next);
    this.#onSelect(next);
  }

  /**
   * Goes to the source of this very answer; other answers of the page have the same numbers.
   * @param {Event} event
   * @param {number} number
   */
  #showSource(event, number) {
    const selector = `[data-part="sources"] [data-source-number="${Number(number)}"]`;
    let around = this.node.parentElement;
    while (around && !around.querySelector(selector)) around = around.parentElement;
    const source = around?.querySelector(selector);
    if (!(source instanceof HTMLElement)) return;
    event.preventDefault();
    source.closest("details")?.setAttribute("open", "");
    scrollTo(source);
    source.focus({ preventScroll: true });
  }
}

/** Returns the number that cites a place's record. @param {Place} place @param {Source[]} sources */
function recordOf(place, sources) {
  const at = sources.findIndex((source) => source.id === place.source);
  return at < 0 ? undefined : sources[at].number ?? at + 1;
}

/**
 * Tells whether words name one place and go on.
 * @param {Element} bullet @param {Place[]} named @param {string} head
 */
function isNamedAlone({ textContent: words }, [place, ...others], head) {
  return !others.length && !/[\p{L}\d]/u.test(words[nameIn(words, place, head)?.[1] ?? 0] ?? "");
}

/**
 * Takes the bullets away that are steps of a numbered list, some of which are places whose pins have other
 * numbers: these would be a second count.
 * @param {Map<Place, HTMLElement>} found
 */
function dropSteps(found) {
  for (const [list, own] of Map.groupBy(found, ([, node]) => node.parentElement)) {
    const items = [...list?.children ?? []], first = list instanceof HTMLOListElement ? list.start : NaN;
    const isSame = own.every(([{ number }, node]) => number === first + items.indexOf(node));
    if (own.length < items.length && first && !isSame) own.forEach(([place]) => found.delete(place));
  }
}

/**
 * Puts the cards of each list in the order of a planned day; its other items stay where they are.
 * @param {Node[]} cards in that order
 */
function inPinOrder(cards) {
  for (const [list, own] of Map.groupBy(cards, (card) => card.parentElement)) {
    const left = own.values(), nodes = [...list?.childNodes ?? []];
    list?.replaceChildren(...nodes.map((node) => (own.includes(node) && left.next().value) || node));
  }
}

/** @param {Element} node */
function scrollTo(node) {
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  node.scrollIntoView({ block: "nearest", behavior: calm ? "auto" : "smooth" });
}
