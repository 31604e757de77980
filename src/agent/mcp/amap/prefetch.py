"""Make Amap's calls before the model runs: one fixed sequence per intent."""

import asyncio
import logging
from collections.abc import Awaitable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from agent.core.errors import AgentError, ProviderError, ProviderRefused
from agent.core.outside import objects
from agent.core.strings import letters_of
from agent.evidence.constraints import is_ruled_out, name_suits
from agent.evidence.geo import location_in, metres_apart, parse_lnglat
from agent.evidence.mentions import without_branch
from agent.evidence.ordering import fitting
from agent.evidence.types import Location, MapTask, Point, Route, TravelMode
from agent.evidence.vocabulary import chinese_keyword, city_in_chinese
from agent.mcp.amap.install import PROVIDER
from agent.mcp.amap.records import (
    AmapReader,
    PlaceHits,
    RankedHit,
    hit_of,
    interleaved,
    location_of,
)
from agent.mcp.amap.tools import RADIUS_M, ROUTE_TOOLS
from agent.mcp.amap.ways import AmapWays
from agent.mcp.new_records import NamedStop
from agent.mcp.prefetch import ITSELF_M, Prefetch, is_middle, one_line_of
from agent.mcp.records import (
    CALLS_FOR_TOOLS,
    FITTING,
    NOT_FOUND,
    REMARKS,
    BranchCalls,
    CallTool,
    MapHit,
    MapRecords,
    lnglat,
    text_or_none,
)
from agent.texts import Language, say

_SUFFIXES = (
    "特别行政区", "维吾尔自治区", "壮族自治区", "回族自治区", "自治区", "自治州", "地区", "新区",
    "省", "市", "区", "县", "盟",
)  # fmt: skip


def chinese_city(city: str | None) -> str | None:
    """Return the Chinese name of a city known by its English one; other names as they are."""
    if not city:
        return None
    return city_in_chinese(city.strip()) or city.strip()


def same_city(city: str | None, *names: str | None) -> bool:
    """Return whether one of the names (province, city, district) is that of the city.

    True where either side has no name, or where the names are of different scripts.
    """
    short = _short(chinese_city(city) or "")
    others = [_short(name) for name in names if name]
    if not short or not others or short.isascii():
        return True
    return any(name and (name in short or short in name) for name in others)


def _short(name: str) -> str:
    plain = "".join(name.split())
    shorter = next((plain.removesuffix(each) for each in _SUFFIXES if plain.endswith(each)), plain)
    return shorter if len(shorter) >= 2 else plain


log = logging.getLogger(__name__)

_WIDE = frozenset({"国家", "省", "市", "区县", "直辖市", "地级市", "县级市"})
_VILLAGES = frozenset({"村庄", "乡镇", "村", "乡", "镇"})


@dataclass(frozen=True)
class ResolvedPlace:
    """Hold a resolved place."""

    name: str
    location: Location
    city: str | None = None
    adcode: str | None = None
    district: str | None = None
    detail: dict[str, Any] | None = None
    """The looked-up place, where it took that to find it."""
    is_area: bool = False
    """Whether it is a town or a part of one, whose name says where it is."""
    others: tuple[str, ...] = ()
    """Cities that have a place of this name, too."""

    @property
    def text(self) -> str:
        """Return "lng,lat" as the tools take it."""
        return lnglat(self.location)


def here(near: Point, language: Language) -> ResolvedPlace:
    """Return the user's position."""
    return ResolvedPlace(say("map.here", language), location_in("GCJ-02", near))


async def find_anchor(
    call: CallTool, place: str, city: str | None, *, wide: bool = False
) -> ResolvedPlace:
    """Return coordinates as they are, else by the geocoder, else by a search in the city.

    Accepts with `wide` also whole cities and districts. Raises ProviderRefused
    (`map_place_not_found`, `map_not_covered`, `map_place_too_wide`).
    """
    if point := parse_lnglat(place):
        location = Location(lng=point[0], lat=point[1], crs="GCJ-02")
        return ResolvedPlace(place, location)
    city = chinese_city(city)
    try:
        return await _geocoded(call, place, city, wide=wide)
    except ProviderError as error:
        if error.code not in (NOT_FOUND, "map_wrong_city"):
            raise
        log.info("map: geocoding %s: %s", place, error)
    return await _searched(call, place, city)


