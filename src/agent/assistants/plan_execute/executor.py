"""The executor of one task, a graph of its own. Wiring, and what its nodes are given.

llm_decision ⇄ optional_tools
     └─ search ─ clean_and_rerank ─ download
"""

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from agent.assistants.plan_execute.state import ExecutorState
from agent.assistants.plan_execute.steps.clean_and_rerank import clean_and_rerank
from agent.assistants.plan_execute.steps.download import download
from agent.assistants.plan_execute.steps.llm_decision import after_decision, llm_decision
from agent.assistants.plan_execute.steps.optional_tools import optional_tools
from agent.assistants.plan_execute.steps.run import ExecutorRun
from agent.assistants.plan_execute.steps.search import search

Compiled = CompiledStateGraph[ExecutorState, ExecutorRun, ExecutorState, ExecutorState]


def build_executor() -> Compiled:
    """The compiled graph; without a checkpointer, as its outside calls are in the journal."""
    graph = StateGraph(ExecutorState, context_schema=ExecutorRun)
    for node in (llm_decision, optional_tools, search, clean_and_rerank, download):
        graph.add_node(node.__name__, node)
    graph.add_edge(START, "llm_decision")
    graph.add_conditional_edges("llm_decision", after_decision, ["optional_tools", "search"])
    graph.add_edge("optional_tools", "llm_decision")
    graph.add_edge("search", "clean_and_rerank")
    graph.add_edge("clean_and_rerank", "download")
    graph.add_edge("download", END)
    return graph.compile(checkpointer=False, name="executor")
