"""`use_tools` by itself: messages of a speaker in, its answers and the state out."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from langchain_core.messages import AIMessage, ToolCall, ToolMessage
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph

from agent.assistants.common.services import Services
from agent.assistants.team_answer.state import TeamConfiguration, TeamState
from agent.assistants.team_answer.use_tools import use_tools
from agent.core.budget import Meter
from agent.core.concurrency import Lazy
from agent.core.errors import ProviderUnavailable
from agent.evidence.types import Source, Weather
from agent.mcp.records import MapOptions, MapResult
from agent.sandbox.programs import CodeResult
from agent.state import Turn, inner


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


@dataclass
class Steps:
    """One discussion's tool steps, one after another on a thread."""

    services: Services
    context: dict[str, Any] = field(default_factory=dict)
    given: dict[str, Any] = field(default_factory=dict)
    """What the state holds before the first step."""
    saver: InMemorySaver = field(default_factory=InMemorySaver)
    events: list[dict[str, Any]] = field(default_factory=list)
    begun: bool = False

    async def do(self, *calls: ToolCall, message: AIMessage | None = None) -> dict[str, Any]:
        """The state after a step that answers these calls."""
        said = message or AIMessage("", tool_calls=list(calls))
        first = {} if self.begun else {"turn": turn(), "speaker": "researcher", **self.given}
        self.begun = True
        return await self.run({**first, "pending": inner(deque([said]))})

    async def run(self, given: Any) -> dict[str, Any]:
        """The same for any input; None goes on after a failure."""
        now = self.services.now().timestamp()
        if given and "turn" in given:
            given["turn"]["started_at"] = now

        async def step(state: TeamState, runtime: Any) -> Any:
            return await use_tools(state, runtime, get_services=lambda: self.services)

        graph = StateGraph(TeamState, context_schema=TeamConfiguration)
        graph.add_node("use_tools", step)
        graph.add_edge(START, "use_tools")
        graph.add_edge("use_tools", END)
        compiled: Any = graph.compile(checkpointer=self.saver)
        context = TeamConfiguration(**{"geo_routing": "never", **self.context})
        where = {"configurable": {"thread_id": "t"}}
        async for told in compiled.astream(given, where, context=context, stream_mode="custom"):
            self.events.append(told)
        return dict((await compiled.aget_state(where)).values)

    def told(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["type"] == kind]


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
