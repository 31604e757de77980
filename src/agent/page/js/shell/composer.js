/** The question box: what to ask, who answers, from where, and whether to see the plan first. */

import { el, fill, focusOnClick, icon } from "../dom.js";
import { translator } from "../i18n.js";
import { isAwaited } from "../run/turns.js";
import { AssistantChoice } from "./assistant_choice.js";
import { SourceRules } from "./source_rules.js";

const say = translator("page.composer");
/** @import { DocumentsView } from "./documents.js" */

/**
 * @typedef {object} Asked
 * @property {string} question
 * @property {string} assistant
 * @property {boolean} review whether the plan is wanted first
 * @property {Record<string, string>} [settings] of the run
 */

const NEARLY_FULL = 200;
const LONGEST_WISH = 500;

export class Composer {
  /** Characters of a question, once the server has said it. */
  most = Infinity;
  #listeners;
  #text;
  #send;
  #steer;
  #note = el("p", { class: "composer-note small muted", role: "status" });
  #planBox = el("input", { type: "checkbox", role: "switch" });
  #assistant = new AssistantChoice();
  #rules = new SourceRules();
  /** Comes with what is not needed for the first view. @type {DocumentsView|null} */
  #documents = null;
  #files = el("div", { class: "files-place" });
  #busy = false;
  #waiting = false;
  #stopping = false;
  /** What became of the last wish; beside a given back one until it is changed. */
  #told = "";

