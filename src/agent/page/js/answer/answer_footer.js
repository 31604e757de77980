/** What goes with an answer: what was not found, Google's suggestions, its use, ways to take it along. */

import { disclosure } from "../disclosure.js";
import { answerView, el, fill, icon } from "../dom.js";
import { askedIn, language, sentence, text as sayIn, translator } from "../i18n.js";
import { runAddress, serverError, share, threadPath, withdraw } from "../run/server.js";
import { usageDetail } from "./usage.js";

const say = translator("page.answer_footer");
const MOST_QUERIES = 4;
/** What a shared page may show that is its owner's. */
const SHOWN = { position: "shared_position", documents: "shared_documents" };
const OF_PLACES = new Set(["geojson", "gpx"]);
const OF_OUTING = new Set(["ics", "pocket"]);
const OF_SOURCES = new Set(["bibtex", "ris"]);
const FILES = /** @type {const} */ ([
  ["pdf", "report.pdf"], ["docx", "answer.docx"], ["markdown", "answer.md"], ["html", "report.html"],
  ["bibtex", "sources.bib"], ["ris", "sources.ris"],
  ["geojson", "places.geojson"], ["gpx", "places.gpx"], ["ics", "outing.ics"], ["pocket", "outing.pdf"],
]);

/**
 * Offers to make a day of the answer's places; the style shows it below the last answer only.
 * @param {{onAsk: (question: string) => void}} links
 */
export function outingView({ onAsk }) {
  /** @type {Spoken} */
  let spoken = language;
  const onclick = () => onAsk(sayIn("page.answer_footer.outing_question", askedIn(spoken)));
  const node = el("p", { class: "outing-offer", dataset: { part: "outing" }, hidden: true },
    el("button", { class: "button", type: "button", onclick }, say("outing")));
  return answerView(node, (answer) => {
    const isOf = (answer?.assistant ?? "agent") === "agent";
    node.hidden = !answer || !isOf || Boolean(answer.outing) || answer.places.length < 2;
    if (answer) ({ spoken } = answer);
  });
}

/**
 * Offers what could be asked next; the style shows it below the last answer only.
 * @param {{onAsk: (question: string) => void}} links
 */
export function nextView({ onAsk }) {
  const node = el("div", { class: "outing-offer next", role: "group", "aria-label": say("next"),
    dataset: { part: "next" }, hidden: true });
  return answerView(node, (answer) => {
    const questions = answer?.next_questions ?? [];
    node.hidden = questions.length === 0;
    fill(node, ...questions.map((question) =>
      el("button", { class: "button", type: "button", onclick: () => onAsk(question) }, question)));
  });
}

/** Shows what could not be found out, and why. */
export function gapsView() {
  const list = el("ul", {});
  const node = el("section", { class: "gaps", dataset: { part: "gaps" }, hidden: true },
    el("h3", {}, say("gaps")), list);
  return answerView(node, (answer) => {
    // Each reason once, with what it concerns.
    const gaps = Map.groupBy(answer?.gaps.filter((gap) => !gap.recovered) ?? [], ({ message }) => message);
    node.hidden = gaps.size === 0;
    fill(list, ...[...gaps].map(([message, all]) => gapItem(message, all)));
  });
}

/** @param {string} message @param {Gap[]} gaps */
function gapItem(message, gaps) {
  const queries = [...new Set(gaps.map(({ query }) => query).filter(Boolean))];
  const more = queries.length > MOST_QUERIES ? " …" : "";
  const asked = queries.slice(0, MOST_QUERIES).join(say("between")) + more;
  return el("li", {}, sentence(message),
    asked && el("p", { class: "gap-asked" }, say("asked", { text: asked })));
}

/**
 * Unfolds Google's suggestions, each unmodified in a frame without scripts or origin, made when first seen.
 * @param {AnswerLinks} links
 */
export function suggestionsView({ threadId }) {
  const frames = el("div", {});
  const fold = el("details", { ontoggle: () => { if (fold.open) show(); } },
    el("summary", {}, say("suggestions")), frames);
  const node = el("section", { class: "suggestions", dataset: { part: "suggestions" }, hidden: true }, fold);
  /** @type {string[]} */
  let addresses = [];
  const show = () => { if (!frames.hasChildNodes()) fill(frames, ...addresses.map(frame)); };
  return answerView(node, (answer, { messageId }) => {
    addresses = (answer?.search_entry_points ?? [])
      .map((_, number) => runAddress(threadId() ?? "", `suggestions/${number}`, messageId));
    node.hidden = addresses.length === 0;
    fill(frames);
    if (fold.open) show();
  });
}

/** @param {string} src @param {number} number */
function frame(src, number) {
  return el("iframe", {
    title: `${say("suggestions")} ${number + 1}`,
    src,
    sandbox: "allow-popups allow-popups-to-escape-sandbox",
    loading: "lazy",
    referrerpolicy: "no-referrer",
  });
}

