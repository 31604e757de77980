"""The first node: checks the input, opens the turn, and splits the question into tasks."""

import logging
from dataclasses import dataclass, field

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langgraph.runtime import Runtime

from agent.assistants.plan_execute.collection import read_by_default
from agent.assistants.plan_execute.state import PlanState, PlanUpdate, Task, new_plan
from agent.assistants.plan_execute.tasks import (
    MAX_QUERY,
    Checked,
    Plan,
    Problem,
    checked,
    settled,
)
from agent.assistants.plan_execute.toolbox import PlanServices, PlanToolbox, owner_of, settings_of
from agent.assistants.plan_execute.wording import run_gap, say
from agent.budget import Meter
from agent.configuration import Configuration
from agent.errors import AgentError, ConfigurationError, InputError
from agent.evidence.lengths import cut_to_tokens
from agent.evidence.queries import clean_text
from agent.evidence.reasons import reason_of
from agent.evidence.types import Gap
from agent.language import Language
from agent.models.catalogue import DEFAULT_THINKING
from agent.nodes.conversation import conversation, previous_evidence
from agent.nodes.opening import open_turn
from agent.nodes.toolbox import open_meter
from agent.progress import Emit, event
from agent.prompts import render
from agent.retrieval.types import Collected
from agent.state import Turn, replaced

log = logging.getLogger(__name__)
NODE = "plan"
_SHOWN_COLLECTIONS = 30


async def plan(
    state: PlanState, runtime: Runtime[Configuration], *, services: PlanServices
) -> PlanUpdate:
    """Opens the turn; a failing model leaves the question as the one task."""
    given, configuration, emit = services(), settings_of(runtime), runtime.stream_writer
    turn = open_turn(state, configuration, given, runtime)
    owner = owner_of(runtime)
    known, gaps = await _collections(given, owner, turn["language"])
    readable = _readable(state.get("collections"), known, given.mode, lost=bool(gaps))
    previous = previous_evidence(state["messages"])
    said = conversation(state["messages"], previous["sources"])
    if notice := given.notice(turn["language"]):
        emit(event("notice", NODE, text=notice))
    meter = open_meter(turn, configuration, given, spent=None)
    shown = [each for each in known if each["name"] in readable]
    asking = _Asking(turn, configuration, given, meter, _prompt(turn, said, shown, configuration))
    tasks, note = await asking.tasks()
    _tell(tasks, [*gaps, *asking.gaps], emit)
    log.info("turn=%s %s: %d tasks, %s", turn["id"], NODE, len(tasks), note or "as planned")
    opened = new_plan()
    opened["turn"], opened["previous"], opened["conversation"] = turn, previous, said
    opened["owner"], opened["readable"] = owner, readable
    opened["tasks"], opened["plan_note"] = tasks, note
    opened["gaps"] = replaced([*gaps, *asking.gaps])
    opened["usage"] = replaced(meter.usage)
    return opened


async def _collections(
    given: PlanToolbox, owner: str, language: Language
) -> tuple[list[Collected], list[Gap]]:
    try:
        return await given.knowledge.collections(owner), []
    except AgentError as error:
        return [], [run_gap("knowledge_failed", language, reason=reason_of(error, language))]


def _readable(wanted: object, known: list[Collected], mode: str, *, lost: bool) -> list[str]:
    """The collections that this run reads; InputError for one that is not there."""
    names = list(dict.fromkeys(each["name"] for each in known))
    if wanted is None or lost:
        return read_by_default(names, mode)
    if not isinstance(wanted, list) or not all(isinstance(name, str) for name in wanted):
        raise InputError("collections", "must be a list of names")
    for name in wanted:
        if name not in names:
            there = ", ".join(sorted(names)[:_SHOWN_COLLECTIONS]) or "none"
            raise InputError("collections", f"there is no {name[:80]!r}; there are: {there}")
    return list(dict.fromkeys(wanted))


