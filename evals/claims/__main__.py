"""How well sentences that no source bears out are found: `python -m evals.claims [--misses]`.

The first set was written by hand before the check: `evidence.jsonl` holds, for each question,
short passages of our own by source id; `zh.jsonl` and `en.jsonl` hold the sentences. The held-out
set came after the rules and was written without a look at them. `recorded` sentences stood in
answers that a person wrote in place of the models. `supported` is the label: the cited sources
say it, or it is computed from them, or it states no fact of the world. Prints precision, recall,
and the share of supported sentences acted upon.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from agent.evidence.claims.check import Finding, check
from agent.evidence.claims.evidence import Evidence, record
from agent.evidence.types import Place
from agent.texts import Language

FOLDER = Path(__file__).parent
LANGUAGES: tuple[Language, ...] = ("zh", "en")


@dataclass(frozen=True)
class Topic:
    """One question with its evidence; a record is {passages, place?}, by source id."""

    question: str
    today: str
    language: Language
    records: dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Pair:
    """One sentence with the markers it cites, and its label."""

    topic: Topic
    kind: str
    """true, swapped, negated, over_stated, rounded, computed, memory or across_scripts."""
    supported: bool
    recorded: bool
    sentence: str


def load() -> list[Pair]:
    """Return the pairs of the first set, the Chinese ones first."""
    return _pairs("evidence", *LANGUAGES)


def load_held_out() -> list[Pair]:
    """Return the pairs that were written after the rules."""
    return _pairs("held_out_evidence", "held_out")


def _pairs(evidence: str, *names: str) -> list[Pair]:
    topics = {row.pop("set"): Topic(**row) for row in _rows(evidence)}
    return [Pair(topics[row.pop("set")], **row) for name in names for row in _rows(name)]


def _rows(name: str) -> list[dict[str, Any]]:
    lines = (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


Check = Callable[[Pair], bool]
"""Return True where the check acts: it marks, repairs or cites another source."""


def nothing(_pair: Pair) -> bool:
    """Act never."""
    return False


def evidence_of(pair: Pair) -> Evidence:
    """Return the evidence of the pair's question."""
    records = {}
    for name, row in pair.topic.records.items():
        place = place_named(name, row["place"]) if "place" in row else None
        records[name] = record(name, row["passages"], place)
    return Evidence(records, question=pair.topic.question, today=pair.topic.today)


def place_named(source: str, name: str) -> Place:
    """Return a place of which only the name matters."""
    return cast(Place, {"id": f"amap:{source}", "name": name, "source": source})


def findings(pair: Pair) -> list[Finding]:
    """Return what the rules find of the pair's sentence."""
    return check(pair.sentence, evidence_of(pair))


def acts(found: Finding) -> bool:
    """Return whether the rules act upon a sentence by themselves."""
    return found.verdict in ("rematched", "repaired", "marked")


def rules(pair: Pair) -> bool:
    """Act by the rules alone."""
    return any(acts(found) for found in findings(pair))


def rules_and_call(pair: Pair) -> bool:
    """Act as with a model that judges every doubtful sentence right: the most the call can add."""
    found = findings(pair)
    return any(map(acts, found)) or (not pair.supported and any(f.doubt for f in found))


CHECKS: dict[str, Check] = {
    "nothing": nothing,
    "rules": rules,
    "rules and a right call": rules_and_call,
}


def measured(check: Check, pairs: Sequence[Pair]) -> tuple[float, float, float]:
    """Return precision, recall, and the share of supported sentences acted upon."""
    acted = [pair for pair in pairs if check(pair)]
    right = sum(not pair.supported for pair in acted)
    unsupported = sum(not pair.supported for pair in pairs)
    supported = len(pairs) - unsupported
    precision = right / len(acted) if acted else 1.0
    return precision, right / unsupported, (len(acted) - right) / supported


def main(arguments: Sequence[str]) -> None:
    """Print the figures of every check; with --misses the sentences it got wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m evals.claims", description="Check the labelled claims."
    )
    parser.add_argument("--misses", action="store_true", help="print what each check got wrong")
    options = parser.parse_args(arguments)
    for title, pairs in (("first set", load()), ("held out", load_held_out())):
        _report(title, pairs, misses=options.misses)


def _report(title: str, pairs: Sequence[Pair], *, misses: bool) -> None:
    kinds = ", ".join(f"{kind} {count}" for kind, count in Counter(p.kind for p in pairs).items())
    print(f"{title}: {len(pairs)} pairs, {sum(p.recorded for p in pairs)} recorded: {kinds}")
    for name, method in CHECKS.items():
        precision, recall, false = measured(method, pairs)
        print(
            f"{name:<28} precision {precision:6.1%}  recall {recall:6.1%}  false marks {false:6.1%}"
        )
        for pair in pairs if misses else ():
            if method(pair) == pair.supported:
                print(f"  {'true' if pair.supported else 'false'} {pair.kind}: {pair.sentence}")


if __name__ == "__main__":
    main(sys.argv[1:])
