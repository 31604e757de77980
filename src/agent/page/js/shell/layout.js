/** The layout: the drawer of threads, the map beside or instead of the answer. */

import { el, fill, icon } from "../dom.js";
import { translator } from "../i18n.js";

const say = translator("page.layout");
const BESIDE_MAP = matchMedia("(min-width: 60rem)");
const BESIDE_THREADS = matchMedia("(min-width: 75rem)");

/** Finds the named part of index.html. @param {string} name */
export function part(name) {
  const element = document.querySelector(`[data-part="${name}"]`);
  if (element instanceof HTMLElement) return element;
  throw new Error(`index.html has no ${name}`);
}

export class Layout {
  #threads = part("threads");
  #talk = part("talk");
  #map = part("map-column");
  #tabs = part("tabs");
  #scrim = part("scrim");
  #opener = part("open-threads");
  /** @type {"answer"|"map"} */
  #tab = "answer";

  /** @param {{onNew: () => void}} options */
  constructor({ onNew }) {
    fill(part("skip"), say("skip"));
    this.#name();
    this.#tabs.append(this.#tabButton("answer"), this.#tabButton("map"));
    part("bar-end").append(el("button", {
      class: "button quiet", type: "button", dataset: { part: "new" }, "aria-label": say("new"),
      onclick: onNew,
    }, icon("new"), el("span", { class: "wide" }, say("new"))));
    this.#opener.addEventListener("click", () => this.openThreads());
    this.#scrim.addEventListener("click", () => this.closeThreads());
    document.addEventListener("keydown", ({ key }) => { if (key === "Escape") this.closeThreads(); });
    BESIDE_THREADS.addEventListener("change", () => this.closeThreads());
    BESIDE_MAP.addEventListener("change", () => this.#apply());
    this.closeThreads();
    const top = part("top");
    new ResizeObserver(() => {
      document.documentElement.style.setProperty("--top", `${top.offsetHeight}px`);
    }).observe(top);
  }

  /** True where map and answer take turns, as on a phone. */
  get narrow() { return !BESIDE_MAP.matches; }

  /** @param {boolean} has */
  hasMap(has) {
    if (this.#map.hidden === !has) return;
    this.#map.hidden = !has;
    if (!has) this.#tab = "answer";
    this.#apply();
  }

  /** @param {"answer"|"map"} tab shown where both do not fit */
  show(tab) {
    this.#tab = tab;
    this.#apply();
  }

  /** Opens the drawer, where the list has no column of its own. */
  openThreads() {
    if (BESIDE_THREADS.matches) return;
    document.body.classList.add("drawer-open");
    this.#scrim.hidden = false;
    this.#opener.setAttribute("aria-expanded", "true");
    this.#inert();
    this.#threads.focus();
  }

  closeThreads() {
    const open = document.body.classList.contains("drawer-open");
    document.body.classList.remove("drawer-open");
    this.#scrim.hidden = true;
    this.#opener.hidden = BESIDE_THREADS.matches;
    this.#opener.setAttribute("aria-expanded", "false");
    this.#inert();
    if (open) this.#opener.focus({ preventScroll: true });
  }

  #name() {
    const parts = { threads: this.#threads, talk: this.#talk, map_column: this.#map, view: this.#tabs,
      open_threads: this.#opener };
    for (const [name, node] of Object.entries(parts)) node.setAttribute("aria-label", say(name));
  }

  /** @param {"answer"|"map"} tab */
  #tabButton(tab) {
    return el("button", { type: "button", dataset: { tab }, onclick: () => this.show(tab) }, say(tab));
  }

  #apply() {
    const has = !this.#map.hidden;
    const covered = has && this.narrow && this.#tab === "map";
    document.body.classList.toggle("with-map", has);
    document.documentElement.classList.toggle("map-open", covered);
    this.#tabs.hidden = !has || !this.narrow;
    for (const button of this.#tabs.querySelectorAll("button")) {
      button.setAttribute("aria-pressed", String(button.dataset.tab === this.#tab));
    }
    this.#inert();
  }

  /** Makes what lies under something else unreachable with the keyboard. */
  #inert() {
    const drawer = document.body.classList.contains("drawer-open");
    const covered = document.documentElement.classList.contains("map-open");
    this.#threads.inert = !BESIDE_THREADS.matches && !drawer;
    this.#talk.inert = drawer || covered;
    this.#map.inert = drawer || (this.narrow && !covered);
    part("header").inert = drawer;
  }
}
