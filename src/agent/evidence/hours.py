"""Read the opening hours that a record states: as maps of China write them, and OpenStreetMap.

Nothing is guessed: where any of a text cannot be read, its hours are unknown; of a text of rules
those of the days that the unread one names.
"""

import itertools
import logging
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from functools import lru_cache

import opening_hours

from agent.core.patterns import piece
from agent.core.strings import has_any
from agent.evidence.types import Place

log = logging.getLogger(__name__)
DAY_MINUTES = 24 * 60
EVERY_DAY = frozenset(range(1, 8))


@dataclass(frozen=True)
class Opening:
    """Hold hours of some weekdays, in minutes since midnight; `end` may pass 1440."""

    days: frozenset[int]
    start: int
    end: int
    written: str = ""
    """What is written of these days, where nobody can read it: they may be open at any time."""


Hours = Sequence[Opening] | None
"""Of a week; None where they are not known, empty where a place is closed for good."""

_LONGEST = 400
_DAY = "(?:周|星期|礼拜)"
_NUMBERS = "一二三四五六日天"
_TO = r"\s*(?:-|至|到|\bto\b)\s*"
_NAME = r"(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:days?)?\b\.?"
_ITEM = rf"(?:[{_NUMBERS}]{{2,7}}|[{_NUMBERS}](?:{_TO}{_DAY}?[{_NUMBERS}])?)"
_AND = r"\s*(?:[、,/和及与&]|\band\b)\s*"
_DAYS = rf"{_DAY}{_ITEM}(?:{_AND}{_DAY}?{_ITEM}(?![{_NUMBERS}楼层号点月期间]))*"
"""Weekdays as they are listed: 周一至周五, 周六日, 周一、三、五."""
_SOME = "周末|双休日|工作日"
_OFF = rf"(?:{_DAY}?{_ITEM}|{_SOME}|(?:国家|国定)?(?:法定)?节?假日)"
_PART = r"次日|翌日|第二天|凌晨|清晨|上午|早上|早晨|早|中午|下午|傍晚|晚上|晚间|晚|夜间|夜里|午夜"
_CLOCK = (
    rf"(?:(?:{_PART})\s*:?\s*){{0,2}}"
    r"(?:\d{1,2}(?:[:点时]半|[:点时]\d{1,2}分?|[点时]整?)?(?:\s?[ap]\.?m\b\.?)?|midnight|noon)"
)
_MONTH = r"\d{1,2}月(?:份|\d{1,2}[日号]|[底末初中]旬?)?"
_DATE = r"\d{4}[-./年]\d{1,2}[-./月]\d{1,2}日?"
_SHORT_DATE = rf"(?:{_DATE}|\d{{1,2}}[./月]\d{{1,2}}日?)"
_ENTRY = r"(?:停止|截止|禁止)?(?:入[场馆园]|进[场馆园]|售票|检票|换票|取票|点[单餐菜])"
_TOKEN = re.compile(
    rf"(?P<but>(?:除了?(?:每?逢|每)?{_OFF}(?:{_AND}{_OFF})*[以之]?|"
    rf"(?:{_DAY}{_ITEM}|{_SOME})(?:{_AND}{_OFF})*除)外"
    rf"|\bexcept(?: on| for)? (?:{_NAME}(?:{_TO}{_NAME})?(?:{_AND}{_NAME})*|week(?:day|end)s?\b))"
    rf"|(?P<dated>{_DATE}(?:{_TO}{_SHORT_DATE})?)"
    rf"|(?P<months>(?:{_MONTH}|\d{{1,2}}){_TO}(?:次年|翌年)?{_MONTH}|{_MONTH})"
    r"|(?P<season>[春夏秋冬旺淡]季|[夏冬](?:令时?|天)|寒暑假|[寒暑]假|学期[内中间]?)"
    r"|(?P<holiday>(?:国家|国定)?法定节?假?日|节假日|假日|节日|春节|除夕|大?年[初三][一二三四五六七八九十]*"
    r"|(?:正月)?初[一二三四五六七八九十]+|正月[一二三四五六七八九十]+|国庆节?|元旦|清明节?|端午节?|中秋节?"
    r"|劳动节|五一|\b(?:public |bank )?holidays?\b)"
    rf"|(?P<entry>(?:最[晚后迟终]){{0,1}}{_ENTRY}(?:时间)?[为至到是:]?\s*{_CLOCK}"
    rf"|{_CLOCK}(?:[之以]?[前后]|起)?\s*{_ENTRY}"
    rf"|\blast (?:entry|admission|orders?)(?: is)?(?: at)?[:\s]*{_CLOCK})"
    rf"|(?P<day>{_DAYS})"
    rf"|(?P<english>\b{_NAME}(?:{_TO}{_NAME})?)"
    rf"|(?P<extended>延[长时]?[至到]\s*{_CLOCK})"
    r"|(?P<every>每天|每日|天天|全?年中?无休|\bdaily\b|\bevery ?day\b|\b7 days\b)"
    r"|(?P<work>工作日|\bweekdays?\b)|(?P<weekend>周末|双休日|\bweekends?\b)"
    r"|(?P<rest>其[余他它](?:时间|日期|时段)?|平[日时])"
    r"|(?P<always>(?:全天\s*)?(?:24|二十四)\s?小时(?:营业|开放)?|\b24\s?/\s?7\b|\b24\s?(?:hours?|hrs?|h)\b"
    r"|全天(?:营业|开放|候客)?|\ball day\b)"
    rf"|(?P<span>{_CLOCK}{_TO}{_CLOCK})"
    r"|(?P<suspended>暂停(?:营业|开放|服务)|停业|暂不(?:营业|开放)|(?:即将|尚未|暂未)开业"
    r"|\b(?:temporarily|permanently) closed\b)"
    r"|(?P<closed>闭馆|休馆|闭园|休园|休息|不开放?|不营业|店休|公休|休市|放假|\bclosed?\b)"
    r"|(?P<only>仅限?|只|\bonly\b)"
    r"|(?P<open>[(\[【])|(?P<shut>[)\]】])"
    r"|(?P<noise>(?:营业|开放|开馆|开园|接待|参观)时间|营业|开放|开馆|除外|顺延|\bexcept(?: on)?\b"
    r"|[为从及和与每逢遇至到]"
    r"|\b(?:open|from|on|and|hours)\b|早(?:点|餐|市|茶|午餐)|[午晚正夜](?:餐|市)|午茶|夜宵|"
    rf"{_PART}|\b(?:breakfast|brunch|lunch|dinner|supper)\b)"
    r"|(?P<word>[a-z]+|[^\W\d_])",
    re.IGNORECASE,
)
_EXCEPTIONS = "非营业时段"
"""What follows are dates of one year."""
_DASHES = str.maketrans(dict.fromkeys("‐‑‒–—―─~〜", "-"))
_NO_MATTER = " \t\n\u3000,，、;；:。.!/|&+-"
_TIME = re.compile(
    rf"((?:(?:{_PART})\s*:?\s*){{0,2}})(\d{{1,2}})(?:[:点时](半|\d{{1,2}})?)?\D*?(?:([ap])\.?m)?$",
    re.IGNORECASE,
)
_BETWEEN, _BETWEEN_ENDS = re.compile(_AND), re.compile(_TO)
_DAY_NAME = re.compile(rf"[{_NUMBERS}]|{_NAME}", re.IGNORECASE)
_CLOCK_SIGNS = (":", "点", "时", "am", "a.m", "pm", "p.m", "night", "noon")
_LATER_PARTS = ("下午", "傍晚", "晚", "夜")
_NEXT_DAY = ("次日", "翌日", "第二天")
_NAMED_DAYS = {
    name: at for at, name in enumerate(("mon", "tue", "wed", "thu", "fri", "sat", "sun"), 1)
}
_YEAR = frozenset(range(1, 13))
_WHOLE = ({"旺", "淡"}, {"夏", "冬"}, {"春", "夏", "秋", "冬"}, {"寒", "学"}, {"暑", "学"})
"""Names of seasons that make a year."""
_LATEST = 30 * 60


