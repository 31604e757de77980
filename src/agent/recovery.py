"""The server's outbox: every accepted run is written down, and brought to its end after a crash.

`langgraph dev` writes its threads and runs to disk every ten seconds; a run accepted after that is
unknown to it when it is killed. `RecordRuns` sees each run between the API and the client: the row
is committed before the client learns that the run was accepted. `RunWatch` closes the rows of runs
that ended, and at the start continues those of a server that died.
"""

import asyncio
import contextlib
import json
import logging
import re
import sqlite3
from collections.abc import Mapping
from typing import Any
from uuid import UUID

import httpx
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import APIStatusError, NotFoundError
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agent.outbox import AcceptedRun, End, RunOutbox

log = logging.getLogger(__name__)

MARK = "tanlu_run"
"""Metadata of a continued run: the id under which it was first accepted."""

_CREATES = re.compile(r"/threads/(?P<thread>[^/]+)/(?P<how>runs|runs/stream|runs/wait|commands)/?$")
_ENDS = re.compile(r"/(runs/.+/cancel|runs/cancel|threads/[^/]+(/runs/[^/]+)?)/?$")
_REPEATED = (
    "command", "checkpoint", "checkpoint_id", "metadata", "interrupt_before", "interrupt_after",
    "webhook",
)  # fmt: skip
_INTERNAL = ("thread_id", "checkpoint_id", "checkpoint_ns", "run_id")
_POLL_SECONDS = 5.0
_SETTLE_SECONDS = 0.2


class RunWatch:
    """Keeps the outbox of one server true; `client` is a loopback client of that server."""

    def __init__(self, outbox: RunOutbox, client: LangGraphClient) -> None:
        self._outbox = outbox
        self._client = client
        self._look = asyncio.Event()

    async def accepted(self, run: AcceptedRun) -> None:
        """Write a run down; a full disk costs its recovery, not the run."""
        try:
            await self._outbox.accept(run)
        except (sqlite3.Error, RuntimeError) as error:
            log.error("run=%s is not in the outbox: %s", run.run_id, error)
        self._look.set()

    def look(self) -> None:
        """Something may have ended."""
        self._look.set()

    async def run(self) -> None:
        """Continue what a dead server left, then follow the runs until cancelled."""
        await self.recover()
        while True:
            try:
                await self._look_once()
            except (httpx.HTTPError, sqlite3.Error) as error:
                log.warning("the outbox could not be brought up to date: %s", error)
                await asyncio.sleep(_POLL_SECONDS)

    async def _look_once(self) -> None:
        working = await self._outbox.working()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_POLL_SECONDS if working else None):
                await self._look.wait()
                await asyncio.sleep(_SETTLE_SECONDS)
        self._look.clear()
        await self.close_ended()

    async def close_ended(self) -> None:
        """Close the rows of runs whose thread is at rest or gone."""
        working = await self._outbox.working()
        wanted = {run.thread_id for run in working}
        if not wanted:
            return
        found = await self._client.threads.search(
            ids=sorted(wanted), limit=len(wanted), select=["thread_id", "status"]
        )
        status = {thread["thread_id"]: thread["status"] for thread in found}
        for run in working:
            now = status.get(run.thread_id)
            if now != "busy":
                await self._outbox.finish(run.run_id, _END_OF_THREAD.get(now or "", "cancelled"))

    async def recover(self) -> None:
        """Bring what a dead server of this folder had accepted to its end."""
        for run in await self._outbox.unfinished():
            mine = await self._outbox.take(run)
            if mine is None:
                continue
            try:
                await self._continue(mine)
            except APIStatusError as error:
                log.warning("run=%s cannot be continued: %s", run.run_id, error)
                await self._outbox.finish(run.run_id, "failed")
            except httpx.HTTPError as error:
                log.warning("run=%s is not continued now: %s", run.run_id, error)

    async def _continue(self, run: AcceptedRun) -> None:
        if await self._server_knows(run):
            return
        await self._client.threads.create(
            thread_id=run.thread_id, if_exists="do_nothing", graph_id=await self._graph_id(run)
        )
        state = await self._client.threads.get_state(run.thread_id)
        begun = _belongs(state.get("metadata") or {}, run)
        if begun and (ended := _ended(state)):
            await self._outbox.finish(run.run_id, ended)
            return
        options = dict(run.options)
        metadata = {**(options.pop("metadata", None) or {}), MARK: run.run_ids[0]}
        created = await self._client.runs.create(
            run.thread_id,
            run.assistant,
            input=None if begun else run.input,
            context=run.context or None,
            metadata=metadata,
            multitask_strategy="enqueue",
            durability="sync",
            **({} if begun else options),
        )
        await self._outbox.rename(run, created["run_id"])
        log.info("run=%s continued as %s", run.run_id, created["run_id"])

    async def _graph_id(self, run: AcceptedRun) -> str:
        """A client may name an assistant by its id or by its graph."""
        try:
            UUID(run.assistant)
        except ValueError:
            return run.assistant
        return (await self._client.assistants.get(run.assistant))["graph_id"]

    async def _server_knows(self, run: AcceptedRun) -> bool:
        """Whether the server itself remembers the run; then it also continues it."""
        try:
            known = await self._client.runs.get(run.thread_id, run.run_id)
        except NotFoundError:
            return False
        log.info("run=%s is known to the server: %s", run.run_id, known["status"])
        return True


