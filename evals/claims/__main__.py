"""How the check of claims does on statements of our own: `python -m evals.claims [--misses]`.

`evidence.jsonl` and `held_out_evidence.jsonl` hold, for each question, short passages of our own by
source id; the other files the sentences. `supported` is the label: the cited sources say it, or it
is computed from them, or it states no fact of the world. `recorded` sentences stood in answers that
a person wrote in place of the models.

What a judge is worth cannot be measured without one: `--prompts TO` writes what it is shown,
without labels, `--replies FROM` reads its replies. By itself code is measured for what it must
never do: mark a true sentence without a judge, and hold back what a judge rightly supports.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from agent.evidence.claims.judging import Ruling, Rulings, passages_block, statements_block
from agent.evidence.claims.outcomes import Outcome
from agent.evidence.claims.passages import Evidence, Record
from agent.evidence.claims.proof import proved
from agent.evidence.claims.statements import Statement, statements
from agent.evidence.notation import MARKED
from agent.evidence.types import Place
from agent.models.validation import parse_reply
from agent.prompts import render

FOLDER = Path(__file__).parent
SETS = (("evidence", "zh"), ("evidence", "en"), ("held_out_evidence", "held_out"))


@dataclass(frozen=True)
class Pair:
    """One sentence with the markers it cites, its question's evidence, and its label."""

    number: int
    kind: str
    """true, swapped, negated, over_stated, rounded, computed, memory or across_scripts."""
    supported: bool
    sentence: str
    topic: dict[str, Any]

    @property
    def statements(self) -> list[Statement]:
        bars = self.sentence.count("|")
        head = f"{'| ' * bars}\n{'|---' * (bars - 1)}|\n" if self.sentence.startswith("|") else ""
        return statements(f"{head}{self.sentence}", MARKED)

    @property
    def evidence(self) -> Evidence:
        records = {
            name: Record(row["passages"], _place(name, row["place"]) if "place" in row else None)
            for name, row in self.topic["records"].items()
        }
        return Evidence(records, question=self.topic["question"], today=self.topic["today"])


def _place(source: str, name: str) -> Place:
    """Return a place of which only the name matters."""
    unknown = dict.fromkeys(("cost", "rating", "distance_m", "open_time"))
    return cast(Place, {"id": f"amap:{source}", "name": name, "source": source, **unknown})


def load() -> list[Pair]:
    """Return all pairs, the Chinese ones first."""
    pairs = list[Pair]()
    for evidence, name in SETS:
        topics = {row["set"]: row for row in _rows(evidence)}
        for row in _rows(name):
            topic = topics[row["set"]]
            pairs.append(
                Pair(len(pairs) + 1, row["kind"], row["supported"], row["sentence"], topic)
            )
    return pairs


def _rows(name: str) -> list[dict[str, Any]]:
    lines = (FOLDER / f"{name}.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


Judge = Callable[[Pair], dict[int, Ruling]]
"""Return the rulings on a pair's statements by their places."""


def nobody(_pair: Pair) -> dict[int, Ruling]:
    """Judge nothing."""
    return {}


def always_right(pair: Pair) -> dict[int, Ruling]:
    """Support what is labelled so, by what it cites; say of the rest that it stands nowhere."""
    evidence = pair.evidence
    rulings = {}
    for place, one in enumerate(pair.statements):
        cited = [p.name for p in evidence.passages if p.source in one.cited]
        letter = "s" if pair.supported else "n"
        rulings[place] = Ruling(id=one.name, v=letter, p=cited)
    return rulings


def played(folder: Path) -> Judge:
    """Return the judge whose replies stand in a folder: `N.json` beside each other."""

    def judge(pair: Pair) -> dict[int, Ruling]:
        path = folder / f"{pair.number}.json"
        if not path.exists():
            return {}
        by_name = {r.id: r for r in parse_reply(path.read_text("utf-8"), Rulings).rulings}
        named = enumerate(pair.statements)
        return {place: by_name[one.name] for place, one in named if one.name in by_name}

    return judge


def outcomes(pair: Pair, judge: Judge) -> list[Outcome]:
    """Return what becomes of a pair's statements."""
    return proved(pair.statements, judge(pair), pair.evidence)


def prompt_of(pair: Pair) -> str:
    """Return what the judge of a pair is shown."""
    evidence, batch = pair.evidence, pair.statements
    return render(
        "claim_check",
        today=evidence.today,
        question=evidence.question,
        passages=passages_block(batch, evidence),
        statements=statements_block(batch, evidence, MARKED),
    )


def report(pairs: Sequence[Pair], judge: Judge, *, misses: bool) -> Iterator[str]:
    """Yield what is marked, rightly and not, and what nobody could tell.

    What no cited source says is also caught by a citation of the source that does.
    """
    found = [(pair, outcomes(pair, judge)) for pair in pairs]
    marked = [
        pair
        for pair, each in found
        if any(one.fails or (one.cite and not pair.supported) for one in each)
    ]
    held = [pair for pair, each in found if any(outcome.verdict == "unchecked" for outcome in each)]
    bad = sum(not pair.supported for pair in pairs)
    good = len(pairs) - bad
    right = sum(not pair.supported for pair in marked)
    yield (
        f"caught {right} of {bad}, marked falsely {len(marked) - right} of {good}, "
        f"unchecked {sum(pair.supported for pair in held)} of the supported"
    )
    if misses:
        wrong = [pair for pair in (*marked, *held) if pair.supported]
        wrong += [pair for pair, _ in found if not pair.supported and pair not in marked]
        yield from (f"  {pair.number} {pair.kind}: {pair.sentence}" for pair in wrong)


def main(arguments: Sequence[str]) -> None:
    """Print the figures without a judge, with one that is always right, and with a played one."""
    parser = argparse.ArgumentParser(prog="python -m evals.claims", description=__doc__)
    parser.add_argument("--misses", action="store_true", help="print true sentences not let pass")
    parser.add_argument("--prompts", type=Path, help="write the judge's prompts into this folder")
    parser.add_argument("--replies", type=Path, help="read the judge's replies from this folder")
    options = parser.parse_args(arguments)
    pairs = load()
    judges: dict[str, Judge] = {"nobody": nobody, "always right": always_right}
    if options.replies:
        judges["played"] = played(options.replies)
    for name, judge in judges.items():
        print(f"# judge: {name}")
        print(*report(pairs, judge, misses=options.misses and judge is not nobody), sep="\n")
    if options.prompts:
        options.prompts.mkdir(parents=True, exist_ok=True)
        (options.prompts / "system.md").write_text(render("claim_check_system"), "utf-8")
        for pair in pairs:
            (options.prompts / f"{pair.number}.md").write_text(prompt_of(pair), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
