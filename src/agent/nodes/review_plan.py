"""Show the plan to a person before anything is searched, and continue with the answer.

The sizes are those of the prompts and of typical replies, output with its thinking; prices are the
catalogue's. Google's free quota is not subtracted.
"""

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, cast, get_args, get_type_hints

from langgraph.runtime import Runtime
from langgraph.types import interrupt
from pydantic import TypeAdapter

from agent.assistants.common.services import GetServices, Services
from agent.configuration import Configuration
from agent.core.budget import Usage, no_usage
from agent.core.errors import InputError
from agent.core.progress import event
from agent.evidence.intent import valid_map_task
from agent.evidence.queries import clean_text
from agent.evidence.types import MapIntent, MapTask, Point, Query
from agent.models.catalogue import parse, price
from agent.nodes.routing import goes_to_web, has_place
from agent.state import (
    CostRange,
    Estimate,
    OverallState,
    PlannedQuery,
    PlanReview,
    ReviewedPlan,
    Turn,
    Update,
    replaced,
)


@dataclass(frozen=True)
class _Size:
    """Hold tokens in and out of one call; `searches` are executed by Google for it."""

    input: int
    output: int
    searches: int = 0


_WEB = (_Size(300, 600, 1), _Size(2500, 1500, 3))
_MAP = (_Size(2500, 400), _Size(20_000, 1500))
"""A whole branch: one call over the places found, or several rounds of tools."""
_REFLECTION = (_Size(800, 200), _Size(1200, 1500))
_ANSWER = (_Size(800, 800), _Size(1500, 4000))
_FINDING = (300, 1200)
"""Tokens that one branch's result adds to the prompts of reflection and answer."""


def estimate_of(
    queries: Sequence[Query],
    turn: Turn,
    configuration: Configuration,
    services: Services,
    spent: Usage | None,
) -> Estimate:
    """Count the calls of a plan without follow-ups, within the limits, and estimate their cost."""
    used = spent or no_usage()
    asked_of_web = sum(goes_to_web(query) for query in queries)
    web = asked_of_web if configuration.web_search != "off" else 0
    tasks = [query["map"] for query in queries if query["map"]]
    judged = turn["loops"] > 1 and configuration.max_follow_up_queries > 0
    return Estimate(
        searches=min(web, configuration.max_searches - used["searches"]),
        map_calls=min(
            sum(_map_calls(task, turn, configuration) for task in tasks),
            configuration.max_map_calls - used["map_calls"],
        ),
        model_calls=min(
            web + len(tasks) + judged + 1, configuration.max_model_calls - used["model_calls"]
        ),
        cost_usd=_Costs(web, len(tasks), turn, configuration, services).range(),
    )


def _map_calls(task: MapTask, turn: Turn, configuration: Configuration) -> int:
    """Return the calls of the prefetch of one task, without those a model may add."""
    looked_up = configuration.map_details + configuration.map_more_details
    words = min(len(task.get("keywords") or []), configuration.map_keywords) or 1
    lookups = 0 if turn["near"] and not task.get("place") else 1
    match task["intent"]:
        case "nearby":
            return lookups + words + looked_up
        case "area":
            return words + looked_up
        case "poi":
            return 2
        case "route" | "distance":
            return 3 - (task.get("origin") is None)
        case "regeo":
            return lookups + 1
    return 1


