"""Four checks of the map: connection, intent, graph, use of tools.

`uv run python test_mcp_integration.py` prints a line for each and exits 0 or 1; pytest runs them
too. They use the bundled sample; with AMAP_MAPS_API_KEY the map is Amap's own and nothing else
differs (the models stay the sample's, so that no other key is needed or spent).
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from agent.configuration import MODEL_FIELDS, Configuration
from agent.core.budget import Budget, Limits
from agent.core.redaction import scrub
from agent.evidence.geo import parse_lnglat
from agent.evidence.intent import detect_location_query, has_location_intent
from agent.graph import build_graph
from agent.mcp.amap.tools import CATALOGUE
from agent.mcp.map import Maps, build_map_client
from agent.mcp.records import MapOptions, MapResult
from agent.mcp.tools import load_amap_mcp_tools
from agent.services import Services, build_services
from agent.settings import load_env_file, read_settings

pytestmark = pytest.mark.node
NODES = {
    "generate_query", "review_plan", "web_research", "amap_research", "document_research",
    "reflection", "plan_outing", "finalize_answer",
}  # fmt: skip
# (question, whether the map helps, whether a place or a spatial relation is named)
INTENTS = (
    ("王府井附近适合遛娃的好去处", True, True),
    ("从三里屯到首都机场怎么走", True, True),
    ("上海迪士尼周边的酒店", True, True),
    ("coffee shops near the Bund", True, True),
    ("北京的历史沿革", False, True),
    ("区块链技术路线图", False, False),
    ("二手车市场的数据中心趋势", False, False),
    ("How do sodium-ion batteries work?", False, False),
)


@asynccontextmanager
async def services() -> AsyncIterator[Services]:
    """The sample's services; with a key, the map's are Amap's own."""
    given = read_settings()
    built = build_services(given.model_copy(update={"tanlu_mode": "offline"}))
    if given.amap_maps_api_key:
        built = replace(built, maps=Maps([build_map_client(given, built.calls)]))
    try:
        yield built
    finally:
        await built.aclose()


async def check_connection() -> str:
    """The server starts and offers the tools this code was written for."""
    async with services() as given:
        session = given.maps.of("amap").session
        version = await session.server_version()
        tools = await load_amap_mcp_tools(session)
    assert {tool.name for tool in tools} == {tool["name"] for tool in CATALOGUE.tools}
    assert all(tool.description and tool.args for tool in tools)
    return f"{len(tools)} tools of {version}"


async def check_intent() -> str:
    """Questions for the map are told from those that only sound like it."""
    for question, helps, named in INTENTS:
        assert detect_location_query(question) is helps, f"detect_location_query: {question}"
        assert has_location_intent(question) is named, f"has_location_intent: {question}"
    return f"{len(INTENTS)} questions"


async def check_graph() -> str:
    """The graph has its nodes and sends only what the map helps with to the map."""
    models = {name: Configuration.model_fields[name].default for name in MODEL_FIELDS}
    context = Configuration(**models, geo_routing="llm", web_search="auto")
    async with services() as given:
        graph = build_graph(lambda: given).compile(
            checkpointer=InMemorySaver(), interrupt_before=["web_research", "amap_research"]
        )
        assert {name for name in graph.nodes if not name.startswith("__")} == NODES
        planned: dict[str, set[str]] = {}
        for question in (INTENTS[0][0], INTENTS[-1][0]):
            thread: Any = {"configurable": {"thread_id": question}}
            given_input: Any = {"messages": question}
            await graph.ainvoke(given_input, thread, context=context)
            planned[question] = set((await graph.aget_state(thread)).next)
    assert planned[INTENTS[0][0]] == {"web_research", "amap_research"}
    assert planned[INTENTS[-1][0]] == {"web_research"}
    return f"{len(NODES)} nodes; a question about a place goes to web_research and amap_research"


async def check_tools() -> str:
    """A place is found, then what is around it, by the tools a model is given."""
    async with services() as given:
        tools = await given.maps.tools(
            MapResult(intent="nearby"),
            INTENTS[0][0],
            options=MapOptions(prefix="a0", language="zh"),
            meter=_budget().meter(),
            on_call=lambda asked: None,
        )

        async def call(name: str, **args: str) -> dict[str, Any]:
            reply = await tools.call({"name": name, "args": args, "id": name, "type": "tool_call"})
            assert reply.status == "success", scrub(str(reply.content))
            found: dict[str, Any] = json.loads(str(reply.content))
            return found

        where = (await call("maps_geo", address="王府井", city="北京"))["return"][0]["location"]
        pois = (await call("maps_around_search", location=where, keywords="餐厅", radius="2000"))[
            "pois"
        ]
    point = parse_lnglat(where)
    assert point is not None
    assert abs(point[0] - 116.41) < 0.1
    assert abs(point[1] - 39.91) < 0.1
    assert pois
    assert all(poi["id"] and poi["name"] for poi in pois)
    return f"王府井 is at {where}; around it {len(pois)} places, first {pois[0]['name']}"


def _budget() -> Budget:
    limits = Limits(
        max_searches=0,
        max_model_calls=0,
        max_map_calls=4,
        max_run_tokens=0,
        max_run_seconds=300,
        answer_seconds=0,
    )
    return Budget("test_mcp_integration", limits)


CHECKS: dict[str, Callable[[], Awaitable[str]]] = {
    "connection and tool loading": check_connection,
    "intent": check_intent,
    "graph": check_graph,
    "tool use": check_tools,
}


async def test_the_map_server_starts_and_its_tools_load() -> None:
    await check_connection()


async def test_questions_for_the_map_are_recognised() -> None:
    await check_intent()


async def test_the_graph_sends_a_question_about_a_place_to_the_map() -> None:
    await check_graph()


async def test_the_tools_find_a_place_and_what_is_around_it() -> None:
    await check_tools()


async def main() -> int:
    """Run all checks; 1 if any failed."""
    real = read_settings().amap_maps_api_key
    print("map:", "Amap" if real else "the bundled sample (AMAP_MAPS_API_KEY is not set)")
    failed = 0
    for number, (name, check) in enumerate(CHECKS.items(), start=1):
        try:
            print(f"ok    {number} {name}: {await check()}")
        except Exception as error:  # noqa: BLE001 - one failed check must not hide the others
            failed += 1
            reason = " ".join(scrub(str(error)).split())[:300]
            print(f"FAIL  {number} {name}: {type(error).__name__}: {reason}")
    print("all checks passed" if not failed else f"{failed} of {len(CHECKS)} checks failed")
    return 1 if failed else 0


if __name__ == "__main__":
    # A console that cannot show Chinese must not end the checks.
    for stream in (sys.stdout, sys.stderr):
        getattr(stream, "reconfigure", lambda **options: None)(errors="replace")
    load_env_file()
    sys.exit(asyncio.run(main()))
