/** Notices to be seen at all times: sample answers, settings that do not work, a lost server. */

import { el, fill, icon } from "../dom.js";
import { language, translator } from "../i18n.js";

const say = translator("page.notice");

/** Characters of a reason that is read at a glance. */
const SHORT = 120;
/** What this tab remembers of a notice that was put away. */
const PUT_AWAY = "tanlu.notice";

/**
 * Shows the standing notices of this server.
 * @param {Element} place
 * @param {PublicConfig & {reason?: Config["reason"], connect?: boolean}} config
 */
export function showNotices(place, config) {
  const broken = () => say("broken", { reason: config.reason?.[language] ?? "" });
  fill(place,
    config.mode === "offline" && !isPutAway()
      && sampleNotice(config.notice?.[language] ?? "", Boolean(config.connect)),
    config.mode === "broken" && el("p", { class: "notice warn", dataset: { notice: "warn" } }, broken()));
}

/**
 * Shows an error in one line, with the one thing that may help; what follows an arrow in its text is that.
 * @param {{text: string, again?: (() => void)|null, label?: string, lead?: string}} options `label` names
 *   the way on; `lead` stands for a long text, which is folded away
 */
export function failed({ text, again, label, lead }) {
  const [reason, remedy] = text.split(" → ");
  const isFolded = lead && !remedy && text.length > SHORT;
  return el("div", { class: "notice warn", role: "alert" },
    el("span", {}, ...(remedy ? [el("strong", {}, reason), el("br"), remedy] : [isFolded ? lead : text])),
    isFolded && el("details", { class: "reason" }, el("summary", {}, say("reason")), text),
    again && el("button", { class: "button", type: "button", onclick: again },
      icon(label ? "new" : "again"), label ?? say("again")));
}

/**
 * Says that answers are samples, and unfolds how to get live ones.
 * @param {string} more @param {boolean} canConnect whether keys may be given here
 */
function sampleNotice(more, canConnect) {
  /** @type {Promise<void>|null} */
  let coming = null;
  const fold = el("details", {
    ontoggle: () => {
      if (canConnect) coming ??= import("./connect.js").then((form) => fold.append(form.connectForm()));
    } },
    el("summary", {}, say("offline"), " ", el("span", { class: "as-link" }, say("connect"))),
    el("p", {}, more), ...(canConnect ? [] : [el("p", {}, say("connect_how")),
      el("pre", {}, say("connect_lines")), el("p", {}, say("connect_then"))]));
  const away = () => {
    node.remove();
    try {
      sessionStorage.setItem(PUT_AWAY, "1");
    } catch {
      // Then it is there again.
    }
  };
  const node = el("div", { class: "notice sample", dataset: { notice: "sample" } }, fold,
    el("button", { class: "button quiet", type: "button", title: say("close"), "aria-label": say("close"),
      onclick: away }, icon("close")));
  return node;
}

function isPutAway() {
  try {
    return sessionStorage.getItem(PUT_AWAY) !== null;
  } catch {
    return false;
  }
}
