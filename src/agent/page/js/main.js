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
const page = shown().then(() => {
  const others = /** @type {HTMLTemplateElement|null} */ (document.querySelector('[data-part="modules"]'));
  if (others) document.head.append(others.content);
  return import("./shell/start.js");
}).then(({ start }) => start(first.node));

/** Waits until the first view is painted: reading some fifty modules keeps a phone busy for a second. */
function shown() {
  return new Promise((resolve) => {
    // Nothing is painted in a tab that nobody looks at.
    if (document.hidden) resolve(null);
    else requestAnimationFrame(() => setTimeout(resolve));
  });
}

/** Asks once the page can; a click may come before. @param {Example} example */
async function ask(example) {
  (await page)?.ask(example);
}
