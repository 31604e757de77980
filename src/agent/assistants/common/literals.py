"""Tell which numbers of a program come from nowhere: a result is as good as what went into it."""

import ast
from collections.abc import Collection, Iterable, Iterator
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal, InvalidOperation
from itertools import combinations
from typing import cast

from agent.core.patterns import Linear
from agent.core.processor import breathe
from agent.evidence.figures import figures
from agent.evidence.shown_sums import digits_of
from agent.evidence.units import EVERYDAY

_DIGITS = Linear(r"[0-9][0-9,.'’ ]*")
_GROUPED = Linear(r"[0-9]{1,3}(?:[.,][0-9]{3})+")
_BYTES = [Decimal(1024**power) for power in (2, 3, 4)]
_EVERYDAY = EVERYDAY | {*_BYTES, *(each.scaleb(-len(str(each)) + 1) for each in _BYTES)} | {
    Decimal(number) for number in (
        31, 90, 180, 360, 1024, "25.4", "2.54", "0.3048", "1.609344", "1.609", "0.45359237",
        "0.4536", "3.6", "273.15", 10**8, 10**12,
    )
}  # fmt: skip
"""Counts, halves, and what turns units into others: 亿, bytes by 1024 and by 1000."""
_UNITS = tuple(Decimal(factor) for factor in (
    1000, "0.001", 1_000_000, "0.000001", 1024, 1 / Decimal(1024)))  # fmt: skip
"""From a number in one unit to the same in another one: grams and kilograms, bytes."""
_MOST, _DOUBLE, _COUNT, _HUNDRED = 1_000_000, 2, 12, 100
_TOLERANCE = -3
"""A power of ten as small is what a program compares or rounds by."""
_LEAST_DIGITS, _MOST_DECIMALS, _WIDE = 3, 9, 15
"""Digits by which a rounded number is known again; decimals that are rounded to, and places before
them."""
_MOST_TERMS = 12
"""Of more numbers any one is nearly a ratio."""
_LONGEST_PROGRAM, _MOST_NAMED = 20_000, 200


def unfounded(program: str, texts: Iterable[str]) -> list[str]:
    """Return the numbers of a program that stand in none of the texts, as they are written.

    A percentage may be written as a share, a number rounded, and a step worked out in the head:
    28000 beside 2000 and 14. How many things the program itself lists or adds up is no data, nor
    is what it compares by. A program that cannot be read has none.
    """
    literals = dict.fromkeys(_literals(program))
    free = _EVERYDAY | _counted(program)
    wanted = [each for each in literals if not _is_free(_value(each), free)]
    if not wanted:
        return []
    known, left = set[Decimal](), _MOST
    for text in texts:
        breathe()
        known |= _numbers(text[: max(0, left)])
        left -= len(text)
    lost = [number for number in wanted if not _stands(_value(number), known)]
    lost = _without_rounded(lost, known)
    steps = _steps(program, known) if lost else set[Decimal]()
    left_over = [number for number in lost if _value(number) not in steps]
    return _without_rounded(left_over, _ratios(program, known)) if left_over else []


def _is_free(value: Decimal | None, free: Collection[Decimal]) -> bool:
    if value is None:
        return False
    _, digits, exponent = value.as_tuple()
    is_power = digits == (1,) and isinstance(exponent, int)
    return value in free or (is_power and cast(int, exponent) <= _TOLERANCE)


def _counted(program: str) -> set[Decimal]:
    """Return how many things a program lists or adds up: what a mean divides by."""
    found = set[int]()
    for node in _nodes(program):
        if isinstance(node, ast.List | ast.Tuple | ast.Set):
            found.add(len(node.elts))
        elif isinstance(node, ast.Dict):
            found.add(len(node.keys))
        elif isinstance(node, ast.BinOp):
            terms, left = 1, cast(ast.expr, node)
            while isinstance(left, ast.BinOp) and isinstance(left.op, ast.Add):
                terms, left = terms + 1, left.left
            found.add(terms)
    return {*map(Decimal, found)}


def _without_rounded(numbers: Iterable[str], known: Collection[Decimal]) -> list[str]:
    """Return those of some numbers that are no known one, also with fewer decimals."""
    rounded: dict[int, set[Decimal]] = {}
    lost = list[str]()
    for number in numbers:
        value = _value(number)
        decimals = max(0, -cast(int, value.as_tuple().exponent)) if value else 0
        if value is None or decimals > _MOST_DECIMALS or digits_of(value) < _LEAST_DIGITS:
            lost.append(number)
            continue
        if decimals not in rounded:
            breathe()
            rounded[decimals] = {*_rounded(known, decimals)}
        if value not in rounded[decimals] and value not in known:
            lost.append(number)
    return lost


def _rounded(known: Iterable[Decimal], decimals: int) -> Iterator[Decimal]:
    """Return known numbers of more decimals as they are with so many, however they are rounded."""
    step = Decimal(1).scaleb(-decimals)
    for number in known:
        if cast(int, number.as_tuple().exponent) < -decimals and abs(number.adjusted()) < _WIDE:
            for way in (ROUND_HALF_UP, ROUND_HALF_EVEN, ROUND_DOWN):
                yield number.quantize(step, rounding=way).normalize()


def _ratios(program: str, known: set[Decimal]) -> set[Decimal]:
    """Return the quotients and means of two known numbers that a program names."""
    named = list(_numbers(program[:_LONGEST_PROGRAM]))[:_MOST_NAMED]
    terms = [number for number in named if number and number not in _EVERYDAY
             and _stands(number, known)]  # fmt: skip
    pairs = [*combinations(terms, 2)] if len(terms) <= _MOST_TERMS else []
    return {value for a, b in pairs for value in (a / b, b / a, (a + b) / 2)}


