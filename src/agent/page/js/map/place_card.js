/** One place: name and facts on two lines, in the list as in the answer's bullets; the rest behind it. */

import { el, fill, link, safeUrl, textsIn } from "../dom.js";
import { isChinese, locale, text, textsOf, translator } from "../i18n.js";
import { nameIn } from "./bullet_names.js";
import { navigationLinks, qrCode } from "./navigation.js";
import {
  cost, dialled, distanceText, isOpen, mapName, rating, readableName, sourceNumbers, telephone,
} from "./place_facts.js";

const ofPage = translator("page.place_card");
const SHORT_HOURS = 28;
/** Names facts that verdicts go by. */
const FIELDS = textsOf("page.place_card.fields");

/** @typedef {(event: Event, number: number) => void} OnSource */
/** @typedef {{node: HTMLElement, expand(open: boolean): void}} PlaceCard */

/**
 * Makes the card of a place.
 * @param {{place: Place, number: number, cited?: number, sources: Source[],
 *   photos: boolean, id: string, bullet?: HTMLElement, spoken: Spoken}} shown `cited`: by which the answer
 *   cites its record; `id`: the panel's, unique in the document; `bullet` becomes
 *   the card
 * @param {{onChoose(): void, onSource: OnSource}} listeners
 * @returns {PlaceCard}
 */
export function placeCard(
  { place, number, cited, sources, photos, id, bullet, spoken }, { onChoose, onSource },
) {
  const panel = el("div", { class: "place-more", id, hidden: true });
  const button = el("button",
    { type: "button", class: "place-line", "aria-expanded": "false", "aria-controls": id, onclick: onChoose },
    el("span", { class: "place-number", "aria-hidden": "true" }, number),
    el("span", { class: "place-text" }, ...names(place, spoken), facts(place, spoken), ticks(place)));
  const node = bullet ?? el("li", { value: number });
  node.classList.add("place", ...(place.mentioned ? [] : ["faint"]));
  node.dataset.placeId = place.id;
  const address = photos ? safeUrl(place.photo) : null;
  fill(node, button, address && photo(address, readableName(place, spoken)),
    bullet && remark(bullet, place, cited), call(place), panel);
  return {
    node,
    expand(open) {
      // Anew each time: whether it is open changes.
      if (open) fill(panel, more(place, sources, onSource, spoken));
      panel.hidden = !open;
      node.classList.toggle("selected", open);
      button.setAttribute("aria-expanded", String(open));
    },
  };
}

/**
 * Names it as its reader can say it, with the name on the spot beside.
 * @param {Place} place @param {Spoken} spoken
 */
function names(place, spoken) {
  const name = readableName(place, spoken);
  const isOther = !name.toLowerCase().includes(place.name.toLowerCase()) && !isChinese(spoken);
  const lang = isOther && !place.name_en ? "zh-Latn" : undefined;
  return [el("span", { class: "place-name", ...(lang && { lang }) }, name),
    isOther && el("span", { class: "place-local small muted" }, place.name)];
}

/** Tells what of the wishes it meets; the panel says by what. @param {Place} place */
function ticks(place) {
  const told = wishes(place).map(({ verdict, text }) =>
    el("span", { class: "tick", dataset: { verdict } }, text));
  return told.length > 0 && el("span", { class: "place-ticks" }, ...told);
}

/**
 * Links the telephone where a wish is left open: there one asks. The line is a button, which has no links.
 * @param {Place} place
 */
function call(place) {
  const isOpen = wishes(place).some(({ verdict }) => verdict === "unknown");
  const number = isOpen && !place.said?.includes("phone") && telephone(place);
  return number && el("a", { class: "place-call", href: `tel:${dialled(number)}`, dir: "ltr" }, number);
}

/**
 * Returns what a bullet says besides the card's own lines, null where that is nothing.
 * @param {HTMLElement} bullet
 * @param {Place} place
 * @param {number|undefined} cited of its record, which the card tells
 */
