"""Reading figures in text: numbers with units, prices, percentages, dates and times of day."""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import lru_cache
from itertools import pairwise

from .figure_units import MONTHS, PREFIXES, SCALES, UNITS

__all__ = ["JOINED", "Figure", "KnownFigures", "figures", "known_figures"]

_Date = tuple[int | None, int | None, int | None]
_MIN_DIGITS = 3
_HALF_DAY = 720


def _any(words: Iterable[str]) -> str:
    """Longest first; a Latin word ends where its letters end."""
    ordered = sorted(words, key=len, reverse=True)
    ends = (r"(?![A-Za-z])" if word[-1].isascii() and word[-1].isalpha() else "" for word in words)
    after = dict(zip(words, ends, strict=True))
    return "|".join(re.escape(word) + after[word] for word in ordered)


_MONTH = "(?:" + "|".join(f"{name[:3]}(?:{name[3:]})?" for name in MONTHS) + r")\.?"
_AMOUNT = r"\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d+)?|\d+(?:\.\d+)?"
_FIGURE = re.compile(
    rf"""(?<![A-Za-z0-9_.])(?<![A-Za-z]-)(?:
    (?P<iso>\d{{4}}([-/.])\d{{1,2}}\2\d{{1,2}}(?!\d))
    |(?P<han>[12]\d{{3}}\ ?年(?:\ ?\d{{1,2}}\ ?月(?:\ ?\d{{1,2}}\ ?[日号])?)?
        |\d{{1,2}}\ ?月(?:\ ?\d{{1,2}}\ ?[日号])?|\d{{1,2}}\ ?日)
    |(?P<named>{_MONTH}\ \d{{1,2}}(?:st|nd|rd|th)?(?:,?\ [12]\d{{3}})?(?!\d|:)
        |\d{{1,2}}(?:st|nd|rd|th)?\ (?:of\ )?{_MONTH}(?![a-z])(?:,?\ [12]\d{{3}}(?!\d))?
        |{_MONTH}\ [12]\d{{3}}(?!\d))
    |(?P<clock>\d{{1,2}}:\d{{2}}(?!\d)|\d{{1,2}}\ ?点(?:(?:\d{{1,2}}\ ?分?|半))?(?!\d)
        |\d{{1,2}}\ ?[ap]\.?m\b)
    |(?:(?P<prefix>{_any(list(PREFIXES))})\ ?)?(?P<amount>{_AMOUNT})
        (?:\ ?(?P<scale>{_any(list(SCALES))}))?
        (?:[\ -]?(?:余|多)?个?(?:st|nd|rd|th)?[\ -]?(?P<unit>{_any(list(UNITS))}))?
    )""",
    re.VERBOSE,
)
JOINED = re.compile(r"\s*(?:[-–—~/、至到和或]|to|and|or)\s*")


@dataclass(frozen=True)
class Figure:
    """One figure: where it stands, and either a date, a time of day or a number of a kind."""

    text: str
    start: int
    end: int
    date: _Date | None = None
    clock: int | None = None
    """Minutes after midnight or noon."""
    value: Decimal = Decimal(0)
    scale: Decimal = Decimal(1)
    kind: str | None = None
    """The kind of its unit; empty where nothing follows it, None where some other word does."""
    prefixed: bool = False

    @property
    def telling(self) -> bool:
        """Whether it states a fact; a bare small number may only count what the text lists."""
        if self.date or self.clock is not None or self.kind or self.scale != 1:
            return True
        digits = re.sub(r"[^\d.]", "", self.text)
        return "." in digits or len(digits) >= _MIN_DIGITS


