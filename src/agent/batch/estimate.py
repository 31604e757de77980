"""Estimate what the rest of a batch takes, before its first call.

From its own rows where there are some; else from the plans that its assistant makes: the smallest
usual one, and the largest within the limits of a run. Prices are list prices.
"""

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from rich.table import Table

from agent.assistants.common.plan_cost import (
    WEB_CALL,
    CallSizes,
    Size,
    from_low_to_high,
    list_price,
)
from agent.assistants.deep_research import reviewed_topics as deep_research
from agent.assistants.plan_execute import reviewed_tasks as plan_execute
from agent.assistants.plan_execute.task_run import REQUIRED
from agent.assistants.registry import ASSISTANTS
from agent.assistants.team_answer import reviewed_steps as team_answer
from agent.assistants.team_answer.analyze import MAX_STEPS
from agent.batch.answers import Row, parse_row
from agent.batch.progress import format_dollars
from agent.batch.questions import Question
from agent.configuration import Configuration
from agent.nodes import reviewed_queries as agent

Range = tuple[float, float]
_PLANNING = (Size(1500, 300), Size(4000, 1200))
"""The call that makes the plan."""
_SECONDS: dict[str, Range] = {
    "agent": (15, 60),
    "deep_research": (180, 1800),
    "team_answer": (60, 900),
    "plan_execute": (120, 1200),
}
"""Of a question, as the page tells people before they ask."""
_ENOUGH_ROWS = 5
"""Rows whose means are better than a guess."""


@dataclass(frozen=True)
class QuestionEstimate:
    """Hold what a question takes, at both ends of the range."""

    searches: Range
    model_calls: Range
    input_tokens: Range
    output_tokens: Range
    cost_usd: Range | None
    """None where a price is not known."""
    seconds: Range
    rows: int = 0
    """Rows that it is the mean of; 0: it follows from plans."""


def read_rows(path: Path, config: str) -> dict[str, Row]:
    """Return the last row of each question under a configuration; none without the file. Blocking.

    A batch may be writing the file meanwhile.
    """
    rows: dict[str, Row] = {}
    if path.is_file():
        with path.open("rb") as file:
            for line in file:
                if (row := parse_row(line)) and row["config"] == config:
                    rows[row["id"]] = row
    return rows


def left_of(
    questions: Sequence[Question], rows: Mapping[str, Row], *, retry_failed: bool
) -> list[Question]:
    """Return the questions that a start of the batch would ask."""
    again = {"paused", *(["failed"] if retry_failed else [])}
    return [
        question
        for question in questions
        if not question.needs_file
        and (question.id not in rows or rows[question.id]["status"] in again)
    ]


def estimated(
    assistant: str, configuration: Configuration, rows: Sequence[Row], day: date, *, free: bool
) -> QuestionEstimate:
    """Return what one more question takes; `free` where sample services answer."""
    asked = [row for row in rows if row["status"] in ("answered", "no_answer")]
    if len(asked) >= _ENOUGH_ROWS:
        return _of_rows(asked)
    return _of_plans(assistant, configuration, day, free=free)


def _of_rows(rows: Sequence[Row]) -> QuestionEstimate:
    def mean(name: str) -> Range:
        value = sum(float(row["usage"].get(name) or 0) for row in rows) / len(rows)
        return value, value

    priced = all(isinstance(row["usage"].get("cost_usd"), int | float) for row in rows)
    seconds = sum(row["seconds"] for row in rows) / len(rows)
    return QuestionEstimate(
        searches=mean("searches"),
        model_calls=mean("model_calls"),
        input_tokens=mean("input_tokens"),
        output_tokens=mean("output_tokens"),
        cost_usd=mean("cost_usd") if priced else None,
        seconds=(seconds, seconds),
        rows=len(rows),
    )


def _of_plans(
    assistant: str, configuration: Configuration, day: date, *, free: bool
) -> QuestionEstimate:
    calls, searches = _calls(assistant, configuration)
    low, high = (0.0 if free else list_price(calls, end, day) for end in (0, 1))
    most, seconds = configuration, _SECONDS[assistant]
    return QuestionEstimate(
        searches=_within(searches, most.max_searches),
        model_calls=_within(_sum(calls, lambda _: 1), most.max_model_calls),
        input_tokens=_within(_sum(calls, lambda size: size.input), most.max_run_tokens),
        output_tokens=_within(_sum(calls, lambda size: size.output), most.max_run_tokens),
        cost_usd=None if low is None or high is None else (low, high),
        seconds=_within(seconds, most.max_run_seconds),
    )


