"""Asking a running server through its SDK: the same request, the same outcome."""

import asyncio
import contextlib
import time
from collections.abc import Mapping
from typing import Any

import httpx
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.schema import Command

from agent.cli.request import Request
from agent.cli.watch import Watcher
from agent.client.connection import connected, find_assistant, message_of, refusal
from agent.client.run_result import Outcome, Pause, RunName, outcome_of, pause_of
from agent.client.settings_schema import checked_settings
from agent.core.errors import AgentError, InputError

_CANCEL_SECONDS = 5.0


async def ask_server(
    request: Request, watcher: Watcher, accepted: asyncio.Event
) -> Outcome | Pause:
    """Run the assistant on `request.url`, to its answer or to where it waits for one.

    Cancelling cancels the run there. Raises AgentError.
    """
    url = request.url or ""
    async with connected(url) as client:
        try:
            return await _Course(client, request, watcher).ask(accepted)
        except httpx.HTTPError as error:
            raise refusal(url, error) from None


class _Course:
    """One question on its way through a server."""

    def __init__(self, client: LangGraphClient, request: Request, watcher: Watcher) -> None:
        self._client, self._request, self._watcher = client, request, watcher
        self._thread_id = request.thread_id
        self._run_id = ""
        self._values: dict[str, Any] = {}

    async def ask(self, accepted: asyncio.Event) -> Outcome | Pause:
        began = time.monotonic()
        assistant = await find_assistant(self._client, self._request.assistant)
        context = await self._context(assistant)
        if self._request.question is None:
            state = await self._state()
            if not state["next"]:
                self._run_id = str((state.get("metadata") or {}).get("run_id") or "")
                return self._outcome(state["values"], 0.0)
        else:
            await self._client.threads.create(
                thread_id=self._thread_id, if_exists="do_nothing", graph_id=assistant["graph_id"]
            )
        try:
            await self._stream(assistant["assistant_id"], context, accepted)
        except asyncio.CancelledError:
            await self._cancel()
            raise
        if pause := pause_of(self._values):
            return pause
        return self._outcome(self._values, time.monotonic() - began)

    async def _context(self, assistant: Mapping[str, Any]) -> dict[str, Any]:
        schemas = await self._client.assistants.get_schemas(assistant["assistant_id"])
        taken = (schemas.get("input_schema") or {}).get("properties", {})
        if self._request.format_requirement is not None and "format_requirement" not in taken:
            hint = f"is not taken by {self._request.assistant}"
            raise InputError("--format-requirement", hint)
        schema = schemas.get("context_schema") or schemas.get("config_schema") or {}
        return checked_settings(self._request.context, schema, saves=self._request.saves)

    async def _state(self) -> Mapping[str, Any]:
        """The thread as it is once nothing runs on it any more."""
        try:
            for run in await self._client.runs.list(self._thread_id, limit=1):
                if run["status"] in ("pending", "running"):
                    await self._client.runs.join(self._thread_id, run["run_id"])
            state = await self._client.threads.get_state(self._thread_id)
        except httpx.HTTPStatusError as error:
            if error.response is not None and error.response.status_code == 404:
                raise InputError("--thread", f"the server has no {self._thread_id}") from None
            raise
        if not state["values"]:
            raise InputError("--thread", f"there is nothing on {self._thread_id}")
        return state

    async def _stream(
        self, assistant_id: str, context: dict[str, Any], accepted: asyncio.Event
    ) -> None:
        parts = self._client.runs.stream(
            self._thread_id,
            assistant_id,
            input=self._request.graph_input(),
            command=Command(resume=resume) if (resume := self._request.resume) else None,
            context=context or None,
            stream_mode=["custom", "messages-tuple", "values"],
            stream_resumable=True,
            durability="sync",
        )
        failure = ""
        async for part in parts:
            match part.event:
                case "metadata":
                    self._run_id = str(part.data.get("run_id") or self._run_id)
                    accepted.set()
                case "custom":
                    self._watcher.event(part.data)
                case "messages":
                    self._hear(part.data)
                case "values":
                    self._values = part.data
                case "error":
                    failure = message_of(part.data)
        # Raised only now: a stream left before its end complains when it is collected.
        if failure:
            raise AgentError(failure)

    def _hear(self, data: Any) -> None:
        chunk = data[0] if isinstance(data, list) and data else {}
        if chunk.get("type") == "AIMessageChunk":
            content = chunk.get("content")
            self._watcher.token(content if isinstance(content, str) else "")

    async def _cancel(self) -> None:
        """Tell the server, but do not wait for one that is gone."""
        if self._run_id:
            with contextlib.suppress(httpx.HTTPError, TimeoutError):
                async with asyncio.timeout(_CANCEL_SECONDS):
                    await self._client.runs.cancel(self._thread_id, self._run_id, wait=True)

    def _outcome(self, values: Any, seconds: float) -> Outcome:
        run = RunName(self._request.assistant, self._thread_id, self._run_id)
        return outcome_of(values, run, seconds)
