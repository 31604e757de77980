"""Work out a sum that a judge names, exactly, and bounded in length and depth."""

import ast
import math
import operator
import re
from calendar import monthrange
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import date
from decimal import Decimal, InvalidOperation
from itertools import combinations

from agent.evidence.figures import Figure
from agent.evidence.language import with_places
from agent.evidence.units import is_ratio
from agent.evidence.written import Date

_LONGEST, _LONGEST_LIST, _DEEPEST, _HOUR, _DAY_SECONDS = 120, 600, 12, 60, 86400
_WRITTEN = re.compile(r"[\d\s.+\-*/()]+")
_DAYS = re.compile(r"(work)?days\(\s*(\d{4})-(\d\d?)-(\d\d?)\s*,\s*(\d{4})-(\d\d?)-(\d\d?)\s*\)")
_ASSUMED = re.compile(r"~\s?(\d+(?:\.\d+)?)")
_DAY = re.compile(r"(?<!\d)(\d{4})-(\d\d?)-(\d\d?)(?!\d)")
_SHIFTED = re.compile(_DAY.pattern + r"((?:\s*[-+]\s*\d{1,4}\s*[dwmyb]\b)+)")
_SHIFT = re.compile(r"([-+])\s*(\d+)\s*([dwmyb])")
_FIRST_DAY, _LAST_DAY = date(1900, 1, 1).toordinal(), date(2199, 12, 31).toordinal()
_CLOCK = re.compile(r"(?<![\d:])(\d\d?):(\d\d)(?![\d:])")
_GROUPS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_SIGNS = str.maketrans({"×": "*", "÷": "/", "−": "-", "–": "-"})
_OPERATIONS: dict[type[ast.operator], Callable[[Decimal, Decimal], Decimal]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


_PRINTED = re.compile(r"print\(((?:[^()]|\([^()]*\))+)\)")
_SIGN = re.compile(r"(?<=[\d)])\s*([-+*/])\s*")
_WRITTEN_SIGNS = {"-": "−", "+": "+", "*": "×", "/": "÷"}
_LONG_NUMBER = re.compile(r"(?<![\d.,])[1-9]\d{4,}(?![\d,])")
_BETWEEN = re.compile(r"[;；、]|,(?!\d{3}(?!\d))(?![^()]*\))")


def formulas_of(written: str) -> list[str]:
    """Return the sums that a judge names, of a range both: 12*30; 12*45.

    >>> formulas_of("12*30, 12*45")
    ['12*30', '12*45']
    >>> formulas_of("days(2026-03-01,2026-11-22)+1,200")
    ['days(2026-03-01,2026-11-22)+1,200']
    """
    parts = _BETWEEN.split(written[:_LONGEST_LIST].replace("~", ""))
    return [part.strip() for part in parts if part.strip()]


def assumed_in(written: str) -> set[Decimal]:
    """Return the numbers that a judge's sums take from a statement's own assumption: ~1500*0.4."""
    return set(map(Decimal, _ASSUMED.findall(_GROUPS.sub("", written[:_LONGEST_LIST]))))


def value_of(formula: str) -> Decimal | None:
    """Return the value of a sum of numbers with + - * / ( ) and days(a,b); else None.

    A time, 6:24, counts its minutes; a day, 2026-11-06, all days before it: see `day_of`. Weeks,
    months and years are added to a day as the calendar has them: 2026-01-31+1m is 2026-02-28. Of
    working days, Monday to Friday, `+10b` adds ten; workdays(a,b) counts them, b but not a.

    >>> value_of("(61-44)/44*100").quantize(Decimal("0.1"))
    Decimal('38.6')
    """
    formula = _plain(formula)
    if not formula or len(formula) > _LONGEST or "**" in formula:
        return None
    try:
        formula = _in_numbers(formula)
        if not _WRITTEN.fullmatch(formula):
            return None
        return _value(ast.parse(formula, mode="eval").body, _DEEPEST)
    except (SyntaxError, ValueError, ArithmeticError, InvalidOperation, RecursionError):
        return None


def day_of(formula: str, value: Decimal) -> date | None:
    """Return the day that a sum with a day in it gives; else None.

    >>> day_of("2026-11-06+30", value_of("2026-11-06+30"))
    datetime.date(2026, 12, 6)
    """
    return _day(value) if days_in(formula) else None


def clocks_in(formula: str) -> set[int]:
    """Return the times of a sum, in minutes: what it gives is one, or how long it takes."""
    return {int(hour) * _HOUR + int(minute) for hour, minute in _CLOCK.findall(_plain(formula))}


def told_value(formula: str, value: Decimal) -> str:
    """Return what a sum gives as people write it.

    >>> told_value("5:00-3:30", Decimal(90)), told_value("2*1500", Decimal(3000))
    ('1:30', '3,000')
    """
    if day := day_of(formula, value):
        return str(day)
    if clocks_in(formula) and value >= 0 and value == int(value):
        return f"{int(value) // _HOUR}:{int(value) % _HOUR:02}"
    return f"{round(value, 4).normalize():,f}"


def _day(value: Decimal) -> date | None:
    is_one = _FIRST_DAY <= value <= _LAST_DAY and value == int(value)
    return date.fromordinal(int(value)) if is_one else None


def days_in(formula: str) -> list[tuple[int, int, int]]:
    """Return the days of a sum that are terms of it, as year, month and day."""
    found = _DAY.findall(_DAYS.sub("", _plain(formula)))
    return [(int(year), int(month), int(day)) for year, month, day in found]


def parts_of(formula: str) -> list[Decimal]:
    """Return the values of a sum and of all that it is put together from."""
    values, text = list[Decimal](), _plain(formula)
    if (value := value_of(formula)) is None or _DAY.search(text):
        return [] if value is None else [value]
    text = _CLOCK.sub(_minutes, text)
    for node in ast.walk(ast.parse(text, mode="eval")):
        if isinstance(node, ast.BinOp):
            with suppress(ValueError, ArithmeticError, InvalidOperation):
                values.append(_value(node, _DEEPEST))
    return values


def terms_of(formula: str) -> list[Decimal]:
    """Return the numbers that a sum is made of; days have none."""
    rest = _DAY.sub("", _DAYS.sub("", _plain(formula)))
    return [Decimal(number) for number in _NUMBER.findall(rest)]


def one_step(numbers: Iterable[Decimal]) -> set[Decimal]:
    """Return the sums, differences, products and whole quotients of each two of some numbers."""
    found = set[Decimal]()
    for one, other in combinations({*numbers} - {Decimal(0)}, 2):
        quotients = (one / other, other / one)
        found |= {one + other, abs(one - other), one * other}
        found |= {each for each in quotients if each == round(each, 2)}
    return found


def is_sum(formula: str) -> bool:
    """Return whether anything is worked out."""
    return bool(re.search(r"[-+*/]|days", _plain(formula)))


def written_sum(program: str) -> str:
    """Return a program that is one sum of numbers as people write it; else nothing.

    >>> written_sum("print(82103 - 59600*0.5)")
    '82,103 − 59,600 × 0.5'
    """
    if len(program) > 2 * _LONGEST:
        return ""
    bare = _PRINTED.fullmatch(program.strip())
    text = (bare[1] if bare else program).strip()
    if not is_sum(text) or value_of(text) is None or "=" in text:
        return ""
    return _SIGN.sub(lambda match: f" {_WRITTEN_SIGNS[match[1]]} ", grouped(text))


def grouped(text: str) -> str:
    """Return a text with commas between the thousands of numbers of five digits and more."""
    return _LONG_NUMBER.sub(lambda match: f"{int(match[0]):,}", text)


def _plain(formula: str) -> str:
    text = with_places(formula[: 2 * _LONGEST])[0].translate(_SIGNS).split("=")[0]
    return _GROUPS.sub("", text).replace("%", "").strip()


def _in_numbers(formula: str) -> str:
    formula = _SHIFTED.sub(_shifted, _DAYS.sub(_days, formula))
    return _CLOCK.sub(_minutes, _DAY.sub(_ordinal, formula))


def _ordinal(match: re.Match[str]) -> str:
    return f"({date(*map(int, match.groups())).toordinal()})"


def _shifted(match: re.Match[str]) -> str:
    day = date(*map(int, match.groups()[:3]))
    for sign, count, unit in _SHIFT.findall(match[4]):
        day = _shift(day, int(sign + count), unit)
    return f"({day.toordinal()})"


_DAYS_OF, _MONTHS_OF, _WORKING, _SATURDAY = {"d": 1, "w": 7}, {"m": 1, "y": 12}, 5, 6


def working_days(first: date, last: date) -> int:
    """Return how many days from Monday to Friday come after a day, up to a later one.

    >>> working_days(date(2026, 12, 4), date(2026, 12, 14))
    6
    """
    weeks, rest = divmod((last - first).days, 7)
    return weeks * _WORKING + sum(
        (first.isoweekday() + by - 1) % 7 + 1 < _SATURDAY for by in range(1, rest + 1)
    )


def _work_on(day: date, count: int) -> date:
    """Return the day so many working days later; before, where the count is less than none."""
    step = 1 if count > 0 else -1
    weeks, rest = divmod(abs(count) - 1, _WORKING) if count else (0, -1)
    number = day.toordinal() + step * 7 * weeks
    while rest >= 0:
        number += step
        rest -= date.fromordinal(number).isoweekday() < _SATURDAY
    return date.fromordinal(number)


def _shift(day: date, count: int, unit: str) -> date:
    """Return the day so many days, weeks, months or years later; a month's last day at most."""
    if unit == "b":
        return _work_on(day, count)
    if unit in _DAYS_OF:
        return date.fromordinal(day.toordinal() + count * _DAYS_OF[unit])
    year, month = divmod(day.year * 12 + day.month - 1 + count * _MONTHS_OF[unit], 12)
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))


