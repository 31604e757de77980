"""What `use_tools` is given: a turn, and stand-ins for its services."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from langchain_core.messages import ToolCall, ToolMessage
from langchain_core.tools import BaseTool, tool

from agent.assistants.common.services import Services
from agent.core.budget import Meter
from agent.core.concurrency import Lazy
from agent.core.errors import ProviderUnavailable
from agent.evidence.types import Source, Weather
from agent.mcp.records import MapOptions, MapResult
from agent.sandbox.programs import CodeResult
from agent.state import Turn


def turn(question: str = "青岚大桥是哪一年通车的？", language: Any = "zh") -> Turn:
    return Turn(
        id="turn-1",
        question=question,
        language=language,
        today="2026-11-21",
        started_at=0.0,
        count=3,
        loops=2,
        reasoning_model=None,
        near=None,
    )


def call(name: str, number: int = 0, /, **arguments: Any) -> ToolCall:
    return ToolCall(name=name, args=arguments, id=f"call-{number}", type="tool_call")


def answers(state: dict[str, Any]) -> list[ToolMessage]:
    """The answers to the last message's calls, in order."""
    return [message for message in state["pending"] if isinstance(message, ToolMessage)]


def texts(state: dict[str, Any]) -> list[str]:
    return [str(message.text) for message in answers(state)]


@dataclass
class Runner:
    """A code runner that says what it is told to; stands for the process's."""

    respond: Callable[[str], CodeResult] = lambda code: CodeResult(f"ran {code}\n")
    name: str = "scripted"
    ran: list[str] = field(default_factory=list)

    async def run(self, code: str) -> CodeResult:
        self.ran.append(code)
        return self.respond(code)

    async def runner(self) -> "Runner | None":
        return self

    async def aclose(self) -> None:
        """Nothing is open."""


def with_runner(services: Services, runner: Any) -> Services:
    return replace(services, code=Lazy(lambda: runner))


@tool
def maps_weather(city: str) -> str:
    """The weather of a city."""
    return city


@dataclass
class ScriptedMaps:
    """A map that knows the weather of every city, or cannot be had."""

    down: str = ""
    asked: list[ToolCall] = field(default_factory=list)

    async def tools(
        self, map_result: MapResult, query: str, *, options: MapOptions, meter: Meter, on_call: Any
    ) -> "_Tools":
        if self.down:
            raise ProviderUnavailable("amap", "the map cannot be had", code=self.down)
        return _Tools(self, map_result, options, on_call)

    async def aclose(self) -> None:
        """Nothing is open."""


@dataclass
class _Tools:
    maps: ScriptedMaps
    map_result: MapResult
    options: MapOptions
    on_call: Any
    tools: list[BaseTool] = field(default_factory=lambda: [maps_weather])

    async def call(self, call: ToolCall) -> ToolMessage:
        self.maps.asked.append(call)
        city, name = call["args"]["city"], f"{self.options.prefix}-0"
        self.on_call(f"maps_weather {city}")
        url = f"https://amap.example/{city}"
        source = Source(
            id=name, kind="place", title=f"{city}天气", url=url, provider="高德地图", quotes=["晴"]
        )
        self.map_result.sources.append(source)
        when = "2026-11-21T00:00:00Z"
        self.map_result.weather.append(
            Weather(id=f"w-{city}", city=city, days=[], source=name, fetched_at=when)
        )
        return ToolMessage(f"[^{name}] {city} 晴", tool_call_id=call["id"] or "", name=call["name"])
