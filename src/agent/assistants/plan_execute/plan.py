"""The first node: checks the input, opens the turn, and splits the question into tasks."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, cast

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.runtime import Runtime
from pydantic import BaseModel, Field, field_validator

from agent.assistants.common.conversation import conversation
from agent.assistants.common.forms import NamesLanguage
from agent.assistants.common.gaps import ask_or_gap, parsed_or_gap, run_gap
from agent.assistants.common.own_documents import (
    SHOWN_COLLECTIONS,
    AsksForDocuments,
    held_inside,
    is_own,
    kept_inside,
    lacking_documents,
    readable_collections,
    with_named,
)
from agent.assistants.common.preferences import (
    UsesPreferences,
    person_of,
    preferring,
    with_preferences,
)
from agent.assistants.common.previous_lines import previous_lines
from agent.assistants.common.remembered import begun_previous
from agent.assistants.common.review_plan import waiting
from agent.assistants.common.services import GetServices, Services
from agent.assistants.common.steering import wish_lines
from agent.assistants.common.turn import (
    context_limit,
    in_read_language,
    open_meter,
    open_turn,
    refuse_without_thread,
    with_room,
)
from agent.assistants.plan_execute.documents import source_name
from agent.assistants.plan_execute.state import (
    PlanState,
    PlanUpdate,
    SpecialSource,
    Task,
    configuration_of,
    new_plan,
)
from agent.assistants.plan_execute.subject import MAX_COMPANY, MAX_QUERY, cleaned_queries
from agent.assistants.plan_execute.task_run import REQUIRED, sources_off
from agent.configuration import Configuration
from agent.core.budget import Meter, Usage
from agent.core.errors import AgentError, ConfigurationError
from agent.core.progress import Emit, event
from agent.core.strings import cut_to_tokens
from agent.evidence.language import words
from agent.evidence.queries import clean_text, same_search
from agent.evidence.types import Gap
from agent.knowledge.types import Collected, Scope
from agent.models.catalogue import DEFAULT_THINKING
from agent.prompts import task_prompt
from agent.runs.run_log import Wish
from agent.state import Turn, answer_language, reader_language, replaced
from agent.texts import Language, detect_language, say

PlanMode = Literal["flat", "dag"]
SPECIAL: Mapping[str, SpecialSource] = {
    "filings": "filings", "sec_edgar": "filings", "sec_edgar_search": "filings", "sec": "filings",
    "akshare": "akshare", "akshare_search": "akshare",
    "map": "map", "maps": "map", "amap": "map",
    "documents": "documents", "own": "documents", "own_documents": "documents",
}  # fmt: skip
"""Special sources by the names that models give them."""
Problem = Literal["empty", "too_many", "same_id", "same_task", "unknown_dep", "cycle"]
_MAX_READ = 200
"""Tasks that are looked at; what comes after them is cut anyhow."""


class PlannedTask(BaseModel):
    """One part of the question."""

    id: str = Field("", description="T1, T2, …")
    query: str = Field(description="What to find out; understandable alone.")
    dep: list[str] = Field(
        default_factory=list, description="Ids of the tasks whose results this one needs."
    )
    sources: list[SpecialSource] | None = Field(
        None, description="Special sources to ask besides; empty for none."
    )
    company: str = Field("", description="Names of the company it is about, parted by /.")
    queries: list[str] = Field(
        default_factory=list, description="One to three searches, each in its source's language."
    )

    @field_validator("id", mode="before")
    @classmethod
    def _id(cls, value: object) -> str:
        return "" if value is None else str(value)

    @field_validator("dep", "queries", mode="before")
    @classmethod
    def _texts(cls, value: object) -> list[str]:
        return [str(each) for each in _as_list(value)]

    @field_validator("company", mode="before")
    @classmethod
    def _company(cls, value: object) -> str:
        return "; ".join(str(each) for each in _as_list(value))

    @field_validator("sources", mode="before")
    @classmethod
    def _sources(cls, value: object) -> list[SpecialSource] | None:
        if value is None:
            return None
        named = [str(each).strip().casefold().replace(" ", "_") for each in _as_list(value)]
        return list(dict.fromkeys(SPECIAL[name] for name in named if name in SPECIAL))


def _as_list(value: object) -> list[object]:
    return value if isinstance(value, list) else [] if value is None else [value]


class Plan(NamesLanguage, AsksForDocuments, UsesPreferences):
    """The tasks that together answer the question."""

    tasks: list[PlannedTask] = Field(description="The tasks.")


@dataclass(frozen=True)
class CheckedTasks:
    """Hold the tasks there are, under ids of ours, and what is wrong with them as planned."""

    tasks: list[Task]
    problems: list[Problem] = field(default_factory=list)


def checked(plan: Plan, mode: PlanMode, limit: int) -> CheckedTasks:
    """Read a plan; the tasks are distinct and cleaned, their order and number the plan's.

    In mode flat nothing depends on anything. The tasks can be carried out as they are only where
    there are no problems; else `settled` makes them so.
    """
    tasks = [_clean_task(task, number) for number, task in enumerate(plan.tasks[:_MAX_READ], 1)]
    named = [task for task in tasks if task["query"]]
    problems = list[Problem]()
    if not named:
        problems.append("empty")
    if len({task["id"] for task in named}) < len(named):
        problems.append("same_id")
    if (distinct := _distinct(named)) and len(distinct) < len(named):
        problems.append("same_task")
    if len(plan.tasks) > limit:
        problems.append("too_many")
    if mode == "flat":
        flat = [_rename(task, task["id"], []) for task in distinct]
        return CheckedTasks(flat, [problem for problem in problems if problem != "same_id"])
    ids = {task["id"] for task in named}
    if any(dep not in ids for task in named for dep in task["dep"]):
        problems.append("unknown_dep")
    elif len(in_order(named)) < len(named):
        problems.append("cycle")
    return CheckedTasks(distinct, problems)


def numbered_tasks(plan: CheckedTasks, limit: int) -> list[Task]:
    """Return at most `limit` tasks `T1`…; without dependencies where these make no sense.

    Empty where there is no task at all.
    """
    tasks = plan.tasks
    if {"same_id", "same_task", "unknown_dep", "cycle"} & set(plan.problems):
        tasks = [_rename(task, task["id"], []) for task in tasks]
    selection = (in_order(tasks) if any(task["dep"] for task in tasks) else tasks)[:limit]
    names = {task["id"]: f"T{number}" for number, task in enumerate(selection, 1)}
    if len(names) < len(selection):
        names = {}
    return [
        _rename(task, f"T{number}", [names[dep] for dep in task["dep"]])
        for number, task in enumerate(selection, 1)
    ]


def in_order(tasks: Sequence[Task]) -> list[Task]:
    """Return every task after those it depends on; those in a circle are left out."""
    left, finished, ordered = list(tasks), set[str](), list[Task]()
    while ready := [task for task in left if set(task["dep"]) <= finished]:
        ordered += ready
        finished |= {task["id"] for task in ready}
        left = [task for task in left if task not in ready]
    return ordered


def depth_of(tasks: Sequence[Task]) -> Mapping[str, int]:
    """Return the depth of each task in the graph of dependencies."""
    depths: dict[str, int] = {}
    for task in in_order(tasks):
        depths[task["id"]] = max((depths[dep] + 1 for dep in task["dep"]), default=0)
    return depths


def _clean_task(task: PlannedTask, number: int) -> Task:
    own = clean_text(task.id, 40) or f"T{number}"
    deps = dict.fromkeys(clean_text(dep, 40) for dep in task.dep)
    cleaned = Task(id=own, query=clean_text(task.query, MAX_QUERY), dep=[d for d in deps if d])
    if task.sources is not None:
        cleaned["sources"] = task.sources
    if company := clean_text(task.company, MAX_COMPANY):
        cleaned["company"] = company
    if queries := cleaned_queries(task.queries):
        cleaned["queries"] = queries
    return cleaned


def _rename(task: Task, name: str, dep: list[str]) -> Task:
    return cast(Task, {**task, "id": name, "dep": dep})


def _distinct(tasks: Sequence[Task]) -> list[Task]:
    tasks_kept: list[Task] = []
    for task in tasks:
        if not any(same_search(task["query"], other["query"]) for other in tasks_kept):
            tasks_kept.append(task)
    return tasks_kept


log = logging.getLogger(__name__)
NODE = "plan"
_SHOWN_TITLES = 200
_MAX_TITLE = 120


async def plan(
    state: PlanState, runtime: Runtime[Configuration], *, get_services: GetServices
) -> PlanUpdate:
    """Open the turn; a failing model leaves the question as the one task."""
    services, configuration, emit = get_services(), configuration_of(runtime), runtime.stream_writer
    refuse_without_thread(configuration)
    turn = await open_turn(state, configuration, services, runtime)
    turn = await with_room(turn, configuration, services)
    readable = await readable_collections(
        state, configuration, services, runtime, turn=turn, all_by_default=True
    )
    owner, gaps, turn = readable.owner, readable.gaps, with_named(turn, readable)
    previous = await begun_previous(state, turn, services, runtime)
    discussion = conversation(state["messages"], previous["sources"])
    if notice := services.notice(turn["language"]):
        emit(event("notice", NODE, text=notice))
    meter = open_meter(turn, configuration, services, spent=None)
    own = [
        each
        for each in readable.collections
        if each["name"] in readable.names and is_own(each["name"])
    ]
    titles = await _titles(own, services, Scope(owner=owner), turn, meter)
    offer = _offer(services, configuration, turn["language"])
    values = {**offer, "conversation": discussion, "collections": _collection_lines(own, titles)}
    share = context_limit(turn, configuration) // 20
    values["previous"] = previous_lines(
        previous, share, turn["question"], places_in=turn["language"]
    )
    person = await person_of(owner, services, configuration)
    prompt = with_preferences(_prompt(turn, configuration, values), person)
    request = _PlanRequest(turn, configuration, services, meter, prompt)
    tasks, note = await request.tasks()
    turn = await in_read_language(turn, request.language, configuration)
    turn = preferring(turn, request.preferred, person)
    asks = held_inside(state, request.own_documents)
    only = configuration.sources == "own" or asks == "only"
    if only:
        turn = kept_inside(turn, asks)
    wanted = only or readable.named or bool(asks)
    if wanted:
        gaps = [*gaps, *lacking_documents(readable, reader_language(turn), only=only)]
    _tell(tasks, [*gaps, *request.gaps], emit)
    log.info("turn=%s %s: %d tasks, %s", turn["id"], NODE, len(tasks), note or "as planned")
    opened = new_plan()
    opened["turn"] = waiting(turn, configuration, services, "plan_execute")
    opened["previous"], opened["conversation"] = previous, discussion
    opened["owner"], opened["readable"] = owner, readable.names
    opened["documents_wanted"] = wanted
    opened["tasks"], opened["plan_note"] = tasks, note
    opened["gaps"] = replaced([*gaps, *request.gaps])
    opened["usage"] = Usage(**meter.usage, first=True)
    return opened


async def _titles(
    own: list[Collected], services: Services, scope: Scope, turn: Turn, meter: Meter
) -> list[str]:
    """Return the titles of own documents; of very many those nearest to the question."""
    if not own:
        return []
    knowledge, count = services.knowledge(), sum(each["documents"] for each in own)
    scope = replace(scope, collections=tuple(dict.fromkeys(each["name"] for each in own)))
    try:
        if count <= _SHOWN_TITLES:
            documents = await knowledge.documents(scope)
        else:
            hits = await knowledge.search(turn["question"], scope, limit=_SHOWN_TITLES, meter=meter)
            documents = [hit.document for hit in hits]
    except AgentError as error:
        log.warning("turn=%s %s, titles: %s", turn["id"], NODE, error)
        return []
    titles = dict.fromkeys(clean_text(document["title"], _MAX_TITLE) for document in documents)
    return [title for title in titles if title][:_SHOWN_TITLES]


def _collection_lines(own: list[Collected], titles: list[str]) -> str:
    """Return each collection with its number of documents, then titles of documents."""
    names = [f"{each['name']} ({each['documents']})" for each in own[:SHOWN_COLLECTIONS]]
    return "\n".join([*names, *(f"- {title}" for title in titles)])


def _offer(services: Services, configuration: Configuration, language: Language) -> dict[str, str]:
    """Return which special sources a task may name, and which required ones cannot be asked."""
    off = sources_off(services, configuration)
    settings = services.settings
    has_map = settings.amap_maps_api_key is not None or settings.amap_mcp_command is not None
    there: dict[SpecialSource, bool] = {
        "filings": "sec_edgar" not in off,
        "akshare": "akshare" not in off,
        "map": has_map and configuration.geo_routing != "never",
    }
    missing = [source_name(name, language) for name in REQUIRED if name in off]
    return {
        "sources": ", ".join(name for name, is_there in there.items() if is_there),
        "unavailable": ", ".join(missing),
    }


def _prompt(
    turn: Turn, configuration: Configuration, values: Mapping[str, str]
) -> list[BaseMessage]:
    limit = context_limit(turn, configuration)
    values = {
        **values,
        "today": turn["today"],
        "conversation": cut_to_tokens(values["conversation"], limit // 10),
        "collections": cut_to_tokens(values["collections"], limit // 10),
        "mode": configuration.plan_mode,
        "limit": str(configuration.max_tasks),
        "question": cut_to_tokens(turn["question"], limit // 2),
    }
    return task_prompt("plan_tasks", answer_language(turn), **values)


@dataclass
class _PlanRequest:
    """Ask for a plan, and once more where it cannot be carried out."""

    turn: Turn
    configuration: Configuration
    services: Services
    meter: Meter
    prompt: list[BaseMessage]
    gaps: list[Gap] = field(default_factory=list)
    own_documents: str = ""
    """What the plan says of the user's own documents."""
    preferred: str = ""
    """What it says that it used of what the person prefers."""
    language: str = ""
    """The tag of the answer's language, in its word."""

    async def tasks(self) -> tuple[list[Task], str]:
        """Return the tasks, and why they are not as the model planned them."""
        limit, language = self.configuration.max_tasks, self.turn["language"]
        planned, gaps = await ask_or_gap(
            self._make_plan(),
            self.turn,
            NODE,
            lambda reason: run_gap("plan_execute.plan_failed", language, reason=reason),
        )
        self.gaps += gaps
        if planned is None:
            return self._whole(), say("plan_execute.note_empty", language)
        tasks = numbered_tasks(planned, limit)
        if not tasks:
            return self._whole(), say("plan_execute.note_empty", language)
        if self._strays(tasks):
            tasks = [*tasks[: limit - 1], *self._whole(f"T{min(limit, len(tasks) + 1)}")]
        return tasks, _note(planned.problems, language, limit)

    def _strays(self, tasks: Sequence[Task]) -> bool:
        """Return whether no task has a word of the question, or is in its language.

        A weak model plans "the"; the question is then looked up as well.
        """
        asked = self.turn["question"]
        return all(
            detect_language(task["query"]) != detect_language(asked)
            and not words(task["query"]) & words(asked)
            for task in tasks
        )

    def _whole(self, name: str = "T1") -> list[Task]:
        return [Task(id=name, query=clean_text(self.turn["question"], MAX_QUERY), dep=[])]

    async def _make_plan(self) -> CheckedTasks:
        """Return the second plan where the first has problems, unless the second fails."""
        first, text = await self._ask(self.prompt)
        if not first.problems:
            return first
        problems = _problems(first.problems, self.turn["language"])
        limit = str(self.configuration.max_tasks)
        again = say(
            "plan_execute.plan_problems", self.turn["language"], problems=problems, limit=limit
        )
        try:
            second, _ = await self._ask([*self.prompt, AIMessage(text), HumanMessage(again)])
        except ConfigurationError:
            raise
        except AgentError as error:
            log.warning("turn=%s %s, again: %s", self.turn["id"], NODE, error)
            return first
        return second if second.tasks else first

    async def _ask(self, prompt: list[BaseMessage]) -> tuple[CheckedTasks, str]:
        reply = await self.services.models.ask(
            self.configuration.query_generator_model,
            prompt,
            meter=self.meter,
            schema=Plan,
            thinking=DEFAULT_THINKING["query"],
        )
        assert reply.parsed is not None
        configuration = self.configuration
        self.preferred, self.language = reply.parsed.preferred, reply.parsed.language
        self.own_documents = reply.parsed.asks(self.turn["question"], str(prompt[-1].text))
        plan = checked(reply.parsed, configuration.plan_mode, configuration.max_tasks)
        # A plan of hundreds of tasks need not be read again.
        return plan, cut_to_tokens(reply.text, configuration.context_token_limit // 10)


async def further_tasks(
    turn: Turn,
    tasks: Sequence[Task],
    wishes: Sequence[Wish],
    configuration: Configuration,
    services: Services,
    *,
    meter: Meter,
) -> tuple[list[Task], list[Gap]]:
    """Return the tasks that wishes need besides; where the model fails, their own words."""
    language, limit = turn["language"], min(configuration.max_tasks, 2 * len(wishes))
    values = {
        "today": turn["today"],
        "question": cut_to_tokens(turn["question"], context_limit(turn, configuration) // 2),
        "tasks": "\n".join(f"{task['id']} {task['query']}" for task in tasks),
        "limit": str(limit),
        "wishes": wish_lines(wishes, language),
    }
    prompt = task_prompt("wish_tasks", **values)
    planned, gaps = await parsed_or_gap(
        services.models, configuration.query_generator_model, prompt, Plan,
        meter=meter, turn=turn, part=NODE, failed="plan_execute.plan_failed",
    )  # fmt: skip
    words = Plan(tasks=[PlannedTask(query=wish["text"]) for wish in wishes])
    more = checked(planned or words, "flat", limit).tasks[:limit]
    earlier = [task["query"] for task in tasks]
    fresh = [t for t in more if not any(same_search(t["query"], text) for text in earlier)]
    return [_rename(t, f"T{len(tasks) + n}", []) for n, t in enumerate(fresh, 1)], gaps


def _problems(problems: list[Problem], language: Language) -> str:
    between = say("punctuation.semicolon", language)
    return between.join(say(f"plan_execute.problem_{problem}", language) for problem in problems)


def _note(problems: list[Problem], language: Language, limit: int) -> str:
    """Return a note on a plan that still had problems."""
    notes = []
    wrong: list[Problem] = [p for p in problems if p in ("same_id", "unknown_dep", "cycle")]
    if wrong:
        notes.append(say("plan_execute.note_flat", language, problems=_problems(wrong, language)))
    if "same_task" in problems:
        notes.append(say("plan_execute.note_distinct", language))
    if "too_many" in problems:
        notes.append(say("plan_execute.note_cut", language, limit=str(limit)))
    return say("punctuation.space", language).join(notes)


def _tell(tasks: list[Task], gaps: list[Gap], emit: Emit) -> None:
    for gap in gaps:
        emit(event("gap", NODE, text=gap["message"]))
    tell_tasks(tasks, emit, NODE)


def tell_tasks(tasks: Sequence[Task], emit: Emit, node: str) -> None:
    """Emit the plan as people read it."""
    lines = [
        f"{task['id']} {task['query']}" + (f" ← {', '.join(task['dep'])}" if task["dep"] else "")
        for task in tasks
    ]
    emit(event("tasks", node, text="\n".join(lines), count=len(tasks)))
