/** The page starts: who is here, what the server offers, then the page itself. */

import { part } from "./layout.js";
import { showNotices, showUnreachable } from "./notice.js";
import { Page } from "./page.js";
import { readConfig } from "./server.js";
import { signInDialog } from "./signin.js";

async function start() {
  const signIn = signInDialog();
  try {
    const config = await readConfig();
    showNotices(part("notice"), config);
    if (config.keys && !config.user) signIn.open();
    else await new Page(config, signIn).begin();
  } catch (error) {
    if (error.status === 401) return signIn.open();
    showUnreachable(part("notice"), () => location.reload());
    throw error;
  }
  return undefined;
}

start();
