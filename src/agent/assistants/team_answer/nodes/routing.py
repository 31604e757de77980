"""Where a discussion goes next."""

from typing import Literal

from langchain_core.messages import AIMessage

from agent.assistants.team_answer.state import TeamState


def after_group_chat(state: TeamState) -> Literal["group_chat", "use_tools", "synthesize"]:
    """To the tools that were called, to the end, or on with the discussion."""
    if state.get("ended"):
        return "synthesize"
    pending = state.get("pending")
    last = pending[-1] if pending else None
    return "use_tools" if isinstance(last, AIMessage) and last.tool_calls else "group_chat"
