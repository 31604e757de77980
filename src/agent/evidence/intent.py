"""Decide by rules if the map helps with a query, and how, where no model has said it.

Coordinates, nearness, ways, and kinds of places beside a known one; in Chinese and English. What
they reach is measured by `python -m evals.geo_intent`, which of them is needed by `make ablate`.
"""

import re
import unicodedata
from typing import Any

from agent.core.patterns import any_word
from agent.core.strings import has_any
from agent.evidence.figures import figures
from agent.evidence.geo import parse_lnglat
from agent.evidence.language import with_places
from agent.evidence.maps import valid_map_task
from agent.evidence.places import place_after_preposition, place_and_city, route_ends, shaped_place
from agent.evidence.queries import clean_text
from agent.evidence.types import MapIntent, MapTask, TravelMode
from agent.evidence.vocabulary import activity_in, activity_keywords, city_in, landmark_in
from agent.texts import detect_language

_I = re.IGNORECASE
LNGLAT = re.compile(r"(?<![\d.])-?\d{1,3}\.\d{2,}\s*[,，]\s*-?\d{1,3}\.\d{2,}(?![\d.])")
MODES: dict[str, TravelMode] = {
    **dict.fromkeys(("公交", "地铁", "高铁", "火车", "subway", "metro", "bus", "train"), "transit"),
    **dict.fromkeys(("步行", "走路", "走到", "walk", "walking", "on foot", "zu fuß"), "walking"),
    **dict.fromkeys(("骑", "bike", "bicycle", "cycling", "cycle"), "bicycling"),
    **dict.fromkeys(("开车", "自驾", "打车", "打的", "drive", "driving", "taxi", "car"), "driving"),
}
"""What names a way to travel."""
_SAYS: dict[str, str] = {
    **dict.fromkeys(("附近", "周边", "旁边", "边上", "最近的"), "near"),
    **dict.fromkeys(("near", "nearby", "nearest", "closest"), "near"),
    **dict.fromkeys(("close by", "around here", "around me"), "near"),
    **dict.fromkeys(("多久", "directions"), "way"),
    **dict.fromkeys(("how do i get", "how can i get", "how do we get"), "way"),
    **dict.fromkeys(("多远", "距离", "多少公里", "how far", "distance"), "distance"),
    **dict.fromkeys(("地址", "在哪", "几点", "开门", "关门", "门票"), "fact"),
    **dict.fromkeys(("where is", "where's", "address", "hours", "open", "opens"), "fact"),
    **dict.fromkeys(("close", "closes", "closing", "ticket", "tickets"), "fact"),
    **MODES,
}
"""What words of a question are about."""
_SAID = any_word(_SAYS)
_NO_WAYS = ("car", "火车", "自驾")
"""Ways to travel that are said of other things, too."""
_ASKS_WAY = ("怎么走", "怎么去", "怎么到", "如何走", "如何去", "如何到", "路线")
_NO_ROUTE = "路线图"
WEATHER = re.compile(
    r"天气(?!.{0,4}去)|气温|下雨(?!天|时|的时候|.{0,3}去)|\bweather\b|\brain\b", _I
)
_NAVIGATE = any_word(
    "导航到|导航去|导航至|带我去|带我到|navigate to|navigate me to|directions to|take me to"
)
_NO_END = re.compile(r"(?:[要不想]|知道|[骑步]行|\d(?:路|号线)(?:[内外]环)?)\Z")
"""Words that are no place to go from or to: 401路, 10号线外环, 知道, 明天要."""
_MAX_TEXT = 400
_DEFAULT_RADIUS_M = 2000
_METRES_PER_MINUTE = 80
_REACH = ("metre", "second")


def detect_location_query(text: str) -> bool:
    """Return whether a map search helps to answer this."""
    plain = _plain(text)
    if LNGLAT.search(plain) or _is_route(plain):
        return True
    activity, near = bool(activity_in(plain)), _is_near(plain)
    if near and activity:
        return True
    if WEATHER.search(plain):
        return bool(city_in(plain) or landmark_in(plain))
    place = _known_place(plain) or place_after_preposition(plain) is not None
    about = _said(plain).values()
    return place and (activity or near or "fact" in about)


def says_walks(text: str) -> bool:
    """Return whether walking is spoken of; how far that is code measures at once."""
    return "walking" in _said(_plain(text)).values()


def has_location_intent(text: str) -> bool:
    """Return whether a place or a spatial relation is named.

    Nothing here calls it: it is in the design of this deployment, and callers of that find it.
    """
    plain = _plain(text)
    named = LNGLAT.search(plain) or _is_near(plain) or _names_a_way(plain)
    return bool(named or _known_place(plain) or place_after_preposition(plain))


def names_known_place(text: str) -> bool:
    """Return whether a question is about a place that maps know, coordinates, or what is near.

    A capitalised name after "in", "from" or "of" is none by itself: it may be a year or a product.
    """
    plain = _plain(text)
    if LNGLAT.search(plain) or city_in(plain) or landmark_in(plain):
        return True
    return "near" in _said(plain).values() and detect_location_query(text)


