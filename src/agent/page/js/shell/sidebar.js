/** The person's questions by day, newest first: find, open, watch, rename, delete, load more. */

import { el, fill, icon } from "../dom.js";
import { translator } from "../i18n.js";
import { serverError, threadPath } from "../run/server.js";
import { recentThreads, removeThread, renameThread } from "../run/threads.js";
import { failed } from "./notice.js";
import { dayOf, threadRow } from "./thread_row.js";

/** @import { ThreadSummary } from "../run/threads.js" */

const say = translator("page.sidebar");
const PAGE = 20;
/** How many titles are searched. */
const SEARCHED = 500;
const AGAIN_MS = 5000;
/** @type {Record<string, (at: number, last: number) => number>} */
const STEPS = {
  ArrowDown: (at, last) => Math.min(at + 1, last), ArrowUp: (at) => Math.max(at - 1, 0),
  Home: () => 0, End: (_, last) => last,
};

export class Sidebar {
  #listeners;
  /** @type {string|null} */
  #current = null;
  /** @type {ThreadSummary[]} */
  #threads = [];
  #limit = PAGE;
  #timer = 0;
  #query = el("input", {
    class: "field thread-search", type: "search", "aria-label": say("search"), placeholder: say("search"),
    "aria-keyshortcuts": "Control+K", oninput: () => this.#search(),
  });
  #list = el("div", { class: "thread-list", onkeydown: (event) => this.#key(event) });
  #problem = el("div");
  #more = el("button", {
    class: "button quiet", type: "button", hidden: true, onclick: () => this.#read(this.#limit + PAGE),
  }, say("more"));

  /**
   * @param {{onOpen: (threadId: string) => void, onRemoved: (threadId: string) => void,
   *   onRefused: () => void, onClose: () => void}} listeners `onRefused`: the server wants a key
   */
  constructor(listeners) {
    this.#listeners = listeners;
    const close = el("button", {
      class: "button quiet close-threads", type: "button", "aria-label": say("close"),
      onclick: listeners.onClose,
    }, icon("close"));
    this.nodes = [
      el("div", { class: "threads-head" }, el("h2", {}, say("title")), close),
      this.#query, this.#problem, this.#list, this.#more,
    ];
  }

  /** Moves the focus to the search for a title. */
  focus() { this.#query.focus(); }

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
      if (status === 401) this.#listeners.onRefused();
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

  /** @param {number} limit */
  #read(limit) {
    this.#limit = limit;
    this.refresh();
  }

  /** Shows what has these words in its title; older ones are read for it once. */
  #search() {
    this.#show();
    if (this.#query.value && this.#limit < SEARCHED) this.#read(SEARCHED);
  }

  #show() {
    if (this.#list.querySelector(".sure, .rename")) return;
    const focused = document.activeElement?.closest(".thread")?.getAttribute("data-thread-id");
    const words = this.#query.value.toLowerCase().split(/\s+/).filter(Boolean);
    const shown = this.#threads.slice(0, this.#limit)
      .filter(({ title }) => words.every((word) => title.toLowerCase().includes(word)));
    const days = Object.groupBy(shown, ({ updated_at: when }) => dayOf(when));
    const groups = Object.entries(days).map(([day, threads = []]) =>
      el("section", { "aria-label": say(day) }, el("h3", { class: "thread-day" }, say(day)),
        el("ol", {}, ...threads.map((thread) => this.#row(thread)))));
    fill(this.#list, ...groups,
      shown.length === 0 && el("p", { class: "muted small none" }, say(words.length ? "nothing" : "none")));
    this.#more.hidden = words.length > 0 || this.#threads.length <= this.#limit;
    const links = this.#links();
    const stop = links.find((link) => threadIdOf(link) === (focused ?? this.#current)) ?? links[0];
    stop?.setAttribute("tabindex", "0");
    if (focused) stop?.focus();
  }

  /** The list is one stop of the Tab key; arrows lead through it. @param {KeyboardEvent} event */
  #key(event) {
    const links = this.#links();
    const at = links.findIndex((link) => link === event.target);
    const step = STEPS[event.key];
    if (at < 0 || !step) return;
    event.preventDefault();
    links[at].tabIndex = -1;
    const next = links[step(at, links.length - 1)];
    next.tabIndex = 0;
    next.focus();
  }

  /** @returns {HTMLElement[]} */
  #links() { return [...this.#list.querySelectorAll("a")]; }

  /** @param {ThreadSummary} thread */
  #row(thread) {
    return threadRow(thread, {
      current: thread.thread_id === this.#current,
      href: threadPath(thread.thread_id),
      onOpen: () => this.#listeners.onOpen(thread.thread_id),
      onRename: (title) => this.#change("renaming", async () => {
        await renameThread(thread.thread_id, title);
        await this.refresh();
      }),
      onRemove: () => this.#change("removing", async () => {
        await removeThread(thread.thread_id);
        this.#threads = this.#threads.filter(({ thread_id: id }) => id !== thread.thread_id);
        fill(this.#list);
        this.#show();
        this.#links()[0]?.focus();
        this.#listeners.onRemoved(thread.thread_id);
      }),
    });
  }

  /** Changes a thread, or says why it cannot. @param {string} failure @param {() => Promise<void>} act */
  async #change(failure, act) {
    try {
      await act();
    } catch (error) {
      const { message } = serverError(error);
      fill(this.#problem, failed({ text: say(failure, { reason: message }), again: null }));
    }
  }
}

/** @param {HTMLElement} link */
const threadIdOf = (link) => link.closest(".thread")?.getAttribute("data-thread-id");
