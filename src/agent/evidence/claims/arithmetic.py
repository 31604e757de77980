"""Recognise figures computed from others: formulas, sums, shares, fares."""

import ast
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from itertools import chain, combinations, permutations

from agent.core.patterns import Linear
from agent.evidence.claims.facts import alike, amount, hedge
from agent.evidence.figures import Figure

_COUNT_WORDS = (
    "两 二 two double twice",
    "三 three",
    "四 four",
    "五 five",
    "六 six",
    "七",
    "八",
    "九",
    "十",
)
_COUNTS = {word: n for n, these in enumerate(_COUNT_WORDS, 2) for word in these.split()}
_COUNT = re.compile(
    r"([两二三四五六七八九十])(?=[人个张位天晚次份家])|\b(two|three|four|five|six|twice|double)\b",
    re.I,
)
_WHOLES = (
    (
        re.compile(
            r"一整?年|全年|每年|\b(?:over|for|in|per|each) (?:an? )?(?:whole )?year\b", re.I
        ),
        12,
    ),
    (
        re.compile(
            r"一整?周|一星期|每周|\b(?:over|for|in|per|each) (?:an? )?(?:whole )?week\b", re.I
        ),
        7,
    ),
)
_EACH = re.compile(r"人均|每人|每个人|各付|\b(?:each|apiece|(?:per|a) (?:person|head))\b", re.I)
_TARIFF = re.compile(r"起步|每公里|\b(?:base fare|flag\s?fall|(?:per|a|each) (?:km|kilomet))", re.I)
CURRENCIES = frozenset({"yuan", "dollar", "euro", "sterling", "yen"})
_MAX_FARE = 6
_MAX_OPERANDS = 5
_CONSTANTS = frozenset(
    {
        *(
            7,
            10,
            12,
            24,
            30,
            31,
            36,
            48,
            52,
            60,
            100,
            365,
            366,
            720,
            730,
            1000,
            1024,
            1440,
            3600,
            8760,
        )
    }
    | {43_200, 43_800, 86_400, 525_600, 1_000_000, 2_592_000}
)
"""What units have of each other: the hours of a month, the months of three years."""
_TERM = r"(?:[¥$€£]\s?)?\d[\d,]*(?:\.\d+)?(?:\s?(?:million|billion|万|亿|%|元|m|km))?"
_FORMULA = Linear(rf"[(（\[]*{_TERM}(?:\s*[)）]?\s*[+\-−*×x·÷/]\s*[(（]?\s*{_TERM}[)）]?)+")
_RANGE = re.compile(r"\s?[–~]\s?(\d[\d,.]*\d|\d)")
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
_OPERATOR_BEFORE = re.compile(r"(?:[+−*×·÷/]|-(?![A-Za-z]))[^\d，。；：,;:=＝]{0,20}$")
_OPEN_FORMULA = re.compile(r"km|[+\-−][^×÷*/]*%")
_EQUALS = re.compile(r"\s?(?:[^\W\d]{1,3}\s?)?[=＝]\s?[¥$€£]?")
_SCALED = {"million": "000000", "billion": "000000000", "万": "0000", "亿": "00000000"}
_FACTORS = {"%": "0.01"} | {word: f"1{zeros}" for word, zeros in _SCALED.items()}
_OPERATORS: dict[type[ast.operator], Callable[[Decimal, Decimal], Decimal]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
}  # fmt: skip


def formula_values(text: str) -> Iterator[tuple[Decimal, list[Decimal]]]:
    """Yield the value of each formula that a text writes out, and its terms."""
    for match in _FORMULA.finditer(text):
        written = [match[0]]
        if further := _RANGE.match(text, match.end()):
            written.append(re.sub(r"\d[\d,.]*$", further[1], match[0]))
        for formula in written:
            value = _evaluate(formula)
            if value is not None:
                yield value, [Decimal(n.replace(",", "")) for n in _NUMBER.findall(formula)]


def is_in_formula(text: str, figure: Figure) -> bool:
    """Return whether a figure is a term of a formula that a text writes out, or its result."""
    return any(
        figure.value in terms or alike(abs(value), figure, hedge(text, figure))
        for value, terms in formula_values(text)
    )


