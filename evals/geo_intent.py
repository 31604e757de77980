"""How well rules tell whether the map helps: `python -m evals.geo_intent [--misses]`.

The set (`geo_intent.jsonl`) was written by hand: the dev split together with the rules, the
test split after they were frozen; nothing was tuned on the test split. Baselines are the
word lists of the first design, as it described them. `geo_research.jsonl` holds questions for long
research, by which it is decided whether a model is offered the map's tools.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent.evidence.intent import (
    detect_location_query,
    extract_place,
    names_known_place,
)

Detector = Callable[[str], bool]
SET = Path(__file__).with_name("geo_intent.jsonl")
RESEARCH = Path(__file__).with_name("geo_research.jsonl")

_INDICATORS = (
    *(
        "附近",
        "周边",
        "周围",
        "旁边",
        "地址",
        "位置",
        "在哪",
        "怎么走",
        "路线",
        "导航",
        "距离",
        "坐标",
    ),
    *("市", "区", "县", "街", "路", "广场", "商场", "中心"),
)
_ACTIVITIES = (
    *(
        "遛娃",
        "美食",
        "购物",
        "亲子",
        "餐厅",
        "酒店",
        "咖啡",
        "景点",
        "公园",
        "医院",
        "停车",
        "玩",
        "吃",
    ),
)


def first_design_intent(query: str) -> bool:
    """The first design's `has_location_intent`: any of one list."""
    return any(word in query for word in _INDICATORS)


def first_design_detector(query: str) -> bool:
    """The first design's `detect_location_query`: a word of each of two lists."""
    return first_design_intent(query) and any(word in query for word in _ACTIVITIES)


DETECTORS: dict[str, Detector] = {
    "detect_location_query": detect_location_query,
    "first design, one list": first_design_intent,
    "first design, two lists": first_design_detector,
    "always": lambda _query: True,
}


@dataclass(frozen=True)
class Score:
    """Counts of one detector on some queries; ratios are 0 where nothing was to divide."""

    hits: int
    false_alarms: int
    misses: int
    rejections: int

    @property
    def precision(self) -> float:
        return self.hits / max(self.hits + self.false_alarms, 1)

    @property
    def recall(self) -> float:
        return self.hits / max(self.hits + self.misses, 1)

    @property
    def accuracy(self) -> float:
        total = self.hits + self.false_alarms + self.misses + self.rejections
        return (self.hits + self.rejections) / max(total, 1)


def load(path: Path = SET) -> list[dict[str, Any]]:
    """Return the labelled queries of a file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


def score(detector: Detector, rows: Iterable[dict[str, Any]]) -> Score:
    """How the detector does on these queries."""
    pairs = [(detector(row["query"]), row["geo"]) for row in rows]
    return Score(
        hits=pairs.count((True, True)),
        false_alarms=pairs.count((True, False)),
        misses=pairs.count((False, True)),
        rejections=pairs.count((False, False)),
    )


def table(rows: list[dict[str, Any]]) -> str:
    """Precision, recall and accuracy of each detector per split, form and language."""
    groups: dict[str, list[dict[str, Any]]] = {"all": rows}
    for split in ("dev", "test"):
        groups[split] = [row for row in rows if row["split"] == split]
        for form in ("question", "search_query"):
            for lang in ("zh", "en"):
                groups[f"{split} {form} {lang}"] = [
                    row for row in groups[split] if (row["form"], row["lang"]) == (form, lang)
                ]
    lines = [f"{'detector':<26}{'queries':<26}{'n':>4}{'geo':>5}{'P':>7}{'R':>7}{'acc':>7}"]
    for name, detector in DETECTORS.items():
        for group, members in groups.items():
            if members:
                got = score(detector, members)
                geo = sum(row["geo"] for row in members)
                figures = f"{got.precision:7.2f}{got.recall:7.2f}{got.accuracy:7.2f}"
                lines.append(f"{name:<26}{group:<26}{len(members):>4}{geo:>5}{figures}")
    return "\n".join(lines)


def places(rows: list[dict[str, Any]]) -> str:
    """How often the labelled place is part of what was extracted, or the other way round."""
    named = [row for row in rows if row["geo"] and row["place"]]
    right = 0
    for row in named:
        found = [part.casefold() for part in extract_place(row["query"]) or () if part]
        wanted = row["place"].casefold()
        right += any(wanted in part or part in wanted for part in found)
    return f"place found in {right} of {len(named)} queries that name one"


def research(rows: list[dict[str, Any]]) -> str:
    """Return how often the map's tools are offered for research questions about no place."""
    result = score(names_known_place, rows)
    return (
        f"map offered for {result.false_alarms} of {result.false_alarms + result.rejections}"
        f" research questions about no place, and {result.hits} of {result.hits + result.misses}"
        " about one"
    )


def main(arguments: list[str] | None = None) -> None:
    """Print the table, and on request the queries that went wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--misses", action="store_true", help="list the queries that went wrong")
    chosen = parser.parse_args(arguments)
    rows = load()
    sys.stdout.write(f"{table(rows)}\n{places(rows)}\n{research(load(RESEARCH))}\n")
    if chosen.misses:
        for row in rows:
            if detect_location_query(row["query"]) != row["geo"]:
                sys.stdout.write(f"{row['id']} expected {row['geo']}: {row['query']}\n")


if __name__ == "__main__":
    main()