def minutes_of(clock: str) -> int:
    """Return a time `HH:MM` as minutes since midnight."""
    hours, _, minutes = clock.partition(":")
    return int(hours) * 60 + int(minutes)


def clock_of(minutes: int) -> str:
    """Return minutes since midnight as `HH:MM`; beyond midnight it begins at 00 again."""
    return f"{minutes // 60 % 24:02}:{minutes % 60:02}"


def weekly_hours(text: str) -> list[Hours]:
    """Return the weekly hours that a record states, for each of its seasons.

    Those of a part of the year that it does not speak of are None.
    """
    plain = unicodedata.normalize("NFKC", text[:_LONGEST]).translate(_DASHES)
    while "--" in plain:
        plain = plain.replace("--", "-")
    try:
        if ".." in plain:
            raise ValueError("the text is cut")
        return _Reader().read(piece(plain.split(_EXCEPTIONS)[0]).casefold())
    except ValueError:
        return [None]


def all_year(seasons: Sequence[Hours]) -> list[Opening] | None:
    """Return the weekly hours that hold all year; None where any of it cannot be read."""
    whole = len(seasons) == 1 and not partly_read(seasons)
    return list(seasons[0]) if whole and seasons[0] is not None else None


def partly_read(seasons: Sequence[Hours]) -> bool:
    """Return whether the hours of some days are known, and of others something nobody can read."""
    return any(each.written for hours in seasons for each in hours or ())


