"""Prove the sums of an answer: those that a judge names, and those that its text shows."""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import pairwise

from agent.core.strings import has_any
from agent.evidence.claims.formulas import (
    Worked,
    assumed_in,
    day_from,
    formulas_of,
    values_of,
    worked,
)
from agent.evidence.claims.outcomes import Outcome
from agent.evidence.claims.passages import Evidence, Passage
from agent.evidence.claims.statements import Statement, states
from agent.evidence.figures import Figure, distinct, figures, same
from agent.evidence.written import Date

MOST_FIGURES = 40
"""Of one statement."""
_EQUALS, _LONGEST_SUM, _HOUR, _HOURS, _LENGTH = "=＝≈", 600, 60, 24, "second"


def stands(figure: Figure, known: Iterable[Figure], evidence: Evidence) -> bool:
    """Return whether a figure is known or stands in any passage."""
    return any(says(other, figure) for other in known) or evidence.has(figure)


def says(other: Figure, figure: Figure) -> bool:
    """Return whether one figure says another.

    A word may tell the sign of a share or of money, and that a number is an hour.
    """
    if figure.kind == other.kind and (figure.kind == "percent" or figure.is_money):
        return same(figure, other) or abs(figure.amount) == abs(other.amount)
    is_hour = not figure.kind and figure.clock is None and figure.value <= _HOURS
    return same(figure, other) or (is_hour and figure.value % _HOURS * _HOUR in other.clocks)


def bounds(figure: Figure, known: Iterable[Figure]) -> bool:
    """Return whether a round figure is near a known one: under 600 m for 560 m, nearly 300 TB."""
    place = _last_place(figure.value) * figure.scale
    return any(
        other.kind == figure.kind and abs(other.amount - figure.amount) < place
        for other in known
        if figure.clock is None and not (figure.date or other.date) and other.clock is None
    )


# --- what a text shows -------------------------------------------------------------------------


@dataclass(frozen=True)
class ShownSum:
    """A sum that a text shows, and the figure that it tells behind the sign of equality."""

    sum: Worked
    told: Figure

    @property
    def is_right(self) -> bool:
        return tells(self.told, self.sum.value)


_OPERATOR = re.compile(r"[\s)\]]*(?:[×*÷/+−]|\s[-–x]\s)[\s(\[]*")
_NO_TERM = re.compile(r"[^\d.,+\-*/()×÷−–]")


def shown_sums(text: str) -> Iterator[ShownSum]:
    """Yield the sums that a text shows: numbers between signs, and one number behind them.

    What is added is in one unit, or some of it in none; a range and a time are no results.
    """
    text, begin = text[:_LONGEST_SUM], 0
    for sign in (at for at, char in enumerate(text) if char in _EQUALS):
        left, told = text[begin:sign], figures(text[sign + 1 :])[:1]
        terms = figures(left)
        at = len(terms) - 1
        while at > 0 and _OPERATOR.fullmatch(left, terms[at - 1].end, terms[at].start):
            at -= 1
        terms = terms[max(at, 0) :]
        if told and _is_plain(left, terms):
            found, end = worked(_in_numbers(left, terms)), sign + 1 + told[0].end
            is_behind = not text[sign + 1 : sign + 1 + told[0].start].strip()
            if found and is_behind and told[0].clock is None:
                yield ShownSum(found, replace(told[0], start=end - len(told[0].text), end=end))
        begin = sign + 1


def _is_plain(left: str, terms: Sequence[Figure]) -> bool:
    between = "".join(left[a.end : b.start] for a, b in pairwise(terms))
    units = {(figure.kind or "", figure.scale) for figure in terms}
    in_one = len(units) == 1 or [scale for _, scale in units - {("", Decimal(1))}] == [1]
    return (
        len(terms) > 1
        and (in_one or not has_any(between, "+−–-"))
        and not left[terms[-1].end :].strip(" )]")
        and all(figure.date is None and figure.clock is None for figure in terms)
    )


def _in_numbers(left: str, terms: Sequence[Figure]) -> str:
    """Return a sum as it is written, with its terms as plain numbers."""
    at = terms[0].start
    if left.count(")", at) > left.count("(", at):
        at = len(left[:at].rstrip(" ("))
    parts = list[str]()
    for figure in terms:
        parts += [left[at : figure.start], f"{figure.value:f}"]
        at = figure.end
    return _NO_TERM.sub("", "".join([*parts, left[at:]]).replace("x", "*"))


