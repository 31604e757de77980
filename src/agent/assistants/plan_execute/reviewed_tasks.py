"""The tasks as a person reviews them before anything is searched."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal, NotRequired, cast, get_args

from typing_extensions import TypedDict

from agent.assistants.common.plan_cost import (
    AT_ONCE,
    WEB_CALL,
    CallSizes,
    PlanCost,
    Size,
    searched_by_google,
    written_in_rounds,
)
from agent.assistants.common.review_plan import (
    NODE,
    PlanKind,
    checked_object,
    checked_text,
    review_step,
)
from agent.assistants.common.services import Services
from agent.assistants.common.turn import answer_model, own_limit
from agent.assistants.plan_execute.plan import in_order, tell_tasks
from agent.assistants.plan_execute.state import (
    PlanConfiguration,
    PlanState,
    PlanUpdate,
    SpecialSource,
    Task,
)
from agent.assistants.plan_execute.subject import MAX_COMPANY, MAX_QUERIES, MAX_QUERY, task_queries
from agent.assistants.plan_execute.task_run import REQUIRED, sources_off
from agent.assistants.plan_execute.write_dossier import ASSISTANT
from agent.configuration import Configuration
from agent.core.errors import InputError
from agent.core.progress import Emit
from agent.evidence.queries import clean_text
from agent.state import Reviewed

_DECIDED = (Size(800, 50), Size(4000, 800))
_WRITTEN = (Size(2500, 600), Size(10_000, 2500))
_PER_TASK = (500, 6000)
"""Tokens of documents that the draft is shown of each task."""
_OWN = 2000
"""Tokens of own documents at least, where they are read whole."""
_MAX_ID = 40


class ReviewedTask(TypedDict):
    """A task as a person wants it; all but the query may be left out."""

    query: str
    id: NotRequired[str]
    dep: NotRequired[list[str]]
    """Ids of tasks whose results it needs; they may make no circle."""
    sources: NotRequired[list[SpecialSource] | None]
    company: NotRequired[str]
    queries: NotRequired[list[str]]


class ReviewedTasks(Reviewed, total=False):
    """The answer to a review of `plan_execute`."""

    tasks: list[ReviewedTask]
    """1 to `max_tasks`."""


_FIELDS = frozenset(ReviewedTask.__annotations__)


def after_plan(state: PlanState) -> Literal["review_plan", "execute", "__end__"]:
    """Route to a person first, where that is wanted; then to the tasks."""
    return review_step(state) or "execute"


def _read(lines: Sequence[Any], state: PlanState, configuration: PlanConfiguration) -> list[Task]:
    """Return the tasks as `T1`….

    A task that was left out is nobody's dependency any more; searches planned for other words
    than a task has now are written anew.
    """
    by_id = {task["id"]: task for task in state["tasks"]}
    tasks = [_task(line, f"tasks[{place}]", by_id) for place, line in enumerate(lines)]
    ids = [task["id"] for task in tasks if task["id"]]
    for place, task in enumerate(tasks):
        if task["id"] and task["id"] in [earlier["id"] for earlier in tasks[:place]]:
            raise InputError(f"tasks[{place}].id", f"is there twice: {task['id']}")
        task["dep"] = _dependencies(task, f"tasks[{place}].dep", ids, by_id)
    _refuse_circle(tasks)
    names = {task["id"]: f"T{number}" for number, task in enumerate(tasks, 1) if task["id"]}
    return [
        cast(Task, {**task, "id": f"T{number}", "dep": [names[dep] for dep in task["dep"]]})
        for number, task in enumerate(tasks, 1)
    ]


def _task(value: Any, where: str, by_id: Mapping[str, Task]) -> Task:
    """Return a task under the id it came with, empty where it has none."""
    value = {"query": value} if isinstance(value, str) else value
    fields = checked_object(value, where, _FIELDS)
    name = fields.get("id") or ""
    if not isinstance(name, str) or clean_text(name, _MAX_ID) != name:
        raise InputError(f"{where}.id", "must be a task's id, such as T1")
    query = checked_text(fields.get("query"), f"{where}.query", MAX_QUERY)
    task = Task(id=name, query=query, dep=_texts(fields, "dep", where, most=_MAX_ID))
    if (sources := fields.get("sources")) is not None:
        task["sources"] = _sources(sources, f"{where}.sources")
    if company := fields.get("company"):
        task["company"] = checked_text(company, f"{where}.company", MAX_COMPANY)
    queries = [
        checked_text(text, f"{where}.queries[{place}]", MAX_QUERY)
        for place, text in enumerate(_texts(fields, "queries", where, most=MAX_QUERIES))
    ]
    before = by_id.get(name)
    if queries and not (before and before["query"] != query and before.get("queries") == queries):
        task["queries"] = queries
    return task


def _texts(fields: Mapping[str, Any], name: str, where: str, *, most: int) -> list[str]:
    value = fields.get(name) or []
    if not (isinstance(value, list) and all(isinstance(each, str) for each in value)):
        raise InputError(f"{where}.{name}", "must be a list of texts")
    if len(value) > most:
        problem = f"has {len(value)} entries; at most {most} are allowed"
        raise InputError(f"{where}.{name}", problem)
    return list(dict.fromkeys(value))


def _sources(value: Any, where: str) -> list[SpecialSource]:
    known = get_args(SpecialSource)
    if not isinstance(value, list) or any(name not in known for name in value):
        raise InputError(where, f"must be a list of {', '.join(known)}")
    return list(dict.fromkeys(value))


def _dependencies(
    task: Task, where: str, ids: Collection[str], by_id: Collection[str]
) -> list[str]:
    for dep in task["dep"]:
        if dep not in ids and dep not in by_id:
            raise InputError(where, f"names no task of this plan: {clean_text(dep, _MAX_ID)!r}")
    return [dep for dep in task["dep"] if dep in ids]


def _refuse_circle(tasks: Sequence[Task]) -> None:
    ordered = in_order(tasks)
    for place, task in enumerate(tasks):
        if task not in ordered:
            raise InputError(f"tasks[{place}].dep", "makes a circle of tasks that wait for another")


def _cost(
    tasks: Sequence[Task], state: PlanState, configuration: PlanConfiguration, services: Services
) -> PlanCost:
    """Return what a dossier takes: each task's decisions and searches, headings and the text."""
    off = sources_off(services, configuration)
    if state["turn"].get("own_only"):
        off, tasks = dict.fromkeys(REQUIRED, ""), []
    asked = [name for name in REQUIRED if name not in off]
    special = sum(len(set(task.get("sources", [])) & {"filings", "akshare"}) for task in tasks)
    queries = sum(len(task_queries(task)) for task in tasks)
    undecided = sum("sources" not in task for task in tasks) + sum(bool(t["dep"]) for t in tasks)
    web = queries if "tavily" in asked and searched_by_google(configuration) else 0
    model = answer_model(state["turn"], configuration)
    own = own_limit(state["turn"], configuration) if state.get("documents_wanted") else 0
    return PlanCost(
        planned_calls(len(tasks), configuration, model, web=web, undecided=undecided, own=own),
        searches=queries * len(asked) + special,
        map_calls=5 * sum("map" in task.get("sources", []) for task in tasks),
    )


