/** The outline of a long answer: its headings, beside it where there is room, else folded above it. */

import { answerView, el, fill } from "../dom.js";
import { translator } from "../i18n.js";
import { hasScene } from "../map/scene.js";

const say = translator("page.outline");
const FEWEST = 4;
const HEADINGS = "h3, h4, p > strong:only-child";
const BESIDE = matchMedia("(min-width: 87.5rem)");

/** Tells a heading, or a line that stands as one, from bold words. @param {Element} node */
const isHeading = ({ localName, textContent, parentElement }) =>
  localName !== "strong" || parentElement?.textContent === textContent;

/** @param {Element} body the answer's text, which has been shown before this is updated */
export function outlineView(body) {
  const list = el("ol", {});
  const fold = el("details", {}, el("summary", {}, say("outline")), list);
  const node = el("nav", { class: "outline", hidden: true }, fold);
  let hasMap = false;
  // Beside a map there is no room for it.
  const unfold = () => { fold.open = BESIDE.matches && !hasMap; };
  BESIDE.addEventListener("change", unfold);
  return answerView(node, (answer, turn) => {
    const { id, question } = turn;
    hasMap = hasScene(turn);
    unfold();
    const headings = answer ? [...body.querySelectorAll(HEADINGS)].filter(isHeading) : [];
    node.hidden = headings.length < FEWEST;
    if (node.hidden) return;
    node.setAttribute("aria-label", `${say("outline")}: ${question}`);
    fill(list, ...headings.map((heading, at) => {
      heading.id = `part-${id}-${at}`;
      return el("li", { class: heading.localName }, el("a", { href: `#${heading.id}` }, heading.textContent));
    }));
  });
}