def right_results(text: str) -> list[Figure]:
    """Return the results of right sums that a text shows: later ones may use them."""
    return [one.told for one in shown_sums(text) if one.is_right]


def wrong_sums(text: str, calc: str, evidence: Evidence, lent: Sequence[Figure]) -> list[ShownSum]:
    """Return the shown sums of known numbers that tell another figure than they give.

    What stands in a source may be of something else, unless the judge names the sum; and a figure
    before a sum may belong to it: 3 rooms, for four nights 4 × 110.
    """
    wrong = [one for one in shown_sums(text) if not one.is_right]
    have = values_of(lent if wrong else ()) | assumed_in(calc)
    named = {one.value for formula in formulas_of(calc) if (one := worked(formula))}
    return [
        one
        for one in wrong
        if all(evidence.has_term(term, have) for term in one.sum.terms)
        and (one.sum.value in named or not evidence.has(one.told))
        and not any(one.told.value == one.sum.value * f.value for f in figures(text))
        and len(as_it_stands(one.told.text).findall(text)) == 1
    ]


def as_it_stands(figure: str) -> re.Pattern[str]:
    """Return the pattern of a figure that is no part of a longer one."""
    return re.compile(rf"(?<![\d.,]){re.escape(figure)}(?!\d)")


# --- what a judge names ------------------------------------------------------------------------


def computed(
    statement: Statement,
    calc: str,
    passages: tuple[Passage, ...],
    evidence: Evidence,
    lent: Sequence[Figure],
) -> Outcome:
    """Return a statement as computed where the terms of its sums are known and it tells what they
    give.

    It is missing only where as many figures as the sums' results, or one alone, that are neither
    terms nor known stand in their place.
    """
    text, own = statement.plain, distinct(figures(statement.plain))[:MOST_FIGURES]
    given = [*(f for p in passages for f in p.figures), *evidence.question_figures, *lent]
    have = values_of(given) | assumed_in(calc)
    have |= {value / 2 for value in have}
    unchecked, sums = Outcome("unchecked", passages=passages), list[Worked]()
    named = [worked(formula) for formula in formulas_of(calc)]
    for one in (*named, *(shown.sum for shown in shown_sums(text) if shown.is_right)):
        if one and all(evidence.has_term(term, have) for term in one.terms):
            sums.append(one)
            have.add(one.value)
    if not any(one.is_sum for one in sums if one in named):
        return unchecked
    numbers = {number for one in sums for number in one.terms}
    untold = [
        one
        for one in sums
        if one.value not in numbers & values_of(own)
        and not any(
            tells(f, one.value) and (f.value == one.value or states(f, text))
            for f in own
            if not _is_term(f, [one])
        )
    ]
    explained = {part for one in sums for part in (*one.parts, one.value)}
    strange = [
        figure
        for figure in own
        if not _is_term(figure, sums)
        and states(figure, text)
        and not any(tells(figure, value) for value in explained)
        and not stands(figure, given, evidence)
    ]
    if not untold:
        return unchecked if strange else Outcome("computed", passages=passages)
    fitting = [figure for figure in strange if bool(figure.date) == bool(untold[0].day)
               and (figure.clock is None or untold[0].clocks)]  # fmt: skip
    if None in named or len(fitting) not in (1, len(untold)):
        return unchecked
    spans, value = tuple(figure.text for figure in fitting), "; ".join(map(str, untold))
    return Outcome("missing", spans, passages=passages, value=value)


def _is_term(figure: Figure, sums: Sequence[Worked]) -> bool:
    """Return whether a figure is what sums are made of."""
    if figure.date:
        days = [(day.year, day.month, day.day) for one in sums for day in one.days]
        return _is_one_of(figure.date, days)
    clocks = {minutes for one in sums for minutes in one.clocks}
    numbers = {number for one in sums for number in one.numbers}
    if figure.clock is not None:
        minutes = Decimal(figure.clock)
        return (
            not clocks.isdisjoint(figure.clocks) or minutes in numbers or minutes / _HOUR in numbers
        )
    if figure.kind == _LENGTH:
        forms = {figure.value, abs(figure.amount) / _HOUR, abs(figure.amount) / _HOUR**2}
        return not forms.isdisjoint(clocks | numbers)
    if figure.kind == "percent":
        # 45 % is 0.45, or what is left of 1 or of 0.55.
        numbers |= {form for n in numbers for form in (n * 100, abs(n - 1) * 100)}
    return not numbers.isdisjoint(values_of([figure]))


