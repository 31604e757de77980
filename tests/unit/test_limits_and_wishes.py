"""What somebody would like, and how far they want to walk, held against records."""

from agent.evidence.constraints import check, valid_constraints
from agent.evidence.ordering import judged
from tests.unit.test_constraints import record


def test_what_is_only_wished_leads_where_it_is_met_and_fails_nothing() -> None:
    """ "最好十点以后" ruled out a café that closes at ten."""
    stated = {"open_until": "22:30", "suits": ["children"], "min_rating": 4}
    demands = valid_constraints({**stated, "wished": ["open_until", "children", "price"]})
    assert demands == {**stated, "wished": ["open_until", "children"]}
    early, late = (
        record(name, open_time=hours, rating=4.5)
        for name, hours in (("早", "10:00-22:00"), ("晚", "10:00-24:00"))
    )
    found = judged([early, late], demands, "zh")
    assert [place["name"] for place in found] == ["晚", "早"]
    told = [[v["constraint"] for v in place["verdicts"]] for place in found]
    assert told == [["min_rating", "open_until"], ["min_rating"]]


def test_minutes_on_foot_are_held_against_minutes_and_told_so() -> None:
    """25 minutes were made 1750 m, and a measured way of 24 minutes and 1755 m "failed"."""
    demand = valid_constraints({"max_walk_min": 25, "max_walk_m": 1750})
    assert demand == {"max_walk_min": 25}
    told = {"walk_m": 1755, "walk_s": 1450, "distance_m": 1300}
    (verdict,) = check(record(**told), demand, "zh")
    assert (verdict["verdict"], verdict["field"]) == ("satisfied", "walk_s")
    assert verdict["text"] == "步行不超过 25 分钟"
    (verdict,) = check(record(**{**told, "walk_s": 1600}), demand, "en")
    assert (verdict["verdict"], verdict["text"]) == (
        "violated", "27 min on foot, just over 25 min",
    )  # fmt: skip