async def _geocoded(call: CallTool, place: str, city: str | None, *, wide: bool) -> ResolvedPlace:
    arguments = {"address": place, "city": city} if city else {"address": place}
    candidates = objects((await call("maps_geo", arguments)).get("return"))
    if not candidates:
        raise _refused(place, NOT_FOUND)
    problem, anchors = NOT_FOUND, list[ResolvedPlace]()
    for candidate in candidates:
        location = location_of(candidate.get("location"))
        if location is None:
            continue
        problem = _problem(candidate, place, city, wide=wide)
        if not problem:
            log.info("map: %s is at %s (%s)", place, candidate["location"], candidate.get("level"))
            town = text_or_none(candidate.get("city")) or text_or_none(candidate.get("province"))
            adcode, district = (text_or_none(candidate.get(one)) for one in ("adcode", "district"))
            is_area = candidate.get("level") in _WIDE | _VILLAGES
            anchors.append(ResolvedPlace(place, location, town, adcode, district, is_area=is_area))
    if not anchors:
        raise _refused(place, problem)
    towns = dict.fromkeys(anchor.city for anchor in anchors if anchor.city)
    return replace(anchors[0], others=tuple(town for town in towns if town != anchors[0].city))


def _problem(candidate: dict[str, Any], place: str, city: str | None, *, wide: bool) -> str:
    """Return the code of why a geocode is another place; empty if it is the place."""
    if (text_or_none(candidate.get("country")) or "中国") != "中国":
        return "map_not_covered"
    names = [text_or_none(candidate.get(part)) for part in ("province", "city", "district")]
    if not same_city(city, *names):
        return "map_wrong_city"
    level = text_or_none(candidate.get("level")) or ""
    if level in _WIDE and not wide:
        return "map_place_too_wide"
    # Names from abroad resolve to villages that happen to be called so.
    if level in _VILLAGES and not city and not place.endswith(("村", "镇", "乡", "屯")):
        return NOT_FOUND
    return ""


async def _searched(call: CallTool, place: str, city: str | None) -> ResolvedPlace:
    arguments = {"keywords": place, "city": city} if city else {"keywords": place}
    hits = objects((await call("maps_text_search", arguments)).get("pois"))
    best = next((hit for hit in by_name(hits, place) if hit.get("id")), None)
    if best is None:
        raise _refused(place, NOT_FOUND)
    detail = await call("maps_search_detail", {"id": best["id"]})
    location = location_of(detail.get("location"))
    town = text_or_none(detail.get("city"))
    if location is None or not same_city(city, town):
        raise _refused(place, NOT_FOUND)
    return ResolvedPlace(text_or_none(detail.get("name")) or place, location, town, detail=detail)


def by_name(hits: list[dict[str, Any]], name: str, city: str | None = None) -> list[dict[str, Any]]:
    """Return the hits of that name first, then those that hold it; else in their order.

    A name may have its city in front: 上海迪士尼乐园 begins with 迪士尼, in 上海.
    """
    plain, town = "".join(name.casefold().split()), (city or "").removesuffix("市")

    def rank(hit: dict[str, Any]) -> int:
        text = "".join(str(hit.get("name") or "").casefold().split())
        text = text if plain.startswith(town) else text.removeprefix(town)
        if text == plain:
            return 0
        return 1 if text.startswith(plain) else 2 if plain in text else 3

    return sorted(hits, key=rank)


def _refused(place: str, code: str) -> ProviderRefused:
    return ProviderRefused(PROVIDER, f"{place}: {code.removeprefix('map_')}", code=code)


_FITTING_AT_ONCE, _FITTING_ROUNDS = 4, 3
"""Look-ups at once for places that meet a question's demands, and how often."""
_UNMET_ROUNDS = 3
_A_PAGE = 20
"""Hits that a search tells at most."""
_NAMED = 3
"""Hits that pages name which are looked up, one call each."""
_AT_ITS_PLACE_M = 50
"""Within which a hit whose name has that of the centre in it is the centre."""