# --- what tells a number -----------------------------------------------------------------------

_FACTORS = tuple(map(Decimal, (1, 60, 100, 3600, 10**3, 10**4, 10**6, 10**8, 10**9)))
_EXACT, _A_FEW = Decimal("0.0125"), 2


def tells(figure: Figure, result: Decimal) -> bool:
    """Return whether a figure is the result, rounded as it is written, in whatever unit."""
    if figure.date:
        day = day_from(result)
        is_it = day is not None and _is_one_of(figure.date, [(day.year, day.month, day.day)])
        return is_it or result in figure.date
    if figure.clock is not None:
        return result in (Decimal(figure.clock), Decimal(figure.clock) / _HOUR)
    if figure.kind in (None, "person") and figure.value == math.ceil(result) > _A_FEW:
        # 215 people need 22 boats of ten.
        return True
    return any(
        abs(said - value) <= _half_step(said, value * _EXACT)
        # Of counts 215 is not 214.
        and not (said % 10 and said % 1 == value % 1 == 0 and said != value)
        for value in _told_as(figure, abs(result))
        for said in (abs(figure.bare), abs(figure.value))
    )


def _told_as(figure: Figure, result: Decimal) -> Iterator[Decimal]:
    """Yield the numbers as which a result may be told in a figure's unit.

    Only what has a unit is a hundredth of it, or of sixty: ★4.4 is not 440.
    """
    for factor in _FACTORS:
        if factor in (60, 3600) and figure.kind != _LENGTH:
            continue
        yield result * factor
        if figure.kind or abs(figure.bare) < 1 or factor != 100:
            yield result / factor


def _is_one_of(told: Date, days: Iterable[tuple[int, int, int]]) -> bool:
    """Return whether a date, as far as it is told, is one of some days."""
    return any(
        all(part in (None, other) for part, other in zip(told, day, strict=True)) for day in days
    )


def _half_step(said: Decimal, share: Decimal) -> Decimal:
    """Return how far a number may be from what it rounds, given a share of that: half a unit.

    Of a number that ends in zeros, or was cut where it was to be rounded, it is that share, as far
    as its last digit goes.
    """
    return max(_last_place(said, zeros=True) / 2, min(_last_place(said), share))


def _last_place(said: Decimal, *, zeros: bool = False) -> Decimal:
    """Return one of the last digit of a number that is not zero; with `zeros`, of the last one."""
    number = said if zeros else said.normalize()
    return Decimal(1).scaleb(number.adjusted() - len(number.as_tuple().digits) + 1)


_TOKEN, _MOST_APART = re.compile(r"\d+(?:[.,]\d+)*"), 8


def put_right(text: str, told: Figure, number: Decimal) -> str | None:
    """Return a text with another number in a figure's place, written as that one is.

    None where the figure is told twice, in words, or in another unit than the number is.
    """
    tokens, found = _TOKEN.findall(told.text), as_it_stands(told.text).findall(text)
    forms = (number, number / (told.scale / told.factor), number * 100)
    near = [form for form in forms if told.value / _MOST_APART < form < told.value * _MOST_APART]
    if len(tokens) != 1 or len(found) != 1 or told.date or not near:
        return None
    best = min(near, key=lambda form: max(form / told.value, told.value / form))
    is_pointed = Decimal(tokens[0].replace(",", "")) == told.value
    group, mark = ",." if is_pointed else ".,"
    rest = tokens[0].rpartition(mark)[2] if mark in tokens[0] else ""
    places = len(rest) or min(2, max(0, -int(best.normalize().as_tuple().exponent)))
    written = f"{best:{',' * (group in tokens[0])}.{places}f}"
    written = written.translate(str.maketrans(",.", group + mark))
    return as_it_stands(told.text).sub(told.text.replace(tokens[0], written), text)
