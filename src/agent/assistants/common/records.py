"""Records as lines for a model or a reader, and the length of prompts that hold them."""

import json
from collections.abc import Iterable, Sequence
from datetime import date

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.tools import BaseTool

from agent.core.strings import estimated_tokens
from agent.evidence.geo import distance_text, duration_text
from agent.evidence.types import Place, Route, Source, Weather
from agent.texts import say
from agent.texts.language import Language


def place_lines(places: Iterable[Place], language: Language) -> str:
    """One line a place, with its id first."""
    return "\n".join(f"[^{p['source']}] {_place_facts(p, language)}" for p in places)


def _place_facts(place: Place, language: Language) -> str:
    far = distance_text(place["distance_m"])
    if far and place["distance_from"]:
        far = say("records.far", language, origin=place["distance_from"], distance=far)
    facts = (
        place["name"],
        place["category"],
        far,
        f"★{place['rating']:g}" if place["rating"] is not None else None,
        f"¥{place['cost']:g}" if place["cost"] is not None else None,
        place["open_time"],
        place["address"],
    )
    return " | ".join(fact for fact in facts if fact)


def route_lines(routes: Iterable[Route], language: Language) -> str:
    """One line a route: mode, ends, distance, duration."""
    return "\n".join(f"[^{r['source']}] {route_text(r, language)}" for r in routes)


def route_text(route: Route, language: Language) -> str:
    mode = say(f"records.modes.{route['mode']}", language)
    ends = f"{route['origin']} → {route['destination']}"
    facts = (distance_text(route["distance_m"]), duration_text(route["duration_s"], language))
    return " · ".join(
        [f"{mode}{say('punctuation.colon', language)}{ends}", *(fact for fact in facts if fact)]
    )


def weather_lines(weather: Iterable[Weather], language: Language) -> str:
    """One line a day."""
    return "\n".join(
        f"[^{w['source']}] {line}" for w in weather for line in weather_texts(w, language)
    )


def weather_texts(weather: Weather, language: Language) -> list[str]:
    lines = []
    for day in weather["days"]:
        sky = day["day"] if day["day"] == day["night"] else f"{day['day']}/{day['night']}"
        facts = [f"{weather['city']} {_dated(day['date'], language)}", sky]
        if day["low_c"] is not None and day["high_c"] is not None:
            facts.append(f"{day['low_c']}–{day['high_c']} °C")
        if day["wind"]:
            facts.append(day["wind"])
        lines.append(" · ".join(facts))
    return lines


def _dated(day: str, language: Language) -> str:
    """`2026-11-21 周六`: people ask for days of the week; the text itself where it is no date."""
    try:
        weekday = date.fromisoformat(day).isoweekday()
    except ValueError:
        return day
    return f"{day} {say(f'records.weekdays.{weekday}', language)}"


def source_lines(sources: Iterable[Source]) -> str:
    """One line a source, with its id and the first sentence it supports."""
    return "\n".join(
        f"[^{s['id']}] {s['title']}" + (f" — {s['quotes'][0][:160]}" if s["quotes"] else "")
        for s in sources
    )


_PER_MESSAGE = 8
_PER_TOOL = 20


def prompt_tokens(messages: Sequence[BaseMessage]) -> int:
    """The estimated tokens of a prompt: texts, tool calls and what separates them."""
    return sum(_message_tokens(message) for message in messages)


def tools_tokens(tools: Sequence[BaseTool]) -> int:
    """The estimated tokens that the descriptions of tools add to a prompt."""
    return sum(_tool_tokens(tool) for tool in tools)


def _tool_tokens(tool: BaseTool) -> int:
    asked = json.dumps(tool.args, ensure_ascii=False)
    return estimated_tokens(tool.name + tool.description + asked) + _PER_TOOL


def _message_tokens(message: BaseMessage) -> int:
    calls = message.tool_calls if isinstance(message, AIMessage) else []
    asked = json.dumps([[call["name"], call["args"]] for call in calls], ensure_ascii=False)
    content = message.content if isinstance(message.content, str) else str(message.content)
    return estimated_tokens(content) + estimated_tokens(asked if calls else "") + _PER_MESSAGE
