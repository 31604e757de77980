"""Read the facts of a sentence or a passage: figures, names, words."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import islice, takewhile, zip_longest

from agent.core.processor import breathe, lazy_property
from agent.evidence.figures import Date, Figure, figures
from agent.evidence.language import STOP_WORDS, words

_CODE = re.compile(r"(?:\w{2,10}://|www\.)[!-~]{1,2000}")
_ABOUT = re.compile(
    r"(?:(?<!预)约|大约|大概|近乎|差不多|about|around|roughly|approximately|some|~|≈)[^\d\n]{0,8}$",
    re.I,
)
_BELOW = re.compile(
    r"(?:不到|不足|将近|接近|(?<!附)近|under|below|less than|nearly|almost)[^\d\n]{0,6}$", re.I
)
_ABOVE = re.compile(r"(?:超过|逾|高于|over|above|more than|at least)[^\d\n]{0,6}$", re.I)
_AFTER_ABOUT = re.compile(r"\s?(?:左右|上下|or so)")
_AFTER_ABOVE = re.compile(r"\s?(?:多|余|以上|and more|or more)")
_TOLERANCE = {
    "": Decimal(0),
    "about": Decimal("0.05"),
    "below": Decimal("0.12"),
    "above": Decimal("0.12"),
}


def telling_figures(text: str) -> list[Figure]:
    """Return the figures that state a fact, in order; URLs have none."""
    text = _CODE.sub(lambda match: "\0" * len(match[0]), text)
    return [figure for figure in figures(text) if figure.telling]


def hedge(text: str, figure: Figure) -> str:
    """Return how exactly a text means a figure: about, below, above, or as written ("")."""
    before = text[max(0, figure.start - 24) : figure.start]
    after = text[figure.end : figure.end + 12]
    if _BELOW.search(before):
        return "below"
    if _ABOVE.search(before) or _AFTER_ABOVE.match(after):
        return "above"
    return "about" if _ABOUT.search(before) or _AFTER_ABOUT.match(after) else ""


def amount(figure: Figure) -> Decimal:
    """Return the value in the base unit of its kind."""
    return figure.value * figure.scale


def alike(value: Decimal, figure: Figure, hedged: str = "") -> bool:
    """Return whether a value is the figure, rounded as the figure is written or hedged."""
    low, high = bounds(figure, hedged)
    return low <= value <= high


def bounds(figure: Figure, hedged: str = "") -> tuple[Decimal, Decimal]:
    """Return the least and the greatest value that the figure, as written or hedged, may mean."""
    value = amount(figure)
    below = above = _half_step(figure)
    spread = value * _TOLERANCE[hedged]
    if hedged in ("about", "below"):
        below = max(below, spread)
    if hedged in ("about", "above"):
        above = max(above, spread)
    return value - below, value + above


def _half_step(figure: Figure) -> Decimal:
    """Return half a unit of the last digit shown; a single digit is not rounded."""
    digits = re.sub(r"[^\d.]", "", figure.text)
    if "." not in digits:
        return Decimal(0) if len(digits) < 2 and figure.scale < 1000 else figure.scale / 2
    return figure.scale * Decimal(1).scaleb(-len(digits.partition(".")[2])) / 2


def rounded(figure: Figure) -> tuple[Decimal, Decimal] | None:
    """Return what a round number of two digits and more may be rounded from; None for others."""
    digits = re.sub(r"\D", "", figure.text).lstrip("0")
    if "." in figure.text or len(digits.rstrip("0")) < 2 or not digits.endswith("00"):
        return None
    step = figure.scale * 10 ** (len(digits) - len(digits.rstrip("0")))
    return amount(figure) - step / 2, amount(figure) + step / 2


def in_words(figure: Figure) -> Sequence[str]:
    """Return how a whole number may stand in words: 16周岁 as 十六周岁, 3x as "three times"."""
    unit = re.sub(r"[\d\s,.]", "", figure.text)
    value = int(figure.value) if figure.value == int(figure.value) else 0
    if figure.kind == "times":
        return _TIMES_IN_WORDS.get(value, ())
    if not 0 < value < 10_000 or figure.date or not re.match(r"[\u4e00-\u9fff]", unit):
        return ()
    digits, places = "零一二三四五六七八九", ("", "十", "百", "千")
    written = "".join(
        digits[int(digit)] + (places[place] if digit != "0" else "")
        for place, digit in zip(range(len(str(value)) - 1, -1, -1), str(value), strict=True)
    )
    return (re.sub("^一十", "十", re.sub("零+", "零", written).rstrip("零")) + unit,)


_TIMES_IN_WORDS: dict[int, Sequence[str]] = {
    1: ("一倍", "double", "twice"),
    2: ("两倍", "二倍", "一倍", "翻番", "twice", "double", "two times", "two-fold", "twofold"),
    3: ("三倍", "three times", "three-fold", "threefold", "triple"),
    4: ("四倍", "four times", "four-fold", "fourfold", "quadruple"),
    5: ("五倍", "five times", "five-fold", "fivefold"),
    10: ("十倍", "ten times", "ten-fold", "tenfold", "order of magnitude"),
}


def as_share(figure: Figure) -> Figure | None:
    """Return a share as it may also be written: 86.5 % as 0.865, and 0.865 as 86.5 %."""
    if figure.kind == "percent":
        return replace(figure, kind="", scale=figure.scale / 100)
    if figure.kind == "" and "." in figure.text and figure.value < 1 and figure.scale == 1:
        return replace(figure, kind="percent", scale=Decimal(100))
    return None


def is_same_share(one: Figure, other: Figure) -> bool:
    """Return whether two figures can be the same share, both percentages or both fractions."""
    return one.kind == other.kind and (other.kind == "percent" or other.value < 1)


def kinds_agree(one: Figure, other: Figure) -> bool:
    """Return whether two figures can be of one kind; a figure without a unit can be of any."""
    if one.per and other.per and one.per != other.per:
        return False
    if one.kind == other.kind:
        return True
    if "percent" in (one.kind, other.kind):
        return (not one.kind and one.kind is not None) or (
            not other.kind and other.kind is not None
        )
    return not one.kind or not other.kind


_HAN_RUN = re.compile(r"[\u3400-\u9fff]+")
_LATIN_LETTER = re.compile(r"[A-Za-z]")


def scripts(text: str) -> frozenset[str]:
    """Return the scripts a text is written in: han, latin, or both where each has some weight."""
    han = sum(len(run) for run in _HAN_RUN.findall(text))
    latin = len(_LATIN_LETTER.findall(text)) / 4
    written = {name for name, weight in (("han", han), ("latin", latin)) if weight > 0}
    if han > 4 * latin:
        written.discard("latin")
    if latin > 4 * han:
        written.discard("han")
    return frozenset(written)


_IDENTIFIER = re.compile(
    r"(?<![\w.])(?=[\w.+-]{0,60}[A-Za-z])(?:[a-z]+[A-Z]\w*|[A-Z]\w*[A-Z]\w*|v?\d+(?:\.\d+){2,}|v\d[\w.]*\w"
    r"|\w+(?:\.\w+)+|[A-Za-z]+_\w+)"
)
_CAPITAL = re.compile(
    r"(?<![\w'’])[A-ZÀ-Þ][\w'’&-]*(?:\s+(?:de|du|des|of|et|la|the)?\s?[A-ZÀ-Þ][\w'’&-]*)*"
)
_TITLE = re.compile(
    r"《([^《》\n]{1,40})》|`([^`\n]{1,60})`|((?<!\d)\d+\s?号(?:线|楼|口|院))"
    r"|([A-Z]\w+ \d{1,3})(?![\d.:,])"
)
_SENTENCE_BEGINS = re.compile(r"(?:^|[.!?:;|。！？：；]|\*\*|[-–—])[\s*|\"“(]*$")
_ORDINARY = frozenset(
    [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
        "monday",
        "tuesday",
        "wednesday",
        "thursday",
        "friday",
        "saturday",
        "sunday",
        "daily",
        "am",
        "pm",
        "i",
        "h1",
        "h2",
        "q1",
        "q2",
        "q3",
        "q4",
        "cny",
        "eur",
        "usd",
        "rmb",
        "gbp",
        "km",
        "kb",
        "mb",
        "gb",
        "tb",
        "mwh",
        "gwh",
        "kwh",
        "wh",
        "ah",
        "utc",
    ]
)
_HAN_NAME = re.compile(
    r"[\u3400-\u9fff]{2,12}?(?:剧院|剧场|博物馆|美术馆|图书馆|体育馆|科技馆|纪念馆|动物园|植物园|公园|乐园|广场|大厦"
    r"|酒店|宾馆|饭店|餐厅|书店|医院|大学|学院|中学|小学|机场|车站|火车站|基金会|集团|公司|教堂|清真寺|寺|塔)"
)


_DEGREES = re.compile(r"°\s?[CF]\b")


def names(text: str) -> list[str]:
    """Return the proper names that code is sure to see: capitals, identifiers, titles, shapes."""
    breathe()
    proper, text = dict[str, None](), _DEGREES.sub("°", text)
    for match in _IDENTIFIER.finditer(text):
        proper[match[0]] = None
    for match in _CAPITAL.finditer(text):
        name = match[0]
        if _SENTENCE_BEGINS.search(text, max(0, match.start() - 20), match.start()):
            first, _, name = name.partition(" ")
            name = match[0] if any(c.isupper() for c in first[1:]) or name else ""
        proper |= dict.fromkeys([name] if name else [])
    for match in _TITLE.finditer(text):
        proper[next(group for group in match.groups() if group)] = None
    return [name for name in proper if name.casefold() not in _ORDINARY]


def han_names(text: str) -> list[str]:
    """Return what has the shape of a place's or a body's name in Chinese."""
    return _HAN_NAME.findall(text)


@dataclass(frozen=True, eq=False)
class Passage:
    """Hold some text of one source and its facts; each is equal to itself only."""

    source: str
    text: str
    head: str = ""
    """Of a row, the head of its table."""

    @lazy_property
    def figures(self) -> list[Figure]:
        return figures(_CODE.sub(" ", "|".join(self._cells) if self._cells else self.text))

    @lazy_property
    def words(self) -> frozenset[str]:
        return words(self.text)

    @lazy_property
    def folded(self) -> str:
        return self.text.casefold()

    @lazy_property
    def scripts(self) -> frozenset[str]:
        return scripts(self.text)

    @lazy_property
    def clauses(self) -> list["Passage"]:
        """Return its clauses, as passages of their own."""
        if len(self._cells) > 1:
            label, *cells = (cell.strip() for cell in self._cells)
            heads = [head.strip() for head in _cells(self.head)[1:]]
            named = zip_longest(heads[: len(cells)], cells, fillvalue="")
            parts = [label, *(f"{label} {head} {cell}" for head, cell in named)]
        else:
            parts = split_clauses(self.text, colons=False)
        return [Passage(self.source, part) for part in parts]

    @lazy_property
    def _cells(self) -> list[str]:
        """Return the cells of a row below a head, with the units that its label or head names."""
        if not self.head or not self.text.startswith("|"):
            return []
        row, heads = _cells(self.text), _cells(self.head)
        units = [_unit_in(head) or _unit_in(row[0]) for head in heads]
        named = zip_longest(row[1:], units[1 : len(row)], fillvalue="")
        return [row[0], *(_with_unit(cell, unit) for cell, unit in named)]

    def has(self, figure: Figure, hedged: str = "") -> bool:
        """Return whether the figure stands here, after units, dates and rounding."""
        breathe()
        if figure.date:
            return self.has_date(figure.date)
        if figure.clock is not None:
            return any(figure.clock in f.clocks for f in self.figures)
        if any(kinds_agree(figure, other) for other in self._near(figure, hedged)):
            return True
        share = as_share(figure)
        if share and any(is_same_share(share, other) for other in self._near(share, hedged)):
            return True
        year = year_of(figure)
        return year is not None and self.has_date((year, None, None))

    def _near(self, figure: Figure, hedged: str) -> Iterator[Figure]:
        """Yield the numbers with a figure's value, as it is rounded or hedged."""
        low, high = bounds(figure, hedged)
        begin = bisect_left(self.numbers, low, key=amount)
        return takewhile(lambda n: amount(n) <= high, islice(self.numbers, begin, None))

    @lazy_property
    def numbers(self) -> list[Figure]:
        return sorted((f for f in self.figures if not f.date and f.clock is None), key=amount)

    @lazy_property
    def dates(self) -> list[Date]:
        return [f.date for f in self.figures if f.date]

    @lazy_property
    def years(self) -> frozenset[int | None]:
        """Return the years of its dates, and the numbers that may be years."""
        numbers = (int(f.value) for f in self.figures if not f.date and 1000 <= f.value <= 2999)
        return frozenset([*(date[0] for date in self.dates), *numbers])

    def has_date(self, date: Date) -> bool:
        """Return whether the parts of a date stand here, its year perhaps apart."""
        year, month, day = date
        if not self.dates and not year:
            return False
        if any(_covers(other, date) for other in self.dates):
            return True
        if year and year not in self.years:
            return False
        return not (month or day) or any(_covers(other, (None, month, day)) for other in self.dates)

    def names(self, name: str) -> bool:
        """Return whether every part of the name stands here."""
        breathe()
        return all(part in self.folded for part in _parts(name))

    def at(self, name: str) -> int:
        """Return where a name stands as a whole word; -1 where it does not."""
        match = re.search(rf"(?<![A-Za-z0-9]){re.escape(name.casefold())}", self.folded)
        return match.start() if match else -1


