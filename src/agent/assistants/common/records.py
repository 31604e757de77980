"""Records as lines for a model or a reader, and the length of prompts that hold them."""

import json
from collections.abc import Iterable, Sequence

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.tools import BaseTool

from agent.core.strings import estimated_tokens
from agent.evidence.records import day_text, place_facts, route_text
from agent.evidence.types import Place, Route, Source, Weather
from agent.texts.language import Language


def place_lines(places: Iterable[Place], language: Language) -> str:
    """Return one line a place, with its id first."""
    return "\n".join(f"[^{p['source']}] {place_facts(p, language)}" for p in places)


def route_lines(routes: Iterable[Route], language: Language) -> str:
    """Return one line a route: mode, ends, distance, duration, the way."""
    return "\n".join(f"[^{r['source']}] {route_text(r, language)}" for r in routes)


def weather_lines(weather: Iterable[Weather], language: Language) -> str:
    """Return one line a day."""
    return "\n".join(
        f"[^{w['source']}] {line}" for w in weather for line in weather_texts(w, language)
    )


def weather_texts(weather: Weather, language: Language) -> list[str]:
    """Return each day of a forecast with the city."""
    city = weather["city"]
    return [f"{city} {day_text(day, language)}" for day in weather["days"]]


def source_lines(sources: Iterable[Source]) -> str:
    """Return one line a source, with its id and the first sentences it supports."""
    return "\n".join(
        " — ".join(filter(None, [f"[^{s['id']}] {s['title']}", _quote(s)])) for s in sources
    )


def _quote(source: Source) -> str:
    return " / ".join(quote[:_LONGEST_QUOTE] for quote in source["quotes"][:_SHOWN_QUOTES])


_SHOWN_QUOTES, _LONGEST_QUOTE = 3, 160


_PER_MESSAGE = 8
_PER_TOOL = 20


def prompt_tokens(messages: Sequence[BaseMessage]) -> int:
    """Return the estimated tokens of a prompt: texts, tool calls and what separates them."""
    return sum(_message_tokens(message) for message in messages)


def tools_tokens(tools: Sequence[BaseTool]) -> int:
    """Return the estimated tokens that the descriptions of tools add to a prompt."""
    return sum(_tool_tokens(tool) for tool in tools)


def _tool_tokens(tool: BaseTool) -> int:
    arguments = json.dumps(tool.args, ensure_ascii=False)
    return estimated_tokens(tool.name + tool.description + arguments) + _PER_TOOL


def _message_tokens(message: BaseMessage) -> int:
    calls = message.tool_calls if isinstance(message, AIMessage) else []
    rows = json.dumps([[call["name"], call["args"]] for call in calls], ensure_ascii=False)
    content = message.content if isinstance(message.content, str) else str(message.content)
    return estimated_tokens(content) + estimated_tokens(rows if calls else "") + _PER_MESSAGE
