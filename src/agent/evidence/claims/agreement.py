"""Find where a text still tells what an edit of it has changed: a figure, a day, a name.

Who mends a table seldom thinks of the conclusion. Whether both are about one thing is for a model
to say: here it is only seen that the words stand elsewhere, too.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from agent.core.strings import one_line
from agent.evidence.claims.outcomes import Outcome
from agent.evidence.claims.proof import names_in
from agent.evidence.claims.revision import Edit, Revision, row_name
from agent.evidence.claims.statements import MARKED, Statement
from agent.evidence.figures import Figure, figures, is_one_day

_DIGITS, _MOST, _LONGEST = 3, 12, 160
"""Digits of a number without a unit that is told apart by them, and how much is told."""
_MOST_RESTING = 5
"""They are judged in the calls that the edits themselves need."""
_YEARS = range(1900, 2100)


@dataclass(frozen=True)
class LeftBehind:
    """A statement that still tells what an edit of another one has changed."""

    name: str
    told: str
    """The words in both."""
    changed: str
    """The statement that was edited."""
    now: str
    """What it says by now."""

    def __str__(self) -> str:
        return (
            f"{self.name} tells {self.told}, as {self.changed} did, which now says “{self.now}”: "
            "alike here and wherever it is told, or passed where it is another thing"
        )


def left_behind(
    revision: Revision, statements: Sequence[Statement], outcomes: Sequence[Outcome]
) -> list[LeftBehind]:
    """Return the statements that edits have left with what they changed elsewhere, each once.

    What a statement's own passages have stays right, whatever became of another one.
    """
    edited = {edit.id for edit in revision.edits}
    rest = [
        (one, outcome)
        for one, outcome in zip(statements, outcomes, strict=True)
        if edited.isdisjoint((one.name, row_name(one)))
    ]
    found: dict[str, LeftBehind] = {}
    for edit in revision.edits:
        old = [one for one in statements if edit.id in (one.name, row_name(one))]
        for told, is_told in _exchanged(old, edit):
            now = one_line(edit.text, longest=_LONGEST)
            for one, outcome in rest:
                if (words := is_told(one)) and not _is_borne(words, outcome):
                    found.setdefault(one.name, LeftBehind(one.name, told, edit.id, now))
    return [*found.values()][:_MOST]


Told = Callable[[Statement], str]
"""Returns the words of a statement that tell what was changed; none where it does not."""


def _exchanged(old: Sequence[Statement], edit: Edit) -> list[tuple[str, Told]]:
    """Return what an edit has put something of its kind in the place of, and what tells it."""
    if not (old and edit.text):
        return []
    new = MARKED.pattern.sub("", edit.text)
    before = [figure for one in old for figure in figures(one.plain) if _is_told_apart(figure)]
    after = figures(new)
    gone = [one for one in before if not any(_stands_in(one, other) for other in after)]
    come = [one for one in after if not any(_is_same(one, other) for other in before)]
    kinds = {_kind(figure) for figure in come}
    exchanged = [(one.text, _teller(one)) for one in gone if _kind(one) in kinds]
    names = {name for one in old for name in names_in(one.plain)}, {*names_in(new)}
    lost, won = names[0] - names[1], names[1] - names[0]
    if len(lost) == len(won) == 1:
        [name] = lost
        exchanged.append((name, lambda one: name if name in names_in(one.plain) else ""))
    return exchanged


def _teller(figure: Figure) -> Told:
    return lambda one: next((f.text for f in figures(one.plain) if _is_same(f, figure)), "")


def _is_told_apart(figure: Figure) -> bool:
    """Return whether a figure can be known again: a day, a time, an amount, not a year."""
    if figure.date:
        return bool(figure.date[1])
    digits = sum(map(str.isdigit, figure.text))
    if figure.clock is not None or figure.kind:
        return figure.clock is not None or digits >= _DIGITS - 1
    is_year = figure.text.isdecimal() and figure.value in _YEARS
    return digits >= _DIGITS and not is_year


def _kind(figure: Figure) -> str:
    """Return the kind of a figure; what it is counted by is often left to its place."""
    if figure.date or figure.clock is not None:
        return "day" if figure.date else "time"
    return figure.kind or ""


def _is_same(one: Figure, other: Figure) -> bool:
    if one.date and other.date:
        return is_one_day(one.date, other.date)
    return _kind(one) == _kind(other) and (one.clock, one.amount) == (other.clock, other.amount)


def _stands_in(one: Figure, other: Figure) -> bool:
    """Return whether a figure is still told; a term of a sum (165 − 8 = 157 万元) has no unit."""
    is_term = not other.kind and other.scale == 1 and not (one.date or other.date)
    return _is_same(one, other) or (is_term and one.value == other.value)


def _is_borne(words: str, outcome: Outcome) -> bool:
    """Return whether the passages that a statement rests on have its words or its figure."""
    if outcome.verdict != "supported":
        return False
    told, passages = figures(words), outcome.passages
    if not told:
        return any(words in names_in(passage.text) for passage in passages)
    return any(_is_same(told[0], figure) for passage in passages for figure in passage.figures)


def resting_on(revision: Revision, statements: Sequence[Statement]) -> list[str]:
    """Return the statements that may rest on a figure which an edit has changed: to judge again.

    An order, a choice: the text's first block, and what sums up several sources, of which the
    edited statement cites one.
    """
    edited, changed = {edit.id for edit in revision.edits}, set[str]()
    for edit in revision.edits:
        old = [one for one in statements if edit.id in (one.name, row_name(one))]
        if any(figures(told) for told, _ in _exchanged(old, edit)):
            changed |= {name for one in old for name in one.exact or one.cited}
    found = [
        one.name
        for one in statements
        if edited.isdisjoint((one.name, row_name(one)))
        and (cited := {*(one.exact or one.cited)}) & changed
        and (one.block == statements[0].block or len(cited) > 1)
    ]
    return found[:_MOST_RESTING]


def told_elsewhere(line: str, at: Collection[str], statements: Sequence[Statement]) -> list[str]:
    """Return the other statements that tell a figure which a line on some statements names."""
    named = {figure.text: figure for figure in figures(line) if _is_told_apart(figure)}
    own = [one for one in statements if {one.name, row_name(one)} & {*at}]
    meant = [
        figure
        for figure in named.values()
        if any(_is_same(figure, other) for one in own for other in figures(one.plain))
    ]
    tellers = [_teller(figure) for figure in meant]
    others = (one for one in statements if one not in own)
    return [one.name for one in others if any(is_told(one) for is_told in tellers)][:_MOST]


def taken_out(revision: Revision, answers: Iterable[Collection[str]]) -> list[int]:
    """Return the places of answers, as names of statements, that edits take out as a whole.

    What comes in behind one of them may stand for it.
    """
    gone = {edit.id for edit in revision.edits if not edit.text}
    filled = {insert.after for insert in revision.inserts}
    return [
        place
        for place, names in enumerate(answers)
        if names and gone >= {*names} and filled.isdisjoint(names)
    ]