def right_result(text: str, figure: Figure) -> str | None:
    """Return a figure as it should be written, where the formula before it comes to another.

    None where it is right, or where units, or a percentage that is added, leave the value open.
    """
    written, formula = _NUMBER.search(figure.text), _formula_before(text, figure)
    value = _evaluate(formula) if formula else None
    if not formula or value is None or value < 0 or written is None or figure.scale != 1:
        return None
    if figure.date or figure.clock is not None:
        return None
    if figure.kind == "percent" and not _is_of_percentages(formula):
        value *= 100
    try:
        result = round(value, len(written[0].partition(".")[2]))
    except InvalidOperation:  # more digits than are reckoned with
        return None
    if alike(value, figure, hedge(text, figure)) or not result:
        return None
    digits = f"{result:,f}" if "," in written[0] else f"{result:f}"
    return figure.text.replace(written[0], digits, 1)


def _formula_before(text: str, figure: Figure) -> str | None:
    """Return the formula whose result the text says the figure is."""
    for match in _FORMULA.finditer(text[: figure.start]):
        part_of_another = _OPERATOR_BEFORE.search(text, max(0, match.start() - 22), match.start())
        if not part_of_another and _EQUALS.fullmatch(text, match.end(), figure.start):
            return None if _OPEN_FORMULA.search(match[0]) else match[0]
    return None


def _is_of_percentages(formula: str) -> bool:
    """Return whether a formula adds or subtracts percentages that are written without their sign.

    Shares, such as 0.92 - 0.85, are no percentages.
    """
    terms = [Decimal(term.replace(",", "")) for term in _NUMBER.findall(formula)]
    return "%" not in formula and not re.search(r"[×*x·÷/]", formula) and max(terms) > 1


def _evaluate(formula: str) -> Decimal | None:
    plain = formula.translate(str.maketrans("（）−×x·÷", "()-***/")).replace("[", "(")
    for word, factor in _FACTORS.items():
        plain = re.sub(rf"(\d[\d,.]*)\s?{word}", rf"(\1*{factor})", plain)
    plain = re.sub(r"[^\d.()+\-*/]", "", plain)
    plain += ")" * (plain.count("(") - plain.count(")"))
    plain = plain if plain.count("(") == plain.count(")") else plain.replace(")", "", 1)
    try:
        value = _value(ast.parse(plain, mode="eval").body)
    except (SyntaxError, ValueError, ArithmeticError, RecursionError, MemoryError):
        return None
    return value if value.is_finite() else None


def _value(node: ast.AST) -> Decimal:
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return _OPERATORS[type(node.op)](_value(node.left), _value(node.right))
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return Decimal(str(node.value))
    raise ValueError


def is_computed(
    figure: Figure, operands: Sequence[Figure], text: str, grounded: Callable[[Decimal], bool]
) -> bool:
    """Return whether the figure follows from others of its text: a formula, a sum, a share.

    `operands` are the figures of the text that its sources have; `grounded` says whether the
    sources have a number that is a term of a formula.
    """
    if figure.date or figure.clock is not None:
        return False
    hedged = hedge(text, figure)
    bare = replace(figure, scale=_word_scale(figure))
    for value, terms in formula_values(text):
        if not all(_is_small(t) or t in _CONSTANTS or grounded(t) for t in terms):
            continue
        if figure.value in terms and (_is_small(figure.value) or _is_constant(figure)):
            return True
        if alike(abs(value), bare, hedged):
            return True
        if figure.kind == "percent" and alike(abs(value) * 100, bare, hedged):
            return True
        if figure.kind == "byte" and any(
            alike(abs(value) * unit, figure, hedged) for unit in _byte_units(figure)
        ):
            return True
        in_its_scale = any(grounded(term * figure.scale) for term in terms)
        counts_or_pays = not figure.kind or figure.kind in CURRENCIES
        if counts_or_pays and in_its_scale and alike(abs(value) * figure.scale, figure, hedged):
            return True
    return any(
        (kind == figure.kind or (not kind and not figure.kind)) and alike(value, figure, hedged)
        for value, kind in _derive(operands, text)
    )


