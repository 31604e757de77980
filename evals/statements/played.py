"""What a played judge is shown of the statements, and what becomes of them by its replies."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any, cast

from agent.evidence.claims.judging import (
    Ruling,
    Rulings,
    batches,
    passages_block,
    shown,
    statements_block,
)
from agent.evidence.claims.passages import Evidence, Passage, Record
from agent.evidence.claims.proof import proved
from agent.evidence.claims.statements import Statement, statements
from agent.evidence.notation import MARKED
from agent.evidence.types import Place
from agent.models.validation import parse_reply
from agent.prompts import render

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Call:
    """One call of the judge of a topic: its statements with their rows' ids, what they rest on."""

    topic: str
    number: int
    batch: Sequence[Statement]
    ids: Mapping[str, int]
    evidence: Evidence

    @property
    def prompt(self) -> str:
        """Return what the judge is shown."""
        return render(
            "claim_check",
            today=self.evidence.today,
            question=self.evidence.question,
            passages=passages_block(self.batch, self.evidence),
            statements=statements_block(self.batch, self.evidence, MARKED),
        )


def calls(rows: Sequence[Row]) -> Iterator[Call]:
    """Yield the calls of all rows, topic by topic."""
    by_topic = sorted(rows, key=lambda row: (row["topic"], row.get("table", ""), row["id"]))
    for topic, group in groupby(by_topic, key=lambda row: row["topic"]):
        chosen = list(group)
        found, ids, number, line = list[Statement](), dict[str, int](), 0, None
        for row in chosen:
            for one in _stated(row):
                here = (row.get("table"), one.line) if one.kind == "cell" else None
                number += here is None or here != line
                line = here
                found.append(replace(one, name=f"{number}{one.name.lstrip('0123456789')}"))
                ids[found[-1].name] = row["id"]
        evidence = _evidence(chosen[0])
        for n, batch in enumerate(batches(found), 1):
            yield Call(topic, n, batch, ids, evidence)


def _stated(row: Row) -> list[Statement]:
    if "table" not in row:
        marks = "".join(f" [^{name}]" for name in row["cites"])
        return statements(f"{row['statement']}{marks}", MARKED)
    cells = statements(row["tables"][row["table"]], MARKED)
    wanted = row["row_label"], row["column_head"], row["statement"]
    return [one for one in cells if tuple(map(_bare, (one.row, one.head, one.plain))) == wanted]


def _bare(text: str) -> str:
    return MARKED.pattern.sub("", text).strip()


def _evidence(topic: Row) -> Evidence:
    records = {}
    for source in topic["sources"]:
        place = _place(source) if source["kind"] == "place" else None
        metres = place["distance_m"] if place else None
        lead = f"{metres} m in a straight line" if metres else ""
        titled = f"{source['title']} {source['date']}"
        texts = [source["text"], lead] if place else [f"{titled}\n{source['text']}"]
        records[source["id"]] = Record(texts, place)
    return Evidence(records, question=topic["question"], today=topic["today"])


def _place(source: Row) -> Place:
    unknown = dict.fromkeys(("cost", "rating", "distance_m", "open_time"))
    return cast(Place, {"id": source["id"], "source": source["id"], **unknown, **source["place"]})


def write(rows: Sequence[Row], folder: Path) -> None:
    """Write the prompts, without labels."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "system.md").write_text(render("claim_check_system"), "utf-8")
    for call in calls(rows):
        (folder / f"{call.topic}-{call.number}.md").write_text(call.prompt, "utf-8")


Judge = Callable[[Call], Mapping[int, Ruling]]
"""Return the rulings on a call's statements by their places."""


def replies_in(folder: Path) -> Judge:
    """Return the judge whose replies stand in a folder, `TOPIC-N.json` each.

    A statement's number is its topic's: it may stand in any of the topic's replies.
    """

    def judge(call: Call) -> dict[int, Ruling]:
        paths = sorted(folder.glob(f"{call.topic}-*.json"))
        replies = [parse_reply(path.read_text("utf-8"), Rulings).rulings for path in paths]
        by_name = {ruling.id: ruling for reply in replies for ruling in reply}
        return {i: by_name[one.name] for i, one in enumerate(call.batch) if one.name in by_name}

    return judge


def as_labelled(rows: Sequence[Row]) -> Judge:
    """Return the judge who says what the labels say: what code takes of that is code's own."""
    by_id = {row["id"]: row for row in rows}

    def judge(call: Call) -> dict[int, Ruling]:
        return {
            at: _labelled(by_id[call.ids[one.name]], one, shown(call.batch, call.evidence))
            for at, one in enumerate(call.batch)
        }

    return judge


def _labelled(row: Row, one: Statement, passages: Sequence[Passage]) -> Ruling:
    told, bears = " ".join(row.get("passage", "").split()), row.get("bears", ())
    named = [p for p in passages if told and told in p.text and p.source in bears]
    named = named or [p for p in passages if p.source in bears]
    return Ruling(
        id=one.name,
        v=_LETTERS[row["label"]],
        p=[passage.name for passage in named[:3]],
        bad=[row["span"]] if "span" in row else [],
        says=told if row["label"] == "contradicted" else "",
        calc=row.get("formula", ""),
    )


def outcomes(rows: Sequence[Row], judge: Judge) -> dict[int, dict[str, Any]]:
    """Return by row what code makes of a judge's rulings."""
    found = dict[int, dict[str, Any]]()
    for call in calls(rows):
        rulings = judge(call)
        passages = [passage.text for passage in shown(call.batch, call.evidence)]
        proofs = proved(call.batch, rulings, call.evidence)
        for place, (one, outcome) in enumerate(zip(call.batch, proofs, strict=True)):
            verdict = _LABELS.get(outcome.verdict, outcome.verdict)
            if outcome.verdict == "missing" and place in rulings and rulings[place].v[:1] == "p":
                verdict = "partly"
            row = found.setdefault(call.ids[one.name], {"verdict": "", "span": ""})
            if verdict in _ACCUSES or row["verdict"] not in _ACCUSES:
                bears = {p.source for p in outcome.passages}
                row |= {"verdict": verdict, "sources": bears, "shown": passages}
                row["span"] = outcome.spans[0] if outcome.spans else ""
                row["ruling"] = rulings.get(place, Ruling()).v
    return found


_LETTERS = {"supported": "s", "computed": "c", "own": "o"} | {
    "partly": "p", "contradicted": "x", "not_there": "n"
}  # fmt: skip
_LABELS = {"missing": "not_there"}
_ACCUSES = ("not_there", "partly", "contradicted")
