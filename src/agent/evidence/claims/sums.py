"""Prove the sums of an answer: those that a judge names, and those that its text shows."""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import combinations, pairwise

from agent.core.strings import has_any
from agent.evidence.claims.formulas import (
    Worked,
    assumed_in,
    day_from,
    forms_of,
    formulas_of,
    is_plain,
    values_of,
    worked,
)
from agent.evidence.claims.outcomes import Outcome
from agent.evidence.claims.passages import KNOWN, Evidence, Passage
from agent.evidence.claims.statements import Statement, must_stand, states
from agent.evidence.figures import Figure, distinct, figures, same
from agent.evidence.language import fold
from agent.evidence.written import Date

MOST_FIGURES = 40
"""Of one statement."""
_EQUALS, _LONGEST_SUM, _HOUR, _LENGTH = "=＝≈", 600, 60, "second"
_PERCENT, _MOST_PERCENTS = Decimal(100), 4


@dataclass
class Lent:
    """Hold what the other statements of an answer lend to each."""

    assumed: Sequence[Figure]
    worked: set[Decimal]
    """What a judge's sums of numbers that stand, and their parts, give."""
    sound: Sequence[Figure] = ()
    """Of statements that are borne out, and what right sums give that the text shows."""

    def gives(self, span: str) -> bool:
        """Return whether words are one long number alone that a sum gives: 4,120,910."""
        told = figures(span)
        is_alone = len(told) == 1 and not span.replace(told[0].text, "").strip(" ,.;，。；")
        return is_alone and told[0].value in self.worked and told[0].value >= _LONG_RESULT


_LONG_RESULT = 1000
"""From here on a number is hardly another's by chance."""


def worked_by(calcs: Iterable[str], evidence: Evidence) -> set[Decimal]:
    """Return what a judge's sums give, and their parts, of numbers that stand."""
    sums = (worked(formula) for calc in calcs for formula in formulas_of(calc))
    return {
        value
        for one in sums
        if one and all(map(evidence.has_term, one.terms))
        for value in one.parts
    }


# --- what a text shows -------------------------------------------------------------------------


@dataclass(frozen=True)
class ShownSum:
    """A sum that a text shows, and the figure that it tells behind the sign of equality."""

    sum: Worked
    told: Figure
    before: str
    """The text that stands before it."""

    @property
    def is_right(self) -> bool:
        return tells(self.told, self.sum.value, self.told.text)


_OPERATOR = re.compile(r"[\s)\]]*(?:[×*÷/+−]|\s[-–x]\s)[\s(\[]*")
_NO_TERM = re.compile(r"[^\d.,+\-*/()×÷−–]")
_GOES_ON = re.compile(r"\s?[-–~至到×*÷/+−]\s?[$€£¥]?\d|\s?\^")


def shown_sums(text: str) -> Iterator[ShownSum]:
    """Yield the sums that a text shows: numbers between signs, and one number behind them.

    What is added is in one unit, or some of it in none; a range and a time are no results.
    """
    text, begin = text[:_LONGEST_SUM], 0
    for sign in (at for at, char in enumerate(text) if char in _EQUALS):
        left, told = text[begin:sign], figures(text[sign + 1 :])[:1]
        every = figures(left)
        at = max(len(every) - 1, 0)
        while at and _OPERATOR.fullmatch(left, every[at - 1].end, every[at].start):
            at -= 1
        terms = every[at:]
        if terms and told and _is_plain(left, terms):
            end = sign + 1 + told[0].end
            is_behind = not text[sign + 1 : sign + 1 + told[0].start].strip()
            first = terms[0].start
            if left.count(")", first) > left.count("(", first):
                first = len(left[:first].rstrip(" ("))
            found = worked(_in_numbers(left, first, terms))
            if found and is_behind and not _GOES_ON.match(text, end) and told[0].clock is None:
                figure = replace(told[0], start=end - len(told[0].text), end=end)
                yield ShownSum(found, figure, text[: begin + first])
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


