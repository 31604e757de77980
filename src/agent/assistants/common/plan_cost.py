"""Estimate what a plan takes before it is carried out: calls, searches, USD and time, in words.

An assistant says which calls its plan makes and how large they are; the rest is counted here.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import TypeVar

from agent.assistants.common.services import Services
from agent.configuration import Configuration
from agent.core.budget import Usage, no_usage
from agent.models.catalogue import parse, price
from agent.state import CostRange, Estimate, PlanShares, TimeRange, Turn
from agent.texts import Language, say

T = TypeVar("T")


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
class CallSizes:
    """Hold calls of one kind: of which model, how large and how many at both ends of the range."""

    model: str
    sizes: tuple[Size, Size]
    counts: tuple[int, int]
    at_once: int = 1
    """How many of them are under way side by side."""

    def seconds(self, end: int, speed: float) -> float:
        """Return how long they take at one end, by the tokens a second that the model writes."""
        side_by_side = max(1, min(self.at_once, self.counts[end]))
        return self.counts[end] * (self.sizes[end].output / speed + _WAITED) / side_by_side


@dataclass(frozen=True)
class PlanCost:
    """Hold what a plan takes: the calls of models, and how often web and map are asked."""

    calls: Sequence[CallSizes]
    searches: int
    map_calls: int = 0


def from_low_to_high(low: Sequence[CallSizes], high: Sequence[CallSizes]) -> list[CallSizes]:
    """Return the calls from the lower end of a small plan to the upper end of a large one."""
    return [
        replace(
            first,
            sizes=(first.sizes[0], last.sizes[1]),
            counts=(first.counts[0], last.counts[1]),
        )
        for first, last in zip(low, high, strict=True)
    ]


_WAITED = 2.0
"""Seconds until a call writes, and for what it looks up or opens."""
WEB_CALL = (Size(300, 300, 1), Size(2500, 1500, 3))
"""A search with Google's grounding."""
AT_ONCE = 3
"""Searches, or branches, that are under way side by side."""
_CHECKED, _CHECKS, _CHECKED_AT_ONCE = (Size(1200, 80), Size(3000, 400)), (3, 14), 6
"""A dozen statements of a report or a dossier, with their passages."""
_MENDED, _MENDINGS = (Size(3500, 250), Size(18_000, 900)), (1, 4)
"""The review of a draft, its revision where that finds anything, and what is asked once more."""


def written_in_rounds(
    drafts: tuple[Size, Size], configuration: Configuration, model: str
) -> list[CallSizes]:
    """Return the calls of a long text: its draft, then what checks, reviews and revises it."""
    judge = configuration.judge_model or model
    return [
        CallSizes(model, drafts, (1, 1)),
        CallSizes(model, _MENDED, _MENDINGS),
        CallSizes(judge, _CHECKED, _CHECKS, _CHECKED_AT_ONCE),
    ]


def estimate(
    cost: PlanCost,
    turn: Turn,
    configuration: Configuration,
    services: Services,
    spent: Usage | None,
) -> Estimate:
    """Return what a plan takes within the limits: its own counts, and the range of its cost."""
    used, inside, calls = spent or no_usage(), turn.get("own_only", False), cost.calls
    searches, map_calls = (0, 0) if inside else (cost.searches, cost.map_calls)
    model_calls = sum(each.counts[0] for each in calls)
    priced = not searches or searched_by_google(configuration)
    models = _cost_range(calls, turn, services)
    counted = Estimate(
        searches=min(searches, configuration.max_searches - used["searches"]),
        map_calls=min(map_calls, configuration.max_map_calls - used["map_calls"]),
        model_calls=min(model_calls, configuration.max_model_calls - used["model_calls"]),
        cost_usd=models if priced else None,
        seconds=_time_range(calls, configuration, services),
    )
    if models and models["high"] and not priced:
        counted["models_usd"] = models
    if configuration.max_run_dollars:
        counted["limit_usd"] = configuration.max_run_dollars
    return Estimate(**{**counted, "own_only": True}) if inside else counted


