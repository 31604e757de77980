"""Read the replies of our OpenStreetMap server as records of a branch; measure ways with it."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from math import inf
from typing import Any
from urllib.parse import urlencode

from agent.core.errors import BudgetExceeded, ProviderError
from agent.core.outside import finite, objects, whole_or_none
from agent.core.strings import has_han
from agent.evidence.geo import location_at, metres_apart, name_at
from agent.evidence.hours import osm_hours
from agent.evidence.hours_told import days_in_words, hours_words
from agent.evidence.language import fold, in_simplified
from agent.evidence.maps import WAYS
from agent.evidence.records import reader_word
from agent.evidence.seasons import season_words, seasons_in
from agent.evidence.types import (
    Leg,
    Location,
    Place,
    Route,
    RouteMode,
    RouteStep,
    Suits,
    Weather,
    WeatherDay,
)
from agent.mcp.new_records import MOST_STEPS, NamedStop, legs_over, new_place, new_route
from agent.mcp.osm.kinds import kind_words
from agent.mcp.osm.tools import MODES, PROVIDER
from agent.mcp.records import (
    BranchCalls,
    MapRecords,
    Presentation,
    lnglat,
    marked_weather_lines,
    place_line,
    route_line,
    text_or_none,
)
from agent.mcp.reply_text import compacted, fitting_lines
from agent.texts import LANGUAGES, Language, has_text, is_chinese, reads_han, say

log = logging.getLogger(__name__)
PRESENTATION = Presentation(provider=PROVIDER, names=dict.fromkeys(LANGUAGES, "OpenStreetMap"))
_SITE, _FORECASTS = "https://www.openstreetmap.org", "https://open-meteo.com/"
_ROUTER = "https://routing.openstreetmap.de"
_ENGINES = {"walking": "foot", "bicycling": "bike", "driving": "car"}
_PROFILES = {"driving": "0", "bicycling": "1", "walking": "2"}
_BESIDE_M = 300
_MOST_READ = 60
"""Places of a model's call."""
_SKIES = {
    0: "晴", 1: "晴", 2: "多云", 3: "阴", 45: "雾", 48: "雾", 51: "小雨", 53: "小雨", 55: "中雨",
    56: "冻雨", 57: "冻雨", 61: "小雨", 63: "中雨", 65: "大雨", 66: "冻雨", 67: "冻雨", 71: "小雪",
    73: "中雪", 75: "大雪", 77: "小雪", 80: "阵雨", 81: "阵雨", 82: "强阵雨", 85: "阵雪",
    86: "阵雪", 95: "雷阵雨", 96: "雷阵雨并伴有冰雹", 99: "雷阵雨并伴有冰雹",
}  # fmt: skip
"""Weather codes of the WMO, in the words that forecasts have here."""
_FITTED = {"wheelchair": {"no", "limited"}, "highchair": {"no", "0"}, "kids_area": {"no"}}
"""What a place may be fitted with, and what says that it is not."""
_SUITS: dict[str, tuple[Suits, ...]] = {
    "wheelchair": ("wheelchair", "elderly"), "highchair": ("children",),
    "kids_area": ("children",), "vegan": ("vegan", "vegetarian"), "vegetarian": ("vegetarian",),
    "halal": ("halal",), "kosher": ("kosher",), "gluten_free": ("gluten_free",),
}  # fmt: skip
"""Whom a place suits that is fitted so, or has such dishes."""
_KITCHEN = ("cuisine", "diets_only", "diets_yes")
_DIRECTIONS = ("北", "东北", "东", "东南", "南", "西南", "西", "西北")
_BEAUFORT = (1, 6, 12, 20, 29, 39, 50, 62, 75, 89, 103, 118)
"""Kilometres an hour from which on a wind has the next force."""


def location_of(row: Mapping[str, Any]) -> Location | None:
    """Return the position of a place; None for one beyond all degrees."""
    return location_at(row.get("lng"), row.get("lat"), "WGS-84")


def name_of(row: Mapping[str, Any], language: Language) -> str:
    """Return a place's name for a reader of Chinese with the local one beside, else the local one.

    Where nobody wrote it in Chinese the English one is read more easily than a Finnish one. What
    has none is called by its kind and where it is: "playground (near Ateneum)".
    """
    local = text_or_none(row.get("name"))
    if not is_chinese(language):
        return local or _by_kind(row, language)
    chinese = text_or_none(_names(row).get("zh"))
    if chinese and language == "zh":
        chinese = in_simplified(chinese)
    if local and chinese and fold(chinese) in fold(local):
        return in_simplified(local) if language == "zh" else local
    own = chinese or (None if has_han(local or "") else text_or_none(_names(row).get("en")))
    if own and fold(own) != fold(local or ""):
        # "Oodi 图书馆 (Oodi)" says a name twice.
        return f"{own} ({local})" if local and fold(local) not in fold(own) else own
    return local or _by_kind(row, language)


