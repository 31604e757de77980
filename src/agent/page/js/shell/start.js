/** Who is here, what the server offers, then the page itself. */

import { fill } from "../dom.js";
import { readConfig, ServerError } from "../run/server.js";
import { part } from "./layout.js";
import { failed, showNotices } from "./notice.js";
import { Page } from "./page.js";
import { signInDialog } from "./sign_in.js";

/** @import { First } from "./page.js" */

/**
 * Starts the page; null where it asks for a key first, or could not start.
 * @param {First} first what is seen already
 * @param {PublicConfig|Config|null} told null: what the server says of itself could not be read
 */
export async function start(first, told) {
  const signIn = signInDialog();
  const again = () => location.reload();
  try {
    let config = told;
    if (!config) showNotices(part("notice"), config = await readConfig());
    if ("photos" in config) {
      const page = new Page(config, signIn, first);
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