def _days(match: re.Match[str]) -> str:
    first, last = (date(*map(int, match.groups()[i : i + 3])) for i in (1, 4))
    if match[1] and first <= last:
        return f"({working_days(first, last)})"
    return f"({(last - first).days})"


def _minutes(match: re.Match[str]) -> str:
    return f"({int(match[1]) * _HOUR + int(match[2])})"


def _value(node: ast.AST, depth: int) -> Decimal:
    if depth == 0:
        raise ValueError("too deep")
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return Decimal(str(node.value))
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
        left, right = _value(node.left, depth - 1), _value(node.right, depth - 1)
        return _OPERATIONS[type(node.op)](left, right)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand, depth - 1)
    raise ValueError(type(node).__name__)


_PLAIN_TERMS = frozenset(
    map(Decimal, [*range(13), 24, 30, 52, 60, 100, 365, 1000, 3600, 10000])
) | {Decimal("0.5")}
"""What units have of each other, and small counts."""
_PERCENT = Decimal(100)
_FACTORS = tuple(map(Decimal, (1, 60, 100, 3600, 10**3, 10**4, 10**6, 10**8, 10**9)))
_EXACT, _HEDGED = Decimal("0.012"), Decimal("0.05")
_ABOUT = re.compile(r"about|around|nearly|almost|roughly|约|近|多|余|左右|≈", re.IGNORECASE)
_BEFORE = 14


