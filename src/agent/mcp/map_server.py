"""Describe a map server to the rest of the map: an entry of the table in `servers.py`.

Its limits are here, too: pace, place searches a day, pauses that it imposed.
"""

import asyncio
import contextlib
import functools
import json
import logging
import math
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from agent.core.concurrency import SlidingWindow
from agent.core.errors import (
    MalformedReply,
    ProviderError,
    ProviderRefused,
    RateLimited,
)
from agent.core.outside import parse_json
from agent.core.private_files import private_database
from agent.core.shared_limits import SharedLimits
from agent.evidence.types import Crs, Leg, Location, MapIntent, MapTask, WayWish
from agent.mcp.new_records import NamedStop
from agent.mcp.prefetch import Prefetch
from agent.mcp.records import (
    BranchCalls,
    MapRecords,
    Presentation,
)

if TYPE_CHECKING:
    from mcp.types import Tool

log = logging.getLogger(__name__)

_BURST = 3
_KEY_PAUSE = 60.0
_SEARCHES_TABLE = (
    "CREATE TABLE IF NOT EXISTS map_searches (day TEXT PRIMARY KEY, count INTEGER NOT NULL)"
)
_ADD_SEARCH = """INSERT INTO map_searches VALUES (?, 1)
ON CONFLICT (day) DO UPDATE SET count = count + 1 RETURNING count"""


