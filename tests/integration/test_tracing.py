"""Traces and metrics as a collector gets them, by OTLP over HTTP."""

import logging
import subprocess
import sys
from collections.abc import Iterator
from uuid import UUID

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from pydantic import SecretStr

from agent.assistants.plan_execute import graph as plan_graph
from agent.assistants.plan_execute.state import PlanConfiguration
from agent.configuration import configure
from agent.core import tracing
from agent.core.errors import ConfigurationError
from agent.core.redaction import scrub
from agent.core.tracing import Tracing
from agent.graph import build_graph
from agent.services import build_services
from agent.settings import read_settings
from tests.support.collector import Collector, collecting
from tests.support.lab import EN, ZH, answer_of, laboratory, told
from tests.support.ports import free_port

KEY = "CANARY-collector-key"
RUN = UUID("018f3c1e-7d20-7000-8000-000000000001")


@pytest.fixture(name="collector")
def collector_fixture() -> Iterator[Collector]:
    with collecting() as collector:
        yield collector


async def test_a_turn_is_one_trace_of_nodes_and_calls(collector: Collector) -> None:
    async with laboratory(tanlu_otlp_endpoint=collector.url) as lab:
        state = await lab.ask(EN)
    turn, spans = state["turn"]["id"], collector.spans
    assert {span.trace for span in spans} == {turn}
    (root,) = [span for span in spans if not span.parent]
    assert root.name == "invoke_agent agent"
    assert root.attributes["gen_ai.operation.name"] == "invoke_agent"
    assert root.attributes["gen_ai.conversation.id"] == "t"
    nodes = [span for span in spans if span.parent == root.id]
    assert {"generate_query", "web_research", "finalize_answer"} <= {node.name for node in nodes}
    by_id = {node.id for node in nodes}
    calls = [span for span in spans if span not in (root, *nodes)]
    assert all(call.parent in by_id for call in calls)
    assert len({span.id for span in spans}) == len(spans)
    assert root.seconds >= max(span.seconds for span in nodes)


async def test_model_calls_say_what_the_conventions_name(collector: Collector) -> None:
    async with laboratory(tanlu_otlp_endpoint=collector.url) as lab:
        state = await lab.ask(EN)
    chats = [s for s in collector.spans if s.attributes.get("gen_ai.operation.name") == "chat"]
    assert len(chats) == told(state)["usage"]["model_calls"]
    for chat in chats:
        model = chat.attributes["gen_ai.request.model"]
        assert chat.name == f"chat {model}"
        assert chat.attributes["gen_ai.provider.name"] == "gcp.gemini"
        assert chat.schema == tracing.CONVENTIONS
    spent = [chat.attributes.get("gen_ai.usage.output_tokens", 0) for chat in chats]
    assert sum(spent) == told(state)["usage"]["output_tokens"]
    assert collector.metrics == {"gen_ai.client.operation.duration", "gen_ai.client.token.usage"}


@pytest.mark.node
async def test_calls_of_the_map_are_tools(collector: Collector) -> None:
    async with laboratory(tanlu_otlp_endpoint=collector.url) as lab:
        await lab.ask(ZH)
    tools = {s.attributes.get("gen_ai.tool.name") for s in collector.spans}
    assert "maps_geo" in tools


async def test_neither_content_nor_keys_leave_the_process(collector: Collector) -> None:
    headers = SecretStr(f"Authorization=Bearer {KEY}")
    async with laboratory(
        tanlu_otlp_endpoint=collector.url, tanlu_otlp_headers=headers, tavily_api_key=KEY
    ) as lab:
        state = await lab.ask(EN)
    assert {sent["authorization"] for sent in collector.headers} == {f"Bearer {KEY}"}
    everything = b"".join(collector.bodies)
    assert collector.spans
    for word in (KEY, EN, "sodium", str(answer_of(state).text)[:40], "http"):
        assert word.encode() not in everything.replace(tracing.CONVENTIONS.encode(), b"")
    assert KEY not in scrub(f"Bearer {KEY}")