_END_OF_THREAD: dict[str, End] = {
    "idle": "success",
    "error": "error",
    "interrupted": "interrupted",
}


def _belongs(metadata: Mapping[str, Any], run: AcceptedRun) -> bool:
    """Whether the thread's last checkpoint is this run's."""
    return metadata.get("run_id") in run.run_ids or metadata.get(MARK) == run.run_ids[0]


def _ended(state: Mapping[str, Any]) -> End | None:
    if state.get("interrupts"):
        return "interrupted"
    return None if state.get("next") else "success"


class RecordRuns:
    """ASGI middleware around the whole API; its watch is `app.state.watch` (None: do nothing)."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        watch = _watch(scope)
        if watch is None:
            await self._app(scope, receive, send)
        elif scope["method"] == "POST" and (creates := _CREATES.search(scope["path"])):
            await self._create(creates, watch, (scope, receive, send))
        elif scope["method"] in ("POST", "DELETE") and _ENDS.search(scope["path"]):
            try:
                await self._app(scope, receive, send)
            finally:
                watch.look()
        else:
            await self._app(scope, receive, send)

    async def _create(
        self, creates: re.Match[str], watch: RunWatch, call: tuple[Scope, Receive, Send]
    ) -> None:
        scope, receive, send = call
        body = await _read(receive)
        request = _parsed(body)
        if request is None or MARK in (request.get("metadata") or {}):
            await self._app(scope, _replay(body, receive), send)
            return
        if creates["how"] == "commands":
            sent: Send = _CommandReply(watch, creates["thread"], request, send)
        else:
            request["durability"] = "sync"
            body = json.dumps(request).encode()
            sent = _RunReply(watch, creates["thread"], request, send)
        try:
            await self._app(_with_length(scope, len(body)), _replay(body, receive), sent)
        finally:
            watch.look()


class _RunReply:
    """Holds the start of the reply to `…/runs*` back until the row is committed."""

    def __init__(
        self, watch: RunWatch, thread_id: str, request: dict[str, Any], send: Send
    ) -> None:
        self._watch, self._thread_id, self._request, self._send = watch, thread_id, request, send

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start" and message["status"] < 300:
            headers = dict(message.get("headers", []))
            if where := headers.get(b"content-location"):
                run_id = where.decode().rstrip("/").rsplit("/", 1)[-1]
                await self._watch.accepted(_run(run_id, self._thread_id, self._request))
        await self._send(message)


class _CommandReply:
    """Holds the reply to a protocol v2 command back: its body says which run it started."""

    def __init__(
        self, watch: RunWatch, thread_id: str, request: dict[str, Any], send: Send
    ) -> None:
        self._watch, self._thread_id, self._request, self._send = watch, thread_id, request, send
        self._held: list[Message] = []

    async def __call__(self, message: Message) -> None:
        self._held.append(message)
        if message["type"] == "http.response.body" and not message.get("more_body"):
            body = b"".join(m.get("body", b"") for m in self._held[1:])
            reply = _parsed(body) or {}
            run_id = (reply.get("result") or {}).get("run_id")
            if run_id and self._request.get("method") == "run.start":
                params = self._request.get("params") or {}
                await self._watch.accepted(_run(run_id, self._thread_id, params))
            for held in self._held:
                await self._send(held)


def _run(run_id: str, thread_id: str, request: Mapping[str, Any]) -> AcceptedRun:
    configurable = (request.get("config") or {}).get("configurable") or {}
    context = request.get("context") or {
        name: value
        for name, value in configurable.items()
        if name not in _INTERNAL and not name.startswith("__")
    }
    options = {name: request[name] for name in _REPEATED if request.get(name) is not None}
    assistant = str(request.get("assistant_id"))
    return AcceptedRun(run_id, thread_id, assistant, request.get("input"), context, options)


def _watch(scope: Scope) -> RunWatch | None:
    if scope["type"] != "http" or "app" not in scope:
        return None
    watch: RunWatch | None = getattr(scope["app"].state, "watch", None)
    return watch


async def _read(receive: Receive) -> bytes:
    parts: list[bytes] = []
    while True:
        message = await receive()
        parts.append(message.get("body", b""))
        if message["type"] != "http.request" or not message.get("more_body"):
            return b"".join(parts)


def _parsed(body: bytes) -> dict[str, Any] | None:
    try:
        parsed = json.loads(body)
    except ValueError:
        return None
    return parsed if isinstance(parsed, dict) else None


def _replay(body: bytes, receive: Receive) -> Receive:
    unread = [body]

    async def again() -> Message:
        if unread:
            return {"type": "http.request", "body": unread.pop(), "more_body": False}
        return await receive()

    return again


def _with_length(scope: Scope, length: int) -> Scope:
    headers = [(name, value) for name, value in scope["headers"] if name != b"content-length"]
    return {**scope, "headers": [*headers, (b"content-length", str(length).encode())]}
