"""What people in Beijing ask of places, and whether records meet it, by CrossWOZ.

Three figures: which turns the rules send to the map (with the city before them, as the set leaves
it out), how many of the records' opening hours are read, and whether a demand is judged as the
record's own fields say. The demands are the set's annotations, so that code alone is measured.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from agent.core.patterns import Linear
from agent.evidence.constraints import check, valid_constraints
from agent.evidence.hours import all_year, weekly_hours
from agent.evidence.intent import detect_location_query
from agent.evidence.types import Constraints, Place

_CITY = "北京，"
_PLACES = ("景点", "餐馆", "酒店", "地铁", "出租")
_COSTS = {"人均消费", "门票"}
_NUMBER = Linear(r"[0-9]+(?:\.[0-9]+)?")
Row = dict[str, Any]


def report(folder: Path) -> Iterator[str]:
    """Yield a line a figure."""
    turns = _rows(folder / "user_turns.jsonl")
    yield from _routing(turns)
    records = {
        "餐馆": _rows(folder / "restaurant.jsonl"),
        "景点": _rows(folder / "attraction.jsonl"),
    }
    hours = [row["营业时间"] for row in records["餐馆"] if row.get("营业时间")]
    read = sum(all_year(weekly_hours(text)) is not None for text in hours)
    yield f"opening hours read        {read:>6} of {len(hours):<6}{read / len(hours):>7.1%}"
    yield from _demands(turns, records)


def _rows(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def _routing(turns: list[Row]) -> Iterator[str]:
    first = [t for t in turns if t["turn"] == 0 and any(a[1] in _PLACES for a in t["acts"])]
    seen = sum(detect_location_query(_CITY + turn["text"]) for turn in first)
    yield f"first turns seen by rules {seen:>6} of {len(first):<6}{seen / len(first):>7.1%}"
    polite = [t for t in turns if t["acts"] and all(a[0] == "General" for a in t["acts"])]
    wrong = sum(detect_location_query(turn["text"]) for turn in polite)
    yield f"courtesy sent to the map  {wrong:>6} of {len(polite):<6}{wrong / len(polite):>7.1%}"


def _demands(turns: list[Row], records: Mapping[str, list[Row]]) -> Iterator[str]:
    """Yield how many verdicts over each demand and record are right."""
    stated = {
        (domain, slot, value)
        for turn in turns
        for kind, domain, slot, value in turn["acts"]
        if kind == "Inform" and domain in records and (slot in _COSTS or slot == "评分")
    }
    counts: Counter[tuple[str, bool]] = Counter()
    for domain, slot, value in sorted(stated):
        demand = _demand(slot, value)
        for row in records[domain] if demand else []:
            verdicts = {v["verdict"] for v in check(_place(row), demand, "zh")}
            counts[slot, verdicts == _wanted(row.get(slot), demand)] += 1
    for slot in sorted({name for name, _ in counts}):
        right, total = counts[slot, True], counts[slot, True] + counts[slot, False]
        yield f"verdicts on {slot:<8}      {right:>6} of {total:<6}{right / total:>7.1%}"


def _demand(slot: str, value: str) -> Constraints:
    """Return an annotation as the demand that it is; empty for one that asks for no bound."""
    numbers = [float(match[0]) for match in _NUMBER.finditer(value)]
    if slot == "评分":
        return valid_constraints({"min_rating": numbers[0]}) if numbers else Constraints()
    if value == "免费":
        return valid_constraints({"free": True})
    if not numbers:
        return Constraints()
    if "以上" in value:
        return valid_constraints({"min_cost": numbers[0]})
    if "以下" in value:
        return valid_constraints({"max_cost": numbers[0]})
    return valid_constraints({"min_cost": numbers[0], "max_cost": numbers[-1]})


def _wanted(value: object, demand: Constraints) -> set[str]:
    """Return the verdicts that a record's own figure leaves."""
    if not isinstance(value, int | float):
        return {"unknown"}
    bounds: dict[str, Any] = {**demand}
    met = {
        "min_rating": value >= bounds.get("min_rating", 0),
        "min_cost": value >= bounds.get("min_cost", 0),
        "max_cost": value <= bounds.get("max_cost", value),
        "free": value == 0,
    }
    return {"satisfied" if met[key] else "violated" for key in bounds}


def _place(row: Row) -> Place:
    cost = row.get("人均消费", row.get("门票"))
    known = {
        "name": row["名称"], "category": None, "rating": row.get("评分"), "cost": cost,
        "open_time": row.get("营业时间"), "distance_m": None, "distance_from": None,
        "keywords": [],
    }  # fmt: skip
    return cast(Place, known)
