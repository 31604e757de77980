"""How a judge of statements does on a set of our own: `python -m evals.statements`.

With `--inputs TO` the rows are written without labels, for a judge of any kind to read; with
`--replies FROM` its rulings are scored, a JSON object a line: `id`, `verdict` (a label, or its
letter: s, c, o, p, x, n), and where it has them `span`, `sources` (the ids that bear the statement
out) and `shown` (the passages it was given). Without replies the set itself is counted, and what
code makes of a judge who says what the labels say is scored.
Develop on the odd ids, report the even ones. The README beside this says what a row holds.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evals.statements import played

FOLDER = Path(__file__).parent
NOBODY = "nobody"
TRUE = ("supported", "computed", "own")
FALSE = ("partly", "contradicted", "not_there")
LETTERS = {"s": "supported", "c": "computed", "o": "own"} | {
    "p": "partly", "x": "contradicted", "n": "not_there"
}  # fmt: skip
_LABELS = ("label", "kind", "span", "passage", "bears", "formula")
_SHARED = 0.5
"""Of the shorter of two spans: as much lies in both where they point at the same words."""

Row = Mapping[str, Any]


def load(half: str = "all") -> list[Row]:
    """Return the rows of a half, `odd`, `even` or `all`, each with question and sources."""
    topics = {row["topic"]: row for row in _read(FOLDER / "topics.jsonl")}
    rows = [{**topics[row["topic"]], **row} for row in _read(FOLDER / "rows.jsonl")]
    return [row for row in rows if half in ("all", ("even", "odd")[row["id"] % 2])]


def _read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def unlabelled(row: Row) -> dict[str, Any]:
    """Return what a judge may see of a row."""
    return {key: value for key, value in row.items() if key not in _LABELS}


@dataclass(frozen=True)
class Score:
    """Counts of rulings on some rows; a share of nothing is 1."""

    true: int
    false: int
    marked: int
    """Statements that the judge would have marked."""
    caught: int
    """Of them those that are labelled so."""
    same: int
    """Rulings that are the label itself."""
    unchecked: int
    spans: tuple[int, int]
    """Of the caught ones with a span: those whose words were pointed at."""
    cited: tuple[int, int]
    """Of the true ones that a source bears out: those of which the ruling names such a source."""
    shown: tuple[int, int]
    """Of the rows with a deciding passage: those whose judge was given it."""

    def line(self) -> str:
        """Return the shares in one line."""
        false_marks = self.marked - self.caught
        return (
            f"caught {_share(self.caught, self.false)}  marks right"
            f" {_share(self.caught, self.marked)}  false marks {_share(false_marks, self.true)}"
            f"  label {_share(self.same, self.true + self.false)}  span {_share(*self.spans)}"
            f"  source {_share(*self.cited)}  shown {_share(*self.shown)}"
            f"  unchecked {self.unchecked}"
        )


def _share(part: int, whole: int) -> str:
    return f"{part}/{whole} ({part / whole:.1%})" if whole else f"{part}/{whole}"


def score(rows: Sequence[Row], replies: Mapping[int, Row]) -> Score:
    """Compare rulings with labels; a row without a ruling is unchecked."""
    ruled = [(row, replies.get(row["id"], {})) for row in rows]
    verdicts = [(row, reply, verdict(reply)) for row, reply in ruled]
    marked = [each for each in verdicts if each[2] in FALSE]
    caught = [(row, reply) for row, reply, _ in marked if row["label"] in FALSE]
    return Score(
        true=sum(row["label"] in TRUE for row in rows),
        false=sum(row["label"] in FALSE for row in rows),
        marked=len(marked),
        caught=len(caught),
        same=sum(row["label"] == said for row, _, said in verdicts),
        unchecked=sum(not said for *_, said in verdicts),
        spans=_count([points_at(row, reply) for row, reply in caught if row.get("span")]),
        cited=_count(
            [bool({*reply["sources"]} & {*row["bears"]}) for row, reply in ruled
             if row["label"] in TRUE and row.get("bears") and "sources" in reply]
        ),
        shown=_count(
            [any(row["passage"] in text for text in reply["shown"]) for row, reply in ruled
             if row.get("passage") and "shown" in reply]
        ),
    )  # fmt: skip


def _count(found: Sequence[bool]) -> tuple[int, int]:
    return sum(found), len(found)


def verdict(reply: Row) -> str:
    """Return the verdict of a reply in full; empty where it has none."""
    said = str(reply.get("verdict") or "")
    said = LETTERS.get(said, said)
    return said if said in (*TRUE, *FALSE) else ""


def points_at(row: Row, reply: Row) -> bool:
    """Return whether a reply's span lies over the labelled one."""
    statement, words = row["statement"], str(reply.get("span") or "")
    if not words or words not in statement:
        return False
    begin, other = statement.index(words), statement.index(row["span"])
    shared = min(begin + len(words), other + len(row["span"])) - max(begin, other)
    return bool(shared >= _SHARED * min(len(words), len(row["span"])))


