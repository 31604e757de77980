/** A conversation: the turns of one thread, as the server has them. */

import { followToEnd } from "./follow_to_end.js";
import { delay, withRetries } from "./resumable_stream.js";
import { client as pageClient, failureText, serverError, statusOf, steer as pageSteer } from "./server.js";
import { StreamReader } from "./stream_reader.js";
import { makeThread, newId, renameAfter, startRun } from "./threads.js";
import { idsOf, isAwaited, isBusy, isUntaken, newTurn, reviewOf, takeAnswer, turnsOf } from "./turns.js";

const RUNS = 100;
/** Servers keep the progress of a run for this long. */
const LOG_MS = 120_000;
/** Seconds to answer from what was found. */
const FINISH_S = 180;

/**
 * Events: "change" (turns differ; at most once a frame), "thread" (`threadId` differs),
 * "signin" (the server wants a key).
 */
export class Conversation extends EventTarget {
  /** @type {string|null} */
  threadId = null;
  /** @type {Turn[]} */
  turns = [];
  #client;
  #steer;
  #schedule;
  #wait;
  #maxQuestion;
  #scheduled = false;
  #opening = false;
  #leaving = new AbortController();
  /** @type {WeakSet<Turn>} */
  #stopping = new WeakSet();

  /**
   * @param {{client?: Client, steer?: typeof pageSteer, maxQuestion?: number,
   *   schedule?: (act: () => void) => void,
   *   wait?: Following["wait"]}} options `maxQuestion` in characters
   */
  constructor(options = {}) {
    const { client = pageClient, steer = pageSteer, maxQuestion = Infinity, wait = delay } = options;
    const { schedule = requestAnimationFrame } = options;
    super();
    this.#client = client;
    this.#steer = steer;
    this.#maxQuestion = maxQuestion;
    /** @param {() => void} act */
    this.#schedule = (act) => schedule(act);
    this.#wait = wait;
  }

  /** Returns the last turn, or null. */
  get current() { return this.turns.at(-1) ?? null; }

