/** The page's few drawings; their shapes stand in index.html. */

import { svg } from "./svg.js";

/**
 * A decorative icon, hidden from screen readers: the control around it carries the name.
 * @param {"menu"|"new"|"close"|"send"|"stop"|"down"|"person"|"pin"|"again"|"remove"} name
 * @returns {SVGElement}
 */
export function icon(name) {
  return svg("svg", { class: "icon", "aria-hidden": "true" }, svg("use", { href: `#icon-${name}` }));
}
