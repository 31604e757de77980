"""Asking a running server through its SDK: the same request, the same outcome."""

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import httpx
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import NotFoundError

from agent import __version__
from agent.cli.outcome import Outcome, RunName, outcome_of
from agent.cli.request import Request
from agent.cli.server_settings import checked_settings
from agent.cli.watch import Watcher
from agent.errors import AgentError, ConfigurationError, InputError
from agent.models.proxy import is_loopback, proxy_for
from agent.redaction import hide

KEY_NAME = "TANLU_API_KEY"
_CANCEL_SECONDS = 5.0


async def ask_server(request: Request, watcher: Watcher, accepted: asyncio.Event) -> Outcome:
    """Run the assistant on `request.url`; cancelling cancels the run there. Raises AgentError."""
    url = request.url or ""
    async with _connected(url) as client:
        try:
            return await _Course(client, request, watcher).ask(accepted)
        except httpx.HTTPStatusError as error:
            raise _refusal(url, error) from None
        except httpx.TimeoutException:
            raise AgentError(f"{url} did not answer in time") from None
        except httpx.HTTPError as error:
            raise AgentError(
                f"{url} cannot be reached: {str(error) or type(error).__name__}"
            ) from None


@asynccontextmanager
async def _connected(url: str) -> AsyncIterator[LangGraphClient]:
    """A client with our key; loopback never goes through a proxy."""
    key = os.environ.get(KEY_NAME) or None
    hide(key)
    if key is not None and not (key.isascii() and key.isprintable()):
        raise ConfigurationError(KEY_NAME, "holds characters that no key can have")
    headers = {"User-Agent": f"tanlu/{__version__}"} | ({"x-api-key": key} if key else {})
    async with httpx.AsyncClient(
        base_url=url,
        headers=headers,
        proxy=proxy_for(url),
        trust_env=not is_loopback(urlsplit(url).hostname or ""),
        timeout=httpx.Timeout(connect=10, read=300, write=60, pool=10),
    ) as http:
        yield LangGraphClient(http)


class _Course:
    """One question on its way through a server."""

    def __init__(self, client: LangGraphClient, request: Request, watcher: Watcher) -> None:
        self._client, self._request, self._watcher = client, request, watcher
        self._thread_id = request.thread_id
        self._run_id = ""
        self._values: dict[str, Any] = {}

    async def ask(self, accepted: asyncio.Event) -> Outcome:
        began = time.monotonic()
        assistant = await self._assistant()
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
        return self._outcome(self._values, time.monotonic() - began)

    async def _assistant(self) -> Mapping[str, Any]:
        """The assistant by graph, id or name."""
        wanted = self._request.assistant
        with contextlib.suppress(NotFoundError):  # what the server says to an unknown graph
            for assistant in await self._client.assistants.search(graph_id=wanted, limit=1):
                return assistant
        all_of_them = await self._client.assistants.search(limit=100)
        for assistant in all_of_them:
            if wanted in (assistant["assistant_id"], assistant["name"]):
                return assistant
        known = ", ".join(sorted({a["graph_id"] for a in all_of_them})) or "none"
        raise InputError("--assistant", f"the server has no {wanted!r}; known: {known}")

    async def _context(self, assistant: Mapping[str, Any]) -> dict[str, Any]:
        schemas = await self._client.assistants.get_schemas(assistant["assistant_id"])
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
                    failure = _message(part.data)
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
        if "__interrupt__" in values:
            raise AgentError("the run waits for a review; go on in a client that can answer it")
        run = RunName(self._request.assistant, self._thread_id, self._run_id)
        return outcome_of(values, run, seconds)


def _message(data: Any) -> str:
    """What a run's error event says; servers send {error, message}."""
    if isinstance(data, Mapping):
        return str(data.get("message") or data.get("error") or "the run failed")
    return str(data or "the run failed")


def _refusal(url: str, error: httpx.HTTPStatusError) -> AgentError:
    status = error.response.status_code if error.response is not None else 0
    if status in (401, 403):
        return ConfigurationError(KEY_NAME, f"{url} does not accept it ({status})")
    if status == 404:
        return AgentError(f"{url} is not an assistant server (404)")
    return AgentError(f"{url} answered {status}: {error}")
