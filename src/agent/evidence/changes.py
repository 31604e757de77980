"""Say what of an answer is new, gone or has other figures, compared with an earlier one.

Two sentences are taken for the same statement where they share most of their words, whatever their
figures; what else they mean is not read. So a sentence that is worded anew from its first to its
last word counts as one that is gone and one that is new.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

from agent.evidence.claims.statements import Statement, statements
from agent.evidence.figures import Figure, figures, same
from agent.evidence.language import words
from agent.evidence.notation import LINKED

_ALIKE = 0.6
"""Share of common words, twice counted, from which on two sentences are one statement."""
_MOST = 400
"""Statements of an answer that are compared; each is compared with each."""


class OtherFigures(TypedDict):
    before: str
    after: str


class AnswerChanges(TypedDict):
    """Hold what an answer says that an earlier one did not, in plain words without citations."""

    new: list[str]
    gone: list[str]
    figures: list[OtherFigures]
    same: int
    """Statements that both have."""


@dataclass(frozen=True)
class _Said:
    plain: str
    words: frozenset[str]
    figures: Sequence[Figure]

    def is_like(self, other: "_Said") -> float:
        """Return 0 to 1: how much of their words the two share."""
        total = len(self.words) + len(other.words)
        return 2 * len(self.words & other.words) / total if total else 0.0

    def has_figures_of(self, other: "_Said") -> bool:
        return all(any(same(one, its) for its in other.figures) for one in self.figures) and all(
            any(same(its, one) for one in self.figures) for its in other.figures
        )


def answer_changes(before: str, after: str) -> AnswerChanges:
    """Compare the texts of two answers, whose citations are links."""
    old, new = _said(before), _said(after)
    pairs = _pairs(old, new)
    changed = [(old[n], new[m]) for m, n in sorted(pairs.items())]
    other = [(one, its) for one, its in changed if not its.has_figures_of(one)]
    taken = set(pairs.values())
    return AnswerChanges(
        new=[one.plain for m, one in enumerate(new) if m not in pairs],
        gone=[one.plain for n, one in enumerate(old) if n not in taken],
        figures=[OtherFigures(before=one.plain, after=its.plain) for one, its in other],
        same=len(changed) - len(other),
    )


def _said(text: str) -> list[_Said]:
    found: dict[str, _Said] = {}
    for statement in statements(text, LINKED)[:_MOST]:
        plain = _plain(statement)
        # A number is compared by what it is, not by its digits.
        told = frozenset(word for word in words(plain) if not any(map(str.isdigit, word)))
        if told:
            read = [figure for figure in figures(plain) if figure.telling]
            found.setdefault(plain, _Said(plain, told, read))
    return [*found.values()]


def _plain(statement: Statement) -> str:
    """Return a statement as a line that reads alone: a table's cell as "row, column: cell"."""
    about = ", ".join(part for part in (statement.row, statement.head) if part)
    plain = statement.plain.strip()
    return f"{about}: {plain}" if statement.kind == "cell" and about else plain


def _pairs(old: Sequence[_Said], new: Sequence[_Said]) -> dict[int, int]:
    """Return for each new statement the old one it is like most; those most alike first."""
    alike = [
        (score, m, n)
        for m, one in enumerate(new)
        for n, its in enumerate(old)
        if (score := one.is_like(its)) >= _ALIKE
    ]
    pairs: dict[int, int] = {}
    taken: set[int] = set()
    for _, m, n in sorted(alike, key=lambda each: (-each[0], each[1], each[2])):
        if m not in pairs and n not in taken:
            pairs[m] = n
            taken.add(n)
    return pairs
