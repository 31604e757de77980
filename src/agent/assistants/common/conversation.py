"""Reading a thread: the question, what was said before, and what the last answer cited."""

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from pydantic import TypeAdapter, ValidationError

from agent.core.errors import InputError
from agent.evidence.citations import carry_over, renumber_for_prompt
from agent.evidence.queries import clean_text
from agent.evidence.types import Place, Source
from agent.state import Previous

MAX_QUESTION = 20_000
_KEPT_TURNS, _KEPT_CHARACTERS = 6, 600
_SOURCES = TypeAdapter(list[Source])
_PLACES = TypeAdapter(list[Place])


def last_question(messages: Sequence[AnyMessage]) -> HumanMessage:
    """The message that asks; raises InputError where there is none."""
    for message in reversed(messages):
        if isinstance(message, HumanMessage):
            return message
    raise InputError("messages", "there is no question: send a human message")


def get_research_topic(messages: Sequence[AnyMessage]) -> str:
    """The present question as clean text; raises InputError if it is empty or too long."""
    raw = str(last_question(messages).text)
    if len(raw) > MAX_QUESTION:
        raise InputError("messages", f"the question is longer than {MAX_QUESTION} characters")
    question = clean_text(raw, MAX_QUESTION)
    if not question:
        raise InputError("messages", "the question is empty")
    return question


def conversation(messages: Sequence[AnyMessage], cited: Sequence[Source]) -> str:
    """The turns before the present question, shortened, one line each; `cited` under new ids."""
    said: list[str] = []
    asked_now = last_question(messages)
    for message in messages:
        if message is asked_now:
            break
        if isinstance(message, HumanMessage | AIMessage) and (text := str(message.text).strip()):
            who = "user" if isinstance(message, HumanMessage) else "assistant"
            shown = clean_text(renumber_for_prompt(text, cited), _KEPT_CHARACTERS)
            said.append(f"{who}: {shown}")
    return "\n".join(said[-_KEPT_TURNS:])


def previous_evidence(messages: Sequence[AnyMessage]) -> Previous:
    """The sources and places the last answer cited, under new ids; tolerant of foreign messages."""
    for message in reversed(messages):
        if isinstance(message, AIMessage):
            return _evidence_of(message.additional_kwargs)
    return Previous(sources=[], places=[])


def _evidence_of(kept: dict[str, Any]) -> Previous:
    try:
        sources = _SOURCES.validate_python(kept.get("sources") or [])
        places = _PLACES.validate_python(kept.get("places") or [])
    except ValidationError:
        return Previous(sources=[], places=[])
    carried = carry_over(sources, "p0")
    renamed = {old["id"]: new["id"] for old, new in zip(sources, carried, strict=True)}
    kept_places = [Place(**{**p, "source": renamed[p["source"]]}) for p in places
                   if p["source"] in renamed]  # fmt: skip
    return Previous(sources=carried, places=kept_places)
