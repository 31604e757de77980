"""Hold a figure, and make one of a value in two units: 3元5角, 1 hour 20 minutes, $3 and 50."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from agent.core.strings import word_set
from agent.evidence.units import MONEY
from agent.evidence.written import Date

_BESIDE, _AND = word_set("and und et y e и 零 又") | {""}, ("and",)
_LONGEST_BETWEEN, _A_WORD, _TEN, _GREAT, _GROUP = 16, 2, 10, 100, 3
_HALF_DAY, _DAY = 720, 1440
_COUNTED = ("person", "second", "month", "year")
"""What a small number in words may only count: two people, 三天."""
_MINUTE, _HOUR, _YEAR = Decimal(60), Decimal(3600), Decimal(12)
_MINUTES = ("分", "분")
"""A minute only behind hours, or before seconds: else a point, a cent, a share."""


@dataclass(frozen=True)
class Figure:
    """Hold one figure: its span in the text, and a date, a time of day or a number of a kind."""

    text: str
    start: int
    end: int
    date: Date | None = None
    clock: int | None = None
    """Minutes after midnight."""
    ambiguous: bool = False
    """Nothing says in which half of the day the time is: twelve hours from it may be meant."""
    value: Decimal = Decimal(0)
    second: Decimal | None = None
    """What else the number may be, where nothing tells what its separator is: 1.689 and 1,689."""
    scale: Decimal = Decimal(1)
    factor: Decimal = Decimal(1)
    """How many of the base of its kind the unit is; the scale has it too."""
    kind: str | None = None
    """The kind of its unit; empty where nothing follows it, None where some other word does."""
    prefixed: bool = False
    per: tuple[str, Decimal] | None = None
    """The kind of unit, and how many of its base, that it is counted by: 元/kWh, $ per 1,000."""
    parts: "tuple[Figure, ...]" = ()
    """Of a value in two units what it is told by: 112 weeks and 5 days."""

    @property
    def clocks(self) -> tuple[int, ...]:
        """Return the times of day that may be meant, in minutes after midnight."""
        if self.clock is None:
            return ()
        later = ((self.clock + _HALF_DAY) % _DAY,) if self.ambiguous else ()
        return (self.clock, *later)

    @property
    def readings(self) -> "tuple[Figure, ...]":
        """Return the figure in each of the ways in which it can be read."""
        if self.second is None:
            return (self,)
        return replace(self, second=None), replace(self, value=self.second, second=None)

    @property
    def amount(self) -> Decimal:
        """Return the value in the base unit of its kind."""
        return self.value * self.scale

    @property
    def bare(self) -> Decimal:
        """Return the value in the unit as it is written, or in none."""
        return self.amount / self.factor

    @property
    def is_money(self) -> bool:
        return self.kind in MONEY

    @property
    def telling(self) -> bool:
        """Return whether it states a fact; a bare small number may only count what is listed."""
        if self.date or self.clock is not None:
            return True
        if self.kind in _COUNTED and abs(self.value) < _TEN and not _has_digits(self.text, 1):
            return self.value > 1 and self.value % 1 > 0
        if self.kind or self.scale != 1:
            return True
        return self.has_decimals or abs(self.value) >= _GREAT or _has_digits(self.text, _GROUP)

    @property
    def has_decimals(self) -> bool:
        return int(self.value.as_tuple().exponent) < 0


def _has_digits(text: str, count: int) -> bool:
    return sum(char.isdigit() for char in text) >= count


def words_between(left: Figure, right: Figure, text: str) -> str:
    """Return the few words between two figures; where there are many, what is no word."""
    words = text[left.end : min(right.start, left.end + _LONGEST_BETWEEN)]
    return words.strip() if right.start - left.end < _LONGEST_BETWEEN else "…"


def in_two_units(read: Iterable[Figure], text: str) -> list[Figure]:
    """Return the figures, a value in two units as one that knows its parts."""
    out = list[Figure]()
    for figure in read:
        left = out[-1] if out else None
        if left and figure.kind == "second" and figure.factor == 1 and _is_minute(left, text):
            if not text[_unit_end(left, text) : figure.start].strip():
                left = out[-1] = _as_minutes(left, text)
        elif left and left.kind == "second" and left.factor == _HOUR and _is_minute(figure, text):
            minutes = _as_minutes(figure, text)
            figure = minutes if _beside(left, minutes, text) else figure
        if left and left.kind == "year" and figure.kind == "month" and figure.amount < _YEAR:
            left = replace(left, kind="month", scale=left.scale * _YEAR, factor=_YEAR)
        if left and (small := _rest_of(left, figure)) and _beside(left, figure, text):
            whole = (left.amount + small * figure.value) / small
            own = text[left.start : figure.end]
            out[-1] = replace(left, text=own, end=figure.end, value=whole, second=None,
                              scale=small, factor=small, per=figure.per,
                              parts=(*(left.parts or (left,)), figure))  # fmt: skip
        else:
            out.append(figure)
    return out


def _is_minute(figure: Figure, text: str) -> bool:
    return figure.kind is None and text[figure.end : _unit_end(figure, text)].strip() in _MINUTES


def _unit_end(figure: Figure, text: str) -> int:
    """Return where the sign behind a number ends, which a blank may stand before."""
    return figure.end + 1 + text[figure.end : figure.end + 1].isspace()


def _as_minutes(figure: Figure, text: str) -> Figure:
    end = _unit_end(figure, text)
    return replace(figure, text=text[figure.start : end], end=end, kind="second", scale=_MINUTE,
                   factor=_MINUTE)  # fmt: skip


def _rest_of(left: Figure, figure: Figure) -> Decimal | None:
    """Return the smaller unit in which a figure goes on with the one before it."""
    if not left.kind or left.per or left.prefixed or figure.prefixed or figure.value < 0:
        return None
    if len(left.text) == _A_WORD and left.text.isalpha():
        return None  # 一天两小时 are two hours a day, and 一周 may be once around.
    if left.kind == figure.kind and figure.amount < left.scale > figure.scale:
        return figure.scale
    cents = left.kind in ("dollar", "euro") and left.scale == 1 and not figure.kind
    is_number = not figure.date and figure.clock is None and figure.scale == 1
    if cents and is_number and 9 < figure.value < _GREAT and figure.value % 1 == 0:
        return Decimal(1) / _GREAT
    return None


def _beside(left: Figure, figure: Figure, text: str) -> bool:
    is_apart = text[left.end : left.end + 2].isspace() and figure.start > left.end + 1
    words = words_between(left, figure, text)
    return not is_apart and words in (_BESIDE if figure.kind else _AND)


def told_by_parts(figure: Figure, found: Sequence[Figure]) -> bool:
    """Return whether a value in two units stands as bare numbers: 112 and 5, or 112.714 weeks."""
    count = len(figure.parts)
    rows = (found[at : at + count] for at in range(len(found) - count + 1) if count)
    if any(
        all(part.bare == one.bare and one.kind in (None, "", part.kind)
            for part, one in zip(figure.parts, row, strict=True))
        for row in rows
    ):  # fmt: skip
        return True
    return count > 0 and any(
        one.has_decimals
        and one.kind in (None, "")
        and abs(one.bare * figure.parts[0].factor - figure.amount) <= figure.scale / 2
        for one in found
    )
