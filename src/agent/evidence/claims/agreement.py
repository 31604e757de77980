"""Find the statements that tell one thing again, a figure, a day or a name, and what rests on it.

Who mends a table seldom thinks of the conclusion. Whether both are about one thing is for a model
to say: here it is only seen that they say the same.
"""

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from agent.core.patterns import Linear
from agent.core.strings import one_line
from agent.evidence.claims.outcomes import Outcome
from agent.evidence.claims.statements import MARKED, Statement, row_name
from agent.evidence.figures import Figure, figures
from agent.evidence.language import fold

_DIGITS, _MOST, _LONGEST, _MOST_RESTING = 3, 20, 160, 5
"""Digits of a number without a unit that is told apart by them; how much is told, its characters,
and what is judged in the calls that the edits themselves need."""
_YEARS = range(1900, 2100)
_WORD = r"\p{Lu}[\p{Latin}\p{Cyrillic}\p{Greek}\d'’-]+"
_NAME = Linear(rf"{_WORD}(?: {_WORD})+")
"""Two words in capitals: one alone is any noun in German, or a day of the week."""
_QUOTED = Linear(r'"([^"\n]{2,})"|《([^》\n]{2,})》|「([^」\n]{2,})」')
"""In folded text, where the marks of all languages are one: the one that opens in English closes
in German."""
_MOST_QUOTED = 40


def names_in(text: str) -> list[str]:
    """Return the names in a text that can be told by their letters, folded; none that begins it."""
    return [
        *(
            fold(name[0])
            for name in _NAME.finditer(text)
            if text[: name.start()].rstrip()[-1:] not in ("", *".!?")
        ),
        *(
            next(filter(None, each.groups()))[:_MOST_QUOTED]
            for each in _QUOTED.finditer(fold(text))
        ),
    ]


def meaning_of(figure: Figure) -> tuple[Hashable, ...]:
    """Return what a figure has in common with all others that say the same: 64.00 € and 64 euros.

    A day is one with its year or without; what a number is counted by is often left to its place.
    """
    if figure.date:
        return ("day", *figure.date[1:])
    return figure.kind or "", figure.clock, figure.amount


def can_be_known(figure: Figure) -> bool:
    """Return whether a figure can be known again: a day, a time, an amount, not a year."""
    if figure.date or figure.clock is not None:
        return not figure.date or bool(figure.date[1])
    digits = sum(map(str.isdigit, figure.text))
    is_year = figure.text.isdecimal() and figure.value in _YEARS
    return digits >= _DIGITS - bool(figure.kind) and not is_year


def _meanings(text: str) -> dict[Hashable, str]:
    """Return what a text tells that can be known again, with its words for it."""
    told: dict[Hashable, str] = {meaning_of(f): f.text for f in figures(text) if can_be_known(f)}
    return told | {name: name for name in names_in(text)}


class Tellers:
    """Know which statements tell what can be known again."""

    def __init__(self, statements: Iterable[Statement]) -> None:
        self._of = defaultdict[Hashable, dict[str, tuple[str, str]]](dict)
        for one in statements:
            for meaning, words in _meanings(one.plain).items():
                self._of[meaning][one.name] = row_name(one), words

    def of(self, meaning: Hashable, but: Collection[str] = ()) -> dict[str, str]:
        """Return the names of the statements that tell something, with their words for it.

        None of those named in `but`, by themselves or by their row.
        """
        every = self._of.get(meaning, {}).items()
        told = ((name, words) for name, (row, words) in every if not {name, row} & {*but})
        return dict(islice(told, _MOST))

    def names(self, words: Iterable[str], but: Collection[str] = ()) -> list[str]:
        """Return the names of the statements that tell a figure of some words."""
        every = (figure for text in words for figure in figures(text) if can_be_known(figure))
        return [*dict.fromkeys(n for f in every for n in self.of(meaning_of(f), but))][:_MOST]


