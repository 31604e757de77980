/** The map of an answer: what its places lie around, and the places by the numbers of the list. */

import { L } from "../../vendor/leaflet.js";
import { el, fill } from "../dom.js";
import { language, translator } from "../i18n.js";
import { attribution, layGround, ZOOM } from "./base_layer.js";
import { clustering } from "./clusters.js";
import { isPoint, lngNear } from "./coordinates.js";
import { pinLabels } from "./declutter_labels.js";
import {
  anchorMarker, drawnLine, endMarker, placeMarker, positionMarkers, showSelected, straightLine,
} from "./markers.js";
import { credit, readableName } from "./place_facts.js";
import { districtsOf, sceneOf } from "./scene.js";

/** @import { Scene, Way } from "./scene.js" */

const say = translator("page.map");
/** @type {{at: LatLng, zoom: number}} */
const CHINA = { at: [35, 105], zoom: 4 };
const NEARBY_ZOOM = 15;
const MOST_WIDER = 2;
const FAR_M = 10_000;
/** @type {L.Padding} */
const FIT = { paddingTopLeft: [44, 72], paddingBottomRight: [64, 76], maxZoom: 16.5 };
/** @type {L.Padding} */
const KEEP_IN = { paddingTopLeft: [48, 80], paddingBottomRight: [64, 88] };

