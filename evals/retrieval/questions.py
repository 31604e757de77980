"""The labelled questions, and what a list of hits is worth for one of them."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from agent.knowledge.types import KnowledgeHit

SET = Path(__file__).with_name("questions.jsonl")
DEPTH = 5
CROSS = "cross"
"""The language of questions that only documents in the other language answer."""


@dataclass(frozen=True)
class Label:
    """A passage that answers: a file of the sample, and words that stand in it."""

    document: str
    contains: str

    def names(self, hit: KnowledgeHit) -> bool:
        """Whether the hit is this passage; line breaks of a PDF do not count."""
        kept = "/".join(Path(hit.document["path"]).parts[-2:])
        return kept == self.document and _joined(self.contains) in _joined(hit.chunk["text"])


@dataclass(frozen=True)
class Question:
    """`kind` says what makes it hard: exact, paraphrase, number, name, typo, long."""

    id: str
    text: str
    language: str
    kind: str
    relevant: tuple[Label, ...]

    def recall(self, hits: Sequence[KnowledgeHit], depth: int = DEPTH) -> float:
        """The share of the labelled passages among the first hits."""
        found = [any(label.names(hit) for hit in hits[:depth]) for label in self.relevant]
        return sum(found) / len(found)

    def reciprocal_rank(self, hits: Sequence[KnowledgeHit]) -> float:
        """1 where the first hit answers, 1/2 where the second does, …, 0 where none does."""
        for place, hit in enumerate(hits, 1):
            if any(label.names(hit) for label in self.relevant):
                return 1 / place
        return 0.0


def load() -> list[Question]:
    """All questions, in the order of the file."""
    return [_question(line) for line in SET.read_text(encoding="utf-8").splitlines()]


def _question(line: str) -> Question:
    row = json.loads(line)
    labels = tuple(Label(label["document"], label["contains"]) for label in row["relevant"])
    return Question(row["id"], row["question"], row["lang"], row["kind"], labels)


def _joined(text: str) -> str:
    return "".join(text.split())