def contents(rows: Sequence[Row]) -> Iterator[str]:
    """Yield what the set has, by language, label and kind."""
    for key in ("language", "label", "kind"):
        counts = Counter(row[key] for row in rows).most_common()
        yield f"{key}: " + ", ".join(f"{name} {count}" for name, count in counts)


def report(rows: Sequence[Row], replies: Mapping[int, Row]) -> Iterator[str]:
    """Yield the figures for all rows, and by language and kind."""
    yield f"{'all':<22}{score(rows, replies).line()}"
    for key in ("language", "kind"):
        for name in dict.fromkeys(row[key] for row in rows):
            chosen = [row for row in rows if row[key] == name]
            yield f"{name:<22}{score(chosen, replies).line()}"


def misses(rows: Sequence[Row], replies: Mapping[int, Row]) -> Iterator[str]:
    """Yield the rows on which a mark is wrong or lacks."""
    for row in rows:
        said = verdict(replies.get(row["id"], {}))
        if (said in FALSE) != (row["label"] in FALSE):
            cell = f"{row['row_label']} / {row['column_head']}: " if "table" in row else ""
            yield f"  {row['id']} {row['label']} as {said or 'unchecked'}: {cell}{row['statement']}"


def main(arguments: Sequence[str]) -> None:
    """Write the rows for a judge, score its replies, or count the set."""
    parser = argparse.ArgumentParser(prog="python -m evals.statements", description=__doc__)
    parser.add_argument("--half", choices=("odd", "even", "all"), default="all")
    parser.add_argument("--inputs", type=Path, help="write the rows without labels to this file")
    parser.add_argument("--prompts", type=Path, help="write a judge's prompts, of both halves")
    parser.add_argument("--replies", type=Path, help="score the replies to them in this folder")
    parser.add_argument("--misses", action="store_true", help="list the rows judged wrongly")
    options = parser.parse_args(arguments)
    rows = load(options.half)
    print(f"# {len(rows)} statements, {options.half}")
    if options.inputs:
        lines = [json.dumps(unlabelled(row), ensure_ascii=False) for row in rows]
        options.inputs.write_text("\n".join(lines) + "\n", "utf-8")
    if options.prompts:
        played.write(load(), options.prompts)
    if not options.replies:
        print(*contents(rows), sep="\n")
    for name, replies in _replies(options.replies):
        print(f"# judge: {name}")
        print(*report(rows, replies), sep="\n")
        if options.misses and name != NOBODY:
            print(*misses(rows, replies), sep="\n")


def _replies(given: Path | None) -> Iterator[tuple[str, Mapping[int, Row]]]:
    """Yield what becomes of the rows: by the labels themselves, or by the replies of a judge."""
    every = load()
    if given is None:
        yield NOBODY, played.outcomes(every, lambda call: {})
        yield "the labels", played.outcomes(every, played.as_labelled(every))
    elif given.is_dir():
        yield given.name, played.outcomes(every, played.replies_in(given))
    else:
        yield given.name, {int(reply["id"]): reply for reply in _read(given)}


if __name__ == "__main__":
    main(sys.argv[1:])