def _byte_units(figure: Figure) -> Iterator[Decimal]:
    """Yield what a number of bytes is multiplied by where GB may be 10⁹ or 2³⁰ of them."""
    yield Decimal(1)
    for power in range(1, 5):
        if figure.scale == 1000**power:
            yield figure.scale / Decimal(1024) ** power


def _is_small(number: Decimal) -> bool:
    return number < 13


def _is_constant(figure: Figure) -> bool:
    return figure.value in _CONSTANTS and figure.kind not in CURRENCIES


def follows_from_pair(
    figure: Figure, ones: Sequence[Figure], others: Sequence[Figure], text: str
) -> bool:
    """Return whether the figure is a sum, a difference or a share of one of each."""
    if figure.date or figure.clock is not None or not figure.kind:
        return False
    hedged = hedge(text, figure)
    return any(
        kind == figure.kind and alike(value, figure, hedged)
        for one in ones
        for other in others
        if amount(one) != amount(other) and one.kind == other.kind
        for value, kind in _derive([one, other], "")
    )


_ESTIMATE = re.compile(r"据此(?:推算|估算)|\bour estimate\b", re.I)
_SCALED_NUMBER = Linear(r"(\d[\d,]*(?:\.\d+)?)\s?(million|billion|万|亿|%)")
_PER_SCALE = re.compile(r"(?:\bper|每)\s?(million|billion|万|亿)")
_UNIT_WORDS = re.compile(r"[^\W\d_]+(?:[/ ]+[^\W\d_]+)*")
_STEP = re.compile(r"[=≈＝，；。：:;]|,(?!\d)|\babout\b|约")
_ROUND = frozenset(Decimal(10) ** power for power in range(2, 10))


def is_estimate(text: str) -> bool:
    """Return whether a sentence says that it is the writer's own reckoning."""
    return _ESTIMATE.search(text) is not None


def reckoned(
    figure: Figure, operands: Sequence[Figure], text: str, grounded: Callable[[Decimal], bool]
) -> bool:
    """Return whether the figure of an estimate follows from its operands.

    Units and words between the numbers of a calculation do not matter, unlike in `is_computed`.
    """
    amounts = {amount(operand) for operand in operands} | {operand.value for operand in operands}
    bare = _without_units(text)
    if amount(figure) in _ROUND and re.search(rf"[/÷×*]\s*{amount(figure):f}(?!\d)", bare):
        return True
    if any(
        kind == figure.kind and alike(value, figure, hedge(text, figure))
        for value, kind in _priced(operands)
    ):
        return True
    return any(
        is_computed(figure, operands, form, lambda t: t in amounts or t in _ROUND or grounded(t))
        for form in (text, bare)
    )


def _priced(operands: Sequence[Figure]) -> Iterator[tuple[Decimal, str | None]]:
    """Yield what amounts cost at prices for their unit: 300 MWh at 0.46 yuan per Wh."""
    for price in operands:
        for one in operands if price.per else ():
            if price.per and one.kind == price.per[0]:
                yield amount(one) * amount(price) / price.per[1], price.kind


def _without_units(text: str) -> str:
    """Return the calculations of a text as bare numbers and operators, a line for each step."""
    plain = re.sub(r"(?<=[\d\s])x(?=[\d\s])", "×", text)
    plain = _PER_SCALE.sub(lambda m: f"/ 1{_SCALED[m[1]]}", plain)
    plain = _SCALED_NUMBER.sub(lambda m: _scale(m[1], m[2]), plain)
    return "\n".join(_UNIT_WORDS.sub("", step) for step in _STEP.split(plain))


def _scale(number: str, word: str) -> str:
    factor = Decimal("0.01") if word == "%" else Decimal(f"1{_SCALED[word]}")
    return f"{Decimal(number.replace(',', '')) * factor:f}"


