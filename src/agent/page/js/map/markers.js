/** The signs on the map: numbered pins, the centre that places lie around, the person's position. */

import { L } from "../../vendor/leaflet.js";
import { el, svg } from "../dom.js";
import { translator } from "../i18n.js";
import { readableName, shortFacts } from "./place_facts.js";

const PIN = { width: 30, height: 38 };
const PIN_SHAPE = "M15 37C11 26 2 22 2 13.5a13 13 0 0 1 26 0C28 22 19 26 15 37Z";

/** Names below do not shine through. */
const TIP = { className: "map-tip", opacity: 1 };

const say = translator("page.markers");

/**
 * Makes a pin that a keyboard reaches; Enter and Space choose it as a click does.
 * @param {{place: Place, number: number|null, at: LatLng, spoken: Spoken, isNew: boolean,
 *   onSelect(): void}} pin `number`: null for one that was just found, which is hollow until it is named
 */
export function placeMarker({ place, number, at, spoken, isNew, onSelect }) {
  const kinds = ["map-pin", !place.mentioned && "faint", number === null && "found", isNew && "new"];
  const marker = L.marker(at, {
    icon: pinIcon(kinds.filter(Boolean).join(" "), number ?? "•"),
    keyboard: true,
    riseOnHover: true,
    zIndexOffset: resting(place.mentioned),
  });
  pressable(marker, pinName(place, number, spoken), onSelect);
  marker.on("add", () => describe(marker, place));
  marker.bindTooltip(tooltip(place, spoken), { ...TIP, direction: "auto" });
  return marker;
}

/** Marks an end of a way with its letter. @param {{name: string, letter: string, at: LatLng}} end */
export function endMarker({ name, letter, at }) {
  const marker = L.marker(at, { icon: pinIcon("map-pin end", letter), keyboard: false, zIndexOffset: 300 });
  return labelled(marker, say("end", { letter, name }));
}

/**
 * Draws a way as the map gives it, below pins and names.
 * @param {LatLng[]} points two or more
 * @param {L.Group} layer
 */
export function drawnLine(points, layer) {
  L.polyline(points, { className: "map-way drawn", interactive: false }).addTo(layer);
}

/**
 * Draws a dashed line below pins and names, and returns the note that it is no road, for its middle.
 * @param {LatLng[]} points two or more
 * @param {L.Group} layer
 */
export function straightLine(points, layer) {
  L.polyline(points, { className: "map-way", interactive: false }).addTo(layer);
  const [[lat, lng], to] = points.slice(Math.ceil(points.length / 2) - 1);
  return { name: say("straight"), at: /** @type {LatLng} */ ([(lat + to[0]) / 2, (lng + to[1]) / 2]) };
}

/** @param {string} className @param {string|number} text */
function pinIcon(className, text) {
  const shape = svg(
    "svg",
    { viewBox: `0 0 ${PIN.width} ${PIN.height}`, ...PIN, "aria-hidden": "true" },
    svg("path", { d: PIN_SHAPE }),
    svg("text", { x: 15, y: 18, "text-anchor": "middle" }, String(text)),
  );
  return L.divIcon({
    className,
    html: shape,
    iconSize: [PIN.width, PIN.height],
    iconAnchor: [PIN.width / 2, PIN.height - 1],
    tooltipAnchor: [15, -20],
  });
}

/**
 * Marks the pin as the chosen one, or as one of the others again.
 * @param {L.Marker} marker
 * @param {boolean} selected
 */
export function showSelected(marker, selected) {
  const node = marker.getElement();
  const faint = node?.classList.contains("faint");
  marker.setZIndexOffset(selected ? 1000 : resting(!faint));
  node?.classList.toggle("selected", selected);
  node?.setAttribute("aria-pressed", String(selected));
}

/** Marks the centre of the search: a ring with a dot. @param {Anchor} anchor @param {LatLng} at */
export function anchorMarker(anchor, at) {
  return dotMarker("map-anchor", say("centre", { name: anchor.name }), at);
}

/**
 * Marks where the person is, and the circle it may be off by.
 * @param {Position} position
 * @param {LatLng} at
 * @returns {L.Layer[]}
 */
export function positionMarkers(position, at) {
  const accuracy = Math.round(position.accuracy ?? 0);
  const text = accuracy ? say("within", { accuracy }) : say("here");
  const dot = dotMarker("map-here", text, at);
  if (!accuracy) return [dot];
  return [L.circle(at, { radius: accuracy, className: "map-accuracy", interactive: false }), dot];
}

/** Returns the height at which a pin lies: named places over the others. @param {boolean} mentioned */
function resting(mentioned) { return mentioned ? 200 : 0; }

/** @param {string} className @param {string} text @param {LatLng} at */
function dotMarker(className, text, at) {
  const icon = L.divIcon({ className, html: el("span"), iconSize: [18, 18] });
  return labelled(L.marker(at, { icon, keyboard: false, zIndexOffset: 100 }), text).bindTooltip(
    el("span", {}, text), { ...TIP, direction: "bottom", offset: [0, 8] });
}

/** @param {L.Marker} marker @param {string} text */
function labelled(marker, text) {
  marker.on("add", () => {
    marker.getElement()?.setAttribute("role", "img");
    marker.getElement()?.setAttribute("aria-label", text);
  });
  return marker;
}

/**
 * Lets a keyboard press a marker as a click does: by Enter and Space.
 * @param {L.Marker} marker
 * @param {string} name
 * @param {() => void} act
 */
export function pressable(marker, name, act) {
  marker.on("click", act);
  marker.on("add", () => {
    const node = marker.getElement();
    node?.setAttribute("aria-label", name);
    node?.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      event.stopPropagation();
      act();
    });
  });
}

/** @param {Place} place @param {number|null} number @param {Spoken} spoken */
function pinName(place, number, spoken) {
  const name = readableName(place, spoken);
  const listed = say("pin", { number, name }) + (place.mentioned ? "" : say("others"));
  const about = number === null ? say("found", { name }) : listed;
  return [about, ...shortFacts(place, spoken)].join(", ");
}

/** @param {L.Marker} marker @param {Place} place */
function describe(marker, place) {
  const node = marker.getElement();
  if (!node) return;
  node.setAttribute("aria-pressed", "false");
  node.dataset.placeId = place.id;
}

/** @param {Place} place @param {Spoken} spoken */
function tooltip(place, spoken) {
  const facts = shortFacts(place, spoken).join("\u00a0· ");
  const line = facts && el("div", { class: "map-tip-facts" }, facts);
  return el("div", {}, el("strong", {}, readableName(place, spoken)), line);
}
