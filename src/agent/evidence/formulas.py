"""Work out a sum that a judge names, exactly, and bounded in length and depth."""

import ast
import operator
import re
from calendar import monthrange
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import lru_cache

from agent.core.strings import has_any, split_at, without_digit_groups
from agent.evidence.figures import Figure
from agent.evidence.language import with_places
from agent.evidence.units import EVERYDAY, is_ratio

_LONGEST, _LONGEST_LIST, _DEEPEST, _HOUR, _DAY_SECONDS = 120, 600, 64, 60, 86400
_BETWEEN = re.compile(r"[;；、]|,(?!\d{3}(?!\d))(?![^()]*\))")
_ASSUMED = re.compile(r"~\s?[$€£¥]?(\d+(?:\.\d+)?)")
_WRITTEN = re.compile(
    r"(?<!\d)(?P<day>\d{4}-\d\d?-\d\d?)(?!\d)|(?<![\d:])(?P<time>\d\d?:\d\d)(?![\d:])"
    r"|(?<![\w.])(?P<count>\d+)(?P<unit>[dwmyb])\b"
)
_SIGNS = str.maketrans({"×": "*", "÷": "/", "−": "-", "–": "-"})
_OPERATIONS: dict[type[ast.operator], Callable[[Decimal, Decimal], Decimal]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
}  # fmt: skip


@dataclass(frozen=True)
class Worked:
    """A sum worked out: what it gives, and what it is made of."""

    formula: str
    value: Decimal
    parts: Sequence[Decimal]
    """The values of all that it is put together from."""
    numbers: Sequence[Decimal]
    days: Sequence[date]
    clocks: frozenset[int]
    """Its times, in minutes: what it gives is one, or how long it takes."""
    is_sum: bool
    """Whether anything is worked out."""

    @property
    def terms(self) -> list[Decimal]:
        """Return its numbers, and of its times hours and minutes."""
        return [*self.numbers, *(Decimal(n) for t in self.clocks for n in divmod(t, _HOUR))]

    @property
    def day(self) -> date | None:
        """Return the date that comes out, if there is a date among the terms; else None."""
        return day_from(self.value) if self.days else None

    def __str__(self) -> str:
        """Return it with what it gives, as people write that."""
        value = self.value
        told = f"{round(value, 4).normalize():,f}"
        if self.clocks and value >= 0 and value == int(value):
            told = f"{int(value) // _HOUR}:{int(value) % _HOUR:02}"
        return f"{self.formula} = {self.day or told}"


def formulas_of(written: str) -> list[str]:
    """Return the sums that a judge names, of a range both: 12*30; 12*45.

    >>> formulas_of("12*30, 12*45")
    ['12*30', '12*45']
    >>> formulas_of("days(2026-03-01,2026-11-22)+1,200")
    ['days(2026-03-01,2026-11-22)+1,200']

    What stands before a colon without a digit is no part of one: the prompt says what a sum is.

    >>> formulas_of("assumed: 4*30; in all: 6:24+1:42")
    ['4*30', '6:24+1:42']
    """
    parts = _BETWEEN.split(written[:_LONGEST_LIST].replace("~", "").replace("：", ":"))
    sums = map(_without_label, parts)
    return list(dict.fromkeys(part for part in sums if part))


def _without_label(part: str) -> str:
    label, _, rest = part.partition(":")
    return part.strip() if any(map(str.isdigit, label)) else (rest or label).strip()


def assumed_in(written: str) -> set[Decimal]:
    """Return the numbers that a judge's sums take from a statement's own assumption: ~1500*0.4."""
    return set(map(Decimal, assumed_numbers(written)))


def assumed_numbers(written: str) -> list[str]:
    """Return the numbers that sums call assumed, each once: of ~1500*0.4 that is 1500."""
    found = _ASSUMED.findall(without_digit_groups(written[:_LONGEST_LIST]))
    return list(dict.fromkeys(found))


@lru_cache(1024)
def worked(formula: str) -> Worked | None:
    """Return a sum of numbers with + - * / ( ) and days(a,b), worked out; None where it is none.

    A time, 6:24, counts its minutes; a day, 2026-11-06, all days before it. Weeks, months and
    years are added to a day as the calendar has them: 2026-01-31+1m is 2026-02-28. Of working
    days, Monday to Friday, `+10b` adds ten; workdays(a,b) counts them, b but not a.

    >>> str(worked("2026-11-06+30")), str(worked("5:00-3:30")), str(worked("2*1500"))
    ('2026-11-06+30 = 2026-12-06', '5:00-3:30 = 1:30', '2*1500 = 3,000')
    """
    plain = _plain(formula)
    if not plain or len(plain) > _LONGEST:
        return None
    try:
        return _Reader().read(formula, plain)
    except (ValueError, ArithmeticError, SyntaxError, TypeError, MemoryError):
        return None


def value_of(formula: str) -> Decimal | None:
    """Return the value of a sum; None where it is none.

    >>> value_of("(61-44)/44*100").quantize(Decimal("0.1"))
    Decimal('38.6')
    """
    found = worked(formula)
    return found.value if found else None


def is_sum(formula: str) -> bool:
    """Return whether anything is worked out."""
    return has_any(_plain(formula), "+-*/") or "days" in formula


