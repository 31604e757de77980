/** The page starts: who is here, what the server offers, then the page itself. */

import { readConfig, ServerError } from "./run/server.js";
import { part } from "./shell/layout.js";
import { showFailedStart, showNotices } from "./shell/notice.js";
import { Page } from "./shell/page.js";
import { signInDialog } from "./shell/sign_in.js";

async function start() {
  const signIn = signInDialog();
  try {
    const config = await readConfig();
    showNotices(part("notice"), config);
    if ("events" in config) await new Page(config, signIn).begin();
    else signIn.open();
  } catch (error) {
    if (!(error instanceof ServerError)) {
      showFailedStart(part("notice"), String(error), () => location.reload());
      throw error;
    }
    if (error.status === 401) signIn.open();
    else showFailedStart(part("notice"), error.message, () => location.reload());
  }
}

start();
