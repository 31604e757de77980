"""The assistant `team_answer`: one exact answer, by a team that checks itself. Wiring only.

analyze ─ decompose ─ group_chat ─ synthesize ─ format_answer
                        ⟲   ⇅
                     (next) use_tools

What the judge of claims refutes goes back to group_chat once, before anything is shown.

With `review_plan` the run pauses between decompose and group_chat.
"""

from functools import partial

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.stream import CustomTransformer

from agent.assistants.common.review_plan import review_plan
from agent.assistants.common.services import GetServices
from agent.assistants.common.turn import ResearchGraph
from agent.assistants.team_answer.analyze import analyze, decompose
from agent.assistants.team_answer.format_answer import after_format_answer, format_answer
from agent.assistants.team_answer.group_chat import after_group_chat, group_chat
from agent.assistants.team_answer.reviewed_steps import STEPS, after_decompose
from agent.assistants.team_answer.state import TeamConfiguration, TeamInput, TeamState
from agent.assistants.team_answer.synthesize import synthesize
from agent.assistants.team_answer.use_tools import use_tools
from agent.services import process_services

TeamGraph = StateGraph[TeamState, TeamConfiguration, TeamInput, TeamState]
CompiledTeam = CompiledStateGraph[TeamState, TeamConfiguration, TeamInput, TeamState]


def build_graph(get_services: GetServices = process_services) -> TeamGraph:
    """Return the uncompiled graph over these services; nothing is built before the first call."""
    graph: TeamGraph = ResearchGraph(
        TeamState, context_schema=TeamConfiguration, input_schema=TeamInput
    )
    nodes = (analyze, decompose, group_chat, use_tools, synthesize, format_answer)
    for node in nodes:
        graph.add_node(
            node.__name__, partial(node, get_services=get_services), input_schema=TeamState
        )

    graph.add_node("review_plan", partial(review_plan, get_services=get_services, kind=STEPS),
                   input_schema=TeamState)  # fmt: skip

    graph.add_edge(START, "analyze")
    graph.add_edge("analyze", "decompose")
    graph.add_conditional_edges("decompose", after_decompose, ["review_plan", "group_chat"])
    graph.add_conditional_edges("review_plan", after_decompose, ["group_chat", END])
    graph.add_conditional_edges(
        "group_chat", after_group_chat, ["group_chat", "use_tools", "synthesize"]
    )
    graph.add_edge("use_tools", "group_chat")
    graph.add_edge("synthesize", "format_answer")
    graph.add_conditional_edges("format_answer", after_format_answer, ["group_chat", END])
    return graph


# The transformer brings progress events to clients of the event protocol (`threads.stream`).
graph: CompiledTeam = build_graph().compile(name="team_answer", transformers=[CustomTransformer])
