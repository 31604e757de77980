/** Signing in with a key, and out again; the key itself stays in a cookie no script can read. */

import { el, fill } from "../dom.js";
import { translator } from "../i18n.js";
import { serverError, signIn, signOut } from "../run/server.js";

const say = translator("page.sign_in");

/**
 * Asks for a key until one is accepted. The page then starts over as that person; where it was that
 * person's already, it stays as it is.
 * @returns {{open: (user?: string|null) => void}} `user`: whose page this is
 */
export function signInDialog() {
  /** @type {string|null} */
  let owner = null;
  const problem = el("p", { class: "notice warn", role: "alert", hidden: true });
  const key = el("input", {
    class: "field", type: "password", id: "key", name: "key", required: true,
    autocomplete: "current-password", spellcheck: "false", autocapitalize: "off",
  });
  const submit = el("button", { class: "button primary", type: "submit" }, say("submit"));
  const form = el("form", {
    class: "stack",
    onsubmit: (event) => {
      event.preventDefault();
      attempt();
    },
  },
    el("h2", { id: "sign-in-title" }, say("title")), el("p", { class: "muted" }, say("lead")),
    el("label", { for: "key" }, say("key")), key, problem, submit);
  const dialog = el("dialog", {
    class: "sign-in", "aria-labelledby": "sign-in-title", dataset: { part: "sign-in" },
    // Nothing works without a key, so Escape has nowhere to go back to.
    oncancel: (event) => event.preventDefault(),
  }, form);
  dialog.addEventListener("close", () => { if (dialog.isConnected) dialog.showModal(); });

  async function attempt() {
    submit.disabled = true;
    problem.hidden = true;
    try {
      const { user } = await signIn(key.value.trim());
      if (!owner || user !== owner) {
        location.reload();
        return;
      }
      key.value = "";
      submit.disabled = false;
      dialog.remove();
    } catch (error) {
      const { status, message } = serverError(error);
      const refused = status === 401 ? say("wrong") : status === 429 ? say("many") : null;
      fill(problem, refused ?? say("failed", { reason: message }));
      problem.hidden = false;
      submit.disabled = false;
      key.select();
    }
  }
  return {
    open(user = null) {
      if (dialog.isConnected) return;
      owner = user;
      document.body.append(dialog);
      dialog.showModal();
      key.focus();
    },
  };
}

/** Says who is signed in, and offers the way out. @param {string} user */
export function accountParts(user) {
  // Where it fails the page comes back signed in, which tells as much.
  const leave = () => signOut().catch(() => {}).then(() => location.assign("app"));
  return [
    el("p", { class: "small muted" }, user),
    el("button", { class: "button", type: "button", onclick: leave }, say("out")),
  ];
}