def _calls(assistant: str, configuration: Configuration) -> tuple[list[CallSizes], Range]:
    """Return the calls of an assistant's usual plans and its searches, at both ends."""
    model, planner = configuration.answer_model, configuration.query_generator_model
    planning = CallSizes(planner, _PLANNING, (1, 1))
    match assistant:
        case "deep_research":
            topics = configuration.max_topics
            plans = [
                deep_research.planned_calls(count, configuration, model) for count in (1, topics)
            ]
            searches: Range = (2, 5 * topics)
        case "team_answer":
            plans = [
                team_answer.planned_calls(count, configuration, model) for count in (1, MAX_STEPS)
            ]
            searches = (2, 3 * MAX_STEPS + 2)
        case "plan_execute":
            tasks = configuration.max_tasks
            plans = [
                plan_execute.planned_calls(n, configuration, model, web=n, undecided=undecided)
                for n, undecided in ((1, 0), (tasks, tasks))
            ]
            searches = (len(REQUIRED), 3 * len(REQUIRED) * tasks)
        case _:
            web, loops = configuration.number_of_initial_queries, configuration.max_research_loops
            plans = [agent.planned_calls(web, maps, configuration, loops=loops) for maps in (0, 1)]
            searches = (web, web + configuration.max_follow_up_queries * (loops - 1))
    calls = from_low_to_high(*plans)
    grounded = [each for each in calls if each.sizes == WEB_CALL]
    executed = sum(each.counts[1] * each.sizes[1].searches for each in grounded)
    return [planning, *calls], (searches[0], max(searches[1], executed))


def _sum(calls: Sequence[CallSizes], of: Any) -> Range:
    low, high = (sum(each.counts[end] * of(each.sizes[end]) for each in calls) for end in (0, 1))
    return low, high


def _within(ends: Range, most: float) -> Range:
    return min(ends[0], most), min(ends[1], most)


def batch_configuration(assistant: str, context: Mapping[str, Any]) -> Configuration:
    """Return the settings of a run of the assistant; raise ConfigurationError."""
    module, _, name = ASSISTANTS[assistant].partition(":")
    schema: type[Configuration] = (
        getattr(importlib.import_module(module), name).context_schema or Configuration
    )
    return schema(**context)


def hours(one: QuestionEstimate, count: int, *, at_once: int, calls_a_minute: int) -> Range:
    """Return the hours for so many questions: their own time, or the pace of model calls."""
    worked = [seconds * count / max(1, min(at_once, count)) / 3600 for seconds in one.seconds]
    paced = [
        calls * count / calls_a_minute / 60 if calls_a_minute else 0.0 for calls in one.model_calls
    ]
    low, high = (max(pair) for pair in zip(worked, paced, strict=True))
    return low, high


def estimate_table(one: QuestionEstimate, count: int, time: Range) -> Table:
    """Tabulate what `count` questions take."""
    table = Table(title="estimate, nothing is asked yet", show_header=False, title_justify="left")
    table.add_column()
    table.add_column(justify="right")
    table.add_row("questions left", f"{count:,}")
    for name, ends in (
        ("searches", one.searches),
        ("model calls", one.model_calls),
        ("tokens in", one.input_tokens),
        ("tokens out", one.output_tokens),
    ):
        table.add_row(name, _shown([f"{end * count:,.0f}" for end in ends]))
    cost = one.cost_usd and [format_dollars(end * count) for end in one.cost_usd]
    table.add_row("cost, list prices", _shown(cost) if cost else "not known for these models")
    table.add_row("time", _shown([f"{h:,.1f} h" if h >= 1 else f"{60 * h:.0f} min" for h in time]))
    basis = (
        f"mean of {one.rows} rows" if one.rows else "usual plans; ask --limit 10 for a better one"
    )
    table.add_row("by", basis)
    return table


def _shown(ends: Sequence[str]) -> str:
    return " to ".join(dict.fromkeys(ends))
