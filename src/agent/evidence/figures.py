"""Figures in text, read with their units.

A figure is compared by its value: ¥1,234 is 1234元, 3万 is 30,000, 9:00 is 9点 and 9 am. The sign
is not compared, and small numbers that only count something (three ways, 2 个) are not figures.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache
from itertools import pairwise

_UNITS: dict[str, dict[str, str]] = {
    "percent": {"1": "% percent per~cent 百分点 percentage~points percentage~point"},
    "permille": {"1": "‰"},
    "yuan": {"1": "元 块钱 块 yuan RMB CNY 人民币"},
    "dollar": {"1": "美元 美金 USD dollars dollar"},
    "euro": {"1": "欧元 EUR euros euro"},
    "sterling": {"1": "英镑 GBP"},
    "yen": {"1": "日元 JPY yen"},
    "metre": {
        "1": "米 m metres metre meters meter",
        "1000": "公里 km kilometres kilometre kilometers kilometer",
        "0.01": "厘米 cm centimetres centimeters",
        "0.001": "毫米 mm millimetres millimeters",
    },
    "mile": {"1": "英里 miles mile"},
    "foot": {"1": "英尺 feet foot ft"},
    "area": {
        "1": "平方米 m² m2 square~metres square~meters",
        "1000000": "平方公里 平方千米 km² km2 square~kilometres square~kilometers",
        "10000": "公顷 hectares hectare ha",
    },
    "gram": {
        "1": "克 g grams gram",
        "1000": "公斤 kg kilograms kilogram",
        "500": "斤",
        "1000000": "吨 tonnes tonne tons ton",
    },
    "litre": {"1": "升 L litres litre liters liter", "0.001": "毫升 ml mL"},
    "second": {
        "0.001": "毫秒 ms milliseconds millisecond",
        "1": "秒 s sec seconds second",
        "60": "分钟 min mins minutes minute",
        "3600": "小时 钟头 h hr hrs hours hour",
        "86400": "天 日 days day",
        "604800": "周 星期 weeks week",
    },
    "month": {"1": "月 months month"},
    "year": {"1": "年 岁 years year"},
    "century": {"1": "世纪 centuries century"},
    "degree": {"1": "摄氏度 °C 度 degrees degree °"},
    "fahrenheit": {"1": "华氏度 °F"},
    "person": {"1": "人次 人 people persons person"},
    "watt": {"1": "W watts", "1000": "千瓦 kW", "1000000": "兆瓦 MW", "1000000000": "GW"},
    "watt hour": {
        "1": "Wh",
        "1000": "千瓦时 kWh",
        "1000000": "兆瓦时 MWh",
        "1000000000": "GWh",
        "1000000000000": "TWh",
    },
    "volt": {"1": "伏 V volts", "1000": "kV"},
    "byte": {
        "1": "bytes",
        "1000": "KB",
        "1000000": "MB",
        "1000000000": "GB",
        "1000000000000": "TB",
    },
}
SCALES: dict[str, Decimal] = {
    "万亿": Decimal(10**12),
    "千亿": Decimal(10**11),
    "百亿": Decimal(10**10),
    "十亿": Decimal(10**9),
    "亿": Decimal(10**8),
    "千万": Decimal(10**7),
    "百万": Decimal(10**6),
    "十万": Decimal(10**5),
    "万": Decimal(10**4),
    "千": Decimal(1000),
    "百": Decimal(100),
    "K": Decimal(1000),
    "M": Decimal(10**6),
    "B": Decimal(10**9),
    "bn": Decimal(10**9),
    "thousand": Decimal(1000),
    "million": Decimal(10**6),
    "billion": Decimal(10**9),
    "trillion": Decimal(10**12),
}
PREFIXES: dict[str, str] = {
    "US$": "dollar",
    "$": "dollar",
    "USD": "dollar",
    "¥": "yuan",
    "RMB": "yuan",
    "CNY": "yuan",
    "人民币": "yuan",
    "€": "euro",
    "EUR": "euro",
    "£": "sterling",
    "GBP": "sterling",
    "百分之": "percent",
}
UNITS: dict[str, tuple[str, Decimal]] = {
    word.replace("~", " "): (kind, Decimal(factor))
    for kind, written in _UNITS.items()
    for factor, words in written.items()
    for word in words.split()
}
MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)


Date = tuple[int | None, int | None, int | None]
"""Year, month and day; None for what is not said."""
_MIN_DIGITS = 3
_HALF_DAY = 720


def _any(words: Iterable[str]) -> str:
    """Return a pattern of the words, longest first; a Latin word ends where its letters end."""
    ordered = sorted(words, key=len, reverse=True)
    ends = (r"(?![A-Za-z])" if word[-1].isascii() and word[-1].isalpha() else "" for word in words)
    after = dict(zip(words, ends, strict=True))
    return "|".join(re.escape(word) + after[word] for word in ordered)


_MONTH = "(?:" + "|".join(f"{name[:3]}(?:{name[3:]})?" for name in MONTHS) + r")\.?"
_AMOUNT = r"\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d+)?|\d+(?:\.\d+)?"
_FIGURE = re.compile(
    rf"""(?<![A-Za-z0-9_.])(?<![A-Za-z]-)(?<!第)(?<!第\ )(?:
    (?P<iso>\d{{4}}([-/.])\d{{1,2}}\2\d{{1,2}}(?!\d))
    |(?P<han>[12]\d{{3}}\ ?年(?:\ ?\d{{1,2}}\ ?月(?:\ ?\d{{1,2}}\ ?[日号])?)?
        |\d{{1,2}}\ ?月(?:\ ?\d{{1,2}}\ ?[日号])?
        |(?<!提前)(?<!提前\ )(?<!为期)(?<!连续)\d{{1,2}}\ ?日(?!内|游|以内|之内))
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
_JOINED = re.compile(r"\s*(?:[-–—~/、至到和或]|to|and|or)\s*")


@dataclass(frozen=True)
class Figure:
    """One figure: its place in the text, and a date, a time of day or a number of a kind."""

    text: str
    start: int
    end: int
    date: Date | None = None
    clock: int | None = None
    """Minutes after midnight or noon."""
    value: Decimal = Decimal(0)
    scale: Decimal = Decimal(1)
    kind: str | None = None
    """The kind of its unit; empty where nothing follows it, None where some other word does."""
    prefixed: bool = False

    @property
    def telling(self) -> bool:
        """Return whether it states a fact; a bare small number may only count what is listed."""
        if self.date or self.clock is not None or self.kind or self.scale != 1:
            return True
        digits = re.sub(r"[^\d.]", "", self.text)
        return "." in digits or len(digits) >= _MIN_DIGITS


def figures(text: str) -> list[Figure]:
    """Return all figures, in order; in a range or list (20–30元) the unit holds for both."""
    plain, places = _folded(text)
    read = [_read(match, plain, places, text) for match in _FIGURE.finditer(plain)]
    for i in range(len(read) - 1, 0, -1):
        left, right = read[i - 1], read[i]
        if left.kind or not right.kind or left.date or left.clock is not None or right.prefixed:
            continue
        if _JOINED.fullmatch(text, left.end, right.start):
            read[i - 1] = replace(left, kind=right.kind, scale=left.scale * right.scale)
    for i, (left, right) in enumerate(pairwise(read)):
        joined = left.prefixed and not right.kind and not right.date and right.clock is None
        if joined and _JOINED.fullmatch(text, left.end, right.start):
            read[i + 1] = replace(right, kind=left.kind, prefixed=True)
    return read


def _folded(text: str) -> tuple[str, Sequence[int]]:
    """Return the text with full-width forms plain, and each character's index in it (and the end).

    Wide commas stay (they join no digits), and so do superscripts: 10³ is not 103.
    """
    if text.isascii():
        return text, range(len(text) + 1)
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


def _read(match: re.Match[str], plain: str, places: Sequence[int], text: str) -> Figure:
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


def _date(written: str) -> Date:
    """Return year, month and day; None for what is not said."""
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
    """Return the minutes of a half day, so that 17:00 and 5 pm are the same."""
    hour, *rest = (int(number) for number in re.findall(r"\d+", written))
    minutes = 30 if "半" in written else rest[0] if rest else 0
    return (hour * 60 + minutes) % _HALF_DAY
