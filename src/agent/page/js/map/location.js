/** "Near me": the person's position, asked for only after saying what becomes of it. */

import { disclosure } from "../disclosure.js";
import { el, fill, icon } from "../dom.js";
import { translator } from "../i18n.js";
import { metres } from "./place_facts.js";

const TIMEOUT_MS = 15_000;
const OLDEST_MS = 60_000;
/** Those of the browser. @type {Map<number, NoPositionCode>} */
const CODES = new Map([[1, "denied"], [3, "timeout"]]);
const say = translator("page.location");

/** @typedef {"denied"|"unavailable"|"timeout"|"insecure"} NoPositionCode */

/**
 * Asks the browser where it is. Nothing is remembered here.
 * @param {{geolocation?: Geolocation, secure?: boolean}} browser
 * @returns {Promise<Position>} throws a NoPositionCode
 */
export function nearMe({ geolocation = navigator.geolocation, secure = isSecureContext } = {}) {
  if (!secure) return Promise.reject("insecure");
  if (!geolocation) return Promise.reject("unavailable");
  return new Promise((resolve, reject) => {
    geolocation.getCurrentPosition(
      ({ coords }) => resolve({ lng: coords.longitude, lat: coords.latitude, accuracy: coords.accuracy }),
      ({ code }) => reject(CODES.get(code) ?? "unavailable"),
      { enableHighAccuracy: true, timeout: TIMEOUT_MS, maximumAge: OLDEST_MS },
    );
  });
}

/**
 * Names the position in use; only the browser's own has an accuracy.
 * @param {Pick<Position, "accuracy">|null} value
 * @returns {[string, string]} its name, and by how much it may be off
 */
export function positionName(value) {
  if (!value) return [say("near"), ""];
  if (value.accuracy === undefined) return [say("picked"), ""];
  return [say("set"), value.accuracy ? `±${metres(value.accuracy)}` : ""];
}

/** The control in the question box. The position is kept in memory only. */
export class NearView {
  /** @type {Position|null} */
  value = null;
  #options;
  /** Counts what the person asked for: an answer to anything but the last comes too late. */
  #requests = 0;
  /** @type {(() => void)|null} */
  #then = null;
  #label = el("span", { class: "near-label" });
  #status = el("div", { role: "status" });
  #buttons = el("div", { class: "near-buttons" });
  #how = el("details", { class: "small muted" },
    el("summary", {}, say("how_title")), el("p", {}, say("how")));
  #panel = el("div", { class: "near-panel", tabindex: -1 }, this.#status, this.#buttons, this.#how);
  #folding = disclosure({ label: this.#label, panel: this.#panel, name: say("name") });
  #opener = this.#folding.button;
  #drop = el("button", { type: "button", class: "button quiet near-drop", "aria-label": say("clear"),
    title: say("clear"), hidden: true, onclick: () => this.#dropped() }, icon("close"));
  node = el("div", { class: "near", dataset: { part: "near" } }, this.#folding.node, this.#drop);

  /**
   * @param {{onChange(value: Position|null): void, pick: () => Promise<Point|null>,
   *   canPick: () => boolean}} options `pick` lets the person choose a spot on the map; it is offered
   *   while `canPick` says so
   */
  constructor(options) {
    this.#options = options;
    // Whether the map can be tapped is known when the panel is opened, not before.
    this.#opener.addEventListener("click", () => this.#opened(), { capture: true });
    this.set(null, { quietly: true });
  }

  /**
   * Uses a position from now on, or none.
   * @param {Position|null} value
   * @param {{quietly?: boolean}} options
   */
  set(value, { quietly = false } = {}) {
    this.#requests += 1;
    this.value = value;
    const [name, about] = positionName(value);
    const detail = about && el("span", { class: "near-about" }, ` ${about}`);
    fill(this.#label, icon("pin"), el("span", {}, name, detail));
    this.node.classList.toggle("on", value !== null);
    this.#drop.hidden = value === null;
    this.#explain();
    if (!quietly) this.#options.onChange(value);
  }

  /**
   * Runs `then` once there is a position, which may be never; says what becomes of it, as always, before it
   * is asked for.
   * @param {() => void} then
   */
  request(then) {
    if (this.value) {
      then();
      return;
    }
    if (this.#panel.hidden) this.#opener.click();
    this.#then = then;
    this.#buttons.querySelector("button")?.focus();
  }

  #opened() {
    this.#then = null;
    this.#explain();
  }

  #dropped() {
    this.set(null);
    this.#opener.focus({ preventScroll: true });
  }

  /** Says what the panel says before anything is asked, or while a position is in use. */
  #explain() {
    if (!this.value) {
      const ask = this.#button("ask", () => this.#locate(), true);
      this.#say([], [ask, this.#pickButton()], true);
      return;
    }
    const { accuracy } = this.value;
    const within = accuracy ? `${say("within", { accuracy: metres(accuracy) })} · ` : "";
    const clear = this.#button("clear", () => this.#dropped());
    this.#say([`${within}${say("sent")}`], [clear, this.#pickButton()], true);
  }

  async #locate() {
    const mine = (this.#requests += 1);
    this.#say([say("asking")], []);
    try {
      const value = await nearMe();
      if (mine === this.#requests) this.#use(value);
    } catch (error) {
      if (mine === this.#requests) this.#failed(/** @type {NoPositionCode} */ (error));
    }
  }

  /** @param {NoPositionCode} code */
  #failed(code) {
    const hint = this.#options.canPick() && say("instead_pick");
    const again = code !== "insecure" && this.#button("again", () => this.#locate());
    this.#say([say(code), say("instead"), hint], [again, this.#pickButton()]);
  }

  async #pickOnMap() {
    const mine = (this.#requests += 1);
    this.#folding.close();
    const value = await this.#options.pick();
    if (value && mine === this.#requests) this.#use(value);
    else this.#opener.focus({ preventScroll: true });
  }

  /** @param {Position} value */
  #use(value) {
    const then = this.#then;
    this.#then = null;
    this.#folding.close();
    this.set(value);
    this.#opener.focus({ preventScroll: true });
    then?.();
  }

  #pickButton() { return this.#options.canPick() && this.#button("pick", () => this.#pickOnMap()); }

  /** @param {"ask"|"again"|"pick"|"clear"} name @param {() => void} onclick */
  #button(name, onclick, primary = false) {
    return el("button", { type: "button", class: primary ? "button primary" : "button", onclick }, say(name));
  }

  /**
   * @param {(string|false)[]} lines
   * @param {(HTMLElement|false)[]} buttons
   * @param {boolean} how whether it tells how a position is used
   */
  #say(lines, buttons, how = false) {
    const had = this.#panel.contains(document.activeElement);
    this.#how.hidden = !how;
    fill(this.#status, ...lines.map((line) => line && el("p", {}, line)));
    fill(this.#buttons, ...buttons);
    if (had) (this.#buttons.querySelector("button") ?? this.#panel).focus();
  }
}
