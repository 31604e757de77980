/** The page starts: what is seen first at once, then all that answers questions. */

import { el, fill } from "./dom.js";
import { locale } from "./i18n.js";
import { NearView } from "./map/location.js";
import { preference, showTheme } from "./preferences.js";
import { Composer } from "./shell/composer.js";
import { part } from "./shell/layout.js";
import { showNotices } from "./shell/notice.js";
import { welcome } from "./shell/welcome.js";

/** @import { Asked } from "./shell/composer.js" */
/** @import { Page } from "./shell/page.js" */

showTheme(preference("theme"));
document.documentElement.lang = locale;
/** @type {Page|null} */
let page = null;
const near = new NearView({
  onChange: (position) => page?.moved(position),
  pick: async () => page?.pick() ?? null,
  canPick: () => page?.map.pickable ?? false,
});
const composer = new Composer(near, {
  onAsk: ask,
  onStop: async () => page?.conversation.stop(),
  onSteer: async (wish) => page?.conversation.steer(wish),
  lastQuestion: () => (page?.turns.editLast() ? "" : page?.conversation.current?.question ?? ""),
});
const first = welcome({
  onExample: ({ question, assistant, ownFiles }) => {
    composer.choose(assistant);
    if (ownFiles && !("collections" in composer.options.settings)) {
      begun.then(() => composer.wantFiles(question));
      return;
    }
    ask({ ...composer.options, question, assistant });
  },
});
/** Waits for the first paint (none where nobody looks): reading fifty modules takes a phone a second. */
const shown = () => new Promise((resolve) => {
  if (document.hidden) resolve(null);
  else requestAnimationFrame(() => setTimeout(resolve));
});
/** @type {Promise<PublicConfig|Config|null>} */
const config = fetch("app/config.json").then((told) => (told.ok ? told.json() : null)).catch(() => null);
// The notice comes with the rest, for it would push all that is there down.
const begun = config.then(showFirst).then(shown).then(async () => {
  const others = /** @type {HTMLTemplateElement|null} */ (document.querySelector('[data-part="modules"]'));
  if (others) document.head.append(others.content);
  const { start } = await import("./shell/start.js");
  return (page = await start({ welcome: first.node, composer, near }, await config));
});

/** Shows what is there before a question; the box for it to those who may ask. @param {any} told */
function showFirst(told) {
  if (told) showNotices(part("notice"), told);
  fill(part("composer"), told && "photos" in told ? composer.node : el("div", { class: "composer-box" }));
  if (!new URLSearchParams(location.search).has("thread")) part("turns").append(first.node);
  part("talk").append(first.cards);
}

/** Asks once the page can; a question may come before. @param {Asked} asked */
async function ask(asked) {
  const able = await begun;
  if (able) able.ask(asked);
  else composer.giveBack(asked.question);
}