@dataclass
class KnownFigures:
    """The figures of a source, ready to be looked up."""

    dates: set[_Date] = field(default_factory=set)
    clocks: set[int] = field(default_factory=set)
    numbers: dict[Decimal, set[str | None]] = field(default_factory=dict)

    def has(self, figure: Figure) -> bool:
        if figure.date:
            return figure.date in self.dates
        if figure.clock is not None:
            return figure.clock in self.clocks
        kinds = self.numbers.get(figure.value * figure.scale, set())
        if not figure.kind:
            return bool(kinds)
        return figure.kind in kinds or "" in kinds or (figure.kind != "percent" and None in kinds)

    def add(self, figure: Figure) -> None:
        if figure.date:
            year, month, day = figure.date
            self.dates |= {(y, m, d) for y in (year, None) for m in (month, None)
                           for d in (day, None)}  # fmt: skip
            if year:
                self.numbers.setdefault(Decimal(year), set()).add(None)
        elif figure.clock is not None:
            self.clocks.add(figure.clock)
        else:
            value = figure.value * figure.scale
            self.numbers.setdefault(value, set()).add(figure.kind)
            if not figure.kind and 1000 <= value <= 2999 and value == int(value):
                self.dates.add((int(value), None, None))


def known_figures(text: str) -> KnownFigures:
    known = KnownFigures()
    for figure in figures(text):
        known.add(figure)
    return known


def figures(text: str) -> list[Figure]:
    """All figures, in order; in a range or list (20–30元) the unit holds for both."""
    plain, places = _folded(text)
    found = [_read(match, plain, places, text) for match in _FIGURE.finditer(plain)]
    for i in range(len(found) - 1, 0, -1):
        left, right = found[i - 1], found[i]
        if left.kind or not right.kind or left.date or left.clock is not None or right.prefixed:
            continue
        if JOINED.fullmatch(text, left.end, right.start):
            found[i - 1] = replace(left, kind=right.kind, scale=left.scale * right.scale)
    for i, (left, right) in enumerate(pairwise(found)):
        joined = left.prefixed and not right.kind and not right.date and right.clock is None
        if joined and JOINED.fullmatch(text, left.end, right.start):
            found[i + 1] = replace(right, kind=left.kind, prefixed=True)
    return found


def _folded(text: str) -> tuple[str, list[int]]:
    """Full-width forms made plain, and for each character its index in the text (and the end).

    Wide commas stay (they join no digits), and so do superscripts: 10³ is not 103.
    """
    out: list[str] = []
    places: list[int] = []
    for index, char in enumerate(text):
        piece = char if char.isascii() else _fold(char)
        out.append(piece)
        places += [index] * len(piece)
    return "".join(out), [*places, len(text)]


@lru_cache(maxsize=4096)
def _fold(char: str) -> str:
    if char == "，" or unicodedata.category(char) == "No":
        return char
    return unicodedata.normalize("NFKC", char)


def _read(match: re.Match[str], plain: str, places: list[int], text: str) -> Figure:
    start, end = match.span()
    began, ended = places[start], places[end - 1] + 1
    figure = Figure(text[began:ended], began, ended)
    if written := match["iso"] or match["han"] or match["named"]:
        return replace(figure, date=_date(written))
    if match["clock"]:
        return replace(figure, clock=_minutes(match["clock"]))
    kind, factor = UNITS.get(match["unit"] or "", (None, Decimal(1)))
    kind = PREFIXES.get(match["prefix"] or "", kind)
    if kind is None and not plain[end : end + 2].lstrip()[:1].isalpha():
        kind = ""
    scale = SCALES.get(match["scale"] or "", Decimal(1)) * factor
    value = Decimal(match["amount"].replace(",", ""))
    return replace(figure, value=value, scale=scale, kind=kind, prefixed=bool(match["prefix"]))


def _date(written: str) -> _Date:
    """Year, month, day; None what is not said."""
    numbers = [int(number) for number in re.findall(r"\d+", written)]
    if name := re.search(_MONTH, written):
        month = next(i for i, full in enumerate(MONTHS, 1) if full.startswith(name[0][:3]))
        year = next((number for number in numbers if number > 31), None)
        return year, month, next((number for number in numbers if number <= 31), None)
    if "月" not in written and "年" not in written and len(numbers) == 1:
        return None, None, numbers[0]
    if numbers[0] <= 31:
        numbers = [0, *numbers]
    year, month, day = (*numbers, 0, 0)[:3]
    return year or None, month or None, day or None


def _minutes(written: str) -> int:
    """Minutes of a half day, so that 17:00 and 5 pm are the same."""
    hour, *rest = (int(number) for number in re.findall(r"\d+", written))
    minutes = 30 if "半" in written else rest[0] if rest else 0
    return (hour * 60 + minutes) % _HALF_DAY
