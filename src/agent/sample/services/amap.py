"""Speak Amap's REST protocol over the bundled sample: its paths, parameters, shapes and errors.

The real map server is pointed here. Empty values are `[]` and numbers are text, as Amap writes
them; questions outside the sample get Amap's own "nothing" (ENGINE_RESPONSE_DATA_ERROR, no pois).
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, timedelta, timezone
from typing import Any

from aiohttp import web

from agent.evidence.geo import distance_m, parse_lnglat
from agent.sample.corpus import find_city, find_spot, place_by_id, places_in, places_near
from agent.sample.records import NamedSpot, SamplePlace, load_sample
from agent.sample.services.loopback import Service

_DETOUR = {"line": 1.0, "walking": 1.3, "bicycling": 1.3, "driving": 1.45, "transit": 1.4}
_METRES_A_SECOND = {"line": 10.0, "walking": 1.2, "bicycling": 4.0, "driving": 7.0, "transit": 5.0}
_WORDS = {"walking": "步行", "bicycling": "骑行", "driving": "行驶"}
_KNOWN_WITHIN_M = 60_000
_SHANGHAI = timezone(timedelta(hours=8))
LngLat = tuple[float, float]
AmapReply = dict[str, Any]


def _poi(place: SamplePlace, metres: float | None = None) -> AmapReply:
    """Return a place as searches and details return it."""
    names = ("id", "name", "type", "typecode", "adcode", "citycode")
    extra: AmapReply = {
        "rating": f"{place.rating:.1f}" if place.rating is not None else [],
        "cost": f"{place.cost:.2f}" if place.cost is not None else [],
    }
    if place.open_time:
        extra |= {"open_time": place.open_time, "opentime2": place.open_time}
    return {
        **{key: [] for key in ("parent", "biz_type", "business_area", "photos")},
        **{name: getattr(place, name) for name in names},
        "alias": place.name_en or [],
        "address": place.address or [],
        "location": _text((place.lng, place.lat)),
        "tel": place.tel or [],
        "distance": str(round(metres)) if metres is not None else [],
        "pname": place.province,
        "cityname": place.city,
        "adname": place.district,
        "biz_ext": extra,
    }


def _pois(pois: Sequence[AmapReply]) -> AmapReply:
    suggestion: AmapReply = {"keywords": [], "cities": []}
    return {"count": str(len(pois)), "suggestion": suggestion, "pois": pois[:_PAGE]}


def _spot(anchor: NamedSpot) -> AmapReply:
    """Return a named spot as the geocoder returns it."""
    empty: AmapReply = {"name": [], "type": []}
    return {
        **{key: [] for key in ("township", "street", "number")},
        **dict.fromkeys(("neighborhood", "building"), empty),
        "formatted_address": f"{anchor.province}{anchor.city}{anchor.district}{anchor.name}",
        "country": "中国",
        "province": anchor.province,
        "citycode": anchor.citycode or [],
        "city": anchor.city or [],
        "district": anchor.district or [],
        "adcode": anchor.adcode,
        "location": _text((anchor.lng, anchor.lat)),
        "level": anchor.level,
    }


def _district_at(lng: float, lat: float) -> AmapReply:
    """Return the nearest district the sample knows; far from all of them every field is empty."""
    districts = [(city, part) for city in load_sample().cities for part in city.districts]
    metres, (city, part) = min(
        ((distance_m((lng, lat), (d.lng, d.lat)), (c, d)) for c, d in districts),
        key=lambda pair: pair[0],
    )
    if metres > _KNOWN_WITHIN_M:
        empty: AmapReply = {key: [] for key in ("province", "city", "district", "adcode")}
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


def today() -> date:
    """Return the date in China, on which the sample's forecasts begin."""
    return datetime.now(_SHANGHAI).date()


def _forecast(name: str) -> AmapReply | None:
    """Return four days of a sample city from today, or None."""
    city = find_city(name)
    forecast = next((w for w in load_sample().weather if city and w.city == city.name), None)
    if forecast is None:
        return None
    begins, casts = today(), []
    for day in forecast.days:
        on = begins + timedelta(days=day["offset"])
        values = {name: str(value) for name, value in day.items() if name != "offset"}
        casts.append({"date": on.isoformat(), "week": str(on.isoweekday()), **values})
    return {
        "city": forecast.city,
        "adcode": forecast.adcode,
        "province": forecast.province,
        "reporttime": f"{begins.isoformat()} 08:00:00",
        "casts": casts,
    }


