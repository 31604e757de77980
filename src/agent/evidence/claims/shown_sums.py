"""The sums that a text shows or a judge names, and what they lend to its other statements."""

import math
import re
from calendar import day_name
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from itertools import pairwise

from agent.core.strings import has_any, split_at
from agent.evidence.claims.formulas import (
    assumed_in,
    days_in,
    forms_of,
    formulas_of,
    is_plain,
    is_term,
    may_result,
    one_step,
    parts_of,
    right_result,
    shares_of,
    spans_of,
    tells,
    terms_of,
    value_of,
    values_of,
)
from agent.evidence.claims.judging import Ruling
from agent.evidence.claims.passages import Evidence, Passage
from agent.evidence.claims.statements import Statement, states
from agent.evidence.figures import Figure, distinct, figures
from agent.evidence.language import days_without_year, weekdays_in

_EQUALS = "=＝≈"
_OPERATED = re.compile(r"\d[^=＝≈;；:：]{0,30}?(?:[×*÷/+−]|\s[-–]\s)[^=＝≈;；:：]{0,30}?\d")
_PARTS = re.compile(r"[;；:：，]|,(?!\d)")
_NO_TERM = re.compile(r"[^\d.,+\-*/()×÷−–]")
_ASSUMES = re.compile(
    r"assum|suppos|假设|假定|设为|暂按|[若按][^，。；]{0,12}[计算]|\b(?:if|say|taking)\b",
    re.IGNORECASE,
)
_LONGEST_SUM = 600


@dataclass
class KnownFigures:
    """Hold the figures of an answer that its other statements may use."""

    assumed: Sequence[Figure]
    shown: Sequence[Figure]
    """What right sums give that the text shows: it may be told without them."""
    worked: set[Decimal]
    """What a judge's sums of numbers that stand, and their parts, give: terms of others."""
    sound: Sequence[Figure] = ()
    """Of statements that are borne out."""

    def gives(self, span: str) -> bool:
        """Return whether words are one long number alone that a sum gives: 4,120,910."""
        told = figures(span)
        if len(told) != 1 or sum(map(str.isdigit, told[0].text)) < _LONG_RESULT:
            return False
        [figure] = told
        is_alone = not span.replace(figure.text, "").strip(" ,.;，。；")
        return is_alone and any(figure.value == value for value in self.worked)


@dataclass(frozen=True)
class NamedSums:
    """What the sums give that a judge names for one statement."""

    results: dict[str, Decimal]
    """Of those whose terms are known."""
    unshown: Sequence[Decimal]
    """What the others give: it is neither shown nor wrong."""
    is_whole: bool
    """Whether all could be read."""


def named_sums(
    calc: str, given: Sequence[Figure], own: Sequence[Figure], evidence: Evidence
) -> NamedSums:
    """Return what the sums of a ruling give, each by itself.

    Their terms may be what is given or shares of it, and a statement's own figures.
    """
    named = formulas_of(calc)
    values = {formula: value for formula in named if (value := value_of(formula)) is not None}
    days = [day for formula in values for day in days_in(formula)]
    figures = [*given, *own]
    have = values_of(figures).union(*(spans_of(figure, days) for figure in figures))
    have |= shares_of(given) | assumed_in(calc)
    results = dict[str, Decimal]()
    for formula, value in values.items():
        # What one sum gives may be a term of the next.
        if all(evidence.has_term(term, have) for term in terms_of(formula)):
            results[formula] = value
            have |= {value}
    unshown = [value for formula, value in values.items() if formula not in results]
    return NamedSums(results, unshown, len(values) == len({*named}))


_LONG_RESULT = 4
"""Digits with which a number is hardly another's by chance."""


def values_of_rulings(rulings: Iterable[Ruling], evidence: Evidence) -> set[Decimal]:
    """Return what the sums give that a judge names, and their parts, of numbers that stand."""
    return {
        value
        for one in rulings
        for formula in formulas_of(one.calc)
        if all(map(evidence.has_term, terms_of(formula)))
        for value in parts_of(formula)
    }


def shown_results(statements: Sequence[Statement]) -> list[Figure]:
    """Return the results of right sums that statements show."""
    return distinct(f for one in statements for f in right_results(one.plain[:_LONGEST_SUM]))


def right_results(text: str) -> Iterator[Figure]:
    """Yield the results of sums that a text shows and that are right: later ones may use them."""
    for result, figure, _ in _shown(text):
        if tells(figure, result, text):
            yield figure