def _in_numbers(left: str, begin: int, terms: Sequence[Figure]) -> str:
    """Return a sum as it is written from somewhere on, with its terms as plain numbers."""
    parts, at = list[str](), begin
    scaled = len({figure.scale for figure in terms}) > 1 and len({f.kind for f in terms}) == 1
    for figure in terms:
        parts += [left[at : figure.start], f"{figure.amount if scaled else figure.value:f}"]
        at = figure.end
    return _NO_TERM.sub("", "".join([*parts, left[at:]]).replace("x", "*"))


def right_results(text: str) -> list[Figure]:
    """Return the results of right sums that a text shows: later ones may use them."""
    return [one.told for one in shown_sums(text) if one.is_right]


def wrong_sums(text: str, evidence: Evidence, lent: Lent) -> list[tuple[Figure, Worked, str]]:
    """Return the figures that are not what a shown sum of known numbers gives, and what is right.

    What stands in a source may be of something else, and a number before a sum may belong to it:
    3 rooms, for four nights 4 × 110. Of two that are alike it is not certain which is wrong.
    """
    have = lent.worked | values_of(lent.sound)
    return [
        (one.told, one.sum, right)
        for one in shown_sums(text)
        if not one.is_right
        and all(evidence.has_term(term, have) for term in one.sum.terms)
        and not evidence.has(one.told)
        and all(one.told.value != one.sum.value * f.value for f in figures(one.before))
        and times_in(one.told.text, text) == 1
        and (right := right_result(one.told, one.sum.value))
    ]


def times_in(figure: str, text: str) -> int:
    """Return how often a figure stands in a text."""
    return sum(1 for _ in as_it_stands(figure).finditer(text))


def as_it_stands(figure: str) -> re.Pattern[str]:
    """Return the pattern of a figure that is no part of a longer one."""
    return re.compile(rf"(?<![\d.,]){re.escape(figure)}(?!\d)")


# --- what a judge names ------------------------------------------------------------------------


def computed(
    statement: Statement, calc: str, passages: Sequence[Passage], evidence: Evidence, lent: Lent
) -> Outcome:
    """Return a statement as computed where the terms of its sums are known and it tells what they
    give.

    It is missing only where one figure alone, neither a term nor known, could be the result, or
    where a term of a sum that it shows stands nowhere.
    """
    text, own = statement.plain, distinct(figures(statement.plain))[:MOST_FIGURES]
    given = [*(f for p in passages for f in p.figures), *evidence.question_figures, *lent.sound]
    named = [one for formula in formulas_of(calc) if (one := worked(formula))]
    is_whole = len(named) == len(formulas_of(calc))
    shown = [one.sum for one in shown_sums(text) if one.is_right]
    have = values_of([*given, *own, *figures(statement.said)]) | lent.worked
    have |= _shares_of(given) | assumed_in(calc)
    sums, unknown = list[Worked](), list[Worked]()
    for one in [*named, *shown]:
        known = all(evidence.has_term(term, have) for term in one.terms)
        (sums if known else unknown).append(one)
        have |= {one.value} if known else set()
    if not any(one.is_sum for one in sums if one in named):
        return Outcome("unchecked", passages=tuple(passages))
    beside = _Beside(text, own, sums, unknown, [*given, *own])
    outcome = (
        _not_told(beside, statement, passages, evidence, lent, is_whole=is_whole)
        if beside.untold and beside.rest
        else _told(beside, passages, evidence, given, is_whole=is_whole)
    )
    known_figures = [*given, *lent.assumed, *figures(f"{statement.row} {statement.head}")]
    values = values_of(known_figures) | _shares_of(given) | assumed_in(calc) | lent.worked
    if invented := _invented(text, values, values_of(f for p in passages for f in p.figures),
                             evidence):  # fmt: skip
        also = outcome if outcome.value else Outcome("missing", passages=tuple(passages))
        return replace(also, spans=tuple(dict.fromkeys((invented, *also.spans))))
    return outcome


