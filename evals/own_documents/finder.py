"""A model that compares documents as well as their labels do, and is the sample's in all else.

It quotes both sides of every labelled contradiction, and a pair of which one side stands nowhere:
what reaches the writer tells which quotes code takes.
"""

from dataclasses import dataclass
from typing import Any

from agent.sample.model.request import Model, ModelReply, ModelTurn
from agent.sample.model.text import block, task_of
from evals.own_documents import sets

TASK = "own_differences"
_MADE_UP = "4711"


@dataclass
class Finder:
    """Answer the one task from the labels, the others as `inner` does."""

    inner: Model
    label: sets.Label

    def respond(self, turn: ModelTurn) -> ModelReply:
        """Return the labelled pairs as far as the documents shown have them."""
        if task_of(turn) != TASK:
            return self.inner.respond(turn)
        _, *passages = f"\n{block(turn.user, 'documents')}".split("\n[^")
        rows = [_parted(passage) for passage in passages]
        found: list[dict[str, Any]] = []
        for pair in self.label["contradictions"]:
            sides = [_quoted(pair[side]["words"], rows) for side in ("a", "b")]
            if all(sides):
                (first, first_words), (second, second_words) = sides
                told = {"about": pair["about"], "first": first, "second": second}
                words = {"first_words": first_words, "second_words": second_words}
                found += [{**told, **words}, {**told, **words, "second_words": _MADE_UP}]
        return ModelReply(json={"differences": found})


def _parted(passage: str) -> tuple[str, str]:
    """Return the id and the text of a passage as it is shown, without its document's end."""
    name, _, text = passage.partition("] ")
    return name, text.partition("\n</document>")[0]


def _quoted(words: str, rows: list[tuple[str, str]]) -> tuple[str, str]:
    """Return the passage that says this and its words; of pieces all from first to last."""
    for name, text in rows:
        if sets.stands(words, text):
            pieces = words.split("|")
            begin = text.find(pieces[0])
            end = text.find(pieces[-1], begin) + len(pieces[-1])
            return name, text[begin:end] if 0 <= begin < end else pieces[0]
    return "", ""
