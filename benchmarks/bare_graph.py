"""A bare graph over the same calls: what LangGraph and the library of the model cost by themselves.

`langgraph dev` serves it in place of our assistant: one client a process, no guard, no checks, no
citations, nothing kept on disk.
"""

import operator
import os
import re
from typing import Annotated, Any

from langchain_core.messages import AIMessage, AnyMessage
from langgraph.graph import END, START, StateGraph, add_messages
from langgraph.types import Send
from pydantic import SecretStr
from typing_extensions import TypedDict

from agent.core.concurrency import PerLoop
from agent.models.connections import ClientPool, open_pool
from agent.models.google import Gemini

KEY = SecretStr(os.environ.get("GEMINI_API_KEY", ""))
URL = os.environ.get("GOOGLE_GEMINI_BASE_URL", "")
_POOLS: PerLoop[ClientPool] = PerLoop(
    lambda: open_pool(URL, KEY), ClientPool.aclose, ClientPool.drop
)
_QUERY = re.compile(r'"query": ?"([^"]+)"')
_NUMBER = re.compile(r"编号\d+")


class State(TypedDict, total=False):
    """The conversation, and what its searches brought."""

    messages: Annotated[list[AnyMessage], add_messages]
    queries: list[str]
    results: Annotated[list[str], operator.add]


class Branch(TypedDict):
    query: str


async def _model(*, streaming: bool = False) -> Gemini:
    pool = await _POOLS.get()
    options: dict[str, Any] = {"client": pool.client, "google_api_key": KEY, "base_url": URL}
    if streaming not in pool.models:
        model = Gemini(model="gemini-3.8-flash", disable_streaming=not streaming, **options)
        pool.models[streaming] = model  # type: ignore[index]
    return pool.models[streaming]  # type: ignore[index,no-any-return]


async def _say(task: str, text: str, **options: Any) -> str:
    model = await _model()
    config: Any = {"tags": ["nostream", "langsmith:nostream"]}
    reply = await model.ainvoke([("human", f"<task>{task}</task> {text}")], config, **options)
    return str(reply.text)


async def generate_query(state: State) -> State:
    return {"queries": _QUERY.findall(await _say("generate_query", _question(state)))}


async def web_research(branch: Branch) -> State:
    tools = [{"google_search": {}}]
    return {"results": [await _say("web_research", branch["query"], tools=tools)]}


async def reflection(state: State) -> State:
    text = await _say("reflection", _question(state) + "\n\n".join(state["results"]))
    number = _NUMBER.findall(_question(state))[0]
    return {"queries": [query for query in _QUERY.findall(text) if number in query]}


async def finalize_answer(state: State) -> State:
    prompt = f"<task>answer</task> {_question(state)}" + "\n\n".join(state["results"])
    model = await _model(streaming=True)
    reply = await model.ainvoke([("human", prompt)])
    sources = [{"id": "w0-0"}]
    kept = {"sources": sources, "usage": {}, "degraded": False, "gaps": [], "places": []}
    return {"messages": [AIMessage(str(reply.text), additional_kwargs=kept)]}


def _question(state: State) -> str:
    return str(state["messages"][-1].text)


def _searches(state: State) -> list[Send]:
    return [Send("web_research", {"query": query}) for query in state["queries"]]


def _after_search(state: State) -> str:
    return "finalize_answer" if len(state["results"]) > 3 else "reflection"


builder = StateGraph(State)
builder.add_node("generate_query", generate_query)
builder.add_node("web_research", web_research, input_schema=Branch)
builder.add_node("reflection", reflection)
builder.add_node("finalize_answer", finalize_answer)
builder.add_edge(START, "generate_query")
builder.add_conditional_edges("generate_query", _searches, ["web_research"])
builder.add_conditional_edges("web_research", _after_search, ["reflection", "finalize_answer"])
builder.add_conditional_edges("reflection", _searches, ["web_research"])
builder.add_edge("finalize_answer", END)
graph = builder.compile()
