"""Route a deep research between its nodes."""

from typing import Literal

from langchain_core.messages import AIMessage
from langgraph.types import Send

from agent.assistants.deep_research.state import DeepState, TopicBranch, topic_messages
from agent.core.budget import no_usage


def after_explore(state: DeepState) -> Literal["act", "switch_topic", "explore"]:
    """Route to what the model or a limit asked for; back where the model only talked."""
    if state.get("intent"):
        return "switch_topic"
    return "act" if _has_calls(state) else "explore"


def after_act(state: DeepState) -> Literal["switch_topic", "explore"]:
    """Route to a recorded change or end; else back to the model."""
    return "switch_topic" if state.get("intent") else "explore"


def after_switch(state: DeepState) -> list[Send] | Literal["explore", "act", "review_notes"]:
    """Route on with the research, to a branch for each topic without notes, or to their review."""
    if state["exploring"]:
        return "act" if _has_calls(state) else "explore"
    branches = [Send("compress_topic", branch) for branch in topic_branches(state)]
    return branches or "review_notes"


def _has_calls(state: DeepState) -> bool:
    """Return whether the topic's last message asks for something."""
    last = next(reversed(topic_messages(state)), None)
    return isinstance(last, AIMessage) and bool(last.tool_calls)


def after_notes(state: DeepState) -> Literal["explore", "write_report"]:
    """Route to what the review wants to know, else to the report."""
    return "explore" if state["exploring"] else "write_report"


def topic_branches(state: DeepState) -> list[TopicBranch]:
    """Return a branch for each topic with pages and without notes."""
    turn, spent = state["turn"], state.get("usage") or no_usage()
    return [
        TopicBranch(number=number, result=entry, turn=turn, spent=spent)
        for number, entry in enumerate(state.get("search_results", []))
        if entry["useful_webpages"] and entry["compressed_content"] is None
    ]
