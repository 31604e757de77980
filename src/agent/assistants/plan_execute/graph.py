"""The assistant `plan_execute`: a dossier from papers, filings, web and documents. Wiring only.

plan ─ execute ─ build_knowledge ─ search_info ─ write_dossier
          └ for each task: llm_decision ⇄ optional_tools ─ search ─ clean_and_rerank ─ download

With `review_plan` the run pauses between plan and execute.
"""

from functools import partial

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.stream import CustomTransformer

from agent.assistants.common.review_plan import review_plan
from agent.assistants.common.services import GetServices
from agent.assistants.common.turn import ResearchGraph
from agent.assistants.plan_execute.execute import build_executor, execute
from agent.assistants.plan_execute.papers import build_knowledge
from agent.assistants.plan_execute.plan import plan
from agent.assistants.plan_execute.reviewed_tasks import TASKS, after_plan
from agent.assistants.plan_execute.search_info import search_info
from agent.assistants.plan_execute.state import PlanConfiguration, PlanInput, PlanState
from agent.assistants.plan_execute.write_dossier import write_dossier
from agent.services import process_services

PlanGraph = StateGraph[PlanState, PlanConfiguration, PlanInput, PlanState]
CompiledPlan = CompiledStateGraph[PlanState, PlanConfiguration, PlanInput, PlanState]


def build_graph(get_services: GetServices = process_services) -> PlanGraph:
    """Return the uncompiled graph over these services; nothing is built before the first call."""
    graph: PlanGraph = ResearchGraph(
        PlanState, context_schema=PlanConfiguration, input_schema=PlanInput
    )
    carried_out = partial(execute, get_services=get_services, executor=build_executor())

    graph.add_node("plan", partial(plan, get_services=get_services), input_schema=PlanState)
    graph.add_node("review_plan", partial(review_plan, get_services=get_services, kind=TASKS),
                   input_schema=PlanState)  # fmt: skip
    graph.add_node("execute", carried_out, input_schema=PlanState)
    graph.add_node("build_knowledge", partial(build_knowledge, get_services=get_services),
                   input_schema=PlanState)  # fmt: skip
    graph.add_node(
        "search_info", partial(search_info, get_services=get_services), input_schema=PlanState
    )
    graph.add_node("write_dossier", partial(write_dossier, get_services=get_services),
                   input_schema=PlanState)  # fmt: skip

    graph.add_edge(START, "plan")
    graph.add_conditional_edges("plan", after_plan, ["review_plan", "execute"])
    graph.add_conditional_edges("review_plan", after_plan, ["execute", END])
    graph.add_edge("execute", "build_knowledge")
    graph.add_edge("build_knowledge", "search_info")
    graph.add_edge("search_info", "write_dossier")
    graph.add_edge("write_dossier", END)
    return graph


# The transformer brings progress events to clients of the event protocol (`threads.stream`).
graph: CompiledPlan = build_graph().compile(name="plan_execute", transformers=[CustomTransformer])
