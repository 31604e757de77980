"""Know the seasons in which alone a place is there: city bikes, outdoor pools, markets."""

from collections.abc import Sequence
from datetime import date
from typing import get_args

from agent.core.strings import split_at
from agent.evidence.types import Place, Season
from agent.texts import Language, say

_SEASONS: tuple[Season, ...] = get_args(Season)


def seasons_in(tag: str) -> list[Season] | None:
    """Return the seasons of a tag; none of one that does not say which, None where all are."""
    parts = {part.strip() for part in split_at(tag.casefold(), ";,")}
    named = [season for season in _SEASONS if season in parts]
    return named if parts.isdisjoint({"no", ""}) and len(named) < len(_SEASONS) else None


def season_words(seasons: Sequence[Season], language: Language) -> str:
    """Return that a place is there in some seasons only: "only in spring, summer"."""
    joint = say("punctuation.comma", language)
    named = joint.join(say(f"records.seasons.{season}", language) for season in seasons)
    key = "some" if named else "unnamed"
    return say(f"records.seasons.{key}", language, seasons=named)


def is_in_season(place: Place, day: str | None) -> bool:
    """Return whether a place is surely there on a day (ISO); of no day, where it always is."""
    if (seasons := place.get("seasons")) is None:
        return True
    if day is None:
        return False
    month = date.fromisoformat(day).month + (6 if place["location"]["lat"] < 0 else 0)
    return _SEASONS[month % 12 // 3] in seasons