class _Beside:
    """Tell what the figures of a statement are beside its sums."""

    def __init__(
        self,
        text: str,
        own: Sequence[Figure],
        sums: Sequence[Worked],
        unknown: Sequence[Worked],
        given: Sequence[Figure],
    ) -> None:
        self.text, self.own, self.sums, self.given = text, own, sums, given
        with_clocks = any(one.clocks for one in sums)
        free = [
            figure
            for figure in own
            if not _is_term(figure, sums)
            and not (with_clocks and figure.kind not in (None, "", _LENGTH))
            and text[figure.start - 1 : figure.start] != "★"
        ]
        self.terms = {term for one in sums for term in one.terms}
        self.untold = [one for one in sums if not self._is_told(one)]
        explained = [part for one in sums for part in (*one.parts, one.value)]
        self.rest = [
            figure
            for figure in free
            if states(figure, text) and not any(tells(figure, v, text) for v in explained)
        ]
        told = [f for f in self.rest if any(tells(f, one.value, text) for one in unknown)]
        self.is_open = bool(told)
        """Whether a figure may be what a sum gives of which a term is not known."""
        self.rest = [figure for figure in self.rest if figure not in told]

    def _is_told(self, one: Worked) -> bool:
        """Return whether a figure tells what a sum gives; it may be a term of the next one."""
        others = (f for f in self.own if not _is_term(f, [one]))
        is_term = one.value in self.terms & values_of(self.own)
        return is_term or any(tells(figure, one.value, self.text) for figure in others)


def _told(
    beside: _Beside,
    passages: Sequence[Passage],
    evidence: Evidence,
    given: Sequence[Figure],
    *,
    is_whole: bool,
) -> Outcome:
    """Return right sums as computed unless a figure beside them stands nowhere.

    One more step with their numbers may give it. Beside a sum of times, a length is a reserve of
    the writer's: nothing is said of it.
    """
    values = {*beside.terms, *(part for one in beside.sums for part in one.parts)}
    clocks = {Decimal(f.clock) for f in beside.own if f.clock is not None}
    steps = _one_step(values | values_of(f for f in beside.own if f not in beside.rest))
    steps |= _one_step(clocks)
    strange = [
        figure
        for figure in beside.rest
        if not (figure.date or figure.clock is not None)
        and must_stand(figure, beside.text)
        and steps.isdisjoint(values_of([figure]))
        and not stands(figure, given, evidence)
    ]
    is_reserve = any(s.clocks for s in beside.sums) and all(f.kind == _LENGTH for f in strange)
    if beside.is_open or (strange and (not is_whole or is_reserve)):
        return Outcome("unchecked", passages=tuple(passages))
    spans = tuple(figure.text for figure in strange)
    return Outcome("missing" if strange else "computed", spans, passages=tuple(passages))


def _not_told(
    beside: _Beside,
    statement: Statement,
    passages: Sequence[Passage],
    evidence: Evidence,
    lent: Lent,
    *,
    is_whole: bool,
) -> Outcome:
    """Return sums as missing where figures, as many as they are or one alone, stand in their place.

    What a source that decides has of the same thing is its own figure: 36 CPU there, not 36 GB.
    """
    unchecked = Outcome("unchecked", passages=tuple(passages))
    given = {_gives_time(one, beside.given) for one in beside.untold}
    is_day = any(one.day for one in beside.untold)
    rest = [
        figure
        for figure in beside.rest
        if bool(figure.date) == is_day and (is_day or given == {figure.clock is not None})
    ]
    sources = {KNOWN, *statement.cited, *(passage.source for passage in passages)}
    near = [passage for passage in evidence.passages if passage.source in sources]
    known = [*evidence.question_figures, *lent.sound]
    accused = [
        figure
        for figure in rest
        if not any(says(other, figure) for other in known)
        and not any(_has_as_it_is(passage, figure, beside.text) for passage in near)
    ]
    own_values = values_of(beside.own)
    if not accused and all(is_plain(n) or {*forms_of(n)} & own_values for n in beside.terms):
        # Whoever tells each term tells the result, too.
        accused = rest
    if not is_whole or len(accused) not in (1, len(beside.untold)):
        return unchecked
    [result, *others], figure = beside.untold, accused[0]
    units = {f.kind for f in beside.given if f.kind and not beside.terms.isdisjoint(values_of([f]))}
    is_sure = not others and len(figures(beside.text)) == 1 and figure.kind in units
    right = right_result(figure, result.value, is_length=bool(result.clocks)) if is_sure else ""
    return Outcome("missing", tuple(one.text for one in accused), tuple(passages),
                   value="; ".join(map(str, beside.untold)),
                   right=((figure.text, right),) if right else ())  # fmt: skip


