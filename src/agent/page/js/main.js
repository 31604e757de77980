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
    if (config.keys && !config.user) signIn.open();
    else await new Page(config, signIn).begin();
  } catch (error) {
    if (error.status === 401) return signIn.open();
    showFailedStart(part("notice"), error, () => location.reload());
    if (!(error instanceof ServerError)) throw error;
  }
  return undefined;
}

start();
