"""Offer a map server's tools to a model: through the gateway, into the branch's records."""

import json
import logging
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, cast

from langchain_core.messages import ToolCall, ToolMessage
from langchain_core.tools import BaseTool

from agent.core.errors import AgentError, BudgetExceeded, ProviderError
from agent.core.faults import contained
from agent.core.redaction import scrub
from agent.mcp.prefetch import drop_budget_gaps
from agent.mcp.records import (
    POINTLESS_TO_GO_ON,
    CallTool,
    MapRecords,
    map_gap,
    map_message,
    misread,
    place_line,
)
from agent.mcp.session import SupervisedSession
from agent.texts import say

if TYPE_CHECKING:
    from mcp import ClientSession
    from mcp.types import CallToolResult, ListToolsResult

log = logging.getLogger(__name__)
_NOTHING = ("", "{}")
_DETAIL, _POSITIONS = "maps_search_detail", ("location", "origin", "destination", "origins")
_IDS = ("id", "ids")
"""Arguments that name places by themselves, not where they are."""
_SUBJECTS = (
    "address",
    "query",
    "keywords",
    "kinds",
    "id",
    "city",
    "location",
    "origins",
    "origin",
    "ip",
)


def subject_of(arguments: Mapping[str, Any]) -> str:
    """Return the argument that says best what a call is about."""
    texts = (str(arguments[name]) for name in _SUBJECTS if arguments.get(name))
    return next(texts, next((str(value) for value in arguments.values() if value), ""))


async def load_amap_mcp_tools(session: Any) -> list[BaseTool]:
    """Return the tools of the session's server, bound to a session that outlives this call.

    A model reads our own copy of their descriptions: the server may have changed its own.
    """
    from langchain_mcp_adapters.tools import load_mcp_tools

    return await load_mcp_tools(cast("ClientSession", _PinnedSession(session)))


class _PinnedSession:
    """List the server's tools as they stand in its catalogue."""

    def __init__(self, session: Any) -> None:
        self._session = session

    async def list_tools(self, cursor: str | None = None) -> "ListToolsResult":
        from mcp.types import ListToolsResult

        catalogue = self._session.server.catalogue
        if self._session.server.own:
            return ListToolsResult(tools=catalogue.own_tools())
        listed = await self._session.list_tools(cursor=cursor)
        pinned = catalogue.own_copies(listed.tools)
        return ListToolsResult(tools=pinned, nextCursor=listed.nextCursor)

    async def call_tool(self, *args: Any, **options: Any) -> "CallToolResult":
        result: CallToolResult = await self._session.call_tool(*args, **options)
        return result


class BranchSession:
    """Stand for a session in `load_mcp_tools`; every call goes through the branch's gateway."""

    def __init__(
        self, session: SupervisedSession, records: MapRecords, query: str, call: CallTool
    ) -> None:
        self._session, self._records, self._query, self._call = session, records, query, call
        self.server = session.server
        self._reader = session.server.reader(records)
        self._language = records.options.language

    async def list_tools(self, cursor: str | None = None) -> "ListToolsResult":
        return await self._session.list_tools(cursor=cursor)

    async def call_tool(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,
        read_timeout_seconds: timedelta | None = None,
        progress_callback: Any = None,
    ) -> "CallToolResult":
        """Return failures as results: a model can do something else, a run goes on."""
        known, arguments = self._known(arguments or {})
        if known and not any(arguments.get(name) for name in _IDS):
            return _result("\n".join(known))
        self._records.note_cities(arguments)
        try:
            with contained(self.server.provider, misread):
                await self._look_up([arguments.get(argument) for argument in _POSITIONS])
                arguments = {
                    name: value if name in _IDS else self._records.with_position(value)
                    for name, value in arguments.items()
                }
                reply = await self._call(name, arguments)
                text = self._reader.read(name, arguments, reply)
        except (ProviderError, BudgetExceeded) as error:
            return _result(self._failed(error, arguments), is_error=True)
        text = text if text not in _NOTHING else say("tools.nothing", self._language)
        return _result("\n".join([*known, text]))

    def _known(self, arguments: dict[str, Any]) -> tuple[list[str], dict[str, Any]]:
        """Return the lines of the places that a call names and records have, and what is left."""
        lines, left = list[str](), {**arguments}
        for name in _IDS:
            if isinstance(value := arguments.get(name), str):
                parts = [part for part in value.split("|") if part.strip()]
                places = [self._records.known_place(part) for part in parts]
                lines += [place_line(place, self._language) for place in places if place]
                left[name] = "|".join(p for p, one in zip(parts, places, strict=True) if not one)
        return lines, left

    async def _look_up(self, values: Sequence[Any]) -> None:
        """Enter the places that positions name by the map's own ids, as a list of hits has them."""
        known = _DETAIL in self.server.catalogue.names
        for name in self._records.unknown_ids(values) if known else ():
            asked = {"id": name}
            self._reader.read(_DETAIL, asked, await self._call(_DETAIL, asked))

    def _failed(self, error: AgentError, arguments: Mapping[str, Any]) -> str:
        """Return the model's text; only an error that ends the map for this run is a gap."""
        result, language = self._records.result, self._language
        if error.code in POINTLESS_TO_GO_ON:
            result.open_for_tools = False
            if error.code not in {gap["code"] for gap in result.gaps}:
                provider = self.server.provider
                result.gaps.append(map_gap(error, self._query, language, provider=provider))
                drop_budget_gaps(result)
        if error.code == "budget_max_map_calls":
            return say("tools.map_calls_spent", language)
        if error.code in ("map_bad_request", "map_failed"):
            return str(error)
        return map_message(error, language, subject_of(arguments) or self._query)


class BranchTools:
    """Hold the tools of one branch."""

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
    session: SupervisedSession, records: MapRecords, query: str, call: CallTool
) -> BranchTools:
    """Return the tools that fit the branch's intent."""
    offered = session.server.offered(records.result.intent)
    loaded = await load_amap_mcp_tools(BranchSession(session, records, query, call))
    return BranchTools([tool for tool in loaded if tool.name in offered])


def _result(text: str, *, is_error: bool = False) -> "CallToolResult":
    from mcp.types import CallToolResult, TextContent

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
