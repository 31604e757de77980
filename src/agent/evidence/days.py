"""Read which days a text names, in words or figures."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date, timedelta
from functools import cache

from agent.core.patterns import any_word
from agent.core.strings import has_han
from agent.evidence.figures import Figure, figures
from agent.evidence.units import WEEKDAYS

_DAYS_ON = {
    **dict.fromkeys(("今天", "今日", "今晚", "今早", "现在", "today", "tonight", "now"), 0),
    **dict.fromkeys(("明天", "明日", "明早", "明晚", "tomorrow"), 1),
    **dict.fromkeys(("后天", "day after tomorrow"), 2),
    "大后天": 3,
}
_FAR = timedelta(90)
"""From today: from then on it may as well be that of the next year, or of the last."""
_DAY_WORD = any_word(_DAYS_ON)
_DAY_BEHIND = re.compile(r"[ ,]{1,3}(\d{1,2})\b(?![:.])")
_BESIDE, _OPENED = {"", "the", "dem", "den"}, ("", "(", "（")
"""Between a weekday and its date, and between a date and its weekday."""
_APART = 8
"""Characters, more than such a word has with its blanks."""
_LONGEST_DAY = 60
_HAN_DAYS = "(下)?个?(?:周|星期|礼拜)([一二三四五六日天])"
_HAN_NUMBERS = {name: at for at, name in enumerate("一二三四五六日", 1)} | {"天": 7}


@cache
def _named_day() -> re.Pattern[str]:
    """Return the pattern of a weekday: of this week or the next, with a number or a name."""
    names = sorted(WEEKDAYS, key=len, reverse=True)
    han = [name for name in names if has_han(name)]
    letters = [name for name in names if name not in han]
    words, signs = ("|".join(map(re.escape, each)) for each in (letters, han))
    spaced = rf"(?<!\w)(next )?({words})(?!\w)|({signs})"
    return re.compile(f"{_HAN_DAYS}|{spaced}", re.IGNORECASE)


def days_named(question: str, today: str) -> list[str]:
    """Return the ISO dates that a question names, in words or figures; none where it names none.

    `today` begins with an ISO date. A day without a year is the nearest one, and a weekday beside a
    date is that day, or where a date falls on it: "next Saturday and Sunday, 5 and 6 December".
    """
    try:
        now = date.fromisoformat(today[:10])
    except ValueError:
        return []
    monday = now - timedelta(days=now.weekday())
    named_so = _DAY_WORD.findall(question)
    days = [now + timedelta(days=_DAYS_ON[word.casefold()]) for word in named_so]
    for before in question.casefold().replace("weekend", "周末").split("周末")[:-1]:
        is_next = before.removesuffix("个").endswith(("下", "next "))
        week = monday + timedelta(days=7 if is_next else 0)
        days += [day for n in (5, 6) if (day := week + timedelta(days=n)) >= now]
    dated = [figure for figure in figures(question) if figure.date and figure.date[2]]
    given = [*_dates(dated, now)]
    known = {day.isoweekday() for day in given}
    for named in _named_day().finditer(question):
        if date_beside(question, named.start(), named.end(), dated) or _number_of(named) in known:
            continue
        behind = next((one for one in dated if one.start > named.end()), None)
        number = _DAY_BEHIND.match(question, named.end())
        if number and behind and behind.date:
            # "Saturday 12 and Sunday 13 December": one month for both.
            days += nearest_days((*behind.date[:2], int(number[1])), now)
        else:
            days.append(_weekday(now, _number_of(named), later=bool(named[1] or named[3])))
    days += given
    for before in question.split("号")[:-1]:
        written = before[len(before.rstrip("0123456789")) :]
        if written and len(written) <= 2 and not before.removesuffix(written).endswith("月"):
            later = int(written) < now.day
            month = now.replace(day=1) + timedelta(days=31 if later else 0)
            days += nearest_days((month.year, month.month, int(written)), now)
    return sorted({day.isoformat() for day in days})


def valid_day(written: object) -> str:
    """Return the ISO date of the day that a model wrote, as `Saturday 2026-12-05`; else nothing.

    Where the two contradict each other the weekday counts, on the day that is nearest to the date:
    that is read in a question, and a date is reckoned from it.
    """
    text = written[:_LONGEST_DAY] if isinstance(written, str) else ""
    dates = (figure.date for figure in figures(text) if figure.date)
    day = next((day for year, *rest in dates if year and (day := real_day(year, *rest))), None)
    if day and (named := weekdays_in(text)):
        day += timedelta((named[0][2] - day.isoweekday() + 3) % 7 - 3)
    return day.isoformat() if day else ""


def date_beside(text: str, begin: int, end: int, dates: Sequence[Figure]) -> Figure | None:
    """Return the date that stands behind or before a weekday in a text."""
    near = [f for f in dates if 0 <= f.start - end <= _APART]
    behind = [f for f in near if text[end : f.start].strip(" ,，") in _BESIDE]
    before = [f for f in dates if f.end <= begin and text[f.end : begin].strip() in _OPENED]
    return next(iter(behind or before), None)


def _dates(dated: Sequence[Figure], now: date) -> Iterator[date]:
    """Yield calendar days for dates as written: in "5 May, 7 and 9" the last two are in May, too.

    Without a year, the nearest one to `now` is meant; a day that no calendar has is left out.
    """
    year, month = None, None
    for figure in dated:
        told = figure.date or (None, None, None)
        year, month = told[:2] if told[1] else (year, month)
        yield from nearest_days((year, month or now.month, told[2]), now)


def nearest_days(told: tuple[int | None, int | None, int | None], now: date) -> list[date]:
    """Return the day that is meant, of the year nearest to today where none is named."""
    year, month, day = told
    if year is None:
        return days_without_year(month or 0, day or 0, now)[:1]
    return [*filter(None, [real_day(year, month, day)])]


def real_day(year: int, month: int | None, day: int | None) -> date | None:
    """Return the day; None where no calendar has it, or a part of it is not told."""
    with suppress(ValueError):
        return date(year, month or 0, day or 0)
    return None


def weekdays_in(text: str) -> list[tuple[int, int, int]]:
    """Return where the weekdays begin and end that a text names, each with its ISO number.

    >>> weekdays_in("Friday, 星期一, Dienstag")
    [(0, 6, 5), (8, 11, 1), (13, 21, 2)]
    """
    return [
        (named.start(), named.end(), _number_of(named))
        for named in _named_day().finditer(text)
        if not (named[1] or named[3])
    ]


def _number_of(named: re.Match[str]) -> int:
    return _HAN_NUMBERS[named[2]] if named[2] else WEEKDAYS[(named[4] or named[5]).casefold()]


def _weekday(now: date, number: int, *, later: bool) -> date:
    """Return that day of this week, of the next if it is over or `later` is wanted."""
    day = now + timedelta(days=number - now.isoweekday())
    return day + timedelta(days=7) if later or day < now else day


def days_without_year(month: int, day: int, now: date) -> list[date]:
    """Return which day one without a year may be: the nearest to today, where that is far two.

    None where no year has it.
    """
    years = (now.year - 1, now.year, now.year + 1)
    found = [one for year in years if (one := real_day(year, month, day))]
    found.sort(key=lambda one: abs(one - now))
    is_far = bool(found) and abs(found[0] - now) > _FAR
    return found[: 1 + is_far]


_EACH = ("每", "逢", "very ")


def weekdays_told(
    text: str, years_of: Mapping[tuple[int | None, ...], set[int]], now: date | None
) -> Iterator[tuple[str, bool]]:
    """Yield dates with the weekday beside them, and whether that is right.

    One without a year is right if it is so in a year that may be meant: one of `years_of` its month
    and day, or that which is nearest to today, or two where that is far.
    """
    dates = [figure for figure in figures(text) if figure.date and all(figure.date[1:])]
    for begin, end, number in weekdays_in(text) if dates else ():
        figure = date_beside(text, begin, end, dates)
        if figure is None or text[:begin].endswith(_EACH):
            continue
        year, month, day = figure.date or (None, None, None)
        years = {year} if year else years_of.get((month, day), set[int]())
        days = [one for each in years if (one := real_day(each, month, day))]
        if now and not year:
            days += days_without_year(month or 0, day or 0, now)
        words = text[min(begin, figure.start) : max(end, figure.end)]
        if days:
            yield words, number in {each.isoweekday() for each in days}
