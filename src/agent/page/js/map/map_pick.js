/** Choosing a spot on the map: by a tap, or with the keyboard by moving it under the cross. */

import { el } from "../dom.js";
import { speaking } from "../words.js";

const say = speaking({
  zh: { ask: "点一下地图上您所在的位置", middle: "就用中心点", cancel: "取消" },
  en: { ask: "Tap the map where you are", middle: "Use the middle", cancel: "Cancel" },
});

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
