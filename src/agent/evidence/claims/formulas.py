"""Work out a sum that a judge names, exactly, and bounded in length and depth."""

import ast
import operator
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import date
from decimal import Decimal, InvalidOperation

from agent.evidence.figures import Figure
from agent.evidence.language import with_places

_LONGEST, _DEEPEST, _HOUR = 120, 12, 60
_WRITTEN = re.compile(r"[\d\s.+\-*/()]+")
_DAYS = re.compile(r"days\(\s*(\d{4})-(\d\d?)-(\d\d?)\s*,\s*(\d{4})-(\d\d?)-(\d\d?)\s*\)")
_HOURS = re.compile(r"hours\(\s*(\d\d?):(\d\d)\s*,\s*(\d\d?):(\d\d)\s*\)")
_GROUPS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_SIGNS = str.maketrans({"×": "*", "÷": "/", "−": "-", "–": "-"})
_OPERATIONS: dict[type[ast.operator], Callable[[Decimal, Decimal], Decimal]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


def value_of(formula: str) -> Decimal | None:
    """Return the value of a sum of numbers with + - * / ( ), days(a,b) and hours(a,b); else None.

    >>> value_of("(61-44)/44*100").quantize(Decimal("0.1"))
    Decimal('38.6')
    """
    formula = _plain(formula)
    if not formula or len(formula) > _LONGEST or "**" in formula:
        return None
    try:
        formula = _HOURS.sub(_hours, _DAYS.sub(_days, formula))
        if not _WRITTEN.fullmatch(formula):
            return None
        return _value(ast.parse(formula, mode="eval").body, _DEEPEST)
    except (SyntaxError, ValueError, ArithmeticError, InvalidOperation, RecursionError):
        return None


def terms_of(formula: str) -> list[Decimal]:
    """Return the numbers that a sum is made of; days and hours have none."""
    return list(_terms(_HOURS.sub("", _DAYS.sub("", _plain(formula)))))


def is_sum(formula: str) -> bool:
    """Return whether anything is worked out."""
    return bool(re.search(r"[-+*/]|days|hours", _plain(formula)))


def _plain(formula: str) -> str:
    text = with_places(formula[: 2 * _LONGEST])[0].translate(_SIGNS).split("=")[0]
    return _GROUPS.sub("", text).replace("%", "").strip()


def _terms(formula: str) -> Iterator[Decimal]:
    for number in _NUMBER.findall(formula):
        yield Decimal(number)


def _days(match: re.Match[str]) -> str:
    first, last = (date(*map(int, match.groups()[i : i + 3])) for i in (0, 3))
    return f"({(last - first).days})"


def _hours(match: re.Match[str]) -> str:
    begin, end = (int(match[i]) * _HOUR + int(match[i + 1]) for i in (1, 3))
    return f"(({end - begin})/{_HOUR})"


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
_FACTORS = tuple(map(Decimal, (1, 60, 100, 3600, 10**3, 10**4, 10**6, 10**8, 10**9)))
_EXACT, _HEDGED = Decimal("0.012"), Decimal("0.05")
_ABOUT = re.compile(r"about|around|nearly|almost|roughly|约|近|多|余|左右|≈", re.IGNORECASE)
_BEFORE = 14


def values_of(found: Iterable[Figure]) -> set[Decimal]:
    """Return the numbers that figures may be as terms of a sum: of times hours and minutes."""
    values = set[Decimal]()
    for figure in found:
        if figure.date:
            values |= {Decimal(part) for part in figure.date if part}
        elif figure.clock is not None:
            values |= {Decimal(part) for time in figure.clocks for part in divmod(time, _HOUR)}
        else:
            values |= {figure.value, figure.bare, figure.amount, abs(figure.value)}
    return values


def forms_of(term: Decimal) -> list[Decimal]:
    """Return the numbers that a term may be written for: of 2,360 also 2.36, of 1.15 also 15 %."""
    shares = [term * 100, abs(term - 1) * 100]
    return [term, *shares, *(term / factor for factor in _FACTORS if factor >= 1000)]


def is_plain(term: Decimal) -> bool:
    """Return whether a term needs no source: what units have of each other, a small count."""
    return term in _PLAIN_TERMS


def tells(figure: Figure, result: Decimal, text: str) -> bool:
    """Return whether a figure is the result, rounded as it is written, in whatever unit."""
    if figure.date:
        return result in figure.date
    if figure.clock is not None:
        return result in (Decimal(figure.clock), Decimal(figure.clock) / _HOUR)
    near = text[max(0, figure.start - _BEFORE) : figure.end + _BEFORE]
    share = _HEDGED if _ABOUT.search(near) else _EXACT
    for factor in _FACTORS:
        for value in (abs(result) * factor, abs(result) / factor):
            said = abs(figure.bare), abs(figure.value)
            if any(
                abs(one - value) <= max(value * share, Decimal("0.05") if value < 5 else 0)
                for one in said
            ):
                return True
    return False
