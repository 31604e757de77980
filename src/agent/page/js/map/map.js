/** The map of an answer: what its places lie around, and the places by the numbers of the list. */

import { L } from "../../vendor/leaflet.js";
import { el, fill } from "../dom.js";
import { language, translator } from "../i18n.js";
import { attribution, layGround, zoomRange } from "./base_layer.js";
import { fromLayer, inLayer, isPoint, lngNear } from "./coordinates.js";
import { pinLabels } from "./declutter_labels.js";
import { anchorMarker, placeMarker, positionMarkers, showSelected } from "./markers.js";
import { byMention, credit } from "./place_facts.js";

const say = translator({
  zh: {
    map: "地点分布图", empty: "有了地点，会显示在这里", none: "这个回答里没有可以画在地图上的地点",
    in: "放大", out: "缩小", fit: "显示全部地点", north: "北",
    ask: "点一下地图上您所在的位置", middle: "就用中心点", cancel: "取消",
  },
  en: {
    map: "Map of the places", empty: "Places will be shown here", none: "This answer has no places to draw",
    in: "Zoom in", out: "Zoom out", fit: "Show all places", north: "N",
    ask: "Tap the map where you are", middle: "Use the middle", cancel: "Cancel",
  },
});
const CHINA = { at: [35, 105], zoom: 4 };
const NEARBY_ZOOM = 15;
const FAR_M = 10_000;
const FIT = { paddingTopLeft: [44, 72], paddingBottomRight: [64, 76], maxZoom: 16.5 };
const KEEP_IN = { paddingTopLeft: [48, 80], paddingBottomRight: [64, 88] };

/**
 * @param {object} config of /app/config.json; `tiles` decides the base layer
 * @param {{onSelect(placeId: string|null): void}} listeners told when the person chooses a pin
 * @returns {{node: HTMLElement, update(turn: object|null): void, select(id: string|null): void,
 *   pick(): Promise<{lng: number, lat: number}|null>, cancelPick(): void,
 *   showPosition(position: {lng: number, lat: number, accuracy?: number}|null): void,
 *   readonly pickable: boolean}} points are WGS-84 degrees, accuracy is in metres;
 *   `pickable`: whether the map shows anything by which a person finds a spot
 */
export function mapView(config, listeners) {
  const view = new MapView(config, listeners);
  return {
    node: view.node,
    update: (turn) => view.update(turn),
    select: (id) => view.select(id),
    pick: async () => {
      const spot = await view.picker.pick();
      return spot && fromLayer(spot, view.ground.crs);
    },
    cancelPick: () => view.picker.cancel(),
    showPosition: (position) => view.showPosition(position),
    get pickable() {
      return Boolean(config.tiles) || view.markers.size > 0;
    },
  };
}

class MapView {
  constructor(config, { onSelect }) {
    this.tiles = config.tiles ?? null;
    this.onSelect = onSelect;
    this.markers = new Map();
    this.selected = null;
    this.shown = "";
    this.drawn = null;
    this.bounds = [];
    this.position = null;
    this.moved = false;
    this.canvas = el("div", { class: "map-canvas", role: "region", "aria-label": say("map") });
    this.message = el("p", { class: "map-empty" }, say("empty"));
    this.credit = el("p", { class: "map-credit" });
    this.frame = el("div", { class: "map-frame" }, this.canvas, this.message);
    this.node = el("div", { class: "map", dataset: { part: "map" } }, this.frame, this.credit);
    this.map = newMap(this.canvas, this.tiles);
    this.ground = layGround(this.map, this.tiles);
    this.answer = L.featureGroup().addTo(this.map);
    this.names = pinLabels(this.map);
    this.person = L.layerGroup().addTo(this.map);
    this.picker = spotPicker(this.map, this.frame);
    addControls(this.map, () => this.fit());
    this.#watch();
    this.#credit([]);
  }

