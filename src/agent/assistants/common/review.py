"""Show a plan to a person before anything is searched: the pause, its estimate, what is answered.

An assistant's own node `review_plan` says how its plan is shown, estimated and read. Clients that
speak LangChain's human-in-the-loop form find it beside ours, and may answer in it.
"""

import math
import re
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, Literal, TypeVar, cast

from langgraph.types import interrupt
from pydantic import TypeAdapter

from agent.assistants.common.draft import Draft
from agent.assistants.common.services import Services
from agent.assistants.common.writer import Closing, MessageParts, write_message
from agent.configuration import Configuration
from agent.core.budget import Usage, no_usage
from agent.core.errors import InputError
from agent.core.progress import Emit
from agent.evidence.queries import clean_text
from agent.evidence.types import PLAN_TEXTS, MapTask, PlanPart
from agent.models.catalogue import parse, price
from agent.state import (
    ActionRequest,
    CostRange,
    Estimate,
    Gathered,
    PlanReview,
    PlanShares,
    PlanWords,
    ReviewConfig,
    TimeRange,
    Turn,
)
from agent.texts import Language, say

T = TypeVar("T")
NODE = "review_plan"
_RADIUS_M = 2000
"""What the map searches around a place where nothing else is said."""
_GAP = re.compile(r"(?<! ) ++([:：])")
_PAUSE = ("paused_at", "paused_by")
_DECISIONS: list[Literal["approve", "edit", "reject"]] = ["approve", "edit", "reject"]
_SAME_DECISION = {"accept": "approve", "ignore": "reject", "cancel": "reject"}
"""Words of Agent Inbox, and of a person in Studio, for the same."""


@dataclass(frozen=True)
class Size:
    """Hold tokens in and out of one call; `searches` are executed by Google for it."""

    input: int
    output: int
    searches: int = 0

    def with_input(self, tokens: int) -> "Size":
        """Return the size of the same call with so many tokens more to read."""
        return replace(self, input=self.input + tokens)


@dataclass(frozen=True)
class Calls:
    """Hold calls of one kind: of which model, how large and how many at both ends of the range."""

    model: str
    sizes: tuple[Size, Size]
    counts: tuple[int, int]


def between(low: Sequence[Calls], high: Sequence[Calls]) -> list[Calls]:
    """Return the calls from the lower end of a small plan to the upper end of a large one."""
    return [
        Calls(first.model, (first.sizes[0], last.sizes[1]), (first.counts[0], last.counts[1]))
        for first, last in zip(low, high, strict=True)
    ]


_SIDE_BY_SIDE = 3
"""Calls of a plan that are under way at once, on the whole."""
WEB_CALL = (Size(300, 600, 1), Size(2500, 1500, 3))
"""A search with Google's grounding."""


def estimate(
    calls: Sequence[Calls],
    turn: Turn,
    configuration: Configuration,
    services: Services,
    spent: Usage | None,
    *,
    searches: int,
    map_calls: int = 0,
) -> Estimate:
    """Return what a plan takes within the limits: its own counts, and the range of its cost."""
    used, inside = spent or no_usage(), turn.get("own_only", False)
    if inside:
        searches = map_calls = 0
    model_calls = sum(each.counts[0] for each in calls)
    priced = not searches or searched_by_google(configuration)
    counted = Estimate(
        searches=min(searches, configuration.max_searches - used["searches"]),
        map_calls=min(map_calls, configuration.max_map_calls - used["map_calls"]),
        model_calls=min(model_calls, configuration.max_model_calls - used["model_calls"]),
        cost_usd=_cost_range(calls, turn, services) if priced else None,
        seconds=_time_range(calls, configuration, services),
    )
    return Estimate(**{**counted, "own_only": True}) if inside else counted


def _time_range(
    calls: Sequence[Calls], configuration: Configuration, services: Services
) -> TimeRange:
    """Return how long the models write, by the speed that they were seen to have."""

    def written(end: int) -> float:
        seconds = sum(
            each.counts[end] * each.sizes[end].output / services.models.speed(each.model)
            for each in calls
        )
        return min(round(seconds, 1), configuration.max_run_seconds)

    return TimeRange(low=round(written(0) / _SIDE_BY_SIDE, 1), high=written(1))


