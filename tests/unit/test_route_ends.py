"""From where to where: the two ends of a way, however the question says how one goes."""

from typing import Any

import pytest
from evals.ablate import rows

from agent.evidence.intent import map_task_by_rules, needs_origin
from agent.evidence.places import route_ends
from tests.support.rows import by_examples

WAYS = [row for row in rows("ways") if row["origin"]]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: str(way["query"]))
def test_both_ends_are_names_without_how_one_goes(way: dict[str, Any]) -> None:
    text, origin = way["query"], way["origin"]
    destination, mode = way["destination"], way["mode"]
    ends = route_ends(text)
    assert ends is not None
    assert (ends.origin, ends.destination) == (origin, destination)
    task = map_task_by_rules(text)
    assert task is not None
    assert task["intent"] in ("route", "distance")
    assert (task["origin"], task["destination"]) == (origin, destination)
    assert task["mode"] == mode


@by_examples
def test_a_question_without_two_ends_has_none(text: str) -> None:
    assert route_ends(text) is None


@pytest.mark.parametrize(
    "text", ["从零到一怎么学编程", "从2019年到2023年的销量", "from zero to hero", "从入门到精通"]
)
def test_what_only_sounds_like_a_way_is_no_question_for_the_map(text: str) -> None:
    assert map_task_by_rules(text) is None


@by_examples
def test_guidance_to_a_place_without_a_start_asks_where_from(text: str, lacking: bool) -> None:
    assert needs_origin(text) is lacking


def test_the_word_for_navigation_is_no_place_to_start_from() -> None:
    assert route_ends("导航到故宫") is None
    ends = route_ends("从杭州东站导航到西湖")
    assert ends is not None
    assert (ends.origin, ends.destination) == ("杭州东站", "西湖")