def _by_kind(row: Mapping[str, Any], language: Language) -> str:
    kind = reader_word(kind_words(str(row.get("tag") or ""), language), language)
    # Without a street an address is the town alone.
    street, comma, _ = (text_or_none(row.get("address")) or "").partition(", ")
    beside = text_or_none(row.get("beside"))
    near = say("map.beside", language, name=beside) if beside else ""
    where = street if comma else near
    return f"{kind}{say('punctuation.brackets', language, text=where)}" if kind and where else kind


def with_whereabouts(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows in which each without a name knows what of the others is nearest and has one."""
    named = [(at, row["name"]) for row in rows if row.get("name") and (at := location_of(row))]
    return [row if row.get("name") else {**row, "beside": _nearest(row, named)} for row in rows]


def _nearest(row: Mapping[str, Any], named: Sequence[tuple[Location, str]]) -> str | None:
    location = location_of(row)
    if location is None:
        return None
    far, name = min(((metres_apart(location, at), name) for at, name in named), default=(inf, ""))
    return name if far <= _BESIDE_M else None


def reader_name(row: Mapping[str, Any], language: Language) -> str | None:
    """Return what a reader of another language than Chinese calls a place; None as the locals do.

    That is in the reader's language, else in English, unless the local letters are read.
    """
    local, own = text_or_none(row.get("name")), text_or_none(_names(row).get(language))
    if not own and not (reads_han(language) and has_han(local or "")):
        own = text_or_none(_names(row).get("en"))
    return own if own != local and not is_chinese(language) else None


def spoken_name(row: Mapping[str, Any], language: Language) -> str:
    """Return what a place is called in a sentence: by its reader's name, else by the local one."""
    return reader_name(row, language) or name_of(row, language)


def _names(row: Mapping[str, Any]) -> Mapping[str, Any]:
    names = row.get("names")
    return names if isinstance(names, dict) else {}


def link(kind_and_number: str) -> str:
    """Return the page of a place: `node/123`."""
    return f"{_SITE}/{kind_and_number}"


def mark_link(at: Location) -> str:
    """Return the page of a mark at a position."""
    lng, lat = (f"{at[side]:.6f}" for side in ("lng", "lat"))
    return f"{_SITE}/?mlat={lat}&mlon={lng}#map=18/{lat}/{lng}"


def way_link(mode: str, stops: Sequence[Location]) -> str:
    """Return the page of a way: OpenStreetMap's, which has two ends, or the router's of more."""
    points = [f"{one['lat']:.5f},{one['lng']:.5f}" for one in stops]
    if len(points) > 2:
        query = [*(("loc", point) for point in points), ("srv", _PROFILES.get(mode, "2"))]
        return f"{_ROUTER}/?{urlencode(query, safe=',')}"
    ends = ";".join(points)
    engine = f"fossgis_osrm_{_ENGINES.get(mode, 'foot')}"
    return f"{_SITE}/directions?{urlencode({'engine': engine, 'route': ends}, safe=',;')}"


class OsmReader:
    """Enter the server's replies into the records of a branch."""

    def __init__(self, records: MapRecords) -> None:
        self.records = records
        self._language = records.options.language

    def _names(self) -> dict[str, str]:
        """Return the names of what is known to lie at positions."""
        result = self.records.result
        names = {**result.names, **{lnglat(p["location"]): p["name"] for p in result.places}}
        if result.centre and result.centre_name:
            names[lnglat(result.centre)] = result.centre_name
        return names

    def read(self, tool: str, arguments: Mapping[str, Any], reply: dict[str, Any]) -> str:
        """Enter the records of a model's call; return the reply as the model reads it."""
        if lines := self._lines(tool, arguments, reply):
            if tool == "osm_matrix":
                return fitting_lines(lines, self._language, key="map.listed_of_ways")
            return fitting_lines(lines, self._language, count=len(objects(reply.get("places"))))
        return compacted([], reply, leave_out=("line", "bbox", "names", "kinds"))

    def _lines(self, tool: str, arguments: Mapping[str, Any], reply: dict[str, Any]) -> list[str]:
        language, result = self._language, self.records.result
        if tool == "osm_weather":
            position = str(arguments.get("location"))
            weather = self.add_weather(reply, name_at(position, self._names()) or position)
            return marked_weather_lines(weather, language) if weather else []
        if tool == "osm_route" and result.intent in ("route", "distance", None):
            between = [part.strip() for part in str(arguments.get("via") or "").split("|")]
            start, end = (str(arguments.get(end)) for end in ("origin", "destination"))
            ends = [start, *filter(None, between), end]
            names = self._names()
            route = self.add_route(
                reply, arguments.get("mode"), ends, [name_at(end, names) or end for end in ends]
            )
            return [route_line(route, language)] if route else []
        if tool == "osm_matrix" and result.intent in ("route", "distance", None):
            return [route_line(way, language) for way in self.add_ways(reply, arguments)]
        rows = with_whereabouts(objects(reply.get("places")))
        if tool == "osm_geocode":
            self._note_located(rows, str(arguments.get("query")))
        if tool == "osm_nearby" and (position := str(arguments.get("location"))):
            self.records.measure_from(position, name_at(position, self._names()), "WGS-84")
        if tool == "osm_geocode" and result.intent in ("nearby", "area", *WAYS):
            # Where a station is, one asks for the sake of cafés or of a way: it is no place of it.
            return []
        places = [place for row in rows[:_MOST_READ] if (place := self.add_place(row))]
        return [
            f"{place_line(place, language)}"
            + (f" | {lnglat(place['location'])}" if tool == "osm_geocode" else "")
            for place in places
        ]

    def _note_located(self, rows: Sequence[Mapping[str, Any]], query: str) -> None:
        """Keep where a name is: a model goes on from there by the id or by the position."""
        result = self.records.result
        for at, row in enumerate(rows):
            if (location := location_of(row)) and (identity := text_or_none(row.get("id"))):
                result.located[identity] = lnglat(location)
                name = spoken_name(row, self._language) if at else query.partition(",")[0].strip()
                result.names.setdefault(lnglat(location), name)

    def add_place(self, row: Mapping[str, Any], keywords: Sequence[str] = ()) -> Place | None:
        """Enter a place; return None where it has no position, no name or is too far."""
        location, identity = location_of(row), text_or_none(row.get("id"))
        name = name_of(row, self._language)
        if location is None or identity is None or not name:
            return None
        hours = text_or_none(row.get("hours"))
        weeks = osm_hours(hours or "", self.records.today())
        place = new_place(
            id=f"{PROVIDER}:{identity}",
            name=name,
            location=location,
            url=link(identity),
            address=text_or_none(row.get("address")),
            category=self._kind(row),
            district=text_or_none(row.get("district")),
            city=text_or_none(row.get("city")),
            cost=0.0 if row.get("fee") == "no" else None,
            open_time=hours_words(weeks, self._language)
            or days_in_words(hours or "", self._language)
            or None,
        )
        if not row.get("name") and name == _by_kind(row, self._language):
            place["nameless"] = True
        seasons = seasons_in(text_or_none(row.get("seasonal")) or "")
        if seasons is not None:
            place["seasons"], told = seasons, season_words(seasons, self._language)
            joint = say("punctuation.semicolon", self._language)
            place["open_time"] = joint.join(filter(None, [place["open_time"], told]))
        if hours:
            place["hours_osm"] = hours
        english = text_or_none(_names(row).get("en"))
        if (own := reader_name(row, self._language) or english) and own != name:
            place["name_en"] = own
        listed = [row.get("name"), *(_names(row).get(key) for key in ("en", "zh", "asked"))]
        others = {text_or_none(each) or "" for each in listed} - {"", name, own}
        if others:
            place["other_names"] = sorted(others)
        if phone := text_or_none(row.get("phone")):
            place["phone"] = phone
        if (access := row.get("wheelchair")) in ("no", "limited"):
            place["wheelchair"] = access
        if (toilets := row.get("toilets")) in ("yes", "no", "limited"):
            place["toilets"] = toilets
        if way_in := text_or_none(row.get("access")):
            place["access"] = way_in
        if suits := _suited(row):
            place["suits"] = suits
        if wholly := _suited(row, ("cuisine", "diets_only")):
            place["wholly"] = wholly
        return self.records.add_place(place, keywords)

    def _kind(self, row: Mapping[str, Any]) -> str:
        """Return what a place is, with its cuisines, diets and access in brackets.

        In Chinese or English: a reader's own words are made of that.
        """
        language: Language = "zh" if is_chinese(self._language) else "en"
        words = kind_words(str(row.get("tag") or ""), language)

        def listed(name: str) -> list[str]:
            return [kind_words(f"cuisine={part}", language) for part in _parts(row, name)]

        about = [each for each in [*listed("cuisine"), *listed("diets_only")] if each != words]
        about += [say("map.options", language, what=each) for each in listed("diets_yes")]
        about += [say(f"map.{what}", language) for what in _fitted(row)]
        about = list(dict.fromkeys(about))
        text = say("punctuation.comma", language).join(about)
        return f"{words}{say('punctuation.brackets', language, text=text) if about else ''}"

    def add_route(
        self, reply: Mapping[str, Any], mode: Any, ends: Sequence[str], names: Sequence[str]
    ) -> Route | None:
        """Enter a way from one "lng,lat" over others to the last; return None where there is none.

        A way over a place is another than the direct one: its id and its link have each stop.
        """
        way = reply.get("route")
        known = way if isinstance(way, dict) else {}
        metres, seconds = (whole_or_none(known.get(name)) for name in ("distance_m", "duration_s"))
        pairs = [(*end.split(","), None)[:2] for end in ends]
        located = [location_at(lng, lat, "WGS-84") for lng, lat in pairs]
        stops = [(name, at) for name, at in zip(names, located, strict=True) if at is not None]
        if metres is None or len(stops) < len(ends) or mode not in (*MODES, "straight"):
            return None
        way_mode: RouteMode = mode
        line = known.get("line")
        route = new_route(
            id=":".join([PROVIDER, mode, *ends]),
            mode=way_mode,
            stops=stops,
            url=mark_link(stops[-1][1])
            if mode == "straight"
            else way_link(mode, [at for _, at in stops]),
            distance_m=metres,
            duration_s=seconds or None,
            steps=legs_over(stops, _legs(known)) or self._steps(known),
            line=line if isinstance(line, list) else (),
        )
        return self.records.add_route(route)

    def add_ways(self, reply: Mapping[str, Any], arguments: Mapping[str, Any]) -> list[Route]:
        """Enter the ways of a matrix; a way back that is as long as the one there is none."""
        mode, names = arguments.get("mode"), self._names()
        origins, destinations = (
            [part.strip() for part in str(arguments.get(side)).split("|") if part.strip()]
            for side in ("origins", "destinations")
        )
        ways, told = list[Route](), set[tuple[object, ...]]()
        for row in objects(reply.get("ways")):
            at, to = (whole_or_none(row.get(side)) for side in ("origin", "destination"))
            if at not in range(len(origins)) or to not in range(len(destinations)):
                continue
            ends = [origins[at or 0], destinations[to or 0]]
            reach = (finite(row.get("distance_m")), finite(row.get("duration_s")))
            if ends[0] == ends[1] or (*ends[::-1], *reach) in told:
                continue
            told.add((*ends, *reach))
            called = [name_at(end, names) or end for end in ends]
            if way := self.add_route({"route": row}, mode, ends, called):
                ways.append(way)
        return ways

    def _steps(self, way: Mapping[str, Any]) -> list[RouteStep]:
        steps = list[RouteStep]()
        for step in objects(way.get("steps"))[:MOST_STEPS]:
            # One sets out on a road and arrives in it, but turns into one.
            kind = step.get("kind")
            is_end = kind in ("depart", "arrive")
            named = kind if is_end else step.get("turn") or kind
            key = f"map.osm_steps.{named}".replace(" ", "_")
            turn = say(key if has_text(key) else "map.osm_steps.on", self._language)
            road, metres = text_or_none(step.get("road")), whole_or_none(step.get("distance_m"))
            if road and is_end:
                turn += say("punctuation.brackets", self._language, text=road)
            elif road:
                turn = say("map.osm_steps.road", self._language, turn=turn, road=road)
            steps.append(RouteStep(instruction=turn, distance_m=metres or None))
        return steps

    def add_weather(self, reply: Mapping[str, Any], city: str) -> Weather | None:
        """Enter the forecast of a town; return None where there is none."""
        days = [day for row in objects(reply.get("days")) if (day := _day(row))]
        if not days:
            return None
        weather = Weather(
            id=f"open_meteo:weather:{city}", city=city, days=days, source="", fetched_at=""
        )
        if zone := text_or_none(reply.get("zone")):
            weather["zone"] = zone
        return self.records.add_weather(weather, _FORECASTS, by="Open-Meteo")


def _parts(row: Mapping[str, Any], name: str) -> list[str]:
    parts = (part.strip() for part in (text_or_none(row.get(name)) or "").split(";"))
    return [part for part in parts if part]


def _fitted(row: Mapping[str, Any]) -> list[str]:
    return [what for what, none in _FITTED.items() if row.get(what) and row[what] not in none]


def _suited(row: Mapping[str, Any], keys: Sequence[str] = ()) -> list[Suits]:
    """Return whom or what a place suits by its tags, or by those of its kitchen alone."""
    dishes = [dish for key in keys or _KITCHEN for dish in _parts(row, key)]
    fitted = [] if keys else _fitted(row)
    suited = (suits for what in [*fitted, *dishes] for suits in _SUITS.get(what, ()))
    return list(dict.fromkeys(suited))


def _legs(way: Mapping[str, Any]) -> list[tuple[int | None, int | None]]:
    """Return metres and seconds of each leg, as far as all are known."""
    figures = [[whole_or_none(leg.get(key)) for key in ("distance_m", "duration_s")]
               for leg in objects(way.get("legs"))]  # fmt: skip
    return [(metres, seconds) for metres, seconds in figures if metres is not None]


def _day(row: Mapping[str, Any]) -> WeatherDay | None:
    code, date = whole_or_none(row.get("weather_code")), text_or_none(row.get("date"))
    if date is None:
        return None
    sky = _SKIES.get(code, "") if code is not None else ""
    return WeatherDay(
        date=date,
        day=sky,
        night=sky,
        high_c=whole_or_none(row.get("temperature_2m_max")),
        low_c=whole_or_none(row.get("temperature_2m_min")),
        wind=_wind(finite(row.get("wind_speed_10m_max")), row.get("wind_direction_10m_dominant")),
    )


def _wind(speed: float | None, degrees: Any) -> str | None:
    """Return a wind as forecasts here word it: 西北风 4 级."""
    direction = finite(degrees)
    if speed is None or direction is None:
        return None
    force = sum(speed >= limit for limit in _BEAUFORT)
    return f"{_DIRECTIONS[round(direction / 45) % 8]}风 {force} 级"


class OsmWays:
    """Measure by the matrix of the router, which takes many positions at once."""

    async def from_one(
        self, start: Location, points: Sequence[Location], call: BranchCalls
    ) -> dict[int, Leg]:
        """Return the ways on foot from one point to others, by their indices: one call."""
        legs = await self._measured([start], points, call)
        return {to: leg for (_, to), leg in legs.items()}

    async def on_foot(
        self, points: Sequence[Location], call: BranchCalls
    ) -> dict[tuple[int, int], Leg]:
        """Return the ways between points by their indices: one call."""
        legs = await self._measured(points, points, call)
        return {ends: leg for ends, leg in legs.items() if ends[0] != ends[1]}

    async def by_transit(
        self, start: Location, end: Location, city: str, call: BranchCalls
    ) -> Leg | None:
        """Return nothing: OpenStreetMap has no timetables."""
        return await asyncio.sleep(0, None)

    def link(self, stops: Sequence[NamedStop]) -> str:
        """Return the page of the way over all stops, on foot."""
        return way_link("walking", [at for _, at in stops])

    async def _measured(
        self, origins: Sequence[Location], destinations: Sequence[Location], call: BranchCalls
    ) -> dict[tuple[int, int], Leg]:
        if not origins or not destinations:
            return {}
        ends = {
            "origins": "|".join(map(lnglat, origins)),
            "destinations": "|".join(map(lnglat, destinations)),
        }
        try:
            reply = await call("osm_matrix", {**ends, "mode": "walking"})
        except (ProviderError, BudgetExceeded) as error:
            log.info("map: ways on foot are not measured: %s", error)
            return {}
        legs: dict[tuple[int, int], Leg] = {}
        for row in objects(reply.get("ways")):
            at, to = whole_or_none(row.get("origin")), whole_or_none(row.get("destination"))
            metres, seconds = (whole_or_none(row.get(key)) for key in ("distance_m", "duration_s"))
            if at is None or to is None or metres is None or not seconds:
                continue
            legs[at, to] = Leg(
                mode="walking", distance_m=metres, duration_s=seconds, estimated=False
            )
        return legs
