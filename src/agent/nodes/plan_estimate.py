"""What a plan will take, before anything of it is paid for: an estimate, worked out in code.

The sizes are those of the prompts and of typical replies, output with its thinking; prices are the
catalogue's. Google's free quota is not subtracted.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from agent.budget import no_usage
from agent.configuration import Configuration
from agent.evidence.types import MapTask, Query, Usage
from agent.models.catalogue import parse, price
from agent.nodes.toolbox import Toolbox
from agent.state import CostRange, Estimate, Turn


@dataclass(frozen=True)
class _Size:
    """Tokens in and out of one call; `searches` are executed by Google for it."""

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
    given: Toolbox,
    spent: Usage | None,
) -> Estimate:
    """Counts of this plan without follow-ups, within the limits; and what it may cost."""
    used = spent or no_usage()
    web = len(queries) if configuration.web_search != "off" else 0
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
        cost_usd=_Costs(web, len(tasks), turn, configuration, given).range(),
    )


def _map_calls(task: MapTask, turn: Turn, configuration: Configuration) -> int:
    """Calls of the fixed plan of one task, without those a model may add."""
    looked_up = configuration.map_details + configuration.map_more_details
    words = min(len(task.get("keywords") or []), configuration.map_keywords) or 1
    found = 0 if turn["near"] and not task.get("place") else 1
    match task["intent"]:
        case "nearby":
            return found + words + looked_up
        case "area":
            return words + looked_up
        case "poi":
            return 2
        case "route" | "distance":
            return 3 - (task.get("origin") is None)
        case "regeo":
            return found + 1
    return 1


@dataclass(frozen=True)
class _Costs:
    """One plan's branches in the first round; follow-ups are taken to be like them."""

    web: int
    maps: int
    turn: Turn
    configuration: Configuration
    given: Toolbox

    def range(self) -> CostRange | None:
        """None where a model or a search service has no known price."""
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
        """USD with the sizes of one end of the range; what sample services do costs nothing."""
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
        known = [part for part in parts if part is not None]
        cost = round(sum(known), 3) if len(known) == len(parts) else None
        return self.given.billed(Usage(**{**no_usage(), "cost_usd": cost})).get("cost_usd")


def _price(model: str, size: _Size, calls: int, day: date, *, more: int = 0) -> float | None:
    """USD for `calls` calls of this size; nothing for none, whatever the model."""
    if not calls:
        return 0.0
    return price(
        model,
        calls * (size.input + more),
        calls * size.output,
        calls * size.searches,
        on=day,
    )
