"""Wire the assistant `agent`: research on the web and on the map.

generate_query ─ continue_to_research ─┬─ web_research ×n ─┬─ reflection ─ evaluate_research
                                       └─ amap_research ×m ┘      │            │       │
                      finalize_answer ◀───────────────────────────┘◀───────────┘   more rounds

Where a day over the places is wanted, plan_outing stands before finalize_answer.
Where collections of own documents are named, document_research stands beside the two.
With `review_plan` the run pauses between generate_query and the dispatch.
"""

from functools import partial
from typing import ClassVar

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.stream import CustomTransformer

from agent.assistants.common.review_plan import review_plan
from agent.assistants.common.services import GetServices
from agent.assistants.common.turn import ResearchGraph
from agent.configuration import Configuration, at_nodes
from agent.nodes.amap_research import amap_research
from agent.nodes.document_research import document_research
from agent.nodes.finalize_answer import finalize_answer
from agent.nodes.generate_query import generate_query
from agent.nodes.plan_outing import plan_outing
from agent.nodes.reflection import reflection
from agent.nodes.reviewed_queries import QUERIES
from agent.nodes.routing import continue_to_research, evaluate_research
from agent.nodes.web_research import web_research
from agent.services import process_services
from agent.state import (
    AgentInput,
    AmapSearchState,
    DocumentSearchState,
    OverallState,
    WebSearchState,
)

AgentGraph = StateGraph[OverallState, Configuration, AgentInput, OverallState]
CompiledAgent = CompiledStateGraph[OverallState, Configuration, AgentInput, OverallState]

RESEARCH = ["web_research", "amap_research", "document_research"]
CLOSING = ["plan_outing", "finalize_answer"]


class AgentConfiguration(Configuration):
    """Hold the knobs, and which node reads which."""

    NODES: ClassVar = at_nodes(
        {
            "query_generator_model": ("generate_query",),
            "research_model": ("web_research", "amap_research", "document_research"),
            "reflection_model": ("reflection", "finalize_answer"),
            "geo_routing": ("generate_query", "reflection"),
            "map_keywords": ("amap_research",),
            "map_rounds": ("amap_research",),
            "number_of_initial_queries": ("generate_query",),
            "max_research_loops": ("reflection",),
            "max_follow_up_queries": ("reflection",),
            "outing": ("plan_outing",),
            "early_answer": ("finalize_answer",),
        },
        begin="generate_query",
        search=("web_research",),
        maps=("amap_research",),
        write="finalize_answer",
    )


def build_graph(get_services: GetServices = process_services) -> AgentGraph:
    """Return the uncompiled graph over these services; nothing is built before the first call."""
    graph: AgentGraph = ResearchGraph(
        OverallState, context_schema=AgentConfiguration, input_schema=AgentInput
    )

    graph.add_node("generate_query", partial(generate_query, get_services=get_services),
                   input_schema=OverallState)  # fmt: skip
    graph.add_node("review_plan", partial(review_plan, get_services=get_services, kind=QUERIES),
                   input_schema=OverallState)  # fmt: skip
    graph.add_node("web_research", partial(web_research, get_services=get_services),
                   input_schema=WebSearchState)  # fmt: skip
    graph.add_node("amap_research", partial(amap_research, get_services=get_services),
                   input_schema=AmapSearchState)  # fmt: skip
    graph.add_node("document_research", partial(document_research, get_services=get_services),
                   input_schema=DocumentSearchState)  # fmt: skip
    graph.add_node("reflection", partial(reflection, get_services=get_services),
                   input_schema=OverallState)  # fmt: skip
    graph.add_node("plan_outing", partial(plan_outing, get_services=get_services),
                   input_schema=OverallState)  # fmt: skip
    graph.add_node("finalize_answer", partial(finalize_answer, get_services=get_services),
                   input_schema=OverallState)  # fmt: skip

    graph.add_edge(START, "generate_query")
    graph.add_conditional_edges(
        "generate_query", continue_to_research, ["review_plan", *RESEARCH, *CLOSING]
    )
    graph.add_conditional_edges("review_plan", continue_to_research, [*RESEARCH, *CLOSING, END])
    graph.add_edge("web_research", "reflection")
    graph.add_edge("amap_research", "reflection")
    graph.add_edge("document_research", "reflection")
    graph.add_conditional_edges("reflection", evaluate_research, [*RESEARCH, *CLOSING])
    graph.add_edge("plan_outing", "finalize_answer")
    graph.add_edge("finalize_answer", END)
    return graph


# The transformer brings progress events to clients of the event protocol (`threads.stream`).
graph: CompiledAgent = build_graph().compile(name="agent", transformers=[CustomTransformer])
