"""Sample records in the words of Amap's REST service: numbers as text, `[]` for empty."""

from datetime import datetime, timedelta, timezone
from typing import Any

from agent.evidence.geodesy import distance_m
from agent.offline.corpus import Anchor, Place, find_city, load_sample

_DETOUR = {"line": 1.0, "walking": 1.3, "bicycling": 1.3, "driving": 1.45, "transit": 1.4}
_METRES_A_SECOND = {"line": 10.0, "walking": 1.2, "bicycling": 4.0, "driving": 7.0, "transit": 5.0}
_WORDS = {"walking": "步行", "bicycling": "骑行", "driving": "行驶"}
_KNOWN_WITHIN_M = 60_000
_SHANGHAI = timezone(timedelta(hours=8))
Point = tuple[float, float]


def poi_of(place: Place, metres: float | None = None) -> dict[str, Any]:
    """A place as searches and details return it."""
    extra: dict[str, Any] = {
        "rating": f"{place.rating:.1f}" if place.rating is not None else [],
        "cost": f"{place.cost:.2f}" if place.cost is not None else [],
    }
    if place.open_time:
        extra |= {"open_time": place.open_time, "opentime2": place.open_time}
    return {
        "id": place.id,
        "parent": [],
        "name": place.name,
        "alias": place.name_en or [],
        "type": place.type,
        "typecode": place.typecode,
        "biz_type": [],
        "address": place.address or [],
        "location": f"{place.lng:.6f},{place.lat:.6f}",
        "tel": place.tel or [],
        "distance": str(round(metres)) if metres is not None else [],
        "business_area": [],
        "pname": place.province,
        "cityname": place.city,
        "adname": place.district,
        "adcode": place.adcode,
        "citycode": place.citycode,
        "biz_ext": extra,
        "photos": [],
    }


def geocode_of(anchor: Anchor) -> dict[str, Any]:
    """A named spot as the geocoder returns it."""
    return {
        "formatted_address": f"{anchor.province}{anchor.city}{anchor.district}{anchor.name}",
        "country": "中国",
        "province": anchor.province,
        "citycode": anchor.citycode or [],
        "city": anchor.city or [],
        "district": anchor.district or [],
        "township": [],
        "neighborhood": {"name": [], "type": []},
        "building": {"name": [], "type": []},
        "adcode": anchor.adcode,
        "street": [],
        "number": [],
        "location": f"{anchor.lng:.6f},{anchor.lat:.6f}",
        "level": anchor.level,
    }


def regeocode_at(lng: float, lat: float) -> dict[str, Any]:
    """The nearest district the sample knows; far from all of them every field is empty."""
    districts = [(city, part) for city in load_sample().cities for part in city.districts]
    metres, (city, part) = min(
        ((distance_m((lng, lat), (d.lng, d.lat)), (c, d)) for c, d in districts),
        key=lambda pair: pair[0],
    )
    empty: dict[str, Any] = {"province": [], "city": [], "district": [], "adcode": []}
    if metres > _KNOWN_WITHIN_M:
        return {"formatted_address": [], "addressComponent": empty}
    component = {
        "country": "中国",
        "province": city.province,
        # Amap leaves the city of a municipality empty.
        "city": [] if city.province == city.name else city.name,
        "district": part.name,
        "adcode": part.adcode,
        "citycode": city.citycode,
        "township": [],
    }
    address = f"{city.province}{component['city'] or ''}{part.name}"
    return {"formatted_address": address, "addressComponent": component}


def weather_of(name: str) -> dict[str, Any] | None:
    """Four days of a sample city from today, or None."""
    city = find_city(name)
    known = next((w for w in load_sample().weather if city and w.city == city.name), None)
    if known is None:
        return None
    today = datetime.now(_SHANGHAI).date()
    casts = []
    for day in known.days:
        date = today + timedelta(days=day.offset)
        casts.append(
            {
                "date": date.isoformat(),
                "week": str(date.isoweekday()),
                "dayweather": day.dayweather,
                "nightweather": day.nightweather,
                "daytemp": str(day.daytemp),
                "nighttemp": str(day.nighttemp),
                "daywind": day.daywind,
                "nightwind": day.nightwind,
                "daypower": day.daypower,
                "nightpower": day.nightpower,
            }
        )
    return {
        "city": known.city,
        "adcode": known.adcode,
        "province": known.province,
        "reporttime": f"{today.isoformat()} 08:00:00",
        "casts": casts,
    }


def travel(start: Point, end: Point, kind: str) -> tuple[int, int, list[dict[str, Any]]]:
    """Metres, seconds and steps of a way that the sample guesses from the straight line."""
    metres = round(distance_m(start, end) * _DETOUR[kind])
    seconds = round(metres / _METRES_A_SECOND[kind])
    step = {
        "instruction": f"沿示例道路{_WORDS.get(kind, '行进')}{metres}米到达目的地",
        "orientation": [],
        "road": "示例道路",
        "distance": str(metres),
        "duration": str(seconds),
        "polyline": f"{start[0]:.6f},{start[1]:.6f};{end[0]:.6f},{end[1]:.6f}",
        "action": [],
        "assistant_action": "到达目的地",
    }
    return metres, seconds, [step]


def transit_of(start: Point, end: Point) -> dict[str, Any]:
    """One way by a bus line of the sample, with a walk to it."""
    metres, seconds, _ = travel(start, end, "transit")
    walk, walk_seconds, steps = travel(start, (start[0] + 0.002, start[1]), "walking")
    ends = {"origin": _text(start), "destination": _text(end)}
    walking = {**ends, "distance": str(walk), "duration": str(walk_seconds), "steps": steps}
    line = {
        "name": "示例公交线路",
        "id": "SAMPLE-LINE",
        "departure_stop": {"name": "示例起点站"},
        "arrival_stop": {"name": "示例终点站"},
        "distance": str(metres),
        "duration": str(seconds),
        "via_num": "0",
        "via_stops": [],
    }
    segment = {
        "walking": walking,
        "bus": {"buslines": [line]},
        "entrance": {"name": [], "location": []},
        "exit": {"name": [], "location": []},
        "railway": {"name": [], "trip": [], "spaces": []},
        "taxi": [],
    }
    transit = {
        "cost": [],
        "duration": str(seconds + walk_seconds),
        "nightflag": "0",
        "walking_distance": str(walk),
        "distance": str(metres),
        "segments": [segment],
    }
    return {"distance": str(metres), "taxi_cost": [], "transits": [transit]}


def _text(point: Point) -> str:
    return f"{point[0]:.6f},{point[1]:.6f}"