def _invented(text: str, values: set[Decimal], each: Iterable[Decimal], evidence: Evidence) -> str:
    """Return a number of a shown sum that nothing has: no source, question or assumption.

    It may be how many it takes: of boats of ten for 215 people 22.
    """
    for shown in shown_sums(text):
        numbers = shown.sum.numbers
        counts = {Decimal(math.ceil(a / b)) for a in numbers for b in each if a > b > 1}
        for number in numbers:
            if not evidence.has_term(number, values) and number not in counts:
                told = [f for f in figures(text) if number in values_of([f])]
                shorter = min(told, key=lambda f: len(f.text), default=None)
                return shorter.text if shorter else ""
        # What a sum gives is a term of the next one.
        values = values | values_of([shown.told])
    return ""


def _one_step(numbers: Iterable[Decimal]) -> set[Decimal]:
    """Return the sums, differences, products and whole quotients of each two of some numbers."""
    found = set[Decimal]()
    for one, other in combinations({*numbers} - {Decimal(0)}, 2):
        quotients = (one / other, other / one)
        found |= {one + other, abs(one - other), one * other}
        found |= {each for each in quotients if each == round(each, 2)}
    return found


def _shares_of(found: Iterable[Figure]) -> set[Decimal]:
    """Return the halves of some figures, and what their percentages take of them and leave."""
    plain = [f for f in found if f.date is None and f.clock is None]
    percents = [f.value / _PERCENT for f in plain if f.kind == "percent"][:_MOST_PERCENTS]
    parts = {Decimal("0.5"), *percents, *(1 - share for share in percents)}
    values = {f.value for f in plain if f.kind != "percent"}
    return {value * part for value in values for part in parts}


def _is_term(figure: Figure, sums: Sequence[Worked]) -> bool:
    """Return whether a figure is what sums are made of; of a time hour and minutes are no terms."""
    if figure.date:
        days = [(day.year, day.month, day.day) for one in sums for day in one.days]
        return _is_one_of(figure.date, days)
    clocks = {Decimal(minutes) for one in sums for minutes in one.clocks}
    numbers = {number for one in sums for number in one.numbers}
    if not clocks.isdisjoint(map(Decimal, figure.clocks)):
        return True
    if figure.clock is not None:
        return not numbers.isdisjoint({Decimal(figure.clock), Decimal(figure.clock) / _HOUR})
    if clocks and figure.kind == _LENGTH:
        return abs(figure.amount) / _HOUR in clocks | numbers
    if clocks and not figure.kind and figure.value * _HOUR in clocks:
        return True
    values = values_of([figure])
    if figure.kind == _LENGTH:
        # 2 h 25 min is no term of 25 + 100.
        parts = {*divmod(abs(figure.amount) / _HOUR, _HOUR)} - {Decimal(0)}
        values = {value for value in values if value not in parts or parts <= numbers}
    if figure.kind == "percent":
        # 45 % is 0.45, or what is left of 1 or of 0.55.
        numbers |= {form for n in numbers for form in (n * 100, abs(n - 1) * 100)}
    return not numbers.isdisjoint(values)


def _gives_time(one: Worked, given: Iterable[Figure]) -> bool:
    """Return whether a sum of times gives a time: one of them is none that something takes."""
    lengths = {int(abs(f.amount) / _HOUR) for f in given if f.kind == _LENGTH}
    return len(one.clocks - lengths) == 1


_WORD_BEHIND = re.compile(r"\s?([^\W\d_]+)")


def _has_as_it_is(passage: Passage, figure: Figure, text: str) -> bool:
    """Return whether a passage has a figure in its unit, or before the same word."""
    word = _WORD_BEHIND.match(text, figure.end)
    for other in figures(passage.text):
        if says(other, figure) and figure.kind in (other.kind, None, ""):
            behind = _WORD_BEHIND.match(passage.text, other.end)
            if figure.kind or not (word and behind) or fold(word[1]) == fold(behind[1]):
                return True
    return False


