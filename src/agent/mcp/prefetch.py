"""What is asked of the map before a model is: a fixed plan for each intent."""

import asyncio
import logging
from collections.abc import Awaitable, Iterable, Sequence
from typing import Any

from agent.errors import AgentError, BudgetExceeded, ProviderError, ProviderRefused
from agent.evidence.activities import chinese_keyword
from agent.evidence.geodesy import distance_m
from agent.evidence.types import MapTask, TravelMode
from agent.mcp.anchors import Anchor, Ask, by_name, find_anchor, here, means_here
from agent.mcp.arguments import RADIUS_M
from agent.mcp.cities import chinese_city, same_city
from agent.mcp.hits import Hits, hit_of, merged
from agent.mcp.ledger import Ledger
from agent.mcp.messages import POINTLESS_TO_GO_ON, map_gap
from agent.mcp.places import text_or_none
from agent.mcp.replies import records

log = logging.getLogger(__name__)
DEFAULT_RADIUS_M = 2000
_WIDER = 2.5
_FEW = 3
_WALKABLE_M = 1500
ROUTE_TOOLS: dict[TravelMode, str] = {
    "walking": "maps_direction_walking",
    "driving": "maps_direction_driving",
    "bicycling": "maps_bicycling",
    "transit": "maps_direction_transit_integrated",
}


