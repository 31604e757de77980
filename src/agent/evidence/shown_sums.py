"""Read the sums that a text shows, and tell whether a figure is what a sum gives."""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import pairwise

from agent.core.strings import has_any
from agent.evidence.figures import Figure, figures
from agent.evidence.formulas import Worked, day_from, is_plain, values_of, worked
from agent.evidence.written import Date

EQUALS = "=＝≈"
_LONGEST_SUM, _HOUR, _LENGTH = 600, 60, "second"


@dataclass(frozen=True)
class ShownSum:
    """A sum that a text shows, and the figure that it tells behind the sign of equality."""

    sum: Worked
    told: Figure

    @property
    def is_right(self) -> bool:
        return tells(self.told, self.sum.value)


_OPERATOR = re.compile(r"[\s)\]]*(?:[×*÷/+−]|\s[-–x]\s)[\s(\[]*")
NARROW = str.maketrans("＋－＊／（）", "+-*/()")
_NO_TERM = re.compile(r"[^\d.,+\-*/()×÷−–]")


def shown_sums(text: str) -> Iterator[ShownSum]:
    """Yield the sums that a text shows: numbers between signs, and one number behind them.

    What is added is in one unit, or some of it in none; a range and a time are no results.
    """
    text, begin = text[:_LONGEST_SUM].translate(NARROW), 0
    for sign in (at for at, char in enumerate(text) if char in EQUALS):
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
    for _ in range(left.count(")", at) - left.count("(", at)):
        at = max(left.rfind("(", 0, at), 0)
    parts = list[str]()
    for figure in terms:
        parts += [left[at : figure.start], f"{figure.value:f}"]
        at = figure.end
    return _NO_TERM.sub("", "".join([*parts, left[at:]]).replace("x", "*"))


def right_results(text: str) -> list[Figure]:
    """Return the results of right sums that a text shows: later ones may use them."""
    return [one.told for one in shown_sums(text) if one.is_right]


def turned_differences(text: str) -> list[Figure]:
    """Return the results of right differences of two terms the other way round.

    >>> [str(figure.value) for figure in turned_differences("4,443 - 3,813 = 630 USD")]
    ['-630']
    """
    return [
        replace(one.told, value=-one.told.value, text=f"−{one.told.text}")
        for one in shown_sums(text)
        if one.is_right and has_any(one.sum.formula, "-−–") and _is_difference(one.sum)
    ]


def _is_difference(one: Worked) -> bool:
    return len(one.numbers) == _A_FEW and one.value == one.numbers[0] - one.numbers[1]


_FACTORS = tuple(map(Decimal, (1, 60, 100, 3600, 10**3, 10**4, 10**6, 10**8, 10**9)))
_EXACT, _A_FEW, _TENTH, _MOST_COUNTED = Decimal("0.0125"), 2, 10, 12


def tells(figure: Figure, result: Decimal) -> bool:
    """Return whether a figure is the result, rounded as it is written, in whatever unit."""
    if figure.date:
        day = day_from(result)
        is_it = day is not None and is_one_of(figure.date, [(day.year, day.month, day.day)])
        return is_it or result in figure.date
    if figure.clock is not None:
        return result in (Decimal(figure.clock), Decimal(figure.clock) / _HOUR)
    if (
        figure.parts
        and abs(abs(result) * figure.parts[0].factor - figure.amount) <= figure.scale / 2
    ):
        return True  # 112 weeks and 5 days are 112.714 weeks.
    if figure.kind == "percent" and figure.factor == _TENTH:
        # 三成多 are less than four of ten, 近四成 more than three and a half.
        return any(-_TENTH / 2 <= abs(result) * by - figure.amount < _TENTH for by in (1, 100))
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


def is_term(figure: Figure, sums: Sequence[Worked], *, plain: bool = True) -> bool:
    """Return whether a figure is what sums are made of, by choice but for their plain terms."""
    if figure.date:
        days = [(day.year, day.month, day.day) for one in sums for day in one.days]
        return is_one_of(figure.date, days)
    clocks = {minutes for one in sums for minutes in one.clocks}
    every = {number for one in sums for number in one.numbers}
    numbers = every if plain else {number for number in every if not is_plain(number)}
    if figure.clocks or figure.kind == _LENGTH:
        minutes = [*map(Decimal, figure.clocks)] or [abs(figure.amount) / _HOUR, figure.value]
        forms = {form for each in minutes for form in (each, each / _HOUR)}
        return not forms.isdisjoint(clocks | numbers)
    if figure.kind == "percent":
        # 45 % is 0.45, or what is left of 1 or of 0.55.
        numbers |= {form for n in numbers for form in (n * 100, abs(n - 1) * 100)}
    return not numbers.isdisjoint(values_of([figure]))


def may_be_result(figure: Figure, one: Worked) -> bool:
    """Return whether a figure may be what a sum gives, and is none of its terms.

    With a unit it is no such term as 24 or 30; in two units it has other numbers than its value,
    and 4,500 kWh are not the 4.5 of MWh.
    """
    if figure.parts or figure.bare == one.value not in one.terms:
        return True
    is_great = bool(figure.kind) and abs(figure.bare) > _MOST_COUNTED
    return not is_term(figure, [one], plain=not is_great)


def only_compares(one: Worked, found: Sequence[Figure]) -> bool:
    """Return whether a sum is a difference or a share of figures that a text tells.

    The text may tell what it gives without a number: 23 of 42 are more than half. A product or a
    total has to be told: what two people pay is not what one does.
    """
    is_more = has_any(one.formula.translate(NARROW), "+*×·")
    return not is_more and values_of(found).issuperset(one.terms)


def is_one_of(told: Date, days: Iterable[tuple[int, int, int]]) -> bool:
    """Return whether a date, as far as it is told, is one of some days."""
    return any(
        all(part in (None, other) for part, other in zip(told, day, strict=True)) for day in days
    )


def _half_step(said: Decimal, share: Decimal) -> Decimal:
    """Return how far a number may be from what it rounds, given a share of that: half a unit.

    Of a number that ends in zeros, or was cut where it was to be rounded, it is that share, as far
    as its last digit goes; twice that where it is so rounded: 2,000 for 2,050.
    """
    last = last_place(said)
    return max(last_place(said, zeros=True) / 2, min(last, share), min(last / 2, 2 * share))


def digits_of(number: Decimal) -> int:
    """Return how many digits tell a number apart: of 1,000 one, of 1,024 four."""
    return len(number.normalize().as_tuple().digits)


def last_place(said: Decimal, *, zeros: bool = False) -> Decimal:
    """Return one of the last digit of a number that is not zero; with `zeros`, of the last one."""
    number = said if zeros else said.normalize()
    return Decimal(1).scaleb(number.adjusted() - len(number.as_tuple().digits) + 1)
