"""Read the sums that a writer declares where their values stand: `[=rooms: 2 × 40 + 55 = 135 €]`.

A text that shows ten formulas cannot be read. So code leaves the value, proves the sum, and lists
its line below the text.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import product

from agent.core.patterns import Linear
from agent.core.strings import is_wide
from agent.evidence.citations import MARKER
from agent.evidence.figures import figures
from agent.evidence.formulas import Worked, assumed_numbers, worked
from agent.evidence.number_forms import ENGLISH_NUMBERS, NumberForm, with_times
from agent.evidence.references import CITATION
from agent.evidence.shown_sums import EQUALS, NARROW, tells
from agent.evidence.tables import Change

SIGN = "[="
"""Begins a sum that is declared, and a total that code adds up: that has no sign of equality."""
_LONGEST, _MOST_CITED, _MOST_COLONS, _COLONS = 400, 12, 6, ":："
_ENDS = "[]\n"


@dataclass(frozen=True)
class DeclaredSum:
    """A declared sum: where its sign stands, its line, and the value that its writer tells."""

    start: int
    end: int
    sign: str
    """All of it as it stands in the text."""
    line: str
    """Label, formula and value as they are listed."""
    told: str
    sum: Worked | None
    """None where it cannot be read."""
    assumed: Sequence[str] = ()
    """The numbers that its writer calls assumed: ~7."""
    cited: Sequence[str] = ()
    """What its writer cites for its numbers, as that is written."""

    @property
    def is_right(self) -> bool:
        """Return whether its formula gives the value that is told."""
        return self.sum is not None and _gives(self.sum, self.told)

    @property
    def gives(self) -> set[Decimal]:
        """Return its value, as it is and as it is told: later sums use either."""
        told = (number for one in figures(self.told) for number in (one.value, one.bare))
        return {*told, self.sum.value} if self.sum else set()

    def unknown(self, is_known: Callable[[Decimal], bool]) -> list[Decimal]:
        """Return its numbers that are neither known nor called assumed."""
        assumed = {*map(Decimal, self.assumed)}
        every = dict.fromkeys(self.sum.terms if self.sum else ())
        return [term for term in every if term not in assumed and not is_known(term)]


def declared_sums(text: str, form: NumberForm = ENGLISH_NUMBERS) -> Iterator[DeclaredSum]:
    """Yield the sums that a text declares.

    >>> [(one.told, str(one.sum)) for one in declared_sums("It is [=rooms: 2 × ~40 + 55 = 135 €].")]
    [('135 €', '2 × 40 + 55 = 135')]
    """
    start = text.find(SIGN)
    while start >= 0:
        if found := _read(text, start, form):
            yield found
        start = text.find(SIGN, found.end if found else start + 1)


def unclosed(text: str) -> list[Change]:
    """Return what takes a sign away that no bracket closes in its line: its words stay."""
    changes, start = list[Change](), text.find(SIGN)
    while start >= 0:
        if _inside(text, start) is None:
            changes.append((start, start + len(SIGN), ""))
        start = text.find(SIGN, start + 1)
    return changes


def _inside(text: str, start: int) -> tuple[int, list[tuple[int, int]]] | None:
    """Return where a sign ends, and its citations begin and end; None where nothing closes it."""
    at, cited = start + len(SIGN), list[tuple[int, int]]()
    while True:
        near = text[at : at + _LONGEST]
        at += next((n for n, char in enumerate(near) if char in _ENDS), len(near))
        if text[at : at + 1] != "[":
            return (at + 1, cited) if text[at : at + 1] == "]" else None
        cites = CITATION.match(text, at) or MARKER.match(text, at)
        if not cites or len(cited) == _MOST_CITED:
            return None
        cited.append(cites.span())
        at = cites.end()


def _read(text: str, start: int, form: NumberForm) -> DeclaredSum | None:
    if (closed := _inside(text, start)) is None:
        return None
    (end, cited), at, words = closed, start + len(SIGN), ""
    for begin, behind in cited:
        words += text[at:begin].rstrip()
        at = behind
    line = " ".join(f"{words}{text[at : end - 1]}".split())
    equals = max(map(line.rfind, EQUALS))
    if equals < 0:
        return None
    left = line[:equals].rstrip()
    told = _joined(line[equals + 1 :].strip(), left)
    formula, sum_ = _sum_in(left, told, form)
    if sum_ and not figures(told):
        told = str(sum_).rpartition("= ")[2]
        line = f"{left} = {told}"
    return DeclaredSum(
        start, end, text[start:end], line.replace("~", ""), told, sum_, assumed_numbers(formula),
        [text[begin:behind] for begin, behind in cited],
    )  # fmt: skip


_SIGNS_BEFORE = ("$", "US$", "£")


def _joined(told: str, left: str) -> str:
    """Return a value as it is written: $135 and 8.9万元, 71% behind Chinese words."""
    number, _, unit = told.partition(" ")
    if unit in _SIGNS_BEFORE and number[:1].isdigit():
        return unit + number
    is_han = unit[:1] == "%" and any(map(is_wide, left))
    return (
        number + unit if number[-1:].isdigit() and ((unit and is_wide(unit[0])) or is_han) else told
    )


def _sum_in(left: str, told: str, form: NumberForm) -> tuple[str, Worked | None]:
    """Return the formula behind a label, and what it gives; of a time 6:24 the colon is its own.

    A writer has the numbers of its readers, 1.234,5, or those of a program: what gives its value.
    """
    begins = [0, *(at + 1 for at, char in enumerate(left) if char in _COLONS)][:_MOST_COLONS]
    # Words among its numbers are units only where all of it is no formula.
    for pattern, begin in product((None, _WORDS), begins):
        plain = with_times(left[begin:].replace("~", "").translate(_PLAIN))
        forms = [plain, _english(plain, form)] if form.decimal == "," else [plain]
        read = [found for each in forms if (found := _worked(each, pattern))]
        right = (found for found in read if _gives(found, told))
        if read:
            return left[begin:], next(right, read[0])
    return left, None


def _gives(sum_: Worked, told: str) -> bool:
    read = figures(told)
    return bool(read) and all(tells(one, sum_.value) for one in read)


def _worked(formula: str, words: Linear | None) -> Worked | None:
    plain = _PERCENT.sub(r"(\1/100)", formula)
    found = worked((words.sub(" ", plain) if words else plain).strip())
    return found if found and found.is_sum else None


def _english(formula: str, form: NumberForm) -> str:
    """Return a formula whose numbers are in a form with another sign of fractions in ours."""
    return formula.replace(form.group, "").replace(form.decimal, ".")


_PLAIN = NARROW | dict.fromkeys(map(ord, "\u00a0\u2009\u202f"))
_PERCENT = Linear(r"([\d.,]*\d) ?%")
_WORDS = Linear(r"[^\d.,+\-*/()×÷−–]+")
"""Units and other words between numbers."""