def _shown(text: str) -> Iterator[tuple[Decimal, Figure, int]]:
    """Yield what a text's shown sums give, the figure that is told behind, and where they begin."""
    for begin, end, behind in _left_sides(text):
        left = text[begin:end]
        run = _last_run(figures(left), left)
        first = run[0].start if run else 0
        if left.count(")", first) > left.count("(", first):
            first = len(left[:first].rstrip(" ("))
        result = value_of(_in_numbers(left, first, run))
        if result is None:
            continue
        for figure in figures(text[behind:])[:1]:
            yield result, replace(figure, start=behind + figure.start), begin + first


def _in_numbers(left: str, begin: int, terms: Sequence[Figure]) -> str:
    """Return a sum as it is written from somewhere on, with its terms as plain numbers."""
    parts, at = list[str](), begin
    scaled = len({figure.scale for figure in terms}) > 1 and len({f.kind for f in terms}) == 1
    for figure in terms:
        parts += [left[at : figure.start], f"{figure.amount if scaled else figure.value:f}"]
        at = figure.end
    return _NO_TERM.sub("", "".join([*parts, left[at:]]).replace("x", "*"))


def bare_sum(text: str) -> Decimal | None:
    """Return what a text gives that is a sum and no more; a range, 12 – 15, is none."""
    terms = figures(text)
    between = [text[a.end : b.start] for a, b in pairwise(terms)]
    if (
        not between
        or not all(map(_OPERATOR.fullmatch, between))
        or not has_any("".join(between), "×*÷+−x")
        or (text[: terms[0].start] + text[terms[-1].end :]).strip("() ")
        or any(f.date or f.clock is not None for f in terms)
        or not _are_summed(terms, between)
    ):
        return None
    return value_of(_in_numbers(text, 0, terms))


def _last_run(terms: Sequence[Figure], left: str) -> Sequence[Figure]:
    """Return the terms before a sign of equality that stand between operators."""
    at = len(terms) - 1
    while at > 0 and _OPERATOR.fullmatch(left, terms[at - 1].end, terms[at].start):
        at -= 1
    return terms[max(at, 0) :]


def told_as_results(
    found: Sequence[Figure], formulas: Sequence[str], text: str, *, small: bool = False
) -> list[Figure]:
    """Return the figures that may be what sums give: no term of them, no count and no rating.

    With `small` counts, too: they may tell a result ("1 free"), and are never accused.
    """
    return [
        figure
        for figure in found
        if not is_term(figure, formulas)
        and may_result(figure, formulas)
        and (small or states(figure, text))
        and text[figure.start - 1 : figure.start] != "★"
    ]


def is_told(result: Decimal, found: Iterable[Figure], text: str) -> bool:
    """Return whether a result is told: behind its own sum, where the text shows that."""
    own = [figure for value, figure, _ in _shown(text[:_LONGEST_SUM]) if value == result]
    return any(tells(figure, result, text) for figure in own or found)


def is_certain(
    figure: Figure, result: Decimal, text: str, formula: str, known: Iterable[Figure]
) -> bool:
    """Return whether a figure of a text can only be what a sum gives that is named for it.

    It stands behind that sum, or is the one figure of the text, in the unit of a term; and once:
    the same figure elsewhere may be another.
    """
    own = [(told, begin) for value, told, begin in _shown(text[:_LONGEST_SUM]) if value == result]
    terms = terms_of(formula)
    units = {f.kind for f in known if f.kind and not values_of([f]).isdisjoint(terms)}
    is_alone = len(figures(text)) == 1 and figure.kind in units
    is_own = [told.start for told, _ in own] == [figure.start] and not any(
        _is_more(told, result, text[:begin]) for told, begin in own
    )
    return (is_own or is_alone) and times_in(figure.text, text) == 1


def _is_more(told: Figure, result: Decimal, before: str) -> bool:
    """Return whether a number before a sum may belong to it: 3 rooms, for four nights 4 × 110."""
    return told.value in one_step({result, *(figure.value for figure in figures(before))})


def times_in(figure: str, text: str) -> int:
    """Return how often a figure stands in a text."""
    return sum(1 for _ in as_it_stands(figure).finditer(text))


def as_it_stands(figure: str) -> re.Pattern[str]:
    """Return the pattern of a figure that is no part of a longer one."""
    return re.compile(rf"(?<![\d.,]){re.escape(figure)}(?!\d)")


_OPERATOR = re.compile(r"[\s)\]]*(?:[×*÷/+−]|\s[-–x]\s)[\s(\[]*")
_ADDED = "+−–-"
_POINTED, _LEAST_DIGITS = re.compile(r"\d\.\d{3}\b"), 2
_GOES_ON = re.compile(r"\s?[-–~至到×*÷/+−]\s?[$€£¥]?\d|\s?\^")


