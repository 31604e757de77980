/** Who is here, what the server offers, then the page itself. */

import { fill } from "../dom.js";
import { readConfig, ServerError } from "../run/server.js";
import { part } from "./layout.js";
import { failed, showNotices } from "./notice.js";
import { Page } from "./page.js";
import { signInDialog } from "./sign_in.js";

/**
 * Starts the page; null where it asks for a key first, or could not start.
 * @param {HTMLElement} welcome what stands there before the first question
 */
export async function start(welcome) {
  const signIn = signInDialog();
  const again = () => location.reload();
  try {
    const config = await readConfig();
    showNotices(part("notice"), config);
    if ("events" in config) {
      const page = new Page(config, signIn, welcome);
      await page.begin();
      return page;
    }
    signIn.open();
  } catch (error) {
    if (!(error instanceof ServerError)) {
      fill(part("notice"), failed({ text: String(error), again }));
      throw error;
    }
    if (error.status === 401) signIn.open();
    else fill(part("notice"), failed({ text: error.message, again }));
  }
  return null;
}
