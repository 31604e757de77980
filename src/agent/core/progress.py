"""Build the progress events of a run: small dicts, sent as LangGraph custom events.

Clients: `stream_mode="custom"`. Every event has `type` and `node`; the other keys only where they
mean something. `text` is for people, in the question's language; `count` is a number of results,
`seconds` the duration of the step.
"""

from collections.abc import Callable
from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

EventType = Literal[
    "notice",
    "wish",
    "drop",
    "queries",
    "search_started",
    "search_done",
    "map_started",
    "map_call",
    "map_done",
    "reflection",
    "thought",
    "topic_started",
    "topic_done",
    "reading",
    "compressed",
    "analysis",
    "sub_questions",
    "turn_started",
    "turn",
    "code",
    "tasks",
    "task_started",
    "task_done",
    "download",
    "ingested",
    "passages",
    "gap",
    "answering",
    "done",
]


class ProgressEvent(TypedDict):
    type: EventType
    node: str
    id: NotRequired[str]
    text: NotRequired[str]
    speaker: NotRequired[str]
    """Who says it, in a discussion."""
    count: NotRequired[int]
    seconds: NotRequired[float]


Emit = Callable[[Any], None]
"""LangGraph's stream writer."""


def event(
    kind: EventType,
    node: str,
    *,
    id: str | None = None,
    text: str | None = None,
    count: int | None = None,
    seconds: float | None = None,
    speaker: str | None = None,
) -> ProgressEvent:
    """Return a progress event without its empty keys."""
    fields: ProgressEvent = {"type": kind, "node": node}
    if id is not None:
        fields["id"] = id
    if text is not None:
        fields["text"] = text
    if speaker is not None:
        fields["speaker"] = speaker
    if count is not None:
        fields["count"] = count
    if seconds is not None:
        fields["seconds"] = round(seconds, 3)
    return fields