def _steps(program: str, known: set[Decimal]) -> set[Decimal]:
    """Return the products, sums and differences of two known numbers that a program names.

    So are those of what that gives: 2 × 1000 × 14.
    """
    named = list(_numbers(program[:_LONGEST_PROGRAM]))[:_MOST_NAMED]
    terms = {number for number in named if number in _EVERYDAY or _stands(number, known)}
    steps = set[Decimal]()
    for _ in range(2):
        pairs = [*combinations((number for number in terms if number > 1), 2)]
        results = {a * b for a, b in pairs}
        # A sum of small counts may be any number.
        results |= {n for a, b in pairs if min(a, b) > _COUNT for n in (a + b, abs(a - b))}
        steps |= {number for number in named if number in results}
        terms |= steps
    return steps


def without_literals(program: str, numbers: Iterable[str]) -> str:
    """Return a program that has these numbers nowhere, others in their place; empty for none."""
    try:
        return ast.unparse(
            _Without({_value(number) for number in numbers}).visit(ast.parse(program))
        )
    except (SyntaxError, ValueError, RecursionError):
        return ""


class _Without(ast.NodeTransformer):
    """Make each of some numbers another one, and leave texts out that name one."""

    def __init__(self, values: set[Decimal | None]) -> None:
        self._values = values

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        value = node.value
        if isinstance(value, int | float) and not isinstance(value, bool):
            if _value(str(value)) in self._values:
                # By as much as a rounded result shows.
                return ast.Constant(
                    value + type(value)(1) + (value // 2 if value >= _HUNDRED else 0)
                )
        elif isinstance(value, str) and not self._values.isdisjoint(_numbers(value)):
            other = _value(value.strip())
            return ast.Constant(str(other + 1) if other is not None else "")
        return node


def results_among(numbers: Iterable[str], printed: str) -> list[str]:
    """Return those of some numbers that a program has printed."""
    known, every = _numbers(printed[:_MOST]), [*numbers]
    left = {*_without_rounded([n for n in every if _value(n) not in known], known)}
    return [number for number in every if number not in left]


def lines_apart(text: str, other: str) -> set[int]:
    """Return which lines of a program's result another run has otherwise.

    All of them where that printed more or less, or has no line of figures alike.

    >>> lines_apart("4 × 3 = 12\\n12 × 0.19 = 2.28", "4 × 3 = 12\\n12 × 1.19 = 14.28")
    {1}
    """
    lines, others = text.splitlines(), other.splitlines()
    apart = {at for at, (a, b) in enumerate(zip(lines, others, strict=False)) if a != b}
    alike = (line for at, line in enumerate(lines) if at not in apart)
    is_same_run = len(lines) == len(others) and any(any(map(str.isdigit, line)) for line in alike)
    return apart if is_same_run else {*range(len(lines))}


def _literals(program: str) -> Iterator[str]:
    """Return the numbers of a program, also those that stand as texts: Decimal("0.19")."""
    nodes = _nodes(program)
    printed = {id(part) for node in nodes if isinstance(node, ast.JoinedStr)
               for part in ast.walk(node)}  # fmt: skip
    for node in nodes:
        if not isinstance(node, ast.Constant) or isinstance(node.value, bool):
            continue
        if isinstance(node.value, int | float):
            yield str(node.value)
        elif isinstance(node.value, str) and id(node) not in printed and _value(node.value.strip()):
            yield node.value.strip()


def _nodes(program: str) -> list[ast.AST]:
    try:
        return list(ast.walk(ast.parse(program)))
    except (SyntaxError, ValueError, RecursionError):
        return []


def _value(text: str) -> Decimal | None:
    try:
        value = abs(Decimal(text))
    except InvalidOperation:
        return None
    return value.normalize() if value.is_finite() else None


def _numbers(text: str) -> set[Decimal]:
    """Return all numbers of a text, with and without separators of thousands, and in words."""
    found = set[Decimal]()
    for match in _DIGITS.finditer(text):
        for written in (match[0], *match[0].split()):
            plain = "".join(written.split()).replace("'", "").replace("’", "").strip(",.")
            found |= {value for spelt in _spellings(plain) if (value := _value(spelt)) is not None}
    for figure in figures(text):
        found |= {abs(each).normalize() for each in (figure.bare, figure.amount)}
    return found


def _spellings(number: str) -> Iterator[str]:
    """Return how a number may be meant: 1,200 and 1.200 are thousands or have a fraction."""
    yield number
    yield number.replace(",", ".")
    if _GROUPED.fullmatch(number):
        yield number.replace(",", "").replace(".", "")
    whole, sign, fraction = number.rpartition("." if "." in number else ",")
    if sign and _GROUPED.fullmatch(whole):
        yield whole.replace(",", "").replace(".", "") + "." + fraction


def _stands(value: Decimal | None, known: set[Decimal]) -> bool:
    if value is None:
        return True
    share = {value * 100, 1 - value, (1 - value) * 100} if value < 1 else set[Decimal]()
    units = (value * factor for factor in _UNITS if _has_digits(value))
    meant = (value, *share, *_percents(value), *units)
    return not {each.normalize() for each in meant}.isdisjoint(known)


def _has_digits(value: Decimal) -> bool:
    """Return whether a number is told apart by its digits: 400 is any 4, or 0.4, or 4000."""
    return digits_of(value) >= _DOUBLE


def _percents(value: Decimal) -> set[Decimal]:
    """Return the percentage that a factor such as 1.19 adds."""
    return {(value - 1) * 100} if 1 < value < _DOUBLE else set()