def calculated(figure: Figure, others: Sequence[Figure]) -> bool:
    """Return whether one or two operations on different figures of a question give the figure."""
    if figure.date or figure.clock is not None:
        return False
    numbers = [f for f in others if not f.date and f.clock is None][:_MAX_OPERANDS]
    terms = [(value, {at}) for at, one in enumerate(numbers) for value in _terms(one)]
    once = [both for one, other in permutations(terms, 2) for both in _combined(one, other)]
    twice = (
        both
        for one in once
        for other in terms
        for both in (*_combined(one, other), *_combined(other, one))
    )
    return any(alike(value, figure, "") for value, _ in chain(once, twice))


_Term = tuple[Decimal, set[int]]
"""A value, and which of the figures it was calculated from."""


def _terms(figure: Figure) -> list[Decimal]:
    """Return what a figure stands for in a calculation: a percentage also as what it leaves."""
    if figure.kind != "percent":
        return [amount(figure)]
    share = amount(figure) / 100
    return [share, 1 - share, 1 + share]


def _combined(one: _Term, other: _Term) -> Iterator[_Term]:
    """Yield the results of each operation on two values of different figures."""
    (a, mine), (b, its) = one, other
    if mine & its:
        return
    for value in (a + b, a - b, a * b, *([a / b] if b else [])):
        yield value, mine | its


def is_share_of_each(figure: Figure, whole: Iterable[Figure], text: str) -> bool:
    """Return whether the figure is what each of a counted number pays of one of the others."""
    if not figure.kind or not _EACH.search(text):
        return False
    return any(
        one.kind == figure.kind and alike(amount(one) / count, figure, hedge(text, figure))
        for one in whole
        for count in _counts(text)
    )


def _word_scale(figure: Figure) -> Decimal:
    """Return the scale a formula without units would have: that of words such as 万 and million."""
    return figure.scale if figure.kind in (None, "", "yuan", "dollar", "euro") else Decimal(1)


def _derive(operands: Sequence[Figure], text: str) -> Iterator[tuple[Decimal, str | None]]:
    """Yield sums, differences, products with counts, and shares of the operands."""
    numbers = [f for f in operands if not f.date and f.clock is None]
    counts = _counts(text)
    for one in numbers:
        yield from ((amount(one) * count, one.kind) for count in counts)
        if _EACH.search(text):
            yield from ((amount(one) / count, one.kind) for count in counts)
    for one, other in combinations(numbers, 2):
        a, b = amount(one), amount(other)
        if one.kind == other.kind or not one.kind or not other.kind:
            kind = one.kind or other.kind
            yield a + b, kind
            yield abs(a - b), kind
            if kind == "percent":
                continue
        if one.kind == other.kind and a and b:
            low, high = sorted((a, b))
            yield from _shares(low, high)
    yield from _fares(numbers, text)
    for kind in {f.kind for f in numbers}:
        alike_ones = [amount(f) for f in numbers if f.kind == kind]
        if len(alike_ones) > 2:
            yield sum(alike_ones, Decimal(0)), kind


def _counts(text: str) -> list[Decimal]:
    """Return how many of something a text counts in words; a year has twelve months."""
    counted = [Decimal(_COUNTS[(a or b).lower()]) for a, b in _COUNT.findall(text)]
    return counted + [Decimal(count) for whole, count in _WHOLES if whole.search(text)]


def _fares(numbers: Sequence[Figure], text: str) -> Iterator[tuple[Decimal, str | None]]:
    """Yield what a way costs by a tariff: a base fare for the first metres, then so much a km."""
    metres = [amount(f) for f in numbers if f.kind == "metre"]
    prices = [f for f in numbers if f.kind in CURRENCIES]
    if _TARIFF.search(text) and len(metres) <= _MAX_FARE and len(prices) <= _MAX_FARE:
        for base, rate in permutations(prices, 2):
            for way, free in permutations(metres, 2):
                if way > free and base.kind == rate.kind:
                    yield amount(base) + (way - free) / 1000 * amount(rate), base.kind


def _shares(low: Decimal, high: Decimal) -> Iterable[tuple[Decimal, str]]:
    yield low / high * 100, "percent"
    yield (high - low) / high * 100, "percent"
    yield (high - low) / low * 100, "percent"
    yield high / low, ""
    yield high / low, "times"
    yield high / low - 1, "times"