class AmapPrefetch(Prefetch):
    """Make a fixed sequence of calls for each intent."""

    def __init__(self, task: MapTask, query: str, records: MapRecords, call: BranchCalls) -> None:
        super().__init__(task, query, records, call)
        self._reader = AmapReader(records)
        self._city = chinese_city(self._city)

    async def _nearby(self) -> None:
        middle = await self._middle(RADIUS_M[1])
        anchor = ResolvedPlace(*middle) if middle else await self._centre()
        self._records.set_centre(anchor.name, anchor.location, anchor.district)
        words = self._keywords() or [""]
        searches = await self._near_or_wider(RADIUS_M, lambda: self._around(anchor, words))
        await self._look_up(searches, words)

    async def _located(self, place: str, city: str | None, *, wide: bool = False) -> ResolvedPlace:
        """Return a place; which city's was taken is told where nobody named one."""
        if city and is_middle(place, city):
            return replace(await find_anchor(self._call, city, city, wide=True), name=place)
        anchor = await find_anchor(self._call, place, city, wide=wide)
        own, asked = letters_of(anchor.name), letters_of(place)
        if anchor.detail and own not in asked and asked not in own:
            self._tell_taken(place, anchor.name, anchor.city)
            return anchor
        self._result.meant[place] = anchor.name
        if anchor.city and not city and (anchor.others or not anchor.is_area):
            self._tell_city(place, anchor.city, anchor.others, anchor.location)
        return anchor

    async def _centre(self) -> ResolvedPlace:
        if near := self._meant_here(self._place):
            return here(near, self._options.language)
        if not self._place:
            raise self._no_place()
        return await self._located(self._place, self._city)

    async def _around(self, anchor: ResolvedPlace, words: Sequence[str]) -> list[PlaceHits]:
        base = {"location": anchor.text, "radius": self._result.radius_m}
        arguments = [{**base, "keywords": word} if word else base for word in words]
        return await self._searches("maps_around_search", arguments, words, where=anchor.name)

    async def _area(self) -> None:
        words = self._keywords() or ([self._place] if self._place else [self._query])
        city, place = self._city, self._place
        if place and city and same_city(city, place):
            place = None
        if place and not city:
            try:
                anchor = await self._located(place, None, wide=True)
                city = anchor.city
                place = None if same_city(anchor.city, place) else place
            except ProviderRefused as error:
                log.info("map: no area %s: %s", place, error)
        prefix = f"{place} " if place and place not in words else ""
        self._city = city
        arguments = [{"keywords": f"{prefix}{word}", "city": city} for word in words]
        where = place or city or ""
        searches = await self._searches("maps_text_search", arguments, words, where=where)
        if prefix and not any(searches):
            # The place is no district but a spot, whose name none of the hits has to bear.
            return await self._nearby()
        return await self._look_up(searches, words)

    async def _poi(self) -> None:
        name = self._place or next(iter(self._keywords()), None) or self._query
        arguments = {"keywords": name, "city": self._city}
        pois = objects((await self._call("maps_text_search", arguments)).get("pois"))
        hits = by_name(pois, name, self._city)
        self._note_search(name, self._city or "", len(hits))
        if not hits:
            # An address is no place that the map lists, but it knows where that is.
            spot = await self._located(name, self._city, wide=True)
            detail = {"name": spot.name, "address": name, "location": spot.text, "city": spot.city}
            self._reader.add_place(detail)
            return
        exact = name.casefold() in str(hits[0].get("name") or "").casefold()
        await self._look_up([hits], [name], limit=1 if exact else self._options.details)

    async def _route(self) -> None:
        """Enter the way; one over other places is the ways from each to the next."""
        start, end = await self._ends()
        stops = [start, *[await self._end(place) for place in self._task.get("via", [])], end]
        stops = await self._in_best_order(stops, AmapWays().on_foot)
        straight = sum(metres_apart(one.location, other.location) for one, other in pairwise(stops))
        mode = self._mode(straight, ROUTE_TOOLS)
        legs = [await self._leg(one, other, mode) for one, other in pairwise(stops)]
        if len(legs) > 1:
            self._reader.add_total(legs, [(stop.name, stop.location) for stop in stops])

    async def _leg(self, start: ResolvedPlace, end: ResolvedPlace, mode: TravelMode) -> Route:
        tool = ROUTE_TOOLS[mode]
        arguments = {"origin": start.text, "destination": end.text}
        if self._task["intent"] == "distance" and mode in ("walking", "driving"):
            tool = "maps_distance"
            kind = "3" if mode == "walking" else "1"
            arguments = {"origins": start.text, "destination": end.text, "type": kind}
        elif mode == "transit":
            city = start.city or self._city or await self._city_at(start.text)
            arguments |= {"city": city, "cityd": end.city or city}
        route = self._reader.add_route(
            tool,
            await self._call(tool, arguments),
            mode=mode,
            ends=(start.text, end.text),
            names=(start.name, end.name),
        )
        if route is None:
            raise self._refused("no way between the two", "map_no_route")
        return route

    async def _ends(self) -> tuple[ResolvedPlace, ResolvedPlace]:
        origin = one_line_of(self._task.get("origin"))
        destination = one_line_of(self._task.get("destination")) or self._place
        near = self._options.near
        if destination is None or (origin is None and near is None):
            raise self._no_place()

        return await self._end(origin), await self._end(destination)

    async def _stop(self, name: str | None) -> NamedStop:
        end = await self._end(name)
        return end.name, end.location

    async def _end(self, text: str | None) -> ResolvedPlace:
        if near := self._meant_here(text):
            return here(near, self._options.language)
        if known := self._known(text):
            return ResolvedPlace(known["name"], known["location"], known["city"])
        try:
            return await self._located(text or "", self._city, wide=True)
        except ProviderRefused:
            self._unknown_end = text
            raise

    async def _weather(self) -> None:
        city = self._city or chinese_city(self._place)
        if not city:
            city = await self._city_here()
        try:
            reply = await self._call("maps_weather", {"city": city})
        except ProviderRefused as error:
            if error.code != "map_place_not_found":
                raise
            anchor = await self._located(self._place or city, None, wide=True)
            reply = await self._call("maps_weather", {"city": anchor.adcode or anchor.city})
        if self._reader.add_weather(reply) is None:
            raise self._refused(f"{city}: no forecast", "map_place_not_found")

    async def _city_here(self) -> str:
        near = self._options.near
        if near is None:
            raise self._no_place()
        return await self._city_at(here(near, self._options.language).text)

    async def _city_at(self, position: str) -> str:
        place = await self._call("maps_regeocode", {"location": position})
        city = text_or_none(place.get("city")) or text_or_none(place.get("provice"))
        if city is None:
            raise self._refused("position outside China", "map_not_covered")
        return city

    async def _regeo(self) -> None:
        anchor = await self._centre()
        reply = await self._call("maps_regeocode", {"location": anchor.text})
        parts = [text_or_none(reply.get(part)) for part in ("provice", "city", "district")]
        name = "".join(dict.fromkeys(part for part in parts if part))
        if not name:
            raise self._refused(f"{anchor.text}: nothing there", "map_not_covered")
        detail = {"name": name, "address": name, "location": anchor.text, "city": parts[1]}
        self._reader.add_place({**detail, "district": parts[2]})

    async def _searches(
        self, tool: str, arguments: list[dict[str, Any]], words: Sequence[str], *, where: str
    ) -> list[PlaceHits]:
        """Return the hits of each search; one that fails is a gap unless all do."""
        replies = await _all_of(self._call(tool, one) for one in arguments)
        failed = [reply for reply in replies if isinstance(reply, AgentError)]
        if failed and len(failed) == len(replies):
            raise failed[0]
        for error in failed[:1]:
            self._gap(error)
        read = [None if isinstance(r, AgentError) else objects(r.get("pois")) for r in replies]
        hits = [rows and [row for row in rows if not self._is_centre(row)] for rows in read]
        radius = self._result.radius_m if tool == "maps_around_search" else None
        for word, rows, answered in zip(words, read, hits, strict=True):
            if rows is not None and answered is not None:
                is_cut = len(rows) >= _A_PAGE
                self._note_search(word, where, len(answered), radius, is_cut=is_cut)
        return [answered or [] for answered in hits]

    async def _look_up(
        self, searches: list[PlaceHits], words: Sequence[str], *, limit: int | None = None
    ) -> None:
        """Look up the best hits over all searches; the rest stays known by name."""
        ranked = interleaved(searches, words)
        if not ranked:
            raise self._refused("no results", "map_no_results")
        names = {str(hit["id"]): [str(hit.get("name") or "")] for hit, _ in ranked}
        named = self._named(names)
        if self._options.pages:
            await self._look_up_named([hit for hit in ranked if hit[0]["id"] in named])
            return
        # What the question names leads, then come the best ones; behind them those whose names
        # already tell that they suit.
        ranked.sort(key=lambda hit: hit[0]["id"] not in named)
        first, constraints = self._options.details, self._options.constraints
        suiting = [h for h in ranked[first:] if name_suits(str(h[0].get("name")), constraints)]
        ranked = [*ranked[:first], *suiting, *(h for h in ranked[first:] if h not in suiting)]
        # These take the calls that `more` would have spent on them later, unseen by the model.
        limit = first + min(len(suiting), self._options.more) if limit is None else limit
        # Details are what a small share saves first, though one place is looked up in any case.
        limit = min(limit, max(1, self._call.left() - CALLS_FOR_TOOLS))
        self._result.hits.extend(
            hit_of(hit, keywords)
            for hit, keywords in ranked
            if not is_ruled_out(str(hit.get("name")), constraints)
        )
        await self._look_up_hits(limit)
        await self._look_up_unmet(words)
        await self._look_up_fitting()
        failures = [gap for gap in self._result.gaps if gap["code"] not in REMARKS]
        if self._result.rejected and not (self._result.places or failures):
            self._gap(self._refused("nothing usable", "map_no_results"))

    async def _look_up_named(self, ranked: Sequence[RankedHit]) -> None:
        """Look up hits that pages name, but those whose record is known."""
        known = self._options.entered
        self._result.hits = [
            hit_of(*each) for each in ranked if f"{PROVIDER}:{each[0]['id']}" not in known
        ]
        await self._look_up_hits(min(_NAMED, self._call.left()), silently=True)

    async def _look_up_unmet(self, words: Sequence[str]) -> None:
        """Look up a hit of each keyword that no record is of yet: lunch beside two car parks."""
        result = self._result
        for _ in range(_UNMET_ROUNDS):
            known = {keyword for place in result.places for keyword in place["keywords"]}
            of_word = {w: h for h in reversed(result.hits) for w in h["keywords"] if w in words}
            unmet = [of_word[word] for word in words if word not in known and word in of_word]
            best = list({hit["id"]: hit for hit in unmet}.values())
            room = self._call.left() - CALLS_FOR_TOOLS
            if min(room, len(best)) <= 0:
                return
            best = best[:room]
            result.hits = [*best, *(hit for hit in result.hits if hit not in best)]
            await self._look_up_hits(len(best), silently=True)

    async def _look_up_fitting(self) -> None:
        """Look up further hits until enough places break no demand, or the share is spent."""
        options, result = self._options, self._result
        for _ in range(_FITTING_ROUNDS if options.constraints else 0):
            room, untried = self._call.left() - CALLS_FOR_TOOLS, len(result.hits)
            fits = fitting(result.places, options.constraints, options.language)
            if fits >= FITTING or min(room, untried) <= 0:
                return
            await self._look_up_hits(min(_FITTING_AT_ONCE, room), silently=True)
            if len(result.hits) == untried:
                return

    async def more(self, count: int) -> None:
        """Look up the next best hits of a search for kinds; what fails stays known by name."""
        if count > 0 and self._task["intent"] in ("nearby", "area"):
            await self._look_up_hits(count, silently=True)

    async def _look_up_hits(self, count: int, *, silently: bool = False) -> None:
        """Look up the first hits; one that turns out to be the centre makes room for the next."""
        result = self._result
        best, result.hits = result.hits[:count], result.hits[count:]
        itself, errors = await self._details(best)
        if not silently:
            for error in errors[:1]:
                self._gap(error)
        if itself and result.hits and not errors and self._call.left() > 0:
            await self._look_up_hits(min(itself, self._call.left()), silently=silently)

    async def _details(self, best: Sequence[MapHit]) -> tuple[int, list[AgentError]]:
        """Enter the records of these hits; return how many were the centre, and the errors."""
        details = await _all_of(self._call("maps_search_detail", {"id": h["id"]}) for h in best)
        itself = 0
        for detail, hit in zip(details, best, strict=True):
            if isinstance(detail, AgentError):
                self._result.hits.append(hit)
            elif self._city and not same_city(self._city, text_or_none(detail.get("city"))):
                self._records.reject(hit["name"], f"not in {self._city}")
            elif self._is_centre(detail):
                itself += 1
            elif self._reader.add_place(detail, hit["keywords"]) is None:
                self._records.reject(hit["name"], "closed, too far, or without a position")
        return itself, [detail for detail in details if isinstance(detail, AgentError)]

    def _is_centre(self, hit: dict[str, Any]) -> bool:
        """Return whether a hit or a detail is the centre itself, which is not near itself.

        What a bracket adds to a name makes another thing of it, unless the centre has it, too:
        人民公园(地铁站) is not 人民公园, nor 蓝蛙(三里屯太古里店) 三里屯.
        """
        if self._task["intent"] != "nearby":
            return False
        return any(_is_spot(hit, name, at) for name, at in self._spots())

    def _listed(self, keyword: str) -> str:
        return chinese_keyword(keyword)


def _is_spot(hit: dict[str, Any], name: str, at: Location) -> bool:
    full, location = str(hit.get("name") or ""), location_of(hit.get("location"))
    own, named = letters_of(full), letters_of(name)
    metres = metres_apart(at, location) if location else 0
    if own == named:
        return metres < ITSELF_M
    is_called_so = full == without_branch(full) and (named in own or own in named)
    return is_called_so and location is not None and metres < _AT_ITS_PLACE_M


async def _all_of(
    calls: Iterable[Awaitable[dict[str, Any]]],
) -> list[dict[str, Any] | AgentError]:
    """Return all replies in order, errors of ours in their places; raise anything else."""
    replies: list[dict[str, Any] | AgentError] = []
    for reply in await asyncio.gather(*calls, return_exceptions=True):
        if isinstance(reply, BaseException) and not isinstance(reply, AgentError):
            raise reply
        replies.append(reply)
    return replies
