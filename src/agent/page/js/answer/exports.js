/** Taking an answer along: files, a link to the thread, and what the answer took. */

import { el, fill } from "../dom.js";
import { runAddress, threadAddress } from "../run/run_address.js";
import { usageDetail } from "./usage.js";
import { speaking } from "../words.js";

const say = speaking({
  zh: {
    exports: "导出", markdown: "Markdown", html: "网页（含地图）", geojson: "GeoJSON", gpx: "GPX",
    copy: "复制对话链接", copied: "已复制", by_hand: "请手动复制这个链接",
  },
  en: {
    exports: "Export", markdown: "Markdown", html: "Web page with map", geojson: "GeoJSON", gpx: "GPX",
    copy: "Copy link to this thread", copied: "Copied", by_hand: "Copy this link by hand",
  },
});
const FILES = { markdown: "answer.md", html: "report.html", geojson: "places.geojson", gpx: "places.gpx" };
const OF_PLACES = new Set(["geojson", "gpx"]);

/**
 * @param {object} _config the page's
 * @param {{threadId: () => string}} ways
 * @returns {{node: HTMLElement, update: (turn: object) => void}}
 */
export function exportsView(_config, { threadId }) {
  const ways = el("div", { class: "export-ways", role: "group", "aria-label": say("exports") });
  const name = el("span", { class: "exports-name", "aria-hidden": "true" }, say("exports"));
  const used = el("p", { class: "usage" });
  const node = el("footer", { class: "exports", dataset: { part: "exports" }, hidden: true }, ways, used);
  let shown = null;
  function update(turn) {
    if (turn.answer === shown) return;
    shown = turn.answer;
    node.hidden = shown === null;
    if (!shown) return;
    fill(ways, name, ...fileLinks(shown, threadId(), turn.messageId), ...copyLink(threadId));
    used.textContent = usageDetail(shown.usage ?? {});
  }
  return { node, update };
}

function fileLinks(answer, threadId, messageId) {
  const kinds = Object.keys(FILES).filter((kind) => answer.places.length > 0 || !OF_PLACES.has(kind));
  return kinds.map((kind) => {
    const href = runAddress(threadId, FILES[kind], messageId);
    const opens = kind === "html" ? { target: "_blank", rel: "noopener" } : { download: "" };
    return el("a", { class: "button quiet", href, ...opens }, say(kind));
  });
}

/** Where the clipboard is closed to the page (no https), the link is shown to be copied by hand. */
function copyLink(threadId) {
  const status = el("span", { class: "small muted", role: "status" });
  const copy = async () => {
    const address = threadAddress(threadId());
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
