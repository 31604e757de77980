/** "Near me": the person's position, asked for only after saying what becomes of it. */

import { disclosure } from "../disclosure.js";
import { el, fill, icon } from "../dom.js";
import { translator } from "../i18n.js";
import { metres } from "./place_facts.js";

const TIMEOUT_MS = 15_000;
const OLDEST_MS = 60_000;
const say = translator({
  zh: {
    name: "位置", near: "我附近", set: "我的位置", picked: "地图上选的位置",
    how: "只随接下来的提问发送：先到这个服务器，再由它交给语言模型和地图服务去找附近的地点。位置和这次对话一起留在服务器上，删除对话就一并删除；浏览器不保存它。",
    ask: "使用我的位置", again: "再试一次", pick: "在地图上点选", clear: "不再使用", asking: "正在获取位置…",
    within: "误差约 {accuracy}", sent: "会随下面的提问一起发送。",
    denied: "浏览器没有允许读取位置。", unavailable: "现在得不到位置。", timeout: "等了一会儿，没有得到位置。",
    insecure: "浏览器只在 https 或本机地址上给出位置。",
    instead: "也可以把地点直接写在问题里，例如“王府井附近…”。", instead_pick: "或者在地图上点选。",
  },
  en: {
    name: "Position", near: "Near me", set: "My position", picked: "A spot on the map",
    how: "Sent only with the questions you ask next: to this server, which passes it to the language model and the map service to find what is near. It stays on the server with this conversation until you delete that; the browser does not keep it.",
    ask: "Use my position", again: "Try again", pick: "Tap the map", clear: "Stop using it",
    asking: "Finding your position…", within: "within about {accuracy}", sent: "It goes with what you ask below.",
    denied: "The browser was not allowed to tell the position.", unavailable: "The position cannot be found now.",
    timeout: "No position came in time.", insecure: "Browsers tell the position only over https or on this machine.",
    instead: "You can also name a place in the question, as in “near Wangfujing…”.",
    instead_pick: "Or tap it on the map.",
  },
});

/** Why there is no position: `code` is denied, unavailable, timeout or insecure. */
export class NoPosition extends Error {
  constructor(code) {
    super(`no position: ${code}`);
    this.code = code;
  }
}

/**
 * Asks the browser where it is. Nothing is remembered here.
 * @param {{geolocation?: Geolocation, secure?: boolean}} [browser]
 * @returns {Promise<{lng: number, lat: number, accuracy: number}>} WGS-84 degrees, metres
 * @throws {NoPosition}
 */
export function nearMe({ geolocation = navigator.geolocation, secure = globalThis.isSecureContext } = {}) {
  if (!secure) return Promise.reject(new NoPosition("insecure"));
  if (!geolocation) return Promise.reject(new NoPosition("unavailable"));
  return new Promise((resolve, reject) => {
    const found = ({ coords }) =>
      resolve({ lng: coords.longitude, lat: coords.latitude, accuracy: coords.accuracy });
    const failed = ({ code }) => reject(new NoPosition({ 1: "denied", 3: "timeout" }[code] ?? "unavailable"));
    geolocation.getCurrentPosition(found, failed,
      { enableHighAccuracy: true, timeout: TIMEOUT_MS, maximumAge: OLDEST_MS });
  });
}

/**
 * What the control calls the position in use; only the browser's own has an accuracy.
 * @param {{accuracy?: number}|null} value metres
 * @returns {[string, string]} its name, and by how much it may be off
 */
export function positionName(value) {
  if (!value) return [say("near"), ""];
  if (value.accuracy === undefined) return [say("picked"), ""];
  return [say("set"), value.accuracy ? `±${metres(value.accuracy)}` : ""];
}

/**
 * The control in the question box.
 * @param {{onChange(value: {lng: number, lat: number, accuracy?: number}|null): void,
 *   pick?: () => Promise<{lng: number, lat: number}|null>, canPick?: () => boolean}} options
 *   `pick` lets the person choose a spot on the map; it is offered while `canPick` says so
 * @returns {{node: HTMLElement, readonly value: {lng: number, lat: number, accuracy?: number}|null,
 *   clear(): void, request(then: () => void): void}} WGS-84 degrees, metres; kept in memory only;
 *   `request` runs `then` once there is a position, which may be never
 */
