"""Word facts for people in both languages: distances, hours, costs, headings."""

from datetime import datetime

from agent.evidence.records import china_time
from agent.evidence.types import Place
from agent.texts import say
from agent.texts.language import Language


def metres(value: float | None) -> str:
    """Return "350 m", "1.2 km", "12 km"; "" for None."""
    if value is None:
        return ""
    if value < 1000:
        return f"{round(value)} m"
    kilometres = value / 1000
    return f"{kilometres:.1f} km" if kilometres < 10 else f"{round(kilometres):,} km"


def rating(place: Place) -> str:
    return "" if place["rating"] is None else f"{place['rating']:g}"


def cost(place: Place, language: Language) -> str:
    if place["cost"] is None:
        return ""
    return say("export.cost", language, cost=f"{place['cost']:g}")


def local_time(iso: str) -> str:
    """Return an ISO time as "2026-11-21 11:40 UTC"; the text itself if it is none."""
    try:
        moment = datetime.fromisoformat(iso)
    except ValueError:
        return iso
    zone = " UTC" if moment.utcoffset() is not None and not moment.utcoffset() else ""
    return f"{moment:%Y-%m-%d %H:%M}{zone}"


def credit(places: list[Place], language: Language) -> str:
    """Return the credit line of a list of places: whose data, and from when; "" without places."""
    if not places:
        return ""
    newest = max(place["fetched_at"] for place in places)
    owner, as_of = say("records.attribution", language), say("export.as_of", language)
    return f"{owner} · {as_of} {china_time(newest, language)}"
