"""Tell a model each day that texts name as the calendar has it: models seldom reckon right."""

from collections.abc import Collection, Iterable
from datetime import date, timedelta
from itertools import chain, pairwise

from agent.core.processor import breathe, compute
from agent.evidence.claims.formulas import working_days
from agent.evidence.days import days_without_year, real_day
from agent.evidence.figures import figures
from agent.evidence.records import with_weekday
from agent.evidence.written import Date
from agent.state import Turn
from agent.texts import counted

_MIDDLE, _BESIDE = 15, timedelta(days=92)
"""The day of a month that is named without one; how far a day is from one that tells its year."""
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
        told |= _with_years({f.date for f in figures(text[: max(0, left)]) if f.date})
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


def _days_of(told: Iterable[Date], now: date) -> tuple[set[date], dict[date, date]]:
    """Return the days, and of those without a year the other candidate."""
    days, open_days = set[date](), dict[date, date]()
    dates = [(year, month, day) for year, month, day in told if month and day]
    dated = {(month, day) for year, month, day in dates if year}
    for year, month, day in dates:
        if not month or not day or (not year and (month, day) in dated):
            continue
        candidates = [] if year else days_without_year(month, day, now)
        if year:
            candidates = [*filter(None, [real_day(year, month, day)])]
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
