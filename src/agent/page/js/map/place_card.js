/** One place: a line of the list, or a bullet of the answer, that says the most; the rest behind it. */

import { el, fill, link, safeUrl } from "../dom.js";
import { language, textsOf, translator } from "../i18n.js";
import { navigationLinks, qrCode } from "./navigation.js";
import {
  cost, distanceText, isOpen, mapName, metres, rating, readableName, sourceNumbers,
} from "./place_facts.js";

const say = translator("page.place_card");
const SHORT_HOURS = 28;
/** Names facts that verdicts go by. */
const FIELDS = textsOf("page.place_card.fields");

/** @typedef {(event: Event, number: number) => void} OnSource */
/** @typedef {{node: HTMLElement, expand(open: boolean): void}} PlaceCard */

/**
 * Makes the card of a place.
 * @param {{place: Place, number: number, sources: Source[], photos: boolean, id: string,
 *   bullet?: HTMLElement}} shown `id`: the panel's, unique in the document; `bullet` becomes the card
 * @param {{onChoose(): void, onSource: OnSource}} listeners
 * @returns {PlaceCard}
 */
export function placeCard({ place, number, sources, photos, id, bullet }, { onChoose, onSource }) {
  const said = bullet?.textContent ?? "";
  const panel = el("div", { class: "place-more", id, hidden: true });
  const button = el("button",
    { type: "button", class: "place-line", "aria-expanded": "false", "aria-controls": id, onclick: onChoose },
    el("span", { class: "place-number", "aria-hidden": "true" }, number),
    bullet ? el("span", { class: "visually-hidden" }, say("about", { name: place.name }))
      : el("span", { class: "place-text" }, el("span", { class: "place-name" }, place.name), sound(place),
        facts(place)),
  );
  const node = bullet ?? el("li", { value: number });
  node.classList.add("place", ...(place.mentioned ? [] : ["faint"]));
  node.dataset.placeId = place.id;
  node.prepend(button);
  const address = bullet && !said.includes(place.address ?? "") && `\u00a0· ${place.address}`;
  if (address) node.append(el("span", { class: "on-paper" }, address));
  node.append(panel);
  return {
    node,
    expand(open) {
      // Anew each time: whether it is open changes.
      if (open) fill(panel, bullet && unsaid(place, said), ...more(place, sources, photos, onSource));
      panel.hidden = !open;
      node.classList.toggle("selected", open);
      button.setAttribute("aria-expanded", String(open));
    },
  };
}

/** Tells English readers the English name, or how the Chinese one sounds. @param {Place} place */
function sound(place) {
  const [gloss, lang] = [readableName(place, language), place.name_en ? null : "zh-Latn"];
  return gloss !== place.name && el("span", { class: "place-sound small muted", lang }, gloss);
}

/** Tells the facts of the line that a bullet leaves out. @param {Place} place @param {string} said */
function unsaid(place, said) {
  const { distance_m: far, rating: stars, cost: price } = place;
  const rest = { ...place, address: null, open_time: null, open_time_en: undefined, mentioned: true,
    distance_m: said.includes(metres(far)) ? null : far, rating: said.includes(rating(place)) ? null : stars,
    cost: price && said.includes(String(price)) ? null : price };
  const gloss = sound(place);
  return el("div", {}, gloss && !said.includes(gloss.textContent) && gloss, facts(rest));
}

/** @param {Place} place */
function facts(place) {
  const stars = rating(place);
  const parts = [
    distanceText(place, language),
    stars && el("span", { class: "place-stars" }, el("span", { "aria-hidden": "true" }, `★ ${stars}`),
      el("span", { class: "visually-hidden" }, say("stars", { rating: stars }))),
    cost(place, language),
    shortHours(place),
    place.address && el("span", { class: "on-paper" }, place.address),
    !place.mentioned && el("span", { class: "visually-hidden" }, say("other")),
  ].filter(Boolean);
  const spans = parts.map((part) => el("span", {}, part));
  return spans.length > 0 && el("span", { class: "place-facts" }, ...spans);
}

/** Returns hours that fit on the first line; longer ones are told below. @param {Place} place */
function shortHours(place) {
  const told = hours(place);
  return (told?.length ?? 0) <= SHORT_HOURS ? told : null;
}

/** @param {boolean} open */
const openTag = (open) =>
  el("span", { class: "tag", dataset: { open: String(open) } }, say(open ? "open_now" : "closed_now"));

