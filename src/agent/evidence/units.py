"""Units, magnitudes, currencies and months, as they are written (`units.toml`)."""

import tomllib
from collections.abc import Iterator
from decimal import Decimal
from importlib.resources import files
from itertools import permutations
from typing import Any

_TABLES: dict[str, Any] = tomllib.loads(
    files(__package__).joinpath("units.toml").read_text(encoding="utf-8")
)


def _words(listed: str) -> Iterator[str]:
    return (word.replace("~", " ") for word in listed.split())


UNITS: dict[str, tuple[str, Decimal]] = {
    word: (kind, Decimal(factor))
    for kind, written in _TABLES["units"].items()
    for factor, words in written.items()
    for word in _words(words)
}
_RATIOS = frozenset(
    Decimal(one) / Decimal(other)
    for written in _TABLES["units"].values()
    for one, other in permutations(written, 2)
)
EVERYDAY = frozenset(map(Decimal, [
    *range(13), "0.5", "1.8", 24, 30, 52, 60, 100, 168, 365, 366, 720, 730, 1000, 1440, 3600, 8760,
    10**4, 86_400, 10**5, 10**6, 10**9,
]))  # fmt: skip
"""Small counts, a half, and what everyday units have of each other: nobody asks where they are
from."""
_TOLD = 3
"""Digits of a ratio that is no chance number; of a rounded one, one more."""


def is_ratio(number: Decimal) -> bool:
    """Return whether two units of one kind have so many of each other, if need be rounded.

    >>> [is_ratio(Decimal(number)) for number in ("0.3048", "1.609344", "3.2808", "0.3012", "3.3")]
    [True, True, True, False, False]
    """
    parts = number.normalize().as_tuple()
    assert isinstance(parts.exponent, int)
    if parts.exponent >= 0 or len(parts.digits) < _TOLD:
        return False
    half = Decimal(1).scaleb(parts.exponent) / 2 if len(parts.digits) > _TOLD else Decimal(0)
    return any(abs(ratio - number) <= half for ratio in _RATIOS)


CENT = "cent"
"""The kind of a hundredth of a currency that is not named."""
_CURRENCIES = "yuan dollar euro sterling yen rupee franc rouble"
MONEY = frozenset([*_CURRENCIES.split(), "hong kong dollar", CENT])
"""The kinds of unit that are currencies."""
SCALES: dict[str, Decimal] = {
    word: Decimal(10) ** int(zeros)
    for zeros, words in _TABLES["scales"].items()
    for word in _words(words)
}
"""The magnitudes behind a number."""
PREFIXES: dict[str, str] = {
    word: kind for kind, words in _TABLES["prefixes"].items() for word in _words(words)
}
WEEKDAYS = {
    name.casefold(): number
    for names in _TABLES["weekdays"].values()
    for number, name in enumerate(names.split(), 1)
}
"""ISO numbers by the names in the languages whose dates are read."""
MONTHS = tuple(_TABLES["months"].pop("en").split())
FOREIGN_MONTHS = {
    name: number
    for names in _TABLES["months"].values()
    for number, name in enumerate(names.split(), 1)
}
COUNTERS = tuple(_TABLES["counters"]["zh"].split())
"""What a Chinese numeral of one character may count; before other words it is part of a name."""
