/** The person's questions, newest first: open, watch, delete, load more. */

import { el, fill, icon } from "../dom.js";
import { translator } from "../i18n.js";
import { serverError, threadPath } from "../run/server.js";
import { recentThreads, removeThread } from "../run/threads.js";
import { failed } from "./notice.js";
import { threadRow } from "./thread_row.js";

/** @import { ThreadSummary } from "../run/threads.js" */

const say = translator("page.sidebar");
const PAGE = 20;
const AGAIN_MS = 5000;

export class Sidebar {
  #onOpen;
  #onRemoved;
  #onRefused;
  /** @type {string|null} */
  #current = null;
  /** @type {ThreadSummary[]} */
  #threads = [];
  #limit = PAGE;
  #timer = 0;
  #list = el("ol", { class: "thread-list" });
  #problem = el("div");
  #more;

  /**
   * @param {{onOpen: (threadId: string) => void, onRemoved: (threadId: string) => void,
   *   onRefused: () => void, onClose: () => void}} options `onRefused`: the server wants a key
   */
  constructor({ onOpen, onRemoved, onRefused, onClose }) {
    this.#onOpen = onOpen;
    this.#onRemoved = onRemoved;
    this.#onRefused = onRefused;
    this.#more = el("button", {
      class: "button quiet", type: "button", hidden: true,
      onclick: () => {
        this.#limit += PAGE;
        this.refresh();
      },
    }, say("more"));
    const close = el("button", {
      class: "button quiet close-threads", type: "button", "aria-label": say("close"), onclick: onClose,
    }, icon("close"));
    this.nodes = [
      el("div", { class: "threads-head" }, el("h2", {}, say("title")), close),
      this.#problem, this.#list, this.#more,
    ];
  }

  /** Marks the thread that is open. @param {string|null} threadId */
  mark(threadId) {
    this.#current = threadId;
    this.#show();
  }

  /** Reads the list again; while something runs, every few seconds. */
  async refresh() {
    clearTimeout(this.#timer);
    try {
      // One more than shown tells whether there is more.
      this.#threads = await recentThreads({ limit: this.#limit + 1, offset: 0 });
      fill(this.#problem);
    } catch (error) {
      const { status, message } = serverError(error);
      const text = say("failed", { reason: message });
      if (status === 401) this.#onRefused();
      else fill(this.#problem, failed({ text, again: () => this.refresh() }));
      // A server that is away may be back soon, and the list with it.
      if (status === 0 || status >= 500) this.#timer = window.setTimeout(() => this.refresh(), AGAIN_MS);
      return;
    }
    this.#show();
    if (this.#threads.some((thread) => thread.status === "busy") && !document.hidden) {
      this.#timer = window.setTimeout(() => this.refresh(), AGAIN_MS);
    }
  }

  #show() {
    if (this.#list.querySelector(".sure")) return;
    const focused = document.activeElement?.closest(".thread")?.getAttribute("data-thread-id");
    const shown = this.#threads.slice(0, this.#limit);
    fill(this.#list, ...shown.map((thread) => this.#row(thread)),
      shown.length === 0 && el("li", { class: "muted small none" }, say("none")));
    this.#more.hidden = this.#threads.length <= this.#limit;
    if (!focused) return;
    const link = this.#list.querySelector(`[data-thread-id="${CSS.escape(focused)}"] a`);
    if (link instanceof HTMLElement) link.focus();
  }

  /** @param {ThreadSummary} thread */
  #row(thread) {
    return threadRow(thread, {
      current: thread.thread_id === this.#current,
      href: threadPath(thread.thread_id),
      onOpen: () => this.#onOpen(thread.thread_id),
      onRemove: () => this.#remove(thread.thread_id),
    });
  }

  /** @param {string} threadId */
  async #remove(threadId) {
    try {
      await removeThread(threadId);
    } catch (error) {
      const { message } = serverError(error);
      fill(this.#problem, failed({ text: say("removing", { reason: message }), again: null }));
      return;
    }
    this.#threads = this.#threads.filter((thread) => thread.thread_id !== threadId);
    fill(this.#list);
    this.#show();
    this.#onRemoved(threadId);
  }
}
