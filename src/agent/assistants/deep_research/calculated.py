"""Choose what of a run's calculations stands below a report: the sums that its text uses."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property

from agent.assistants.common.tool_results import rounded, short
from agent.core.strings import split_at
from agent.evidence.claims.statements import Statement
from agent.evidence.figures import Figure, figures, same
from agent.evidence.number_forms import ENGLISH_NUMBERS, NumberForm
from agent.evidence.shown_sums import right_results, shown_sums
from agent.evidence.stated import states
from agent.evidence.types import Source

_TWO_PLACES, _TENS, _TELLING, _DIGITS = 2, 10, 100, 4
"""From here on a number is hardly another's by chance, though its sentence cites no sum."""


@dataclass(frozen=True)
class UsedSums:
    """Tell which lines that programs have printed a text uses, and write them as it does.

    `marks` are the citations of programs by their ids.
    """

    body: str
    said: Sequence[Statement]
    marks: Mapping[str, str]
    form: NumberForm = ENGLISH_NUMBERS
    _terms: set[Decimal] = field(default_factory=set)
    """What the lines that are shown are made of."""
    _beside: set[Decimal] = field(default_factory=set)
    """The same of the program at hand."""

    def lines(self, programs: Sequence[Source]) -> dict[str, list[str]]:
        """Return the lines of each program that the text uses, and what these rest on, by its id.

        What the text works out itself is not told again, and a sum but once. What else a program
        gave and the revised text no longer says would contradict it, and so would what a later
        program worked out anew.
        """
        chosen, anew = dict[str, list[str]](), set[str]()
        # What a line rests on was worked out before it.
        for source in reversed(programs):
            lines = rounded(source["quotes"][0]).strip().splitlines()
            is_titled = len(lines) == 1 and not short(lines[0]).endswith("…")
            self._beside.clear()
            for line in () if is_titled else reversed(lines):
                if _label(line) in anew:
                    continue
                if told := self._as_told(line, self.marks.get(source["id"], "")):
                    chosen.setdefault(source["id"], []).insert(0, told)
            anew.update(filter(None, map(_label, lines)))
        shown, once = set[str](), dict[str, list[str]]()
        for name, lines in reversed(chosen.items()):
            for line in lines:
                formula = line.replace("：", ":").rpartition(":")[2].strip()
                if formula not in shown:
                    once.setdefault(name, []).append(line)
                shown.add(formula)
        return once

    @cached_property
    def _worked(self) -> set[Decimal]:
        """Return what the text works out itself."""
        return {figure.value for one in self.said for figure in right_results(one.plain)}

    def _as_told(self, line: str, mark: str) -> str:
        """Return a line as the text tells its figures; empty where it uses none of them."""
        sums = [one for one in shown_sums(line) if one.is_right]
        behind = {text for part in split_at(line, "=＝≈")[1:] for text in _results(part)}
        shown = [f for f in figures(line) if not behind or f.text in behind]
        if sums and {own.value for own in shown} <= self._worked:
            return ""
        pairs = [(own, said) for own in shown if (said := self._said(own, mark))]
        # A later line uses a result as it was before it was rounded.
        results = [*(own.value for own in shown), *(one.sum.value for one in sums)]
        rests = any(value in self._terms and _is_telling(value) for value in results)
        rests = rests or any(value in self._beside and value >= _TENS for value in results)
        if not (pairs or rests):
            return ""
        terms = {f.value for f in figures(line) if f.text not in behind}
        self._terms.update(terms)
        self._beside.update(terms)
        told, at, by_own = "", 0, {own.start: said for own, said in pairs}
        for own in figures(line):
            words = self._words_for(own, by_own.get(own.start), line)
            if words and own.start >= at:
                told += self.form.written(line[at : own.start], self.body, line) + words
                at = own.end
        return told + self.form.written(line[at:], self.body, line)

    def _words_for(self, own: Figure, said: Figure | None, line: str) -> str:
        """Return a program's figure with the text's number, or its sign of the currency.

        A unit in words stays: its case is that of the line.
        """
        is_exact = said is not None and (said.factor, said.kind) == (own.factor, own.kind)
        before, number, behind = _parted(own.text)
        if said and is_exact and abs(own.value) == said.value:
            minus = "" if own.value == said.value else "−"
            told = _parted(said.text)
            if own.is_money and not (told[0] or told[2]):
                # The low end of a range has its unit at the high one, in the text or in both.
                signs = self._currencies.get((own.kind or "", own.factor))
                is_end = own.scale != 1 or not (before.strip("-−") or behind)
                sign = (before.strip("-−"), behind) if is_end or not signs else signs
                return f"{minus}{sign[0]}{told[1]}{sign[1]}"
            if own.is_money or not own.kind:
                return minus + said.text
            is_plain = number and told[1] and not any(map(str.isalpha, number + told[1]))
            return f"{minus}{before.strip('-−')}{told[1]}{behind}" if is_plain else ""
        signs = self._currencies.get((own.kind or "", own.factor))
        if not (signs and number and behind) or own.scale != 1 or before.strip("-−"):
            return ""
        return f"{before}{signs[0]}{self.form.written(number, self.body, line)}{signs[1]}"

    @cached_property
    def _currencies(self) -> dict[tuple[str, Decimal], tuple[str, str]]:
        """Return what the text writes before and behind an amount of each currency."""
        every = (figure for one in reversed(self.said) for figure in figures(one.plain))
        parted = [(f, _parted(f.text)) for f in every if f.is_money and f.scale == 1 and not f.per]
        return {(f.kind or "", f.factor): (before, behind)
                for f, (before, number, behind) in parted
                if number and (before or behind)}  # fmt: skip

    def _said(self, own: Figure, mark: str) -> Figure | None:
        """Return the figure of the text that tells a result: in its unit, as less or as more."""
        for one in self.said:
            for figure in figures(one.plain):
                is_of_it = abs(own.value) >= _TELLING and own.kind in (None, "", figure.kind)
                is_told = states(figure) if mark in one.cited else figure.telling
                is_certain = is_told and (mark in one.cited or is_of_it)
                # A cell's unit may stand in its row's head, or its column's.
                is_bare = one.kind == "cell" and not figure.kind and figure.scale == 1
                if is_certain and (
                    same(_unsigned(figure), _unsigned(own))
                    or (is_bare and abs(own.value) == figure.value)
                ):
                    return figure
        return None