/** Tells the hours in the page's language where the record has them so. @param {Place} place */
const hours = (place) => (language === "en" && place.open_time_en) || place.open_time;

/**
 * @param {Place} place
 * @param {Source[]} sources
 * @param {boolean} photos
 * @param {OnSource} onSource
 * @returns {Child[]}
 */
function more(place, sources, photos, onSource) {
  const address = photos ? safeUrl(place.photo) : null;
  const open = isOpen(place, new Date());
  const district = (language === "en" && place.district_en) || place.district;
  const rows = [
    row("demands", verdicts(place)),
    row("hours", [open !== null && openTag(open), hours(place)]),
    row("phone", phones(place)),
    row("address", [district, place.address].filter(Boolean).join(" ")),
    row("category", (language === "en" && place.category_en) || place.category),
    row("navigate", navigation(place)),
    // The record's own page is where it is from, not one more way to navigate.
    row("sources", [...sourceLinks(place, sources, onSource), link(place.url,
      say("open", { map: mapName(place, language) }), { class: "place-open" })]),
  ].filter(Boolean);
  return [
    address && photo(address, place.name),
    el("dl", { class: "place-rows" }, ...rows),
  ];
}

/** @param {string} name the key of its text @param {Child|Child[]} content */
function row(name, content) {
  const parts = [content].flat().filter(Boolean);
  return parts.length > 0 && el("div", {}, el("dt", {}, say(name)), el("dd", {}, ...parts));
}

/**
 * Tells whether the place meets what was asked for, one line each, and by what: of its kind only that it is
 * another one, and nothing that its name alone suggests or no field could tell.
 * @param {Place} place
 */
function verdicts(place) {
  const told = (place.verdicts ?? []).filter(({ constraint, verdict, field }) =>
    verdict === "violated" || (constraint !== "kind" && field && field !== "name"));
  return told.map(({ verdict, text, field }) => {
    // One by the name says so itself.
    const by = FIELDS.has(field ?? "") && say("by", { field: FIELDS.get(field ?? "") });
    return el("div", { dataset: { verdict } }, text, " ", by && el("span", { class: "muted small" }, by));
  });
}

/** Links the numbers of the record; what else it says stays text. @param {Place} place */
function phones(place) {
  const numbers = (place.phone ?? "").split(/[;；,，]/).map((number) => number.trim()).filter(Boolean);
  return numbers.map((number) => {
    const plain = number.replaceAll(/[\s()-]/g, "");
    const isNumber = /^\+?\d{3,15}$/.test(plain);
    return el("div", {}, isNumber ? el("a", { href: `tel:${plain}` }, number) : number);
  });
}

/** Offers the way there, and a code to open it on a phone. @param {Place} place */
function navigation(place) {
  const links = navigationLinks(place);
  const ways = links.map(([name, url]) => link(url, say(name), { class: "button place-way" }));
  // The code is one of Amap's navigation, which knows the ways in China.
  if (links[0][0] !== "amap") return ways;
  const picture = () => el("img", { class: "place-qr", alt: say("qr_alt"), width: 144, height: 144,
    src: qrCode(links[0][1]) });
  const code = el("div", {});
  const show = () => {
    const shown = !code.hasChildNodes();
    fill(code, shown && picture());
    button.setAttribute("aria-expanded", String(shown));
  };
  const button = el("button", { type: "button", class: "button place-way", "aria-expanded": "false",
    onclick: show }, say("qr"));
  return [...ways, button, code];
}

/** @param {Place} place @param {Source[]} sources @param {OnSource} onSource */
function sourceLinks(place, sources, onSource) {
  return sourceNumbers(place, sources).map((number) =>
    el("a", { class: "place-source", href: `#source-${number}`, "aria-label": say("source", { number }),
      onclick: (event) => onSource(event, number) }, `[${number}]`));
}

/**
 * Shows a photo; one that cannot be loaded leaves no trace.
 * @param {string} address
 * @param {string} name
 * @returns {HTMLImageElement}
 */
function photo(address, name) {
  const picture = el("img", { class: "place-photo", alt: say("photo", { name }), loading: "lazy",
    decoding: "async", referrerpolicy: "no-referrer" });
  picture.addEventListener("error", () => picture.remove());
  picture.src = address;
  return picture;
}