def needs_place(text: str) -> bool:
    """Return whether something "near me" is wanted without place or coordinates."""
    plain = _plain(text)
    if LNGLAT.search(plain) or "near" not in _said(plain).values():
        return False
    return detect_location_query(text) and extract_place(text) is None


def needs_origin(text: str) -> bool:
    """Return whether guidance to a named place is wanted, and not said from where."""
    plain = _plain(text)
    goal = _NAVIGATE.search(plain)
    if not goal or LNGLAT.search(plain) or route_ends(plain):
        return False
    return extract_place(plain[goal.end() :]) is not None


def extract_place(text: str) -> tuple[str, str | None] | None:
    """Return the (place, city) of a query, or None; coordinates are a place ("lng,lat")."""
    plain = _plain(text)
    literal = LNGLAT.search(plain)
    point = parse_lnglat(literal[0]) if literal else None
    return (f"{point[0]},{point[1]}", None) if point else place_and_city(plain)


def map_task_by_rules(text: str) -> MapTask | None:
    """Return the map task of a query; None if the map does not help."""
    if not detect_location_query(text):
        return None
    plain, (place, city) = _plain(text), extract_place(text) or (None, None)
    if _is_route(plain) and (task := _route_task(plain, place, city)):
        ends = filter(None, (task["origin"], task["destination"]))
        way = None if any(map(_NO_END.search, ends)) else valid_map_task(task)
        return MapTask(**{**way, "by_rules": True}) if way else None
    proposal: dict[str, Any] = {"place": place, "city": city}
    proposal["intent"] = _intent(plain, place, city)
    if proposal["intent"] in ("nearby", "area"):
        proposal["keywords"] = _keywords(plain, place)
        proposal["radius_m"] = _radius(plain)
    return valid_map_task(proposal)


def _plain(text: str) -> str:
    """Return a text in one width and in simplified characters."""
    cut = clean_text(text[: 4 * _MAX_TEXT], _MAX_TEXT)
    return unicodedata.normalize("NFKC", with_places(cut)[0])


def _known_place(plain: str) -> bool:
    return bool(landmark_in(plain) or city_in(plain) or shaped_place(plain))


def _is_near(plain: str) -> bool:
    is_within = "within" in plain.casefold()
    is_said = "near" in _said(plain).values()
    return is_said or (is_within and any(f.kind in _REACH for f in figures(plain)))


def _names_a_way(plain: str) -> bool:
    plain = plain.replace(_NO_ROUTE, "")
    said, is_asked = _said(plain), has_any(plain, _ASKS_WAY)
    modes = (word for word, about in said.items() if about in MODES.values())
    return is_asked or "way" in said.values() or any(word not in _NO_WAYS for word in modes)


def _said(plain: str) -> dict[str, str]:
    """Return the words of a question that say what it is about, with that, in their order."""
    words = (word[0].lower() for word in _SAID.finditer(plain))
    return {word: _SAYS[word] for word in words if word in _SAYS}


def _mode(plain: str) -> TravelMode | None:
    return next((MODES[word] for word in _said(plain) if word in MODES), None)


def _is_route(plain: str) -> bool:
    if not (_names_a_way(plain) or "distance" in _said(plain).values()):
        return False
    if ends := route_ends(plain):
        return _known_place(ends.origin) or _known_place(ends.destination)
    return has_any(plain, _ASKS_WAY) and _known_place(plain)


def _route_task(plain: str, place: str | None, city: str | None) -> dict[str, Any] | None:
    ends = route_ends(plain)
    # Where the way begins is no end of it: 从王府井不走高速到三里屯.
    if not ends and (not place or f"从{place}" in plain):
        return None
    rest = ends.rest if ends else plain
    return {
        "intent": "distance" if "distance" in _said(plain).values() else "route",
        "origin": ends.origin if ends else None,
        "destination": ends.destination if ends else place,
        "city": city,
        "mode": _mode(rest),
    }


def _intent(plain: str, place: str | None, city: str | None) -> MapIntent:
    activity = activity_in(plain.replace(place, " ") if place else plain)
    if place and parse_lnglat(place) and not activity:
        return "regeo"
    near = _is_near(plain)
    if not near and WEATHER.search(plain):
        return "weather"
    if not near and not activity and "fact" in _said(plain).values():
        return "poi"
    if place and place == city and "near" not in _said(plain).values():
        return "area" if activity else "poi"
    return "nearby" if activity or near else "poi"


def _keywords(plain: str, place: str | None) -> list[str]:
    """Return keywords of the query, without the name of the place."""
    language = detect_language(plain)
    rest = plain.replace(place, " ") if place else plain
    found = activity_keywords(rest, language) or activity_keywords(plain, language)
    return found or (["景点"] if language == "zh" else ["attractions"])


def _radius(plain: str) -> int:
    read = figures(plain)
    if metres := [each.amount for each in read if each.kind == "metre"]:
        return round(metres[0])
    seconds = [each.amount for each in read if each.kind == "second"]
    walked = seconds[:1] if _mode(plain) == "walking" else []
    return round(walked[0] / 60) * _METRES_PER_MINUTE if walked else _DEFAULT_RADIUS_M