def _label(line: str) -> str:
    """Return what a line calls its result; empty where it gives it no name."""
    label, colon, _ = line.replace("：", ":").partition(":")
    return label.strip().casefold() if colon else ""


def _results(part: str) -> list[str]:
    """Return the figures behind "=" that are results: the first, or all of a mere list.

    Those of another sum behind it are its terms, and a program's "all three" is none.
    """
    numbers = [each.text for each in figures(part) if any(map(str.isdigit, each.text))]
    return numbers[:1] if any(sign in part for sign in _OPERATORS) else numbers


_OPERATORS = (" + ", " - ", " − ", " x ", " × ", " * ", " / ", " ÷ ")


def _is_telling(value: Decimal) -> bool:
    """Return whether a number is hardly another's by chance: a great one, or of many digits."""
    _, digits, exponent = value.as_tuple()
    return value >= _TELLING or len(digits) >= _DIGITS or -int(exponent) > _TWO_PLACES


def _parted(amount: str) -> tuple[str, str, str]:
    """Return what stands before a number, the number, and what stands behind it."""
    digits = [at for at, char in enumerate(amount) if char.isdigit()]
    if not digits:
        return amount, "", ""
    begin, end = digits[0], digits[-1] + 1
    return amount[:begin], amount[begin:end], amount[end:]


def _unsigned(figure: Figure) -> Figure:
    return replace(figure, value=abs(figure.value))