def values_of(found: Iterable[Figure]) -> set[Decimal]:
    """Return the numbers that figures may be as terms of a sum: of times hours and minutes."""
    values = set[Decimal]()
    for figure in (reading for one in found for reading in one.readings):
        if figure.date:
            values |= {Decimal(part) for part in figure.date if part}
        elif figure.clock is not None:
            values |= {Decimal(part) for time in figure.clocks for part in divmod(time, _HOUR)}
        else:
            values |= {figure.value, figure.bare, figure.amount, abs(figure.value)}
            if figure.kind == "second":
                values |= {*divmod(figure.amount / _HOUR, _HOUR), figure.amount / _DAY_SECONDS}
    return values


def shares_of(found: Iterable[Figure]) -> set[Decimal]:
    """Return the halves of some figures, and what their percentages take of them and leave."""
    plain = [f for f in found if f.date is None and f.clock is None]
    percents = [f.value / _PERCENT for f in plain if f.kind == "percent"][:_MOST_PERCENTS]
    parts = {Decimal("0.5"), *percents, *(1 - share for share in percents)}
    values = {f.value for f in plain if f.kind != "percent"}
    return {value * part for value in values for part in parts}


_MOST_PERCENTS = 4
_CALENDAR = {"month": "m", "year": "y"}


def spans_of(figure: Figure, days: Iterable[tuple[int, int, int]]) -> set[Decimal]:
    """Return how many days a figure's months or years are from some days on, and back."""
    unit, count, spans = _CALENDAR.get(figure.kind or ""), figure.value, set[Decimal]()
    if not unit or count != int(count):
        return spans
    for day in (date(*parts) for parts in days):
        for signed in (int(count), -int(count)):
            with suppress(ValueError, OverflowError):
                other = _shift(day, signed, unit)
                spans.add(Decimal(abs(other.toordinal() - day.toordinal())))
    return spans


def forms_of(term: Decimal) -> list[Decimal]:
    """Return the numbers that a term may be written for: of 2,360 also 2.36, of 1.15 also 15 %."""
    great = [factor for factor in _FACTORS if factor >= 1000]
    scaled = [form for factor in great for form in (term / factor, term * factor)]
    return [term, term * 100, abs(term - 1) * 100, *scaled]


