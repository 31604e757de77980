"""The assistant `deep_research`: long research inside a bounded context. Wiring only.

begin ─ explore ⇄ act                      (thinking, searching, the map)
           │        │
           └─ switch_topic ─ explore …     (archive the topic, forget its messages)
                    │
                    └─ compress_topic ×n ─ review_notes ─ write_report
                                                │
                                                └─ explore … (once, what the notes miss)

A closed topic is read and compressed beside the exploration of the next one (`Compression`).
With `review_plan` the run pauses between begin and explore.
"""

from functools import partial

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.stream import CustomTransformer

from agent.assistants.common.review_plan import review_plan
from agent.assistants.common.services import GetServices
from agent.assistants.common.turn import ResearchGraph
from agent.assistants.deep_research.act import act, after_act
from agent.assistants.deep_research.compress_topic import Compression, compress_topic
from agent.assistants.deep_research.explore import after_explore, explore
from agent.assistants.deep_research.plan import begin
from agent.assistants.deep_research.review_notes import after_notes, review_notes
from agent.assistants.deep_research.reviewed_topics import TOPICS, after_begin
from agent.assistants.deep_research.state import (
    DeepConfiguration,
    DeepInput,
    DeepState,
    TopicBranch,
)
from agent.assistants.deep_research.switch_topic import after_switch, switch_topic
from agent.assistants.deep_research.write_report import write_report
from agent.services import process_services

DeepGraph = StateGraph[DeepState, DeepConfiguration, DeepInput, DeepState]
CompiledDeep = CompiledStateGraph[DeepState, DeepConfiguration, DeepInput, DeepState]


def build_graph(get_services: GetServices = process_services) -> DeepGraph:
    """Return the uncompiled graph over these services; nothing is built before the first call."""
    graph: DeepGraph = ResearchGraph(
        DeepState, context_schema=DeepConfiguration, input_schema=DeepInput
    )
    compression = Compression(get_services)
    explored = partial(explore, get_services=get_services, compression=compression)
    acted = partial(act, get_services=get_services, compression=compression)
    written = partial(write_report, get_services=get_services, compression=compression)

    graph.add_node("begin", partial(begin, get_services=get_services), input_schema=DeepState)
    graph.add_node("review_plan", partial(review_plan, get_services=get_services, kind=TOPICS),
                   input_schema=DeepState)  # fmt: skip
    graph.add_node("explore", explored, input_schema=DeepState)
    graph.add_node("act", acted, input_schema=DeepState)
    graph.add_node("switch_topic", partial(switch_topic, compression=compression),
                   input_schema=DeepState)  # fmt: skip
    graph.add_node("compress_topic", partial(compress_topic, compression=compression),
                   input_schema=TopicBranch)  # fmt: skip
    graph.add_node("review_notes", partial(review_notes, get_services=get_services),
                   input_schema=DeepState)  # fmt: skip
    graph.add_node("write_report", written, input_schema=DeepState)

    graph.add_edge(START, "begin")
    graph.add_conditional_edges("begin", after_begin, ["review_plan", "explore", END])
    graph.add_conditional_edges("review_plan", after_begin, ["explore", END])
    graph.add_conditional_edges("explore", after_explore, ["act", "switch_topic", "explore"])
    graph.add_conditional_edges("act", after_act, ["switch_topic", "explore"])
    graph.add_conditional_edges(
        "switch_topic", after_switch, ["explore", "act", "compress_topic", "review_notes"]
    )
    graph.add_edge("compress_topic", "review_notes")
    graph.add_conditional_edges("review_notes", after_notes, ["explore", "write_report"])
    graph.add_edge("write_report", END)
    return graph


# The transformer brings progress events to clients of the event protocol (`threads.stream`).
graph: CompiledDeep = build_graph().compile(name="deep_research", transformers=[CustomTransformer])
