/** Turns: one question each, with its answer; read from a thread's state and its runs. */

import { languageOf, spokenIn } from "../i18n.js";

/** @type {Set<RunStatus>} */
const ACTIVE = new Set(["pending", "running"]);
/** In a run's metadata: the first id of what it goes on with, after its server died. */
export const MARK = "tanlu_run";
/** In the metadata of a run begun here: its turn's id. */
export const TURN = "turn";
/** In the metadata of a run: the id of the turn that it was asked in place of. */
export const REPLACES = "replaces";
const TAG = /^[a-z]{2}(-Hant)?$/;
/** What an answer has any number of. */
const LISTS = /** @type {const} */ ([
  "sources", "places", "routes", "weather", "gaps", "queries", "search_entry_points", "progress",
]);
/** Without an answer; a run that ended well has paused. @type {Partial<Record<RunStatus, TurnStatus>>} */
const ENDS = { error: "failed", timeout: "failed", interrupted: "stopped", success: "aside" };

/** Tells whether a run still works or is about to. @param {Run} run */
export const isActive = (run) => ACTIVE.has(run.status);

/** Tells whether something may still come. @param {Turn|null|undefined} turn */
export const isBusy = (turn) => turn?.status === "starting" || turn?.status === "running";

/**
 * Tells whether its text may still come: not once only a judge is waited for.
 * @param {Turn|null|undefined} turn
 */
export const isAwaited = (turn) => isBusy(turn) && !turn?.events.some(({ type }) => type === "checking");

/** Tells whether the server has nothing of it. @param {Turn} turn */
export const isUntaken = (turn) => turn.status === "failed" && !turn.runId;

/**
 * Makes a turn as it begins.
 * @param {Partial<Turn> & {id: string, question: string, assistant: string}} fields
 * @returns {Turn}
 */
export function newTurn(fields) {
  return {
    runId: null, messageId: null, status: "starting", startedAt: Date.now(), endedAt: null,
    events: [], text: "", answer: null, review: null, error: null, settings: {},
    firstRunId: null, replaces: null, isLost: false, isAway: false, ...fields,
  };
}

/** Returns a message's text. @param {Message["content"]|undefined} content a text or a list of blocks */
export function textOf(content) {
  if (typeof content === "string") return content;
  const blocks = Array.isArray(content) ? content : [];
  return blocks.map((block) => (typeof block === "string" ? block : block?.text ?? "")).join("");
}

/**
 * Returns what a finished AI message carries.
 * @param {Message} message
 * @param {ThreadValues} values the thread's, if the message is its last
 * @param {string} question
 * @returns {Answer}
 */
export function answerOf(message, values = {}, question = "") {
  const fields = message.additional_kwargs ?? {};
  const lists = /** @type {Pick<Answer, typeof LISTS[number]>} */ (
    Object.fromEntries(LISTS.map((name) => [name, fields[name] ?? []])));
  return {
    ...fields,
    ...lists,
    outing: fields.outing ?? null,
    text: textOf(message.content),
    // As `language_spoken` of the server has it.
    spoken: spokenIn([fields.language, values.turn?.reader, values.turn?.language].map(String)
      .find((tag) => TAG.test(tag)) ?? languageOf(question || textOf(message.content)), fields.words),
    usage: fields.usage ?? {},
    checks: fields.checks ?? {},
    geojson: fields.geojson ?? values.geojson ?? null,
    anchor: fields.anchor ?? values.anchors?.[0] ?? null,
    needs: fields.needs ?? null,
    mode: fields.mode ?? "online",
    degraded: Boolean(fields.degraded),
    final_answer: fields.final_answer ?? "",
    outcome: fields.outcome ?? "",
    verified: Boolean(fields.verified),
  };
}

/** Returns the review a thread waits for, or null. @param {ThreadState} state */
export function reviewOf(state) {
  const ofTasks = (state.tasks ?? []).flatMap((task) => task.interrupts ?? []);
  const pending = [...state.interrupts ?? [], ...ofTasks];
  return pending[0]?.value ?? null;
}

/**
 * Fills in the answer to a turn that has one. Returns whether it has.
 * @param {Turn} turn
 * @param {ThreadValues} values the thread's
 */
export function takeAnswer(turn, values) {
  const exchange = exchanges(values).findLast((one) => isOf(one, turn));
  if (!exchange?.reply) return false;
  const last = values.messages?.at(-1) === exchange.reply;
  turn.answer = answerOf(exchange.reply, last ? values : {}, textOf(exchange.human.content));
  turn.messageId = exchange.reply.id;
  turn.text = turn.answer.text;
  // What the stream told is as complete, and may be shown already.
  if (!turn.events.length) turn.events = turn.answer.progress;
  turn.assistant = turn.answer.assistant ?? turn.assistant;
  return true;
}

/**
 * Reads a thread's turns, oldest first, from its messages and its runs.
 * @param {ThreadValues} values the thread's
 * @param {Run[]} runs as the server lists them
 * @param {string} assistant graph id, where neither a message nor a run tells
 * @returns {Turn[]} those whose run goes on are `running`; a review is not looked at
 */
