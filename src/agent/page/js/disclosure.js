/** A button that unfolds a panel above or below it; Escape and a click elsewhere fold it again. */

import { contains, el, focusOnClick, icon } from "./dom.js";

let count = 0;

/**
 * Makes the button and its panel.
 * @param {{label: Node, panel: HTMLElement, name: string}} parts `name` is read out with the label
 * @returns {{node: HTMLElement, button: HTMLButtonElement, close: () => void}}
 */
export function disclosure({ label, panel, name }) {
  panel.id = `panel-${(count += 1)}`;
  panel.classList.add("unfolded");
  panel.hidden = true;
  const button = el("button", {
    class: "button quiet", type: "button", "aria-expanded": "false", "aria-controls": panel.id,
    onclick: () => turn(Boolean(panel.hidden)),
  }, el("span", { class: "visually-hidden" }, `${name}: `), label, icon("down"));
  focusOnClick(button);
  const node = el("div", {
    class: "disclosure",
    onkeydown: (event) => {
      if (event.key !== "Escape" || panel.hidden) return;
      event.stopPropagation();
      turn(false);
      button.focus({ preventScroll: true });
    },
    onfocusout: (event) => {
      if (event.relatedTarget && !contains(node, event.relatedTarget)) turn(false);
    },
  }, button, panel);
  /** @param {Event} event */
  const outside = (event) => { if (!contains(node, event.target)) turn(false); };

  /** @param {boolean} open */
  function turn(open) {
    panel.hidden = !open;
    if (open) beneath(panel, button);
    button.setAttribute("aria-expanded", String(open));
    if (open) document.addEventListener("pointerdown", outside);
    else document.removeEventListener("pointerdown", outside);
  }
  const close = () => {
    const isInside = contains(panel, document.activeElement);
    turn(false);
    if (isInside) button.focus({ preventScroll: true });
  };
  return { node, button, close };
}

/**
 * Moves a panel that is placed in a wider box to its button, as far as the box reaches.
 * @param {HTMLElement} panel @param {HTMLElement} button
 */
function beneath(panel, button) {
  panel.style.left = "";
  const box = panel.offsetParent;
  if (!box || box === panel.parentElement) return;
  // The box may become another width while the panel is open.
  panel.style.left = `max(0px, min(${button.offsetLeft}px, 100% - ${panel.offsetWidth}px))`;
}
