"""Build the progress events of a run: small dicts, sent as LangGraph custom events.

Clients: `stream_mode="custom"`. Every event has `type` and `node`; the other keys only where they
mean something. `text` is for people, in the question's language; `count` is a number of results,
`seconds` the duration of the step. `spots` and `sources` tell what was found, before the answer
does.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from agent.core.budget import Meter
from agent.core.telemetry import STEP

EventType = Literal[
    "notice",
    "wish",
    "drop",
    "queries",
    "waiting",
    "search_started",
    "search_done",
    "map_started",
    "map_call",
    "map_found",
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
    "drafting",
    "judged",
    "revising",
    "withdrawn",
    "checking",
    "done",
]


SpotRole = Literal["anchor", "place", "origin", "destination"]


class Spot(TypedDict):
    """Something that the map has located."""

    role: SpotRole
    name: str
    lng: float
    lat: float
    """Degrees, WGS-84."""
    id: NotRequired[str]
    """Of a place."""


class ListedSource(TypedDict):
    """A page as a search lists it."""

    title: str
    url: str
    site: str


class ProgressEvent(TypedDict):
    type: EventType
    node: str
    id: NotRequired[str]
    text: NotRequired[str]
    speaker: NotRequired[str]
    """Who says it, in a discussion."""
    count: NotRequired[int]
    seconds: NotRequired[float]
    spots: NotRequired[list[Spot]]
    sources: NotRequired[list[ListedSource]]


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
    spots: Sequence[Spot] = (),
    sources: Sequence[ListedSource] = (),
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
    if spots:
        fields["spots"] = list(spots)
    if sources:
        fields["sources"] = list(sources)
    return fields


SECONDS_BETWEEN_SIGNS = 15.0


@contextmanager
def said_while_waiting(provider: str, meter: Meter) -> Iterator[None]:
    """Send an event every 15 s while an outside call works, from within a graph.

    Of calls side by side one is told.
    """
    loop = asyncio.get_running_loop()
    began = loop.time()
    timer: asyncio.TimerHandle

    def sign() -> None:
        nonlocal timer
        timer = loop.call_later(SECONDS_BETWEEN_SIGNS, sign)
        if not meter.budget.may_tell(SECONDS_BETWEEN_SIGNS / 2):
            return
        # Loaded by whoever runs a graph; it would cost every other command a second.
        from langgraph.config import get_stream_writer

        step, service = STEP.get(), provider.partition(":")[0]
        with suppress(RuntimeError):
            write, seconds = get_stream_writer(), loop.time() - began
            node = step.node if step else ""
            write(event("waiting", node, id=service, speaker=service, seconds=seconds))

    timer = loop.call_later(SECONDS_BETWEEN_SIGNS, sign)
    try:
        yield
    finally:
        timer.cancel()
