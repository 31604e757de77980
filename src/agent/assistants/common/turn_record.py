"""Keep of a turn what its thread needs later: how it went, and of old answers what they cite."""

import json
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Self, cast

from langchain_core.messages import AIMessage, AnyMessage
from langgraph.constants import START
from langgraph.errors import GraphBubbleUp
from langgraph.graph import StateGraph
from langgraph.runtime import Runtime
from langgraph.typing import ContextT, InputT, OutputT, StateT

from agent.assistants.common.own_documents import owner_of
from agent.configuration import Configuration
from agent.core.progress import Emit
from agent.core.telemetry import (
    CANCELLED,
    STEP,
    RunEnd,
    Status,
    Step,
    StepEnd,
    code_of,
    tell,
    tell_end,
)
from agent.export.finished import PRINTED_QUOTES
from agent.state import Gathered, replaced

PROGRESS = "progress"
"""Key of the state, and of a message's additional_kwargs: the events of the turn."""
MOST_BYTES = 8000
_LENGTHS = (240, 120, 60, 30)
_FIELDS = ("type", "id", "text", "speaker", "count", "seconds", "at")
_FLEETING = "map_found"
"""Kind of event that only tells early what the answer has."""
_CORRECTED = ("repaired", "contradicted")
"""Verdicts of statements whose quote an export prints."""

Node = Callable[..., Awaitable[Mapping[str, Any]]]


class ResearchGraph(StateGraph[StateT, ContextT, InputT, OutputT]):
    """Extend StateGraph: the events that a node sends are in the state, too, so that they last.

    `telemetry` hears of each node, and of runs that a node's error or pause ends.
    """

    assistant = ""

    def add_node(self, node: str, action: Node, **options: Any) -> Self:  # type: ignore[override]
        """Add a node whose events are recorded."""
        super().add_node(node, self._observed(node, _recorded(action)), **options)
        return self

    def compile(self, *args: Any, **options: Any) -> Any:
        """Compile as StateGraph does; the name is the assistant's."""
        self.assistant = options.get("name") or ""
        return super().compile(*args, **options)

    def _observed(self, node: str, action: Node) -> Node:
        async def run(state: Any, runtime: Runtime[Configuration]) -> Mapping[str, Any]:
            step = self._step(node, runtime)
            turn = {} if (START, node) in self.edges else state.get("turn") or {}
            step.turn_id = turn.get("id", "")
            with _telling(step, turn.get("started_at", step.began_at)):
                update = await action(state, runtime)
                step.turn_id = (update.get("turn") or {}).get("id") or step.turn_id
                return update

        return run

    def _step(self, node: str, runtime: Runtime[Configuration]) -> Step:
        info = runtime.execution_info
        return Step(
            self.assistant,
            node,
            owner_of(runtime),
            thread_id=(info and info.thread_id) or "",
            run_id=(info and info.run_id) or "",
        )


@contextmanager
def _telling(step: Step, began: float) -> Iterator[None]:
    """Have what is within know its step, and tell of its end; `began` is the question's time."""
    token, code, status = STEP.set(step), "", ""
    try:
        yield
    except GraphBubbleUp:
        status = "paused"
        raise
    except Exception as error:
        code, status = code_of(error), "error"
        raise
    except BaseException:
        code = status = CANCELLED
        raise
    finally:
        STEP.reset(token)
        tell(StepEnd(step, code))
        if status:
            tell_end(RunEnd(step, cast(Status, status), time.time() - began))


class Recorder:
    """Send events, and remember them with the time in milliseconds since 1970."""

    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self.events: list[dict[str, Any]] = []

    def __call__(self, event: Any) -> None:
        if isinstance(event, Mapping) and event.get("type") != _FLEETING:
            lasting = {name: event[name] for name in _FIELDS if name in event}
            self.events.append({**lasting, "at": int(time.time() * 1000)})
        self._emit(event)


def _recorded(action: Node) -> Node:
    async def run(state: Any, runtime: Runtime[Configuration]) -> Mapping[str, Any]:
        recorder = Recorder(runtime.stream_writer)
        update = await action(state, replace(runtime, stream_writer=recorder))
        if not recorder.events and PROGRESS not in update:
            return update
        if PROGRESS not in update:
            return {**update, PROGRESS: recorder.events}
        # The turn's first node empties it, its last one has it in the message.
        return {**update, PROGRESS: replaced(recorder.events if update[PROGRESS] is None else [])}

    return run


def progress_of(state: Gathered, emit: Emit) -> list[dict[str, Any]]:
    """Return the turn's events so far, `at` in milliseconds since its begin, within MOST_BYTES.

    Long texts are cut before events are left out, and those from the end: the last two stay.
    """
    recorded = emit.events if isinstance(emit, Recorder) else []
    events = sorted([*state.get("progress", []), *recorded], key=lambda event: event["at"])
    began = state["turn"]["started_at"] * 1000
    rows = [{name: event[name] for name in _FIELDS if name in event} for event in events]
    for row in rows:
        row["at"] = max(0, round(row["at"] - began))
    for length in _LENGTHS:
        shorter = [_cut(row, length) for row in rows]
        if _bytes(shorter) <= MOST_BYTES:
            return shorter
    while len(shorter) > 2 and _bytes(shorter) > MOST_BYTES:
        del shorter[-3]
    return shorter


def _cut(row: Mapping[str, Any], length: int) -> dict[str, Any]:
    text = row.get("text")
    if text is None or len(text) <= length:
        return dict(row)
    return {**row, "text": f"{text[: length - 1]}…"}


def _bytes(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False).encode())


def lightened(messages: Sequence[AnyMessage]) -> list[AIMessage]:
    """Return the answers that still have all their evidence, without it.

    What they keep: numbered sources with a quote each, the places that they name, and all that is
    no evidence. They have their ids, by which they replace what the thread has.
    """
    answers = [m for m in messages if isinstance(m, AIMessage) and m.id]
    light = ((message, without_evidence(message.additional_kwargs)) for message in answers)
    return [
        message.model_copy(update={"additional_kwargs": fields})
        for message, fields in light
        if fields != message.additional_kwargs
    ]


def without_evidence(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the additional_kwargs of an answer as an old message has them.

    A client may have sent the message itself: what is not of our form is left as it is.
    """
    light = dict(fields)
    if sources := _rows(fields.get("sources")):
        light["sources"] = [
            {**source, "quotes": _printed(source.get("quotes"))}
            for source in sources
            if source.get("number")
        ]
    if places := _rows(fields.get("places")):
        light["places"] = [place for place in places if place.get("mentioned")] or places
    checks = fields.get("checks")
    if isinstance(checks, Mapping) and (rows := _rows(checks.get("statements"))):
        light["checks"] = {**checks, "statements": [_without_quote(row) for row in rows]}
    return light


def _printed(quotes: Any) -> list[Any]:
    """Return the quotes of a source that an export prints: the file stays what it was."""
    return quotes[:PRINTED_QUOTES] if isinstance(quotes, list) else []


def _rows(value: Any) -> list[Mapping[str, Any]]:
    rows = value if isinstance(value, list) else []
    return rows if all(isinstance(row, Mapping) for row in rows) else []


def _without_quote(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a statement; an export prints the quotes of those that a source corrects."""
    keeps = row.get("verdict") in _CORRECTED
    return {name: value for name, value in row.items() if keeps or name != "quote"}
