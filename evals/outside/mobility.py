"""Whether what users of a map ask is expressed and kept, by MobilityBench's sample.

Without `tasks.jsonl` the rules write the task; with it a model or a person did: a line
{"row": its number, "map": the task as `generate_query` has it} a question. What code keeps of it is
compared with the set's own columns (start, stops, end, place, kind of way); wishes are those of the
tasks, which code must hand on to the map or tell. Nothing of the set is bundled: it has no licence.
"""

import csv
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from agent.evidence.intent import map_task_by_rules
from agent.evidence.maps import WAY_TIMES, WAYS, valid_map_task
from agent.evidence.types import MapTask

_INTENTS = {
    "Geolocation Query": {"regeo"},
    "Weather Query": {"weather"},
    "Nearby Query": {"nearby", "area"},
    "POI Query": {"poi"},
    "Traffic Info Query": {"poi", "nearby"},
    "Route Property Query": {"distance", "route"},
}
_WISHFUL = {
    "Option-Constrained Route Planning", "Route-Constrained Planning", "Traffic Info Query",
    "Arrival/Departure Time Query",
}  # fmt: skip
"""Scenarios whose questions wish more than places can say."""
_NOT_OF_A_NAME = str.maketrans("", "", " 。.()（）")
Row = Mapping[str, str]


def report(folder: Path, *, verbose: bool) -> Iterator[str]:
    """Yield a line a scenario: tasks that are right; then wishes dropped, and odd ends."""
    csv.field_size_limit(sys.maxsize)
    with next(folder.glob("*.csv")).open(encoding="utf-8-sig", newline="") as lines:
        rows = list(csv.DictReader(lines))
    path = folder / "tasks.jsonl"
    lines_of = path.read_text("utf-8").splitlines() if path.exists() else []
    written = {one["row"]: one["map"] for one in map(json.loads, lines_of)}
    measured = sorted(written) if written else range(len(rows))
    right, total, dropped, odd, unasked = Counter[str](), Counter[str](), 0, 0, 0
    for number in measured:
        row, proposal = rows[number], written.get(number)
        task = valid_map_task(proposal) if proposal else map_task_by_rules(row["query"])
        scenario = row["task_scenario"]
        faults = list(_faults(row, task))
        total[scenario] += 1
        right[scenario] += not faults
        dropped += _drops(scenario, proposal, task)
        odd += "ends" in faults
        unasked += task is None and scenario in _WISHFUL
        if verbose and faults:
            yield f"  {number} {', '.join(faults)}: {row['query']} {task}"
    for scenario in total:
        yield f"{scenario:<36}{right[scenario]:>4} of {total[scenario]}"
    share = right.total() / max(total.total(), 1)
    yield f"{'tasks right':<36}{right.total():>4} of {total.total()} {share:.1%}"
    yield f"{'questions with a wish dropped':<36}{dropped:>4}"
    yield f"{'questions with a wish, map not asked':<36}{unasked:>4}"
    yield f"{'starts and ends of other words':<36}{odd:>4}"


def _faults(row: Row, task: MapTask | None) -> Iterator[str]:
    """Yield what of a task is not as the set has it."""
    if task is None:
        yield "no task"
        return
    if task["intent"] not in _INTENTS.get(row["task_scenario"], set(WAYS)):
        yield "intent"
    if task["intent"] in WAYS:
        if not _same(task.get("destination"), row["query_end_poi"]):
            yield "ends"
        if bool(row["query_start_poi"]) != bool(task.get("origin")) and not _is_here(row):
            yield "ends" if task.get("origin") else "origin"
        elif task.get("origin") and not _same(task["origin"], row["query_start_poi"]):
            yield "ends"
        if row["query_transit_poi"] and row["query_transit_poi"] not in task.get("via", []):
            yield "via"
    if row["query_poi"] and not _same(task.get("place"), row["query_poi"]):
        yield "place"


def _is_here(row: Row) -> bool:
    return "位置" in row["query_start_poi"]


def _drops(scenario: str, proposal: Mapping[str, Any] | None, task: MapTask | None) -> bool:
    """Return whether a wish is nowhere in what the map is asked, so that nothing tells of it.

    Of a way by rules it is told that they read none; where the map is not asked, nothing is: the
    question goes to the web as it is.
    """
    if proposal is None and (task is None or task.get("by_rules")):
        return False
    kept, stated = (
        {word for part in ("wishes", "via", "avoid") for word in (one or {}).get(part, [])}
        | {time for time in WAY_TIMES if (one or {}).get(time)}
        for one in (task, proposal)
    )
    return bool(stated - kept) or (scenario in _WISHFUL and not kept)


def _same(name: str | None, other: str) -> bool:
    """Return whether both name one thing: one may say more of where it lies or what it is."""
    one, two = (text.translate(_NOT_OF_A_NAME).casefold() for text in (name or "", other))
    return bool(one and two) and (one in two or two in one) and len(one) <= len(two) + 6