  /**
   * Asks; resolves once the server has taken the question, or has not (the turn is `failed` then).
   * @param {string} question
   * @param {{assistant: string, settings?: Turn["settings"], near?: Point|null, review?: boolean,
   *   replaces?: Turn|null}} options `near` in degrees, WGS-84; `settings` is the run's context; `replaces`:
   *   the last turn, whose place on the thread the question takes
   * @returns {Promise<Turn|null>} the turn; null, and nothing asked, where the question is empty
   *   or too long, another is being answered, or a thread is being opened
   */
  async ask(question, { assistant, settings = {}, near = null, review = false, replaces = null }) {
    const text = question.trim();
    if (!text || [...text].length > this.#maxQuestion) return null;
    if (this.#opening || isAwaited(this.current)) return null;
    if (this.current?.status === "waiting") this.#end(this.current, "aside");
    const old = replaces === this.current ? replaces : null;
    const turn = newTurn({
      id: newId(), question: text, assistant, replaces: old?.id ?? null,
      settings: review ? { ...settings, review_plan: true } : settings,
    });
    // What the server never took is asked anew in its place.
    const kept = this.turns.filter((one) => one !== old && (one.question !== text || !isUntaken(one)));
    this.turns = [...kept, turn];
    this.#changed();
    /** @type {NonNullable<RunPayload["input"]>} */
    const input = {
      messages: [
        ...[old?.id, old?.messageId].flatMap((id) => (id ? [{ type: "remove", id, content: "" }] : [])),
        { type: "human", id: turn.id, content: text },
      ],
      utc_offset: -new Date().getTimezoneOffset(),
    };
    if (near) input.user_location = { lng: near.lng, lat: near.lat };
    await this.#begin(turn, { input });
    if (old && isUntaken(turn)) this.turns = [...kept, old, turn];
    // The list asks anew once the run ends: a title that could not be changed is no failure.
    else if (old && !kept.length && this.threadId) {
      await renameAfter(this.#client, this.threadId, old.question, text).catch(() => {});
    }
    return turn;
  }

  /** Answers the review; the same turn goes on. @param {Decision} answer */
  async resume(answer) {
    const turn = this.current;
    if (turn?.status === "waiting") await this.#goOn(turn, { command: { resume: answer } });
  }

  /** Has a stopped turn answered from what it had found: its run goes on, and searches nothing more. */
  async finish() {
    const turn = this.current;
    if (turn?.status !== "stopped" || !turn.runId) return;
    // The time of a run counts from its question.
    const max_run_seconds = Math.round((Date.now() - turn.startedAt) / 1000) + FINISH_S;
    turn.settings = { ...turn.settings, answer_now: true, max_run_seconds };
    await this.#goOn(turn, { input: null });
  }

  /** Goes on with a turn that has paused or was stopped. @param {Turn} turn @param {RunPayload} payload */
  async #goOn(turn, payload) {
    const { status, review } = turn;
    Object.assign(turn, { status: "starting", review: null, error: null, endedAt: null });
    this.#changed();
    await this.#begin(turn, payload, { status, review });
  }

  /**
   * Adds to what the run under way is asked, or takes a part away; it is taken up at its next step.
   * @param {Wish} wish
   * @returns {Promise<void>} throws ServerError
   */
  async steer(wish) {
    if (!this.threadId || !isBusy(this.current)) throw serverError({ status: 409 });
    try {
      await this.#steer(this.threadId, wish);
    } catch (error) {
      throw this.#refused(error);
    }
  }

  /** Stops the current turn; resolves once the server says so. A plan that waits is cancelled. */
  async stop() {
    const turn = this.current;
    if (turn?.status === "waiting") {
      await this.resume({ cancel: true });
      return;
    }
    if (!turn || !isBusy(turn)) return;
    this.#stopping.add(turn);
    if (turn.status === "running") this.#cancel(turn);
    await this.#stopped(turn);
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
      const [thread, state, runs] = await Promise.all([
        this.#client.threads.get(threadId, { signal }),
        this.#client.threads.getState(threadId, undefined, { signal }),
        this.#client.runs.list(threadId, { limit: RUNS, signal }),
      ]);
      if (signal.aborted) return;
      this.#opening = false;
      this.#name(threadId);
      this.#show({ thread, state, runs });
    } catch (error) {
      // 422: an address with something else where the thread's id belongs.
      if (signal.aborted) return;
      this.#opening = false;
      throw this.#refused(statusOf(error) === 422 ? { status: 404 } : error);
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
    if (known || signal.aborted || isBusy(this.current)) return;
    await this.open(this.threadId).catch(() => {});
  }

  /** @param {{thread: Thread & {error?: Failure}, state: ThreadState, runs: Run[]}} read */
  #show({ thread, state, runs }) {
    // A turn that ended in this window keeps what only its stream told.
    const done = this.turns.filter(({ status }) => status === "done");
    const ended = new Map(done.map((turn) => [turn.id, turn]));
    const turns = turnsOf(state.values, runs, thread.metadata?.graph_id ?? "");
    this.turns = turns.map((turn) => ended.get(turn.id) ?? turn);
    for (const turn of this.turns) if (turn.status === "failed") turn.error = failureText(null);
    const { current } = this;
    if (current?.status === "failed") current.error = failureText(thread.error);
    const review = reviewOf(state);
    if (current?.status === "aside") current.status = "stopped";
    if (review && current?.status === "stopped") Object.assign(current, { status: "waiting", review });
    for (const turn of this.turns.filter(isBusy)) this.#follow(turn);
    if (current?.runId && !isBusy(current) && !current.events.length) this.#recall(current);
    this.#changed();
  }

  /** Reads the progress of a run that has just ended, while the server still has it. @param {Turn} turn */
  async #recall(turn) {
    const { threadId } = this;
    if (!threadId || !turn.runId || Date.now() - (turn.endedAt ?? 0) > LOG_MS) return;
    const { signal } = this.#leaving;
    const copy = { ...turn };
    const reader = new StreamReader(copy);
    const parts = this.#client.runs.joinStream(threadId, turn.runId, { lastEventId: "-1", signal });
    try {
      for await (const part of parts) if (part.event === "custom") reader.read(part);
    } catch {
      // Without its progress the turn is complete, too.
      return;
    }
    // All at once: of a turn that has ended, a step without its end counts as left.
    turn.events = copy.events;
    if (!signal.aborted) this.#changed();
  }

