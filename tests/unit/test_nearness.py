"""How far it is on foot, where the map's way is none that one walks."""

from typing import get_args

import pytest

from agent.evidence.constraints import check
from agent.evidence.mentions import fails_a_demand
from agent.evidence.ordering import judged
from agent.evidence.types import Constraints, Place
from agent.texts import Language
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