/** Says what the run has used. */
export function usageView() {
  const node = el("p", { class: "usage" });
  return answerView(node, (answer) => { node.textContent = answer ? usageDetail(answer.usage) : ""; });
}

/**
 * Offers to copy the answer, its link, and the answer as files.
 * @param {AnswerLinks} links
 * @param {Pick<Config, "pdf"|"sharing">} config
 */
export function toolbarView({ threadId, isFirst, onAnew, onOnceMore }, config) {
  const files = el("div", { class: "choices" });
  const status = el("span", { class: "small muted", role: "status" });
  const label = el("span", {}, icon("export"), el("span", { class: "wide" }, say("exports")));
  const exports = disclosure({ label, panel: files, name: say("as") });
  const link = () => new URL(threadPath(threadId() ?? ""), location.href).href;
  const anew = tool("again", "", () => { if (turn) (isFirst(turn.id) ? onAnew : onOnceMore)(turn); });
  const node = el("div", {
    class: "toolbar", role: "group", "aria-label": say("take"), dataset: { part: "exports" }, hidden: true,
  },
    tool("copy", say("copy_answer"), () => copy(text, status)),
    tool("share", say("copy"), () => copy(link(), status)),
    config.sharing && tool("public", say("share"), () => give()),
    anew, exports.node, status);
  const give = () => shareAnswer(threadId() ?? "", turn?.messageId ?? null, status);
  let text = "", turn = /** @type {Turn|null} */ (null);
  return answerView(node, (answer, its) => {
    node.hidden = answer === null;
    if (!answer) return;
    const { id, messageId } = its;
    [text, turn] = [answer.text, its];
    // A later question stands on what was said before it: it is answered once more in its place.
    const isLater = !isFirst(id);
    anew.title = anew.ariaLabel = say(isLater ? "once_more" : "anew");
    anew.classList.toggle("of-last", isLater);
    fill(files, ...fileLinks(answer, threadId() ?? "", messageId, config),
      el("button", { class: "button quiet", type: "button", onclick: () => print() }, say("print")));
  });
}

/**
 * Gives the answer an address that others can read, copies it, says how far it goes, and offers to end it.
 * @param {string} threadId @param {string|null} message @param {HTMLElement} status
 */
async function shareAnswer(threadId, message, status) {
  try {
    const made = await share(threadId, message);
    await copy(new URL(made.path, location.href).href, status);
    const isShown = status.querySelector("textarea");
    const told = [say("shared", { day: made.ends_at.slice(0, 10) }),
      made.this_machine_only && say("shared_here"), ...made.shows.map((what) => say(SHOWN[what]))];
    const end = () => withdraw(threadId, made.message).then(() => fill(status, say("withdrawn")), failed);
    status.append(`${isShown ? "" : " · "}${told.filter(Boolean).join(" ")} `,
      el("button", { class: "button quiet", type: "button", onclick: end }, say("withdraw")));
  } catch (error) {
    failed(error);
  }
  /** @param {unknown} error */
  function failed(error) {
    fill(status, serverError(error).message);
  }
}

/** @param {IconName} sign @param {string} name @param {() => void} onclick */
function tool(sign, name, onclick) {
  const named = { class: "button quiet", type: "button", title: name, "aria-label": name };
  return el("button", { ...named, onclick }, icon(sign));
}

/**
 * @param {Answer} answer @param {string} threadId @param {string|null} messageId
 * @param {Pick<Config, "pdf">} config
 */
function fileLinks(answer, threadId, messageId, { pdf }) {
  const isOnMap = answer.places.length > 0 || answer.routes.some(({ ends }) => ends?.length);
  const files = FILES.filter(([kind]) => (isOnMap || !OF_PLACES.has(kind)) &&
    (answer.outing || !OF_OUTING.has(kind)) && (answer.sources.length || !OF_SOURCES.has(kind)) &&
    (pdf || kind !== "pdf"));
  return files.map(([kind, name]) => {
    const href = runAddress(threadId, name, messageId);
    const opens = kind === "html" ? { target: "_blank", rel: "noopener" } : { download: "" };
    return el("a", { class: "button quiet", href, ...opens }, say(kind));
  });
}

/**
 * Copies; where the clipboard is closed to the page (no https), shows the text to be copied by hand.
 * @param {string} text
 * @param {HTMLElement} status
 */
async function copy(text, status) {
  try {
    await navigator.clipboard.writeText(text);
    fill(status, say("copied"));
  } catch {
    const field = el("textarea", { readonly: true, rows: 1, class: "field", "aria-label": say("by_hand") });
    field.value = text;
    fill(status, field);
    field.select();
  }
}
