"""The tools of exploration as a model sees them, and its arguments read tolerantly.

They are only described here: `act` executes searches, `switch_topic` changes and endings.
"""

from collections.abc import Mapping
from typing import Any

from langchain_core.messages import ToolCall
from langchain_core.tools import BaseTool, tool

from agent.evidence.queries import clean_text

THINK, SEARCH = "think_tool", "tavily_search"
CHANGE, END = "change_research_topic", "end_of_research"
OWN = (THINK, SEARCH, CHANGE, END)
MAX_QUERIES = 5
_MAX_QUERY, _MAX_TOPIC, _MAX_REASON, _MAX_THOUGHT, _MAX_URLS = 400, 120, 300, 1500, 60


@tool
def think_tool(reflection: str) -> str:
    """Note what was found, what is missing and what to do next; before and after each search."""
    return reflection


@tool
def tavily_search(queries: list[str]) -> str:
    """Search the web for one or more distinct queries at once."""
    return ""


@tool
def change_research_topic(
    new_topic: str, reason: str, search_result_of_current_topic: list[str]
) -> str:
    """Close the present topic, keeping its useful URLs, and begin another one."""
    return ""


@tool
def end_of_research(search_result_of_current_topic: list[str]) -> str:
    """End the research, keeping the useful URLs of the present topic."""
    return ""


EXPLORING: tuple[BaseTool, ...] = (
    think_tool,
    tavily_search,
    change_research_topic,
    end_of_research,
)


def thought_of(call: ToolCall) -> str:
    return _text(call["args"], "reflection", _MAX_THOUGHT)


def queries_of(call: ToolCall) -> list[str]:
    """The distinct queries of a search, at most five."""
    asked = _texts(call["args"], "queries", "query")
    cleaned = [text for query in asked if (text := clean_text(query, _MAX_QUERY))]
    return list(dict.fromkeys(cleaned))[:MAX_QUERIES]


def new_topic_of(call: ToolCall) -> str:
    return _text(call["args"], "new_topic", _MAX_TOPIC)


def reason_of(call: ToolCall) -> str:
    return _text(call["args"], "reason", _MAX_REASON)


def urls_of(call: ToolCall) -> list[str]:
    """What the model calls useful, as it wrote it."""
    named = _texts(call["args"], "search_result_of_current_topic")
    return list(dict.fromkeys(url.strip() for url in named if url.strip()))[:_MAX_URLS]


def _text(arguments: Mapping[str, Any], name: str, limit: int) -> str:
    value = arguments.get(name)
    return clean_text(value, limit) if isinstance(value, str) else ""


def _texts(arguments: Mapping[str, Any], *names: str) -> list[str]:
    """A list of texts; models also write one text, or lines, where a list is asked for."""
    value = next((arguments[name] for name in names if arguments.get(name)), None)
    if isinstance(value, str):
        return value.splitlines()
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
