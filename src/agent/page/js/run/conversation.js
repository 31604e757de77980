/** A conversation: the turns of one thread, kept as the server has them. */

import { followToEnd } from "./follow_to_end.js";
import { delay, withRetries } from "./resumable_stream.js";
import { client as pageClient, failureText, serverError } from "./server.js";
import { StreamReader } from "./stream_reader.js";
import { makeThread, newId, startRun } from "./threads.js";
import { idsOf, isBusy, isUntaken, newTurn, reviewOf, takeAnswer, turnsOf } from "./turns.js";

const RUNS = 100;
/** How long servers keep what a run told. */
const LOG_MS = 120_000;

/**
 * Events: "change" (turns differ; at most once a frame), "thread" (`threadId` differs),
 * "signin" (the server wants a key).
 */
export class Conversation extends EventTarget {
  threadId = null;
  /** @type {import("./turns.js").Turn[]} */
  turns = [];
  #client;
  #schedule;
  #wait;
  #maxQuestion;
  #scheduled = false;
  #opening = false;
  #leaving = new AbortController();
  #stopping = new WeakSet();

  /**
   * @param {{client?: object, maxQuestion?: number, schedule?: (act: () => void) => void,
   *   wait?: typeof delay}} options `maxQuestion` in characters
   */
  constructor({ client = pageClient, maxQuestion = Infinity, schedule = requestAnimationFrame, wait = delay } = {}) {
    super();
    this.#client = client;
    this.#maxQuestion = maxQuestion;
    this.#schedule = (act) => schedule(act);
    this.#wait = wait;
  }

  /** The last turn. */
  get current() {
    return this.turns.at(-1) ?? null;
  }

  /**
   * Asks; resolves once the server has taken the question, or has not (the turn is `failed` then).
   * @param {string} question
   * @param {{assistant: string, settings?: object, near?: {lng: number, lat: number}|null,
   *   review?: boolean}} options `near` in degrees, WGS-84; `settings` is the run's context
   * @returns {Promise<object|null>} the turn; null, and nothing asked, where the question is empty
   *   or too long, another is being answered, or a thread is being opened
   */
  async ask(question, { assistant, settings = {}, near = null, review = false }) {
    const text = question.trim();
    if (!text || [...text].length > this.#maxQuestion) return null;
    if (this.#opening || isBusy(this.current)) return null;
    const waited = this.current?.status === "waiting" ? this.current : null;
    if (waited) this.#end(waited, "stopped");
    const turn = newTurn({
      id: newId(), question: text, assistant,
      settings: review ? { ...settings, review_plan: true } : settings,
    });
    // What the server never took is asked anew in its place.
    this.turns = [...this.turns.filter((one) => one.question !== text || !isUntaken(one)), turn];
    this.#changed();
    const input = { messages: [{ type: "human", id: turn.id, content: text }] };
    if (near) input.user_location = { lng: near.lng, lat: near.lat };
    await this.#begin(turn, { input });
    return turn;
  }

  /** Answers the review: {queries: […]} or {cancel: true}; the same turn goes on. */
  async resume(answer) {
    const turn = this.current;
    if (turn?.status !== "waiting") return;
    const undo = { status: "waiting", review: turn.review };
    Object.assign(turn, { status: "starting", review: null, error: null, endedAt: null });
    this.#changed();
    await this.#begin(turn, { command: { resume: answer } }, undo);
  }

  /** Stops the current turn; resolves once the server says so. A plan that waits is cancelled. */
  async stop() {
    const turn = this.current;
    if (turn?.status === "waiting") return this.resume({ cancel: true });
    if (!isBusy(turn)) return undefined;
    this.#stopping.add(turn);
    if (turn.status === "running") this.#cancel(turn);
    return this.#stopped(turn);
  }

  /** Leaves this thread; what runs on it runs on. */
  reset() {
    this.#leave();
    this.#name(null);
    this.turns = [];
    this.#changed();
  }

  /**
   * Shows a thread as the server has it, and joins what runs on it.
   * @param {string} threadId
   * @returns {Promise<void>} once the turns are there; throws ServerError
   */
  async open(threadId) {
    this.#leave();
    const { signal } = this.#leaving;
    this.#opening = true;
    try {
      const read = await this.#read(threadId, signal);
      if (signal.aborted) return;
      this.#opening = false;
      this.#name(threadId);
      this.#show(read);
    } catch (error) {
      // 422: an address with something else where the thread's id belongs.
      if (signal.aborted) return;
      this.#opening = false;
      throw this.#refused(error?.status === 422 ? { status: 404 } : error);
    }
  }

  /**
   * Takes up what another window did on this thread; does nothing while a turn is busy here, or
   * where the server cannot be asked. For when the page is looked at again.
   */
  async refresh() {
    if (this.threadId === null || isBusy(this.current)) return;
    const { signal } = this.#leaving;
    const [run] = await this.#client.runs.list(this.threadId, { limit: 1, signal }).catch(() => []);
    const known = !run || this.turns.some((turn) => turn.runId === run.run_id);
    if (!known && !signal.aborted && !isBusy(this.current)) await this.open(this.threadId).catch(() => {});
  }

  /** A thread's record, state and runs. */
  async #read(threadId, signal) {
    const [thread, state, runs] = await Promise.all([
      this.#client.threads.get(threadId, { signal }),
      this.#client.threads.getState(threadId, undefined, { signal }),
      this.#client.runs.list(threadId, { limit: RUNS, signal }),
    ]);
    return { thread, state, runs };
  }

  #show({ thread, state, runs }) {
    // A turn that ended in this window keeps what only its stream told.
    const ended = new Map(this.turns.filter((turn) => turn.status === "done").map((turn) => [turn.id, turn]));
    this.turns = turnsOf(state.values, runs, thread.metadata?.graph_id ?? "").map((turn) => ended.get(turn.id) ?? turn);
    for (const turn of this.turns) if (turn.status === "failed") turn.error = failureText(null);
    const { current } = this;
    if (current?.status === "failed") current.error = failureText(thread.error);
    const review = reviewOf(state);
    if (review && current?.status === "stopped") Object.assign(current, { status: "waiting", review });
    for (const turn of this.turns.filter(isBusy)) this.#follow(turn);
    if (current?.runId && !isBusy(current) && !current.events.length) this.#recall(current);
    this.#changed();
  }

