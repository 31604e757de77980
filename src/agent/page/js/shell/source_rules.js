/** Which web pages may be used: how new, of which sites. The rules hold until they are changed. */

import { disclosure } from "../disclosure.js";
import { el, fill } from "../dom.js";
import { translator } from "../i18n.js";

const say = translator("page.source_rules");
const AGES = /** @type {const} */ (["any", "day", "week", "month", "year"]);
const HOST = /^(?:\*\.|[\w-]+\.)(?:[\w-]+\.)*[\w-]{2,}$/;

/** The fold in the question box. */
export class SourceRules {
  #since = el("select", { class: "field", onchange: () => this.#show() },
    ...AGES.map((age) => el("option", { value: age === "any" ? "" : age }, say(age))));
  #sites = el("input", { class: "field", type: "text", placeholder: "gov.cn -example.com",
    autocapitalize: "none", spellcheck: "false", oninput: () => this.#show() });
  #label = el("span", {}, say("name"));
  #hint = el("p", { class: "small muted", role: "status" }, say("hint"));
  #panel = el("div", { class: "rules-panel", tabindex: -1 },
    el("label", {}, say("since"), this.#since),
    el("label", {}, say("sites"), this.#sites),
    this.#hint);
  node = el("div", { class: "rules", dataset: { part: "rules" } },
    disclosure({ label: this.#label, panel: this.#panel, name: say("name") }).node);

  /** Tells whether each word of the sites is one. */
  get isWhole() { return sitesOf(this.#sites.value).isWhole; }

  /** Returns the rules as settings of a run. @returns {Record<string, string>} */
  get settings() {
    const since = this.#since.value, sites = sitesOf(this.#sites.value).sites.join(",");
    return { ...(since && { search_since: since }), ...(sites && { search_sites: sites }) };
  }

  #show() {
    const { sites, isWhole } = sitesOf(this.#sites.value);
    this.#sites.setAttribute("aria-invalid", String(!isWhole));
    fill(this.#hint, say(isWhole ? "hint" : "wrong"));
    const age = AGES.find((each) => each === this.#since.value);
    const set = [age && say(age), ...sites.slice(0, 1), sites.length > 1 && "…"].filter(Boolean);
    fill(this.#label, set.length ? set.join(" ") : say("name"));
  }
}

/**
 * Reads sites out of what a person wrote or pasted; a leading minus rules one out.
 * @param {string} text
 * @returns {{sites: string[], isWhole: boolean}} `isWhole`: each word was a site
 */
export function sitesOf(text) {
  const words = text.split(/[\s,，;；]+/).filter(Boolean);
  const sites = words.flatMap((word) => {
    const host = word.replace(/^-/, "").replace(/^https?:\/\//, "").replace(/[/?#:].*$/, "");
    return HOST.test(host) ? [`${word.startsWith("-") ? "-" : ""}${host}`] : [];
  });
  return { sites, isWhole: sites.length === words.length };
}