@dataclass
class _Season:
    """Gather the hours of a part of the year."""

    spans: list[Opening] = field(default_factory=list)
    closed: set[int] = field(default_factory=set)

    def hours(self) -> list[Opening]:
        return [Opening(each.days - self.closed, each.start, each.end) for each in self.spans]


class _Reader:
    """Read the tokens of a text; raise ValueError for one that is not understood."""

    def __init__(self) -> None:
        self._seasons = {"": _Season()}
        self._now = [""]
        """The seasons that are spoken of."""
        self._months, self._names, self._only = set[int](), set[str](), False
        self._days, self._is_new = set[int](), True
        """The days that are spoken of; new where their hours are still to come."""
        self._holiday = self._closing = False
        self._labels, self._label, self._depth, self._last = 0, "", 0, ""
        self._is_suspended = False

    def read(self, text: str) -> list[Hours]:
        at = 0
        for token in _TOKEN.finditer(text):
            self._skip(text[at : token.start()])
            at = token.end()
            self._take(str(token.lastgroup), token[0])
        self._skip(text[at:])
        return self._result()

    def _skip(self, between: str) -> None:
        if not self._depth and between.strip(_NO_MATTER):
            raise ValueError(between)

    def _take(self, kind: str, words: str) -> None:
        if kind in ("span", "always"):
            self._take_span(kind, words)
        elif kind == "extended":
            self._take_extension(words)
        elif kind in ("season", "months"):
            self._take_season(kind, words)
        elif kind == "closed":
            self._take_closed()
        elif kind == "but":
            self._close(_days(kind, words, set()))
        elif kind in ("holiday", "dated"):
            self._holiday = True
        elif kind == "suspended":
            self._is_suspended = True
        elif kind == "only":
            self._only = True
        elif kind in ("open", "shut"):
            self._depth += 1 if kind == "open" else -1
        elif kind == "word":
            self._take_word(words)
        elif kind not in ("noise", "entry"):
            self._take_days(_days(kind, words, self._named()))
        if kind not in ("open", "shut", "noise", "word"):
            self._last = kind

    def _take_word(self, words: str) -> None:
        # What stands in brackets, or why it is closed, changes nothing.
        if not self._depth and self._last != "closed":
            self._label += words

    def _take_days(self, days: set[int]) -> None:
        if self._closing:
            self._close(days)
            return
        self._days = self._days | days if self._is_new else days
        self._is_new = True

    def _close(self, days: set[int]) -> None:
        for season in self._spoken():
            season.closed |= days

    def _take_closed(self) -> None:
        if self._is_new and (self._days or self._holiday):
            self._close(self._days)
            self._days, self._is_new = set(), True
        else:
            self._closing = True
        self._holiday, self._label = False, ""

    def _take_span(self, kind: str, words: str) -> None:
        self._closing = False
        if self._holiday and not (self._days and self._is_new):
            # Hours of holidays alone.
            self._holiday = False
            return
        self._labels += bool(self._label)
        self._holiday, self._label, self._is_new = False, "", False
        start, end = (0, DAY_MINUTES) if kind == "always" else _span(words)
        for season in self._spoken():
            if self._days <= season.closed:
                # 除周末外 9:00-22:00，周末 10:00-23:00: they have hours of their own.
                season.closed -= self._days
            days = frozenset(self._days or EVERY_DAY) - season.closed
            season.spans.append(Opening(days, start, end))

    def _take_extension(self, words: str) -> None:
        """Let the days that are spoken of end later than the last hours did."""
        end = _minutes(_ends(words)[-1])
        for season in self._spoken():
            if not season.spans:
                raise ValueError(words)
            last = season.spans[-1]
            later = end if end > last.start else end + DAY_MINUTES
            season.spans.append(Opening(frozenset(self._days) or last.days, last.start, later))
        self._is_new = False

    def _take_season(self, kind: str, words: str) -> None:
        if kind == "season":
            self._names.add(words[0])
        else:
            self._months |= _months(words)
        if not self._is_new or self._last not in ("season", "months"):
            self._now, self._days, self._is_new = [], set(), True
        self._now.append(words)

    def _spoken(self) -> list[_Season]:
        return [self._seasons.setdefault(name, _Season()) for name in self._now]

    def _named(self) -> set[int]:
        """Return the days of which something is said already."""
        seasons = self._spoken()
        spoken = {day for season in seasons for span in season.spans for day in span.days}
        return spoken.union(*(season.closed for season in seasons))

    def _result(self) -> list[Hours]:
        if self._is_suspended:
            return [[]]
        spans = [span for season in self._seasons.values() for span in season.spans]
        if not spans or self._label or (self._labels and len(spans) <= self._labels == 1):
            raise ValueError("no hours")
        rest = self._seasons.pop("")
        if not self._seasons:
            return [rest.hours()]
        if rest.spans:
            return [*([rest.hours()] if self._only else [None]), []]
        parts: list[Hours] = [season.hours() for season in self._seasons.values()]
        whole = self._months >= _YEAR or any(names <= self._names for names in _WHOLE)
        return parts if whole else [*parts, [] if self._only else None]