export function nearView({ onChange, pick = null, canPick = () => true }) {
  const view = new NearView({ onChange, pick, canPick });
  return {
    node: view.node,
    get value() {
      return view.value;
    },
    clear: () => view.set(null),
    request: (then) => view.request(then),
  };
}

class NearView {
  constructor({ onChange, pick, canPick }) {
    Object.assign(this, { onChange, pickSpot: pick, canPick, value: null, asked: 0, then: null });
    this.label = el("span", { class: "near-label" });
    this.status = el("div", { role: "status" });
    this.buttons = el("div", { class: "near-buttons" });
    this.panel = el("div", { class: "near-panel", tabindex: -1 }, this.status, this.buttons);
    this.folding = disclosure({ label: this.label, panel: this.panel, name: say("name") });
    this.drop = el("button", { type: "button", class: "button quiet near-drop", "aria-label": say("clear"),
      title: say("clear"), hidden: true, onclick: () => this.#dropped() }, icon("close"));
    this.node = el("div", { class: "near", dataset: { part: "near" } }, this.folding.node, this.drop);
    // Whether the map can be tapped is known when the panel is opened, not before.
    this.opener = this.folding.node.querySelector("button");
    this.opener.addEventListener("click", () => this.#opened(), { capture: true });
    this.set(null, { quietly: true });
  }

  set(value, { quietly = false } = {}) {
    this.asked += 1;
    this.value = value;
    const [name, about] = positionName(value);
    fill(this.label, icon("pin"), el("span", {}, name, about && el("span", { class: "near-about" }, ` ${about}`)));
    this.node.classList.toggle("on", value !== null);
    this.drop.hidden = value === null;
    this.#explain();
    if (!quietly) this.onChange(value);
  }

  /** Says what becomes of the position, as always, before it is asked for. */
  request(then) {
    if (this.value) return then();
    if (this.panel.hidden) this.opener.click();
    this.then = then;
    return this.buttons.querySelector("button")?.focus();
  }

  #opened() {
    this.then = null;
    this.#explain();
  }

  #dropped() {
    this.set(null);
    this.opener.focus();
  }

  /** What the panel says before anything is asked, or while a position is in use. */
  #explain() {
    if (!this.value) return this.#say([say("how")], [this.#button("ask", () => this.#locate(), true), this.#pickButton()]);
    const accuracy = this.value.accuracy ? `${say("within", { accuracy: metres(this.value.accuracy) })} · ` : "";
    return this.#say([`${accuracy}${say("sent")}`, say("how")],
      [this.#button("clear", () => this.#dropped()), this.#pickButton()]);
  }

  async #locate() {
    const mine = (this.asked += 1);
    this.#say([say("asking")], []);
    try {
      const value = await nearMe();
      if (mine === this.asked) this.#found(value);
    } catch (error) {
      if (mine === this.asked) this.#failed(error.code ?? "unavailable");
    }
  }

  #failed(code) {
    const hints = [say("instead"), this.#mayPick() && say("instead_pick")].filter(Boolean);
    const again = code !== "insecure" && this.#button("again", () => this.#locate());
    this.#say([say(code), ...hints], [again, this.#pickButton()]);
  }

  async #pickOnMap() {
    const mine = (this.asked += 1);
    this.folding.close();
    const value = await this.pickSpot();
    if (value && mine === this.asked) this.#found(value);
    else this.opener.focus();
  }

  #found(value) {
    const { then } = this;
    this.then = null;
    this.folding.close();
    this.set(value);
    this.opener.focus();
    then?.();
  }

  #mayPick() {
    return this.pickSpot !== null && this.canPick();
  }

  #pickButton() {
    return this.#mayPick() && this.#button("pick", () => this.#pickOnMap());
  }

  #button(name, onclick, primary = false) {
    return el("button", { type: "button", class: primary ? "button primary" : "button", onclick }, say(name));
  }

  #say(lines, buttons) {
    const had = this.panel.contains(document.activeElement);
    fill(this.status, ...lines.map((line) => el("p", {}, line)));
    fill(this.buttons, ...buttons.filter(Boolean));
    if (had) (this.buttons.querySelector("button") ?? this.panel).focus();
  }
}
