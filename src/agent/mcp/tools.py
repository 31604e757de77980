"""The server's tools for a model: through the gateway, on the branch's account, into its ledger."""

import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any, cast

from langchain_core.messages import ToolCall, ToolMessage
from langchain_core.tools import BaseTool
from langchain_mcp_adapters.tools import load_mcp_tools
from mcp import ClientSession
from mcp.types import CallToolResult, ListToolsResult, TextContent, Tool

from agent.core.errors import AgentError, BudgetExceeded, ProviderError
from agent.core.redaction import scrub
from agent.evidence.types import MapIntent, Place, Route, TravelMode, Weather
from agent.mcp.errors import POINTLESS_TO_GO_ON, map_gap, map_message
from agent.mcp.prefetch import ROUTE_TOOLS
from agent.mcp.records import Ledger, records, text_or_none
from agent.mcp.servers import expected_tools
from agent.mcp.session import SupervisedSession

MOST_PLACES = 20
MOST_STEPS = 12
LONGEST = 4000
_DROPPED = frozenset({"photos", "typecode", "polyline", "suggestion", "via_stops"})
_LIMITS = {"pois": MOST_PLACES, "steps": MOST_STEPS, "transits": 2, "paths": 1, "segments": 12}


def compacted(lines: Sequence[str], reply: dict[str, Any]) -> str:
    """The ledger's lines first; the rest of the reply as JSON where there are none.

    At most 4,000 characters, cut where an item of the longest list ends.
    """
    head = "\n".join(lines)
    if head and not _has_steps(reply):
        return head[:LONGEST]
    body = _fitting(_thinned(reply), LONGEST - len(head) - 1)
    return f"{head}\n{body}".strip()


def _has_steps(reply: dict[str, Any]) -> bool:
    return bool({"route", "data"} & reply.keys())


def _thinned(value: Any, name: str = "") -> Any:
    if isinstance(value, dict):
        kept = {k: _thinned(v, k) for k, v in value.items() if k not in _DROPPED}
        return {k: v for k, v in kept.items() if v not in (None, [], {})}
    if isinstance(value, list):
        return [_thinned(item) for item in value[: _LIMITS.get(name, MOST_PLACES)]]
    return value[:LONGEST] if isinstance(value, str) else value


def _fitting(value: Any, room: int) -> str:
    while True:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        if len(text) <= room:
            return text
        longest = max(_lists(value), key=len, default=[])
        if not longest:
            return text[: max(room, 0)]
        longest.pop()


def _lists(value: Any) -> list[list[Any]]:
    if isinstance(value, dict):
        return [found for inner in value.values() for found in _lists(inner)]
    if isinstance(value, list):
        return [value, *(found for inner in value for found in _lists(inner))]
    return []


log = logging.getLogger(__name__)
_PLACES = ("maps_geo", "maps_text_search", "maps_around_search", "maps_search_detail")
_WAYS = ("maps_geo", "maps_text_search", *ROUTE_TOOLS.values(), "maps_distance")
OFFERED: dict[MapIntent | None, tuple[str, ...]] = {
    "nearby": (*_PLACES, "maps_distance"),
    "area": (*_PLACES, "maps_distance"),
    "poi": (*_PLACES, "maps_distance"),
    "route": _WAYS,
    "distance": _WAYS,
    "weather": ("maps_weather", "maps_geo"),
    "regeo": ("maps_regeocode", "maps_around_search", "maps_search_detail"),
    None: (*_PLACES, *_WAYS, "maps_weather", "maps_regeocode"),
}
"""What a model may call for an intent; never everything, and never the lookup of addresses."""
_MODES: dict[str, TravelMode] = {tool: mode for mode, tool in ROUTE_TOOLS.items()}
_TELLING = ("address", "keywords", "id", "city", "location", "origins", "origin", "ip")
_KINDS: dict[str, TravelMode] = {"1": "driving", "3": "walking"}

Ask = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]


def asked_about(asked: Mapping[str, Any]) -> str:
    """The argument that says best what a call is about."""
    return next((str(asked[name]) for name in _TELLING if asked.get(name)), "")


async def load_amap_mcp_tools(session: Any) -> list[BaseTool]:
    """Return the server's tools, bound to a session that outlives this call.

    A model reads our own copy of their descriptions: what the server says of itself may have
    changed since we looked.
    """
    return await load_mcp_tools(cast(ClientSession, _AsPinned(session)))


class _AsPinned:
    """A session that lists the tools of our catalogue that the server has, as they stand there."""

    def __init__(self, session: Any) -> None:
        self._session = session

    async def list_tools(self, cursor: str | None = None) -> ListToolsResult:
        listed = await self._session.list_tools(cursor=cursor)
        names = {tool.name for tool in listed.tools}
        pinned = [Tool(**tool) for tool in expected_tools() if tool["name"] in names]
        return ListToolsResult(tools=pinned, nextCursor=listed.nextCursor)

    async def call_tool(self, *args: Any, **options: Any) -> CallToolResult:
        result: CallToolResult = await self._session.call_tool(*args, **options)
        return result


