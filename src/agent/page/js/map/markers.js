/** The signs on the map: numbered pins, the centre that places lie around, the person's position. */

import { L } from "../../vendor/leaflet.js";
import { el, svg } from "../dom.js";
import { language, translator } from "../i18n.js";
import { shortFacts } from "./place_facts.js";

const PIN = { width: 30, height: 38 };
const PIN_SHAPE = "M15 37C11 26 2 22 2 13.5a13 13 0 0 1 26 0C28 22 19 26 15 37Z";

const say = translator("page.markers");

/**
 * Makes a pin that a keyboard reaches; Enter and Space choose it as a click does.
 * @param {{place: Place, number: number, at: LatLng, onSelect(): void}} pin
 */
export function placeMarker({ place, number, at, onSelect }) {
  const shape = svg(
    "svg",
    { viewBox: `0 0 ${PIN.width} ${PIN.height}`, ...PIN, "aria-hidden": "true" },
    svg("path", { d: PIN_SHAPE }),
    svg("text", { x: 15, y: 18, "text-anchor": "middle" }, String(number)),
  );
  const marker = L.marker(at, {
    icon: L.divIcon({
      className: place.mentioned ? "map-pin" : "map-pin faint",
      html: shape,
      iconSize: [PIN.width, PIN.height],
      iconAnchor: [PIN.width / 2, PIN.height - 1],
      tooltipAnchor: [15, -20],
    }),
    keyboard: true,
    riseOnHover: true,
    zIndexOffset: resting(place.mentioned),
  });
  marker.on("click", onSelect);
  marker.on("add", () => makeButton(marker, place, number, onSelect));
  marker.bindTooltip(tooltip(place), { direction: "auto", className: "map-tip" });
  return marker;
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
 * @param {LatLng} at in the layer's system
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
function resting(mentioned) {
  return mentioned ? 200 : 0;
}

/** @param {string} className @param {string} text @param {LatLng} at */
function dotMarker(className, text, at) {
  const icon = L.divIcon({ className, html: el("span"), iconSize: [18, 18] });
  const marker = L.marker(at, { icon, keyboard: false, zIndexOffset: 100 });
  marker.on("add", () => {
    marker.getElement()?.setAttribute("role", "img");
    marker.getElement()?.setAttribute("aria-label", text);
  });
  const look = { direction: "bottom", className: "map-tip", offset: [0, 8] };
  return marker.bindTooltip(el("span", {}, text), look);
}

/** @param {L.Marker} marker @param {Place} place @param {number} number @param {() => void} onSelect */
function makeButton(marker, place, number, onSelect) {
  const node = marker.getElement();
  if (!node) return;
  const about = say("pin", { number, name: place.name }) + (place.mentioned ? "" : say("others"));
  node.setAttribute("aria-label", [about, ...shortFacts(place, language)].join(", "));
  node.setAttribute("aria-pressed", "false");
  node.dataset.placeId = place.id;
  node.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    event.stopPropagation();
    onSelect();
  });
}

/** @param {Place} place */
function tooltip(place) {
  const facts = shortFacts(place, language).join(" · ");
  const line = facts && el("div", { class: "map-tip-facts" }, facts);
  return el("div", {}, el("strong", {}, place.name), line);
}
