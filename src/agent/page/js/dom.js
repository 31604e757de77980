/** The page's elements: HTML, SVG and icons. Text is always text, never markup. */

/** `rel` of every link out of the page. */
export const LINK_REL = "noopener nofollow ugc";

/**
 * An element. Strings among the children become text nodes; null and false are left out.
 * @param {string} tag
 * @param {Record<string, unknown>} attributes `class`, `dataset` {…}, `on…` listeners, booleans
 * @param {...(Node|string|number|null|undefined|false)} children
 * @returns {HTMLElement}
 */
export function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "dataset") Object.assign(made.dataset, value);
    else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

/** Replaces everything in `node`. */
export function fill(node, ...children) {
  node.replaceChildren(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

/** The address if it is absolute and http or https, else null. */
export function safeUrl(address) {
  try {
    const url = new URL(String(address));
    return url.protocol === "https:" || url.protocol === "http:" ? url.href : null;
  } catch {
    return null;
  }
}

/** A link out of the page, or the text alone where the address is none to follow. */
export function link(address, text, attributes = {}) {
  const href = safeUrl(address);
  if (href === null) return el("span", attributes, text);
  return el("a", { ...attributes, href, target: "_blank", rel: LINK_REL }, text);
}

const NAMESPACE = "http://www.w3.org/2000/svg";

/**
 * @param {string} tag
 * @param {Record<string, string|number>} attributes
 * @param {...(Node|string)} children strings become text
 * @returns {SVGElement}
 */
export function svg(tag, attributes = {}, ...children) {
  const made = document.createElementNS(NAMESPACE, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  made.append(...children);
  return made;
}

/**
 * A decorative icon, hidden from screen readers: the control around it carries the name.
 * @param {"menu"|"new"|"close"|"send"|"stop"|"down"|"person"|"pin"|"again"|"remove"} name
 * @returns {SVGElement}
 */
export function icon(name) {
  return svg("svg", { class: "icon", "aria-hidden": "true" }, svg("use", { href: `#icon-${name}` }));
}
