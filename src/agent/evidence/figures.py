"""Figures in text: reading them with their units, and finding those that no cited source has.

A figure is compared by its value: ¥1,234 is 1234元, 3万 is 30,000, 9:00 is 9点 and 9 am. The sign
is not compared, and small numbers that only count something (three ways, 2 个) are not figures.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import lru_cache
from itertools import pairwise

from agent.evidence.citations import id_letters, read_marker
from agent.texts import say
from agent.texts.language import Language

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
        "1": "秒 s sec seconds second",
        "60": "分钟 min mins minutes minute",
        "3600": "小时 钟头 h hr hrs hours hour",
        "86400": "天 days day",
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


_MAX_SENTENCE = 2000
_BRACKET = re.compile(r"[\[【［]([^\[\]【】［］\n]{1,200})[\]】］]")
_NO_FIGURES = re.compile(r"`[^`\n]{1,500}`|(?:\w{2,10}://|www\.)[!-~]{1,2000}")
_LIST_SIGN = re.compile(r"\s*\d{1,3}[.)](?=\s)")
_STOP = re.compile(r"[\n。！？!?.]")
_TAIL = re.compile(
    r"[。！？!?.]{1,20}[”」』）)\"’*]{0,4}"
    r"((?:[ \t]{0,4}[\[【［][^\[\]【】［］\n]{1,200}[\]】］]){0,20})"
)
_UNFINISHED = re.compile(r"[”」』）)\"’*]{0,4}[ \t]{0,4}(?:[\[【［][^\[\]【】［］\n]{0,200})?")


def unverified_figures(sentence: str, texts: Sequence[str]) -> list[str]:
    """The figures of a sentence that occur in none of the texts, as written, in order."""
    known = [known_figures(text) for text in texts]
    return [figure.text for figure in _unverified(sentence, known, frozenset({"t"}))]


class FigureMarker:
    """Says behind each figure of a streamed text that the sources its sentence cites lack it.

    Sits before the Citer. Text is held to the end of its sentence and of the markers behind it;
    headings, sentences that cite no known source, and overlong ones pass as they are.
    """

    def __init__(self, texts_by_id: Mapping[str, str], language: Language) -> None:
        self.marked = 0
        self._texts = texts_by_id
        self._letters = id_letters(texts_by_id)
        self._mark = say("answer.unverified_figure", language)
        self._known: dict[str, KnownFigures] = {}
        self._buffer = ""
        self._searched = 0
        self._line_begins, self._heading, self._overlong = True, False, False

    def feed(self, chunk: str) -> str:
        """The sentences that this piece completes; may be empty."""
        self._buffer += chunk
        return self._run(final=False)

    def flush(self) -> str:
        """What is still held back; call where the text ends."""
        return self._run(final=True)

    def _run(self, *, final: bool) -> str:
        text, at, out = self._buffer, 0, list[str]()
        while at < len(text):
            end, self._searched = _sentence_end(text, max(at, self._searched), final)
            limit = at + _MAX_SENTENCE
            if not self._overlong and (end or len(text)) > limit:
                self._overlong = True
            if not end:
                break
            out.append(self._sentence(text[at:end]))
            at = end
        if self._overlong and at < len(text):
            out.append(text[at : self._searched])
            at = self._searched
        self._buffer, self._searched = text[at:], max(self._searched - at, 0)
        return "".join(out)

    def _sentence(self, text: str) -> str:
        """A whole sentence, or the end of one that was too long."""
        if self._line_begins:
            self._heading = text.lstrip(" ").startswith("#")
        passes = self._heading or self._overlong
        self._line_begins, self._overlong = text.endswith("\n"), False
        return text if passes else self._checked(text)

    def _checked(self, text: str) -> str:
        cited = [name for name in _cited(text, self._letters) if name in self._texts]
        if not cited:
            return text
        missing = _unverified(text, [self._source(name) for name in cited], self._letters)
        self.marked += len(missing)
        out, at = list[str](), 0
        for figure, following in pairwise([*missing, None]):
            between = text[figure.end : following.start] if figure and following else None
            if figure and not (between is not None and JOINED.fullmatch(between)):
                out.append(text[at : figure.end] + self._mark)
                at = figure.end
        return "".join([*out, text[at:]])

    def _source(self, name: str) -> KnownFigures:
        if name not in self._known:
            self._known[name] = known_figures(self._texts[name])
        return self._known[name]


def _sentence_end(text: str, at: int, final: bool) -> tuple[int, int]:
    """The end of the sentence, 0 if it is not known yet; and where to look from next time."""
    for stop in _STOP.finditer(text, at):
        start = stop.start()
        if stop[0] == "\n":
            return stop.end(), stop.end()
        tail = _TAIL.match(text, start)
        end = tail.end() if tail else stop.end()
        if not final and _UNFINISHED.fullmatch(text, end):
            return 0, start
        follows = text[end : end + 1]
        latin = stop[0].isascii() and not (tail and tail[1])
        if not latin or not follows or follows.isspace():
            return end, end
    return (len(text), len(text)) if final else (0, len(text))


def _unverified(
    sentence: str, known: Sequence[KnownFigures], letters: frozenset[str]
) -> list[Figure]:
    found = [figure for figure in figures(_without_markers(sentence, letters)) if figure.telling]
    return [figure for figure in found if not any(source.has(figure) for source in known)]


def _cited(text: str, letters: frozenset[str]) -> list[str]:
    read = (read_marker(found[1], letters) for found in _BRACKET.finditer(text))
    return [name for names in read for name in names or ()]


def _without_markers(text: str, letters: frozenset[str]) -> str:
    """The text with markers, URLs, code and the list sign blanked: every place keeps its index."""

    def blank(found: re.Match[str]) -> str:
        return "\0" * len(found[0])

    text = _BRACKET.sub(lambda f: f[0] if read_marker(f[1], letters) is None else blank(f), text)
    text = _NO_FIGURES.sub(blank, text)
    listed = _LIST_SIGN.match(text)
    return "\0" * listed.end() + text[listed.end() :] if listed else text