def plan_shares(
    lines: Sequence[T], own: T, estimate_of: Callable[[Sequence[T]], Estimate]
) -> PlanShares:
    """Return what each line adds to a plan's estimate, and what `own`, another one, would add."""
    whole = estimate_of(lines)
    without = [estimate_of([*lines[:at], *lines[at + 1 :]]) for at in range(len(lines))]
    return PlanShares(
        lines=[sum_of(whole, rest, -1) for rest in without],
        own=sum_of(estimate_of([*lines, own]), whole, -1),
    )


def sum_of(one: Estimate, other: Estimate, times: int = 1) -> Estimate:
    """Return one estimate with another added to it, or (`times` is -1) taken from it."""
    costs, cost = (one["cost_usd"], other["cost_usd"]), None
    if costs[0] is not None and costs[1] is not None:
        cost = CostRange(
            low=round(costs[0]["low"] + times * costs[1]["low"], 4),
            high=round(costs[0]["high"] + times * costs[1]["high"], 4),
        )
    whole = Estimate(
        searches=one["searches"] + times * other["searches"],
        map_calls=one["map_calls"] + times * other["map_calls"],
        model_calls=one["model_calls"] + times * other["model_calls"],
        cost_usd=cost,
    )
    if "seconds" in one and "seconds" in other:
        whole["seconds"] = TimeRange(
            low=round(one["seconds"]["low"] + times * other["seconds"]["low"], 1),
            high=round(one["seconds"]["high"] + times * other["seconds"]["high"], 1),
        )
    if one.get("own_only"):
        whole["own_only"] = True
    return whole


def searched_by_google(configuration: Configuration) -> bool:
    """Return whether the web is searched by Google's grounding, whose price is known."""
    choice, model = configuration.web_search, configuration.research_model
    return choice in ("auto", "google") and parse(model).provider == "google"


def _cost_range(calls: Sequence[Calls], turn: Turn, services: Services) -> CostRange | None:
    """Return the range in USD, or None where a model or service has no known price."""
    low, high = (_cost(calls, end, turn, services) for end in (0, 1))
    return None if low is None or high is None else CostRange(low=low, high=high)


def _cost(calls: Sequence[Calls], end: int, turn: Turn, services: Services) -> float | None:
    """Return USD of one end of the range; sample services cost nothing."""
    day = date.fromisoformat(turn["today"])
    cost = list_price(calls, end, day)
    return services.billed(Usage(**{**no_usage(), "cost_usd": cost})).get("cost_usd")


def list_price(calls: Sequence[Calls], end: int, day: date) -> float | None:
    """Return USD of one end of the range; None where a model has no known price."""
    parts = [_price(each.model, each.sizes[end], each.counts[end], day) for each in calls]
    known = [part for part in parts if part is not None]
    return round(sum(known), 3) if len(known) == len(parts) else None


def _price(model: str, size: Size, calls: int, day: date) -> float | None:
    """Return USD for `calls` calls of this size; 0 for none, whatever the model."""
    if not calls:
        return 0.0
    return price(model, calls * size.input, calls * size.output, calls * size.searches, on=day)


def await_answer(
    review: PlanReview,
    part: PlanPart,
    read: Callable[[Any], list[T]],
    schema: Mapping[str, Any],
    language: Language,
) -> list[T]:
    """Pause until the plan is answered, again where the answer is invalid; return its lines.

    They are empty where the person cancelled. A node is executed again from its beginning at
    every answer, so nothing before this may cost anything.
    """
    review = PlanReview(**{**review, "words": plan_words(review, language)})
    while True:
        answer = interrupt(_with_form(review, part, language), response_schema=dict(schema))
        try:
            return read(_from_form(answer, review, part))
        except InputError as error:
            review = PlanReview(**{**review, "problem": error.message})


def plan_words(review: PlanReview, language: Language) -> PlanWords:
    """Return what a plan's map tasks are and what it takes, in words."""
    tasks = [query.get("map") for query in review.get("queries", [])]
    maps = [map_task_words(task, language) if task else "" for task in tasks]
    return PlanWords(maps=maps, estimate=estimate_words(review["estimate"], language))


def estimate_words(counts: Estimate, language: Language) -> str:
    """Return what a plan takes, in words."""
    cost = say("review.unknown", language)
    if range_ := counts["cost_usd"]:
        ends = {end: f"{max(0.0, range_[end]):.2f}" for end in ("low", "high")}
        cost = (
            say("review.cost", language, **ends) if range_["high"] else say("review.free", language)
        )
    parts = [cost, *([_minutes(counts["seconds"], language)] if "seconds" in counts else [])]
    cost = say("punctuation.semicolon", language).join(parts)
    takes = say("review.estimate", language, **{**counts, "cost": cost})
    if not counts.get("own_only"):
        return takes
    return say("punctuation.semicolon", language).join([say("review.own_only", language), takes])