def _days(kind: str, words: str, named: set[int]) -> set[int]:
    """Return the weekdays that a token names."""
    if kind == "every":
        return set(EVERY_DAY)
    if kind == "rest":
        return set(EVERY_DAY - named)
    return {day for item in _BETWEEN.split(words) for day in _item_days(item)}


def _item_days(words: str) -> set[int]:
    """Return the weekdays of one item of a list: 周一至周五, 六日, weekends, 节假日 (none)."""
    if has_any(words, ("工作日", "weekday")):
        return {1, 2, 3, 4, 5}
    if has_any(words, ("周末", "双休日", "weekend")):
        return {6, 7}
    ends = [] if "假" in words else list(_numbers(words))
    if len(_ends(words)) == 1:
        return set(ends)
    first, last = ends[0], ends[-1]
    return {1 + (first - 1 + step) % 7 for step in range((last - first) % 7 + 1)}


def _numbers(words: str) -> Iterator[int]:
    """Yield the ISO weekdays of the names in a token."""
    for name in _DAY_NAME.findall(words):
        yield _NAMED_DAYS.get(name[:3].casefold()) or min(_NUMBERS.index(name) + 1, 7)


def _ends(words: str) -> list[str]:
    """Return both ends of a span, or the one thing that it is."""
    return [end.strip() for end in _BETWEEN_ENDS.split(words, maxsplit=1)]


def _months(words: str) -> set[int]:
    ends = [int(end.partition("月")[0].lstrip("次翌年")) for end in _ends(words)]
    first, last = ends[0], ends[-1]
    return {1 + (first - 1 + step) % 12 for step in range((last - first) % 12 + 1)}


def _span(words: str) -> tuple[int, int]:
    """Return the minutes of a span, which may end on the next day."""
    first, last = _ends(words)
    start, end = _minutes(first), _minutes(last)
    if not has_any(words, _CLOCK_SIGNS):
        raise ValueError(words)
    if has_any(last, _NEXT_DAY) or end <= start:
        end += DAY_MINUTES
    if start >= DAY_MINUTES or end > start + _LATEST:
        raise ValueError(words)
    return start, end


