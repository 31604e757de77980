/** Citations that stand outside the answer's text: of a way, of a forecast. */

import { nameCitation, tellSources } from "./citation.js";
import { link } from "../dom.js";
import { numbered } from "./source_kind.js";

/**
 * Citations within `node` that tell their source as those of the text do.
 * @param {HTMLElement} node
 * @returns {{take: (sources: object[]) => void, cite: (id: string) => HTMLElement|null}} `take` says
 *   which sources there are from now on; `cite` is null for one that the answer does not cite
 */
export function recordSources(node) {
  let known = new Map();
  tellSources(node, (number) => {
    const source = known.get(number);
    return source ? { source, show: null } : null;
  });
  return {
    take(sources) {
      known = new Map(numbered(sources).map(([number, source]) => [String(number), source]));
    },
    cite(id) {
      const [number, source] = [...known].find(([, one]) => one.id === id) ?? [];
      if (!source) return null;
      const anchor = link(source.url, number, { class: "cite", dataset: { sourceNumber: number } });
      nameCitation(anchor, source);
      return anchor;
    },
  };
}
