"""How far it is on foot, where the map's way is none that one walks."""

from typing import get_args

import pytest

from agent.assistants.common.shown_records import places_as_shown
from agent.evidence.constraints import check
from agent.evidence.mentions import fails_a_demand
from agent.evidence.ordering import judged
from agent.evidence.records import distance_texts, place_facts, reach_texts
from agent.evidence.types import Constraints, Distance, Place
from agent.texts import Language, say
from tests.unit.test_evidence_mentions import place


@pytest.mark.parametrize("language", get_args(Language))
def test_a_way_ten_times_its_straight_line_is_told_with_both_and_rules_out_nothing(
    language: Language,
) -> None:
    demand = Constraints(max_walk_m=500)
    near = Place(**{**place("甲"), "distance_m": 112, "walk_m": 1240, "walk_s": 990})
    [verdict] = check(near, demand, language)
    assert verdict["verdict"] == "unknown"
    assert "112" in verdict["text"]
    assert any(far in verdict["text"] for far in ("1.2 km", "1,2 km", "1,2 км", "1,2 км"))
    assert not fails_a_demand(judged([near], demand, language)[0])


@pytest.mark.parametrize("language", get_args(Language))
async def test_a_distance_from_an_area_is_told_from_its_middle_to_writer_reader_and_page(
    language: Language,
) -> None:
    """A restaurant on the shore was told to be 1.2 km from the lake."""
    near = place("甲")
    near["distance_m"], near["distance_from"] = 81, "西湖"
    near["further"] = [
        Distance(origin="王府井", metres=900),
        Distance(origin="人民公园", metres=70),
    ]
    (told,) = await places_as_shown([near], [], "甲", language, first=[])
    middle, spot, park = distance_texts(told, language)
    word = say("records.middle_of", language, origin="").strip()
    assert [word in far for far in (middle, spot, park)] == [True, False, True]
    assert middle in place_facts(told, language)
    assert middle in reach_texts(told, language)
    assert told["from_middle"]
    assert [each["from_middle"] for each in told["further"]] == [False, True]