def _time_range(
    calls: Sequence[CallSizes], configuration: Configuration, services: Services
) -> TimeRange:
    """Return how long the models write, by the speed that they were seen to have."""

    def written(end: int) -> float:
        seconds = sum(each.seconds(end, services.models.speed(each.model)) for each in calls)
        return min(round(seconds, 1), configuration.max_run_seconds)

    return TimeRange(low=written(0), high=written(1))


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
    whole = Estimate(
        searches=one["searches"] + times * other["searches"],
        map_calls=one["map_calls"] + times * other["map_calls"],
        model_calls=one["model_calls"] + times * other["model_calls"],
        cost_usd=_summed(one["cost_usd"], other["cost_usd"], times),
    )
    if models := _summed(one.get("models_usd"), other.get("models_usd"), times):
        whole["models_usd"] = models
    if "limit_usd" in one:
        whole["limit_usd"] = one["limit_usd"]
    if "seconds" in one and "seconds" in other:
        whole["seconds"] = TimeRange(
            low=round(one["seconds"]["low"] + times * other["seconds"]["low"], 1),
            high=round(one["seconds"]["high"] + times * other["seconds"]["high"], 1),
        )
    if one.get("own_only"):
        whole["own_only"] = True
    return whole


def _summed(one: CostRange | None, other: CostRange | None, times: int) -> CostRange | None:
    if one is None or other is None:
        return None
    return CostRange(
        low=round(one["low"] + times * other["low"], 4),
        high=round(one["high"] + times * other["high"], 4),
    )


def searched_by_google(configuration: Configuration) -> bool:
    """Return whether the web is searched by Google's grounding, whose price is known."""
    choice, model = configuration.web_search, configuration.research_model
    return choice in ("auto", "google") and parse(model).provider == "google"


def _cost_range(calls: Sequence[CallSizes], turn: Turn, services: Services) -> CostRange | None:
    """Return the range in USD, or None where a model or service has no known price."""
    low, high = (_cost(calls, end, turn, services) for end in (0, 1))
    return None if low is None or high is None else CostRange(low=low, high=high)


def _cost(calls: Sequence[CallSizes], end: int, turn: Turn, services: Services) -> float | None:
    """Return USD of one end of the range; sample services cost nothing."""
    day = date.fromisoformat(turn["today"])
    cost = list_price(calls, end, day)
    return services.billed(Usage(**{**no_usage(), "cost_usd": cost})).get("cost_usd")


def list_price(calls: Sequence[CallSizes], end: int, day: date) -> float | None:
    """Return USD of one end of the range; None where a model has no known price."""
    parts = [_price(each.model, each.sizes[end], each.counts[end], day) for each in calls]
    known = [part for part in parts if part is not None]
    return round(sum(known), 3) if len(known) == len(parts) else None


def _price(model: str, size: Size, calls: int, day: date) -> float | None:
    """Return USD for `calls` calls of this size; 0 for none, whatever the model."""
    if not calls:
        return 0.0
    return price(model, calls * size.input, calls * size.output, calls * size.searches, on=day)


def estimate_words(counts: Estimate, language: Language) -> str:
    """Return what a plan takes, in words."""
    cost, models = say("review.unknown", language), counts.get("models_usd")
    if range_ := counts["cost_usd"] or models:
        ends = {end: f"{max(0.0, range_[end]):.2f}" for end in ("low", "high")}
        key = "models" if range_ is models else "cost" if range_["high"] else "free"
        cost = say(f"review.{key}", language, **ends)
    limit = counts.get("limit_usd")
    most = [say("review.ceiling", language, limit=f"{limit:.2f}")] if limit else []
    parts = [cost, *most, *([_minutes(counts["seconds"], language)] if "seconds" in counts else [])]
    cost = say("punctuation.semicolon", language).join(parts)
    takes = say("review.estimate", language, **{**counts, "cost": cost})
    if not counts.get("own_only"):
        return takes
    return say("punctuation.semicolon", language).join([say("review.own_only", language), takes])


def _minutes(seconds: TimeRange, language: Language) -> str:
    low, high = (max(1, math.ceil(seconds[end] / 60)) for end in ("low", "high"))
    key = "minutes_about" if low == high else "minutes"
    return say(f"review.{key}", language, low=low, high=high)
