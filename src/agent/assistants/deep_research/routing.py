"""Route a deep research between its nodes."""

from typing import Literal

from langchain_core.messages import AIMessage
from langgraph.types import Send

from agent.assistants.deep_research.state import DeepState, TopicBranch
from agent.core.budget import no_usage


def after_explore(state: DeepState) -> Literal["act", "switch_topic", "explore"]:
    """Route to what the model or a limit asked for; back where the model only talked."""
    if state.get("intent"):
        return "switch_topic"
    last = state["messages"][-1]
    return "act" if isinstance(last, AIMessage) and last.tool_calls else "explore"


def after_act(state: DeepState) -> Literal["switch_topic", "explore"]:
    """Route to a recorded change or end; else back to the model."""
    return "switch_topic" if state.get("intent") else "explore"


def after_switch(state: DeepState) -> list[Send] | Literal["explore", "write_report"]:
    """Route on with the research, to a branch for each topic with pages, or to the report."""
    if state["exploring"]:
        return "explore"
    turn, spent = state["turn"], state.get("usage") or no_usage()
    branches = [
        Send("compress_topic", TopicBranch(number=number, result=result, turn=turn, spent=spent))
        for number, result in enumerate(state.get("search_results", []))
        if result["useful_webpages"]
    ]
    return branches or "write_report"
