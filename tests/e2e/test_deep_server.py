"""Long assistants on a running server: by the SDK, as a stream, and without blocking its loop."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient

from tests.support.dev_server import DevServer, dev_server
from tests.support.mcp_client import connected, structured

pytestmark = [pytest.mark.server, pytest.mark.slow]
ZH = "西湖一日游：交通、门票、餐饮"
DOSSIER = "宁德时代钠离子电池的技术路线与同行相比如何"
EN = "What are heat pumps, what do they cost and what are their limits?"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevServer]:
    with dev_server(tmp_path_factory.mktemp("server")) as started:
        yield started


@pytest.fixture
async def client(server: DevServer) -> AsyncIterator[LangGraphClient]:
    async with get_client(url=server.url) as opened:
        yield opened


async def test_a_report_streams_with_progress_and_blocks_nothing(
    server: DevServer, client: LangGraphClient
) -> None:
    thread = await client.threads.create()
    told, last = [], None
    async for part in client.runs.stream(
        thread["thread_id"],
        "deep_research",
        input={"messages": [{"role": "user", "content": ZH}]},
        stream_mode=["custom", "values"],
    ):
        if part.event == "custom":
            told.append(part.data["type"])
        elif part.event == "values":
            last = part.data
    assert last is not None
    assert {"thought", "topic_done", "reading", "compressed", "answering", "done"} <= set(told)
    assert len(last["search_results"]) >= 3
    answer = last["messages"][-1]
    assert "**来源**" in answer["content"]
    assert answer["additional_kwargs"]["assistant"] == "deep_research"
    assert "Blocking" not in server.output()


async def test_a_dossier_on_the_same_server_tells_its_tasks_and_blocks_nothing(
    server: DevServer, client: LangGraphClient
) -> None:
    thread = await client.threads.create()
    told, last = [], None
    async for part in client.runs.stream(
        thread["thread_id"],
        "plan_execute",
        input={"messages": [{"role": "user", "content": DOSSIER}]},
        context={"plan_mode": "dag"},
        stream_mode=["custom", "values"],
    ):
        if part.event == "custom":
            told.append(part.data["type"])
        elif part.event == "values":
            last = part.data
    assert last is not None
    assert {"task_started", "task_done", "download", "ingested", "passages", "done"} <= set(told)
    assert [task["dep"] for task in last["tasks"]] == [[], [], []]
    assert any(passage["page"] for passage in last["passages"])
    sources = last["messages"][-1]["additional_kwargs"]["sources"]
    assert {"page", "paper", "filing", "document"} <= {source["kind"] for source in sources}
    assert "Blocking" not in server.output()


async def test_the_text_that_streams_is_the_text_that_is_stored(client: LangGraphClient) -> None:
    thread = (await client.threads.create())["thread_id"]
    streamed: dict[str, str] = {}
    shown: set[str] = set()
    async for part in client.runs.stream(
        thread,
        "deep_research",
        input={"messages": [{"role": "user", "content": EN}]},
        stream_mode="messages-tuple",
    ):
        shown |= {part.data[0]["type"]} if part.event == "messages" else set()
        if part.event == "messages" and part.data[0]["type"] == "AIMessageChunk":
            message = part.data[0]
            streamed[message["id"]] = streamed.get(message["id"], "") + message["content"]
    values: Any = (await client.threads.get_state(thread))["values"]
    stored = values["messages"][-1]
    assert streamed == {stored["id"]: stored["content"]}
    assert "tool" not in shown


async def test_an_mcp_client_gets_a_report(server: DevServer) -> None:
    async with connected(server.url) as session:
        result = await session.call_tool("deep_research", {"question": EN})
    report = structured(result)
    assert "**Sources**" in report["answer"]
    assert report["sources"]


async def test_a_second_question_on_the_thread_starts_clean(client: LangGraphClient) -> None:
    thread = await client.threads.create()
    for question in (ZH, EN):
        given: Any = {"messages": [{"role": "user", "content": question}]}
        state = await client.runs.wait(thread["thread_id"], "deep_research", input=given)
    assert isinstance(state, dict)
    assert [message["type"] for message in state["messages"]] == ["human", "ai"] * 2
    assert "**Sources**" in state["messages"][-1]["content"]


async def test_its_schemas_tell_what_may_be_sent_and_its_larger_limits(
    client: LangGraphClient,
) -> None:
    (assistant,) = await client.assistants.search(graph_id="deep_research")
    schemas = await client.assistants.get_schemas(assistant["assistant_id"])
    given = (schemas["input_schema"] or {})["properties"]
    assert "topic by topic" in (assistant["description"] or "")
    own = {"messages", "reasoning_model", "user_location", "utc_offset", "collections"}
    assert set(given) == own
    assert all(given[name].get("description") for name in given)
    context = (schemas["context_schema"] or {})["properties"]
    assert context["max_run_seconds"]["default"] == 1800
    assert context["max_topics"]["default"] == 10
    assert all(context[name].get("description") for name in context)
    output = (schemas["output_schema"] or {})["properties"]
    assert {"messages", "search_results", "report"} <= set(output)