_UNIT_IN_HEAD = re.compile(r"[，,(（]\s*([^，,()（）\d\s]{1,12}?)\s*[)）]?\s*$")


def _cells(row: str) -> list[str]:
    return row.strip().strip("|").split("|")


def _unit_in(head: str) -> str:
    """Return the unit that the label of a row or the head of a column names: 价格，元/Wh."""
    match = _UNIT_IN_HEAD.search(head)
    read = figures(f"1 {match[1]}") if match else []
    if not match or len(read) != 1 or not read[0].kind:
        return ""
    rest = f"1 {match[1]}"[read[0].end :]
    return match[1] if not rest or rest.startswith("/") else ""


def _with_unit(cell: str, unit: str) -> str:
    """Return a cell with the unit behind its bare numbers."""
    for figure in reversed(figures(cell) if unit else []):
        if figure.kind == "" and figure.scale == 1 and not figure.date and figure.clock is None:
            cell = f"{cell[: figure.end]} {unit}{cell[figure.end :]}"
    return cell


def year_of(figure: Figure) -> int | None:
    """Return the year that a number without a unit may be."""
    is_year = figure.kind in (None, "") and 1000 <= figure.value <= 2999
    return int(figure.value) if is_year else None


def _covers(whole: Date, partial: Date) -> bool:
    return all(part is None or part == whole[i] for i, part in enumerate(partial))


def _parts(name: str) -> list[str]:
    parts = re.findall(r"[\w.]+", name.casefold().replace("’s", "").replace("'s", ""))
    return [
        p for p in parts if p not in STOP_WORDS and p not in ("de", "du", "des", "et", "la")
    ] or parts


_STOP = r"[，；;。！？\n|]|,(?!\d)|(?<!\d)\.(?=\s|$)|(?<=\w)[.!?](?=\s)"
_CLAUSE = re.compile(_STOP)
_CLAUSE_OR_HEAD = re.compile(rf"{_STOP}|(?<!\d):(?!\d)|：")


def split_clauses(text: str, *, colons: bool = True) -> list[str]:
    """Return the parts of a text between commas, semicolons, bars, and colons if told."""
    parts = (_CLAUSE_OR_HEAD if colons else _CLAUSE).split(text)
    return [part.strip() for part in parts if part.strip()]


def clause_spans(text: str) -> Iterator[tuple[int, str]]:
    """Yield where each clause begins, colons within it, and the clause."""
    at = 0
    for clause in split_clauses(text, colons=False):
        start = text.index(clause, at)
        at = start + len(clause)
        yield start, clause
