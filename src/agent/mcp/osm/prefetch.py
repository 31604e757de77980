"""Make the calls of our OpenStreetMap server before a model runs: one sequence per intent."""

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

from agent.core.errors import ProviderRefused
from agent.core.outside import finite, objects, whole_or_none
from agent.core.strings import parted_brackets, without_accents
from agent.evidence.geo import distance_m, location_in, metres_apart, parse_lnglat
from agent.evidence.language import fold
from agent.evidence.ordering import judged
from agent.evidence.types import Location, MapTask, Place
from agent.mcp.new_records import NamedStop
from agent.mcp.osm.records import (
    OsmReader,
    OsmWays,
    location_of,
    name_of,
    spoken_name,
    with_whereabouts,
)
from agent.mcp.osm.tools import MODES, PROVIDER
from agent.mcp.prefetch import DEFAULT_RADIUS_M, ITSELF_M, Prefetch, is_middle, one_line_of
from agent.mcp.records import NOT_FOUND, BranchCalls, MapHit, MapRecords, lnglat, text_or_none
from agent.texts import say

log = logging.getLogger(__name__)
_RADIUS_M = (100, 10_000)
_ENTERED, _TRIED, _MOST = 8, 60, 300
"""Places of a search that are entered, of each kind that are held against demands before, and that
the server tells."""
_AS_KNOWN, _FAMOUS = 0.1, 0.4
"""Of the geocoder's importance: how far below another as well known, from where on world-famous."""
_TOO_WIDE = frozenset({"place=country", "place=state", "place=continent", "place=ocean"})
_SIGHTS, _HAN = "sights", "\u2e80"
_STOPS = frozenset({"railway=tram_stop", "highway=bus_stop"})
_NEARER = 2
"""Places entered of which it is not known whether they fit, nearer than what does."""
_PARTS = str.maketrans({",": "\n", "，": "\n", "(": "\n", "（": "\n", ")": None, "）": None})


@dataclass(frozen=True)
class OsmSpot:
    """Hold a position with its name, and the record it is of, where it has one."""

    name: str
    location: Location
    row: Mapping[str, Any]

    @property
    def text(self) -> str:
        """Return "lng,lat" as the tools take it."""
        return lnglat(self.location)