def _way(start: LngLat, end: LngLat, kind: str) -> tuple[int, int, list[AmapReply]]:
    """Return metres, seconds and steps of a way that the sample guesses from the straight line."""
    metres = round(distance_m(start, end) * _DETOUR[kind])
    seconds = round(metres / _METRES_A_SECOND[kind])
    step = {
        **{key: [] for key in ("orientation", "action")},
        "instruction": f"沿示例道路{_WORDS.get(kind, '行进')}{metres}米到达目的地",
        "road": "示例道路",
        "distance": str(metres),
        "duration": str(seconds),
        "polyline": f"{_text(start)};{_text(end)}",
        "assistant_action": "到达目的地",
    }
    return metres, seconds, [step]


def _bus(start: LngLat, end: LngLat) -> AmapReply:
    """Return one way by a bus line of the sample, with a walk to it."""
    metres, seconds, _ = _way(start, end, "transit")
    walk, walk_seconds, steps = _way(start, (start[0] + 0.002, start[1]), "walking")
    ends = {"origin": _text(start), "destination": _text(end)}
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
    segment: AmapReply = {
        "walking": {**ends, "distance": str(walk), "duration": str(walk_seconds), "steps": steps},
        "bus": {"buslines": [line]},
        **{key: {"name": [], "location": []} for key in ("entrance", "exit")},
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


def _text(point: LngLat) -> str:
    return f"{point[0]:.6f},{point[1]:.6f}"


_PAGE = 20
_CODES = {
    "INVALID_USER_KEY": "10001",
    "DAILY_QUERY_OVER_LIMIT": "10003",
    "CUQPS_HAS_EXCEEDED_THE_LIMIT": "10021",
    "INVALID_PARAMS": "20000",
    "OVER_DIRECTION_RANGE": "20803",
    "ENGINE_RESPONSE_DATA_ERROR": "30001",
}
_WALKING_RANGE_M = 100_000


class AmapError(Exception):
    """Name an error that is answered in Amap's shape, with status 200 as Amap does."""


class AmapService(Service):
    """Speak Amap's REST protocol; `key` is the only one accepted (None: any but an empty one)."""

    def __init__(self, *, key: str | None = None) -> None:
        super().__init__("amap")
        # Before requests come: they are answered on an event loop, which must not read files.
        load_sample()
        self.key = key
        for path, answer in _ANSWERS.items():
            self.app.router.add_get(path, self._handler(answer, v4=path.startswith("/v4")))

    def _handler(
        self, answer: Callable[[Mapping[str, str]], AmapReply], *, v4: bool
    ) -> Callable[[web.Request], Any]:
        async def handle(request: web.Request) -> web.Response:
            try:
                self.admit(request)
                fields = answer(request.query)
            except AmapError as error:
                return web.json_response(_refusal(str(error), v4=v4))
            good: AmapReply = {"errcode": 0, "errmsg": "OK", "errdetail": None}
            if not v4:
                good = {"status": "1", "info": "OK", "infocode": "10000"}
            return web.json_response({**good, **fields})

        return handle

    def admit(self, request: web.Request) -> None:
        """Raise AmapError for a request with a wrong key."""
        key = request.query.get("key", "")
        if not key or (self.key is not None and key != self.key):
            raise AmapError("INVALID_USER_KEY")


def _refusal(name: str, *, v4: bool) -> AmapReply:
    code = _CODES.get(name, "10000")
    if v4:
        return {"errcode": int(code), "errmsg": name, "errdetail": None, "data": None}
    return {"status": "0", "info": name, "infocode": code}


def _geocode(query: Mapping[str, str]) -> AmapReply:
    anchor = find_spot(_required(query, "address"), query.get("city") or None)
    if anchor is None:
        raise AmapError("ENGINE_RESPONSE_DATA_ERROR")
    return {"count": "1", "geocodes": [_spot(anchor)]}


def _regeocode(query: Mapping[str, str]) -> AmapReply:
    return {"regeocode": _district_at(*_point(query, "location"))}


def _text_search(query: Mapping[str, str]) -> AmapReply:
    words, city = _required(query, "keywords"), query.get("city") or None
    places = places_in(city, words) if city is None or find_city(city) else []
    if city and query.get("citylimit") != "true":
        places = [*places, *(place for place in places_in(None, words) if place not in places)]
    return _pois([_poi(place) for place in places])


def _around(query: Mapping[str, str]) -> AmapReply:
    lng, lat = _point(query, "location")
    try:
        radius = float(query.get("radius") or 5000)
    except ValueError:
        raise AmapError("INVALID_PARAMS") from None
    places = places_near(lng, lat, min(radius, 50_000), query.get("keywords", ""))
    return _pois([_poi(place, metres) for place, metres in places])


def _detail(query: Mapping[str, str]) -> AmapReply:
    place = place_by_id(_required(query, "id"))
    return {"count": "1" if place else "0", "pois": [_poi(place)] if place else []}


def _weather(query: Mapping[str, str]) -> AmapReply:
    forecast = _forecast(_required(query, "city"))
    return {"count": "1" if forecast else "0", "forecasts": [forecast] if forecast else []}


def _ip(query: Mapping[str, str]) -> AmapReply:
    """Return nothing: the sample knows no addresses, as Amap knows none of local networks."""
    _required(query, "ip")
    return {"province": [], "city": [], "adcode": [], "rectangle": []}


def _distance(query: Mapping[str, str]) -> AmapReply:
    kind = {"0": "line", "3": "walking"}.get(query.get("type", "1"), "driving")
    end = _point(query, "destination")
    results = []
    for number, text in enumerate(_required(query, "origins").split("|"), 1):
        start = parse_lnglat(text)
        if start is None:
            raise AmapError("INVALID_PARAMS")
        metres, seconds, _ = _way(start, end, kind)
        way = {"distance": str(metres), "duration": str(seconds)}
        results.append({"origin_id": str(number), "dest_id": "1", **way})
    return {"results": results}


def _walking(query: Mapping[str, str]) -> AmapReply:
    return {"count": "1", "route": _route(query, "walking")}


def _driving(query: Mapping[str, str]) -> AmapReply:
    return {"count": "1", "route": {**_route(query, "driving"), "taxi_cost": []}}


def _transit(query: Mapping[str, str]) -> AmapReply:
    start, end = _point(query, "origin"), _point(query, "destination")
    _required(query, "city")
    return {"count": "1", "route": {**_ends(query), **_bus(start, end)}}


def _bicycling(query: Mapping[str, str]) -> AmapReply:
    route = _route(query, "bicycling")
    for path in route["paths"]:
        path["distance"], path["duration"] = int(path["distance"]), int(path["duration"])
    return {"data": route}


def _route(query: Mapping[str, str], kind: str) -> AmapReply:
    start, end = _point(query, "origin"), _point(query, "destination")
    metres, seconds, steps = _way(start, end, kind)
    if kind != "driving" and metres > _WALKING_RANGE_M:
        raise AmapError("OVER_DIRECTION_RANGE")
    path = {"distance": str(metres), "duration": str(seconds), "steps": steps}
    return {**_ends(query), "paths": [path]}


def _ends(query: Mapping[str, str]) -> AmapReply:
    return {"origin": query["origin"], "destination": query["destination"]}


def _required(query: Mapping[str, str], name: str) -> str:
    if not query.get(name):
        raise AmapError("INVALID_PARAMS")
    return query[name]


def _point(query: Mapping[str, str], name: str) -> tuple[float, float]:
    point = parse_lnglat(_required(query, name))
    if point is None:
        raise AmapError("INVALID_PARAMS")
    return point


_ANSWERS: dict[str, Callable[[Mapping[str, str]], AmapReply]] = {
    "/v3/geocode/geo": _geocode,
    "/v3/geocode/regeo": _regeocode,
    "/v3/place/text": _text_search,
    "/v3/place/around": _around,
    "/v3/place/detail": _detail,
    "/v3/weather/weatherInfo": _weather,
    "/v3/ip": _ip,
    "/v3/distance": _distance,
    "/v3/direction/walking": _walking,
    "/v3/direction/driving": _driving,
    "/v3/direction/transit/integrated": _transit,
    "/v4/direction/bicycling": _bicycling,
}