def _minutes(words: str) -> int:
    words = words.strip().replace("midnight", "24").replace("noon", "12")
    match = _TIME.fullmatch(words)
    if match is None:
        raise ValueError(words)
    part, hour, rest, half = match[1], int(match[2]), match[3] or "0", (match[4] or "").lower()
    minute = 30 if rest == "半" else int(rest)
    if hour > _LATEST // 60 or minute > 59:
        raise ValueError(words)
    if hour < 12 and (
        half == "p" or (has_any(part, _LATER_PARTS) and not has_any(part, _NEXT_DAY))
    ):
        hour += 12
    if hour == 12 and half == "a":
        hour = 0
    return hour * 60 + minute


_WEEKS = 52
_LEAST_WEEKS = 4
"""That hours hold in a year; those of fewer are exceptions, such as the days before a holiday."""
_MOST_SPANS = 6000
"""Of a year."""
_KEPT = 1024
"""Texts of hours whose weeks are kept."""
_SHUT = ("off", "closed")
_INEXACT = ("sunrise", "sunset", "dawn", "dusk")


OSM_DAYS = ("Mo", "Tu", "We", "Th", "Fr", "Sa", "Su")
_OSM_DAY = rf"\b(?:{'|'.join(OSM_DAYS)}|PH)"
_SLIP = re.compile(
    rf"(?<={_OSM_DAY})(?:(?=\d)|, +(?={_OSM_DAY}\b))|(?<=\d[:.]\d\d) (?={_OSM_DAY}\b)"
)
"""Fr11:00 lacks a blank; a time before days, a semicolon; days in a list have no blanks: one would
make a rule of the first, open all day."""
_MENDED = {"": " ", " ": "; "}


def osm_rules(text: str) -> str:
    """Return a text in OpenStreetMap's syntax without usual slips, as its reader takes it.

    What stands behind || is for whoever makes an appointment.
    """
    whole = text[:_LONGEST].split("||")[0]
    return _SLIP.sub(lambda slip: _MENDED.get(slip[0], ","), whole)


@lru_cache(_KEPT)
def osm_hours(text: str, day: date) -> Sequence[Hours]:
    """Return the weekly hours of a text in OpenStreetMap's syntax over the year from a day on.

    Several where seasons differ. Public holidays do not count, as in what else is read here; where
    the sun decides, or nobody says until when, they are unknown. A rule that cannot be read leaves
    the others as they are where it tells its days. A year takes a millisecond, and each search
    judges the same places again.
    """
    first = datetime.combine(day - timedelta(days=day.weekday()), datetime.min.time())
    rules = [rule.strip() for rule in osm_rules(text).split(";")]
    rules = [rule for rule in rules if rule]
    if len(rules) == 1 and rules[0].casefold() in _SHUT:
        return [[]]
    opened: _RuleDays = {}
    unread: list[Opening] = []
    try:
        for rule in rules:
            whole_rule = _days_if_read(rule, first)
            parts = [rule] if whole_rule is not None else _parts_of(rule)
            for part in parts:
                # A rule holds for the days that it names; what began the evening before goes on.
                read = whole_rule if whole_rule is not None else _days_if_read(part, first)
                if read is not None:
                    opened |= read
                elif days := _days_named(part, first):
                    unread.append(Opening(days, 0, _LATEST, part))
    except Exception as error:  # noqa: BLE001 - the errors of its reader have no base of their own
        log.debug("opening hours %r: %s", text[:80], error)
        return [None]
    weeks = Counter(
        frozenset(
            (weekday + 1, start, end)
            for weekday in range(7)
            for start, end in opened.get((first + timedelta(weeks=week, days=weekday)).date(), ())
        )
        for week in range(_WEEKS)
    )
    usual = [week for week, count in weeks.items() if count >= _LEAST_WEEKS]
    known = [_of_week(week, unread) for week in usual]
    return known if any(not each.written for hours in known for each in hours) else [None]


_RuleDays = dict[date, list[tuple[int, int]]]
"""The hours of each day that a rule speaks of, in minutes; none of one that it closes."""


