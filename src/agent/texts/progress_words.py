"""Word a run's progress events, for every place that shows them: terminal, MCP."""

from collections.abc import Mapping
from typing import Any

from agent.core.strings import one_line
from agent.texts import has, say
from agent.texts.language import Language

_WIDEST = 160


def event_line(event: Mapping[str, Any], language: Language) -> str:
    """Return one event in words; empty for those that say nothing new."""
    kind, text = str(event.get("type", "")), str(event.get("text") or "")
    if kind == "notice":
        return one_line(text)
    if kind == "reflection" and not event.get("count"):
        kind = "short" if text else "enough"
    if not has(f"progress.events.{kind}"):
        return ""
    if kind == "map_call":
        text = _map_call(text, language)
    if kind in ("queries", "sub_questions", "tasks"):
        text = say("punctuation.semicolon", language).join(text.splitlines())
    speaker, count = str(event.get("speaker") or ""), event.get("count", 0)
    if has(f"progress.speakers.{speaker}"):
        speaker = say(f"progress.speakers.{speaker}", language)
    line = say(f"progress.events.{kind}", language, count=count, speaker=speaker, text=text)
    line = one_line(line, longest=_WIDEST)
    seconds = event.get("seconds")
    return f"{line} ({seconds:.1f} s)" if isinstance(seconds, int | float) else line


def _map_call(text: str, language: Language) -> str:
    """Return `maps_geo 王府井` in plain words; the text itself for an unknown tool."""
    tool, _, about = text.partition(" ")
    for name in (tool, "_".join(tool.split("_")[:2])):
        if has(f"progress.map_calls.{name}"):
            return say(f"progress.map_calls.{name}", language, text=about).strip()
    return text