class Prefetch:
    """Fills a ledger for one task; what fails becomes a gap, what was found stays."""

    def __init__(self, task: MapTask, query: str, ledger: Ledger, ask: Ask) -> None:
        self._task, self._query, self._ledger, self._ask = task, query, ledger, ask
        self._options, self._survey = ledger.options, ledger.survey
        self._place = _said(task.get("place"))
        self._city = chinese_city(_said(task.get("city")))

    async def run(self) -> None:
        """Never raises for a failed source."""
        plan = {
            "nearby": self._nearby,
            "area": self._area,
            "poi": self._poi,
            "route": self._route,
            "distance": self._route,
            "weather": self._weather,
            "regeo": self._regeo,
        }[self._task["intent"]]
        try:
            await plan()
        except (ProviderError, BudgetExceeded) as error:
            self._gap(error)
        survey = self._survey
        found = len(survey.places) + len(survey.routes) + len(survey.weather)
        survey.complete = bool(found)
        log.info(
            "map: %s %s: %d places of %d hits, %d routes, %d forecasts, %d gaps",
            self._task["intent"], self._place or self._city or "", len(survey.places),
            len(survey.places) + len(survey.hits), len(survey.routes), len(survey.weather),
            len(survey.gaps),
        )  # fmt: skip

    async def _nearby(self) -> None:
        anchor = await self._centre()
        survey = self._survey
        survey.centre, survey.centre_name = anchor.location, anchor.name
        asked = self._task.get("radius_m") or DEFAULT_RADIUS_M
        survey.radius_m = min(max(asked, RADIUS_M[0]), RADIUS_M[1])
        words: list[str | None] = [*self._keywords()] or [None]
        found = await self._around(anchor, words)
        if sum(map(len, found)) < _FEW and survey.radius_m < RADIUS_M[1]:
            survey.radius_m = min(int(survey.radius_m * _WIDER), RADIUS_M[1])
            wider = await self._around(anchor, words)
            found = wider if any(wider) else found
        await self._look_up(found, words)

    async def _centre(self) -> Anchor:
        near = self._options.near
        if near and (not self._place or means_here(self._place)):
            return here(near, self._options.language)
        if not self._place:
            raise _no_place()
        return await find_anchor(self._ask, self._place, self._city)

    async def _around(self, anchor: Anchor, words: Sequence[str | None]) -> list[Hits]:
        base = {"location": anchor.text, "radius": self._survey.radius_m}
        asked = [{**base, "keywords": word} if word else base for word in words]
        return await self._searches("maps_around_search", asked)

    async def _area(self) -> None:
        words = self._keywords() or ([self._place] if self._place else [self._query])
        city, place = self._city, self._place
        if place and city and same_city(city, place):
            place = None
        if place and not city:
            try:
                anchor = await find_anchor(self._ask, place, None, wide=True)
                city = anchor.city
                place = None if same_city(anchor.city, place) else place
            except ProviderRefused as error:
                log.info("map: no area %s: %s", place, error)
        prefix = f"{place} " if place and place not in words else ""
        self._city = city
        asked = [{"keywords": f"{prefix}{word}", "city": city} for word in words]
        found = await self._searches("maps_text_search", asked)
        if prefix and not any(found):
            # The place is no district but a spot, whose name none of the hits has to bear.
            return await self._nearby()
        return await self._look_up(found, words)

    async def _poi(self) -> None:
        name = self._place or next(iter(self._keywords()), None) or self._query
        asked = {"keywords": name, "city": self._city}
        hits = by_name(records(await self._ask("maps_text_search", asked), "pois"), name)
        if not hits:
            raise ProviderRefused("amap", f"{name}: no results", code="map_place_not_found")
        exact = name.casefold() in str(hits[0].get("name") or "").casefold()
        await self._look_up([hits], [name], limit=1 if exact else self._options.details)

    async def _route(self) -> None:
        start, end = await self._ends()
        a, b = start.location, end.location
        straight = distance_m((a["lng"], a["lat"]), (b["lng"], b["lat"]))
        usual: TravelMode = "walking" if straight < _WALKABLE_M else "driving"
        mode: TravelMode = self._task.get("mode") or usual
        tool = ROUTE_TOOLS[mode]
        asked = {"origin": start.text, "destination": end.text}
        if self._task["intent"] == "distance" and mode in ("walking", "driving"):
            tool = "maps_distance"
            kind = "3" if mode == "walking" else "1"
            asked = {"origins": start.text, "destination": end.text, "type": kind}
        elif mode == "transit":
            city = start.city or self._city or ""
            asked |= {"city": city, "cityd": end.city or city}
        route = self._ledger.add_route(
            tool,
            await self._ask(tool, asked),
            mode=mode,
            ends=(start.text, end.text),
            names=(start.name, end.name),
        )
        if route is None:
            raise ProviderRefused("amap", "no way between the two", code="map_no_route")

    async def _ends(self) -> tuple[Anchor, Anchor]:
        origin = _said(self._task.get("origin"))
        destination = _said(self._task.get("destination")) or self._place
        near = self._options.near
        if destination is None or (origin is None and near is None):
            raise _no_place()

        async def end(text: str | None) -> Anchor:
            if near and (text is None or means_here(text)):
                return here(near, self._options.language)
            return await find_anchor(self._ask, text or "", self._city, wide=True)

        return await end(origin), await end(destination)

    async def _weather(self) -> None:
        asked = self._city or chinese_city(self._place)
        if not asked:
            asked = await self._city_here()
        try:
            reply = await self._ask("maps_weather", {"city": asked})
        except ProviderRefused as error:
            if error.code != "map_place_not_found":
                raise
            anchor = await find_anchor(self._ask, self._place or asked, None, wide=True)
            reply = await self._ask("maps_weather", {"city": anchor.adcode or anchor.city})
        if self._ledger.add_weather(reply) is None:
            raise ProviderRefused("amap", f"{asked}: no forecast", code="map_place_not_found")

    async def _city_here(self) -> str:
        near = self._options.near
        if near is None:
            raise _no_place()
        place = await self._ask(
            "maps_regeocode", {"location": here(near, self._options.language).text}
        )
        city = text_or_none(place.get("city")) or text_or_none(place.get("provice"))
        if city is None:
            raise ProviderRefused("amap", "position outside China", code="map_not_covered")
        return city

    async def _regeo(self) -> None:
        anchor = await self._centre()
        reply = await self._ask("maps_regeocode", {"location": anchor.text})
        parts = [text_or_none(reply.get(part)) for part in ("provice", "city", "district")]
        name = "".join(dict.fromkeys(part for part in parts if part))
        if not name:
            raise ProviderRefused("amap", f"{anchor.text}: nothing there", code="map_not_covered")
        detail = {"name": name, "address": name, "location": anchor.text, "city": parts[1]}
        self._ledger.add_place({**detail, "district": parts[2]})

    async def _searches(self, tool: str, asked: list[dict[str, Any]]) -> list[Hits]:
        """The hits of each search; one that fails is a gap unless all do."""
        replies = await _all_of(self._ask(tool, one) for one in asked)
        failed = [reply for reply in replies if isinstance(reply, AgentError)]
        if failed and len(failed) == len(replies):
            raise failed[0]
        for error in failed[:1]:
            self._gap(error)
        return [[] if isinstance(r, AgentError) else records(r, "pois") for r in replies]

    async def _look_up(
        self, found: list[Hits], words: Sequence[str | None], *, limit: int | None = None
    ) -> None:
        """Details of the best hits over all searches; the rest stays known by name."""
        ranked = merged(found, words)
        if not ranked:
            raise ProviderRefused("amap", "no results", code="map_no_results")
        limit = self._options.details if limit is None else limit
        best, rest = ranked[:limit], ranked[limit:]
        self._survey.hits.extend(hit_of(hit, keywords) for hit, keywords in rest)
        for error in (await self._details(best))[:1]:
            self._gap(error)

    async def more(self, count: int) -> None:
        """Details of the next best hits of a search for kinds; what fails stays known by name."""
        if self._task["intent"] not in ("nearby", "area"):
            return
        hits, self._survey.hits = self._survey.hits[:count], self._survey.hits[count:]
        await self._details([({**hit}, hit["keywords"]) for hit in hits])

    async def _details(self, best: list[tuple[dict[str, Any], list[str]]]) -> list[AgentError]:
        """Enters the records of these hits; the errors of those that failed."""
        details = await _all_of(self._ask("maps_search_detail", {"id": h["id"]}) for h, _ in best)
        errors = [detail for detail in details if isinstance(detail, AgentError)]
        for detail, (hit, keywords) in zip(details, best, strict=True):
            if isinstance(detail, AgentError):
                self._survey.hits.append(hit_of(hit, keywords))
            elif self._city and not same_city(self._city, text_or_none(detail.get("city"))):
                self._ledger.reject(str(hit.get("name")), f"not in {self._city}")
            else:
                self._ledger.add_place(detail, keywords)
        return errors

    def _keywords(self) -> list[str]:
        said = [" ".join(word.split()) for word in self._task.get("keywords") or []]
        words = [chinese_keyword(word) for word in said]
        return list(dict.fromkeys(word for word in words if word))[: self._options.keywords]

    def _gap(self, error: AgentError) -> None:
        words = [self._place or self._city, *self._keywords()]
        about = words[0] or " ".join(word for word in words if word) or self._query
        if error.code == "map_no_results":
            about = " ".join(word for word in words if word) or self._query
        if self._task["intent"] in ("route", "distance") and error.code == "map_no_route":
            about = f"{self._task.get('origin') or ''} → {self._task.get('destination') or ''}"
        gap = map_gap(error, self._query, self._options.language, about)
        self._survey.gaps.append(gap)
        if error.code in POINTLESS_TO_GO_ON:
            self._survey.open_for_tools = False


async def _all_of(
    asked: Iterable[Awaitable[dict[str, Any]]],
) -> list[dict[str, Any] | AgentError]:
    """All replies in order; errors of ours in their places, anything else raised."""
    given: list[dict[str, Any] | AgentError] = []
    for reply in await asyncio.gather(*asked, return_exceptions=True):
        if isinstance(reply, BaseException) and not isinstance(reply, AgentError):
            raise reply
        given.append(reply)
    return given


def _said(text: str | None) -> str | None:
    return " ".join(text.split()) or None if text else None


def _no_place() -> ProviderRefused:
    return ProviderRefused("amap", "no place is named", code="map_needs_place")