def _prompt(
    turn: Turn, said: str, collections: list[Collected], configuration: Configuration
) -> list[BaseMessage]:
    limit, language = configuration.context_token_limit, turn["language"]
    shown = collections[:_SHOWN_COLLECTIONS]
    values = {
        "today": turn["today"],
        "conversation": cut_to_tokens(said, limit // 10),
        "mode": configuration.plan_mode,
        "limit": str(configuration.max_tasks),
        "collections": "\n".join(f"{each['name']} ({each['documents']})" for each in shown),
        "question": cut_to_tokens(turn["question"], limit // 2),
    }
    return [
        SystemMessage(render("plan_tasks_system", language)),
        HumanMessage(render("plan_tasks", language, **values)),
    ]


@dataclass
class _Asking:
    """Asks for a plan, and once more where it cannot be carried out."""

    turn: Turn
    configuration: Configuration
    given: PlanToolbox
    meter: Meter
    prompt: list[BaseMessage]
    gaps: list[Gap] = field(default_factory=list)

    async def tasks(self) -> tuple[list[Task], str]:
        """The tasks, and why they are not as the model planned them."""
        limit, language = self.configuration.max_tasks, self.turn["language"]
        try:
            found = await self._planned()
        except ConfigurationError:
            raise
        except AgentError as error:
            log.warning("turn=%s %s: %s", self.turn["id"], NODE, error)
            self.gaps.append(run_gap("plan_failed", language, reason=reason_of(error, language)))
            return self._whole(), say("note_empty", language)
        tasks = settled(found, limit)
        if not tasks:
            return self._whole(), say("note_empty", language)
        return tasks, _note(found.problems, language, limit)

    def _whole(self) -> list[Task]:
        return [Task(id="T1", query=clean_text(self.turn["question"], MAX_QUERY), dep=[])]

    async def _planned(self) -> Checked:
        """The second plan where the first one has problems; the first where that one fails."""
        first, said = await self._ask(self.prompt)
        if not first.problems:
            return first
        told = _problems(first.problems, self.turn["language"])
        limit = str(self.configuration.max_tasks)
        again = say("plan_problems", self.turn["language"], problems=told, limit=limit)
        try:
            second, _ = await self._ask([*self.prompt, AIMessage(said), HumanMessage(again)])
        except ConfigurationError:
            raise
        except AgentError as error:
            log.warning("turn=%s %s, again: %s", self.turn["id"], NODE, error)
            return first
        return second if second.tasks else first

    async def _ask(self, prompt: list[BaseMessage]) -> tuple[Checked, str]:
        reply = await self.given.models.ask(
            self.configuration.query_generator_model,
            prompt,
            meter=self.meter,
            schema=Plan,
            thinking=DEFAULT_THINKING["query"],
        )
        assert reply.parsed is not None
        configuration = self.configuration
        found = checked(reply.parsed, configuration.plan_mode, configuration.max_tasks)
        # A plan of hundreds of tasks need not be read again.
        return found, cut_to_tokens(reply.text, configuration.context_token_limit // 10)


def _problems(problems: list[Problem], language: Language) -> str:
    between = "；" if language == "zh" else "; "
    return between.join(say(f"problem_{problem}", language) for problem in problems)


def _note(problems: list[Problem], language: Language, limit: int) -> str:
    """What was made of a plan that still had problems."""
    notes = []
    wrong: list[Problem] = [p for p in problems if p in ("same_id", "unknown_dep", "cycle")]
    if wrong:
        notes.append(say("note_flat", language, problems=_problems(wrong, language)))
    if "same_task" in problems:
        notes.append(say("note_distinct", language))
    if "too_many" in problems:
        notes.append(say("note_cut", language, limit=str(limit)))
    return ("" if language == "zh" else " ").join(notes)


def _tell(tasks: list[Task], gaps: list[Gap], emit: Emit) -> None:
    for gap in gaps:
        emit(event("gap", NODE, text=gap["message"]))
    lines = [
        f"{task['id']} {task['query']}" + (f" ← {', '.join(task['dep'])}" if task["dep"] else "")
        for task in tasks
    ]
    emit(event("tasks", NODE, text="\n".join(lines), count=len(tasks)))