async def test_a_review_goes_on_in_another_process_and_the_trace_stays_one(
    collector: Collector,
) -> None:
    saver, states = InMemorySaver(), []
    for payload in ({"messages": EN}, Command(resume={"decisions": [{"type": "approve"}]})):
        services = build_services(read_settings(tanlu_otlp_endpoint=collector.url))
        graph = build_graph(lambda services=services: services).compile(saver, name="agent")  # type: ignore[misc]
        states.append(
            await graph.ainvoke(
                payload,  # type: ignore[arg-type]
                {"configurable": {"thread_id": "reviewed"}},
                context=configure({"review_plan": True}),
            )
        )
        await services.aclose()
    assert "__interrupt__" in states[0]
    assert {span.trace for span in collector.spans} == {states[1]["turn"]["id"]}
    assert len([span for span in collector.spans if not span.parent]) == 1


async def test_a_run_that_fails_is_marked_as_failed(collector: Collector) -> None:
    async with laboratory(tanlu_otlp_endpoint=collector.url) as lab:
        with pytest.raises(ConfigurationError):
            await lab.graph.ainvoke(
                {"messages": EN, "user_location": {"lng": "east"}},  # type: ignore[arg-type]
                {"run_id": RUN, "configurable": {"thread_id": "t"}},
            )
    (root,) = [span for span in collector.spans if not span.parent]
    assert root.failed
    assert root.trace == RUN.hex
    assert [s.attributes["error.type"] for s in collector.spans if s.parent] == ["input"]
    assert b"east" not in b"".join(collector.bodies)


async def test_calls_of_a_graph_within_are_below_the_node_that_runs_it(
    collector: Collector,
) -> None:
    services = build_services(read_settings(tanlu_otlp_endpoint=collector.url))
    graph = plan_graph.build_graph(lambda: services).compile(name="plan_execute")
    question = {"messages": "宁德时代钠离子电池的技术路线与同行相比如何"}
    await graph.ainvoke(question, context=PlanConfiguration())  # type: ignore[arg-type]
    await services.aclose()
    names = {span.id: span.name for span in collector.spans}
    below = {span.name for span in collector.spans if names.get(span.parent) == "execute"}
    assert {"execute_tool wikipedia", "execute_tool papers"} <= below


async def test_a_collector_that_is_away_costs_its_spans_and_one_line_in_the_log(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tracing, "_TIMEOUT", 0.2)
    url = f"http://127.0.0.1:{free_port()}"
    with caplog.at_level(logging.WARNING):
        async with laboratory(tanlu_otlp_endpoint=url) as lab:
            state = await lab.ask(EN)
    assert told(state)["gaps"] == []
    lines = [r.getMessage() for r in caplog.records if "TANLU_OTLP_ENDPOINT" in r.getMessage()]
    assert lines == ["TANLU_OTLP_ENDPOINT: traces do not arrive at 127.0.0.1"]


@pytest.mark.parametrize(
    ("endpoint", "headers", "name"),
    [
        ("localhost:4318", None, "TANLU_OTLP_ENDPOINT"),
        ("http://localhost:4318", "no equals sign", "TANLU_OTLP_HEADERS"),
    ],
)
def test_a_bad_address_or_header_names_its_variable(
    endpoint: str, headers: str | None, name: str
) -> None:
    with pytest.raises(ConfigurationError) as raised:
        Tracing(endpoint, SecretStr(headers) if headers else None)
    assert raised.value.name == name


def test_without_the_libraries_one_line_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http", None)
    with pytest.raises(ConfigurationError, match=r'pip install "tanlu\[otel\]"'):
        Tracing("http://localhost:4318")


def test_nothing_of_it_is_imported_where_it_is_not_switched_on() -> None:
    code = "import agent.services, sys; print('opentelemetry.exporter' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