@dataclass(frozen=True)
class _Costs:
    """Estimate the cost of a plan's branches; follow-ups are taken to be like them."""

    web: int
    maps: int
    turn: Turn
    configuration: Configuration
    services: Services

    def range(self) -> CostRange | None:
        """Return the range in USD, or None where a model or service has no known price."""
        if self.web and not self._searched_by_google():
            return None
        most = self.configuration.max_follow_up_queries * (self.turn["loops"] - 1)
        low = self._cost(0, self.web, self.maps)
        high = self._cost(
            1, self.web + (most if self.web else 0), self.maps + (most if self.maps else 0)
        )
        return None if low is None or high is None else CostRange(low=low, high=high)

    def _searched_by_google(self) -> bool:
        choice, model = self.configuration.web_search, self.configuration.research_model
        return choice in ("auto", "google") and parse(model).provider == "google"

    def _cost(self, end: int, web: int, maps: int) -> float | None:
        """Return USD with the sizes of one end of the range; sample services cost nothing."""
        chosen, configuration = self.turn["reasoning_model"], self.configuration
        rounds = self.turn["loops"] - 1 if configuration.max_follow_up_queries else 0
        judged = rounds if end else min(rounds, 1)
        research = configuration.research_model
        findings = _FINDING[end] * (web + maps)
        day = date.fromisoformat(self.turn["today"])
        parts = [
            _price(research, _WEB[end], web, day),
            _price(research, _MAP[end], maps, day),
            _price(chosen or configuration.reflection_model, _REFLECTION[end], judged, day,
                   more=findings),
            _price(chosen or configuration.answer_model, _ANSWER[end], 1, day, more=findings),
        ]  # fmt: skip
        names = [part for part in parts if part is not None]
        cost = round(sum(names), 3) if len(names) == len(parts) else None
        return self.services.billed(Usage(**{**no_usage(), "cost_usd": cost})).get("cost_usd")


def _price(model: str, size: _Size, calls: int, day: date, *, more: int = 0) -> float | None:
    """Return USD for `calls` calls of this size; 0 for none, whatever the model."""
    if not calls:
        return 0.0
    return price(
        model,
        calls * (size.input + more),
        calls * size.output,
        calls * size.searches,
        on=day,
    )


MAX_QUERIES = 10
MAX_QUERY = 400
"""Characters."""
_QUERY_FIELDS = frozenset(("query", "map", "web"))
_TASK_FIELDS = frozenset(get_type_hints(MapTask))


def read_review(answer: Any, configuration: Configuration, near: Point | None) -> list[Query]:
    """Return the queries of an answer, none if cancelled; raise InputError naming a field."""
    fields = _object(answer, "the answer", {"queries", "cancel"})
    cancel = fields.get("cancel", False)
    if not isinstance(cancel, bool):
        raise InputError("cancel", "must be true or false")
    if cancel:
        return []
    value = fields.get("queries")
    if not isinstance(value, list):
        raise InputError("queries", "must be a list of {query, map}, or answer {cancel: true}")
    if not value:
        raise InputError("queries", "is empty; to stop, answer {cancel: true}")
    if len(value) > MAX_QUERIES:
        raise InputError("queries", f"has {len(value)} entries; at most {MAX_QUERIES} are allowed")
    return [
        _query(one, f"queries[{place}]", configuration, near) for place, one in enumerate(value)
    ]


def _query(value: Any, where: str, configuration: Configuration, near: Point | None) -> Query:
    fields = _object({"query": value} if isinstance(value, str) else value, where, _QUERY_FIELDS)
    text = fields.get("query")
    if not isinstance(text, str):
        raise InputError(f"{where}.query", "must be a text")
    # More is read than may stay, so that what is cleaned away is not counted.
    cleaned = clean_text(text[: 4 * MAX_QUERY], MAX_QUERY + 1)
    if not cleaned:
        raise InputError(f"{where}.query", "is empty")
    if len(cleaned) > MAX_QUERY:
        raise InputError(f"{where}.query", f"is longer than {MAX_QUERY} characters")
    task_value = fields.get("map")
    task = None if task_value is None else _task(task_value, f"{where}.map", configuration, near)
    web = fields.get("web", True)
    if not isinstance(web, bool):
        raise InputError(f"{where}.web", "must be true or false")
    return Query(query=cleaned, map=task) if web else Query(query=cleaned, map=task, web=False)


