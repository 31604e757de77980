"""A small graph for tests of the server: one call, three parallel calls, one call.

Calls go to PROBE_URL through the wrapper of every outside call, with the reply cache.
"""

import os
from typing import Annotated, Any

import httpx
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Send
from typing_extensions import TypedDict

from agent.core.budget import Budget, Limits
from agent.core.calls import Calls, Policy
from agent.runs.reply_cache import ReplyCache
from agent.runs.threads import memory_place

LIMITS = Limits(
    max_searches=100,
    max_model_calls=100,
    max_map_calls=100,
    max_run_tokens=100_000,
    max_run_seconds=300,
    answer_seconds=10,
)
POLICY = Policy("probe", "searches", timeout=60, attempts=1)
_calls: list[Calls] = []


def add(old: list[str], new: list[str]) -> list[str]:
    return [*old, *new]


class ProbeState(TypedDict, total=False):
    messages: Annotated[list[Any], add_messages]
    calls: Annotated[list[str], add]


class Branch(TypedDict):
    name: str
    turn: str


async def paid(turn: str, name: str) -> str:
    """One outside call, paid for once in a turn."""
    if not _calls:
        _calls.append(Calls(reply_cache=ReplyCache(memory_place())))

    async def send() -> str:
        async with httpx.AsyncClient(trust_env=False, timeout=60) as client:
            return (await client.get(f"{os.environ['PROBE_URL']}/{turn}/{name}")).text

    meter = Budget(turn, LIMITS).meter()
    return await _calls[0].once(POLICY, send, meter=meter, request=name)


def turn_of(state: ProbeState) -> str:
    return str(state["messages"][-1].content)


async def plan(state: ProbeState) -> ProbeState:
    return {"calls": [await paid(turn_of(state), "plan")]}


def fan_out(state: ProbeState) -> list[Send]:
    return [Send("work", Branch(name=f"work-{n}", turn=turn_of(state))) for n in range(3)]


async def work(branch: Branch) -> ProbeState:
    first = await paid(branch["turn"], branch["name"])
    return {"calls": [first, await paid(branch["turn"], branch["name"] + "-again")]}


async def answer(state: ProbeState) -> ProbeState:
    last = await paid(turn_of(state), "answer")
    return {"calls": [last], "messages": [("assistant", f"{len(state['calls']) + 1} calls")]}


def build() -> StateGraph[Any, Any, Any, Any]:
    builder = StateGraph(ProbeState)
    builder.add_node("plan", plan)
    builder.add_node("work", work, input_schema=Branch)
    builder.add_node("answer", answer)
    builder.add_edge(START, "plan")
    builder.add_conditional_edges("plan", fan_out, ["work"])
    builder.add_edge("work", "answer")
    builder.add_edge("answer", END)
    return builder


CALLS_PER_RUN = 8
graph = build().compile(name="probe")
