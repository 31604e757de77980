"""Look up the places that a model's search of the map names: the search itself has bare names."""

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from langchain_core.messages import AIMessage, AnyMessage, ToolCall, ToolMessage

from agent.core.budget import Meter
from agent.evidence.geo import distance_m, parse_lnglat
from agent.evidence.types import Place
from agent.mcp.records import CALLS_FOR_TOOLS, MapResult, place_line
from agent.mcp.tools import BranchTools
from agent.texts import Language

_SEARCHES, _DETAIL = ("maps_around_search", "maps_text_search"), "maps_search_detail"
_LOCATE, _PAIR = "maps_geo", re.compile(r"\d{1,3}\.\d{2,},\d{1,3}\.\d{2,}")
_SAME_SPOT_M, _BESIDE_M = 100, 300
_PLACE_ID = re.compile(r'"id":\s*"([^"]{3,40})"')


def located(messages: Sequence[AnyMessage]) -> dict[str, str]:
    """Return the words with which a model located positions ("lng,lat"), by these."""
    addresses: dict[str, str] = {}
    names: dict[str, str] = {}
    for message in messages:
        for call in message.tool_calls if isinstance(message, AIMessage) else []:
            if call["name"] == _LOCATE:
                addresses[call["id"] or ""] = str(call["args"].get("address") or "")
        if isinstance(message, ToolMessage) and (name := addresses.get(message.tool_call_id)):
            names |= dict.fromkeys(_PAIR.findall(str(message.text)), name)
    return names


@dataclass(frozen=True)
class PlaceLookup:
    """Look up the first places of each search, so that they have an id to cite, rating and hours.

    `most` is how many of one search; calls that a model may still want are left to it.
    """

    tools: BranchTools
    result: MapResult
    meter: Meter
    language: Language
    most: int

    async def lines(
        self, calls: Sequence[ToolCall], answers: Sequence[ToolMessage]
    ) -> list[list[str]]:
        """Return the records of each call's places, in the order of the calls."""
        before, language = len(self.result.places), self.language
        by_id = {_own_id(place): place_line(place, language) for place in self.result.places}
        lines: list[list[str]] = [[] for _ in calls]
        searches: dict[str, int] = {}
        for number, (call, answer) in enumerate(zip(calls, answers, strict=True)):
            if call["name"] in _SEARCHES and answer.status == "success":
                ids = dict.fromkeys(_PLACE_ID.findall(str(answer.text)))
                lines[number] = [by_id[name] for name in ids if name in by_id]
                unread = [name for name in ids if name not in by_id][: self.most]
                searches |= {name: number for name in unread if name not in searches}
        left = max(0, self.meter.left("map_calls") - CALLS_FOR_TOOLS)
        chosen = list(searches)[:left]
        records = await asyncio.gather(
            *(
                self.tools.call(
                    ToolCall(name=_DETAIL, args={"id": name}, id=name, type="tool_call")
                )
                for name in chosen
            )
        )
        self._measure(before, {name: calls[searches[name]] for name in chosen})
        for name, record in zip(chosen, records, strict=True):
            if record.status == "success":
                place = next((p for p in self.result.places if p["id"].endswith(name)), None)
                line = place_line(place, language) if place else record.text
                lines[searches[name]].append(str(line))
        return lines

    def _measure(self, before: int, searches: Mapping[str, ToolCall]) -> None:
        """Note how far each place is from where it was searched around, if that has a name."""
        for place in self.result.places[before:]:
            call = searches.get(_own_id(place))
            around = str(call["args"].get("location") or "").strip(" []^") if call else ""
            centre_place = next((p for p in self.result.places if p["source"] == around), None)
            centre = _position(centre_place) if centre_place else parse_lnglat(around)
            if centre and (name := centre_place["name"] if centre_place else self._name_of(centre)):
                place["distance_m"] = round(distance_m(centre, _position(place)))
                place["distance_from"] = name

    def _name_of(self, position: tuple[float, float]) -> str:
        """Return the words that located a position, or the name of the place that is there."""
        for around, name in self.result.names.items():
            point = parse_lnglat(around)
            if point and distance_m(point, position) < _SAME_SPOT_M:
                return name
        near = {distance_m(_position(p), position): p["name"] for p in self.result.places}
        return near[min(near)] if near and min(near) < _BESIDE_M else ""


def _own_id(place: Place) -> str:
    """Return the map's own id of a place."""
    return place["id"].partition(":")[2]


def _position(place: Place) -> tuple[float, float]:
    return place["location"]["lng"], place["location"]["lat"]