class BranchSession:
    """Looks like a session to `load_mcp_tools`; every call goes through the branch's gateway."""

    def __init__(self, session: SupervisedSession, ledger: Ledger, query: str, ask: Ask) -> None:
        self._session, self._ledger, self._query, self._ask = session, ledger, query, ask
        self._names: dict[str, str] = {}
        for place in ledger.survey.places:
            self._named(_text(place["location"]), place["name"])

    async def list_tools(self, cursor: str | None = None) -> ListToolsResult:
        return await self._session.list_tools(cursor=cursor)

    async def call_tool(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,
        read_timeout_seconds: timedelta | None = None,
        progress_callback: Any = None,
    ) -> CallToolResult:
        """Failures are results that say so: a model can do something else, a run goes on."""
        asked = arguments or {}
        try:
            reply = await self._ask(name, asked)
            lines = self._entered(name, asked, reply)
        except (ProviderError, BudgetExceeded) as error:
            return _result(self._failed(error, asked), is_error=True)
        return _result(compacted(lines, reply))

    def _failed(self, error: AgentError, asked: Mapping[str, Any]) -> str:
        """What the model reads; only what ends the map for this run is the user's concern."""
        survey, language = self._ledger.survey, self._ledger.options.language
        if error.code in POINTLESS_TO_GO_ON:
            survey.open_for_tools = False
            if error.code not in {gap["code"] for gap in survey.gaps}:
                survey.gaps.append(map_gap(error, self._query, language))
        if error.code in ("map_bad_request", "map_failed"):
            return str(error)
        return map_message(error, language, asked_about(asked) or self._query)

    def _entered(self, tool: str, asked: Mapping[str, Any], reply: dict[str, Any]) -> list[str]:
        """The lines of the records this reply adds to the ledger."""
        if tool == "maps_search_detail":
            name = text_or_none(reply.get("name")) or ""
            self._named(str(reply.get("location")), name)
            place = self._ledger.add_place(reply)
            if place is None:
                return [f"{name}: outside what was asked for, or without a position; do not use it"]
            return [place_line(place)]
        if tool == "maps_geo":
            for found in records(reply, "return")[:1]:
                self._named(str(found.get("location")), str(asked.get("address")))
        if tool == "maps_weather" and (weather := self._ledger.add_weather(reply)):
            return weather_lines(weather)
        if (tool in _MODES or tool == "maps_distance") and (route := self._way(tool, asked, reply)):
            return [route_line(route)]
        return []

    def _way(self, tool: str, asked: Mapping[str, Any], reply: dict[str, Any]) -> Route | None:
        origin = str(asked.get("origins" if tool == "maps_distance" else "origin"))
        destination = str(asked.get("destination"))
        if "|" in origin:
            return None
        mode = _MODES.get(tool) or _KINDS.get(str(asked.get("type") or "1"))
        if mode is None:
            return None
        names = (self._name_of(origin), self._name_of(destination))
        ends = (origin.replace(" ", ""), destination.replace(" ", ""))
        return self._ledger.add_route(tool, reply, mode=mode, ends=ends, names=names)

    def _named(self, position: str, name: str) -> None:
        if name:
            self._names[position] = name

    def _name_of(self, position: str) -> str:
        return self._names.get(position.replace(" ", ""), position)


class AmapTools:
    """The server's tools for one branch; their results enter its survey."""

    def __init__(self, tools: list[BaseTool]) -> None:
        self.tools = tools

    async def call(self, call: ToolCall) -> ToolMessage:
        """Run one call of a model; failures are messages with status "error"."""
        tool = next((tool for tool in self.tools if tool.name == call["name"]), None)
        if tool is None:
            names = ", ".join(tool.name for tool in self.tools)
            return _message(call, f"no tool {call['name'][:60]}; there are: {names}", "error")
        try:
            answer = await tool.ainvoke({**call, "type": "tool_call"})
        except Exception as error:  # noqa: BLE001 - a failed tool must not end the run
            log.warning("map tool %s failed: %s", call["name"], scrub(str(error)))
            return _message(call, scrub(f"{type(error).__name__}: {error}")[:500], "error")
        status = getattr(answer, "status", "success")
        return _message(call, _plain(getattr(answer, "content", answer)), status)


async def branch_tools(
    session: SupervisedSession, ledger: Ledger, query: str, ask: Ask
) -> AmapTools:
    """The tools that fit the branch's intent."""
    offered = OFFERED.get(ledger.survey.intent, OFFERED[None])
    loaded = await load_amap_mcp_tools(BranchSession(session, ledger, query, ask))
    return AmapTools([tool for tool in loaded if tool.name in offered])


def place_line(place: Place) -> str:
    """A place with the marker a model cites it by."""
    far = place["distance_m"]
    facts = (
        place["name"],
        place["category"],
        f"{far} m" if far is not None else None,
        f"★{place['rating']:g}" if place["rating"] is not None else None,
        f"¥{place['cost']:g}" if place["cost"] is not None else None,
        place["open_time"],
        place["address"],
    )
    return f"[^{place['source']}] {' | '.join(fact for fact in facts if fact)}"


def route_line(route: Route) -> str:
    ends = f"{route['origin']} → {route['destination']}"
    minutes = f" | {round(route['duration_s'] / 60)} min" if route["duration_s"] else ""
    return f"[^{route['source']}] {route['mode']}: {ends} | {route['distance_m']} m{minutes}"


def weather_lines(weather: Weather) -> list[str]:
    return [
        f"[^{weather['source']}] {weather['city']} {day['date']} | {day['day']}/{day['night']} | "
        f"{day['low_c']}–{day['high_c']} °C"
        for day in weather["days"]
    ]


def _text(location: Mapping[str, Any]) -> str:
    return f"{location['lng']:.6f},{location['lat']:.6f}"


def _result(text: str, *, is_error: bool = False) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text)], isError=is_error)


def _message(call: ToolCall, text: str, status: Any) -> ToolMessage:
    return ToolMessage(
        content=text, tool_call_id=call["id"] or "", name=call["name"], status=status
    )


def _plain(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(
            block["text"] if isinstance(block, dict) and "text" in block else json.dumps(block)
            for block in content
        )
    return str(content)
