"""The map's records as a message carries them: numbered, named first, readable in English."""

import asyncio
import itertools
from collections.abc import Sequence

from agent.evidence.language import days_named
from agent.evidence.places import mentioned, source_ids
from agent.evidence.records import (
    district_in_english,
    forecast_in_english,
    with_days_asked,
    with_pinyin,
)
from agent.evidence.types import Anchor, Place, Source, Weather
from agent.evidence.zones import CHINA, day_there, with_zone, zone_named
from agent.state import Turn
from agent.texts import Language


async def listed(
    places: list[Place], used: list[Source], text: str, language: Language, *, first: Sequence[str]
) -> list[Place]:
    """Return the places as the message carries them: their zones named, in English pinyin, too."""
    in_order = numbered(_with_mentions(places, used, text, first), used)

    def completed() -> list[Place]:
        complete = [with_zone(place) for place in in_order]
        return with_pinyin(complete) if language == "en" else complete

    return await asyncio.to_thread(completed) if in_order else []


async def forecasts_of(weather: Sequence[Weather], turn: Turn) -> list[Weather]:
    """Return the forecasts as the message carries them: with the days asked for marked.

    For English readers they are in English, too.
    """
    if not weather:
        return []
    days = days_forecast(turn, weather)
    forecasts = [with_days_asked(each, days) for each in weather]
    if turn["language"] != "en":
        return forecasts
    return await asyncio.to_thread(lambda: [forecast_in_english(each) for each in forecasts])


def days_forecast(turn: Turn, weather: Sequence[Weather]) -> list[str]:
    """Return the days whose weather is asked for, on the calendar where the forecasts are."""
    zones = [zone_named(each.get("zone", str(CHINA))) for each in weather]
    days = (days_named(turn["question"], day_there(turn["started_at"], z)) for z in zones)
    return list(dict.fromkeys([*filter(None, [turn.get("day")]), *itertools.chain(*days)]))


async def readable(anchor: Anchor | None, language: Language) -> Anchor | None:
    """Return the centre as the message carries it; for English readers with its district's name."""
    if not anchor or language != "en" or not (district := anchor.get("district")):
        return anchor
    english = await asyncio.to_thread(district_in_english, district)
    return Anchor(**{**anchor, "district_en": english})


def _with_mentions(
    places: list[Place], used: list[Source], text: str, first: Sequence[str]
) -> list[Place]:
    """Return the places with those marked that the answer names or cites: first, in its order.

    Those with the ids of `first` come before them.
    """
    leading = {id: at for at, id in enumerate(first)}
    numbers = {source["id"]: source.get("number") or 0 for source in used}
    named = mentioned(places, text)
    unnamed = len(text)

    def order(place: Place) -> tuple[bool, int, int, int]:
        cited = [numbers[id] for id in source_ids(place) if id in numbers]
        is_mentioned = place["id"] in named or bool(cited)
        leads = leading.get(place["id"], len(leading))
        return not is_mentioned, leads, named.get(place["id"], unnamed), min(cited, default=0)

    return [Place(**{**p, "mentioned": not order(p)[0]}) for p in sorted(places, key=order)]


def numbered(places: Sequence[Place], used: Sequence[Source]) -> list[Place]:
    """Return the places with the numbers of their sources; those without one go on from there."""
    cited = {source["id"]: source.get("number") or 0 for source in used}
    further = itertools.count(max(cited.values(), default=0) + 1)
    return [
        Place(**{**place, "number": cited.pop(place["source"], 0) or next(further)})
        for place in places
    ]


def distinct_places(places: Sequence[Place]) -> list[Place]:
    """Return one record a place, the more detailed one, with the ids of all its sources."""
    best: dict[str, Place] = {}
    ids: dict[str, list[str]] = {}
    for place in places:
        ids.setdefault(place["id"], []).extend(source_ids(place))
        first = best.get(place["id"])
        if first is None or (place["detailed"] and not first["detailed"]):
            best[place["id"]] = place
    return [_with_sources(place, ids[place["id"]]) for place in best.values()]


def _with_sources(place: Place, ids: Sequence[str]) -> Place:
    distinct = list(dict.fromkeys([place["source"], *ids]))
    return Place(**{**place, "sources": distinct}) if len(distinct) > 1 else place
