/** A run's events folded into steps: what was begun turns into what came of it. */

/** Maps the event that ends a step to the one that began it. @type {Record<string, string|undefined>} */
const ENDS = {
  search_done: "search_started",
  map_done: "map_started",
  turn: "turn_started",
  compressed: "reading",
  task_done: "task_started",
  topic_done: "topic_started",
  done: "answering",
};
/** What a long text goes through before it is shown: each ends the one before it. */
const PHASES = new Set(["drafting", "judged", "revising"]);
const BEGINS = new Set([...Object.values(ENDS), ...PHASES]);
const OF_A_TOPIC = /^(?:search_|map_|thought|gap)/;

/**
 * Maps what holds other steps to the test of a later event being one of them.
 * @type {Record<string, (holder: RunEvent, event: RunEvent) => boolean>}
 */
const HOLDS = {
  task_started: (task, event) => event.id === task.id,
  turn_started: (turn, event) => Boolean(event.speaker) && event.speaker === turn.speaker,
  topic_started: (_topic, event) => OF_A_TOPIC.test(event.type),
  answering: (_answer, event) => PHASES.has(event.type),
};

/**
 * @typedef {object} Step
 * @property {number} key
 * @property {number|null} parent the key of the task, turn or topic it is part of
 * @property {"open"|"done"|"left"} state "left": the run ended before the step did
 * @property {RunEvent} event what the step shows now
 * @property {RunEvent[]} calls a map search's own questions to the map
 * @property {RunEvent} first what it began with
 */

/** Folds events as they come. */
export class Steps {
  /** @type {Step[]} in the order they began */
  list = [];
  /** @type {RunEvent|null} */
  #last = null;

  /**
   * Takes one event in; returns the step it began or changed, null if it is part of none.
   * @param {RunEvent} event
   */
  take(event) {
    if (event.type === "map_found") return null;
    const before = this.#last;
    this.#last = event;
    const begun = ENDS[event.type];
    const mine = begun ? this.#open(begun, event) : null;
    if (mine) return Object.assign(mine, { state: "done", event });
    if (event.type === "done") return null;
    const map = event.type === "map_call" && event.id ? this.#open("map_started", event) : null;
    if (map) {
      map.calls.push(event);
      return map;
    }
    if (PHASES.has(event.type)) this.#endPhase(event);
    const state = BEGINS.has(event.type) ? "open" : "done";
    const again = this.#again(event, before);
    if (again) return Object.assign(again, { state, event, calls: [] });
    const [key, parent] = [this.list.length, this.#holderOf(event)];
    /** @type {Step} */
    const step = { key, parent, state, event, calls: [], first: event };
    this.list.push(step);
    return step;
  }

  /**
   * Finds the step that began with the very same: a task that is tried again tells it again. Without an id
   * only what goes on, or has just come, is known to be the same.
   * @param {RunEvent} event
   * @param {RunEvent|null} before
   */
  #again(event, before) {
    const isKnown = event.id || (before && isSame(before, event));
    return this.list.findLast((step) => (isKnown || step.state === "open") && isSame(step.first, event));
  }

  /** @param {RunEvent} event */
  #endPhase(event) {
    const before = this.list.find((step) => step.state === "open" && PHASES.has(step.event.type));
    if (before && !isSame(before.first, event)) before.state = "done";
  }

  /** Ends the run: what is still open stays as it was left, or is done with it. @param {boolean} isDone */
  close(isDone) {
    for (const step of this.list) if (step.state === "open") step.state = isDone ? "done" : "left";
  }

  /** Returns how many steps a person would count: without the notice. */
  get count() { return this.list.filter((step) => step.event.type !== "notice").length; }

  /** Returns how many steps go on at the same time, not counting those that only hold others. */
  get atOnce() {
    return this.list.filter(({ state, event }) => state === "open" && !(event.type in HOLDS)).length;
  }

  /** Returns the step that is worked on: the newest open one, else the newest. */
  get current() {
    return this.list.findLast((step) => step.state === "open") ?? this.list.at(-1) ?? null;
  }

  /** @param {RunEvent} event */
  #holderOf(event) {
    if (event.type in HOLDS) return null;
    const holder = this.list.findLast(
      (step) => step.state === "open" && HOLDS[step.event.type]?.(step.event, event),
    );
    return holder?.key ?? null;
  }

  /**
   * Finds the open step of this kind that the event speaks of: same id, and the same text where it can.
   * @param {string} kind
   * @param {RunEvent} event
   */
  #open(kind, event) {
    const open = this.list.filter(
      (step) => step.state === "open" && step.event.type === kind && step.event.id === event.id,
    );
    const same = open.find((step) => step.event.text === event.text);
    return same ?? (event.id || kind === "answering" ? open[0] : null) ?? null;
  }
}

/** @param {RunEvent} one @param {RunEvent} other */
const isSame = (one, other) =>
  /** @type {const} */ (["type", "id", "text", "speaker"]).every((name) => one[name] === other[name]);
