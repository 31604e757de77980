"""Days over invented places, planned by the node and changed as a model reads the words."""

import asyncio
from collections.abc import Sequence
from datetime import datetime
from types import SimpleNamespace
from typing import Any

from agent.assistants.common.forms import SearchQueryList
from agent.assistants.common.previous import NO_PREVIOUS
from agent.assistants.common.question import asked, turn_of
from agent.configuration import Configuration
from agent.core.budget import Budgets
from agent.evidence.outing.text import outing_section
from agent.evidence.types import Outing, Place, Point
from agent.evidence.zones import CHINA
from agent.mcp.records import MapResult
from agent.nodes.plan_outing import plan_outing
from agent.state import Previous, Turn
from tests.unit.export_samples import place as sample_place

NOW = datetime(2026, 11, 23, 8, 0, tzinfo=CHINA)
"""A Monday."""


def spot(number: int, name: str, kind: str = "博物馆", **more: Any) -> Place:
    """A place; each number lies a hundred metres further along one street."""
    changed: dict[str, Any] = {
        "id": f"amap:{number}", "source": f"a0-{number}", "category": kind, "cost": None,
        "open_time": "09:00-21:00", "wgs84": Point(lng=116.40 + number / 900, lat=39.91),
        "keywords": [], "distance_m": number * 100,
    }  # fmt: skip
    return sample_place(number, name, **{**changed, **more})


class _NoWays:
    """A map that measures nothing, so that all ways are estimates, and knows a few by name."""

    def __init__(self, known: Sequence[Place]) -> None:
        self._known, self.measured = known, dict[tuple[int, int], Any]()
        self.forecasts: list[str] = []
        """The cities whose forecast was asked for."""

    def of(self, _: str) -> "_NoWays":
        return self

    async def map_result(self, task: Any, *_: Any, **__: Any) -> MapResult:
        if task["intent"] == "weather":
            self.forecasts.append(task["city"])
        name = task.get("place")
        return MapResult(places=[p for p in self._known if name and name in p["name"]])

    async def walks(self, *_: Any, **__: Any) -> dict[tuple[int, int], Any]:
        return self.measured

    async def ride(self, *_: Any, **__: Any) -> None:
        return None

    def stops_link(self, stops: Any) -> str:
        return " → ".join(name for name, _ in stops)


class Days:
    """One conversation about a day: the first words plan it, what follows changes it."""

    def __init__(self, language: Any = "zh") -> None:
        self.language, self.previous = language, NO_PREVIOUS
        self.gaps: list[Any] = []
        self.measured: dict[tuple[int, int], Any] = {}
        """The ways that the map measures, by the numbers of their ends; 0 is where a day begins."""
        self.on_map: list[Place] = []
        """Places that the map finds by their names."""

    def ask(self, words: str, found: list[Place], **reply: Any) -> Outing:
        """The day that comes of these words, as a model has read them (`reply`)."""
        outing = self.try_(words, found, **reply)
        assert outing, self.gaps
        return outing

    def try_(
        self,
        words: str,
        found: list[Place],
        *,
        near: Any = None,
        kinds: Any = (),
        chosen: Any = (),
        **reply: Any,
    ) -> Outing | None:
        """The same, or None; `kinds` are what was searched for near some place.

        The `chosen` are the names of those that reflection took.
        """
        queries = [{"query": place["name"]} for place in found[:1]]
        written = SearchQueryList.model_validate({"query": queries, "outing": {}, **reply})
        values: Any = {
            "id": words, "question": words, "near": near, "count": 3, "language": self.language,
            "started_at": NOW.timestamp(), "today": f"{NOW:%Y-%m-%d}",
        }  # fmt: skip
        read = asked(written, words, Turn(**values), self.previous, Configuration())
        task = {"intent": "nearby", "keywords": [*kinds]} if kinds else None
        turn = turn_of(Turn(**values), read, Configuration())
        state: Any = {
            "turn": turn, "places": found, "previous": self.previous,
            "query_list": [{**query, "map": task} for query in queries], "messages": [],
            "chosen_stops": [place["source"] for place in found if place["name"] in chosen],
        }  # fmt: skip
        self.maps = _NoWays(self.on_map)
        self.maps.measured = self.measured
        services: Any = SimpleNamespace(now=lambda: NOW, budgets=Budgets(), maps=self.maps)
        runtime: Any = SimpleNamespace(context=None, stream_writer=lambda _: None)
        update = asyncio.run(plan_outing(state, runtime, get_services=lambda: services))
        outing, self.gaps, self.told = update["outing"], update["gaps"], [*update["places"]]
        known = {place["id"]: place for place in [*found, *self.previous["places"]]}
        self.previous = Previous(sources=[], places=[*known.values()])
        if outing:
            self.previous["outing"] = outing
        return outing


def stops(outing: Outing) -> list[str]:
    """The names of the stops, in order."""
    return [stop["name"] for stop in outing["stops"]]


def told(outing: Outing, language: Any = "zh") -> str:
    """What stands below an answer: title, table, what was left out, and remarks."""
    return outing_section(outing, language)