def _plain(formula: str) -> str:
    text = with_places(formula[: 2 * _LONGEST])[0].translate(_SIGNS).split("=")[0]
    return without_digit_groups(text).replace("%", "").strip()


class _Reader:
    """Read a sum as Python would, of what it may be made of alone, working it out."""

    def __init__(self) -> None:
        self._parts, self._numbers = list[Decimal](), list[Decimal]()
        self._days, self._clocks, self._is_sum = list[date](), set[int](), False

    def read(self, formula: str, plain: str) -> Worked:
        value = self._value(ast.parse(_WRITTEN.sub(_as_call, plain), mode="eval").body, _DEEPEST)
        parts = [value] if self._days else [*self._parts, value]
        return Worked(formula, value, parts, self._numbers, self._days,
                      frozenset(self._clocks), self._is_sum)  # fmt: skip

    def _value(self, node: ast.AST, depth: int) -> Decimal:
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            self._numbers.append(Decimal(str(node.value)))
            return self._numbers[-1]
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and depth:
            return -self._value(node.operand, depth - 1)
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS and depth:
            self._is_sum = True
            left, term = self._value(node.left, depth - 1), node.right
            if _name_of(term) in _UNITS and isinstance(node.op, ast.Add | ast.Sub):
                [count] = _constants(term)
                self._numbers.append(Decimal(count))
                sign = 1 if isinstance(node.op, ast.Add) else -1
                return _shifted(left, sign * count, _UNITS[_name_of(term)])
            self._parts.append(_OPERATIONS[type(node.op)](left, self._value(term, depth - 1)))
            return self._parts[-1]
        if _name_of(node) == "time":
            hour, minute = _constants(node)
            self._clocks.add(hour * _HOUR + minute)
            return Decimal(hour * _HOUR + minute)
        if _name_of(node) == "day":
            self._days.append(date(*_constants(node)))
            return Decimal(self._days[-1].toordinal())
        if isinstance(node, ast.Call) and _name_of(node) in ("days", "workdays"):
            self._is_sum = True
            first, last = (date(*_constants(each)) for each in node.args)
            is_working = _name_of(node) == "workdays" and first <= last
            return Decimal(working_days(first, last) if is_working else (last - first).days)
        raise ValueError(node)


_UNITS = {f"unit_{unit}": unit for unit in "dwmyb"}


def _as_call(written: re.Match[str]) -> str:
    """Return a day, a time or a count of days as Python may read it."""
    if written["unit"]:
        return f"unit_{written['unit']}({int(written['count'])})"
    name = "day" if written["day"] else "time"
    return f"{name}({','.join(str(int(part)) for part in split_at(written[0], '-:'))})"


def _name_of(node: ast.AST) -> str:
    return node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""


def _constants(node: ast.AST) -> list[int]:
    arguments = node.args if isinstance(node, ast.Call) else []
    return [each.value for each in arguments if isinstance(each, ast.Constant)]  # type: ignore[misc]


_FIRST_DAY, _LAST_DAY = date(1900, 1, 1).toordinal(), date(2199, 12, 31).toordinal()
_DAYS_OF, _MONTHS_OF, _WORKING, _SATURDAY = {"d": 1, "w": 7}, {"m": 1, "y": 12}, 5, 6


def day_from(value: Decimal) -> date | None:
    """Return the day that a sum of days gives; None where it is no day of our times."""
    is_one = _FIRST_DAY <= value <= _LAST_DAY and value == int(value)
    return date.fromordinal(int(value)) if is_one else None


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


def _shifted(value: Decimal, count: int, unit: str) -> Decimal:
    if (day := day_from(value)) is None:
        raise ValueError(f"{value} is no day")
    return Decimal(shift(day, count, unit).toordinal())


def shift(day: date, count: int, unit: str) -> date:
    """Return the day so many days, weeks, months or years later; a month's last day at most."""
    if unit == "b":
        return _work_on(day, count)
    if unit in _DAYS_OF:
        return date.fromordinal(day.toordinal() + count * _DAYS_OF[unit])
    year, month = divmod(day.year * 12 + day.month - 1 + count * _MONTHS_OF[unit], 12)
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))


_PLAIN_TERMS = EVERYDAY | {Decimal(each) for each in (10**8, "0.62", "1.61", "2.2", "3.28")}
"""What units have of each other, and small counts."""
_GREAT = tuple(map(Decimal, (1000, 3600, 10**4, 10**6, 10**8, 10**9)))


def is_plain(term: Decimal) -> bool:
    """Return whether a term needs no source: what units have of each other, a small count."""
    return term in _PLAIN_TERMS or is_ratio(term)


def forms_of(term: Decimal) -> list[Decimal]:
    """Return the numbers that a term may be written for: of 2,360 also 2.36, of 1.15 also 15 %."""
    scaled = [form for factor in _GREAT for form in (term / factor, term * factor)]
    return [term, term * 100, abs(term - 1) * 100, *scaled]


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


_PRINTED = re.compile(r"print\(((?:[^()]|\([^()]*\))+)\)")
_SIGN = re.compile(r"(?<=[\d)])\s*([-+*/])\s*")
_WRITTEN_SIGNS = {"-": "−", "+": "+", "*": "×", "/": "÷"}
_LONG_NUMBER = re.compile(r"(?<![\d.,])[1-9]\d{4,}(?![\d,])")


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
