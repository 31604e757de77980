"""A whole deployment in one process: the graph over services that talk to loopback stand-ins."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver

from agent.assistants.common.services import Services
from agent.configuration import configure
from agent.graph import CompiledAgent, build_graph
from agent.runs.reply_cache import ReplyCache
from agent.sample.services.loopback import Service
from agent.services import build_services
from agent.settings import read_settings
from tests.support.standin import Recorded
from tests.support.standins import AmapService, GeminiService

ZH = "王府井附近适合遛娃的好去处"
EN = "How do sodium-ion batteries work?"


@dataclass
class Lab:
    """The graph, its services, and what the stand-ins saw."""

    services: Services
    graph: CompiledAgent

    @property
    def gemini(self) -> GeminiService:
        return self._service("gemini")

    @property
    def amap(self) -> AmapService:
        return self._service("amap")

    def _service(self, name: str) -> Any:
        assert self.services.sample
        return self.services.sample.services[name]

    def standin(self, name: str) -> Service:
        service: Service = self._service(name)
        return service

    async def ask(self, question: Any, thread: str = "t", **options: Any) -> dict[str, Any]:
        """The state after a run; options are the input's, `context` the configuration."""
        context = configure(options.pop("context", {}))
        payload = {"messages": question, **options} if question is not None else None
        state: dict[str, Any] = await self.graph.ainvoke(
            payload,  # type: ignore[arg-type]
            {"configurable": {"thread_id": thread}},
            context=context,
        )
        return state


def answer_of(state: dict[str, Any]) -> AIMessage:
    """The message a run ends with."""
    message = state["messages"][-1]
    assert isinstance(message, AIMessage), message
    return message


def told(state: dict[str, Any]) -> dict[str, Any]:
    """What the last message carries besides its text."""
    return answer_of(state).additional_kwargs


def tasks(requests: list[Recorded]) -> list[str]:
    """Which of our prompts each model call was, in order of arrival."""
    found = []
    for request in requests:
        text = str(request.body)
        if "<task>" in text:
            found.append(text.split("<task>", 1)[1].split("</task>", 1)[0])
    return found


@asynccontextmanager
async def laboratory(
    *, reply_cache: ReplyCache | None = None, **settings: Any
) -> AsyncIterator[Lab]:
    """A deployment over the sample; `settings` as in the environment, in lower case."""
    services = build_services(read_settings(**settings), reply_cache=reply_cache)
    try:
        graph = build_graph(lambda: services).compile(InMemorySaver(), name="agent")
        yield Lab(services, graph)
    finally:
        await services.aclose()


def with_clock(services: Services, clock: Any) -> Services:
    """The same services at another time."""
    return replace(services, clock=clock)


def at_noon(lab: Lab, day: str) -> Lab:
    """The same deployment at noon of a day in China; a day to plan begins there and then."""
    services = with_clock(lab.services, lambda: datetime.fromisoformat(f"{day}T04:00:00+00:00"))
    return Lab(services, build_graph(lambda: services).compile(checkpointer=InMemorySaver()))
