"""What the map alone was asked and cannot answer is asked of the web once, before any verdict."""

from typing import Any

import pytest

from agent.configuration import Configuration
from agent.evidence.types import Constraints
from agent.nodes.routing import left_by_map
from tests.support.rows import by_examples
from tests.unit.test_constraints import record

TASK = {"intent": "poi", "place": "书店", "keywords": []}
ASKED = {"query": "书店 周一", "map": TASK, "web": False, "round": 1}
ON_MONDAY = Constraints(open_on=[1])


def left(
    *hours: str | None, demands: Constraints = ON_MONDAY, queries: Any = (ASKED,), **fields: Any
) -> list[str]:
    places = [
        record(f"店{n}", id=f"amap:{n}", source=f"a0-{n}", open_time=open_time, **fields)
        for n, open_time in enumerate(hours)
    ]
    sources = [{"id": place["source"]} for place in places]
    turn = {"constraints": demands}
    state: Any = {"turn": turn, "queries": [*queries], "places": places,
                  "sources_gathered": sources}  # fmt: skip
    return [query["query"] for query in left_by_map(state, Configuration())]


@by_examples
def test_where_no_record_says_if_a_place_is_open_the_web_is_asked_once(
    hours: list[str | None], is_left: bool
) -> None:
    """The map knew the place and not its Mondays, and the answer was that nobody knows."""
    assert left(*hours) == ["书店 周一"] * is_left
    again = {"query": "书店 周一", "map": None, "round": 1}
    assert left(*hours, queries=(ASKED, again)) == []


def test_hours_that_nobody_asked_for_need_no_second_look() -> None:
    assert left(None, demands=Constraints()) == []
    assert left(None, demands=Constraints(max_cost=50), rating=4.5) == []


@pytest.mark.parametrize("demands", [Constraints(max_cost=50), Constraints(min_rating=4.5)])
def test_where_the_map_has_no_ratings_and_prices_the_web_is_asked_for_those(
    demands: Constraints,
) -> None:
    """OpenStreetMap knows none, Amap those of some."""
    assert left(None, None, demands=demands, rating=None, cost=None) == ["书店 周一"]
    assert left(None, demands=demands, rating=None, cost=30.0) == []
    assert left(None, demands=Constraints(suits=["children"]), rating=None, cost=None) == []
