"""Read figures in text with their units.

A figure is compared by its value: ¥1,234 is 1234元, 3万 is 30,000, 20:00 is 晚上8点 and 8 pm. Signs
are not compared, and small numbers that only count something (three ways, 2 个) are not figures.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache
from itertools import pairwise

from agent.core.processor import breathe

_UNITS: dict[str, dict[str, str]] = {
    "percent": {"1": "% percent per~cent 百分点 percentage~points percentage~point"},
    "permille": {"1": "‰"},
    "yuan": {"1": "元 块钱 块 yuan RMB CNY 人民币"},
    "dollar": {"1": "美元 美金 USD dollars dollar"},
    "euro": {"1": "欧元 EUR euros euro Euro"},
    "sterling": {"1": "英镑 GBP"},
    "yen": {"1": "日元 JPY yen"},
    "metre": {
        "1": "米 m metres metre meters meter Meter Metern mètres metros metri",
        "1000": "公里 km kilometres kilometre kilometers kilometer Kilometer Kilometern kilomètres "
        "kilómetros chilometri",
        "0.01": "厘米 cm centimetres centimeters",
        "0.001": "毫米 mm millimetres millimeters",
    },
    "mile": {"1": "英里 miles mile"},
    "foot": {"1": "英尺 feet foot ft"},
    "area": {
        "1": "平方米 m² m2 sq~m square~metres square~meters Quadratmeter",
        "1000000": "平方公里 平方千米 km² km2 sq~km square~kilometres square~kilometers "
        "Quadratkilometer",
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
    "year": {"1": "年 岁 周岁 years year"},
    "century": {"1": "世纪 centuries century"},
    "degree": {"1": "摄氏度 °C 度 degrees degree °"},
    "fahrenheit": {"1": "华氏度 °F"},
    "person": {"1": "人次 人 people persons person"},
    "watt": {
        "1": "W watts watt Watt",
        "1000": "千瓦 kW kilowatts Kilowatt",
        "1000000": "兆瓦 MW megawatts megawatt Megawatt",
        "1000000000": "GW gigawatts gigawatt Gigawatt",
    },
    "watt hour": {
        "1": "Wh",
        "1000": "千瓦时 kWh",
        "1000000": "兆瓦时 MWh",
        "1000000000": "GWh",
        "1000000000000": "TWh",
    },
    "volt": {"1": "伏 V volts", "1000": "kV"},
    "byte": {
        "1": "字节 bytes byte",
        "1000": "KB",
        "1024": "KiB",
        "1000000": "MB",
        "1048576": "MiB",
        "1000000000": "GB",
        "1073741824": "GiB",
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
    "k": Decimal(1000),
    "M": Decimal(10**6),
    "B": Decimal(10**9),
    "bn": Decimal(10**9),
    "thousand": Decimal(1000),
    "million": Decimal(10**6),
    "billion": Decimal(10**9),
    "trillion": Decimal(10**12),
    "Millionen": Decimal(10**6),
    "Milliarde": Decimal(10**9),
    "Milliarden": Decimal(10**9),
    "milliards": Decimal(10**9),
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
    "factor of": "times",
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
_FOREIGN_MONTHS = {
    name: number
    for names in (
        "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
        "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
        "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
        "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre "
        "dicembre",
        "januari februari maart april mei juni juli augustus september oktober november december",
        "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
    )
    for number, name in enumerate(names.split(), 1)
}
"""German, French, Spanish, Italian, Dutch, Portuguese."""


Date = tuple[int | None, int | None, int | None]
"""Year, month and day; None for what is not said."""
_MIN_DIGITS, _GROUP = 3, 3
_MONTHS_A_YEAR, _DAYS_A_MONTH = 12, 31
_HOUR, _LATE_NOON, _HALF_DAY, _DAY = 60, 240, 720, 1440


def _any(words: Iterable[str]) -> str:
    """Return a pattern of the words, longest first; a Latin word ends where its letters end."""
    ordered = sorted(words, key=len, reverse=True)
    ends = (r"(?![A-Za-z])" if word[-1].isascii() and word[-1].isalpha() else "" for word in words)
    after = dict(zip(words, ends, strict=True))
    return "|".join(re.escape(word) + after[word] for word in ordered)


_MONTH = "(?:" + "|".join(f"{name[:3]}(?:{name[3:]})?" for name in MONTHS) + r")\.?"
_ANY_FOREIGN = _any(list(_FOREIGN_MONTHS))
_TIMES = (
    r"倍|x(?![A-Za-z]|\ ?\d)|fold(?![A-Za-z])|:1(?!\d|:)"
    r"|times(?=\ (?:as|more|less|fewer|the|that|what|its|[a-z]+er)(?![A-Za-z]))"
)
"""The words behind a ratio; "3 times" alone only counts how often."""
_LATIN = _any([word for word in (*UNITS, *SCALES) if word[0] < "\u3000"])
_FOREIGN = r"(?:Kilo)?[Mm]etern?|(?:kilo)?mètres|(?:kiló)?metros|(?:chilo)?metri|Euro|Einwohner"
_POINTS = rf"\d{{1,3}}(?:\.\d{{3}}){{2,}}(?![\d.])|\d{{1,3}}\.\d{{3}}(?=\ (?:{_FOREIGN})\b)"
_AMOUNT = (
    r"\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d+)?"
    rf"|\d{{1,3}},\d{{1,2}}(?=\ ?(?:{_LATIN}))|(?P<points>{_POINTS})|\d+(?:\.\d+)?"
    rf"|\.\d{{1,3}}(?=\ ?(?:{_LATIN}))"
)
"""Also 574,8 km/h, 1.234.567 and 3.600 Meter: else a comma lists, a point begins decimals."""
_FIRST = re.escape("".join({word[0] for word in (*MONTHS, *_FOREIGN_MONTHS, *PREFIXES)}))
_FIGURE = re.compile(
    rf"""(?=[\d.{_FIRST}])(?<![A-Za-z0-9_.])(?<![A-Za-z]-)(?<!第)(?<!第\ )(?:
    (?P<iso>\d{{4}}([-/.])\d{{1,2}}\2\d{{1,2}}(?!\d))
    |(?P<dayfirst>\d{{1,2}}([-/.])\d{{1,2}}\4[12]\d{{3}}(?!\.?\d))
    |(?P<han>[12]\d{{3}}\ ?年(?:\ ?\d{{1,2}}\ ?月(?:\ ?\d{{1,2}}\ ?[日号])?)?
        |\d{{1,2}}\ ?月(?:\ ?\d{{1,2}}\ ?[日号])?
        |(?<!提前)(?<!提前\ )(?<!为期)(?<!连续)\d{{1,2}}\ ?日(?!内|游|以内|之内))
    |(?P<named>{_MONTH}\ \d{{1,2}}(?:st|nd|rd|th)?(?:,?\ [12]\d{{3}})?(?!\d|:)
        |\d{{1,2}}(?:st|nd|rd|th)?\ (?:of\ )?{_MONTH}(?![a-z])(?:,?\ [12]\d{{3}}(?!\d))?
        |{_MONTH}\ [12]\d{{3}}(?!\d))
    |(?P<foreign>\d{{1,2}}[.º]?\ (?:de\ )?(?:{_ANY_FOREIGN})(?:\ (?:del?\ )?[12]\d{{3}}(?!\d))?
        |(?:{_ANY_FOREIGN})\ (?:del?\ )?[12]\d{{3}}(?!\d))
    |(?P<clock>\d{{1,2}}:\d{{2}}(?!\d)(?:\ ?[AaPp]\.?[Mm]\b)?
        |\d{{1,2}}\ ?点(?:(?:\d{{1,2}}\ ?分?|半))?(?!\d)|\d{{1,2}}\ ?[AaPp]\.?[Mm]\b)
    |(?:(?P<prefix>{_any(list(PREFIXES))})\ ?)?(?P<amount>{_AMOUNT})
        (?:\ ?(?P<scale>{_any(list(SCALES))}))?
        (?:[\ -]?(?:余|多)?个?(?:st|nd|rd|th)?[\ -]?
            (?:(?P<unit>{_any(list(UNITS))})|(?P<times>{_TIMES})))?
    )""",
    re.VERBOSE,
)
_PER = re.compile(
    rf"""\ ?(?:/|每|(?:per|an?)\ )\ ?(?P<unit>{_any(list(UNITS))})
    |\ per\ (?P<amount>{_AMOUNT})(?![\d%])
    |\ per\ (?P<scale>{_any(list(SCALES))})""",
    re.VERBOSE,
)
_DIGIT = re.compile(r"\d")
SENTENCE, KEPT_SENTENCES = 500, 8192
"""Characters of a sentence, and of how many what was read in them is kept: a check reads each
again beside each of its sources.
"""
_JOINED = re.compile(r"\s*(?:[-–—~/、至到和或]|to|and|or|en|und|et|y|e|bis|tot)\s*")


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
    """Nothing says in which half of the day the time is: twelve hours later may be meant."""
    value: Decimal = Decimal(0)
    scale: Decimal = Decimal(1)
    kind: str | None = None
    """The kind of its unit; empty where nothing follows it, None where some other word does."""
    prefixed: bool = False
    per: tuple[str, Decimal] | None = None
    """The kind of unit, and how many of its base, that it is counted by: 元/kWh, $ per 1,000."""

    @property
    def clocks(self) -> tuple[int, ...]:
        """Return the times of day that may be meant, in minutes after midnight."""
        if self.clock is None:
            return ()
        later = ((self.clock + _HALF_DAY) % _DAY,) if self.ambiguous else ()
        return (self.clock, *later)

    @property
    def telling(self) -> bool:
        """Return whether it states a fact; a bare small number may only count what is listed."""
        if self.date or self.clock is not None or self.kind or self.scale != 1:
            return True
        digits = re.sub(r"[^\d.]", "", self.text)
        return "." in digits or len(digits) >= _MIN_DIGITS


def figures(text: str) -> list[Figure]:
    """Return all figures, in order; in a range or list (20–30元) the unit holds for both."""
    breathe()
    if not _DIGIT.search(text):
        return []
    return list(_sentence_figures(text)) if len(text) <= SENTENCE else _figures(text)


@lru_cache(KEPT_SENTENCES)
def _sentence_figures(text: str) -> Sequence[Figure]:
    return _figures(text)


def _figures(text: str) -> list[Figure]:
    plain, places = _fold_text(text)
    read = [_read(match, plain, places, text) for match in _FIGURE.finditer(plain)]
    for i in range(len(read) - 1, 0, -1):
        left, right = read[i - 1], read[i]
        if _JOINED.fullmatch(text, left.end, right.start) and _is_day_beside(left, right):
            assert right.date
            read[i - 1] = replace(left, date=(*right.date[:2], int(left.value)), kind=None)
        if left.kind or not right.kind or left.date or left.clock is not None or right.prefixed:
            continue
        if _JOINED.fullmatch(text, left.end, right.start):
            read[i - 1] = replace(
                left, kind=right.kind, scale=left.scale * right.scale, per=right.per
            )
    for i, (left, right) in enumerate(pairwise(read)):
        joined = left.prefixed and not right.kind and not right.date and right.clock is None
        if joined and _JOINED.fullmatch(text, left.end, right.start):
            read[i + 1] = replace(right, kind=left.kind, prefixed=True)
    return _in_their_halves(read, text)


def _is_day_beside(figure: Figure, other: Figure) -> bool:
    """Return whether a number before a date is another day of its month: 8 and 9 January."""
    is_number = not figure.date and figure.clock is None and not figure.kind and figure.scale == 1
    day_first = other.date is not None and other.text[:1].isdigit() and bool(other.date[2])
    is_day = figure.value == int(figure.value) and 0 < figure.value <= _DAYS_A_MONTH
    return is_number and is_day and day_first and "-" not in other.text and "." not in figure.text


_HALF_WORD = re.compile(
    r"(?P<am>凌晨|清晨|早晨|早上|上午|\bmornings?\b)|(?P<noon>中午)"
    r"|(?P<pm>下午|傍晚|[晚夜][上间里]|深夜|[今明当]晚|\b(?:afternoon|evening|night|tonight)s?\b)",
    re.I,
)
_HALF_WORD_BEHIND = re.compile(
    r"\s(?:in the|at) (?:(?P<am>morning)|(?P<pm>afternoon|evening|night))"
)
_NEAR_WORD = 30
"""Characters between such a word and the time that it is about."""
_NOON_WORDS = ("上午", "下午", "afternoon")
"""Words with which twelve is noon."""


def _in_their_halves(read: list[Figure], text: str) -> list[Figure]:
    """Return the figures with each time of day in the half of the day that the text tells."""
    times = [i for i, figure in enumerate(read) if figure.clock is not None]
    on_24_hours = any(not read[i].ambiguous and read[i].text[-1] not in "mM." for i in times)
    before: Figure | None = None
    for i in times:
        if read[i].ambiguous:
            read[i] = _in_its_half(read[i], before, text, on_24_hours=on_24_hours)
        before = read[i]
    for left, right in pairwise(times):
        end = read[right]
        joined = _JOINED.fullmatch(text, read[left].end, end.start)
        if joined and read[left].ambiguous and not end.ambiguous:
            earlier = [time for time in read[left].clocks if time <= end.clocks[0]]
            read[left] = _at(read[left], max(earlier, default=read[left].clocks[0]))
    return read


def _in_its_half(figure: Figure, before: Figure | None, text: str, *, on_24_hours: bool) -> Figure:
    """Return a time in the half of the day that a word tells, or the time `before` it."""
    start = max(0, figure.start - _NEAR_WORD, before.end if before else 0)
    word = next(reversed([*_HALF_WORD.finditer(text, start, figure.start)]), None)
    if word and on_24_hours and text[word.end() : figure.start].strip(" 的"):
        word = None
    if word := _HALF_WORD_BEHIND.match(text, figure.end) or word:
        return _at(figure, _by_word(figure.clocks[0] % _HALF_DAY, str(word.lastgroup), word[0]))
    if on_24_hours:
        return _at(figure, figure.clocks[0])
    if before and not before.ambiguous and figure.start - before.end <= _NEAR_WORD:
        later = [time for time in sorted(figure.clocks) if time > before.clocks[0]]
        return _at(figure, next(iter(later), min(figure.clocks)))
    return figure


def _by_word(time: int, half: str, word: str) -> int:
    """Return a time of half a day in the day, by a word for morning, noon or later."""
    if half == "noon":
        return time + _HALF_DAY if time < _LATE_NOON else time
    is_later = word.casefold() in _NOON_WORDS if time < _HOUR else half == "pm"
    return time + _HALF_DAY * is_later


def _at(figure: Figure, time: int) -> Figure:
    return replace(figure, clock=time, ambiguous=False)


def _fold_text(text: str) -> tuple[str, Sequence[int]]:
    """Return the text with full-width forms plain, and each character's index in it (and the end).

    Wide commas stay (they join no digits), and so do superscripts: 10³ is not 103.
    """
    plain = text if text.isascii() else text.translate(_FOLDED)
    if len(plain) == len(text):
        return plain, range(len(text) + 1)
    pieces = [char.translate(_FOLDED) for char in text]
    places = [index for index, piece in enumerate(pieces) for _ in piece]
    return plain, [*places, len(text)]


class _Folding(dict[int, str]):
    """The plain form of each character; none is empty."""

    def __missing__(self, code: int) -> str:
        if len(self) >= _FOLDED_AT_MOST:
            self.clear()
        char = chr(code)
        stays = char == "，" or unicodedata.category(char) == "No"
        self[code] = folded = char if stays else unicodedata.normalize("NFKC", char)
        return folded


_FOLDED_AT_MOST = 32_768
_FOLDED = _Folding()


def _read(match: re.Match[str], plain: str, places: Sequence[int], text: str) -> Figure:
    start, end = match.span()
    began, ended = places[start], places[end - 1] + 1
    own = text[began:ended]
    if written := match["iso"] or match["han"] or match["named"] or match["foreign"]:
        return Figure(own, began, ended, date=_date(written))
    if written := match["dayfirst"]:
        return Figure(own, began, ended, date=_day_first(written))
    if match["clock"]:
        clock, ambiguous = _time(match["clock"])
        return Figure(own, began, ended, clock=clock, ambiguous=ambiguous)
    kind, factor = UNITS.get(match["unit"] or "", (None, Decimal(1)))
    kind = PREFIXES.get(match["prefix"] or "", "times" if match["times"] else kind)
    if kind is None and not plain[end : end + 2].lstrip()[:1].isalpha():
        kind = ""
    scale = SCALES.get(match["scale"] or "", Decimal(1)) * factor
    value = _number(match["amount"].replace(".", "") if match["points"] else match["amount"])
    prefixed = bool(match["prefix"])
    per = _per(plain, end) if kind else None
    return Figure(
        own, began, ended, value=value, scale=scale, kind=kind, prefixed=prefixed, per=per
    )


def _number(written: str) -> Decimal:
    """Return a number without its groups; a comma before one or two digits is a decimal one."""
    whole, comma, decimals = written.rpartition(",")
    is_decimal = comma and len(decimals) < _GROUP and decimals.isdigit()
    return Decimal(f"{whole}.{decimals}" if is_decimal else written.replace(",", ""))


def _per(plain: str, end: int) -> tuple[str, Decimal] | None:
    """Return the unit or the number that a figure ending there is counted by, if it is known."""
    match = _PER.match(plain, end)
    if not match:
        return None
    if match["unit"]:
        return UNITS[match["unit"]]
    return "", Decimal(match["amount"].replace(",", "")) if match["amount"] else SCALES[
        match["scale"]
    ]


def _date(written: str) -> Date:
    """Return year, month and day; None for what is not said."""
    numbers = [int(number) for number in re.findall(r"\d+", written)]
    if month := _month_in(written):
        year = next((number for number in numbers if number > _DAYS_A_MONTH), None)
        return year, month, next((number for number in numbers if number <= _DAYS_A_MONTH), None)
    if "月" not in written and "年" not in written and len(numbers) == 1:
        return None, None, numbers[0]
    if numbers[0] <= 31:
        numbers = [0, *numbers]
    year, month, day = (*numbers, 0, 0)[:3]
    return year or None, month or None, day or None


def _month_in(written: str) -> int | None:
    """Return the month that a date names in words."""
    if foreign := re.search(_ANY_FOREIGN, written):
        return _FOREIGN_MONTHS[foreign[0]]
    name = re.search(_MONTH, written)
    return name and next(i for i, full in enumerate(MONTHS, 1) if full.startswith(name[0][:3]))


def _day_first(written: str) -> Date:
    """Return the date of 25.03.1940; where 3/4/2007 may be either, the year alone."""
    first, second, year = (int(number) for number in re.findall(r"\d+", written))
    if (
        max(first, second) > _DAYS_A_MONTH
        or min(first, second) > _MONTHS_A_YEAR
        or not min(first, second)
    ):
        return year, None, None
    if first > _MONTHS_A_YEAR or "." in written or first == second:
        return (year, second, first) if second <= _MONTHS_A_YEAR else (year, first, second)
    return (year, first, second) if second > _MONTHS_A_YEAR else (year, None, None)


def _time(written: str) -> tuple[int, bool]:
    """Return the minutes after midnight, and whether twelve hours later may be meant."""
    hour, *rest = (int(number) for number in re.findall(r"\d+", written))
    minutes = hour * 60 + (30 if "半" in written else rest[0] if rest else 0)
    if half := re.search("[AaPp](?=\\.?[Mm])", written):
        return minutes % _HALF_DAY + _HALF_DAY * (half[0] in "Pp"), False
    return minutes % _DAY, 0 < hour <= 12 and not written.startswith("0")
