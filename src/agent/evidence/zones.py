"""Tell the clock of a place: its days, its opening hours and plans there are in its time zone."""

from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from functools import cache
from math import acos, cos, degrees, pi, radians, sin
from typing import cast
from zoneinfo import ZoneInfo

import tzfpy

from agent.evidence.types import Anchor, Place, Point, Route, Weather
from agent.texts import Language, detect_language, say

CHINA = timezone(timedelta(hours=8), "Asia/Shanghai")
"""Fixed, as China has no summer time."""
TAIPEI = ZoneInfo("Asia/Taipei")
_IN_CHINA = frozenset({"Asia/Shanghai", "Asia/Urumqi"})
"""Xinjiang's own time is no official one: hours are stated in Beijing's there, too."""

_CHINESE = {
    **dict.fromkeys(_IN_CHINA, "cn"),
    "Asia/Hong_Kong": "hk",
    "Asia/Macau": "mo",
    "Asia/Taipei": "tw",
}


def is_in_taiwan(point: Point) -> bool:
    """Return whether a position lies on the island or the islands beside it, by a box."""
    return 120.0 < point["lng"] < 122.1 and 21.8 < point["lat"] < 25.4


def country_at(point: Point) -> str:
    """Return the country of a WGS-84 position where it is one of China's codes, else "".

    It is called in a thread, as `zone_at` is.
    """
    return _CHINESE.get(tzfpy.get_tz(point["lng"], point["lat"]), "")


def zone_at(point: Point) -> tzinfo:
    """Return the zone of a WGS-84 position.

    The first call loads the borders of all zones (0.1 s, 35 MB), so it is called in a thread; of
    Taiwan, which the map of China covers, too, none are needed.
    """
    if is_in_taiwan(point):
        return TAIPEI
    return zone_named(tzfpy.get_tz(point["lng"], point["lat"]))


@cache
def zone_named(name: str) -> tzinfo:
    """Return a zone by its name in the time zone database."""
    return CHINA if name in _IN_CHINA else ZoneInfo(name)


def zone_of(place: Place | Anchor) -> tzinfo:
    """Return the zone of a place; like `zone_at` where it is not in China's own coordinates."""
    location = place.get("location")
    in_china = location is not None and location["crs"] == "GCJ-02"
    return CHINA if in_china else zone_at(place["wgs84"])


def zone_of_record(record: Place | Route | Weather) -> tzinfo:
    """Return the zone of whatever record of a map, by its name or its position; else UTC."""
    if name := record.get("zone"):
        return zone_named(str(name))
    points = [end["wgs84"] for end in cast(Route, record).get("ends", ())]
    points += [point] if (point := cast(Place, record).get("wgs84")) else []
    return zone_at(points[0]) if points else UTC


def asker_zone(offset: int | None, question: str) -> tzinfo | None:
    """Return the clock of who asks: the client's, else China's for a question in Chinese.

    `offset` is in minutes ahead of UTC. None is for this machine's clock.
    """
    if offset is not None:
        return timezone(timedelta(minutes=offset))
    return CHINA if detect_language(question) == "zh" else None


def china_time(moment: str, language: Language) -> str:
    """Return an ISO moment in China's time, which is named; the text itself if it is none."""
    try:
        local = datetime.fromisoformat(moment).astimezone(CHINA)
    except ValueError:
        return moment
    return say("records.china_time", language, time=f"{local:%Y-%m-%d %H:%M}")


def offset_words(moment: datetime) -> str:
    """Return how far a clock is ahead: `UTC+8`, `UTC-3:30`."""
    offset = int((moment.utcoffset() or timedelta()).total_seconds()) // 60
    hours, minutes = divmod(abs(offset), 60)
    return f"UTC{'-' if offset < 0 else '+'}{hours}" + (f":{minutes:02}" if minutes else "")


def day_there(moment: float, zone: tzinfo) -> str:
    """Return the ISO date of a moment (seconds since the epoch) in a zone."""
    return datetime.fromtimestamp(moment, zone).date().isoformat()


def sunset(place: Place, day: date) -> int:
    """Return the minute of the place's day at which the sun sets there, to some five minutes.

    Where it does not set or rise, its lowest or its highest point stands for that.
    """
    noon = datetime(day.year, day.month, day.day, 12, tzinfo=zone_of(place))
    turn = 2 * pi * (day.timetuple().tm_yday - 81) / 365
    tilt, north = radians(23.44) * sin(turn), radians(place["wgs84"]["lat"])
    late = 9.87 * sin(2 * turn) - 7.53 * cos(turn) - 1.5 * sin(turn)
    half = (sin(radians(-0.83)) - sin(north) * sin(tilt)) / (cos(north) * cos(tilt))
    offset = (noon.utcoffset() or timedelta()).total_seconds() / 60
    at_noon = 12 * 60 - late - 4 * place["wgs84"]["lng"] + offset
    return round(at_noon + 4 * degrees(acos(max(-1, min(1, half)))))
