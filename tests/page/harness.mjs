/** A stand-in server with the page's modules on it, and waiting for a conversation to get somewhere. */

import { asBrowser } from "./browser.mjs";
import { StandIn } from "./stand_in.mjs";

/**
 * @returns {Promise<{server: StandIn, page: object, conversation: (options?: object) => any,
 *   close: () => Promise<void>}>} `page` has what the modules export
 */
export async function startHarness() {
  const server = new StandIn();
  await server.start();
  asBrowser(server.url);
  const page = {};
  for (const name of ["conversation", "server", "threads"]) {
    Object.assign(page, await import(`../../src/agent/page/js/run/${name}.js`));
  }
  const opened = [];
  const conversation = (options = {}) => {
    const made = new page.Conversation({ wait: soon, ...options });
    opened.push(made);
    return made;
  };
  const close = async () => {
    for (const one of opened) one.reset();
    await server.close();
  };
  return { server, conversation, page, close };
}

/** Waits no time, but lets everything else happen. */
const soon = () => new Promise((done) => { setImmediate(done); });

/** Resolves with the current turn once it is as wanted. */
export function until(conversation, wanted) {
  return new Promise((resolve) => {
    const look = () => {
      if (!wanted(conversation.current)) return;
      conversation.removeEventListener("change", look);
      resolve(conversation.current);
    };
    conversation.addEventListener("change", look);
    look();
  });
}

export const is = (status) => (turn) => turn?.status === status;

/** A thread's messages after a question was answered. */
export function answered(run, text, kept = {}) {
  const [human] = run.asked.input.messages;
  const additional_kwargs = { assistant: "agent", mode: "offline", ...kept };
  return [human, { type: "ai", id: "ai-1", content: text, additional_kwargs }];
}
