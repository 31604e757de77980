"""Stand in for the server behind `/mcp` and `/v1`: one assistant, whose run goes by a script."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, NamedTuple, Self

import pytest

from agent.core.budget import no_usage
from tests.unit.export_samples import place, source

THREAD = "5f0d3fd3-6bbf-4b8e-9d3c-0f3a3f7f3b11"
SCHEMA = {
    "properties": {
        "messages": {"type": "array"},
        "reasoning_model": {"type": "string"},
        "user_location": {"anyOf": [{"$ref": "#/$defs/Point"}, {"type": "null"}]},
    },
    "$defs": {"Point": {"type": "object", "title": "Point", "properties": {}}},
}


class Part(NamedTuple):
    """As the SDK's stream gives it."""

    event: str
    data: Any
    id: str | None = None


def answered(**kept: Any) -> Part:
    """The state a finished run leaves."""
    carried = {
        "sources": [source(2), source(1)],
        "places": [place(1, mentioned=False), place(2)],
        "usage": no_usage(),
        **kept,
    }
    messages = [
        {"type": "human", "content": "问题"},
        {"type": "ai", "content": "答案[1](https://example.com/a)", "additional_kwargs": carried},
    ]
    return Part("values", {"messages": messages})


class Engine:
    """A server that rules what this process itself asks of it."""

    rules_its_own_calls = True


def use_stand_in(patch: pytest.MonkeyPatch) -> None:
    """Take the stand-in for the server that is loaded, whichever tests ran before."""
    patch.setattr("agent.runs.engine._engine", Engine())


class ServerApi:
    """The parts of a LangGraph client that a call uses; `script` is what a run's stream gives."""

    def __init__(self, *script: Part | Exception) -> None:
        self.script = script
        self.assistants = self.threads = self.runs = self
        self.found: list[dict[str, Any]] = [assistant("agent", "system")]
        self.sent: dict[str, Any] = {}
        self.schemas_asked: list[str] = []
        self.cancelled: list[str] = []
        self.noted: dict[str, Any] = {}
        self.hangs = False
        self._ended: dict[str, Any] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Nothing is open."""

    async def search(self, **_: Any) -> list[dict[str, Any]]:
        return self.found

    async def get_schemas(self, assistant_id: str) -> dict[str, Any]:
        self.schemas_asked.append(assistant_id)
        await asyncio.sleep(0)
        return {"input_schema": SCHEMA, "context_schema": {}}

    async def create(self, *given: str, **options: Any) -> dict[str, str]:
        if given:
            self.sent = options
        return {"thread_id": THREAD, "run_id": "run-1"}

    async def update(self, thread_id: str, *, metadata: dict[str, Any]) -> None:
        self.noted |= metadata

    async def join_stream(self, *_: str, **__: Any) -> AsyncIterator[Part]:
        for part in self.script:
            if isinstance(part, Exception):
                raise part
            self._ended[part.event] = part.data
            yield part
        if self.hangs:
            await asyncio.Event().wait()
        self._ended.setdefault("end", None)

    async def list(self, *_: str, **__: Any) -> list[dict[str, Any]]:
        """The run as the script left it."""
        status = "error" if "error" in self._ended else "success"
        return [{"run_id": "run-1", "status": status if "end" in self._ended else "running"}]

    async def get_state(self, *_: str) -> dict[str, Any]:
        values = dict(self._ended.get("values") or {})
        return {
            "values": values,
            "next": [],
            "tasks": [],
            "interrupts": values.pop("__interrupt__", []),
            "metadata": {"run_id": "run-1"},
        }

    async def cancel(self, thread_id: str, run_id: str, **_: Any) -> None:
        self.cancelled.append(run_id)


def assistant(name: str, by: str = "user", **changed: Any) -> dict[str, Any]:
    return {
        "assistant_id": f"{abs(hash((name, by))):032x}",
        "graph_id": "agent",
        "name": name,
        "description": "Answers. Send the question as the last message.",
        "metadata": {"created_by": by},
        "created_at": "2026-11-21",
        "updated_at": "2026-11-21",
        **changed,
    }
