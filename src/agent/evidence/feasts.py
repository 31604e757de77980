"""Tell public holidays where a place is, on which the hours of ordinary days may not hold."""

from collections.abc import Iterable
from datetime import date, datetime, timedelta
from functools import lru_cache
from importlib.resources import files

import opening_hours

from agent.evidence.hours import DAY_MINUTES, minutes_of, osm_rules
from agent.evidence.kinds import DemandOutcome
from agent.evidence.types import Place

_HOME = "Asia/Shanghai"
_FEAST = "PH"
_KEPT = 256


@lru_cache(1)
def _countries() -> dict[str, str]:
    """Return the country of each zone of the time zone database, by two letters."""
    table = files("tzdata.zoneinfo").joinpath("zone.tab").read_text("utf-8")
    rows = (line.split("\t") for line in table.splitlines() if not line.startswith("#"))
    return {name: code for code, _, name, *_ in rows}


def _country(place: Place) -> str:
    return _countries().get(place.get("zone", _HOME), "")


def is_public_holiday(place: Place, day: date) -> bool:
    """Return whether a day is known to be one in the country that a place's clock tells."""
    return _is_feast(_country(place), day)


def shared_feast(places: Iterable[Place], day: str) -> bool:
    """Return whether an ISO date is known to be a public holiday at each of some places."""
    try:
        that_day = date.fromisoformat(day)
    except ValueError:
        return False
    days = [is_public_holiday(place, that_day) for place in places]
    return bool(days) and all(days)


@lru_cache(_KEPT)
def _is_feast(country: str, day: date) -> bool:
    noon = datetime.combine(day, datetime.min.time()) + timedelta(hours=12)
    try:
        return opening_hours.OpeningHours(_FEAST, country=country).is_open(noon)
    except Exception:  # noqa: BLE001 - of countries whose holidays it does not know
        return False


def open_on_feast(place: Place, day: date, *, at: str | None, until: str | None) -> DemandOutcome:
    """Return whether a place is open on a public holiday, as far as its record speaks of those."""
    text = place.get("hours_osm", "")
    if _FEAST not in text:
        return "unknown"
    midnight = datetime.combine(day, datetime.min.time())
    minute = minutes_of(until or at or "0:00") - bool(until)
    begins = midnight + timedelta(minutes=minute)
    ends = begins + timedelta(minutes=1 if at or until else DAY_MINUTES)
    try:
        reader = opening_hours.OpeningHours(osm_rules(text), country=_country(place))
        states = {state for _, _, state, _ in reader.intervals(begins, ends)}
    except Exception:  # noqa: BLE001 - the errors of its reader have no base of their own
        return "unknown"
    if opening_hours.State.UNKNOWN in states:
        return "unknown"
    return "satisfied" if opening_hours.State.OPEN in states else "violated"
