"""A graph that waits for an answer of a person and then makes one outside call."""

from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt

from tests.support.probe_graph import ProbeState, paid, turn_of


async def ask(state: ProbeState) -> ProbeState:
    reply = interrupt("go on?")
    await paid(turn_of(state), "after")
    return {"messages": [("assistant", f"answered: {reply}")]}


builder = StateGraph(ProbeState)
builder.add_node("ask", ask)
builder.add_edge(START, "ask")
builder.add_edge("ask", END)
graph = builder.compile(name="pausing")
