"""The map's turn: calling the map's tools step by step, and writing up its records."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from agent.evidence.intent import map_task_by_rules
from agent.evidence.markers import ID
from agent.evidence.types import MapTask
from agent.language import Language

from .brain import Answer, FunctionCall, ToolResult, Turn
from .rules_text import Record, block, language_of, records

_POINT = re.compile(r"-?\d{1,3}\.\d+,-?\d{1,2}\.\d+")
_ROUTE_TOOLS = {
    "walking": "maps_direction_walking",
    "driving": "maps_direction_driving",
    "bicycling": "maps_bicycling",
    "transit": "maps_direction_transit_integrated",
}
_NUMBER = re.compile(r"^(?:★?\d+(?:\.\d+)?|[¥￥]\s?\d+(?:\.\d+)?)$")
_MARK = re.compile(rf"(?:\[\^)?({ID})\]?")
_DETAILS = 2


@dataclass(frozen=True)
class _Loop:
    """What the tools have said so far."""

    task: MapTask
    query: str
    tools: frozenset[str]
    results: tuple[ToolResult, ...]

    def texts(self, name: str) -> list[str]:
        return [result.text for result in self.results if result.name == name]

    def call(self, name: str, **args: str | None) -> FunctionCall | None:
        """The call, if that tool is bound and was not called before."""
        if name not in self.tools or self.texts(name):
            return None
        return FunctionCall(name, {key: value for key, value in args.items() if value})


def amap_research(turn: Turn) -> Answer:
    """The listed records in a few sentences; where none are listed, first the tools."""
    language = language_of(turn)
    listed = _listed(turn.user)
    if not any(listed):
        if calls := _next_calls(turn):
            return Answer(calls=calls)
        listed = _listed("\n".join(result.text for result in turn.tool_results))
        if not any(listed):
            listed = (_found_by_tools(turn.tool_results), [], [])
    return Answer(text=_written(listed, language) or _nothing(turn, language))


def _listed(text: str) -> tuple[list[Record], list[Record], list[Record]]:
    return records(text, "places"), records(text, "routes"), records(text, "weather")


def _next_calls(turn: Turn) -> tuple[FunctionCall, ...]:
    """The next step of the loop: find the place, look around it, look the first ones up."""
    query = block(turn.user, "query").strip()
    task = map_task_by_rules(query) or MapTask(intent="poi", place=query)
    loop = _Loop(task, query, frozenset(tool.name for tool in turn.tools), turn.tool_results)
    step = {
        "route": _route_step,
        "distance": _route_step,
        "weather": _weather_step,
        "regeo": _regeo_step,
    }.get(task["intent"], _place_step)
    return tuple(call for call in step(loop) if call)


def _place_step(loop: _Loop) -> list[FunctionCall | None]:
    task, city = loop.task, loop.task.get("city")
    word = (task.get("keywords") or [""])[0]
    if task["intent"] == "nearby":
        if call := loop.call("maps_geo", address=task.get("place"), city=city):
            return [call]
        if at := _first_point(loop.texts("maps_geo")):
            radius = str(task.get("radius_m", 2000))
            call = loop.call("maps_around_search", location=at, keywords=word, radius=radius)
            if call:
                return [call]
    elif call := loop.call(
        "maps_text_search", keywords=word or task.get("place") or loop.query, city=city
    ):
        return [call]
    return _detail_step(loop)


def _detail_step(loop: _Loop) -> list[FunctionCall | None]:
    found = loop.texts("maps_around_search") + loop.texts("maps_text_search")
    ids = [str(poi["id"]) for poi in places_listed(found) if poi.get("id")][:_DETAILS]
    return [loop.call("maps_search_detail", id=name) for name in ids]


def _route_step(loop: _Loop) -> list[FunctionCall | None]:
    task, ends = loop.task, (loop.task.get("origin"), loop.task.get("destination"))
    if not all(ends):
        return []
    if not loop.texts("maps_geo"):
        return [loop.call("maps_geo", address=end, city=task.get("city")) for end in ends]
    points = [_first_point([text]) for text in loop.texts("maps_geo")]
    if len(points) < 2 or not all(points):
        return []
    if task["intent"] == "distance":
        return [loop.call("maps_distance", origins=points[0], destination=points[1])]
    mode = task.get("mode") or "driving"
    city = task.get("city") if mode == "transit" else None
    tool = _ROUTE_TOOLS[mode]
    return [loop.call(tool, origin=points[0], destination=points[1], city=city, cityd=city)]


def _weather_step(loop: _Loop) -> list[FunctionCall | None]:
    city = loop.task.get("city") or loop.task.get("place")
    return [loop.call("maps_weather", city=city)] if city else []


def _regeo_step(loop: _Loop) -> list[FunctionCall | None]:
    at = _POINT.search((loop.task.get("place") or loop.query).replace(" ", ""))
    return [loop.call("maps_regeocode", location=at[0])] if at else []


def _first_point(texts: list[str]) -> str | None:
    found = next(filter(None, map(_POINT.search, texts)), None)
    return found[0] if found else None


def places_listed(texts: list[str]) -> Iterator[dict[str, Any]]:
    """Whatever has a name in the results, at any depth."""
    for text in texts:
        try:
            found = json.loads(text)
        except ValueError:
            continue
        yield from _named(found)


def _named(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        if value.get("name"):
            yield value
        for inner in value.values():
            yield from _named(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _named(inner)


def _found_by_tools(results: tuple[ToolResult, ...]) -> list[Record]:
    """The places in tool results that may be cited: marked lines, or objects that hold an id."""
    texts = [result.text for result in results]
    found = records("<found>\n" + "\n".join(texts) + "\n</found>", "found")
    for poi in places_listed(texts):
        marks = [_MARK.fullmatch(value) for value in poi.values() if isinstance(value, str)]
        if mark := next(filter(None, marks), None):
            facts = [poi.get(key) for key in ("type", "open_time", "address")]
            fields = (str(poi["name"]), *(fact for fact in facts if fact and isinstance(fact, str)))
            found.append(Record(mark[1], fields))
    return list({record.id: record for record in found}.values())


def _written(listed: tuple[list[Record], list[Record], list[Record]], language: Language) -> str:
    places, routes, weather = listed
    parts = [_place_sentences(places, language)]
    zh = language == "zh"
    for record in [*routes[:3], *weather[:4]]:
        parts.append(f"{'，'.join(record.fields) if zh else ', '.join(record.fields)}"
                     f"{'。' if zh else '.'}{record.mark}")  # fmt: skip
    return "\n".join(part for part in parts if part)


def _place_sentences(places: list[Record], language: Language) -> str:
    best = sorted(places, key=lambda place: -_rating(place))[:3]
    said = [_one_place(place, language) for place in best]
    if rest := len(places) - len(best):
        said.append(f"地图上另有 {rest} 处。" if language == "zh" else f" The map has {rest} more.")
    return "".join(said).strip()


def _one_place(place: Record, language: Language) -> str:
    facts = list(place.fields[1:])
    if language == "zh":
        tail = f"，{'，'.join(facts)}" if facts else "，地图上有记录"
        return f"{place.name}{tail}。{place.mark}"
    tail = f": {', '.join(facts)}" if facts else " is on the map"
    return f" {place.name}{tail}.{place.mark}"


def _rating(place: Record) -> float:
    """The rating among the fields (`★4.6` or a bare number up to 5), 0 if none."""
    for field in place.fields[1:]:
        if _NUMBER.match(field) and field[0] not in "¥￥":
            value = float(field.lstrip("★"))
            if value <= 5:
                return value
    return 0.0


def _nothing(turn: Turn, language: Language) -> str:
    query = block(turn.user, "query").strip()
    if language == "zh":
        return f"示例数据的地图里没有与“{query}”相关的记录。"
    return f"The sample data of the map has no record for “{query}”."