function remark(bullet, place, cited) {
  const box = el("div", { class: "place-said" }, ...bullet.childNodes);
  const texts = textsIn(box);
  const told = toldParts(box, texts.map(({ data }) => data).join(""), place);
  let at = 0;
  for (const text of texts) {
    const length = text.length;
    for (const [from, to] of told.toReversed()) {
      const [start, end] = [Math.max(from - at, 0), Math.min(to - at, length)];
      if (start < end) text.deleteData(start, end - start);
    }
    at += length;
  }
  for (const empty of box.querySelectorAll(":is(strong, .told, .figure, .cite):empty")) empty.remove();
  const [first] = textsIn(box);
  if (first) first.data = first.data.replace(/^[\s,，:：;；·.。،]+/u, "");
  // The card itself stands for a citation of its record that is left alone.
  const isAlone = !/\p{L}|\d:\d/u.test(box.textContent) && citesIn(box).every((number) => number === cited);
  return isAlone ? null : box;
}

/** Returns the numbers of the sources that a bullet cites, in its order. @param {Element} bullet */
export function citesIn(bullet) {
  return /** @type {HTMLElement[]} */ ([...bullet.querySelectorAll("a.cite")])
    .map(({ dataset: { sourceNumber } }) => Number(sourceNumber));
}

/**
 * Returns the parts of a bullet that its card says, as the record has them; of an older answer its name.
 * @param {Element} box @param {string} words of it @param {Place} place
 * @returns {[number, number][]}
 */
function toldParts(box, words, { told, said, ...place }) {
  if (said && told?.every(([at, said]) => words.startsWith(said, at))) {
    return told.map(([at, said]) => [at, at + said.length]);
  }
  const span = nameIn(words, place, box.querySelector("strong")?.textContent ?? "");
  if (!span) return [];
  const isFirst = !/\p{L}|\d:\d/u.test(words.slice(0, span[0]));
  return [[isFirst ? 0 : span[0], span[1] + (/^[\s:：]+/u.exec(words.slice(span[1]))?.[0].length ?? 0)]];
}

/** Tells what a place is. @param {Place} place @param {Spoken} spoken */
const kind = (place, spoken) => (!isChinese(spoken) && place.category_en) || place.category;

/** Tells what the words beside the card do not say. @param {Place} place @param {Spoken} spoken */
function facts(place, spoken) {
  const say = sayIn(spoken), said = place.said ?? [];
  const stars = rating(place, spoken);
  const open = isOpen(place, new Date());
  const when = [
    open !== null && el("span", { class: "tag", dataset: { open: String(open) } },
      say(open ? "open_now" : "closed_now")),
    !said.includes("hours") && shortHours(place, spoken),
  ].filter((part) => part !== false && part !== null);
  /** @type {[string, Child][]} */
  const parts = [
    ["distance", distanceText(place, spoken)],
    ["rating", stars && el("span", { class: "place-stars" },
      el("span", { "aria-hidden": "true" }, `★ ${stars}`),
      el("span", { class: "visually-hidden" }, say("stars", { rating: stars })))],
    ["cost", cost(place, spoken)],
    ["", when.length > 0 && el("span", { class: "place-when" }, ...when)],
    ["address", place.address && el("span", { class: "on-paper" }, place.address)],
    ["", !place.mentioned && el("span", { class: "visually-hidden" }, say("other"))],
  ];
  const own = parts.filter(([field, part]) => part && !said.includes(field)).map(([, part]) => part);
  // That a stop is one is all there is to say of it.
  const told = own.length || said.length ? own : [kind(place, spoken)].filter(Boolean);
  const spans = told.map((part) => el("span", {}, part));
  return spans.length > 0 && el("span", { class: "place-facts" }, ...spans);
}

/**
 * Returns hours that fit on the first line; longer ones are told below.
 * @param {Place} place @param {Spoken} spoken
 */
