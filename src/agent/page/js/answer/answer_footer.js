/** The foot of an answer: what was not found, Google's suggestions, files to take along. */

import { el, fill } from "../dom.js";
import { translator } from "../i18n.js";
import { runAddress, threadPath } from "../run/server.js";
import { usageDetail } from "./usage.js";

const say = translator("page.answer_footer");
const MOST_QUERIES = 4;
const OF_PLACES = new Set(["geojson", "gpx"]);
const FILES = /** @type {const} */ ([
  ["markdown", "answer.md"], ["html", "report.html"], ["geojson", "places.geojson"], ["gpx", "places.gpx"],
]);

/** Shows what could not be found out, and why. @returns {View} */
export function gapsView() {
  const list = el("ul", {});
  const node = el("section", { class: "gaps", dataset: { part: "gaps" }, hidden: true },
    el("h3", {}, say("gaps")), list);
  /** @type {Answer|null} */
  let shown = null;
  /** @param {Turn} turn */
  function update(turn) {
    if (turn.answer === shown) return;
    shown = turn.answer;
    const gaps = byMessage(shown?.gaps ?? []);
    node.hidden = gaps.size === 0;
    fill(list, ...[...gaps].map(([message, queries]) => gapItem(message, queries)));
  }
  return { node, update };
}

/** Lists each reason once, with what it concerns. @param {Gap[]} gaps */
function byMessage(gaps) {
  /** @type {Map<string, Set<string>>} */
  const reasons = new Map();
  for (const { message, query } of gaps) {
    const queries = reasons.get(message) ?? new Set();
    reasons.set(message, query ? queries.add(query) : queries);
  }
  return reasons;
}

/** @param {string} message @param {Set<string>} queries */
function gapItem(message, queries) {
  const named = [...queries].slice(0, MOST_QUERIES);
  const asked = named.join(say("between")) + (queries.size > MOST_QUERIES ? " …" : "");
  return el("li", {}, message, asked && el("p", { class: "gap-asked" }, say("asked", { text: asked })));
}

/**
 * Unfolds Google's suggestions, each unmodified in a frame without scripts or origin, made when first seen.
 * @param {AnswerLinks} links
 * @returns {View}
 */
export function suggestionsView({ threadId }) {
  const frames = el("div", {});
  const fold = el("details", { ontoggle: () => { if (fold.open) show(); } },
    el("summary", {}, say("suggestions")), frames);
  const node = el("section", { class: "suggestions", dataset: { part: "suggestions" }, hidden: true }, fold);
  /** @type {Answer|null} */
  let shown = null;
  /** @type {string|null} */
  let messageId = null;
  /** @param {Turn} turn */
  function update(turn) {
    if (turn.answer === shown) return;
    shown = turn.answer;
    messageId = turn.messageId;
    node.hidden = !shown?.search_entry_points.length;
    fill(frames);
    if (fold.open) show();
  }
  function show() {
    if (frames.hasChildNodes()) return;
    const address = (/** @type {number} */ number) =>
      runAddress(threadId() ?? "", `suggestions/${number}`, messageId);
    fill(frames, ...(shown?.search_entry_points ?? []).map((_, number) => frame(number, address(number))));
  }
  return { node, update };
}

/** @param {number} number @param {string} src */
function frame(number, src) {
  return el("iframe", {
    title: `${say("suggestions")} ${number + 1}`,
    src,
    sandbox: "allow-popups allow-popups-to-escape-sandbox",
    loading: "lazy",
    referrerpolicy: "no-referrer",
  });
}

/** Offers the answer as files, and a link to the thread. @param {AnswerLinks} links @returns {View} */
export function exportsView({ threadId }) {
  const ways = el("div", { class: "export-ways", role: "group", "aria-label": say("exports") });
  const name = el("span", { class: "exports-name", "aria-hidden": "true" }, say("exports"));
  const used = el("p", { class: "usage" });
  const node = el("footer", { class: "exports", dataset: { part: "exports" }, hidden: true }, ways, used);
  /** @type {Answer|null} */
  let shown = null;
  /** @param {Turn} turn */
  function update(turn) {
    if (turn.answer === shown) return;
    shown = turn.answer;
    node.hidden = shown === null;
    if (!shown) return;
    fill(ways, name, ...fileLinks(shown, threadId() ?? "", turn.messageId), ...copyLink(threadId));
    used.textContent = usageDetail(shown.usage);
  }
  return { node, update };
}

/** @param {Answer} answer @param {string} threadId @param {string|null} messageId */
function fileLinks(answer, threadId, messageId) {
  const files = FILES.filter(([kind]) => answer.places.length > 0 || !OF_PLACES.has(kind));
  return files.map(([kind, name]) => {
    const href = runAddress(threadId, name, messageId);
    const opens = kind === "html" ? { target: "_blank", rel: "noopener" } : { download: "" };
    return el("a", { class: "button quiet", href, ...opens }, say(kind));
  });
}

/**
 * Offers the link; where the clipboard is closed to the page (no https), it is shown to be copied by hand.
 * @param {AnswerLinks["threadId"]} threadId
 */
function copyLink(threadId) {
  const status = el("span", { class: "small muted", role: "status" });
  const copy = async () => {
    const address = location.origin + threadPath(threadId() ?? "");
    try {
      await navigator.clipboard.writeText(address);
      fill(status, say("copied"));
    } catch {
      const shown = { readonly: true, value: address, "aria-label": say("by_hand") };
      const field = el("input", { class: "field", ...shown });
      fill(status, field);
      field.select();
    }
  };
  return [el("button", { class: "button quiet", type: "button", onclick: copy }, say("copy")), status];
}
