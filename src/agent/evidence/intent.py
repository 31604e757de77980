"""Does the map help with a query, and how: rules, for when no model decides.

Regular expressions over Chinese and English, questions and telegraphic search queries. What
these rules reach is measured by `python -m evals.geo_intent`.
"""

import unicodedata
from collections.abc import Mapping
from typing import Any, get_args

from agent.language import Language, detect_language

from .activities import activity_in, activity_keywords
from .geodesy import parse_lnglat
from .intent_words import (
    ABSTRACT,
    DISTANCE,
    FACT,
    LNGLAT,
    MINUTES,
    MODES,
    NEAR,
    NEAR_ME,
    NOT_SPATIAL,
    QUESTION,
    RADIUS,
    ROUTE,
    TO_DESTINATION,
    WEATHER,
)
from .place_names import (
    city_in,
    is_vague,
    landmark_in,
    place_after_preposition,
    shaped_place,
)
from .place_names import (
    extract_place as _extract_place,
)
from .queries import clean_text
from .route_ends import route_ends
from .types import MapIntent, MapTask, TravelMode

_MAX_TEXT = 400
_MAX_NAME = 80
_MAX_KEYWORDS = 3
_DEFAULT_RADIUS_M = 2000
_MIN_RADIUS_M, _MAX_RADIUS_M = 100, 50_000
_METRES_PER_MINUTE = 80
_UNIT_METRES = {"公里": 1000, "千米": 1000, "km": 1000, "kilomet": 1000, "里": 500, "mile": 1609}
_DIGITS = {"半": 0.5, "一": 1, "两": 2, "二": 2, "三": 3, "四": 4, "五": 5, "十": 10}


def detect_location_query(text: str) -> bool:
    """Whether a map search helps to answer this."""
    plain = _spatial(text)
    if LNGLAT.search(plain):
        return True
    activity = bool(activity_in(plain))
    known = _known_place(plain)
    if NEAR.search(plain) and (activity or (known and QUESTION.search(plain))):
        return True
    if _is_route(plain):
        return True
    if ABSTRACT.search(plain):
        return False
    if WEATHER.search(plain):
        return bool(city_in(plain) or landmark_in(plain))
    place = known or place_after_preposition(plain) is not None
    return place and (activity or bool(FACT.search(plain) or NEAR.search(plain)))


def has_location_intent(text: str) -> bool:
    """Whether a place or a spatial relation is named, whatever is asked about it."""
    plain = _spatial(text)
    named = LNGLAT.search(plain) or NEAR.search(plain) or ROUTE.search(plain)
    return bool(named or _known_place(plain) or place_after_preposition(plain))


def needs_place(text: str) -> bool:
    """Whether something is wanted "near me" and neither place nor coordinates are given."""
    plain = _spatial(text)
    if LNGLAT.search(plain) or not NEAR_ME.search(plain):
        return False
    return detect_location_query(text) and extract_place(text) is None


def extract_place(text: str) -> tuple[str, str | None] | None:
    """The (place, city) a query is about, or None; coordinates are a place ("lng,lat")."""
    plain = _spatial(text)
    literal = LNGLAT.search(plain)
    point = parse_lnglat(literal[0]) if literal else None
    if point:
        return f"{point[0]},{point[1]}", None
    return _extract_place(plain)


def map_task_by_rules(text: str) -> MapTask | None:
    """What the map should be asked; None if the map does not help."""
    if not detect_location_query(text):
        return None
    plain = _spatial(text)
    language = detect_language(text)
    found = extract_place(text)
    if _is_route(plain):
        task = _route_task(plain, found)
        if task:
            return valid_map_task(task)
    place, city = found or (None, None)
    proposal: dict[str, Any] = {"place": place, "city": city}
    proposal["intent"] = _intent(plain, place, city)
    if proposal["intent"] in ("nearby", "area"):
        proposal["keywords"] = _keywords(plain, place, language)
        proposal["radius_m"] = _radius(plain)
        proposal["mode"] = None
    return valid_map_task(proposal)