  update(turn) {
    const answer = turn?.answer ?? null;
    if (answer && answer === this.drawn) return;
    this.drawn = answer;
    this.message.textContent = say(answer ? "none" : "empty");
    const scene = sceneOf(answer);
    const shown = JSON.stringify(scene);
    if (shown === this.shown) return;
    this.shown = shown;
    this.#draw(scene);
  }

  select(id) {
    if (this.selected === id) return;
    this.#mark(this.selected, false);
    this.selected = id;
    this.#mark(id, true);
    this.names.select(this.markers.get(id) ?? null);
  }

  showPosition(position) {
    this.person.clearLayers();
    this.position = isPoint(position) ? this.#at({ wgs84: position }) : null;
    this.#tellWhenEmpty();
    if (!this.position) return;
    positionMarkers(position, this.position).forEach((layer) => layer.addTo(this.person));
    if (!this.markers.size) this.fit();
  }

  /** Shows everything; later, if the map has no size yet. */
  fit() {
    this.moved = false;
    // Leaflet keeps the first size it is asked for; so it is not asked while there is none.
    if (!this.canvas.clientWidth || !this.canvas.clientHeight) return;
    const points = [...this.bounds];
    if (this.position && this.#isClose(this.position, points[0])) points.push(this.position);
    if (points.length > 1) this.map.fitBounds(L.latLngBounds(points), FIT);
    else if (points.length) this.map.setView(points[0], NEARBY_ZOOM);
    else this.map.setView(CHINA.at, CHINA.zoom);
  }

  /** Whether both fit on one map on which the places are still apart. */
  #isClose(position, other) {
    return !other || L.latLng(position).distanceTo(other) < FAR_M;
  }

  #draw({ places, anchor }) {
    const selected = this.selected;
    this.selected = null;
    this.answer.clearLayers();
    this.markers.clear();
    const first = places[0]?.place ?? anchor;
    this.middle = first ? inLayer(first, this.ground.crs).lng : 0;
    const centre = anchor && this.#at(anchor);
    if (centre) anchorMarker(anchor, centre).addTo(this.answer);
    const pins = places.map(({ place, number }) => {
      const [at, onSelect] = [this.#at(place), () => this.#chosen(place.id)];
      const marker = placeMarker({ place, number, at, onSelect }).addTo(this.answer);
      this.markers.set(place.id, marker);
      return { marker, at, name: place.name, strong: place.mentioned };
    });
    this.#aim(places.map(({ place }) => place), centre);
    this.names.show(pins, centre && { at: centre, name: anchor.name });
    if (this.markers.has(selected)) this.select(selected);
  }

  /** What has to be in view, and from where the grid counts. */
  #aim(places, centre) {
    const named = places.filter((place) => place.mentioned);
    this.bounds = (named.length ? named : places).map((place) => this.#at(place));
    if (centre) this.bounds.push(centre);
    this.#tellWhenEmpty();
    const origin = centre ?? (this.bounds.length ? L.latLngBounds(this.bounds).getCenter() : null);
    this.ground.setOrigin(origin && L.latLng(origin));
    this.#credit(places);
    this.fit();
  }

  #tellWhenEmpty() {
    this.message.hidden = this.bounds.length > 0 || Boolean(this.position);
  }

  /** Latitude and longitude on the base layer, on the same side of the date line as the rest. */
  #at(located) {
    const { lng, lat } = inLayer(located, this.ground.crs);
    return [lat, lngNear(lng, this.middle ?? lng)];
  }

  #chosen(id) {
    if (this.picker.active) return;
    this.select(id);
    this.onSelect(id);
  }

  #mark(id, selected) {
    const marker = this.markers.get(id);
    if (!marker) return;
    showSelected(marker, selected);
    if (selected) this.map.whenReady(() => this.map.panInside(marker.getLatLng(), KEEP_IN));
  }

  #credit(places) {
    const parts = [credit(places, language), attribution(this.tiles)].filter(Boolean);
    fill(this.credit, ...parts.map((part) => el("span", {}, part)));
    this.credit.hidden = parts.length === 0;
  }

  #watch() {
    for (const kind of ["wheel", "pointerdown", "keydown"]) {
      this.canvas.addEventListener(kind, () => { this.moved = true; }, { passive: true });
    }
    new ResizeObserver(() => {
      this.map.invalidateSize({ animate: false, pan: this.moved });
      if (!this.moved) this.fit();
    }).observe(this.canvas);
  }
}