def _minutes(seconds: TimeRange, language: Language) -> str:
    low, high = (max(1, math.ceil(seconds[end] / 60)) for end in ("low", "high"))
    key = "minute" if high == 1 else "minutes_about" if low == high else "minutes"
    return say(f"review.{key}", language, low=low, high=high)


def map_task_words(task: MapTask, language: Language) -> str:
    """Return a map task as a person would say it."""

    def named(key: str, **values: Any) -> str:
        return say(f"review.map_task.{key}", language, **values)

    here, city, mode = named("here"), task.get("city"), task.get("mode")
    place = task.get("place") or city or here
    if city and city not in place:
        place = f"{place} ({city})"
    metres = task.get("radius_m", _RADIUS_M)
    kilometres = f"{metres / 1000:.1f}".removesuffix(".0")
    far = named("metres", n=metres) if metres < 1000 else named("kilometres", n=kilometres)
    keywords = named("between").join(task.get("keywords") or []) or named("anything")
    words = named(
        task["intent"], place=place, radius=far, keywords=keywords,
        mode=named(mode) if mode else "",
        origin=task.get("origin") or here, destination=task.get("destination") or here,
    )  # fmt: skip
    return _GAP.sub(r"\1", words)


def answer_schema(answer: Any) -> dict[str, Any]:
    """Return the schema for clients that render a form; what comes back is checked by us."""
    return TypeAdapter(answer).json_schema()


def answer_lines(answer: Any, part: PlanPart, most: int) -> list[Any]:
    """Return the lines of an answer as they came, none if cancelled.

    Raises InputError naming a field.
    """
    fields = checked_object(answer, "the answer", {part, "cancel"})
    cancel = fields.get("cancel", False)
    if not isinstance(cancel, bool):
        raise InputError("cancel", "must be true or false")
    if cancel:
        return []
    lines = fields.get(part)
    if not isinstance(lines, list):
        raise InputError(part, "must be a list as it was shown, or answer {cancel: true}")
    if not lines:
        raise InputError(part, "is empty; to stop, answer {cancel: true}")
    if len(lines) > most:
        raise InputError(part, f"has {len(lines)} entries; at most {most} are allowed")
    return lines


def checked_object(value: Any, where: str, names: Collection[str]) -> Mapping[str, Any]:
    """Return a JSON object with no other fields; a misspelt one would be lost silently."""
    if not isinstance(value, Mapping):
        raise InputError(where, f"must be an object with {', '.join(sorted(names))}")
    for name in value:
        if name not in names:
            place = "" if where == "the answer" else where
            full = clean_text(f"{place}.{name}".lstrip("."), 100)
            raise InputError(full, f"is not known here; known: {', '.join(sorted(names))}")
    return value


def checked_text(value: Any, where: str, longest: int) -> str:
    """Return a text as one clean line; raise InputError where it is empty or too long."""
    if not isinstance(value, str):
        raise InputError(where, "must be a text")
    # More is read than may stay, so that what is cleaned away is not counted.
    cleaned = clean_text(value[: 4 * longest], longest + 1)
    if not cleaned:
        raise InputError(where, "is empty")
    if len(cleaned) > longest:
        raise InputError(where, f"is longer than {longest} characters")
    return cleaned


def line_text(line: Any, part: PlanPart) -> str:
    """Return the words of a plan's line."""
    key = PLAN_TEXTS[part]
    return str(line[key] if key and isinstance(line, Mapping) else line)


def _with_form(review: PlanReview, part: PlanPart, language: Language) -> PlanReview:
    """Return the review with the same in LangChain's form: one argument, a line of it a line."""
    lines = "\n".join(_form_line(line, part) for line in cast(Mapping[str, Any], review)[part])
    about = [say(f"review.heading_{part}", language), review["words"]["estimate"]]
    if problem := review.get("problem"):
        about.insert(0, say("review.problem", language, problem=problem))
    request = ActionRequest(name=NODE, args={part: lines}, description="\n".join(about))
    config = ReviewConfig(action_name=NODE, allowed_decisions=_DECISIONS)
    return PlanReview(**{**review, "action_requests": [request], "review_configs": [config]})


def _form_line(line: Any, part: PlanPart) -> str:
    name = line.get("id", "") if isinstance(line, Mapping) else ""
    return f"{name} {line_text(line, part)}".strip()


