"""Hold the weekdays that a text tells beside days against the calendar."""

from calendar import day_name
from collections.abc import Iterator
from contextlib import suppress
from datetime import date

from agent.evidence.claims.passages import Evidence
from agent.evidence.figures import Figure, figures
from agent.evidence.language import days_without_year, weekdays_in

_EACH = ("每", "逢", "very ")
_BESIDE, _OPENED, _HAN = (" ", ", ", "", "，", " the "), ("", "(", "（"), "一二三四五六日"


def wrong_days(text: str, evidence: Evidence) -> list[tuple[str, str]]:
    """Return the days that are told with a wrong weekday, and how they should read.

    Empty where no source has the day: then that may be the wrong one; or where several years may be
    meant.
    """
    return [
        (words, rights[0] if len(rights) == 1 and evidence.has(day) else "")
        for words, rights, day in _told_days(text, evidence)
        if words not in rights and ((day.date or (0,))[0] or not evidence.quotes(words))
    ]


def is_right_day(span: str, text: str, evidence: Evidence) -> bool:
    """Return whether words of a text are of a day that sources have, with its right weekday."""
    return any(
        span in words and words in rights and evidence.has(day)
        for words, rights, day in _told_days(text, evidence)
    )


def _told_days(text: str, evidence: Evidence) -> Iterator[tuple[str, list[str], Figure]]:
    """Yield dates with the weekday beside them, as they are told and as they should be.

    One without a year is right if it is so in a year that may be meant.
    """
    dates = [figure for figure in figures(text) if figure.date and all(figure.date[1:])]
    for begin, end, number in weekdays_in(text) if dates else ():
        behind = [f for f in dates if f.start >= end and text[end : f.start] in _BESIDE]
        before = [f for f in dates if f.end <= begin and text[f.end : begin].strip() in _OPENED]
        is_one = not text[:begin].endswith(_EACH)
        for figure in (behind or before)[:1] if is_one else ():
            named, rights = text[begin:end], list[str]()
            first, last = min(begin, figure.start), max(end, figure.end)
            for right in _weekdays(figure, evidence):
                name = day_name[right - 1] if named.isascii() else named[:-1] + _HAN[right - 1]
                told = named if right == number else name
                rights.append(text[first:begin] + told + text[end:last])
            if rights:
                yield text[first:last], rights, figure


def _weekdays(figure: Figure, evidence: Evidence) -> list[int]:
    """Return the weekdays of a date by its year, else by those that sources have of it.

    Without any of the year that is nearest to today, of two where that is far.
    """
    year, month, day = figure.date or (None, None, None)
    years, now, found = {year} if year else evidence.years.get((month, day)), evidence.day, []
    for each in years or ():
        with suppress(ValueError):
            found.append(date(each or 0, month or 0, day or 0))
    if now and not years:
        found = days_without_year(month or 0, day or 0, now)
    return [each.isoweekday() for each in sorted(found)]