def told_elsewhere(line: str, at: Collection[str], statements: Sequence[Statement]) -> list[str]:
    """Return the other statements that tell a figure which a line on some statements names."""
    own = [one for one in statements if {one.name, row_name(one)} & {*at}]
    told = {meaning_of(figure) for one in own for figure in figures(one.plain)}
    named = (figure.text for figure in figures(line) if meaning_of(figure) in told)
    return Tellers(statements).names(named, at)


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
    edits: Sequence[tuple[str, str]], statements: Sequence[Statement], outcomes: Sequence[Outcome]
) -> list[LeftBehind]:
    """Return the statements that edits have left with what they changed elsewhere, each once.

    An edit is the name of a statement or a row, and its new words. What a statement's own passages
    have stays right, whatever became of another one, and what cites others is another thing.
    """
    edited, tellers = {name for name, _ in edits}, Tellers(statements)
    of_name = dict(zip((one.name for one in statements), outcomes, strict=True))
    citing = {one.name: {*(one.exact or one.cited)} for one in statements}
    found: dict[str, LeftBehind] = {}
    for name, text in edits:
        now, own = one_line(text, longest=_LONGEST), citing.get(name, set())
        for meaning, told in _exchanged(name, text, statements).items():
            for other in tellers.of(meaning, edited):
                is_apart = own and citing[other] and own.isdisjoint(citing[other])
                if not (is_apart or _is_borne(meaning, of_name[other])):
                    found.setdefault(other, LeftBehind(other, told, name, now))
    return [*found.values()][:_MOST]


def _exchanged(name: str, text: str, statements: Iterable[Statement]) -> dict[Hashable, str]:
    """Return the figures and the name that an edit has put others of their kind in the place of."""
    before = dict[Hashable, str]()
    for one in (one for one in statements if text and name in (one.name, row_name(one))):
        before |= _meanings(one.plain)
    new = MARKED.pattern.sub("", text)
    after, terms = _meanings(new), {f.value for f in figures(new) if not f.kind and not f.date}
    gone = {
        meaning: told
        for meaning, told in before.items()
        # A term of a sum (165 − 8 = 157 万元) has no unit.
        if not (_is_told(meaning, new, after) or any(f.value in terms for f in figures(told)))
    }
    come = [_kind(meaning) for meaning in after if meaning not in before]
    is_one = come.count("name") == [*map(_kind, gone)].count("name") == 1
    return {m: t for m, t in gone.items() if _kind(m) in come and (is_one or _kind(m) != "name")}


def _kind(meaning: Hashable) -> str:
    if not isinstance(meaning, tuple):
        return "name"
    return "time" if meaning[0] == "" and meaning[1] is not None else str(meaning[0])


def _is_borne(meaning: Hashable, outcome: Outcome) -> bool:
    """Return whether the passages that a statement rests on have a figure or a name."""
    passages = outcome.passages if outcome.verdict == "supported" else ()
    return any(_is_told(meaning, one.text, _meanings(one.text)) for one in passages)


def _is_told(meaning: Hashable, text: str, meanings: Collection[Hashable]) -> bool:
    """Return whether a text has something, a name also where it begins a sentence."""
    return meaning in meanings or (isinstance(meaning, str) and meaning in fold(text))


def resting_on(edits: Sequence[tuple[str, str]], statements: Sequence[Statement]) -> list[str]:
    """Return the statements that may rest on a figure which an edit has changed: to judge again.

    An order, a choice: the text's first block, and what sums up several sources, of which the
    edited statement cites one.
    """
    edited, changed = {name for name, _ in edits}, set[str]()
    for name, text in edits:
        if any(isinstance(told, tuple) for told in _exchanged(name, text, statements)):
            old = (one for one in statements if name in (one.name, row_name(one)))
            changed |= {source for one in old for source in one.exact or one.cited}
    found = [
        one.name
        for one in statements
        if edited.isdisjoint((one.name, row_name(one)))
        and (cited := {*(one.exact or one.cited)}) & changed
        and (one.block == statements[0].block or len(cited) > 1)
    ]
    return found[:_MOST_RESTING]