def _from_form(answer: Any, review: PlanReview, part: PlanPart) -> Any:
    """Return an answer in LangChain's form as one of ours; any other as it is.

    Raises InputError naming a field.
    """
    decision = _decision(answer)
    if decision is None:
        return answer
    lines = cast(Mapping[str, Any], review)[part]
    kind = str(decision.get("type"))
    match _SAME_DECISION.get(kind, kind):
        case "approve":
            return {part: lines}
        case "reject":
            return {"cancel": True}
        case "edit":
            return {part: _edited_lines(decision, lines, part)}
    raise InputError("decisions[0].type", f"must be one of {', '.join(_DECISIONS)}")


def _decision(answer: Any) -> Mapping[str, Any] | None:
    """Return the decision that an answer is in any of the forms clients send; None for ours.

    Agent Inbox sends a list of one, or one alone; in Studio a person types a word, or true.
    """
    if isinstance(answer, bool):
        return {"type": "approve" if answer else "reject"}
    if isinstance(answer, str):
        return {"type": answer.strip().casefold()}
    if isinstance(answer, Mapping) and "decisions" in answer:
        decisions = answer["decisions"]
    else:
        decisions = answer if isinstance(answer, list) else [answer]
        if not any(isinstance(each, Mapping) and "type" in each for each in decisions):
            return None
    if not (isinstance(decisions, list) and len(decisions) == 1):
        raise InputError("decisions", "must be a list of one decision")
    return decisions[0] if isinstance(decisions[0], Mapping) else {}


def _edited_lines(decision: Mapping[str, Any], lines: Sequence[Any], part: PlanPart) -> Any:
    """Return the lines of an edit; one that stayed keeps what belongs to it, as its map task."""
    action = decision.get("edited_action", decision.get("args"))
    args = action.get("args") if isinstance(action, Mapping) else None
    edited = args.get(part) if isinstance(args, Mapping) else None
    if isinstance(edited, list):
        return edited
    if not isinstance(edited, str):
        where = f"decisions[0].edited_action.args.{part}"
        raise InputError(where, "must be a text with a line for each")
    known = {_form_line(line, part): line for line in lines}
    written = (line.strip() for line in edited.splitlines())
    return [known.get(line) or _reworded(line, lines, part) for line in written if line]


def _reworded(text: str, lines: Sequence[Any], part: PlanPart) -> Any:
    """Return a line with the new words behind its id; words alone are a line of their own."""
    name, _, words = text.partition(" ")
    for line in lines:
        if isinstance(line, Mapping) and line.get("id") == name and words.strip():
            return {**line, PLAN_TEXTS[part]: words.strip()}
    return text


def waiting(turn: Turn, configuration: Configuration, services: Services, assistant: str) -> Turn:
    """Return the turn as it pauses for its review; as it is where none is wanted."""
    if not configuration.review_plan:
        return turn
    return Turn(**{**turn, "paused_at": services.now().timestamp(), "paused_by": assistant})


def check_waiting(turn: Mapping[str, Any], assistant: str) -> None:
    """Raise InputError where the plan that waits on this thread is another assistant's.

    All four have a node of this name, so that the thread lets each of them go on.
    """
    owner = turn.get("paused_by", assistant)
    if owner != assistant:
        problem = f"the plan that waits on this thread is one of {owner}; answer it there"
        raise InputError("command.resume", problem, fault="other_assistant", assistant=owner)


def continued(turn: Turn, services: Services) -> Turn:
    """Return the turn as if it had begun later, without the time a person took."""
    services.budgets.close(turn["id"])
    now = services.now().timestamp()
    waiting_since = turn.get("paused_at", now)
    options = {name: value for name, value in turn.items() if name not in _PAUSE}
    return cast(Turn, {**options, "started_at": turn["started_at"] + max(0.0, now - waiting_since)})


async def write_stop(
    state: Gathered,
    configuration: Configuration,
    services: Services,
    emit: Emit,
    *,
    assistant: str,
    metadata: Mapping[str, Any] | None = None,
) -> Closing:
    """Write the message of a run whose plan was not wanted, and close its turn."""
    draft = Draft(state, configuration, services, emit, node=NODE, assistant=assistant)

    async def body() -> AsyncIterator[str]:
        yield draft.by_code(say("answer.cancelled", draft.language))

    parts = MessageParts(body=body, sections=list, metadata=metadata or {})
    return await write_message(draft, parts)
