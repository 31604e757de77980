/** The page starts: what is seen first at once, then all that answers questions. */

import { locale } from "./i18n.js";
import { preference, showTheme } from "./preferences.js";
import { welcome } from "./shell/welcome.js";

/** @import { Example } from "./shell/welcome.js" */
/** @import { Page } from "./shell/page.js" */

showTheme(preference("theme"));
document.documentElement.lang = locale;
const first = welcome({ onExample: ask });
const hasThread = new URLSearchParams(location.search).has("thread");
if (!hasThread) document.querySelector(".turns")?.append(first.node);
document.querySelector(".talk")?.append(first.cards);
/** @type {Promise<Page|null>} */
const page = import("./shell/start.js").then(({ start }) => start(first.node));

/** Asks once the page can; a click may come before. @param {Example} example */
async function ask(example) {
  (await page)?.ask(example);
}
