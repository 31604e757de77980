"""Typed values in a sentence: years, dates, numbers with units, times, weekdays, names."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from agent.evidence.figure_reading import figures

from .rules_team_words import same_unit

_HAN_DIGIT = {c: i for i, c in enumerate("零一二三四五六七八九")} | {"两": 2, "〇": 0}
_HAN_UNIT = {"十": 10, "百": 100, "千": 1000, "万": 10_000, "亿": 100_000_000}
_TEENS = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_EN_NUMBER = {word: i for i, word in enumerate(_TEENS)} | {
    word: 20 + 10 * i for i, word in enumerate(_TENS)
}
_EN = rf"\b(?:(?:{'|'.join(_TENS)})-(?:{'|'.join(_TEENS[1:10])})|{'|'.join([*_TENS, *_TEENS])})\b"
_HAN = "(?:[零一二三四五六七八九两十百千万亿]+)"
_DIGITS = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?"
_ONE = rf"(?:{_DIGITS}|{_HAN}|{_EN})"
_SCALE = r"(?:万|亿|(?<=\d) ?(?:million|billion|thousand))?"
_NUMBER = re.compile(
    rf"(?<![A-Za-z0-9_.\-几数])(?P<hundredth>百分之|百分)?(?P<low>{_ONE})(?P<scale>{_SCALE})"
    rf"(?:\s?(?:-|–|~|至|到|to)\s?(?P<high>{_ONE}))?"
    r"(?=(?:余|多|个|\s|-)*(?P<unit>[%％]|[\u4e00-\u9fff]{1,4}|[A-Za-z][A-Za-z-]*)?)",
    re.IGNORECASE,
)
_SPOKEN = re.compile("[一两二三]米[零一二三四五六七八九]{1,2}(?![十百千万亿米])")
"""Heights of people, as they are said."""
_YEAR = re.compile(r"(?<!\d)([12]\d{3})(?!\d|,\d| ?(?:米|公里|元|km|m\b|metres|kilometres|yuan))")
_WEEKDAY = re.compile(
    r"(?:周|星期|礼拜)([一二三四五六日天])|\b((?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day)s?\b"
)
_SCALES = {"万": 10_000, "亿": 10**8, "thousand": 1000, "million": 10**6, "billion": 10**9}


@dataclass(frozen=True)
class Value:
    """A value as an answer writes it, and where it stands in its sentence."""

    text: str
    start: int
    end: int
    unit: str = ""


def number_of(written: str) -> Decimal:
    """A number written in digits, Chinese or English words."""
    plain = written.replace(",", "").strip().casefold()
    if re.fullmatch(r"\d+(?:\.\d+)?", plain):
        return Decimal(plain)
    if plain[0].isascii():
        return Decimal(sum(_EN_NUMBER[part] for part in plain.split("-")))
    total = section = digit = 0
    for char in plain:
        if char in _HAN_DIGIT:
            digit = _HAN_DIGIT[char]
        elif (unit := _HAN_UNIT[char]) < 10_000:
            section, digit = section + (digit or 1) * unit, 0
        else:
            total, section, digit = (total + section + digit) * unit, 0, 0
    return Decimal(total + section + digit)


def plain(value: Decimal) -> str:
    """Without an exponent or a useless fraction."""
    return f"{value.normalize():f}"


def numbers(sentence: str) -> Iterator[Value]:
    """Every number with the word after it; a range is written `16-20`."""
    spoken = [Value(_metres(m), m.start(), m.end(), "米") for m in _SPOKEN.finditer(sentence)]
    yield from spoken
    for match in _NUMBER.finditer(sentence):
        if any(value.start <= match.start() < value.end for value in spoken):
            continue
        if re.fullmatch("[千万百亿]+|one", match["low"], re.IGNORECASE):
            continue
        scale = _SCALES.get((match["scale"] or "").strip().casefold(), 1)
        text = plain(number_of(match["low"]) * scale)
        if match["high"]:
            text = f"{text}-{plain(number_of(match['high']) * scale)}"
        unit = match["unit"] or ""
        if match["hundredth"] or unit in ("%", "％"):
            unit = "%"
        elif unit.startswith("成") and not match["low"][0].isdigit():
            text, unit = plain(number_of(match["low"]) * 10), "%"
        yield Value(text, match.start(), match.end("low"), unit)


def _metres(height: re.Match[str]) -> str:
    """一米二二 is 1.22 metres."""
    whole, *rest = (_HAN_DIGIT[sign] for sign in height[0] if sign != "米")
    return plain(Decimal(f"{whole}.{''.join(map(str, rest))}"))


def with_unit(sentence: str, unit: str) -> list[Value]:
    """The numbers whose unit is the one asked for; any number where none is asked for."""
    found = list(numbers(sentence))
    if not unit:
        return [value for value in found if value.unit != "年"]
    return [value for value in found if _fits(value, unit, sentence)]


def _fits(value: Value, unit: str, sentence: str) -> bool:
    """Whether the unit follows the number, at once or a few words later (English counts)."""
    if value.unit and not unit.isascii() and not value.unit.isascii():
        starts = (value.unit[:size] for size in range(1, len(value.unit) + 1))
        return any(same_unit(start, unit) for start in starts)
    if same_unit(value.unit, unit):
        return True
    if not unit.isascii() or not value.unit:
        return False
    if value.unit.isascii():
        following = re.findall(r"[A-Za-z-]+", sentence[value.end :])[:4]
        return any(_stem(word) == _stem(unit) for word in following)
    return any(same_unit(value.unit[:size], unit) for size in range(1, len(value.unit) + 1))


def _stem(word: str) -> str:
    lowered = word.casefold()
    return lowered[:-1] if lowered.endswith("s") and not lowered.endswith("ss") else lowered


def years(sentence: str) -> list[Value]:
    return [Value(m[1], m.start(1), m.end(1)) for m in _YEAR.finditer(sentence)]


def dates(sentence: str) -> list[Value]:
    """Whole dates, as YYYY-MM-DD."""
    found = []
    for figure in figures(sentence):
        if figure.date and all(figure.date):
            year, month, day = figure.date
            found.append(Value(f"{year:04d}-{month:02d}-{day:02d}", figure.start, figure.end))
    return found


def weekdays(sentence: str) -> list[Value]:
    return [
        Value(f"周{m[1]}" if m[1] else m[2], m.start(), m.end())
        for m in _WEEKDAY.finditer(sentence)
    ]
