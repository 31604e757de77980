/** Turns: one question each, with what was told about it; how a thread's state reads as turns. */

/**
 * @typedef {object} Turn
 * @property {string} id the human message's
 * @property {string|null} runId
 * @property {string|null} messageId the AI message's
 * @property {string} question
 * @property {string} assistant graph id
 * @property {"starting"|"running"|"waiting"|"done"|"stopped"|"failed"} status
 * @property {number} startedAt ms since the epoch
 * @property {number|null} endedAt ms since the epoch
 * @property {object[]} events progress events, `at` ms since the turn began
 * @property {string} text Markdown, while streaming and after
 * @property {object|null} answer
 * @property {object|null} review {queries, estimate, problem?}
 * @property {string|null} error one line
 * @property {object} settings the run's context, the same again after a review
 * @property {number|null} began ms since the epoch by the server's clock
 * @property {string|null} firstRunId under which the server took the question, where it died since
 * @property {boolean} isLost the server died; the run is about to go on
 */

const ACTIVE = new Set(["pending", "running"]);
/** Of a run's metadata: the first id of what it goes on with, after its server died. */
export const MARK = "tanlu_run";
/** Of the metadata of a run begun here: its turn's id. */
export const TURN = "turn";
const ENDS = { error: "failed", timeout: "failed", interrupted: "stopped" };
const LISTS = ["sources", "places", "routes", "weather", "gaps", "queries", "search_entry_points"];

/** Whether a run still works or is about to. @param {{status: string}} run */
export const isActive = (run) => ACTIVE.has(run.status);

/** Whether something may still come. @param {Turn|null|undefined} turn */
export const isBusy = (turn) => turn?.status === "starting" || turn?.status === "running";

/** Whether the server has nothing of it. @param {Turn} turn */
export const isUntaken = (turn) => turn.status === "failed" && !turn.runId;

/**
 * A turn as it begins.
 * @param {Partial<Turn> & {id: string, question: string, assistant: string}} given
 * @returns {Turn}
 */
export function newTurn(given) {
  return {
    runId: null, messageId: null, status: "starting", startedAt: Date.now(), endedAt: null,
    events: [], text: "", answer: null, review: null, error: null, settings: {}, began: null, firstRunId: null,
    isLost: false, ...given,
  };
}

/** A message's text, whether its content is a text or a list of blocks. */
export function textOf(content) {
  if (typeof content === "string") return content;
  const blocks = Array.isArray(content) ? content : [];
  return blocks.map((block) => (typeof block === "string" ? block : block?.text ?? "")).join("");
}

/**
 * What a finished AI message carries.
 * @param {object} message
 * @param {object} values the thread's, if the message is its last
 */
export function answerOf(message, values = {}) {
  const kept = message.additional_kwargs ?? {};
  const lists = Object.fromEntries(LISTS.map((name) => [name, kept[name] ?? []]));
  return {
    ...kept,
    ...lists,
    text: textOf(message.content),
    usage: kept.usage ?? {},
    checks: kept.checks ?? {},
    geojson: kept.geojson ?? values.geojson ?? null,
    anchor: kept.anchor ?? values.anchors?.[0] ?? null,
    needs: kept.needs ?? null,
    mode: kept.mode ?? "online",
    degraded: Boolean(kept.degraded),
  };
}

/** The review a thread waits for, or null. @param {object} state as the server gives it */
export function reviewOf(state) {
  const pending = [...state.interrupts ?? [], ...(state.tasks ?? []).flatMap((task) => task.interrupts ?? [])];
  return pending[0]?.value ?? null;
}

/**
 * Fills in the answer to a turn that has one. Returns whether it has.
 * @param {Turn} turn
 * @param {object} values the thread's
 */
export function takeAnswer(turn, values) {
  const exchange = exchanges(values).findLast((one) => isOf(one, turn));
  if (!exchange?.reply) return false;
  const last = values.messages.at(-1) === exchange.reply;
  turn.answer = answerOf(exchange.reply, last ? values : {});
  turn.messageId = exchange.reply.id;
  turn.text = turn.answer.text;
  turn.assistant = turn.answer.assistant ?? turn.assistant;
  return true;
}