function shortHours(place, spoken) {
  const told = hours(place, spoken);
  return (told?.length ?? 0) <= SHORT_HOURS ? told : null;
}

/**
 * Returns what says the card's texts as an answer does.
 * @param {Spoken} spoken @returns {typeof ofPage}
 */
const sayIn = (spoken) => (key, values) => text(`page.place_card.${key}`, spoken, values);

/**
 * Tells the hours in the reader's language where the record has them so.
 * @param {Place} place @param {Spoken} spoken
 */
const hours = (place, spoken) =>
  place.hours ?? ((!isChinese(spoken) && place.open_time_en) || place.open_time);

/**
 * @param {Place} place
 * @param {Source[]} sources
 * @param {OnSource} onSource
 * @param {Spoken} spoken
 */
function more(place, sources, onSource, spoken) {
  const say = sayIn(spoken);
  /** @param {string} name the key of its text @param {Child|Child[]} content */
  const row = (name, content) => {
    const parts = [content].flat().filter(Boolean);
    return parts.length > 0 && el("div", {}, el("dt", {}, say(name)), el("dd", {}, ...parts));
  };
  const district = (!isChinese(spoken) && place.district_en) || place.district;
  return el("dl", { class: "place-rows" },
    row("demands", verdicts(place, say)),
    // Told once: short ones stand above.
    row("hours", !shortHours(place, spoken) && hours(place, spoken)),
    row("phone", phones(place)),
    row("address", [district, place.address].filter(Boolean).join(" ")),
    row("category", kind(place, spoken)),
    row("navigate", navigation(place)),
    // The record's own page is where it is from, not one more way to navigate.
    row("sources", [...sourceLinks(place, sources, onSource), link(place.url,
      say("open", { map: mapName(place, spoken) }), { class: "place-open" })]));
}

/**
 * Lists whether the place meets what was asked for: of its kind only that it is another one, and nothing
 * that no field could tell.
 * @param {Place} place
 */
const wishes = (place) => (place.verdicts ?? []).filter(({ constraint, verdict, field }) =>
  verdict === "violated" || (constraint !== "kind" && field));

/** Tells the same, one line each, and by what. @param {Place} place @param {typeof ofPage} say */
function verdicts(place, say) {
  return wishes(place).map(({ verdict, text, field }) => {
    // One by the name says so itself.
    const by = FIELDS.has(field ?? "") && say("by", { field: say(`fields.${field}`) });
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
  const ways = links.map(([name, url]) =>
    link(url, ofPage(name), { class: "button place-way", lang: locale }));
  // The code is one of Amap's navigation, which knows the ways in China.
  if (links[0][0] !== "amap") return ways;
  const picture = () => el("img", { class: "place-qr", alt: ofPage("qr_alt"), width: 144, height: 144,
    src: qrCode(links[0][1]) });
  const code = el("div", {});
  const show = () => {
    const shown = !code.hasChildNodes();
    fill(code, shown && picture());
    button.setAttribute("aria-expanded", String(shown));
  };
  const button = el("button", { type: "button", class: "button place-way", "aria-expanded": "false",
    lang: locale, onclick: show }, ofPage("qr"));
  return [...ways, button, code];
}

/** @param {Place} place @param {Source[]} sources @param {OnSource} onSource */
function sourceLinks(place, sources, onSource) {
  return sourceNumbers(place, sources).map((number) =>
    el("a", { class: "place-source", href: `#source-${number}`, "aria-label": ofPage("source", { number }),
      onclick: (event) => onSource(event, number) }, `[${number}]`));
}

/**
 * Shows a photo; one that cannot be loaded leaves no trace.
 * @param {string} address
 * @param {string} name
 * @returns {HTMLImageElement}
 */
function photo(address, name) {
  const picture = el("img", { class: "place-photo", alt: ofPage("photo", { name }), loading: "lazy",
    decoding: "async", referrerpolicy: "no-referrer" });
  picture.addEventListener("error", () => picture.remove());
  picture.src = address;
  return picture;
}