@dataclass
class Chain:
    """What the sums before have given: right results, and wrong ones with what is right."""

    known: set[Decimal] = field(default_factory=set)
    mended: dict[Decimal, Decimal] = field(default_factory=dict)
    totals: Mapping[int, tuple[Figure, Decimal]] = field(default_factory=dict)
    """The totals of tables that are none, by where they begin, with what the rows give."""


def wrong_results(
    text: str, evidence: Evidence, chain: Chain | None = None
) -> list[tuple[Figure, Decimal]]:
    """Return the figures that are not what the sums give that a text shows, with what these give.

    Only of plain sums of what stands in the evidence or is the result of one before: numbers in one
    unit, or with none, between signs, and one number behind that stands nowhere. Before them may
    stand only counts and what they say again (四人 4 × 110). Behind a wrong result stand the terms
    that go on with one.
    """
    found, chain = list[tuple[Figure, Decimal]](), chain or Chain()
    text = text[:_LONGEST_SUM]
    for begin, end, behind in _left_sides(text):
        left = text[begin:end]
        every, told = figures(left), figures(text[behind:])[:1]
        terms = _last_run(every, left)
        others = every[: len(every) - len(terms)]
        before = {figure.value for figure in others if states(figure, left)}
        is_again = before <= {figure.value for figure in terms}
        if not is_again or not _is_plain_sum(text, left, terms, told, behind):
            continue
        wrong = [(f, chain.mended[f.value]) for f in terms
                 if f.value in chain.mended and not evidence.has(f)]  # fmt: skip
        mended = [replace(f, value=chain.mended[f.value]) if f in dict(wrong) else f for f in terms]
        result = value_of(_in_numbers(left, terms[0].start, mended))
        is_known = result is not None and all(
            evidence.has_term(term) or term in chain.known or figure.value in chain.mended
            for figure in terms
            for term in values_of([figure])
        )
        if result is None or not is_known:
            continue
        if tells(told[0], result, text):
            chain.known |= values_of(told)
        elif not evidence.has(told[0]) and not _is_more(
            told[0], result, text[: begin + terms[0].start]
        ):
            chain.mended[told[0].value] = result
            found += [(told[0], result), *wrong]
    return found


def sums_set_right(text: str, evidence: Evidence, chain: Chain) -> list[tuple[str, str, Decimal]]:
    """Return the wrong figures of the sums that a text shows, how each should read, and its value.

    The same figure elsewhere may be another: of two it is not certain which is wrong.
    """
    found = [
        (figure.text, told, result)
        for figure, result in wrong_results(text, evidence, chain)
        if (told := right_result(figure, result))
    ]
    often = Counter(wrong for wrong, _, _ in found)
    return [one for one in found if times_in(one[0], text) == often[one[0]]]


def _is_plain_sum(
    text: str, left: str, terms: Sequence[Figure], told: Sequence[Figure], behind: int
) -> bool:
    """Return whether numbers between signs stand before a sign of equality, and one behind it."""
    between = [left[a.end : b.start] for a, b in pairwise(terms)]
    return (
        len(terms) > 1
        and bool(told)
        and all(map(_OPERATOR.fullmatch, between))
        and not left[terms[-1].end :].strip(" )]")
        and not text[behind : behind + told[0].start].strip()
        and not _GOES_ON.match(text, behind + told[0].end)
        and not any(f.date or f.clock is not None for f in (*terms, told[0]))
        and not any(_POINTED.search(f.text) for f in terms)
        and sum(map(str.isdigit, told[0].text)) >= _LEAST_DIGITS
        and _are_summed(terms, between)
    )


def _are_summed(terms: Iterable[Figure], between: Iterable[str]) -> bool:
    """Return whether terms that are added are all written in one unit, or some in none."""
    units = {(figure.kind or "", figure.scale) for figure in terms}
    if len(units) == 1 or not has_any("".join(between), _ADDED):
        return True
    return [scale for _, scale in units - {("", Decimal(1))}] == [1]


def wrong_days(text: str, evidence: Evidence) -> list[tuple[str, str]]:
    """Return the days that are told with a wrong weekday, and how they should read.

    Empty where no source has the day: then that may be the wrong one; or where several years may be
    meant.
    """
    return [
        (words, rights[0] if len(rights) == 1 and evidence.has(day) else "")
        for words, rights, day in _told_days(text, evidence)
        if words not in rights and not (_has_no_year(day) and evidence.quotes(words))
    ]


