/** The page's few drawings; their shapes stand in index.html. */

const SVG = "http://www.w3.org/2000/svg";

/**
 * A decorative icon, hidden from screen readers: the control around it carries the name.
 * @param {"menu"|"new"|"close"|"send"|"stop"|"down"|"person"|"pin"|"again"|"remove"} name
 * @returns {SVGElement}
 */
export function icon(name) {
  const drawing = document.createElementNS(SVG, "svg");
  drawing.setAttribute("class", "icon");
  drawing.setAttribute("aria-hidden", "true");
  const shape = document.createElementNS(SVG, "use");
  shape.setAttribute("href", `#icon-${name}`);
  drawing.append(shape);
  return drawing;
}
