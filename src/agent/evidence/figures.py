"""Read figures in text with their units: numbers, money, percent, dates and times of day.

A figure is compared by its value: ¥1,234 is 1234元, 3万 is 30,000, 一百二十元 is 120 yuan, 20:00 is
晚上8点 and 8 pm, -5度 is not 5度. Small numbers that only count something (three ways, 2 个) state
no fact.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import lru_cache
from itertools import pairwise, product, starmap

from agent.core.processor import breathe
from agent.core.strings import has_han, word_set
from agent.evidence.language import KEPT_SENTENCES, SENTENCE, fold, with_places
from agent.evidence.numerals import Digits, in_digits
from agent.evidence.one_figure import Figure, in_two_units, words_between
from agent.evidence.units import CENT, FOREIGN_MONTHS, MONTHS, PREFIXES, SCALES, UNITS
from agent.evidence.written import (
    ANY_FOREIGN,
    MONTH,
    Date,
    any_of,
    decimal_sign,
    read_date,
    read_day_first,
    read_time,
    values_of_amount,
)
from agent.texts import ADDRESS

__all__ = ["Figure", "are_joined", "distinct", "figures", "is_one_day", "same"]

_TEN, _GREAT = 10, 100
_DAYS_A_MONTH, _HOUR, _LATE_NOON, _HALF_DAY = 31, 60, 240, 720

_TIMES = (
    r"倍|x(?![A-Za-z]|\ ?\d)|fold(?![A-Za-z])|:1(?!\d|:)"
    r"|times(?=\ (?:as|more|less|fewer|the|that|what|its|[a-z]+er)(?![A-Za-z]))"
)
"""The words behind a ratio; "3 times" alone only counts how often."""
_LATIN = any_of([word for word in (*UNITS, *SCALES) if word[0] < "\u3000"])
_LATIN_SCALES = any_of([word for word in SCALES if word.isascii() and len(word) > 3])
_CYRILLIC = any_of([word for word in (*UNITS, *SCALES) if "Ѐ" <= word[0] <= "ӿ"])
_FOREIGN = r"(?:[Kk]ilo|kiló|chilo)?(?:[Mm]etern?|mètres|metros|metri)|[Ee]uros?|Einwohner"
_POINTS = r"\d{1,3}(?:\.\d{3}){1,9},\d\d?(?!\d)|\d{1,3}(?:\.\d{3}){2,9}(?![\d.])"
_POINTS += rf"|\d{{1,3}}\.\d{{3}}(?=\ (?:{_FOREIGN})\b|\ ?€(?!/(?!\d)))"
_BESIDE_A_SIGN = r"(?=\ ?[×*÷/+−=≈])"
_AMOUNT = (
    r"\d{1,3}(?:,\d{2,3}){0,9},\d{3}(?!\d)(?:\.\d+)?|\d{1,3}(?:\ \d{3}){2,9}(?![\d])(?:\.\d+)?"
    r"|(?<![\d,])0,\d{3,9}(?![\d/]|,\d)"
    rf"|\d{{1,3}},\d{{1,2}}(?=\ ?(?:{_LATIN}))|(?<![\d,])\d{{1,4}},\d\d?(?![\d/]|,\d)"
    rf"|(?P<points>{_POINTS})"
    rf"|\d{{1,3}}\ \d{{3}}(?:,\d{{1,2}})?(?:(?=\ ?(?:{_CYRILLIC}|{_FOREIGN}|€))|{_BESIDE_A_SIGN})"
    r"|(?P<mixed>(?:\d{1,4}\ )?\d{1,2}[/⁄]\d{1,3})(?![\d/⁄年月]|\.\d)|\d+(?:\.\d+)?"
    rf"|\.\d{{1,3}}(?=\ ?(?:{_LATIN}))"
)
"""Also 574,8 km/h, ★4,5, 0,1940, 1.234.567, 1.110,54 €, 12,34,567, 1 1/2: else a comma lists."""
_FIRST = re.escape("".join({word[0] for word in (*MONTHS, *FOREIGN_MONTHS, *PREFIXES)}))
_CODE = "(?:USD|RMB|CNY|EUR|GBP|HKD|usd|rmb|eur)"
_MINUS = re.compile(
    r"(?:(?<![A-Za-z0-9%℃°)\]年月日号时点分元米万亿岁折成])[-−–]|负|零下"
    r"|(?<![\d%°)€$£¥]\ )\b(?:minus|negative)\ )\Z",
    re.I,
)
_LONGEST_MINUS = 9
_INCH, (_ENERGY, _KWH) = UNITS["inch"][1], UNITS["kWh"]
_FIGURE = re.compile(
    rf"""(?=[\d.{_FIRST}])(?<![A-Za-z0-9_.])(?<![A-Za-z]-)(?<!第)(?<!第\ )(?:
    (?P<iso>\d{{4}}([-/.])\d{{1,2}}\2\d{{1,2}}(?!\d)|\d{{4}}-(?i:{MONTH})-\d{{1,2}}(?!\d))
    |(?P<dayfirst>\d{{1,2}}([-/.])\d{{1,2}}\4[12]\d{{3}}(?!\.?\d))
    |(?P<monthyear>(?:0?[1-9]|1[0-2])/(?:19|20)\d\d(?![\d/]))
    |(?P<han>[12]\d{{3}}\ ?年(?:\ ?\d{{1,2}}\ ?月(?:\ ?\d{{1,2}}\ ?(?:[日号]|(?=[-–—~至到、])))?)?
        |\d{{1,2}}\ ?月(?:\ ?\d{{1,2}}\ ?[日号])?
        |(?<!提前)(?<!提前\ )(?<!为期)(?<!连续)\d{{1,2}}\ ?日(?!内|游|以内|之内))
    |(?P<named>{MONTH}[\ ]?\d{{1,2}}(?:st|nd|rd|th)?(?:,?\ [12]\d{{3}})?(?!\d|:)
        |\d{{1,2}}(?:st|nd|rd|th|\.)?\ (?:of\ )?{MONTH}(?![a-z])(?:,?\ [12]\d{{3}}(?!\d))?
        |{MONTH}\ [12]\d{{3}}(?!\d))
    |(?P<foreign>\d{{1,2}}(?:[.º]|er)?\ (?:de\ )?(?:{ANY_FOREIGN})
            (?:\ (?:del?\ )?[12]\d{{3}}(?!\d))?
        |(?:{ANY_FOREIGN})\ (?:del?\ )?[12]\d{{3}}(?!\d))
    |(?P<clock>\d{{1,2}}:\d{{2}}(?::\d\d)?(?!\d)(?:\ ?[AaPp]\.?\ ?[Mm]\b)?
        |\d{{1,2}}\ ?(?:点|[时時시](?![间間간代期候]))
            (?:[13]刻|半|整|钟|\ ?\d{{1,2}}\ ?[分분]?)?(?!\d)
        |(?:0?\d|1[0-2])\ ?[AaPp]\.?[Mm]\b)
    |(?P<feet>\d{{1,2}})\ ?(?:ft|feet|foot|['′])\ ?(?P<inches>\d{{1,2}})\ ?(?:in(?:ches|ch)?\b|["″])
    |(?P<below>\d{{1,5}})分之(?P<over>\d+(?:\.\d+)?)
    |(?:(?P<prefix>{any_of(list(PREFIXES))})\ ?(?P<minus>[-−])?)?(?P<amount>{_AMOUNT})
        (?:(?:\ ?|-(?={_LATIN_SCALES}))[余多来]?(?!百分)
            (?P<scale>{any_of(list(SCALES))}|(?(prefix)m(?![A-Za-z])|(?!))))?
        (?:(?P<pence>p(?!\w|\.\w))|[\ -]?(?:余|多)?[个個]?(?:st|nd|rd|th)?[\ -]?
            (?:(?!{_CODE}\d|[$¥€£]\ ?\d(?!\d?\ ?[Cc](?:en)?t))(?P<unit>{any_of(list(UNITS))})
                (?P<half>半)?|(?P<times>{_TIMES})))?
        (?:\ (?P<after>{_LATIN_SCALES}))?
    )""",
    re.VERBOSE,
)
_DOT_TIME = r"(?:[01]?\d|2[0-4])\.[0-5]\d(?![\d.,:])"
_DOT_QUARTER = r"(?:[01]?\d|2[0-4])\.(?:00|15|30|45)(?![\d.,:]\d)"
_DOTTED = re.compile(
    rf"""(?<![\d.,:])(?:(?P<money>{any_of(list(PREFIXES))})\ ?)?(?:
    \b(?:klo|kello|kl\.?|pukul|jam)\ ?{_DOT_TIME}(?:\ ?[-–—]\ ?{_DOT_TIME})?
    |{_DOT_TIME}(?=\ ?(?:[-–—]|bis|und)\ ?\d{{1,2}}:\d\d(?!\d))
    |{_DOT_QUARTER}\ ?[-–—]\ ?{_DOT_QUARTER}(?!\ ?(?:{any_of([*UNITS, *SCALES, *PREFIXES])}|[x×%‰]))
    )""",
    re.VERBOSE | re.IGNORECASE,
)
"""Times as Finns, Danes, Germans and Indonesians write them; a price is not one: 24.00 €."""
_BEFORE_MONTH = re.compile(rf"-(?={MONTH}|{ANY_FOREIGN})")
_BEHIND_MONTH = re.compile(rf"\b(?:{MONTH}|{ANY_FOREIGN})\Z")
_LONGEST_MONTH = 12
"""Two months and a year, April-June 2026: elsewhere a hyphen joins a name and its number."""
_PER = re.compile(
    rf"""\ ?(?:/|每|(?:per|an?)\ )\ ?(?P<unit>{any_of(list(UNITS))})
    |\ per\ (?P<amount>\d[\d,]*(?:\.\d+)?)(?![\d%])
    |\ per\ (?P<scale>{any_of(list(SCALES))})""",
    re.VERBOSE,
)
_NOT_SHARES = tuple("人年员立功都交为本品长就绩分熟吨")
"""What follows 成 where it is no tenth: 2成人."""
_GROUP_SIGN = re.compile(
    r"(?<=[０-９])，(?=[０-９]{3}(?![０-９]))|(?<=\d)[\u00a0\u202f](?=\d{3}(?!\d|,\d))"
)
"""A wide comma, or a blank that breaks no line: 1\u202f830 avis."""
_JOINS = word_set("- – — ~ / 、 至 到 和 或 to and or en und et y e bis tot à hasta до и или")
_FOR_A_HEAD = word_set("for por pour für je на за с") | {"", "for every"}
_A_HEAD = word_set("あたり 当たり につき 당 마다 花费 消费 平均 只要 约 約 : ：") | {""}


def distinct(found: Iterable[Figure]) -> list[Figure]:
    """Return figures without those that mean what one before them means."""
    meanings = {
        (f.date, f.clock, f.ambiguous, f.value, f.second, f.scale, f.kind, f.per): f
        for f in reversed([*found])
    }
    return [*reversed(meanings.values())]


def figures(text: str) -> list[Figure]:
    """Return all figures, in order; in a range or list (20–30元) the unit holds for both."""
    breathe()
    return list(_sentence_figures(text)) if len(text) <= SENTENCE else _figures(text)


def _figures(text: str) -> list[Figure]:
    shown = ADDRESS.sub(lambda match: "\0" * len(match[0]), text)
    plain, places = with_places(_GROUP_SIGN.sub(",", shown))
    digits = in_digits(plain, places)
    if not any(map(str.isdigit, digits.text)):
        return []
    dashed = _BEFORE_MONTH.sub(_with_dash, digits.text)
    matches = [*_FIGURE.finditer(_DOTTED.sub(_with_colons, dashed) if "." in dashed else dashed)]
    amounts = [(m["amount"], bool(m["unit"] or m["prefix"])) for m in matches if m["amount"]]
    sign = decimal_sign(amounts) or "." * has_han(text)
    read = [figure for match in matches if (figure := _read(match, digits, text, sign))]
    read = _by_the_head(read, text)
    _share_units(read, text)
    return in_two_units(_in_their_halves(_of_their_currency(read), text), text)


def _with_dash(hyphen: re.Match[str]) -> str:
    begin = max(0, hyphen.start() - _LONGEST_MONTH)
    return "–" if _BEHIND_MONTH.search(hyphen.string, begin, hyphen.start()) else "-"


def _with_colons(dotted: re.Match[str]) -> str:
    if dotted["money"]:
        return dotted[0]
    return re.sub(r"(?<=\d)\.(?=\d)", ":", dotted[0])


_sentence_figures = lru_cache(KEPT_SENTENCES)(_figures)


def _by_the_head(read: Sequence[Figure], text: str) -> list[Figure]:
    """Return the figures, a price for one person (1人¥45) as one that is counted by persons."""
    out, head = list[Figure](), Figure("", -1, -1)
    for figure in read:
        if figure.kind == "person" and figure.value == 1:
            left = out[-1] if out else None
            if left and left.is_money and words_between(left, figure, text).lower() in _FOR_A_HEAD:
                out[-1] = replace(left, per=_PERSON)
                continue
            out.append(head := figure)
            continue
        is_price = figure.is_money and out and out[-1] is head
        if is_price and words_between(head, figure, text).lstrip("様分前 ") in _A_HEAD:
            out[-1] = replace(figure, per=_PERSON)
        else:
            out.append(figure)
    return out


_PERSON = ("person", Decimal(1))


def are_joined(left: Figure, right: Figure, text: str) -> bool:
    """Return whether two figures are the ends of a range, or of one list."""
    return fold(words_between(left, right, text)) in _JOINS


def _of_their_currency(read: list[Figure]) -> list[Figure]:
    """Return the figures, cents as those of the one currency that stands beside them.

    A p is a penny behind a decimal, before what it is paid for, or beside pounds: 24.67p, 27p/kWh.
    """
    in_pounds = any(figure.kind == "sterling" for figure in read)
    read = [_as_pence(one, in_pounds=in_pounds) if one.kind == _PENNY else one for one in read]
    money = {figure.kind for figure in read if figure.is_money} - {CENT}
    [kind] = money if len(money) == 1 else {CENT}
    return [replace(one, kind=kind) if one.kind == CENT else one for one in read]


_PENNY = "penny"
"""What p behind a number may be."""


def _as_pence(figure: Figure, *, in_pounds: bool) -> Figure:
    if in_pounds or figure.per or figure.has_decimals:
        return replace(figure, kind="sterling")
    return replace(figure, text=figure.text[:-1], end=figure.end - 1, kind=None,
                   scale=figure.scale / figure.factor, factor=Decimal(1))  # fmt: skip


def _share_units(read: list[Figure], text: str) -> None:
    """Give both ends of a range or list the unit that only one of them has."""
    for i in range(len(read) - 1, 0, -1):
        left, right = read[i - 1], read[i]
        if _is_day_beside(left, right) and are_joined(left, right, text):
            assert right.date
            read[i - 1] = replace(left, date=(*right.date[:2], int(left.value)), kind=None)
        if left.kind or not right.kind or left.date or left.clock is not None or right.prefixed:
            continue
        if text[left.start - 1 : left.start] != "★" and are_joined(left, right, text):
            read[i - 1] = replace(left, kind=right.kind, scale=left.scale * right.scale,
                                  factor=right.factor, per=right.per)  # fmt: skip
    for i, (left, right) in enumerate(pairwise(read)):
        is_bare = left.prefixed and not right.kind and not right.date and right.clock is None
        if is_bare and are_joined(left, right, text):
            read[i + 1] = replace(right, kind=left.kind, prefixed=True)


def _is_day_beside(figure: Figure, other: Figure) -> bool:
    """Return whether a number before a date is another day of its month: 8 and 9 January."""
    is_number = not figure.date and figure.clock is None and not figure.kind and figure.scale == 1
    day_first = other.date is not None and other.text[:1].isdigit() and bool(other.date[2])
    is_day = figure.value == int(figure.value) and 0 < figure.value <= _DAYS_A_MONTH
    return is_number and is_day and day_first and "-" not in other.text and "." not in figure.text


_HALF_WORD = re.compile(
    r"(?P<am>凌晨|清晨|早晨|早上|上午|午前|오전|\bmornings?\b)|(?P<noon>中午)"
    r"|(?P<pm>下午|午[後后]|오후|傍晚|[晚夜][上间里]|深夜|[今明当]晚|\b(?:afternoon|evening|night|tonight)s?\b)",
    re.I,
)
_HALF_WORD_BEHIND = re.compile(
    r"\s(?:in the|at) (?:(?P<am>morning)|(?P<pm>afternoon|evening|night))"
)
_NEAR_WORD = 30
"""Characters between such a word and the time that it is about."""
_NOON_WORDS = ("上午", "下午", "午后", "午後", "오후", "afternoon")
"""Words with which twelve is noon."""


def _in_their_halves(read: list[Figure], text: str) -> list[Figure]:
    """Return the figures with each time of day in the half of the day that the text tells."""
    times = [i for i, figure in enumerate(read) if figure.clock is not None]
    on_24_hours = any(not read[i].ambiguous and read[i].text[-1] not in "mM." for i in times)
    begin, known, is_sure = 0, None, True
    for i in times:
        one = _in_its_half(read[i], begin, text, on_24_hours=on_24_hours)
        is_guess = one.ambiguous and one.start - begin <= _NEAR_WORD
        if known and is_guess:
            later = (time for time in sorted(one.clocks) if time > known.clocks[0])
            # From 8 am, doors 7:30: only the ends of a range are in one order.
            is_sure = is_sure and are_joined(known, one, text)
            one = _at(one, next(later, min(one.clocks)))
        else:
            is_sure = True
        begin, known = one.end, None if one.ambiguous else one
        read[i] = replace(one, ambiguous=one.ambiguous or not is_sure)
    for left, right in pairwise(times):
        end = read[right]
        is_open = read[left].ambiguous and not end.ambiguous
        if is_open and are_joined(read[left], end, text):
            earlier = [time for time in read[left].clocks if time <= end.clocks[0]]
            read[left] = _at(read[left], max(earlier, default=read[left].clocks[0]))
    return read


def _in_its_half(figure: Figure, begin: int, text: str, *, on_24_hours: bool) -> Figure:
    """Return a time in the half of the day that a word behind the text's `begin` tells."""
    if not figure.ambiguous:
        return figure
    start = max(begin, figure.start - _NEAR_WORD)
    word = next(reversed([*_HALF_WORD.finditer(text, start, figure.start)]), None)
    if word and on_24_hours and text[word.end() : figure.start].strip(" 的"):
        word = None
    if word := _HALF_WORD_BEHIND.match(text, figure.end) or word:
        return _at(figure, _by_word(figure.clocks[0] % _HALF_DAY, str(word.lastgroup), word[0]))
    return _at(figure, figure.clocks[0]) if on_24_hours else figure


def _by_word(time: int, half: str, word: str) -> int:
    """Return a time of half a day in the day, by a word for morning, noon or later."""
    if half == "noon":
        return time + _HALF_DAY if time < _LATE_NOON else time
    is_later = word.casefold() in _NOON_WORDS if time < _HOUR else half == "pm"
    return time + _HALF_DAY * is_later


def _at(figure: Figure, time: int) -> Figure:
    return replace(figure, clock=time, ambiguous=False)


def _read(match: re.Match[str], digits: Digits, text: str, sign: str) -> Figure | None:
    start, end = match.span()
    began, ended = digits.starts[start], digits.ends[end - 1]
    own = text[began:ended]
    if (date := _date_of(match)) is not None:
        return Figure(own, began, ended, date=date)
    if match["clock"]:
        clock, ambiguous = read_time(match["clock"])
        return Figure(own, began, ended, clock=clock, ambiguous=ambiguous)
    if match["feet"]:
        inches = 12 * Decimal(match["feet"]) + Decimal(match["inches"])
        return Figure(own, began, ended, value=inches, scale=_INCH, factor=_INCH, kind="metre")
    if match["below"]:
        return _share(match, own, began, ended)
    values = values_of_amount(match["amount"], sign, is_pointed=bool(match["points"]))
    if not values:
        return None
    minus = _MINUS.search(digits.text, max(0, start - _LONGEST_MINUS - 1), start)
    kind, magnitude, factor = _unit_of(match, digits.text, values[0])
    if minus and minus[0].endswith(" ") and kind in ("second", "person"):
        minus = None  # Something minus two minutes: no time is less than none.
    if minus:
        began = digits.starts[minus.start()]
    values = [value + Decimal("0.5") if match["half"] else value for value in values]
    values = [-value if minus or match["minus"] else value for value in values]
    return Figure(
        text[began:ended],
        began,
        ended,
        value=values[0],
        second=values[-1] if len(values) > 1 else None,
        scale=magnitude * factor,
        factor=factor,
        kind=kind,
        prefixed=bool(match["prefix"]),
        per=_per(digits.text, end) if kind else None,
    )


def _date_of(match: re.Match[str]) -> Date | None:
    if written := match["iso"] or match["han"] or match["named"] or match["foreign"]:
        return read_date(written)
    if written := match["dayfirst"]:
        return read_day_first(written)
    if written := match["monthyear"]:
        month, year = written.split("/")
        return int(year), int(month), None
    return None


def _share(match: re.Match[str], own: str, began: int, ended: int) -> Figure | None:
    """Return the figure of 三分之二, and of 百分之七 in whatever digits."""
    below, over = Decimal(match["below"]), Decimal(match["over"])
    if not below:
        return None
    if below == _GREAT:
        return Figure(own, began, ended, value=over, kind="percent")
    return Figure(own, began, ended, value=over / below, kind="")


def _unit_of(
    match: re.Match[str], plain: str, value: Decimal
) -> tuple[str | None, Decimal, Decimal]:
    """Return the kind of a number's unit, its magnitude, and how many of the kind's base it is."""
    end, unit, scale_word = match.end(), match["unit"] or "", match["scale"] or ""
    kind, factor = UNITS.get(unit, (None, Decimal(1)))
    if match["pence"]:
        kind, factor = _PENNY, Decimal(1) / _GREAT
    kind = PREFIXES.get(match["prefix"] or "", "times" if match["times"] else kind)
    if kind is None and not plain[end : end + 2].lstrip()[:1].isalpha():
        kind = ""
    if unit == "成" and plain.startswith(_NOT_SHARES, end):
        kind, factor = None, Decimal(1)
    elif unit == "折" and value >= _TEN:
        factor = Decimal(1)
    scale = SCALES["M"] if scale_word == "m" else SCALES.get(scale_word, Decimal(1))
    return kind, scale * SCALES.get(match["after"] or "", Decimal(1)), factor


def _per(plain: str, end: int) -> tuple[str, Decimal] | None:
    """Return the unit or the number that a figure ending there is counted by, if it is known."""
    match = _PER.match(plain, end)
    if not match:
        return None
    if match["unit"]:
        return UNITS["度电" if match["unit"] == "度" else match["unit"]]
    return "", Decimal(match["amount"].replace(",", "")) if match["amount"] else SCALES[
        match["scale"]
    ]


def same(one: Figure, other: Figure) -> bool:
    """Return whether a figure of a sentence may say what a source's says.

    It may be rounded, by as much as its last digit shows, and leave out a unit, a year, or what
    it is counted by; a sign, a unit and a half of the day are never left out. A year tells no day.
    What can be read in two ways says either.
    """
    return any(starmap(_says_same, product(one.readings, other.readings)))


def _says_same(one: Figure, other: Figure) -> bool:
    if one.date or other.date:
        return _same_date(one, other)
    if one.clock is not None or other.clock is not None:
        # "8:00" is eight in the morning, unless it was put later; "eight" or 八点 may be either.
        is_early = ":" in one.text and (one.clock or 0) < _HALF_DAY + _HOUR
        times = (one.clock,) if is_early else one.clocks
        return bool(set(times) & set(other.clocks))
    if one.per and other.per and one.per != other.per:
        return False
    if one.kind and other.kind:
        one, other = (_in_months(_as_energy(*pair)) for pair in ((one, other), (other, one)))
        is_cents = CENT in (one.kind, other.kind) and one.is_money and other.is_money
        is_one = is_cents or one.kind == other.kind
        return is_one and _is_rounded(one.amount, other.amount, _half_step(one))
    if "percent" in (one.kind, other.kind):
        share = Decimal(1) / _GREAT
        a, b = (f.amount * share if f.kind == "percent" else f.amount for f in (one, other))
        # Before a word that may be a unit (0.69 MPa) a number is a share only where it is the same.
        step = _half_step(one) * (share if one.kind == "percent" else 1)
        if _is_rounded(a, b, Decimal(0) if None in (one.kind, other.kind) else step):
            return True
    in_cents = any(each.is_money and each.factor < 1 for each in (one, other))
    is_one = "" in (one.kind, other.kind) and _is_rounded(one.amount, other.amount, _half_step(one))
    if in_cents and is_one:
        # A sum without a unit has 0.2068 where people say 20.7 ct.
        return True
    return _is_rounded(_told(one), _told(other), _half_step(one) / one.factor)


def _as_energy(figure: Figure, beside: Figure) -> Figure:
    """Return a bare 度 beside kWh as that; it is no temperature then."""
    if beside.kind != _ENERGY or figure.text[-2:].lstrip("0123456789 千万亿") != "度":
        return figure
    return replace(figure, kind=_ENERGY, scale=figure.scale * _KWH, factor=_KWH)


def _in_months(figure: Figure) -> Figure:
    return (
        replace(figure, kind="month", scale=figure.scale * 12) if figure.kind == "year" else figure
    )


def _told(figure: Figure) -> Decimal:
    """Return the value that a number without its unit may be; a tenth (七成) is 70, never 7."""
    return figure.amount if figure.kind == "percent" else figure.bare


def _same_date(one: Figure, other: Figure) -> bool:
    if not (one.date and other.date):
        (year, *day), number = (one.date, other) if one.date else (other.date or (None,), one)
        return year == number.value and number.clock is None and not (one.date and any(day))
    told = zip(one.date[1:], other.date[1:], strict=True)
    return is_one_day(one.date, other.date) and not any(a and not b for a, b in told)


def is_one_day(one: Date, other: Date) -> bool:
    """Return whether two dates agree in all that both tell, and both tell something."""
    both = [(a, b) for a, b in zip(one, other, strict=True) if a and b]
    return bool(both) and all(a == b for a, b in both)


def _half_step(figure: Figure) -> Decimal:
    """Return half a unit of the last digit that is written."""
    exponent = figure.value.as_tuple().exponent
    return figure.scale * Decimal(1).scaleb(int(exponent)) / 2


_MOST_ROUNDED = Decimal("0.05")


def _is_rounded(value: Decimal, exact: Decimal, step: Decimal) -> bool:
    apart = abs(value - exact)
    if not apart:
        return True
    return (value < 0) == (exact < 0) and apart <= step and apart <= abs(exact) * _MOST_ROUNDED