@dataclass(frozen=True)
class DailyQuota:
    """Describe the calls that a service counts together, day by day."""

    provider: str
    tools: frozenset[str]
    setting: str
    """The variable of our own limit."""
    zone: tzinfo
    zone_name: str

    def spent(self, reason: str, now: datetime) -> RateLimited:
        """Return the error of a spent day, which says when the next begins."""
        local = now.astimezone(self.zone)
        midnight = (local + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
        return RateLimited(
            self.provider,
            f"{reason}; the count starts again at {midnight:%Y-%m-%d %H:%M} ({self.zone_name})",
            retry_after=(midnight - local).total_seconds(),
            code="map_quota_day",
        )


def window_pace(rate: float, clock: Callable[[], float] = time.monotonic) -> SlidingWindow:
    """Return the pace of a service that counts its calls in any one second; `rate` a second."""
    burst = max(1, min(_BURST, math.ceil(rate)))
    return SlidingWindow(burst, burst / rate, clock)


class DailySearches:
    """Count the calls of a quota's day, in a file that processes share, or in memory.

    `shared` counts those of other machines, too; while it is away the file has those of this one.
    """

    def __init__(
        self,
        limit: int,
        quota: DailyQuota | None,
        *,
        file: Path | None = None,
        shared: SharedLimits | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._shared = shared
        self.limit, self._quota, self._file, self._now = limit, quota, file, now
        self._memory: tuple[str, int] = ("", 0)
        self._lock = threading.Lock()

    async def spend(self, tool: str) -> None:
        """Count a call; raise RateLimited (`map_quota_day`) when the day is spent."""
        quota = self._quota
        if not self.limit or quota is None or tool not in quota.tools:
            return
        day = self._now().astimezone(quota.zone).date().isoformat()
        count = await asyncio.to_thread(self._add, day)
        if self._shared:
            count = max(count, await self._shared.count(f"{quota.provider}:{day}") or 0)
        if count > self.limit:
            reason = f"{quota.setting} = {self.limit} place searches are used up"
            raise quota.spent(reason, self._now())

    def _add(self, day: str) -> int:
        with self._lock:
            if self._file is None:
                last, count = self._memory
                self._memory = (day, count + 1 if last == day else 1)
                return self._memory[1]
            private_database(self._file)
            with contextlib.closing(sqlite3.connect(self._file, timeout=10)) as base, base:
                base.execute(_SEARCHES_TABLE)
                return int(base.execute(_ADD_SEARCH, (day,)).fetchone()[0])


class Pauses:
    """Remember the pauses a service asked for, so that nobody calls before they are over."""

    def __init__(
        self, quota: DailyQuota | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._quota, self._clock = quota, clock
        self._until: dict[str, tuple[float, ProviderError]] = {}

    def check(self, tool: str) -> None:
        """Raise the error that began a pause which is not over."""
        for family in ("all", self._family(tool)):
            until, error = self._until.get(family, (0.0, None))
            if error is not None and self._clock() < until:
                raise error.with_traceback(None)

    def note(self, tool: str, error: ProviderError) -> None:
        """Begin a pause if the error asks for one."""
        if isinstance(error, RateLimited) and error.retry_after:
            family = self._family(tool) if error.code == "map_quota_day" else "all"
            self._until[family] = (self._clock() + error.retry_after, error)
        elif error.code == "map_key_invalid":
            self._until["all"] = (self._clock() + _KEY_PAUSE, error)

    def _family(self, tool: str) -> str:
        """Return one name for all tools that are counted together."""
        return "search" if self._quota and tool in self._quota.tools else tool


@dataclass(frozen=True)
class ServerCommand:
    """Describe a process to start; `env` is all it gets."""

    command: str
    args: tuple[str, ...]
    env: Mapping[str, str]
    cwd: str | None = None

    def __repr__(self) -> str:
        """Return the command without the environment, which holds the key."""
        return f"ServerCommand({' '.join((self.command, *self.args))})"


@dataclass(frozen=True)
class ServerAddress:
    """Describe a server that others run, by streamable HTTP; the headers may hold a key."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        """Return the address without what follows its path, which may hold a key."""
        return f"ServerAddress({self.url.partition('?')[0]})"


@dataclass(frozen=True)
class Catalogue:
    """Hold the tools a server is expected to have, with our own copy of their descriptions."""

    tools: tuple[dict[str, Any], ...]
    """Name, description and input schema of each."""

    @classmethod
    def from_file(cls, path: Path) -> "Catalogue":
        """Read a JSON list of tools."""
        return cls(tuple(json.loads(path.read_text("utf-8"))))

    @functools.cached_property
    def names(self) -> frozenset[str]:
        """Return the names of the tools."""
        return frozenset(tool["name"] for tool in self.tools)

    def arguments(self, tool: str) -> tuple[frozenset[str], frozenset[str]]:
        """Return the arguments a tool has, and those it requires; none of an unknown tool."""
        schemas = [entry["inputSchema"] for entry in self.tools if entry["name"] == tool]
        properties = (name for schema in schemas for name in schema.get("properties", ()))
        required = (name for schema in schemas for name in schema.get("required", ()))
        return frozenset(properties), frozenset(required)

    def cleaned(self, provider: str, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments that a tool has; raise ProviderRefused where one lacks."""
        allowed, required = self.arguments(tool)
        cleaned = {k: v for k, v in arguments.items() if k in allowed and v not in (None, "")}
        problem = "" if tool in self.names else f"there is no tool {tool}"
        if missing := sorted(required - cleaned.keys()):
            problem = f"{tool} needs {', '.join(missing)}"
        if problem:
            raise ProviderRefused(provider, problem, code="map_bad_request")
        return cleaned

    def own_copies(self, listed: "Sequence[Tool]") -> "list[Tool]":
        """Return the expected tools that the server lists, as they stand here."""
        names = {tool.name for tool in listed}
        return [tool for tool in self.own_tools() if tool.name in names]

    def own_tools(self) -> "list[Tool]":
        """Return the expected tools as they stand here, without the form of their replies."""
        from mcp.types import Tool

        bare = ({k: v for k, v in tool.items() if k != "outputSchema"} for tool in self.tools)
        return [Tool(**tool) for tool in bare]

    def problem(self, listed: "Sequence[Tool]") -> str | None:
        """Return what lacks of the expected tools in one line; None if nothing does.

        Further tools are offered to nobody and further arguments are not sent: they are no matter.
        """
        schemas = {tool.name: tool.inputSchema for tool in listed}
        differences = {
            "missing": sorted(self.names - schemas.keys()),
            "changed": sorted(
                tool["name"]
                for tool in self.tools
                if not takes(schemas.get(tool["name"], tool["inputSchema"]), tool["inputSchema"])
            ),
        }
        parts = [f"{kind} {', '.join(names)[:200]}" for kind, names in differences.items() if names]
        if not parts:
            return None
        return f"the map server's tools are not the expected ones: {'; '.join(parts)}"


def takes(schema: Mapping[str, Any], expected: Mapping[str, Any]) -> bool:
    """Return whether a tool takes the arguments that we send; descriptions do not count."""
    has, sent = schema.get("properties") or {}, expected.get("properties") or {}
    types = all(n in has and has[n].get("type") == each.get("type") for n, each in sent.items())
    required, ours = (set(each.get("required") or ()) for each in (schema, expected))
    return types and required <= ours


def expected_tool(name: str, what: str, needed: Iterable[str], **properties: Any) -> dict[str, Any]:
    """Return a tool for a catalogue: what it is for, and the schemas of its arguments."""
    schema = {"type": "object", "properties": properties, "required": [*needed]}
    return {"name": name, "description": what, "inputSchema": schema}


class RecordReader(Protocol):
    """Read one server's replies; made for each branch, with its records."""

    def read(self, tool: str, arguments: Mapping[str, Any], reply: dict[str, Any]) -> str:
        """Enter the records of a model's call; return the reply as the model reads it."""
        ...


class Ways(Protocol):
    """Measure ways between places; what cannot be measured is missing."""

    async def from_one(
        self, start: Location, points: Sequence[Location], call: BranchCalls
    ) -> dict[int, Leg]:
        """Return the ways on foot from one point to others, by their indices."""
        ...

    async def on_foot(
        self, points: Sequence[Location], call: BranchCalls
    ) -> dict[tuple[int, int], Leg]:
        """Return the ways between points by their indices."""
        ...

    async def by_transit(
        self, start: Location, end: Location, city: str, call: BranchCalls
    ) -> Leg | None:
        """Return the way by bus and train within a city."""
        ...

    def link(self, stops: Sequence[NamedStop]) -> str:
        """Return the address of a map of all stops in their order."""
        ...


LARGEST = 1 << 20
"""Characters of one reply."""


def json_object(text: str, provider: str) -> dict[str, Any]:
    """Return the object, or raise MalformedReply (`map_malformed`, `map_too_large`)."""
    if len(text) > LARGEST:
        problem = f"a reply of {len(text)} characters is too large"
        raise MalformedReply(provider, problem, code="map_too_large")
    try:
        reply = parse_json(text)
    except ValueError:
        reply = None
    if not isinstance(reply, dict):
        raise MalformedReply(provider, "the reply is no JSON object", code="map_malformed")
    return reply


def behind_preface(text: str) -> str:
    """Return a reply from the first line on that begins an object."""
    return text if text.startswith("{") else text[text.find("\n{") + 1 :]


def _failed(provider: str, text: str) -> ProviderError:
    return ProviderRefused(provider, text[:300] or "failed without a word", code="map_failed")


@dataclass(frozen=True)
class MapServer:
    """Describe one map server: how it is started or reached, its tools, the reader of its replies.

    The defaults do for a server without peculiarities: arguments by the catalogue, errors as they
    are, no prefetch, no quota, every tool for every question.
    """

    presentation: Presentation
    command: Callable[[], ServerCommand | ServerAddress]
    """Return the process to start, or the address to reach; may install first, so it blocks."""
    catalogue: Catalogue
    reader: Callable[[MapRecords], RecordReader]
    read_object: Callable[[str], str] = str
    """Return the JSON in a reply of text: `behind_preface` where words stand before it."""
    read_error: Callable[[str, str], ProviderError] | None = None
    """Return the error for (tool, text) of a failed call."""
    clean_reply: Callable[[dict[str, Any]], dict[str, Any]] = dict
    clean_arguments: Callable[[str, Mapping[str, Any]], dict[str, Any]] | None = None
    cache_key: Callable[[str, Mapping[str, Any]], str] | None = None
    cache_seconds: Mapping[str, float] = field(default_factory=dict)
    """Seconds that a tool's replies hold; ten minutes where a tool is missing."""
    tools_by_intent: Mapping[MapIntent | None, Sequence[str]] = field(default_factory=dict)
    """Tools a model may call, None for any other intent; all where nothing is named."""
    prefetch: Callable[[MapTask, str, MapRecords, BranchCalls], Prefetch] = Prefetch
    ways: Ways | None = None
    """None where the ways of an outing are only estimated."""
    key_variable: str = ""
    """The variable of its key: a server that names it when it starts misses the key."""
    missing: str = ""
    """The variable without which it cannot be asked, where that is not set."""
    own: bool = False
    """Its program is ours, so that its tools are known before it starts."""
    crs: Crs = "WGS-84"
    """The datum of its positions."""
    covers: frozenset[str] | None = None
    """Codes of the countries that it knows; None is the whole world."""
    leaves_out: frozenset[str] = frozenset()
    """Codes of countries about which it is not asked, whatever it covers."""
    heeds: frozenset[WayWish] = frozenset()
    """What its ways can take into account."""
    probe: MapTask = field(default_factory=lambda: MapTask(intent="regeo"))
    """What is asked to see whether it works and takes its key."""
    is_second_voice: bool = False
    """What another map tells of places is held against what this one knows of them."""
    qps: float = 2.5
    """Calls a second; of each service where `service_of` names several."""
    service_of: Mapping[str, str] = field(default_factory=dict)
    """The service that answers a tool, where a server stands before several."""
    quota: DailyQuota | None = None
    daily_limit: int = 0
    """Our own limit of the quota's calls; 0 leaves it to the service."""

    @property
    def provider(self) -> str:
        """Return the name in errors, gaps, ids of records and keys of requests."""
        return self.presentation.provider

    def error(self, tool: str, text: str) -> ProviderError:
        """Return the error that the text of a failed call stands for."""
        return self.read_error(tool, text) if self.read_error else _failed(self.provider, text)

    def parse(self, text: str) -> dict[str, Any]:
        """Return a reply, or raise MalformedReply (`map_malformed`, `map_too_large`)."""
        return self.clean_reply(json_object(self.read_object(text), self.provider))

    def arguments(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments as the tool takes them, or raise ProviderRefused."""
        if self.clean_arguments:
            return self.clean_arguments(tool, arguments)
        return self.catalogue.cleaned(self.provider, tool, arguments)

    def key(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """Return a text that is equal for calls whose replies are equal."""
        if self.cache_key:
            return self.cache_key(tool, arguments)
        return f"{tool}?{json.dumps(arguments, ensure_ascii=False, sort_keys=True)}"

    def offered(self, intent: MapIntent | None) -> Sequence[str]:
        """Return the names of the tools that fit an intent."""
        everything = self.tools_by_intent.get(None, tuple(self.catalogue.names))
        return self.tools_by_intent.get(intent, everything)
