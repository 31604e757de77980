"""How well questions are read, on a set of our own: `python -m evals.questions`.

Without `--replies` the rules read them, as they do where no model can be asked: the map's task.
With `--replies FROM` the readings in a file are scored, a JSON object a line: `id` and the fields
of a label (`constraints` and `query` are read as `demands` and `queries`). A field that a reading
has not got is not scored. `--inputs TO` writes the rows without labels.
Develop on the odd ids, report the even ones. The README beside this says what a row holds.
"""

import argparse
import json
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent.evidence.intent import map_task_by_rules

ROWS = Path(__file__).with_name("rows.jsonl")
TASK_FIELDS = ("intent", "place", "city", "keywords", "origin", "destination", "mode")
_SIMPLE_FIELDS = {"language": "", "day": None, "needs": "", "only_own_documents": False}
"""Each with what it is where the question has nothing of the kind."""
_SLACK = 4
"""Characters that a name may have beside twice the other's, and still be the same."""

_LABELS = ("asked", "keeps", "note")

Row = Mapping[str, Any]


@dataclass
class Tally:
    """What of one field was right, wrong and missed; a wrong value is a missed one, too."""

    counts: Counter[str] = field(default_factory=Counter)

    def line(self) -> str:
        """Return precision and recall, of how many labelled."""
        right, wrong, missed = (self.counts[each] for each in ("right", "wrong", "missed"))
        precision = f"{right / (right + wrong):.2f}" if right + wrong else "–"
        recall = f"{right / (right + missed):.2f}" if right + missed else "–"
        return f"P {precision}  R {recall}  ({right} right, {wrong} wrong, {missed} missed)"


Tallies = dict[str, Tally]


def load(half: str = "all") -> list[Row]:
    """Return the rows of a half: `odd`, `even` or `all`."""
    rows = _read(ROWS)
    return [row for row in rows if half in ("all", ("even", "odd")[row["id"] % 2])]