def _task(value: Any, where: str, configuration: Configuration, near: Point | None) -> MapTask:
    fields = _object(value, where, _TASK_FIELDS)
    if configuration.geo_routing == "never":
        raise InputError(where, "the map is off (geo_routing=never); leave it out")
    intents = get_args(MapIntent)
    if fields.get("intent") not in intents:
        raise InputError(f"{where}.intent", f"must be one of {', '.join(intents)}")
    task = valid_map_task(fields)
    if task is None:
        raise InputError(where, f"lacks what {fields['intent']} needs ({_needs(fields)})")
    if not has_place(task, near):
        raise InputError(where, f"says not where ({_needs(fields)})")
    return task


def _needs(fields: Mapping[str, Any]) -> str:
    match fields["intent"]:
        case "route" | "distance":
            return "origin and destination"
        case "area":
            return "place or city, and keywords"
        case "nearby":
            return "place, and keywords"
    return "place or city"


def _object(value: Any, where: str, names: Collection[str]) -> Mapping[str, Any]:
    """Return a JSON object with no other fields; a misspelt one would be lost silently."""
    if not isinstance(value, Mapping):
        raise InputError(where, f"must be an object with {', '.join(sorted(names))}")
    for name in value:
        if name not in names:
            place = where if where.startswith("queries") else ""
            full = clean_text(f"{place}.{name}".lstrip("."), 100)
            raise InputError(full, f"is not known here; known: {', '.join(sorted(names))}")
    return value


log = logging.getLogger(__name__)
NODE = "review_plan"
ANSWER_SCHEMA: dict[str, Any] = TypeAdapter(ReviewedPlan).json_schema()
"""For clients that render a form; what comes back is checked by us, not by it."""


async def review_plan(
    state: OverallState, runtime: Runtime[Configuration], *, get_services: GetServices
) -> Update:
    """Pause the run until the plan is answered; pause again where the answer is invalid.

    Executed again from its beginning at every answer, so nothing here may cost anything.
    """
    services = get_services()
    configuration = runtime.context or Configuration()
    turn, written = state["turn"], state["query_list"]
    review = PlanReview(
        queries=[_reviewable(query) for query in written],
        estimate=estimate_of(written, turn, configuration, services, state.get("usage")),
    )
    queries = _await_answer(review, turn, configuration)
    services.budgets.close(turn["id"])
    log.info("turn=%s %s: %d queries", turn["id"], NODE, len(queries))
    update = Update(
        turn=_without_the_wait(turn, services.now().timestamp()),
        cancelled=not queries,
        query_list=queries,
        queries=replaced([PlannedQuery(**q, round=1) for q in queries]),
    )
    if queries:
        text = "\n".join(query["query"] for query in queries)
        runtime.stream_writer(event("queries", NODE, text=text, count=len(queries)))
    return update


def _await_answer(review: PlanReview, turn: Turn, configuration: Configuration) -> list[Query]:
    """Return the queries of the first valid answer; none where the person cancelled."""
    while True:
        answer = interrupt(review, response_schema=ANSWER_SCHEMA)
        try:
            return read_review(answer, configuration, turn["near"])
        except InputError as error:
            review = PlanReview(**{**review, "problem": error.message})


def _reviewable(query: Query) -> Query:
    """Return the query as it may come back, its map task without empty fields."""
    text, task = clean_text(query["query"], MAX_QUERY), query["map"]
    if task is None:
        return Query(query=text, map=None)
    stated = cast(MapTask, {name: value for name, value in task.items() if value not in (None, [])})
    if goes_to_web(query):
        return Query(query=text, map=stated)
    return Query(query=text, map=stated, web=False)


def _without_the_wait(turn: Turn, now: float) -> Turn:
    """Return the turn as if it had begun later, without the time a person took."""
    waiting_since = turn.get("paused_at", now)
    options = {name: value for name, value in turn.items() if name != "paused_at"}
    return cast(Turn, {**options, "started_at": turn["started_at"] + max(0.0, now - waiting_since)})
