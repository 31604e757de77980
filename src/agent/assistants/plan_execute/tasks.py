"""A plan as a model wrote it, checked and made into tasks that can be carried out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from pydantic import BaseModel, Field, field_validator

from agent.assistants.plan_execute.state import Task
from agent.evidence.queries import clean_text, near_duplicate

Mode = Literal["flat", "dag"]
Problem = Literal["empty", "too_many", "same_id", "same_task", "unknown_dep", "cycle"]
MAX_QUERY = 300
_MAX_READ = 200
"""Tasks that are looked at; what comes after them is cut anyhow."""


class PlannedTask(BaseModel):
    """One part of the question."""

    id: str = Field("", description="T1, T2, …")
    query: str = Field(description="What to find out; understandable alone.")
    dep: list[str] = Field(
        default_factory=list, description="Ids of the tasks whose results this one needs."
    )

    @field_validator("id", mode="before")
    @classmethod
    def _id(cls, value: object) -> str:
        return "" if value is None else str(value)

    @field_validator("dep", mode="before")
    @classmethod
    def _dep(cls, value: object) -> list[str]:
        named = value if isinstance(value, list) else [] if value is None else [value]
        return [str(each) for each in named]


class Plan(BaseModel):
    """The tasks that together answer the question."""

    tasks: list[PlannedTask] = Field(description="The tasks.")


@dataclass(frozen=True)
class Checked:
    """The tasks there are, under ids of ours, and what is wrong with them as planned."""

    tasks: list[Task]
    problems: list[Problem] = field(default_factory=list)


def checked(plan: Plan, mode: Mode, limit: int) -> Checked:
    """Reads a plan; the tasks are distinct and cleaned, their order and number the plan's.

    In mode flat nothing depends on anything. The tasks can be carried out as they are only where
    there are no problems; else `settled` makes them so.
    """
    asked = [_cleaned(task, number) for number, task in enumerate(plan.tasks[:_MAX_READ], 1)]
    named = [task for task in asked if task["query"]]
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
        flat = [Task(id=task["id"], query=task["query"], dep=[]) for task in distinct]
        return Checked(flat, [problem for problem in problems if problem != "same_id"])
    known = {task["id"] for task in named}
    if any(dep not in known for task in named for dep in task["dep"]):
        problems.append("unknown_dep")
    elif len(in_order(named)) < len(named):
        problems.append("cycle")
    return Checked(distinct, problems)


def settled(found: Checked, limit: int) -> list[Task]:
    """At most `limit` tasks `T1`…; without dependencies where these make no sense.

    Empty where there is no task at all.
    """
    tasks = found.tasks
    if {"same_id", "same_task", "unknown_dep", "cycle"} & set(found.problems):
        tasks = [Task(id=task["id"], query=task["query"], dep=[]) for task in tasks]
    kept = (in_order(tasks) if any(task["dep"] for task in tasks) else tasks)[:limit]
    names = {task["id"]: f"T{number}" for number, task in enumerate(kept, 1)}
    if len(names) < len(kept):
        names = {}
    return [
        Task(id=f"T{number}", query=task["query"], dep=[names[dep] for dep in task["dep"]])
        for number, task in enumerate(kept, 1)
    ]


def in_order(tasks: Sequence[Task]) -> list[Task]:
    """Every task after those it depends on; those in a circle are left out."""
    left, done, ordered = list(tasks), set[str](), list[Task]()
    while ready := [task for task in left if set(task["dep"]) <= done]:
        ordered += ready
        done |= {task["id"] for task in ready}
        left = [task for task in left if task not in ready]
    return ordered


def depth_of(tasks: Sequence[Task]) -> Mapping[str, int]:
    """How many tasks stand one behind the other before each one."""
    depths: dict[str, int] = {}
    for task in in_order(tasks):
        depths[task["id"]] = max((depths[dep] + 1 for dep in task["dep"]), default=0)
    return depths


def _cleaned(task: PlannedTask, number: int) -> Task:
    own = clean_text(task.id, 40) or f"T{number}"
    deps = dict.fromkeys(clean_text(dep, 40) for dep in task.dep)
    return Task(id=own, query=clean_text(task.query, MAX_QUERY), dep=[d for d in deps if d])


def _distinct(tasks: Sequence[Task]) -> list[Task]:
    kept: list[Task] = []
    for task in tasks:
        if not any(near_duplicate(task["query"], other["query"]) for other in kept):
            kept.append(task)
    return kept