  /** The progress of a run that has just ended, while the server still has it. */
  async #recall(turn) {
    if (Date.now() - turn.endedAt > LOG_MS) return;
    const { signal } = this.#leaving;
    const told = { ...turn };
    const reader = new StreamReader(told);
    const parts = this.#client.runs.joinStream(this.threadId, turn.runId, { lastEventId: "-1", signal });
    try {
      for await (const part of parts) if (part.event === "custom") reader.read(part);
    } catch {
      // Without its progress the turn is complete, too.
      return;
    }
    // All at once: of a turn that has ended, a step without its end counts as left.
    turn.events = told.events;
    if (!signal.aborted) this.#changed();
  }

  /** Starts a run for the turn; where the server refuses, the turn is `undo`, or failed. */
  async #begin(turn, payload, undo = null) {
    const { signal } = this.#leaving;
    try {
      const threadId = this.threadId ?? await makeThread(this.#client, turn);
      if (signal.aborted) return;
      this.#name(threadId);
      if (this.#stopping.has(turn)) return this.#end(turn, "stopped");
      const run = await startRun(this.#client, { threadId, question: this.turns[0].question }, turn, payload);
      if (signal.aborted) return;
      Object.assign(turn, { ...idsOf(run), status: "running", began: turn.began ?? Date.parse(run.created_at) });
      if (this.#stopping.has(turn)) this.#cancel(turn);
      this.#follow(turn);
      this.#changed();
    } catch (error) {
      if (signal.aborted) return;
      this.#end(turn, "failed", this.#refused(error).message);
      Object.assign(turn, undo);
    }
  }

  /** Hears a run to its end, then reads what the thread has of it. */
  async #follow(turn) {
    const { signal } = this.#leaving;
    const { threadId } = this;
    const options = { signal, wait: this.#wait };
    const changed = (isAnother) => {
      if (isAnother && this.#stopping.has(turn)) this.#cancel(turn);
      this.#changed();
    };
    try {
      const ended = await followToEnd(this.#client, { threadId, turn }, { ...options, changed });
      if (ended && !signal.aborted) await this.#settle(turn, ended, options);
    } catch (error) {
      if (signal.aborted) return;
      if (error?.status === 404 && this.#stopping.has(turn)) this.#end(turn, "stopped");
      else this.#end(turn, "failed", this.#refused(error).message);
    }
  }

  /** Takes what the thread has of a run that ended. */
  async #settle(turn, { status, failure }, options) {
    const { threadId } = this;
    const { signal } = options;
    const state = await withRetries(() => this.#client.threads.getState(threadId, undefined, { signal }), options);
    if (!state || signal.aborted) return;
    const review = reviewOf(state);
    if (status === "error" || status === "timeout") this.#end(turn, "failed", failureText(failure));
    else if (takeAnswer(turn, state.values)) this.#end(turn, "done");
    else if (this.#stopping.has(turn)) this.#end(turn, "stopped");
    else if (review && turn === this.current) this.#end(turn, "waiting", null, review);
    else if (status === "interrupted") this.#end(turn, "stopped");
    else this.#end(turn, "failed", failureText(null));
  }

  /** Asks the server to stop the run; what follows it hears the end. */
  async #cancel(turn) {
    try {
      await this.#client.runs.cancel(this.threadId, turn.runId, true, "interrupt");
    } catch (error) {
      // 404: it had ended by itself.
      if (error?.status === 404 || !isBusy(turn)) return;
      this.#stopping.delete(turn);
      turn.error = this.#refused(error).message;
      this.#changed();
    }
  }

  /** Once the turn is no longer busy, or could not be stopped, or was left. */
  #stopped(turn) {
    const { signal } = this.#leaving;
    return new Promise((resolve) => {
      const look = () => {
        if (isBusy(turn) && this.#stopping.has(turn) && !signal.aborted) return;
        this.removeEventListener("change", look);
        resolve();
      };
      this.addEventListener("change", look);
      signal.addEventListener("abort", look);
    });
  }

  #end(turn, status, error = null, review = null) {
    this.#stopping.delete(turn);
    Object.assign(turn, { status, error, review, isLost: false, endedAt: Date.now() });
    this.#changed();
  }

  #leave() {
    this.#opening = false;
    this.#leaving.abort();
    this.#leaving = new AbortController();
  }

  #name(threadId) {
    if (this.threadId === threadId) return;
    this.threadId = threadId;
    this.dispatchEvent(new Event("thread"));
  }

  #refused(error) {
    const refused = serverError(error);
    if (refused.status === 401) this.dispatchEvent(new Event("signin"));
    return refused;
  }

  #changed() {
    if (this.#scheduled) return;
    this.#scheduled = true;
    this.#schedule(() => {
      this.#scheduled = false;
      this.dispatchEvent(new Event("change"));
    });
  }
}
