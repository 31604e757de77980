"""Read the numbers, dates and times of day that a text writes: 1.234,5, 25.03.1940, 8点半.

Three digits behind one point or comma (1.689) are thousands or thousandths. The other figures of a
text tell which, and a leading 0 does; where nothing tells, both are kept.
"""

import re
from collections.abc import Collection, Iterable
from decimal import Decimal

from agent.core.strings import digit_runs, has_any, split_at
from agent.evidence.units import FOREIGN_MONTHS, MONTHS

Date = tuple[int | None, int | None, int | None]
"""Year, month and day; None for what is not said."""
_MONTHS_A_YEAR, _DAYS_A_MONTH, _HOUR, _HALF_DAY, _DAY = 12, 31, 60, 720, 1440


def any_of(words: Collection[str]) -> str:
    """Return a pattern of the words, longest first; one of letters ends where its letters end."""
    ordered = sorted(words, key=len, reverse=True)
    letters = [word for word in ordered if word[-1] < "\u2e80" and word[-1].isalpha()]
    signs = [word for word in ordered if word not in letters]
    # km² is longer than km, but ° shorter than °C: what goes on with a sign comes first.
    longer = [word for word in signs if word.startswith(tuple(letters))]
    said = "|".join(map(re.escape, letters))
    parts = [*map(re.escape, longer), f"(?:{said})(?![A-Za-zÀ-ɏЀ-ӿ])" if letters else ""]
    parts += [re.escape(word) for word in signs if word not in longer]
    return "|".join(filter(None, parts))


_SHORT_MONTHS = [*(name[:3] for name in MONTHS if name[3:]), "Sept"]
_NO_LETTER = "(?![A-Za-z])"
MONTH = rf"(?:(?:{'|'.join(MONTHS)}){_NO_LETTER}|(?:{'|'.join(_SHORT_MONTHS)}){_NO_LETTER}\.?)"
ANY_FOREIGN = any_of(list(FOREIGN_MONTHS))


def read_date(written: str) -> Date:
    """Return year, month and day; None for what is not said."""
    numbers = _numbers_in(written)
    if month := _month_in(written):
        year = next((number for number in numbers if number > _DAYS_A_MONTH), None)
        return year, month, next((number for number in numbers if number <= _DAYS_A_MONTH), None)
    if "月" not in written and "年" not in written and len(numbers) == 1:
        return None, None, numbers[0]
    if numbers[0] <= _DAYS_A_MONTH:
        numbers = [0, *numbers]
    year, month, day = (*numbers, 0, 0)[:3]
    return year or None, month or None, day or None


def _numbers_in(written: str) -> list[int]:
    return [int(number) for number in digit_runs(written)]


def _month_in(written: str) -> int | None:
    """Return the month that a date names in words."""
    if foreign := re.search(ANY_FOREIGN, written):
        return FOREIGN_MONTHS[foreign[0]]
    name = re.search(MONTH, written, re.IGNORECASE)
    return name and next(i for i, full in enumerate(MONTHS, 1) if full[:3] == name[0][:3].title())


def read_day_first(written: str) -> Date:
    """Return the date of 25.03.1940; where 3/4/2007 may be either, the year alone."""
    first, second, year = _numbers_in(written)
    if (
        max(first, second) > _DAYS_A_MONTH
        or min(first, second) > _MONTHS_A_YEAR
        or not min(first, second)
    ):
        return year, None, None
    if first > _MONTHS_A_YEAR or "." in written or first == second:
        return (year, second, first) if second <= _MONTHS_A_YEAR else (year, first, second)
    return (year, first, second) if second > _MONTHS_A_YEAR else (year, None, None)


def read_time(written: str) -> tuple[int, bool]:
    """Return the minutes after midnight, and whether twelve hours later may be meant."""
    hour, *rest = _numbers_in(written)
    minutes = hour * _HOUR + (30 if "半" in written else rest[0] if rest else 0)
    if "刻" in written:
        minutes += 14 * rest[0]
    signs = "".join(split_at(written, ". ")).lower()
    if has_any(signs, ("am", "pm")):
        return minutes % _HALF_DAY + _HALF_DAY * ("pm" in signs), False
    return minutes % _DAY, 0 < hour <= 12 and not written.startswith("0")


_GROUP, _LEAST = 3, 2
_OTHER = {".": ",", ",": "."}


def decimal_sign(amounts: Iterable[tuple[str, bool]]) -> str:
    """Return the sign before decimals in a text's amounts; empty where they tell none or both.

    Each with whether a unit stands beside it: 3,4 alone is a list.
    """
    return "".join(seen) if len(seen := {*map(_sign_of, amounts)} - {""}) == 1 else ""


def _sign_of(amount: tuple[str, bool]) -> str:
    written, has_unit = amount
    signs = [char for char in written if char in _OTHER]
    if not signs:
        return ""
    if len({*signs}) > 1:
        return signs[-1]
    if len(signs) > 1:
        return _OTHER[signs[0]]
    whole, sign, decimals = written.partition(signs[0])
    if len(decimals) == _GROUP and whole.strip("0"):
        return ""
    return sign if sign == "." or has_unit or len(decimals) >= _LEAST else ""


def values_of_amount(written: str, sign: str, *, is_pointed: bool) -> list[Decimal]:
    """Return what an amount may mean, the likeliest first; nothing where it is no number.

    `sign` stands before the decimals of its text, if that is known; `is_pointed` tells that the
    words beside it are of a language with points for groups.

    >>> [*map(str, values_of_amount("1.689", "", is_pointed=True))]
    ['1689', '1.689']
    >>> [*map(str, values_of_amount("0,536", "", is_pointed=False))]
    ['0.536']
    """
    if "/" in written or "⁄" in written:
        whole, _, part = written.rpartition(" ")
        over, below = split_at(part, "/⁄")
        return [Decimal(whole or 0) + Decimal(over) / Decimal(below)] if int(below) else []
    written = written.replace(" ", "")
    whole, _, rest = written.replace(",", ".").partition(".")
    if len(rest) != _GROUP or not rest.isdigit() or not whole:
        return [_number(written.replace(".", "") if is_pointed else written)]
    decimal = Decimal(f"{whole}.{rest}")
    if not whole.strip("0"):
        return [decimal]
    own = written[len(whole)]
    both = [Decimal(whole + rest), decimal]
    if (own == sign) if sign else (own == "." and not is_pointed):
        both.reverse()
    return both[:1] if sign == "." else both


def _number(written: str) -> Decimal:
    """Return a number without its groups; a comma before one or two digits is a decimal one.

    So is one behind a nought alone: 0,1940.
    """
    whole, comma, decimals = written.rpartition(",")
    is_decimal = comma and decimals.isdigit() and (len(decimals) < _GROUP or whole == "0")
    return Decimal(f"{whole}.{decimals}" if is_decimal else written.replace(",", ""))
