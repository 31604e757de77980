"""Where only own documents may be used, no connection leads anywhere but to the model's service."""

import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from typing import Any, cast
from urllib.parse import urlsplit

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from agent.assistants.deep_research.graph import build_graph as deep_graph
from agent.assistants.plan_execute.graph import build_graph as plan_graph
from agent.assistants.team_answer.graph import build_graph as team_graph
from agent.graph import build_graph
from agent.sample.model.request import ModelReply, ModelTurn
from agent.sample.model.text import task_of
from tests.integration.team_lab import Team, team_laboratory
from tests.integration.test_own_documents import NOTES, QUESTION, WRITTEN
from tests.integration.test_question_kept import Spoken
from tests.support.deep_lab import Researcher, deep_laboratory, end, search, think
from tests.support.lab import laboratory
from tests.support.plan_knowledge import MemoryKnowledge, With
from tests.support.plan_lab import Planner, plan_laboratory

pytestmark = pytest.mark.node
FOLLOW_UP = "那么下一次是哪一年？"
PLANS = ("generate_query", "deep_plan", "team_analyze", "plan_tasks")


@pytest.fixture(name="places")
def places_fixture(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The ports of all that is connected to, and the names that are looked up."""
    places = list[Any]()
    connect, look_up = socket.socket.connect, socket.getaddrinfo

    def connected(self: socket.socket, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6):
            places.append(address[1])
        connect(self, address)

    def looked_up(host: Any, port: Any, *args: Any, **kwargs: Any) -> Any:
        places.extend([] if host in ("127.0.0.1", "localhost") else [host])
        return look_up(host, port, *args, **kwargs)

    monkeypatch.setattr(socket.socket, "connect", connected)
    monkeypatch.setattr(socket, "getaddrinfo", looked_up)
    return places


Made = Callable[..., AbstractAsyncContextManager[Any]]


def reading(llm: Any, words: str) -> Any:
    """A model that reads of the first question, in these words of it, that it wants no others."""
    said = [words] if words else []
    answer = llm.respond

    def respond(turn: ModelTurn) -> ModelReply:
        reply: ModelReply = answer(turn)
        if task_of(turn) not in PLANS or not said:
            return reply
        told = said.pop()
        asks = {"own_documents": "only", "only_words": told, "only_own_documents": told}
        return replace(reply, json={**cast(dict[str, Any], reply.json), **asks})

    llm.respond = respond
    return llm


@asynccontextmanager
async def main(words: str = "") -> AsyncIterator[Any]:
    async with laboratory() as lab:
        lab.gemini.llm = reading(Spoken(generate_query=[WRITTEN, WRITTEN]), words)
        yield lab.services, build_graph


@asynccontextmanager
async def deep(words: str = "") -> AsyncIterator[Any]:
    def explore(turn: Any) -> ModelReply:
        # A model that asks for what is outside all the same.
        again = (think("够了"), end([]))
        return ModelReply(calls=again if turn.tool_results else (think(), search("青岚大桥")))

    researcher = reading(Researcher("检修", deep_explore=explore), words)
    async with deep_laboratory(researcher) as lab:
        yield lab.services, deep_graph


@asynccontextmanager
async def team(words: str = "") -> AsyncIterator[Any]:
    async with team_laboratory(reading(Team(), words)) as lab:
        yield lab.services, team_graph


@asynccontextmanager
async def dossier(words: str = "") -> AsyncIterator[Any]:
    async with plan_laboratory(reading(Planner(), words)) as lab:
        yield lab.services, plan_graph


async def ports_asked(
    made: Made, sources: str, places: list[Any], words: str = ""
) -> tuple[set[Any], int]:
    """What a question and its follow-up connected to but the model, and searches and map calls.

    The model's service may search the web itself, and the map's server is a process of its own.
    """
    knowledge = MemoryKnowledge()
    knowledge.put("检修手册", NOTES)
    async with made(words) as (services, graph_of):
        held: Any = With(services, knowledge=lambda: knowledge)
        graph = graph_of(lambda: held).compile(checkpointer=InMemorySaver())
        context = graph.context_schema(sources=sources, geo_routing="always")
        where: Any = {"configurable": {"thread_id": "t"}}
        places.clear()
        spent = 0
        for question in (QUESTION, FOLLOW_UP):
            state = await graph.ainvoke({"messages": question}, where, context=context)
            spent += state["usage"]["searches"] + state["usage"]["map_calls"]
        model = urlsplit(str(services.settings.google_gemini_base_url)).port
    assert model in places
    return set(places) - {model}, spent


ASSISTANTS = pytest.mark.parametrize(
    "made", [main, deep, team, dossier], ids=lambda made: made.__name__
)


@ASSISTANTS
async def test_nothing_is_sent_but_to_the_model(made: Made, places: list[Any]) -> None:
    assert await ports_asked(made, "own", places) == (set(), 0)


@ASSISTANTS
async def test_nothing_is_sent_where_the_question_asks_for_no_others_in_its_words(
    made: Made, places: list[Any]
) -> None:
    assert await ports_asked(made, "all", places, QUESTION[:4]) == (set(), 0)


@ASSISTANTS
async def test_where_others_may_be_asked_they_are(made: Made, places: list[Any]) -> None:
    asked, spent = await ports_asked(made, "all", places)
    assert spent
    assert asked or made is main, "Google is searched by the model's service"


@ASSISTANTS
async def test_a_follow_up_reads_the_collections_that_the_question_before_named(
    made: Made,
) -> None:
    knowledge = MemoryKnowledge()
    knowledge.put("检修手册", NOTES)
    knowledge.put("别的事情", "与桥无关。", collection="other")
    async with made() as (services, graph_of):
        held: Any = With(services, knowledge=lambda: knowledge)
        graph = graph_of(lambda: held).compile(checkpointer=InMemorySaver())
        context = graph.context_schema(geo_routing="never")
        where: Any = {"configurable": {"thread_id": "t"}}
        named = {"messages": QUESTION, "collections": ["own"]}
        first = await graph.ainvoke(named, where, context=context)
        for _ in range(2):
            later = await graph.ainvoke({"messages": FOLLOW_UP}, where, context=context)
            assert first["readable"] == later["readable"] == ["own"]
        given = {"messages": FOLLOW_UP, "collections": ["other"]}
        other = await graph.ainvoke(given, where, context=context)
        assert other["readable"] == ["other"], "a question names others"
        none = await graph.ainvoke(
            {"messages": FOLLOW_UP, "collections": []}, where, context=context
        )
        assert none["readable"] == []