/**
 * A thread's turns, oldest first, from its messages and its runs.
 * @param {object} values the thread's
 * @param {object[]} runs as the server lists them
 * @param {string} assistant graph id, where neither a message nor a run tells
 * @returns {Turn[]} those whose run goes on are `running`; a review is not looked at
 */
export function turnsOf(values, runs, assistant) {
  const turns = exchanges(values).map(({ human }) =>
    newTurn({ id: human.id, question: textOf(human.content), assistant, status: "stopped", startedAt: 0, endedAt: 0 }));
  for (const turn of turns) if (takeAnswer(turn, values)) turn.status = "done";
  const known = new Set();
  let resumed = null;
  for (const run of [...runs].reverse().sort((one, other) => one.created_at.localeCompare(other.created_at))) {
    const asked = questionOf(run);
    const own = turns.find((one) => one.id === run.metadata?.[TURN])
      ?? (asked ? turns.find((one) => !known.has(one) && isAsked(one, asked)) : wentOn(run, runs, turns) ?? resumed);
    const turn = own ?? (asked && added(turns, asked, run, known));
    if (turn) takeRun(turn, run);
    known.add(turn);
    resumed = turn;
  }
  return turns;
}

/** The last turn that no run was asked for, where this one goes on with what was lost. */
function wentOn(run, runs, turns) {
  if (!run.metadata?.[MARK] || run.kwargs?.command) return null;
  const asked = runs.map(questionOf).filter(Boolean);
  const last = turns.at(-1);
  return !last || asked.some((one) => isAsked(last, one)) ? null : last;
}

/** A turn whose question the state does not have (its run ended, or waits, before the first step). */
function added(turns, asked, run, known) {
  const turn = newTurn({ id: asked.id ?? run.run_id, question: asked.text, assistant: run.metadata?.graph_id ?? "" });
  const before = turns.findLastIndex((one) => known.has(one));
  turns.splice(before + 1, 0, turn);
  return turn;
}

/** A run's id, and the one under which it was first taken. @param {object} run */
export const idsOf = (run) => ({ runId: run.run_id, firstRunId: run.metadata?.[MARK] ?? run.run_id });

/** What a run's record tells about its turn. */
function takeRun(turn, run) {
  if (!turn.runId) turn.startedAt = turn.began = Date.parse(run.created_at);
  Object.assign(turn, idsOf(run));
  turn.settings = run.kwargs?.context ?? {};
  turn.assistant = turn.answer?.assistant ?? run.metadata?.graph_id ?? turn.assistant;
  turn.endedAt = isActive(run) ? null : Date.parse(run.updated_at);
  if (isActive(run)) turn.status = "running";
  else if (!turn.answer) turn.status = ENDS[run.status] ?? "stopped";
}

/**
 * Whether a run is what `payload` was to start for this turn, though no reply told.
 * @param {object} run @param {Turn} turn @param {{command?: object}} payload
 */
export function startedBy(run, turn, payload) {
  if (payload.command) return isActive(run) && Boolean(run.kwargs?.command);
  return questionOf(run)?.id === turn.id;
}

/** The question a run was started with; null where it went on from a review. */
function questionOf(run) {
  const human = (run.kwargs?.input?.messages ?? []).findLast((one) => ["human", "user"].includes(one.type ?? one.role));
  return human ? { id: human.id, text: textOf(human.content) } : null;
}

const isAsked = (turn, asked) => (asked.id ? turn.id === asked.id : turn.question === asked.text);

/** Each human message with the last AI text before the next one. */
function exchanges(values) {
  const found = [];
  for (const message of values?.messages ?? []) {
    if (message.type === "human") found.push({ human: message, reply: null });
    else if (message.type === "ai" && found.length && textOf(message.content).trim()) found.at(-1).reply = message;
  }
  return found;
}

/** By id; a run asked elsewhere gave none, so then by its text. */
function isOf({ human }, turn) {
  return human.id === turn.id || (turn.id === turn.runId && textOf(human.content) === turn.question);
}