def _has_no_year(figure: Figure) -> bool:
    return figure.date is not None and figure.date[0] is None


def is_right_day(span: str, text: str, evidence: Evidence) -> bool:
    """Return whether words of a text are of a day that sources have, with its right weekday."""
    return any(
        span in words and words in rights and evidence.has(day)
        for words, rights, day in _told_days(text, evidence)
    )


def _told_days(text: str, evidence: Evidence) -> Iterator[tuple[str, list[str], Figure]]:
    """Yield dates with the weekday beside them, as they are told and as they should be.

    One without a year is right if it is so in a year that may be meant.
    """
    dates = [figure for figure in figures(text) if figure.date and all(figure.date[1:])]
    for begin, end, number in weekdays_in(text) if dates else ():
        behind = [f for f in dates if f.start >= end and text[end : f.start] in _BESIDE]
        before = [f for f in dates if f.end <= begin and text[f.end : begin].strip() in _OPENED]
        is_one = not text[:begin].endswith(_EACH)
        for figure in (behind or before)[:1] if is_one else ():
            named, rights = text[begin:end], list[str]()
            first, last = min(begin, figure.start), max(end, figure.end)
            for right in _weekdays(figure, evidence):
                name = day_name[right - 1] if named.isascii() else named[:-1] + _HAN[right - 1]
                told = named if right == number else name
                rights.append(text[first:begin] + told + text[end:last])
            if rights:
                yield text[first:last], rights, figure


def _weekdays(figure: Figure, evidence: Evidence) -> list[int]:
    """Return the weekdays of a date by its year, else by those that sources have of it.

    Without any of the year that is nearest to today, of two where that is far.
    """
    year, month, day = figure.date or (None, None, None)
    years, now, found = {year} if year else evidence.years.get((month, day)), evidence.day, []
    for each in years or ():
        with suppress(ValueError):
            found.append(date(each or 0, month or 0, day or 0))
    if now and not years:
        found = days_without_year(month or 0, day or 0, now)
    return [each.isoweekday() for each in sorted(found)]


_EACH = ("每", "逢", "very ")
_BESIDE, _OPENED, _HAN = (" ", ", ", "", "，", " the "), ("", "(", "（"), "一二三四五六日"


def _left_sides(text: str) -> Iterator[tuple[int, int, int]]:
    """Yield where what is left of each sign of equality begins and ends, and where its right does.

    What stands in clauses before it is no term of it.
    """
    begin = 0
    for sign in (at for at, char in enumerate(text) if char in _EQUALS):
        parts = _PARTS.finditer(text[begin:sign])
        begin += max((part.end() for part in parts), default=0)
        yield begin, sign, sign + 1
        begin = sign + 1


def invented_term(
    statement: Statement,
    passages: Iterable[Passage],
    evidence: Evidence,
    known: KnownFigures,
    assumed: Iterable[Decimal] = (),
) -> str:
    """Return a number of a shown formula that nothing has: no source, question or assumption."""
    text = statement.plain[:_LONGEST_SUM]
    if _ASSUMES.search(text):
        return ""
    stated = [*known.sound, *known.assumed, *known.shown, *evidence.question_figures]
    given = [f for p in passages for f in p.figures]
    stated += given
    values = values_of([*stated, *figures(f"{statement.row} {statement.head}")]) | known.worked
    values |= shares_of([*given, *evidence.question_figures]) | {*assumed}
    each = values_of(given)
    for begin, end, behind in _left_sides(text):
        if _OPERATED.search(text, begin, end):
            terms = figures(text[begin:end])
            for figure in terms:
                if figure.date is None and figure.clock is None:
                    forms = [n for value in values_of([figure]) for n in forms_of(value)]
                    is_known = any(
                        is_plain(n) or n in values or evidence.has_number(n) for n in forms
                    ) or _is_count(figure, values_of(terms), each)
                    if not is_known:
                        return figure.text
        # What a sum gives is a term of the next one.
        values |= values_of(figures(text[behind:])[:1])
    return ""


def _is_count(figure: Figure, own: Iterable[Decimal], given: Iterable[Decimal]) -> bool:
    """Return whether a number is how many it takes: of boats of ten for 215 people 22."""
    return figure.kind in (None, "") and any(
        figure.value == math.ceil(many / each) for many in own for each in given if many > each > 1
    )


def results_in(text: str) -> set[str]:
    """Return the figures behind the signs of equality: results of sums that the text shows."""
    behind = split_at(text[:_LONGEST_SUM], _EQUALS)[1:]
    return {figure.text for part in behind for figure in figures(part)[:1]}