def valid_map_task(candidate: Mapping[str, Any]) -> MapTask | None:
    """A task that can be run, from whatever a model proposed; None if something needed lacks.

    A search nearby may lack its place: the user's own location can stand for it.
    """
    intent: MapIntent | None = candidate.get("intent")
    if intent is None or intent not in get_args(MapIntent):
        return None
    task = MapTask(intent=intent, radius_m=_clamped(candidate.get("radius_m")))
    names = {key: _name(candidate.get(key)) for key in ("place", "city", "origin", "destination")}
    task["place"], task["city"] = names["place"], names["city"]
    task["origin"], task["destination"] = names["origin"], names["destination"]
    task["keywords"] = _words(candidate.get("keywords"))
    mode = candidate.get("mode")
    task["mode"] = mode if mode in get_args(TravelMode) else None
    return task if _is_complete(task) else None


def _is_complete(task: MapTask) -> bool:
    where = task.get("place") or task.get("city")
    match task["intent"]:
        case "nearby":
            return bool(task.get("keywords") or where)
        case "area":
            return bool(where and task.get("keywords"))
        case "poi":
            return bool(where or task.get("keywords"))
        case "route" | "distance":
            return bool(task.get("destination"))
    return bool(where)


def _spatial(text: str) -> str:
    """The text without what only sounds spatial (市场规模, 区块链, nearest neighbour)."""
    plain = unicodedata.normalize("NFKC", clean_text(text[: 4 * _MAX_TEXT], _MAX_TEXT))
    return NOT_SPATIAL.sub(" ", plain)


def _known_place(plain: str) -> bool:
    return bool(landmark_in(plain) or city_in(plain) or shaped_place(plain))


def _is_route(plain: str) -> bool:
    ends = route_ends(plain)
    if not (ROUTE.search(plain) or DISTANCE.search(plain) or (ends and _mode(ends.rest))):
        return False
    if ends:
        known = _known_place(ends.origin) or _known_place(ends.destination)
        return known or bool(MODES[0][1].search(plain))
    return bool(TO_DESTINATION.search(plain)) and (
        _known_place(plain) or place_after_preposition(plain) is not None
    )


def _route_task(plain: str, found: tuple[str, str | None] | None) -> dict[str, Any] | None:
    ends = route_ends(plain)
    if not ends and not found:
        return None
    origin = None if not ends or is_vague(ends.origin) else ends.origin
    rest = ends.rest if ends else plain
    return {
        "intent": "distance" if DISTANCE.search(plain) else "route",
        "origin": origin,
        "destination": ends.destination if ends else found and found[0],
        "city": found[1] if found else None,
        "mode": _mode(rest),
    }


def _mode(text: str) -> TravelMode | None:
    return next((mode for mode, words in MODES if words.search(text)), None)


def _intent(plain: str, place: str | None, city: str | None) -> MapIntent:
    activity = activity_in(plain.replace(place, " ") if place else plain)
    if place and parse_lnglat(place) and not activity:
        return "regeo"
    if WEATHER.search(plain) and not NEAR.search(plain):
        return "weather"
    if FACT.search(plain) and not NEAR.search(plain) and not activity:
        return "poi"
    if place and place == city and not NEAR_ME.search(plain):
        return "area" if activity else "poi"
    return "nearby" if activity or NEAR.search(plain) else "poi"


def _keywords(plain: str, place: str | None, language: Language) -> list[str]:
    """Keywords from what the query says besides the name of the place."""
    rest = plain.replace(place, " ") if place else plain
    return (
        activity_keywords(rest, language)
        or activity_keywords(plain, language)
        or (["景点"] if language == "zh" else ["attractions"])
    )


def _radius(plain: str) -> int:
    found = RADIUS.search(plain)
    if found:
        number = _DIGITS.get(found[1]) or float(found[1])
        unit = found[2].lower()
        metres = next((m for name, m in _UNIT_METRES.items() if unit.startswith(name)), 1)
        return round(number * metres)
    minutes = MINUTES.search(plain)
    return int(minutes[1] or minutes[2]) * _METRES_PER_MINUTE if minutes else _DEFAULT_RADIUS_M


def _clamped(radius: object) -> int:
    if isinstance(radius, bool) or not isinstance(radius, int | float) or radius != radius:
        return _DEFAULT_RADIUS_M
    return int(min(max(radius, _MIN_RADIUS_M), _MAX_RADIUS_M))


def _name(value: object) -> str | None:
    return (clean_text(value, _MAX_NAME) or None) if isinstance(value, str) else None


def _words(value: object) -> list[str]:
    items = value if isinstance(value, list | tuple) else [value]
    cleaned = [clean_text(item, _MAX_NAME) for item in items if isinstance(item, str)]
    return list(dict.fromkeys(word for word in cleaned if word))[:_MAX_KEYWORDS]
