/** Building the page's elements: text is always text, never markup. */

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
