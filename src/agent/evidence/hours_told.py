"""Tell hours in words, as far as they could be read, and what nobody could as it is written."""

import re
from collections.abc import Sequence, Set

from agent.evidence.hours import DAY_MINUTES, EVERY_DAY, OSM_DAYS, Hours
from agent.texts import Language, say

_OSM_MONTHS = (
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
)  # fmt: skip
_OSM_NAMES = {
    **{name: f"records.weekdays.{at}" for at, name in enumerate(OSM_DAYS, 1)},
    **{name: f"records.months.{at}" for at, name in enumerate(_OSM_MONTHS, 1)},
}
_OSM_NAME = re.compile(rf"\b(?:{'|'.join(_OSM_NAMES)})(?![a-z])")


def hours_words(seasons: Sequence[Hours], language: Language) -> str:
    """Return hours that hold all year in words: "周一至周五 08:00–18:00"; empty for others.

    What nobody could read of them stands as it is written.
    """
    if len(seasons) != 1 or seasons[0] is None:
        return ""
    if not seasons[0]:
        return say("records.hours.closed", language)
    spans: dict[frozenset[int], list[str]] = {}
    read = [each for each in seasons[0] if not each.written]
    for each in sorted(read, key=lambda each: (min(each.days), each.start)):
        whole = each.end - each.start == DAY_MINUTES
        clock = f"{_clock(each.start)}–{_clock(each.end)}"
        text = say("records.hours.always", language) if whole else clock
        spans.setdefault(each.days, []).append(text)
    parts = [
        f"{weekdays_words(days, language)} {', '.join(clocks)}" for days, clocks in spans.items()
    ]
    parts += [
        say("records.hours.written", language, text=days_in_words(each.written, language))
        for each in seasons[0]
        if each.written
    ]
    return say("punctuation.semicolon", language).join(parts)


def days_in_words(text: str, language: Language) -> str:
    """Return a text of hours that nobody could read, its days and months in the reader's words."""
    return _OSM_NAME.sub(lambda name: say(_OSM_NAMES[name[0]], language), text)


def _clock(minutes: int) -> str:
    hour = minutes // 60 if minutes <= DAY_MINUTES else minutes // 60 - 24
    return f"{hour:02}:{minutes % 60:02}"


def weekdays_words(days: Set[int], language: Language) -> str:
    """Return weekdays in words, runs of them with their ends."""
    if days == EVERY_DAY:
        return say("records.hours.daily", language)
    runs: list[list[int]] = []
    for day in sorted(days):
        if runs and runs[-1][-1] == day - 1:
            runs[-1].append(day)
        else:
            runs.append([day])
    names = [
        [say(f"records.weekdays.{day}", language) for day in dict.fromkeys((run[0], run[-1]))]
        for run in runs
    ]
    joined = (say("records.hours.to", language).join(ends) for ends in names)
    return say("records.hours.and", language).join(joined)
