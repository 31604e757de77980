"""How well demands are checked against records, on a set of our own: `python -m evals.demands`.

Prints by kind of demand how many verdicts are the labelled ones; `--misses` lists the others.
Develop on the odd ids, report the even ones. The README beside this says what a row holds.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from agent.evidence.ordering import judged
from agent.evidence.types import Place

ROWS = Path(__file__).with_name("rows.jsonl")
VERDICTS = {"satisfied": "met", "violated": "not_met", "unknown": "unknown"}
_RECORD = {
    "id": "amap:B0",
    "location": {"lng": 116.4, "lat": 39.9, "crs": "GCJ-02"},
    "wgs84": {"lng": 116.4, "lat": 39.9},
    "url": "https://ditu.amap.com/place/B0",
    "source": "a0-0",
    "fetched_at": "2026-11-28T02:00:00+00:00",
    "mentioned": False,
    "detailed": True,
    "keywords": [],
    **dict.fromkeys(("address", "district", "city", "photo")),
}
"""What every record has beside the fields that a row names."""

Row = Mapping[str, Any]


def load(half: str = "all") -> list[Row]:
    """Return the rows of a half: `odd`, `even` or `all`."""
    rows = [json.loads(line) for line in ROWS.read_text("utf-8").splitlines()]
    return [row for row in rows if half in ("all", ("even", "odd")[row["id"] % 2])]


def verdict(row: Row) -> str:
    """Return what the rules say of a row; unknown where they say nothing."""
    place = cast(Place, {**_RECORD, **row["place"]})
    (checked,) = judged([place], row["demands"], row["language"])
    said = {each["constraint"]: each["verdict"] for each in checked.get("verdicts", ())}
    return VERDICTS[said.get(row["about"], "unknown")]


def is_right(row: Row, said: str) -> bool:
    """Return whether a verdict is the labelled one, or not wrong beside it."""
    return said == row["verdict"] or said in row.get("may", ())


def report(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the share of right verdicts by kind, and of wrong ones how they are wrong."""
    ruled = [(row, verdict(row)) for row in rows]
    for about in sorted({row["about"] for row in rows}):
        own = [is_right(row, said) for row, said in ruled if row["about"] == about]
        yield f"{about:<16}{sum(own)}/{len(own)} ({sum(own) / len(own):.1%})"
    right = sum(is_right(*each) for each in ruled)
    yield f"{'all':<16}{right}/{len(rows)} ({right / len(rows):.1%})"
    wrong = Counter(f"{row['verdict']} as {said}" for row, said in ruled if not is_right(row, said))
    yield from (f"  {name}: {count}" for name, count in wrong.most_common())


def misses(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the rows that come out otherwise than labelled."""
    for row in rows:
        if not is_right(row, said := verdict(row)):
            asked = json.dumps(row["demands"], ensure_ascii=False)
            told = {key: value for key, value in row["place"].items() if value is not None}
            record = json.dumps(told, ensure_ascii=False)
            yield f"  {row['id']} {row['verdict']} as {said}: {asked} {record} ({row['why']})"


def main(arguments: Sequence[str]) -> None:
    """Print the figures, and on request the rows that come out otherwise."""
    parser = argparse.ArgumentParser(prog="python -m evals.demands", description=__doc__)
    parser.add_argument("--half", choices=("odd", "even", "all"), default="all")
    parser.add_argument("--since", type=int, default=1, help="only rows from this id on")
    parser.add_argument("--misses", action="store_true", help="list the rows judged otherwise")
    options = parser.parse_args(arguments)
    rows = [row for row in load(options.half) if row["id"] >= options.since]
    print(f"# {len(rows)} demands, {options.half}")
    print(*report(rows), sep="\n")
    if options.misses:
        print(*misses(rows), sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
