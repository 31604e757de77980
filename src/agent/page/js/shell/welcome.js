/** Before the first question: what this is for, and questions to try. */

import { el } from "../dom.js";
import { icon } from "../icons.js";
import { language, speaking } from "../words.js";

const say = speaking({
  zh: {
    title: "出门之前，先探探路",
    lead: "问附近有什么、怎么走、什么时候开门，或者任何要查证的事。网页和地图一起查，每个说法都附上出处。",
    examples: "可以这样问",
  },
  en: {
    title: "Scout it out before you go",
    lead: "Ask what is nearby, how to get there, when it opens, or anything that needs checking. "
      + "It searches the web and the map, and every claim comes with its source.",
    examples: "Questions to try",
  },
});

/**
 * @param {{examples: {zh: string[], en: string[]}}} config
 * @param {{onExample: (question: string) => void}} options
 * @returns {HTMLElement}
 */
export function welcome(config, { onExample }) {
  const examples = config.examples?.[language] ?? [];
  const example = (question) => el("li", {},
    el("button", { class: "example", type: "button", onclick: () => onExample(question) },
      el("span", {}, question), icon("send")));
  return el("section", { class: "welcome" }, el("h2", {}, say("title")), el("p", {}, say("lead")),
    el("ul", { class: "examples", "aria-label": say("examples") }, ...examples.map(example)));
}
