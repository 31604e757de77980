"""Claims of people with the pages that they cite: which are borne out, by WiCE.

Without a judge code says nothing of them, so what a judge is shown is measured first: whether a
sentence that decides stands among its passages. `write` makes prompts without labels, `report`
reads the replies to them.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent.evidence.claims.judging import (
    Ruling,
    Rulings,
    passages_block,
    shown,
    statements_block,
)
from agent.evidence.claims.passages import Evidence, Record
from agent.evidence.claims.proof import proved
from agent.evidence.claims.statements import Statement, statements
from agent.evidence.notation import MARKED
from agent.models.validation import parse_reply
from agent.prompts import render


@dataclass(frozen=True)
class Row:
    """One claim: its number in the file, what it says, the page's sentences, and its label."""

    number: int
    claim: str
    page: list[str]
    supported: bool
    deciding: list[list[int]]

    @property
    def statement(self) -> Statement:
        """Return the claim as one statement that cites its page."""
        text = f"{self.claim.strip().rstrip('.')} [^w0-0]."
        found = statements(" ".join(text.split()), MARKED)
        return found[0] if len(found) == 1 else _whole(text)

    @property
    def evidence(self) -> Evidence:
        return Evidence({"w0-0": Record(["\n".join(self.page)])}, today="2022-06-01")


def _whole(text: str) -> Statement:
    plain = MARKED.pattern.sub("", text).strip()
    return Statement(0, len(text), text, plain, (), ("w0-0",), name="1")


def rows(folder: Path, half: str, limit: int = 0) -> list[Row]:
    """Return the claims of every file in a folder; `half` is odd, even or all."""
    found = list[Row]()
    for path in sorted(folder.glob("*.jsonl")):
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            if half == "all" or (number % 2 == 1) == (half == "odd"):
                found.append(_row(number, json.loads(line)))
    return found[:limit] if limit else found


def _row(number: int, case: dict[str, Any]) -> Row:
    supported = case["label"] == "supported"
    return Row(number, case["claim"], case["evidence"], supported, case["supporting_sentences"])


def recall(folder: Path, half: str) -> Iterator[str]:
    """Yield how often the passages that a judge is shown have a sentence that decides."""
    asked = hits = tokens = 0
    for row in rows(folder, half):
        sets = [names for names in row.deciding if names]
        if not sets:
            continue
        evidence = row.evidence
        passages = shown([row.statement], evidence)
        text = " ".join(passage.text for passage in passages)
        asked += 1
        tokens += sum(passage.tokens for passage in passages)
        hits += any(" ".join(row.page[i].split())[:80] in text for names in sets for i in names)
    yield f"a deciding sentence is shown     {hits:>5} of {asked:<5}{hits / asked:>7.1%}"
    yield f"tokens of passages a claim       {tokens / asked:>8.0f}"


def write(folder: Path, half: str, limit: int, target: Path) -> None:
    """Write a prompt a claim, without its label."""
    target.mkdir(parents=True, exist_ok=True)
    (target / "system.md").write_text(render("claim_check_system"), "utf-8")
    for row in rows(folder, half, limit):
        evidence, batch, name = row.evidence, [row.statement], str(row.number)
        prompt = render(
            "claim_check",
            today=evidence.today,
            question="",
            passages=passages_block(batch, evidence),
            statements=statements_block(batch, evidence, MARKED),
        )
        (target / f"{name}.md").write_text(prompt, "utf-8")


def _rulings(path: Path) -> list[Ruling]:
    return parse_reply(path.read_text("utf-8"), Rulings).rulings[:1] if path.exists() else []


def report(folder: Path, half: str, replies: Path) -> Iterator[str]:
    """Yield what the replies to the prompts come to, `N.json` each."""
    counts = {(supported, acted): 0 for supported in (True, False) for acted in (True, False)}
    for row in rows(folder, half):
        rulings = _rulings(replies / f"{row.number}.json")
        if not rulings:
            continue
        [outcome] = proved([row.statement], dict(enumerate(rulings)), row.evidence)
        counts[row.supported, outcome.fails] += 1
    bad, good = (counts[kind, True] + counts[kind, False] for kind in (False, True))
    if not (bad and good):
        return
    caught, false = counts[False, True] / bad, counts[True, True] / good
    precision = counts[False, True] / max(1, counts[False, True] + counts[True, True])
    yield f"claims judged {bad + good}: caught {caught:.1%}, false marks {false:.1%},"
    yield f"precision {precision:.1%}, balanced accuracy {(caught + 1 - false) / 2:.1%}"
