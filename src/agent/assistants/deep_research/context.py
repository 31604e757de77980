"""The prompts of exploration, and how much of `context_token_limit` they use."""

from langchain_core.messages import AnyMessage, BaseMessage, HumanMessage, SystemMessage

from agent.assistants.deep_research.state import DeepState
from agent.configuration import Configuration
from agent.evidence.lengths import cut_to_tokens
from agent.nodes.prompt_size import prompt_tokens
from agent.prompts import render

_TOOLS = 700
"""Tokens for the descriptions of our own tools, a reply's beginning and separators."""
_MAP_TOOLS = 1500
_RECORD = 400


def topic_messages(state: DeepState) -> list[AnyMessage]:
    """What was said in the present topic."""
    return state["messages"][state["base"] :]


def explore_prompt(state: DeepState, configuration: Configuration) -> list[BaseMessage]:
    """The instructions, the question with what is done, and the present topic's messages."""
    turn, limit = state["turn"], configuration.context_token_limit
    language = turn["language"]
    values = {
        "today": turn["today"],
        "conversation": cut_to_tokens(state["conversation"], limit // 10),
        "topics_done": cut_to_tokens(topics_done(state), limit // 6),
        "topic": state["topic"],
        "question": cut_to_tokens(turn["question"], limit // 5),
    }
    return [
        SystemMessage(render("deep_explore_system", language)),
        HumanMessage(render("deep_explore", language, **values)),
        *topic_messages(state),
    ]


def topics_done(state: DeepState) -> str:
    """One line a closed topic: its name, how many pages it kept, why it was left."""
    lines = []
    for entry in state.get("search_results", []):
        kept = f"{entry['topic']} ({len(entry['useful_webpages'])})"
        lines.append("- " + cut_to_tokens(f"{kept}: {entry['reason']}", _RECORD))
    return "\n".join(lines)


def room(state: DeepState, configuration: Configuration, *, maps: bool) -> int:
    """The tokens that the next prompt could still take."""
    used = prompt_tokens(explore_prompt(state, configuration))
    return configuration.context_token_limit - used - _TOOLS - (_MAP_TOOLS if maps else 0)