export function turnsOf(values, runs, assistant) {
  const turns = exchanges(values).map(({ human: { id, content } }) =>
    newTurn({ id, question: textOf(content), assistant, status: "stopped", startedAt: 0, endedAt: 0 }));
  for (const turn of turns) if (takeAnswer(turn, values)) turn.status = "done";
  /** @type {Set<Turn>} */
  const known = new Set();
  /** @type {Turn|null} */
  let previous = null;
  const replaced = new Set(runs.map((run) => run.metadata?.[REPLACES]));
  const oldestFirst = runs.filter((run) => !replaced.has(run.metadata?.[TURN] ?? "")).reverse()
    .sort((one, other) => one.created_at.localeCompare(other.created_at));
  for (const run of oldestFirst) {
    const question = questionOf(run);
    /** @type {Turn|null|undefined} */
    const own = turns.find((turn) => turn.id === run.metadata?.[TURN])
      ?? (question
        ? turns.find((turn) => !known.has(turn) && isAsked(turn, question))
        : continuedTurn(run, runs, turns) ?? previous);
    /** @type {Turn|null} */
    const turn = own ?? (question && insertTurn(turns, question, run, known));
    if (turn) {
      takeRun(turn, run);
      known.add(turn);
    }
    previous = turn;
  }
  return turns;
}

/** Returns what a run was begun with. @param {Run} run @returns {RunRecord} */
const requestOf = (run) => run.kwargs ?? run;

/** Tells whether a run answers a pause; Aegra keeps no command. @param {Run} run */
const isReply = (run) => (run.kwargs ? Boolean(run.kwargs.command) : run.input === null);

/**
 * Finds the last turn that no run was asked for, where this one goes on with what was lost.
 * @param {Run} run @param {Run[]} runs @param {Turn[]} turns
 */
function continuedTurn(run, runs, turns) {
  if (!run.metadata?.[MARK] || isReply(run)) return null;
  const questions = runs.map(questionOf);
  const last = turns.at(-1);
  return !last || questions.some((question) => question && isAsked(last, question)) ? null : last;
}

/**
 * Inserts a turn whose question the state does not have (its run ended, or waits, before the first step).
 * @param {Turn[]} turns @param {Question} question @param {Run} run @param {Set<Turn>} known
 */
function insertTurn(turns, question, run, known) {
  const assistant = run.metadata?.graph_id ?? "";
  const turn = newTurn({ id: question.id ?? run.run_id, question: question.text, assistant });
  const before = turns.findLastIndex((one) => known.has(one));
  turns.splice(before + 1, 0, turn);
  return turn;
}

/** Returns a run's id, and the one under which it was first taken. @param {Run} run */
export const idsOf = (run) => ({ runId: run.run_id, firstRunId: run.metadata?.[MARK] ?? run.run_id });

/** Fills in what a run's record tells about its turn. @param {Turn} turn @param {Run} run */
function takeRun(turn, run) {
  if (!turn.runId) turn.startedAt = Date.parse(run.created_at);
  Object.assign(turn, idsOf(run));
  turn.settings = requestOf(run).context ?? {};
  turn.assistant = turn.answer?.assistant ?? run.metadata?.graph_id ?? turn.assistant;
  turn.endedAt = isActive(run) ? null : Date.parse(run.updated_at);
  if (isActive(run)) turn.status = "running";
  else if (!turn.answer) turn.status = ENDS[run.status] ?? "stopped";
}

/**
 * Tells whether a run is what `payload` was to start for this turn, though no reply came.
 * @param {Run} run @param {Turn} turn @param {RunPayload} payload
 */
export function startedBy(run, turn, payload) {
  if (!payload.input) return isActive(run) && run.metadata?.[TURN] === turn.id;
  return questionOf(run)?.id === turn.id;
}

/** @typedef {{id: string|undefined, text: string}} Question */

/**
 * Returns the question a run was started with; null where it went on from a review.
 * @param {Run} run @returns {Question|null}
 */
function questionOf(run) {
  const human = (requestOf(run).input?.messages ?? [])
    .findLast(({ type, role }) => ["human", "user"].includes(type ?? role ?? ""));
  return human ? { id: human.id, text: textOf(human.content) } : null;
}

/** @param {Turn} turn @param {Question} question */
const isAsked = (turn, question) => (question.id ? turn.id === question.id : turn.question === question.text);

/** @typedef {{human: Message, reply: Message|null}} Exchange */

/**
 * Pairs each human message with the last AI text before the next one.
 * @param {ThreadValues|null|undefined} values
 */
function exchanges(values) {
  /** @type {Exchange[]} */
  const pairs = [];
  for (const message of values?.messages ?? []) {
    const last = pairs.at(-1);
    if (message.type === "human") pairs.push({ human: message, reply: null });
    else if (message.type === "ai" && last && textOf(message.content).trim()) last.reply = message;
  }
  return pairs;
}

/**
 * Compares ids; a run asked elsewhere gave none, so then texts.
 * @param {Exchange} exchange
 * @param {Turn} turn
 */
function isOf({ human }, turn) {
  return human.id === turn.id || (turn.id === turn.runId && textOf(human.content) === turn.question);
}