def stands(figure: Figure, known: Iterable[Figure], evidence: Evidence) -> bool:
    """Return whether a figure is known or stands in any passage."""
    return any(says(other, figure) for other in known) or evidence.has(figure)


_HOURS = 24


def says(other: Figure, figure: Figure) -> bool:
    """Return whether one figure says another.

    A word may tell the sign of a share or of money, and that a number is an hour.
    """
    if figure.kind == other.kind and (figure.kind == "percent" or figure.is_money):
        return same(figure, other) or abs(figure.amount) == abs(other.amount)
    is_hour = not figure.kind and figure.clock is None and figure.value <= _HOURS
    return same(figure, other) or (is_hour and figure.value % _HOURS * _HOUR in other.clocks)


# --- what tells a number -----------------------------------------------------------------------

_FACTORS = tuple(map(Decimal, (1, 60, 100, 3600, 10**3, 10**4, 10**6, 10**8, 10**9)))
_EXACT = Decimal("0.0125")
_AND_MORE, _BEFORE, _BEHIND, _A_FEW = (
    re.compile(r"[\d一二三四五六七八九十百千万]\s?[多余几]"),
    14,
    2,
    2,
)
"""20 多: from twenty up to thirty."""


def tells(figure: Figure, result: Decimal, text: str) -> bool:
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
    and_more = _AND_MORE.search(text, figure.start, figure.end + _BEHIND)
    return any(
        (abs(said - value) <= _half_step(said, value * _EXACT)
         and not (_are_counts(said, value) and said != value))
        or (and_more and said <= value < said + _last_place(said))
        for value in _told_as(figure, abs(result))
        for said in (abs(figure.bare), abs(figure.value))
    )  # fmt: skip


def _told_as(figure: Figure, result: Decimal) -> Iterator[Decimal]:
    """Yield the numbers as which a result may be told in a figure's unit.

    Only what has a unit is a hundredth of it, or of sixty: ★4.4 is not 440.
    """
    for factor in _FACTORS:
        if factor in (60, 3600) and figure.kind != _LENGTH:
            continue
        yield result * factor
        if figure.kind or abs(figure.bare) < 1 or factor != _PERCENT:
            yield result / factor


def _are_counts(said: Decimal, value: Decimal) -> bool:
    """Return whether both are whole, and what is told is not rounded: 215 is not 214."""
    return said % 10 != 0 and said % 1 == 0 and value % 1 == 0


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


_TOKEN = re.compile(r"\d+(?:[.,]\d+)*")
_MOST_APART, _MOST_PLACES, _ROUNDED = 8, 2, Decimal("0.005")


def rewritten(figure: Figure, number: Decimal) -> str:
    """Return a figure's words with another number in them, grouped and as exact as it is written.

    Empty where that is no plain number in digits.
    """
    tokens = _TOKEN.findall(figure.text)
    if len(tokens) != 1 or figure.date or number < 0 or figure.value <= 0:
        return ""
    [token] = tokens
    for group, mark in ((",", "."), (".", ",")):
        whole, _, rest = token.replace(group, "").partition(mark)
        if mark not in rest and Decimal(f"{whole}.{rest or 0}") == figure.value:
            places = next((p for p in range(len(rest), _MOST_PLACES)
                           if abs(round(number, p) - number) <= number * _ROUNDED),
                          max(len(rest), _MOST_PLACES))  # fmt: skip
            written = f"{number:{',' * (group in token)}.{places}f}"
            written = written.translate(str.maketrans(",.", group + mark))
            return figure.text.replace(token, written)
    return ""


def right_result(figure: Figure, result: Decimal, *, is_length: bool = False) -> str:
    """Return a wrong result of a sum as it should read, in the unit in which it is written.

    Empty where it may be in another unit; of times, a result is in minutes.
    """
    if is_length:
        forms = [result * _HOUR / figure.scale] if figure.kind == _LENGTH else []
    else:
        forms = [result, result / (figure.scale / figure.factor)]
        forms += [result * _PERCENT] if figure.kind == "percent" else []
    said = figure.value
    near = (form for form in forms if said / _MOST_APART < form < said * _MOST_APART)
    best = min(near, key=lambda form: max(form / said, said / form), default=None)
    return rewritten(figure, best) if best is not None else ""
