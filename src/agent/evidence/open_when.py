"""Hold the hours of a place against when somebody wants to be there."""

from collections.abc import Sequence
from datetime import date, datetime
from typing import cast, get_args

from agent.evidence.feasts import is_public_holiday, open_on_feast
from agent.evidence.hours import (
    DAY_MINUTES,
    EVERY_DAY,
    Hours,
    Opening,
    clock_of,
    hours_of,
    minutes_of,
)
from agent.evidence.hours_told import weekdays_words
from agent.evidence.kinds import DemandOutcome, is_named
from agent.evidence.records import with_weekday
from agent.evidence.seasons import is_in_season, season_words
from agent.evidence.types import Constraints, Place, PlaceVerdict
from agent.evidence.zones import CHINA, zone_named
from agent.texts import Language, say

_SMALL_HOURS = 5 * 60
BEFORE = "<"
"""In front of the time of `open_at`: some time before it will do."""


def asked_clock(demands: Constraints, language: Language) -> str:
    """Return the time of `open_at` in the words that it was asked for with: "before 09:00"."""
    at = demands.get("open_at", "")
    return say("constraints.before", language, time=at[1:]) if at.startswith(BEFORE) else at


def _is_open(hours: Sequence[Opening], day: int, minute: int | None) -> bool:
    """Return whether a place is open on a day at a minute, which may be after its midnight."""
    if minute is None:
        return any(day in each.days for each in hours)
    next_day, before = 1 + day % 7, 1 + (day - 2) % 7
    return any(
        (day in each.days and each.start <= minute < each.end)
        or (before in each.days and minute + DAY_MINUTES < each.end)
        # Open round the clock goes on at midnight.
        or (next_day in each.days and each.start == 0 <= minute - DAY_MINUTES < each.end)
        for each in hours
    )


def open_verdict(place: Place, constraints: Constraints, language: Language) -> PlaceVerdict | None:
    """Return whether a place is open when it has to be; None where that is not asked.

    Of a time to be there and one to stay till, the one that it fails is told, else the latter.
    """
    if constraints.get("open_at") and constraints.get("open_until"):
        alone = (
            cast(Constraints, {key: bound for key, bound in constraints.items() if key != other})
            for other in ("open_at", "open_until")
        )
        both = filter(None, [open_verdict(place, each, language) for each in alone])
        return max(
            both, key=lambda each: get_args(DemandOutcome).index(each["verdict"]), default=None
        )
    at, days = constraints.get("open_at"), constraints.get("open_on")
    until = constraints.get("open_until")
    clock, date_meant = asked_clock(constraints, language), constraints.get("day")
    if at and at.startswith(BEFORE):
        # Who is to be open before nine is so in the minute before.
        at = clock_of(max(0, minutes_of(at[1:]) - 1))
    if date_meant and date.fromisoformat(date_meant).isoweekday() not in (days or ()):
        # One search alone may have a day of its own.
        date_meant = None
    if at and (moment := constraints.get("asked_at")):
        there = datetime.fromtimestamp(moment, zone_named(place.get("zone") or str(CHINA)))
        clock = at = f"{there:%H:%M}"
        days, date_meant = [there.isoweekday()], there.date().isoformat()
    if days and not (at or until) and is_named("hotel", place["category"]):
        # The day is the one that somebody arrives on.
        return None
    ruled_out = [] if days else constraints.get("not_on", [])
    if not (at or days or until or ruled_out):
        return None
    seasons = hours_of(place)
    constraint = "open_at" if at else "open_until" if until else "open_on" if days else "not_on"
    named = weekdays_words({*(days or ruled_out)}, language) if days or ruled_out else ""
    if ruled_out:
        days = sorted(EVERY_DAY.difference(ruled_out))
        named = named if constraint == "not_on" else ""
    when = " ".join(filter(None, [named, clock or until]))
    outcomes = {openness(hours, at, days, until=until) for hours in seasons}
    outcome: DemandOutcome = outcomes.pop() if len(outcomes) == 1 else "unknown"
    # The hours themselves stand in the place's line, wherever this does.
    text = say(f"constraints.{constraint}.{outcome}", language, when=when)
    verdict = PlaceVerdict(constraint=constraint, verdict=outcome, field="open_time", text=text)
    if date_meant and seasons != [_ROUND_THE_CLOCK]:
        verdict = _on_its_date(verdict, place, date_meant, (at, until), language, when=when)
    if verdict["verdict"] == "satisfied" and not is_in_season(place, date_meant):
        told = season_words(place["seasons"], language)
        text = say(f"constraints.{constraint}.unknown", language, when=when)
        text += say("punctuation.brackets", language, text=told)
        verdict = PlaceVerdict(constraint=constraint, verdict="unknown", field="seasons", text=text)
    if until and verdict["verdict"] == "satisfied" and _closes_then(seasons, until, days):
        # Who wants to stay past ten has not found a place that closes at ten.
        text = say("constraints.open_until.no_longer", language, when=when)
        return PlaceVerdict(**{**verdict, "text": text})
    return verdict


_ROUND_THE_CLOCK = [Opening(EVERY_DAY, 0, DAY_MINUTES)]


def _on_its_date(
    verdict: PlaceVerdict,
    place: Place,
    date_meant: str,
    clocks: tuple[str | None, str | None],
    language: Language,
    *,
    when: str,
) -> PlaceVerdict:
    """Return a verdict on a weekday as it is on that date: weekly hours speak of no holidays."""
    day = date.fromisoformat(date_meant)
    if not is_public_holiday(place, day):
        return verdict
    at, until = clocks
    outcome = open_on_feast(place, day, at=at, until=until)
    if outcome == "unknown" and verdict["verdict"] != "satisfied":
        return verdict
    told = with_weekday(date_meant, language)
    text = say(f"constraints.feast.{outcome}", language, day=told, when=when)
    on_feast = PlaceVerdict(**{**verdict, "verdict": outcome, "text": text})
    if outcome == "unknown":
        on_feast["ordinarily"] = True
    return on_feast


def _closes_then(seasons: Sequence[Hours], until: str, days: Sequence[int] | None) -> bool:
    hour, minute = map(int, until.split(":"))
    past = hour * 60 + minute + 1
    later = f"{past // 60 % 24:02}:{past % 60:02}"
    return all(openness(hours, None, days, until=later) == "violated" for hours in seasons)


def openness(
    hours: Hours, at: str | None, days: Sequence[int] | None, *, until: str | None = None
) -> DemandOutcome:
    """Return whether hours hold at a time (`HH:MM`), or till one, on one of some ISO weekdays.

    Without a day, the time has to fit every day on which the place opens at all.
    """
    if hours is None:
        return "unknown"
    minute = None
    if clock := until or at:
        hour, _, rest = clock.partition(":")
        minute = int(hour) * 60 + int(rest)
        if until:
            # Open till 22:00 is open in the minute before; till 2:00, after midnight.
            minute += (DAY_MINUTES if minute <= _SMALL_HOURS else 0) - 1
        else:
            minute %= DAY_MINUTES
    listed = days or [day for day in sorted(EVERY_DAY) if _is_open(hours, day, None)]
    known = [each for each in hours if not each.written]
    surely = [_is_open(known, day, minute) for day in listed]
    perhaps = [_is_open(hours, day, minute) for day in listed]
    if listed and (any(surely) if days else all(surely)):
        return "satisfied"
    return "unknown" if any(perhaps) else "violated"