class OsmPrefetch(Prefetch):
    """Make a fixed sequence of calls for each intent; places come whole with a search."""

    def __init__(self, task: MapTask, query: str, records: MapRecords, call: BranchCalls) -> None:
        super().__init__(task, query, records, call)
        self._reader, self._language = OsmReader(records), records.options.language

    async def _nearby(self) -> None:
        middle = await self._middle(_RADIUS_M[1])
        spot = OsmSpot(*middle, {}) if middle else await self._centre()
        # A radius that nobody asked for makes no circle around a quarter.
        asked = self._task.get("radius_m") or DEFAULT_RADIUS_M
        await self._search(spot, ITSELF_M if asked == DEFAULT_RADIUS_M else asked)

    async def _stop(self, name: str | None) -> NamedStop:
        end = await self._end_at(name or "", None)
        return end.name, end.location

    async def _search(self, spot: OsmSpot, circle_m: int) -> None:
        """Search within a city or a district that is wider than a circle of so many metres.

        Around all else: within the box of a square, or of a quarter's point, there is nothing.
        """
        if _reach_m(spot.row) > circle_m:
            # Who looks around its middle next is told how far it is from there.
            self._result.names.setdefault(spot.text, spot.name)
            return await self._within(spot)
        self._records.set_centre(spot.name, spot.location, text_or_none(spot.row.get("district")))
        [rows] = await self._near_or_wider(_RADIUS_M, lambda: self._searched(spot))
        return self._enter(rows)

    async def _searched(self, spot: OsmSpot) -> list[list[dict[str, Any]]]:
        result = self._result
        where = {"location": spot.text, "radius_m": result.radius_m}
        reply = await self._call("osm_nearby", {**self._wanted(), **where})
        found = objects(reply.get("places"))
        around = [spot, *(OsmSpot(*end, {}) for end in result.between or ())]
        rows = [row for row in found if not any(_is_spot(row, each) for each in around)]
        self._note_kinds(reply, len(found) - len(rows), spot.name, result.radius_m)
        return [rows]

    async def _area(self) -> None:
        await self._search(await self._located(self._place or self._city, self._city), ITSELF_M)

    async def _within(self, spot: OsmSpot) -> None:
        if spot.row.get("tag") in _TOO_WIDE:
            raise self._refused(f"{spot.name}: too wide", "map_place_too_wide")
        reply = await self._call("osm_nearby", {**self._wanted(), "bbox": spot.row["bbox"]})
        self._note_kinds(reply, 0, spot.name, None)
        self._enter(objects(reply.get("places")))

    async def _poi(self) -> None:
        name = self._place or next(iter(self._keywords()), None) or self._query
        rows = await self._geocoded(name, self._city)
        self._note_search(name, self._city or "", len(rows))
        for row in rows[: 1 if _bears(rows[0], name) else self._options.details]:
            self._reader.add_place(row, [name])

    async def _route(self) -> None:
        start = await self._end("origin")
        end = await self._end("destination", start)
        between = [await self._end_at(place, start) for place in self._task.get("via", [])]
        start, *between, end = await self._in_best_order([start, *between, end], OsmWays().on_foot)
        straight = metres_apart(start.location, end.location)
        mode = self._mode(straight, MODES)
        arguments = {"origin": start.text, "destination": end.text, "mode": mode}
        if between:
            arguments["via"] = "|".join(spot.text for spot in between)
        reply = await self._call("osm_route", arguments)
        stops = (start, *between, end)
        ends, names = [spot.text for spot in stops], [spot.name for spot in stops]
        if self._reader.add_route(reply, mode, ends, names) is None:
            raise self._refused("no way between the two", "map_no_route")

    async def _end(self, which: str, start: OsmSpot | None = None) -> OsmSpot:
        text = one_line_of(str(self._task.get(which) or ""))
        text = text or (self._place if which == "destination" else None)
        if self._options.near and text is None and which == "origin":
            return self._here()
        if text is None:
            raise self._no_place()
        return await self._end_at(text, start)

    async def _end_at(self, text: str, start: OsmSpot | None) -> OsmSpot:
        if self._meant_here(text):
            return self._here()
        try:
            return await self._located(text, self._city, start)
        except ProviderRefused:
            self._unknown_end = text
            raise

    async def _weather(self) -> None:
        near = self._options.near
        name = self._city or self._place
        spot = self._here() if near and not name else await self._located(name, None)
        if spot.name == say("map.here", self._language):
            reply = await self._call("osm_reverse", {"location": spot.text, **self._naming()})
            row = next(iter(objects(reply.get("places"))), {})
            spot = OsmSpot(text_or_none(row.get("city")) or spot.name, spot.location, row)
        reply = await self._call("osm_weather", {"location": spot.text})
        town = spoken_name(spot.row, self._language) if spot.row.get("is_area") else spot.name
        if self._reader.add_weather(reply, town) is None:
            raise self._refused(f"{spot.name}: no forecast", "map_place_not_found")

    async def _regeo(self) -> None:
        spot = await self._centre()
        reply = await self._call("osm_reverse", {"location": spot.text, **self._naming()})
        for row in objects(reply.get("places"))[:1]:
            parts = [text_or_none(row.get(part)) for part in ("district", "city", "country")]
            name = ", ".join(dict.fromkeys(part for part in parts if part))
            told = {key: row.get(key) for key in ("id", "address", "city", "district")}
            position = dict(zip(("lng", "lat"), spot.text.split(","), strict=True))
            self._reader.add_place({**told, **position, "name": name or row.get("name")})

    async def _centre(self) -> OsmSpot:
        if self._meant_here(self._place):
            return self._here()
        return await self._located(self._place or self._city, self._city)

    def _here(self) -> OsmSpot:
        near = self._options.near
        assert near is not None
        return OsmSpot(say("map.here", self._language), location_in("WGS-84", near), {})

    async def _located(
        self, place: str | None, city: str | None, start: OsmSpot | None = None
    ) -> OsmSpot:
        """Return a place by its name, or a position as it is."""
        if not place:
            raise self._no_place()
        if point := parse_lnglat(place):
            return OsmSpot(place, Location(lng=point[0], lat=point[1], crs="WGS-84"), {})
        if is_middle(place, city):
            # No geocoder knows it by that name: it is where the city itself is, not all of it.
            return OsmSpot(place, (await self._located(city, None)).location, {})
        if shown := self._shown(place, city, start):
            self._result.meant[place] = shown.name
            return shown
        rows = await self._geocoded(place, city)
        row, location = rows[0], location_of(rows[0])
        if location is None:
            raise self._refused(f"{place}: no position", "map_place_not_found")
        name, is_meant = spoken_name(row, self._language), _bears(row, place) or _is_in(row, place)
        is_other = not is_meant and self._tell_taken(
            place, name, text_or_none(row.get("city")), _names_of(row)
        )
        if is_meant and not city:
            self._tell_town(place, rows, location)
        local, question = str(row.get("name")), fold(self._options.question)
        # The words of a plan are not always its asker's.
        if is_meant and (not question or fold(place) in question):
            is_local = local.casefold() == place.casefold()
            name = name_of(row, self._language) if is_local else place
        if not is_other:
            self._result.meant[place] = name
        return OsmSpot(name, location, row)

    def _tell_town(self, place: str, rows: Sequence[Mapping[str, Any]], at: Location) -> None:
        """Tell of a name that several towns have which was taken; of a famous one it is plain."""
        first = rows[0]
        worth = finite(first.get("importance")) or 0.0
        # Berlin is not asked about for the sake of Berlin in New Hampshire.
        alike = [
            row
            for row in rows
            if _same_name(row, first)
            # The stop in the town that is called like it is no other town.
            and (row.get("is_area") or row.get("city") != first.get("name"))
            and worth - (finite(row.get("importance")) or 0.0) <= _AS_KNOWN
        ]
        towns = list(dict.fromkeys(town for row in alike if (town := _town(row))))
        is_plain = bool(first.get("is_area")) or worth >= _FAMOUS
        is_plain = is_plain or (bool(towns) and towns[0] in str(first.get("name")))
        if towns and (len(towns) > 1 or not is_plain):
            self._tell_city(place, towns[0], towns[1:], at)

    def _shown(self, text: str, city: str | None, start: OsmSpot | None) -> OsmSpot | None:
        """Return the place of that name that the person was shown, of several the nearest.

        A chain has branches at every corner: the geocoder's first one is hardly the one meant.
        """
        known = {place["id"]: place for place in self._options.known if _is_own(place, city)}
        namesakes = [place for place in known.values() if _is_called(place, text)]
        if not namesakes:
            return None

        def metres(place: Place) -> float:
            if start is None:
                return place["distance_m"] or 0
            return metres_apart(start.location, place["location"])

        place = min(namesakes, key=metres)
        name, address = place["name"], place["address"]
        if address and sum(other["name"] == name for other in known.values()) > 1:
            name += say("punctuation.brackets", self._language, text=address)
        row = {"id": place["id"].partition(":")[2], "district": place["district"]}
        return OsmSpot(name, place["location"], row)

    async def _geocoded(self, place: str, city: str | None) -> list[dict[str, Any]]:
        named = city is None or city.casefold() in place.casefold()
        asked = {"query": place if named else f"{place}, {city}", **self._naming()}
        if country := self._task.get("country"):
            asked["countries"] = country
        try:
            rows = objects((await self._call("osm_geocode", asked)).get("places"))
            if not rows:
                raise self._refused(f"{place}: not found", NOT_FOUND)
        except ProviderRefused as error:
            own, word = parted_brackets(place)
            if error.code != NOT_FOUND or not (own and word):
                raise
            # No geocoder knows it with its asker's word, or its branch, behind it.
            return await self._geocoded(own, city)
        # The bistro in the museum is not the museum, unless the geocoder knows it far better; nor
        # is the tram stop the square that it is called after.
        worth = finite(rows[0].get("importance")) or 0.0
        return sorted(
            rows,
            key=lambda row: (
                not _bears(row, place)
                or worth - (finite(row.get("importance")) or 0.0) > _AS_KNOWN,
                row.get("tag") in _STOPS,
            ),
        )

    def _naming(self) -> dict[str, str]:
        return {"language": self._language.split("-")[0]}

    def _wanted(self) -> dict[str, Any]:
        return {"kinds": "|".join(self._keywords() or [_SIGHTS]), "limit": _MOST}

    def _note_kinds(
        self, reply: Mapping[str, Any], itself: int, where: str, radius_m: int | None
    ) -> None:
        """Note how many of each kind there are, without the spot `itself` that they lie around."""
        counts = reply.get("found")
        known = counts if isinstance(counts, dict) else {}
        for word in self._keywords() or [_SIGHTS]:
            told = sum(word in (row.get("kinds") or []) for row in objects(reply.get("places")))
            hits = max(told, whole_or_none(known.get(word)) or 0)
            hits = max(0, hits - itself)
            self._note_search(word, where, hits, radius_m, is_cut=hits >= _MOST)

    def _enter(self, rows: Sequence[dict[str, Any]]) -> None:
        """Enter the best places of each kind: those first that are known to meet the demands.

        And each that the question names; once pages were read, those that they name.
        """
        pages, found = self._options.pages, self._by_demands(with_whereabouts(rows))
        names = {str(row.get("id")): _names_of(row) for row in found if row.get("name")}
        named = {id for id in self._named(names) if f"{PROVIDER}:{id}" not in self._options.entered}
        queues = [
            [row for row in found if word in (row.get("kinds") or [])]
            for word in self._keywords() or [_SIGHTS]
        ]
        ranked: dict[str, Mapping[str, Any]] = {}
        for place in range(max(map(len, queues), default=0)):
            for queue in queues:
                if place < len(queue):
                    ranked.setdefault(str(queue[place].get("id")), queue[place])
        if not ranked:
            raise self._refused("no results", "map_no_results")
        result = self._result
        for id, row in ranked.items():
            if id in named or (not pages and len(result.places) < _ENTERED):
                self._reader.add_place(row, _kinds_of(row))
            else:
                result.hits.append(self._hit(row, _kinds_of(row)))
        if not result.places:
            self._gap(self._refused("nothing usable", "map_no_results"))

    def _by_demands(self, rows: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
        """Return rows by how well they meet what is demanded, else in their order.

        Hours take a while to read: they are of the best of many of a kind by all else.
        """
        if not self._options.constraints:
            return rows
        if len(rows) > _TRIED:
            by_id = {f"{PROVIDER}:{row.get('id')}": row for row in rows}
            best = self._judged([{**row, "hours": None} for row in rows])
            rows = [by_id[place["id"]] for place in best]
        seen = Counter[str]()
        tried, behind = list[Mapping[str, Any]](), list[Mapping[str, Any]]()
        for row in rows:
            kinds = _kinds_of(row)
            seen.update(kinds)
            is_behind = bool(kinds) and all(seen[kind] > _TRIED for kind in kinds)
            (behind if is_behind else tried).append(row)
        by_id = {f"{PROVIDER}:{row.get('id')}": row for row in tried}
        places = _with_nearer_ones(self._judged(tried))
        return [*(by_id[place["id"]] for place in places), *behind]

    def _judged(self, rows: Sequence[Mapping[str, Any]]) -> list[Place]:
        """Return the places of rows, which are entered nowhere, by how well they meet demands."""
        aside = self._records.aside()
        reader = OsmReader(aside)
        for row in rows:
            reader.add_place(row, _kinds_of(row))
        return judged(aside.result.places, self._options.constraints, self._options.language)

    def _hit(self, row: Mapping[str, Any], kinds: list[str]) -> MapHit:
        name, address = name_of(row, self._language), text_or_none(row.get("address"))
        return MapHit(id=str(row.get("id")), name=name, address=address, keywords=kinds)


def _names_of(row: Mapping[str, Any]) -> list[str]:
    """Return the names of a row, its own first."""
    names = row.get("names")
    others = names.values() if isinstance(names, dict) else ()
    return [str(name) for name in dict.fromkeys([row.get("name"), *others]) if name]


def _with_nearer_ones(places: Sequence[Place]) -> list[Place]:
    """Return judged places with a few in front that lie nearer than the nearest that fits.

    It is not known whether they fit: who is told of "the nearest" has to hear of them.
    """
    outcomes = [{v["verdict"] for v in place.get("verdicts", [])} for place in places]
    far = [inf if place["distance_m"] is None else place["distance_m"] for place in places]
    nearest = dict[str, float]()
    for place, verdicts, metres in zip(places, outcomes, far, strict=True):
        for kind in place["keywords"] if verdicts == {"satisfied"} else ():
            nearest[kind] = min(metres, nearest.get(kind, inf))
    nearer = [
        place
        for place, verdicts, metres in zip(places, outcomes, far, strict=True)
        if "violated" not in verdicts
        and any(metres < nearest.get(kind, 0) for kind in place["keywords"])
    ]
    nearer.sort(key=lambda place: place["distance_m"] or 0)
    return [*nearer[:_NEARER], *(place for place in places if place not in nearer[:_NEARER])]


def _kinds_of(row: Mapping[str, Any]) -> list[str]:
    return [str(kind) for kind in row.get("kinds") or []]


def _reach_m(row: Mapping[str, Any]) -> float:
    """Return the metres from the middle of a city, a district or a square to its corner."""
    sides = [finite(side) for side in str(row.get("bbox") or "").split(",")]
    box = [side for side in sides if side is not None]
    if not row.get("is_area") or len(box) != 4:
        return 0.0
    west, south, east, north = box
    return distance_m((west, south), (east, north)) / 2


def _is_own(place: Place, city: str | None) -> bool:
    """Return whether a place is one of this map's and not in a town that is another by name."""
    names = {name.casefold() for name in (city, place["city"]) if name and name.isascii()}
    return place["id"].startswith(f"{PROVIDER}:") and len(names) < 2


def _is_called(place: Place, text: str) -> bool:
    """Return whether a text names a place: its name, or its name and street."""
    own, english = place["name"].casefold(), place.get("name_en")
    others = [_parts(name)[0] for name in place.get("other_names", [])]
    (name, *rest), (first, *behind) = _parts(text), _parts(own)
    names = {first, *others, *(_parts(english)[:1] if english else ())}
    if first > _HAN:
        # The local name stands behind the Chinese one; behind another stands where the place is.
        names.update(behind)
    in_street = bool(rest) and rest[0] in (place["address"] or "").casefold()
    return text.casefold() == own or (name in names and (in_street or not rest))


def _parts(text: str) -> list[str]:
    plain = without_accents(text.casefold())
    return [part.strip() for part in plain.translate(_PARTS).split("\n")]


def _bears(row: Mapping[str, Any], text: str) -> bool:
    """Return whether a text is a row's very name, with its town or street behind it or without."""
    return _parts(text)[0] in {_parts(name)[0] for name in _names_of(row)}


def _is_in(row: Mapping[str, Any], text: str) -> bool:
    """Return whether a text is the street and number that a row is at."""
    return _parts(text)[0] in without_accents(str(row.get("address") or "").casefold())


def _is_spot(row: Mapping[str, Any], spot: OsmSpot) -> bool:
    """Return whether a hit is what was searched around: a station is a building and a stop."""
    location = location_of(row)
    near = location is not None and metres_apart(spot.location, location) < ITSELF_M
    return row.get("id") == spot.row.get("id") or (near and _bears(row, spot.name))


def _town(row: Mapping[str, Any]) -> str | None:
    """Return the town that a place is in; of a town itself, its region and country."""
    if not row.get("is_area"):
        return text_or_none(row.get("city"))
    parts = [text_or_none(row.get(part)) for part in ("region", "country")]
    return ", ".join(part for part in parts if part) or None


def _same_name(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return str(one.get("name")).casefold() == str(other.get("name")).casefold()