def _days_if_read(rule: str, first: datetime) -> _RuleDays | None:
    """Return the hours of each day of a year; None of a rule that cannot be read."""
    try:
        return _days_of_rule(rule, first)
    except Exception as error:  # noqa: BLE001 - the errors of its reader have no base of their own
        log.debug("opening hours, a rule %r: %s", rule[:80], error)
        return None


def _parts_of(rule: str) -> list[str]:
    """Return a rule in which commas stand for semicolons as several, each with its days."""
    parts: list[str] = []
    for piece_ in rule.split(","):
        if parts and not piece_.lstrip().startswith(OSM_DAYS):
            parts[-1] += f",{piece_}"
        else:
            parts.append(piece_.strip())
    return parts


def _days_named(rule: str, first: datetime) -> frozenset[int]:
    """Return the weekdays of a rule whose hours cannot be read; raise where it does not tell."""
    at = next((at for at, char in enumerate(rule) if char.isdigit()), len(rule))
    days, clocks = rule[:at].strip(), rule[at:]
    for word in _INEXACT:
        clocks = clocks.casefold().replace(word, "")
    if not days or any(map(str.isalpha, clocks)):
        raise ValueError("of which days is not said")
    reader = opening_hours.OpeningHours(days)
    spans = reader.intervals(first, first + timedelta(weeks=_WEEKS))
    named = (
        begins.isoweekday()
        for start, stop, state, _ in itertools.islice(spans, _MOST_SPANS)
        if state != opening_hours.State.CLOSED
        for begins, _ in _by_day(start, stop)
    )
    return frozenset(named)


def _days_of_rule(rule: str, first: datetime) -> _RuleDays:
    """Return the hours of each day of a year that a rule speaks of; raise where it is not read."""
    is_open_ended = any(part[-1:].isdigit() for part in rule.split("+")[:-1])
    if is_open_ended or has_any(rule.casefold(), _INEXACT):
        raise ValueError("until when is not said")
    last = first + timedelta(weeks=_WEEKS)
    named, _, last_word = rule.rpartition(" ")
    shut = last_word.casefold() in _SHUT
    reader = opening_hours.OpeningHours(named.rstrip() if shut else rule)
    spans = list(itertools.islice(reader.intervals(first, last), _MOST_SPANS))
    if len(spans) == _MOST_SPANS:
        raise ValueError("more spans than a place has")
    days: _RuleDays = {}
    for start, stop, state, comment in spans:
        if state == opening_hours.State.CLOSED:
            continue
        said = not comment or f'open "{comment}"' in rule
        if state != opening_hours.State.OPEN or not said:
            raise ValueError("open for some only, or perhaps")
        for begins, ends in _by_day(start, min(stop, last)):
            minute = begins.hour * 60 + begins.minute
            length = round((ends - begins).total_seconds()) // 60
            found = days.setdefault(begins.date(), [])
            found += [] if shut else [(minute, minute + length)]
    return days


def _by_day(start: datetime, end: datetime) -> Iterator[tuple[datetime, datetime]]:
    """Yield what is open for more than a day in parts that end at midnight."""
    while end - start > timedelta(days=1):
        midnight = datetime.combine(start.date() + timedelta(days=1), datetime.min.time())
        yield start, midnight
        start = midnight
    yield start, end


def _of_week(week: frozenset[tuple[int, int, int]], unread: Sequence[Opening]) -> list[Opening]:
    """Return the hours of a week, days of the same ones together, then what nobody can read."""
    open_questions = {day for each in unread for day in each.days}
    days: dict[tuple[int, int], set[int]] = {}
    for weekday, start, end in sorted(week):
        if weekday not in open_questions:
            days.setdefault((start, end), set()).add(weekday)
    return [*(Opening(frozenset(on), *span) for span, on in days.items()), *unread]


def hours_of(place: Place) -> Sequence[Hours]:
    """Return the weekly hours of a place, for each of its seasons, whatever its map's syntax."""
    if text := place.get("hours_osm"):
        return osm_hours(text, datetime.fromisoformat(place["fetched_at"]).date())
    return weekly_hours(place["open_time"] or "")


def yearly_hours(place: Place) -> list[Opening] | None:
    """Return the hours of a place that hold all year; None where they are not known."""
    return all_year(hours_of(place))