def _read(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def read_by_rules(row: Row) -> Row:
    """Return what the rules read of a question: the map's task."""
    return {"queries": [map_task_by_rules(row["text"])]}


def tallied(pairs: Sequence[tuple[Row, Row]]) -> Tallies:
    """Compare labels with readings, field by field."""
    tallies: Tallies = {}

    def count(name: str, wanted: object, got: object, nothing: object = None) -> None:
        for outcome in _outcomes(name, wanted, got, nothing):
            tallies.setdefault(name, Tally()).counts[outcome] += 1

    for label, reading in pairs:
        asked = label["asked"]
        for name, nothing in _SIMPLE_FIELDS.items():
            if name in reading:
                # Where words are asked for as proof, any are a yes.
                value = bool(reading[name]) if isinstance(nothing, bool) else reading[name]
                count(name, asked[name], value, nothing)
        if "needs_search" in reading:
            count("no search", not asked["needs_search"], not reading["needs_search"], False)
        if "question" in reading and "keeps" in label:
            kept = all(word.casefold() in reading["question"].casefold() for word in label["keeps"])
            count("stands alone", True, kept, False)
        _count_demands(count, asked, reading)
        _count_tasks(count, asked, reading)
    return tallies


def _count_demands(count: Any, asked: Row, reading: Row) -> None:
    found = reading["demands"] if "demands" in reading else reading.get("constraints")
    if "demands" not in reading and "constraints" not in reading:
        return
    got = {key: value for key, value in (found or {}).items() if value not in (None, False, [])}
    for key in {**asked["demands"], **got}:
        if key in asked["demands"] or key not in asked.get("may", ()):
            count(f"demand {key}", asked["demands"].get(key), got.get(key))


def _count_tasks(count: Any, asked: Row, reading: Row) -> None:
    queries = reading["queries"] if "queries" in reading else reading.get("query")
    if queries is None:
        return
    found = [query if "intent" in query else query.get("map") for query in queries if query]
    tasks = [task for task in found if task]
    if asked["needs"] and not tasks:
        return  # The asker may be asked for the place first.
    count("map", bool(asked["queries"]), bool(tasks), False)
    for wanted, got in paired(asked["queries"], tasks):
        if not wanted:
            count("map intent", None, got["intent"])
        for name in TASK_FIELDS:
            if name in wanted:
                count(f"map {name}", wanted[name], got.get(name) or None)


def paired(wanted: Sequence[Row], got: Sequence[Row]) -> list[tuple[Row, Row]]:
    """Return the tasks in pairs, the most alike first; empty what has no other."""
    alike = [(_likeness(task, other), i, j) for i, task in enumerate(wanted)
             for j, other in enumerate(got)]  # fmt: skip
    chosen: dict[int, int] = {}
    for _, i, j in sorted(alike, key=lambda each: -each[0]):
        if i not in chosen and j not in chosen.values():
            chosen[i] = j
    pairs = [(task, got[chosen[i]] if i in chosen else {}) for i, task in enumerate(wanted)]
    return pairs + [({}, other) for j, other in enumerate(got) if j not in chosen.values()]


def _likeness(task: Row, other: Row) -> int:
    return sum(_is_right(name, task[name], other.get(name)) for name in task)


def _outcomes(name: str, wanted: object, got: object, nothing: object) -> Iterator[str]:
    """Yield what becomes of one field; where nothing is wanted and given, nothing."""
    free = isinstance(wanted, list) and None in wanted
    if got == nothing and (wanted == nothing or free):
        return
    if _is_right(name, wanted, got):
        yield "right"
        return
    if got != nothing:
        yield "wrong"
    if wanted != nothing and not free:
        yield "missed"


def _is_right(name: str, wanted: Any, got: Any) -> bool:
    """Return whether a value is a labelled one; of several, any, but all days and audiences."""
    match name.split()[-1]:
        case "other":
            return bool(wanted) and bool(got)
        case "keywords":
            return any(_same_name(one, other) for one in wanted or [] for other in got or [])
        case "open_on" | "not_on" | "suits":
            return set(wanted or []) == set(got or [])
        case "place" | "city" | "origin" | "destination":
            return any(_same_name(one, got) for one in _several(wanted))
        case "language":
            return _script(str(wanted)) == _script(str(got))
    return got in _several(wanted)


def _several(wanted: Any) -> list[Any]:
    return wanted if isinstance(wanted, list) else [wanted]


def _script(tag: str) -> str:
    """Return a language's tag as the labels write it: `zh-TW` is `zh-Hant`, `en-GB` is `en`."""
    parts = tag.casefold().split("-")
    hant = parts[0] == "zh" and {"hant", "tw", "hk", "mo"} & {*parts}
    return "zh-hant" if hant else parts[0]


def _same_name(one: object, other: object) -> bool:
    """Return whether one name is the other, or is part of it and not much shorter."""
    if not one or not other:
        return one is other
    short, long = sorted((_folded(one), _folded(other)), key=len)
    return short in long and len(long) <= 2 * len(short) + _SLACK


def _folded(name: object) -> str:
    return unicodedata.normalize("NFKC", str(name)).casefold().strip()


def main(arguments: Sequence[str]) -> None:
    """Print precision and recall by field, and on request what was read otherwise."""
    parser = argparse.ArgumentParser(prog="python -m evals.questions", description=__doc__)
    parser.add_argument("--half", choices=("odd", "even", "all"), default="all")
    parser.add_argument("--inputs", type=Path, help="write the rows without labels to this file")
    parser.add_argument("--replies", type=Path, help="score the readings in this file")
    parser.add_argument("--misses", action="store_true", help="list what was read otherwise")
    options = parser.parse_args(arguments)
    rows = load(options.half)
    if options.inputs:
        shown = [{key: row[key] for key in row if key not in _LABELS} for row in rows]
        lines = [json.dumps(row, ensure_ascii=False) for row in shown]
        options.inputs.write_text("\n".join(lines) + "\n", "utf-8")
    if options.replies:
        replies = {int(reply["id"]): reply for reply in _read(options.replies)}
        pairs = [(row, replies[row["id"]]) for row in rows if row["id"] in replies]
    else:
        pairs = [(row, read_by_rules(row)) for row in rows]
    print(f"# {len(pairs)} of {len(rows)} questions, {options.half}")
    print(*report(pairs), sep="\n")
    if options.misses:
        print(*misses(pairs), sep="\n")


def report(pairs: Sequence[tuple[Row, Row]]) -> Iterator[str]:
    """Yield precision and recall of each field, then of all demands and all tasks by language."""
    for name, tally in sorted(tallied(pairs).items()):
        yield f"{name:<22}{tally.line()}"
    for language in dict.fromkeys(label["language"] for label, _ in pairs):
        chosen = tallied([pair for pair in pairs if pair[0]["language"] == language])
        for kind in ("demand ", "map "):
            pooled = sum(
                (t.counts for name, t in chosen.items() if name.startswith(kind)), Counter()
            )
            yield f"{f'{language}, {kind.strip()}s':<22}{Tally(pooled).line()}"


def misses(pairs: Sequence[tuple[Row, Row]]) -> Iterator[str]:
    """Yield each question with the fields that were read otherwise than labelled."""
    for label, reading in pairs:
        tallies = tallied([(label, reading)])
        bad = [
            name for name, each in tallies.items() if each.counts["wrong"] + each.counts["missed"]
        ]
        if bad:
            yield f"  {label['id']} {label['text']}: {', '.join(bad)}"


if __name__ == "__main__":
    main(sys.argv[1:])