def planned_calls(
    count: int,
    configuration: Configuration,
    model: str,
    *,
    web: int,
    undecided: int,
    own: int = 0,
) -> list[CallSizes]:
    """Return the calls of so many tasks: decisions and searches, then headings and the text.

    That is written once, checked, and revised once; `own` are the tokens of own documents at most.
    """
    read = (Size(min(own, _OWN), 100), Size(own, 1500))
    written = [
        size.with_input(each.input + task * count)
        for size, each, task in zip(_WRITTEN, read, _PER_TASK, strict=True)
    ]
    return [
        CallSizes(configuration.research_model, _DECIDED, (undecided, count + undecided), AT_ONCE),
        CallSizes(configuration.research_model, WEB_CALL, (web, web + web // 2), AT_ONCE),
        CallSizes(configuration.query_generator_model, _DECIDED, (1, 1)),
        CallSizes(configuration.research_model, read, (min(own, 1), min(own, 1))),
        *written_in_rounds((written[0], written[1]), configuration, model),
    ]


def _taken(tasks: list[Task], emit: Emit) -> PlanUpdate:
    tell_tasks(tasks, emit, NODE)
    return PlanUpdate(tasks=tasks)


TASKS = PlanKind(
    assistant=ASSISTANT,
    part="tasks",
    answer=ReviewedTasks,
    configuration=PlanConfiguration,
    most=lambda configuration: configuration.max_tasks,
    shown=lambda state: [dict(task) for task in state["tasks"]],
    read=_read,
    cost=_cost,
    own=Task(id="", query="", dep=[]),
    taken=_taken,
    stopped={"tasks": []},
)