  /**
   * @param {{node: HTMLElement}} near the control of one's position
   * @param {{onAsk: (asked: Asked) => void, onStop: () => Promise<void>,
   *   onSteer: (wish: Wish) => Promise<void>, lastQuestion: () => string}} listeners
   */
  constructor(near, listeners) {
    this.#listeners = listeners;
    const plan = el("label", { class: "switch button quiet", title: say("plan_hint") },
      this.#planBox, el("span", {}, say("plan")));
    this.#text = el("textarea", {
      id: "question", class: "composer-text", dir: "auto", rows: 1, "aria-label": say("question"),
      placeholder: say("first"), enterkeyhint: "send",
      oninput: () => {
        this.#told = "";
        this.#show();
      },
      onkeydown: (event) => this.#key(event),
    });
    const press = () => { if (this.#busy) this.#stop(); else this.#ask(); };
    this.#send = el("button", { class: "button primary send", type: "button", onclick: press });
    this.#steer = el("button",
      { class: "button", type: "button", hidden: true, onclick: () => this.#add() }, say("add"));
    [plan, this.#send].forEach(focusOnClick);
    this.node = el("div", { class: "composer-box" }, this.#text, this.#note,
      el("div", { class: "composer-row" },
        el("div", { class: "composer-options" },
          this.#assistant.node, near.node, this.#rules.node, plan),
        this.#files,
        this.#steer, this.#send));
    this.#rules.node.addEventListener("input", () => this.#show());
    this.#show();
  }

  /** Returns who would be asked now, of which pages, and whether the plan is wanted first. */
  get options() {
    const settings = { ...this.#rules.settings, ...this.#documents?.settings };
    return { assistant: this.#assistant.chosen.value, review: this.#planBox.checked, settings };
  }

  /** Returns who may be asked. */
  get assistants() { return this.#assistant.all; }

  /** Offers who may be asked, from the server. @param {Assistant[]} assistants */
  offer(assistants) { this.#assistant.offer(assistants); }

  focus() { this.#text.focus(); }

  /** Takes own documents, too. @param {(onChange: () => void) => DocumentsView} make */
  takeFiles(make) {
    this.#documents = make(() => this.#show());
    fill(this.#files, this.#documents.node);
    this.#takeDrops(this.#documents);
  }

  /** Asks for files before a question about them. @param {string} question */
  wantFiles(question) {
    this.giveBack(question);
    this.#documents?.open();
  }

  /** Puts a question that was not taken back, to be asked again. @param {string} question */
  giveBack(question) {
    this.#text.value ||= question;
    this.#show();
  }

  /**
   * Follows the conversation: `turn` is its last one, or null before the first question.
   * @param {Turn|null} turn
   */
  update(turn) {
    this.#busy = isAwaited(turn);
    this.#waiting = turn?.status === "waiting";
    if (!this.#busy) {
      this.#stopping = false;
      if (!this.#text.value) this.#told = "";
    }
    const next = this.#waiting ? "aside" : turn ? "next" : "first";
    this.#text.placeholder = say(this.#busy ? "wish" : next);
    this.#show();
  }

  /** Goes on with the assistant that an opened thread had. @param {string|undefined} assistant */
  choose(assistant) { this.#assistant.choose(assistant); }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.key === "ArrowUp" && !this.#text.value && !this.#busy) {
      event.preventDefault();
      this.giveBack(this.#listeners.lastQuestion());
      return;
    }
    // 229: Safari tells of the Enter that ends a composition only after it has ended.
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
    event.preventDefault();
    this.#ask();
  }

  #ask() {
    const question = this.#text.value.trim();
    if (this.#busy) {
      this.#add();
      return;
    }
    if (!question || this.#left() < 0 || !this.#isSettled) return;
    this.#text.value = this.#told = "";
    this.#documents?.close();
    this.#listeners.onAsk({ ...this.options, question });
    this.#show();
  }

  /** Tells whether nothing is wrong or under way in the folds. */
  get #isSettled() { return this.#rules.isWhole && this.#documents?.isReady !== false; }

  /** Takes files that are dropped onto the box, or pasted into it. @param {DocumentsView} documents */
  #takeDrops(documents) {
    /** @param {DragEvent} event */
    const over = (event) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      this.node.classList.toggle("dropping", event.type === "dragover");
    };
    this.node.addEventListener("dragover", over);
    this.node.addEventListener("dragleave", over);
    this.node.addEventListener("drop", (event) => {
      over(event);
      if (event.defaultPrevented) documents.take([...event.dataTransfer?.files ?? []]);
    });
    this.#text.addEventListener("paste", (event) => {
      const files = [...event.clipboardData?.files ?? []];
      if (!files.length) return;
      event.preventDefault();
      documents.take(files);
    });
  }

  async #stop() {
    this.#stopping = true;
    this.#show();
    await this.#listeners.onStop();
    this.#stopping = false;
    this.#show();
  }

  /** Hands what was written to the run under way; what it does not take is given back. */
  async #add() {
    const text = this.#text.value.trim();
    if (!text || this.#left() < 0) return;
    this.#text.value = "";
    this.#told = say("steering");
    this.#show();
    try {
      await this.#listeners.onSteer(wishOf(text));
      this.#told = say("steered");
    } catch (/** @type {any} */ error) {
      this.#told = error.message;
      this.giveBack(text);
    }
    this.#show();
  }

  /** Returns how many characters may still be written. */
  #left() {
    const most = this.#busy ? LONGEST_WISH : this.most;
    return most - [...this.#text.value.trim()].length;
  }

  #show() {
    grow(this.#text);
    const left = this.#left();
    fill(this.#note, this.#noteText(left));
    this.#steer.hidden = !this.#busy || this.#stopping || !this.#text.value.trim();
    this.#note.classList.toggle("warn", left < 0);
    const name = this.#busy ? say(this.#stopping ? "stopping" : "stop") : say("ask");
    if (this.#send.dataset.shown !== name) {
      this.#send.dataset.shown = name;
      this.#send.classList.toggle("primary", !this.#busy);
      fill(this.#send, icon(this.#busy ? "stop" : "send"), el("span", {}, name));
    }
    const canAsk = this.#text.value.trim() && left >= 0 && this.#isSettled;
    this.#send.disabled = this.#busy ? this.#stopping : !canAsk;
  }

  /** @param {number} left */
  #noteText(left) {
    if (left < 0) return say("over", { over: -left });
    if (left < NEARLY_FULL) return say("long", { left });
    if (this.#busy || this.#told) return this.#told || null;
    if (this.#documents?.isReady === false) return say("files");
    if (!this.#rules.isWhole) return say("rules");
    return this.#waiting ? say("waiting") : null;
  }
}

/**
 * Returns what was written to a run under way: a leading minus takes a part away, as in the terminal.
 * @param {string} text
 * @returns {Wish}
 */
export function wishOf(text) {
  const [, drop] = /^[-－]\s*(.+)$/su.exec(text.trim()) ?? [];
  return drop ? { drop } : { wish: text.trim() };
}

/** Grows with its text where the browser does not do so by itself. @param {HTMLTextAreaElement} text */
function grow(text) {
  if (CSS.supports("field-sizing", "content")) return;
  text.style.height = "auto";
  text.style.height = `${text.scrollHeight}px`;
}