def is_term(figure: Figure, formulas: Sequence[str]) -> bool:
    """Return whether a figure is what sums are made of; of a time hour and minutes are no terms."""
    days = [day for formula in formulas for day in days_in(formula)]
    if figure.date:
        return is_one_of(figure.date, days)
    clocks = {minutes for formula in formulas for minutes in clocks_in(formula)}
    if clocks.intersection(figure.clocks):
        return True
    terms = {term for one in formulas for term in terms_of(_CLOCK.sub("", _plain(one)))}
    if figure.clock is not None:
        return not terms.isdisjoint({Decimal(figure.clock), Decimal(figure.clock) / _HOUR})
    if clocks and figure.kind == _LENGTH:
        return bool({abs(figure.amount) / _HOUR} & {*clocks, *terms})
    if not figure.kind and figure.value * _HOUR in clocks:
        return True
    values = values_of([figure]) | spans_of(figure, days)
    if figure.kind == _LENGTH:
        # 2 h 25 min is no term of 25 + 100.
        parts = {*divmod(abs(figure.amount) / _HOUR, _HOUR)} - {Decimal(0)}
        values = {value for value in values if value not in parts or parts <= terms}
    if figure.kind == "percent":
        # 45 % is 0.45, or what is left of 1 or of 0.55.
        terms |= {form for term in terms for form in (term * 100, abs(term - 1) * 100)}
    return not terms.isdisjoint(values)


def gives(formula: str, found: Iterable[Figure]) -> str:
    """Return whether a sum of times certainly gives a "length" or a "time"; else nothing.

    Some figures tell which of its terms are times, and which are lengths.
    """
    told, terms = [*found], clocks_in(formula)
    times = terms & {minutes for figure in told for minutes in figure.clocks}
    lengths = terms & {int(abs(f.amount) / _HOUR) for f in told if f.kind == _LENGTH}
    if times & lengths or times | lengths < terms:
        return ""
    if not times or (len(times) == _BOTH_ENDS and "+" not in formula):
        return _A_LENGTH
    return _A_TIME if len(times) == 1 else ""


_A_LENGTH, _A_TIME = "length", "time"
_BOTH_ENDS = 2


def minutes_between(found: Iterable[Figure]) -> set[Decimal]:
    """Return how many minutes lie between each two times of day."""
    clocks = {figure.clock for figure in found if figure.clock is not None}
    return {Decimal(abs(one - other)) for one, other in combinations(clocks, 2)}


def may_result(figure: Figure, formulas: Iterable[str]) -> bool:
    """Return whether sums may give a figure: between two times lies no temperature."""
    return not any(map(clocks_in, formulas)) or figure.kind in (None, "", _LENGTH)


_LENGTH = "second"


def is_plain(term: Decimal) -> bool:
    """Return whether a term needs no source: what units have of each other, a small count."""
    return term in _PLAIN_TERMS or is_ratio(term)


def tells(figure: Figure, result: Decimal, text: str) -> bool:
    """Return whether a figure is the result, rounded as it is written, in whatever unit."""
    if figure.date:
        return result in figure.date or _is_day(figure.date, result)
    if figure.clock is not None:
        return result in (Decimal(figure.clock), Decimal(figure.clock) / _HOUR)
    if figure.kind in (None, "person") and figure.value == math.ceil(result) > _A_FEW:
        # 215 people need 22 boats of ten.
        return True
    near = text[max(0, figure.start - _BEFORE) : figure.end + _BEFORE]
    share = _HEDGED if _ABOUT.search(near) else _EXACT
    and_more = _AND_MORE.search(text, figure.start, figure.end + _BEHIND)
    return any(
        (abs(said - value) <= _half_step(said, value * share)
         and not (share == _EXACT and _are_counts(said, value) and said != value))
        or (and_more and said <= value < said + _last_place(said))
        for value in _told_as(figure, abs(result))
        for said in (abs(figure.bare), abs(figure.value))
    )  # fmt: skip


_AND_MORE, _BEHIND = re.compile(r"[\d一二三四五六七八九十百千万]\s?[多余几]"), 2
"""20 多: from twenty up to thirty."""


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


_A_FEW = 2


def _are_counts(said: Decimal, value: Decimal) -> bool:
    """Return whether both are whole, and what is told is not rounded: 215 is not 214."""
    return said % 10 != 0 and said % 1 == 0 and value % 1 == 0


def _is_day(told: Date, result: Decimal) -> bool:
    day = _day(result)
    return day is not None and is_one_of(told, [(day.year, day.month, day.day)])


def is_one_of(told: Date, days: Iterable[tuple[int, int, int]]) -> bool:
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
