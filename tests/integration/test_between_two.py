"""What lies between two places: neither of the two, and with ways on foot that are measured."""

import pytest

from tests.integration.test_question_kept import Spoken, plan
from tests.support.lab import laboratory
from tests.support.map_fixtures import MapLab, lab_fixture, script_fixture

pytestmark = pytest.mark.node
__all__ = ["lab_fixture", "script_fixture"]
ENDS = {"origin": "宽窄巷子", "destination": "人民公园", "city": "成都"}
BETWEEN = {"intent": "nearby", "keywords": ["景点", "小吃"], "mode": "walking", **ENDS}


async def test_neither_end_of_a_way_is_found_on_it(lab: MapLab) -> None:
    result = await lab.map_result(BETWEEN)  # type: ignore[arg-type]
    assert result.between is not None, "or this proves nothing"
    found = {each["name"] for each in (*result.places, *result.hits)}
    assert found
    assert not found & {"宽窄巷子", "窄巷子", "人民公园"}
    assert sum(search["hits"] for search in result.searches) <= len(found) + 1


async def test_calls_for_the_ways_on_foot_are_kept_from_what_is_looked_up_before() -> None:
    query = {"query": "宽窄巷子到人民公园路上", "map": {**BETWEEN, "country": "CN"}, "web": False}
    async with laboratory() as lab:
        lab.gemini.llm = Spoken(generate_query=[plan(query)])
        few = {"max_map_calls": 8, "max_research_loops": 1}
        state = await lab.ask("从宽窄巷子走到人民公园，路上有什么值得看？", context=few)
        assert state["places"]
        assert all(place.get("detour_walked") for place in state["places"])
