/** A run's events folded into steps: what was begun turns into what came of it. */

/** The event that ends a step → the one that began it. */
const ENDS = {
  search_done: "search_started",
  map_done: "map_started",
  turn: "turn_started",
  compressed: "reading",
  task_done: "task_started",
  topic_done: "topic_started",
  done: "answering",
};
const BEGINS = new Set(Object.values(ENDS));
const OF_A_TOPIC = /^(?:search_|map_|thought|gap)/;

/** What holds other steps → whether a later event is one of them. */
const HOLDS = {
  task_started: (task, told) => told.id === task.id,
  turn_started: (turn, told) => Boolean(told.speaker) && told.speaker === turn.speaker,
  topic_started: (_topic, told) => OF_A_TOPIC.test(told.type),
};

/**
 * @typedef {{type: string, node?: string, id?: string, text?: string, count?: number,
 *   seconds?: number, speaker?: string, at?: number}} Told an event; `at` in milliseconds
 * @typedef {{key: number, parent: number|null, state: "open"|"done"|"left", told: Told,
 *   calls: Told[], first: Told}} Step `told` is what the step shows now, `first` what it began with;
 *   `parent` the key of the task, turn or topic it is part of; `calls` are a map search's own
 *   questions to the map; "left": the run ended before the step did
 */

/** Folds events as they come. */
export class Steps {
  /** @type {Step[]} in the order they began */
  list = [];
  #last = null;

  /** Takes one event in; the step it began or changed, null if it is part of none. */
  take(told) {
    const before = this.#last;
    this.#last = told;
    const begun = ENDS[told.type];
    const mine = begun ? this.#open(begun, told) : null;
    if (mine) return this.#end(mine, told);
    if (told.type === "done") return null;
    const map = told.type === "map_call" && told.id ? this.#open("map_started", told) : null;
    if (map) {
      map.calls.push(told);
      return map;
    }
    const state = BEGINS.has(told.type) ? "open" : "done";
    const again = this.#again(told, before);
    if (again) return Object.assign(again, { state, told, calls: [] });
    const step = { key: this.list.length, parent: this.#holderOf(told), state, told, calls: [], first: told };
    this.list.push(step);
    return step;
  }

  /**
   * The step that began with the very same: a task that is tried again tells it again. Without an
   * id only what goes on, or was just told, is known to be the same.
   */
  #again(told, before) {
    const isKnown = told.id || (before && isSame(before, told));
    return this.list.findLast((step) => (isKnown || step.state === "open") && isSame(step.first, told));
  }

  /** The run has ended: what is still open stays as it was left, or is done with it. */
  close(isDone) {
    for (const step of this.list) if (step.state === "open") step.state = isDone ? "done" : "left";
  }

  /** How many steps a person would count: without the notice. */
  get count() {
    return this.list.filter((step) => step.told.type !== "notice").length;
  }

  /** How many steps go on at the same time, not counting those that only hold others. */
  get atOnce() {
    return this.list.filter(({ state, told }) => state === "open" && !(told.type in HOLDS)).length;
  }

  /** The step that is worked on: the newest open one, else the newest. */
  get current() {
    return this.list.findLast((step) => step.state === "open") ?? this.list.at(-1) ?? null;
  }

  #holderOf(told) {
    if (told.type in HOLDS) return null;
    const holder = this.list.findLast(
      (step) => step.state === "open" && HOLDS[step.told.type]?.(step.told, told),
    );
    return holder?.key ?? null;
  }

  #end(step, told) {
    step.state = "done";
    step.told = told;
    return step;
  }

  /** The open step of this kind that `told` speaks of: same id, and the same text where it can. */
  #open(kind, told) {
    const open = this.list.filter(
      (step) => step.state === "open" && step.told.type === kind && step.told.id === told.id,
    );
    const same = open.find((step) => step.told.text === told.text);
    return same ?? (told.id || kind === "answering" ? open[0] : null) ?? null;
  }
}

const isSame = (one, other) =>
  ["type", "id", "text", "speaker"].every((name) => one[name] === other[name]);

/**
 * What a finished answer itself tells of how it came about, as events, for a turn whose own are not
 * kept: each round's queries, those the map was asked, what was not found, how many sources it cites.
 * @param {{queries: {query: string, map?: object|null, round?: number}[],
 *   gaps: {query: string, message: string}[], checks: {cited?: number}}} answer
 * @returns {Told[]}
 */
export function eventsOfAnswer({ queries, gaps, checks }) {
  const rounds = [...new Set(queries.map(({ round = 1 }) => round))];
  const asked = new Set(queries.map(({ query }) => query));
  const told = rounds.flatMap((number) => {
    const ofRound = queries.filter(({ round = 1 }) => round === number);
    const texts = ofRound.map(({ query }) => query);
    return [
      { type: "queries", text: texts.join("\n"), count: texts.length },
      ...ofRound.filter(({ map }) => map).map(({ query }) => ({ type: "map_started", text: query })),
      ...eventsOfGaps(gaps.filter(({ query }) => texts.includes(query))),
    ];
  });
  told.push(...eventsOfGaps(gaps.filter(({ query }) => !asked.has(query))));
  if (checks.cited !== undefined) told.push({ type: "answering" }, { type: "done", count: checks.cited });
  return told;
}

function eventsOfGaps(gaps) {
  return [...new Set(gaps.map(({ message }) => message))].map((text) => ({ type: "gap", text }));
}
