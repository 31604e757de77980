"""A graph that makes one outside call and answers with whose documents it may read."""

from typing import Any

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime

from agent.assistants.common.own_documents import owner_of
from tests.support.probe_graph import ProbeState, paid, turn_of


async def whose(state: ProbeState, runtime: Runtime[Any]) -> ProbeState:
    await paid(turn_of(state), "whose")
    return {"messages": [("assistant", f"owner: {owner_of(runtime)!r}")]}


builder = StateGraph(ProbeState)
builder.add_node("whose", whose)
builder.add_edge(START, "whose")
builder.add_edge("whose", END)
graph = builder.compile(name="owner")
