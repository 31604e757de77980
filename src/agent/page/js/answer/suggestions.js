/** Google's search suggestions, unmodified, each in a frame without scripts or origin. */

import { el, fill } from "../dom.js";
import { runAddress } from "../run/run_address.js";
import { speaking } from "../words.js";

const say = speaking({
  zh: { suggestions: "Google 搜索建议" },
  en: { suggestions: "Google search suggestions" },
});

/**
 * @param {object} _config the page's
 * @param {{threadId: () => string}} ways
 * @returns {{node: HTMLElement, update: (turn: object) => void}}
 */
export function suggestionsView(_config, { threadId }) {
  const frames = el("div", {});
  const node = el("section", { class: "suggestions", dataset: { part: "suggestions" }, hidden: true },
    el("h3", {}, say("suggestions")), frames);
  let shown = null;
  function update(turn) {
    if (turn.answer === shown) return;
    shown = turn.answer;
    const count = shown?.search_entry_points?.length ?? 0;
    node.hidden = count === 0;
    fill(frames, ...Array.from({ length: count }, (_, number) => frame(number, threadId(), turn.messageId)));
  }
  return { node, update };
}

function frame(number, threadId, messageId) {
  return el("iframe", {
    title: `${say("suggestions")} ${number + 1}`,
    src: runAddress(threadId, `suggestions/${number}`, messageId),
    sandbox: "allow-popups allow-popups-to-escape-sandbox",
    loading: "lazy",
    referrerpolicy: "no-referrer",
  });
}