  /**
   * Starts a run for the turn; where the server refuses, the turn is `undo`, or failed.
   * @param {Turn} turn @param {RunPayload} payload @param {Partial<Turn>} undo
   */
  async #begin(turn, payload, undo = {}) {
    const { signal } = this.#leaving;
    try {
      const threadId = this.threadId ?? await makeThread(this.#client, turn);
      if (signal.aborted) return;
      this.#name(threadId);
      if (this.#stopping.has(turn)) {
        this.#end(turn, "stopped");
        return;
      }
      const isNext = this.turns.some((other) => other !== turn && isBusy(other));
      const thread = { threadId, question: this.turns[0].question, isNext };
      const run = await startRun(this.#client, thread, turn, payload);
      if (signal.aborted) return;
      Object.assign(turn, { ...idsOf(run), status: "running" });
      if (this.#stopping.has(turn)) this.#cancel(turn);
      this.#follow(turn);
      this.#changed();
    } catch (error) {
      if (signal.aborted) return;
      this.#end(turn, "failed", this.#refused(error).message);
      Object.assign(turn, undo);
    }
  }

  /** Follows a run to its end, then reads what the thread has of it. @param {Turn} turn */
  async #follow(turn) {
    const { signal } = this.#leaving;
    const { threadId } = this;
    if (threadId === null) return;
    const options = { signal, wait: this.#wait };
    /** @param {boolean} isAnother */
    const changed = (isAnother) => {
      if (isAnother && this.#stopping.has(turn)) this.#cancel(turn);
      this.#changed();
    };
    try {
      const ended = await followToEnd(this.#client, { threadId, turn }, { ...options, changed });
      if (ended && !signal.aborted) await this.#settle(turn, threadId, ended, options);
    } catch (error) {
      if (signal.aborted) return;
      if (statusOf(error) === 404 && this.#stopping.has(turn)) this.#end(turn, "stopped");
      else this.#end(turn, "failed", this.#refused(error).message);
    }
  }

  /**
   * Takes what the thread has of a run that ended.
   * @param {Turn} turn @param {string} threadId @param {{status: RunStatus, failure: Failure}} ended
   * @param {Following} options
   */
  async #settle(turn, threadId, { status, failure }, options) {
    const { signal } = options;
    const isFailed = status === "error" || status === "timeout";
    const ask = () => this.#client.threads.get(threadId, { signal }).then(({ error }) => error);
    const read = () => Promise.all([
      this.#client.threads.getState(threadId, undefined, { signal }),
      // A run that fails at once has told its stream why before anybody listens.
      isFailed && !failure ? ask() : failure,
    ]);
    const [state, reason] = await withRetries(read, options) ?? [];
    if (!state || signal.aborted) return;
    const review = reviewOf(state);
    if (isFailed) this.#end(turn, "failed", failureText(reason));
    else if (takeAnswer(turn, state.values)) this.#end(turn, "done");
    else if (this.#stopping.has(turn)) this.#end(turn, "stopped");
    else if (review && turn === this.current) this.#end(turn, "waiting", null, review);
    else if (status === "interrupted") this.#end(turn, "stopped");
    else this.#end(turn, "failed", failureText(null));
  }

  /** Asks the server to stop the run; what follows it learns of its end. @param {Turn} turn */
  async #cancel(turn) {
    if (!this.threadId || !turn.runId) return;
    try {
      await this.#client.runs.cancel(this.threadId, turn.runId, true, "interrupt");
    } catch (error) {
      // 404: it had ended by itself.
      if (statusOf(error) === 404 || !isBusy(turn)) return;
      this.#stopping.delete(turn);
      turn.error = this.#refused(error).message;
      this.#changed();
    }
  }

  /**
   * Resolves once the turn is no longer busy, or could not be stopped, or was left.
   * @param {Turn} turn @returns {Promise<void>}
   */
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

  /** @param {Turn} turn @param {TurnStatus} status @param {string|null} error @param {Review|null} review */
  #end(turn, status, error = null, review = null) {
    this.#stopping.delete(turn);
    Object.assign(turn, { status, error, review, isLost: false, isAway: false, endedAt: Date.now() });
    this.#changed();
  }

  #leave() {
    this.#opening = false;
    this.#leaving.abort();
    this.#leaving = new AbortController();
  }

  /** @param {string|null} threadId */
  #name(threadId) {
    if (this.threadId === threadId) return;
    this.threadId = threadId;
    this.dispatchEvent(new Event("thread"));
  }

  /** @param {unknown} error */
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