/** What of an answer can be drawn, in the list's numbers. */
function sceneOf(answer) {
  const places = byMention(answer?.places ?? [])
    .map((place, index) => ({ place, number: index + 1 }))
    .filter(({ place }) => isPoint(place.wgs84));
  return { places, anchor: places.length ? anchorOf(answer) : null };
}

/** What the places lie around: as the run says it, else from its collection of features. */
function anchorOf(answer) {
  if (isPoint(answer.anchor?.wgs84)) return answer.anchor;
  const feature = (answer.geojson?.features ?? []).find((one) => one.properties?.role === "anchor");
  if (!feature) return null;
  const [lng, lat] = feature.geometry.coordinates;
  const { name, gcj02 } = feature.properties;
  const location = gcj02 && { ...gcj02, crs: "GCJ-02" };
  return { name: name ?? "", wgs84: { lng, lat }, ...(location ? { location } : {}) };
}

function newMap(canvas, tiles) {
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const lively = { zoomAnimation: !calm, fadeAnimation: !calm, markerZoomAnimation: !calm, inertia: !calm };
  return L.map(canvas, {
    ...zoomRange(tiles), ...lively, zoomControl: false, attributionControl: false, worldCopyJump: true,
  });
}

/** All at the top: what is said of a chosen place, or of choosing a spot, lies over the bottom. */
function addControls(map, onFit) {
  L.control.scale({ position: "topleft", imperial: false, maxWidth: 120 }).addTo(map);
  const corner = L.control({ position: "topright" });
  corner.onAdd = () => {
    const button = el("button", { type: "button", class: "map-fit", title: say("fit"), "aria-label": say("fit"),
      onclick: onFit }, "⤢");
    const north = el("span", { class: "map-north", "aria-hidden": "true" }, "↑", el("span", {}, say("north")));
    const node = el("div", { class: "map-corner" }, north, button);
    L.DomEvent.disableClickPropagation(node);
    return node;
  };
  corner.addTo(map);
  L.control.zoom({ position: "topright", zoomInTitle: say("in"), zoomOutTitle: say("out") }).addTo(map);
}

/**
 * @param {L.Map} map
 * @param {HTMLElement} host the map's container's parent; gets the bar and the class "picking"
 * @returns {{pick(): Promise<{lng: number, lat: number}|null>, cancel(): void, readonly active: boolean}}
 *   degrees in the layer's system, longitude within ±180; null when cancelled
 */
export function spotPicker(map, host) {
  let settle = null;
  const done = (spot) => {
    settle?.(spot && { lng: spot.lng, lat: spot.lat });
    settle = null;
    host.classList.remove("picking");
    bar.hidden = true;
  };
  const cancel = () => done(null);
  const middle = () => done(map.getCenter().wrap());
  const bar = el(
    "div",
    { class: "map-pick", hidden: true },
    el("p", { role: "status" }),
    el("button", { type: "button", class: "button", onclick: middle }, say("middle")),
    el("button", { type: "button", class: "button quiet", onclick: cancel }, say("cancel")),
  );
  host.append(bar);
  map.on("click", (event) => settle && done(event.latlng.wrap()));
  host.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && settle) cancel();
  });
  return {
    pick() {
      cancel();
      host.classList.add("picking");
      bar.hidden = false;
      bar.firstChild.textContent = say("ask");
      map.getContainer().focus({ preventScroll: true });
      return new Promise((resolve) => { settle = resolve; });
    },
    cancel,
    get active() {
      return settle !== null;
    },
  };
}