export class MapView {
  #config;
  #onSelect;
  /** @type {Map<string, L.Marker>} */
  #markers = new Map();
  /** @type {string|null} */
  #selected = null;
  #shown = "";
  /** @type {Answer|null} */
  #drawn = null;
  /** The turn that is drawn. @type {string|null} */
  #turn = null;
  /** @type {Place[]} */
  #places = [];
  /** @type {LatLng[]} */
  #bounds = [];
  /** @type {LatLng|null} */
  #position = null;
  /** The longitude that all others are drawn near. @type {number|null} */
  #middle = null;
  #moved = false;
  #zooming = false;
  /** Whether what is to be in view has changed while the map was zooming. */
  #late = false;
  #map;
  #ground;
  #answer;
  #labels;
  #person;
  #picker;
  #canvas = el("div", { class: "map-canvas", role: "region", "aria-label": say("map") });
  #message = el("p", { class: "map-empty" }, say("empty"));
  #owner = el("p", { class: "map-credit" });
  frame = el("div", { class: "map-frame" }, this.#canvas, this.#message);
  node = el("div", { class: "map", dataset: { part: "map" } }, this.frame, this.#owner);

  /**
   * @param {Pick<Config, "tiles">} config
   * @param {{onSelect: ChoosePlace}} listeners told when the person chooses a pin
   */
  constructor(config, { onSelect }) {
    this.#config = config;
    this.#onSelect = onSelect;
    this.#map = newMap(this.#canvas);
    this.#ground = layGround(this.#map, config.tiles, () => this.#credit());
    this.frame.append(this.#ground.node);
    this.#answer = L.featureGroup().addTo(this.#map);
    this.#labels = pinLabels(this.#map, clustering(this.#map));
    this.#person = L.layerGroup().addTo(this.#map);
    this.#picker = spotPicker(this.#map, this.frame);
    addControls(this.#map, () => this.fit());
    this.#watch();
    this.#credit();
  }

  /** Tells whether the map shows anything by which a person finds a spot. */
  get pickable() { return this.#ground.hasStreets || this.#markers.size > 0; }

  /** Lets the person choose a spot; null when cancelled. @returns {Promise<Point|null>} WGS-84 */
  pick() { return this.#picker.pick(); }

  /** @param {Turn|null} turn */
  update(turn) {
    const answer = turn?.answer ?? null;
    if (answer && answer === this.#drawn) return;
    this.#drawn = answer;
    this.#message.textContent = say(answer ? "none" : "empty");
    const scene = sceneOf(turn);
    const shown = JSON.stringify(scene);
    if (shown === this.#shown) return;
    this.#shown = shown;
    // Pins that drop in one by one do not take the map from under a person who moves it.
    const keeps = this.#moved && turn?.id === this.#turn;
    this.#turn = turn?.id ?? null;
    this.#draw(scene);
    if (!keeps) this.fit();
  }

  /** @param {string|null} id */
  select(id) {
    if (this.#selected === id) return;
    this.#mark(this.#selected, false);
    this.#selected = id;
    this.#mark(id, true);
    this.#labels.select(id === null ? null : this.#markers.get(id) ?? null);
  }

  /** @param {Position|null} position */
  showPosition(position) {
    this.#person.clearLayers();
    this.#position = isPoint(position) ? this.#at({ wgs84: position }) : null;
    this.#tellWhenEmpty();
    if (!position || !this.#position) return;
    positionMarkers(position, this.#position).forEach((layer) => layer.addTo(this.#person));
    if (!this.#markers.size) this.fit();
  }

  /** Shows everything; later, if the map has no size yet. */
  fit() {
    this.#moved = false;
    // Leaflet keeps the first size it is asked for; so it is not asked while there is none.
    if (!this.#canvas.clientWidth || !this.#canvas.clientHeight) return;
    // Leaflet drops what it is asked to show while it is still zooming.
    this.#late = this.#zooming;
    if (this.#late) return;
    const points = [...this.#bounds];
    // Where a person is far away, the places would lie on each other.
    const isClose = this.#position && (!points[0] || L.latLng(this.#position).distanceTo(points[0]) < FAR_M);
    if (this.#position && isClose) points.push(this.#position);
    if (points.length > 1) this.#map.fitBounds(L.latLngBounds(points), FIT);
    else if (points.length) this.#map.setView(points[0], NEARBY_ZOOM);
    else this.#map.setView(CHINA.at, CHINA.zoom);
  }

  /** @param {Scene} scene */
  #draw({ places, anchor: told, ways, path }) {
    const spoken = this.#drawn?.spoken ?? language;
    const anchor = told && { ...told, name: readableName(told, spoken) };
    const [selected, before] = [this.#selected, new Set(this.#markers.keys())];
    this.#selected = null;
    this.#answer.clearLayers();
    this.#markers.clear();
    const first = places[0]?.place ?? anchor ?? ways[0]?.stops[0];
    this.#middle = first?.wgs84.lng ?? 0;
    const centre = anchor && this.#at(anchor);
    if (anchor && centre) anchorMarker(anchor, centre).addTo(this.#answer);
    const pins = places.map(({ place, number }) => {
      const [at, onSelect] = [this.#at(place), () => this.#chosen(place.id)];
      const marker = placeMarker({ place, number, at, spoken, isNew: !before.has(place.id), onSelect });
      this.#markers.set(place.id, marker.addTo(this.#answer));
      return { marker, at, name: readableName(place, spoken), strong: place.mentioned || !number };
    });
    pins.push(...ways.flatMap((way) => this.#stopsOf(way, spoken)));
    for (const { line } of ways) if (line) drawnLine(line.map((at) => this.#of(at)), this.#answer);
    const straight = ways.filter(({ line }) => !line).map(({ stops }) => stops);
    const lines = [path, ...straight].filter(({ length }) => length > 1)
      .map((stops) => straightLine(stops.map((stop) => this.#at(stop)), this.#answer));
    this.#aim(places.map(({ place }) => place), [...ways.flatMap(({ stops }) => stops), anchor]);
    this.#ground.show(centre);
    const located = [...places.map(({ place }) => place), ...(anchor ? [anchor] : [])];
    const districts = districtsOf(located, spoken).map(({ name, ...at }) => ({ name, at: this.#at(at) }));
    const named = anchor && centre && { at: centre, name: anchor.name };
    this.#labels.show({ pins, centre: named, districts, notes: lines });
    if (selected && this.#markers.has(selected)) this.select(selected);
  }

  /** @param {Way} way @param {Spoken} spoken */
  #stopsOf({ stops, letters }, spoken) {
    return stops.map((stop, index) => {
      const [name, at] = [readableName(stop, spoken), this.#at(stop)];
      const marker = endMarker({ name, letter: letters[index], at }).addTo(this.#answer);
      return { marker, at, name, strong: true };
    });
  }

  /** Sets what has to be in view. @param {Place[]} places @param {(Anchor|null)[]} others */
  #aim(places, others) {
    const named = places.filter((place) => place.mentioned);
    const [near, all] = [named.length ? named : places, places].map((some) =>
      [...some, ...others].filter((each) => each !== null).map((each) => this.#at(each)));
    // Those that the answer does not name, too, unless they lie far around.
    this.#bounds = across(all) <= MOST_WIDER * across(near) ? all : near;
    this.#tellWhenEmpty();
    this.#places = places;
    this.#credit();
  }

  #tellWhenEmpty() { this.#message.hidden = this.#bounds.length > 0 || Boolean(this.#position); }

  /**
   * Returns latitude and longitude on the same side of the date line as the rest.
   * @param {Pick<Located, "wgs84">} located
   * @returns {LatLng}
   */
  #at({ wgs84: { lng, lat } }) { return [lat, lngNear(lng, this.#middle ?? lng)]; }

  /** @param {[number, number]} position longitude and latitude @returns {LatLng} */
  #of([lng, lat]) { return this.#at({ wgs84: { lng, lat } }); }

  /** @param {string} id */
  #chosen(id) {
    if (this.#picker.active) return;
    this.select(id);
    this.#onSelect(id);
  }

  /** @param {string|null} id @param {boolean} selected */
  #mark(id, selected) {
    const marker = id === null ? null : this.#markers.get(id);
    if (!marker) return;
    showSelected(marker, selected);
    if (selected) this.#map.whenReady(() => this.#map.panInside(marker.getLatLng(), KEEP_IN));
  }

  #credit() {
    const { tiles } = this.#config;
    const streets = tiles && this.#ground.hasStreets && attribution(tiles);
    const records = [...this.#places, ...(this.#drawn?.routes ?? [])];
    const parts = [credit(records, language, this.#drawn?.mode), streets].filter(Boolean);
    fill(this.#owner, ...parts.map((part) => el("span", {}, part)));
    this.#owner.hidden = parts.length === 0;
  }

  #watch() {
    for (const kind of ["wheel", "pointerdown", "keydown"]) {
      this.#canvas.addEventListener(kind, () => { this.#moved = true; }, { passive: true });
    }
    this.#map.on("zoomstart", () => { this.#zooming = true; });
    this.#map.on("zoomend", () => { this.#zooming = false; });
    this.#map.on("moveend", () => { if (this.#late && !this.#zooming && !this.#moved) this.fit(); });
    new ResizeObserver(() => {
      this.#map.invalidateSize({ animate: false, pan: this.#moved });
      if (!this.#moved) this.fit();
    }).observe(this.#canvas);
  }
}

/** Returns metres from corner to corner. @param {LatLng[]} points */
function across(points) {
  if (!points.length) return 0;
  const box = L.latLngBounds(points);
  return L.latLng([box.getSouth(), box.getWest()]).distanceTo([box.getNorth(), box.getEast()]);
}

/** @param {HTMLElement} canvas */
function newMap(canvas) {
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  return L.map(canvas, {
    ...ZOOM, zoomControl: false, attributionControl: false, worldCopyJump: true,
    zoomAnimation: !calm, fadeAnimation: !calm, markerZoomAnimation: !calm, inertia: !calm,
  });
}

/**
 * Adds controls, all at the top: what is said of a chosen place, or of choosing a spot, lies over the
 * bottom.
 * @param {L.Map} map
 * @param {() => void} onFit
 */
function addControls(map, onFit) {
  L.control.scale({ position: "topleft", imperial: false, maxWidth: 120 }).addTo(map);
  const corner = L.control({ position: "topright" });
  corner.onAdd = () => {
    const labels = { title: say("fit"), "aria-label": say("fit") };
    const button = el("button", { type: "button", class: "map-fit", ...labels, onclick: onFit }, "⤢");
    const letter = el("span", {}, say("north"));
    const north = el("span", { class: "map-north", "aria-hidden": "true" }, "↑", letter);
    const node = el("div", { class: "map-corner" }, north, button);
    L.DomEvent.disableClickPropagation(node);
    return node;
  };
  corner.addTo(map);
  L.control.zoom({ position: "topright", zoomInTitle: say("in"), zoomOutTitle: say("out") }).addTo(map);
}

/**
 * Lets a person choose a spot on the map: by a tap, or with the keyboard by moving it under the cross.
 * @param {L.Map} map
 * @param {HTMLElement} host the map's container's parent; gets the bar and the class "picking"
 * @returns {{pick(): Promise<Point|null>, readonly active: boolean}} WGS-84, longitude within ±180; null
 *   when cancelled
 */
function spotPicker(map, host) {
  /** @type {((spot: Point|null) => void)|null} */
  let settle = null;
  /** @param {Point|null} spot */
  const done = (spot) => {
    settle?.(spot && { lng: spot.lng, lat: spot.lat });
    settle = null;
    host.classList.remove("picking");
    bar.hidden = true;
  };
  const cancel = () => done(null);
  const middle = () => done(map.getCenter().wrap());
  const prompt = el("p", { role: "status" });
  const bar = el("div", { class: "map-pick", hidden: true }, prompt,
    el("button", { type: "button", class: "button", onclick: middle }, say("middle")),
    el("button", { type: "button", class: "button quiet", onclick: cancel }, say("cancel")));
  host.append(bar);
  map.on("click", (event) => { if (settle) done(event.latlng.wrap()); });
  host.addEventListener("keydown", (event) => { if (event.key === "Escape" && settle) cancel(); });
  return {
    pick() {
      cancel();
      host.classList.add("picking");
      bar.hidden = false;
      prompt.textContent = say("ask");
      map.getContainer().focus({ preventScroll: true });
      return new Promise((resolve) => { settle = resolve; });
    },
    get active() { return settle !== null; },
  };
}
