/** Fields for the keys of live data, on a server that answers this machine only. */

import { el, fill, link } from "../dom.js";
import { translator } from "../i18n.js";
import { connect, serverError } from "../run/server.js";

const say = translator("page.connect");
/** One of these leads to a model. */
const MODELS = new Set(["GEMINI_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL"]);

/** Makes the form; the page begins anew once the keys work. */
export function connectForm() {
  const gemini = field("GEMINI_API_KEY", "gemini", "password", "https://aistudio.google.com/apikey");
  const amap = field("AMAP_MAPS_API_KEY", "amap", "password", "https://console.amap.com/dev/key/app");
  const others = [field("OPENAI_BASE_URL", "address", "url"), field("OPENAI_API_KEY", "key", "password"),
    field("TANLU_MODEL", "model", "text")];
  const status = el("p", { class: "small", role: "status" });
  const submit = el("button", { class: "button primary", type: "submit" }, say("submit"));
  const fields = [gemini, amap, ...others];
  return el("form", {
    class: "connect-form", dataset: { part: "connect" }, autocomplete: "off",
    onsubmit: async (event) => {
      event.preventDefault();
      const given = fields.map(({ input }) => [input.name, input.value.trim()]).filter(([, value]) => value);
      if (!given.some(([name]) => MODELS.has(name))) {
        fill(status, say("needs"));
        return;
      }
      submit.disabled = true;
      fill(status, say("trying"));
      try {
        await connect(Object.fromEntries(given));
        location.reload();
      } catch (error) {
        fill(status, serverError(error).message);
        submit.disabled = false;
      }
    },
  },
    el("p", {}, say("lead")), gemini.node, amap.node,
    el("details", {}, el("summary", { class: "as-link" }, say("other")), ...others.map(({ node }) => node)),
    el("div", { class: "connect-end" }, submit, status));
}

/** @param {string} name @param {string} words @param {string} type @param {string} [where] to get one */
function field(name, words, type, where) {
  const input = el("input", { class: "field", name, type, autocomplete: "off", spellcheck: "false",
    autocapitalize: "none" });
  const get = where && link(where, say("get"), { class: "small" });
  return { input, node: el("div", {}, el("label", {}, el("span", {}, say(words)), input), get) };
}
