"""Graphs for the page's server: the assistant among hostile services, and one that is hostile."""

from typing import Annotated, Any

from langgraph.config import get_stream_writer
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import interrupt
from typing_extensions import TypedDict

from agent.assistants.common.services import Services
from agent.graph import build_graph
from agent.services import process_services
from agent.texts import table
from tests.browser.hostile_texts import EVIL, MARKDOWN, MARKUP
from tests.support.obedient import Obedient, pois
from tests.support.standins import observe_sample

PAYLOAD = " ".join([*MARKUP.values(), MARKDOWN["beacon"], MARKDOWN["javascript"]])
_planted: list[Obedient] = []


def hostile_services() -> Services:
    """The sample's services, which speak as PAYLOAD says; their model obeys it."""
    observe_sample()
    services = process_services()
    if not _planted and services.sample:
        standins: Any = services.sample.services
        _planted.append(Obedient(standins["gemini"].llm, PAYLOAD, EVIL))
        standins["gemini"].llm = _planted[0]
        standins["amap"].fail("status", status=200, times=None, body=pois(PAYLOAD),
                              match=lambda request, _: "/place/" in request.path)  # fmt: skip
    return services


class Told(TypedDict, total=False):
    messages: Annotated[list[Any], add_messages]


async def tell(state: Told) -> Told:
    """Every kind of progress there is, and kinds there are not."""
    write = get_stream_writer()
    kinds = [*table("progress.events", "zh"), "notice", "__proto__", PAYLOAD]
    for number, kind in enumerate(kinds):
        text = f"{kind}: {PAYLOAD}"
        write({"type": kind, "node": PAYLOAD, "id": f"{number}", "text": text, "speaker": PAYLOAD})
    return {}


async def pause(state: Told) -> Told:
    """A plan to look at."""
    task = {"intent": PAYLOAD, "place": PAYLOAD, "keywords": [PAYLOAD], "mode": PAYLOAD}
    nearby = {**task, "intent": "nearby", "radius_m": 900}
    plan = [{"query": text, "map": task} for text in list(MARKUP.values())[:2]]
    counts = {"searches": PAYLOAD, "map_calls": 1, "model_calls": 1, "cost_usd": None}
    plan.append({"query": MARKDOWN["beacon"], "map": nearby})
    interrupt({"queries": plan, "estimate": counts, "problem": PAYLOAD})
    return {}


async def fail(state: Told) -> Told:
    """An error whose text is hostile."""
    raise RuntimeError(PAYLOAD)


def _build() -> StateGraph[Any, Any, Any, Any]:
    builder = StateGraph(Told)
    for node in (tell, pause, fail):
        builder.add_node(node.__name__, node)
    builder.add_edge(START, "tell")
    builder.add_edge("tell", "pause")
    builder.add_edge("pause", "fail")
    builder.add_edge("fail", END)
    return builder


agent = build_graph(hostile_services).compile(name="agent")
acting = _build().compile(name="acting")
GRAPHS = {
    "agent": "tests.browser.hostile_graphs:agent",
    "acting": {"path": "tests.browser.hostile_graphs:acting", "description": PAYLOAD},
}
