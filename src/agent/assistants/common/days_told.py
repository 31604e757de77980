"""Tell a model each day that texts name as the calendar has it: models seldom reckon right."""

from collections.abc import Collection, Iterable
from datetime import date, timedelta
from itertools import chain, pairwise

from agent.core.patterns import Linear
from agent.core.processor import breathe, compute
from agent.evidence.days import days_without_year, real_day
from agent.evidence.figures import Figure, figures
from agent.evidence.formulas import working_days
from agent.evidence.records import with_weekday
from agent.evidence.written import Date
from agent.state import Turn
from agent.texts import counted

_MIDDLE, _BESIDE = 15, timedelta(days=92)
"""The day of a month that is named without one; how far a day is from one that tells its year."""
_JOINS = 5
"""Characters of a word or sign that joins days, or a day and its year."""
_STOP = Linear(r"[。！？\n]|[.!?]\s")
_DIGITS, _YEARS, _HALF_YEAR = 4, 10, 6
"""Of a year; how far a number is from this year that may be one; months."""
_DAYS, _PAST, _LONGEST = 40, 10, 400_000
"""Days that are told, the nearest ones, and of these that are over; characters that are looked
through. A list of deliveries has many that are over, and its reader plans ahead."""


def days_told(texts: Iterable[str], today: str) -> str:
    """Return today and the days that texts name: weekday, distance, working days from today.

    One without a year is that of the same day with one, or of one near by that its text names
    with its year; else the nearest to today, both where that is far.

    >>> days_told(["Offer valid until 4 December 2026."], "2026-11-29")
    '2026-11-29 Sun; named: 2026-12-04 Fri (in 5 days, 5 of them Mon–Fri)'
    """
    now, told, left = date.fromisoformat(today), set[Date](), _LONGEST
    for text in texts:
        breathe()
        told |= _with_years(_dates_in(text[: max(0, left)], now))
        left -= len(text)
    days, open_days = _days_of(told, now)
    nearest = sorted(days, key=lambda day: abs(day - now))
    over = [day for day in nearest if day < now]
    nearest = [day for day in nearest if day not in over[_PAST:]][:_DAYS]
    named = [
        _told(day, now) + (f", or {with_weekday(str(other), 'en')}" if other else "")
        for day in sorted(nearest)
        for other in [open_days.get(day)]
    ]
    return "; named: ".join(filter(None, (with_weekday(today, "en"), ", ".join(named))))


async def told_days(turn: Turn, *of: Iterable[str]) -> str:
    """Return the same of a question, own documents and notes; of today alone where that fails."""
    texts, today = [turn["question"], *chain.from_iterable(of)], turn["today"]
    return await compute(
        lambda: days_told(texts, today), otherwise=lambda: with_weekday(today, "en")
    )


def _dates_in(text: str, now: date) -> set[Date]:
    """Return the dates of a text, a day behind a year of its sentence in that year.

    So is one behind it, or it is in the next one: from 28 November to 6 January. A year at the end
    of its line or before a colon heads the paragraph. That told behind a day, or behind the last of
    several, is theirs before any other.
    """
    found, at, year, last, is_head = list[Date](), 0, None, 0, False
    # The places of the last days without a year of their own that are told together.
    joined = list[int]()
    for figure in figures(text):
        between = text[at : figure.start]
        if ("\n\n" in between) if is_head else _STOP.search(between):
            year = None
        bare = _bare_year(figure, now)
        told, month, day = figure.date or (bare, None, None)
        if len(between.strip()) > _JOINS or "\n" in between or not (figure.date or bare):
            joined = []
        if told:
            for place in joined:
                found[place] = _before((told, month, day), found[place])
            joined = []
            is_range = year and figure.start - at <= 1
            year, last = (None if month or is_range else told), 0
            is_head = text[figure.end : figure.end + _JOINS].lstrip(" *)")[:1] in tuple(":：\n")
        elif year and month and day:
            year += last - month > _HALF_YEAR
            told, last = year, month
        at = figure.end
        if figure.date:
            joined += [] if figure.date[0] else [len(found)]
            found.append((told, month, day))
    return {*found}


def _before(end: Date, day: Date) -> Date:
    """Return a day in the year that closes it, or that of a day behind it; or the one before."""
    (year, last, _), (_, month, number) = end, day
    is_before = bool(last and month) and (month or 0) - (last or 0) > _HALF_YEAR
    return (year or 0) - is_before, month, number


def _bare_year(figure: Figure, now: date) -> int | None:
    """Return the year that a number without a unit may be."""
    is_number = len(figure.text) == _DIGITS and figure.text.isdecimal() and not figure.kind
    is_near = is_number and abs(figure.value - now.year) <= _YEARS
    return int(figure.value) if is_near else None


def _with_years(named: Collection[Date]) -> set[Date]:
    """Return the days of one text, those without a year in that of a day beside them."""
    known = [one for y, m, d in named if y and (one := real_day(y, m, d or _MIDDLE))]
    found = set[Date]()
    for year, month, day in named:
        around = (real_day(one.year + by, month, day) for one in known for by in (-1, 0, 1))
        near = {
            each.year
            for each in filter(None, around)
            if any(abs(each - one) <= _BESIDE for one in known)
        }
        found.add((near.pop() if not year and len(near) == 1 else year, month, day))
    return found


def _days_of(told: Collection[Date], now: date) -> tuple[set[date], dict[date, date]]:
    """Return the days, and of those without a year the other candidate.

    One that is far from today is in the one year that the texts name, if they name neither of its
    own; in none where they name several.
    """
    years = {year for year, *_ in told if year}
    days, open_days = set[date](), dict[date, date]()
    dates = [(year, month, day) for year, month, day in told if month and day]
    dated = {(month, day) for year, month, day in dates if year}
    for year, month, day in dates:
        if not month or not day or (not year and (month, day) in dated):
            continue
        candidates = [] if year else days_without_year(month, day, now)
        if year:
            candidates = [*filter(None, [real_day(year, month, day)])]
        elif len(candidates) > 1 and years and years.isdisjoint(c.year for c in candidates):
            named = [real_day(each, month, day) for each in years]
            candidates = [*filter(None, named)] if len(years) == 1 else []
        days.update(candidates[:1])
        open_days.update(pairwise(candidates))
    return days, open_days


def _told(day: date, now: date) -> str:
    first, last = sorted((day, now))
    count, working = (last - first).days, working_days(first, last)
    words = with_weekday(day.isoformat(), "en")
    if day == now:
        return words
    length = counted("days", count, "en")
    if day < now:
        return f"{words} (past, {length} ago)"
    return f"{words} (in {length}, {working} of them Mon–Fri)"
