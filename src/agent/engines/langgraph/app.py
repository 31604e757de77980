"""Add recovery, logs and MCP to `langgraph dev` (langgraph.json, `http.app`).

The server takes this application over and puts its own API behind it, so the middleware here sees
every request. Nothing here may fail the start, for a bad setting is an error of the run; only a
uvicorn that cannot be limited does (`header_timeout`).
"""

import asyncio
import contextlib
import logging
import os
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import NotFoundError
from starlette.applications import Starlette
from starlette.middleware import Middleware

from agent.core.errors import AgentError, StoreFailed
from agent.engines.langgraph.checkpoints import (
    close_after_runs,
    forgetting,
    on_platform,
    own_files,
)
from agent.engines.langgraph.recovery import RunWatch
from agent.engines.langgraph.request_heads import limited_heads
from agent.retention import ThreadArchive, ThreadRemains
from agent.runs.engine import IN_PROCESS, RunRequest, client_over, use_engine
from agent.runs.reply_cache import ReplyCache
from agent.runs.run_log import RunLog
from agent.runs.shares import Shares
from agent.runs.sql import Place
from agent.runs.threads import data_folder, is_serving_threads, memory_place, server_saver
from agent.runs.workspace_store import WorkspaceStore
from agent.server import application
from agent.server.auth.api_keys import access
from agent.server.auth.guard import RequestGuard
from agent.server.auth.thread_states import CheckedStates
from agent.server.http import ReplaceHalfCharacters
from agent.services import process_services
from agent.settings import RetentionSettings

log = logging.getLogger(__name__)
_PRUNE_SECONDS = 3600.0


class LangGraphServer:
    """Offer what differs of LangGraph's own server (`runs.engine.Engine`)."""

    rules_its_own_calls = False
    ignored_fields = ()

    def client(self, owner: str) -> LangGraphClient:
        """Return the SDK's client in the process, which passes by every rule."""
        return get_client()

    def client_with(self, app: Any, headers: Mapping[str, str]) -> LangGraphClient:
        # The server's own transport: httpx's gives an answer only when it has ended.
        from langgraph_api.asgi_transport import ASGITransport  # type: ignore[import-untyped]

        return client_over(ASGITransport(app, client=IN_PROCESS), headers)

    def calling_owner(self, headers: Mapping[str, str]) -> str | None:
        """Return None: calls of this process come through no rule."""
        return None

    def identity(self, owner: str) -> str:
        return owner

    def request_of(self, value: Mapping[str, Any]) -> RunRequest:
        """Read a cron's request, which is in `payload` as it was sent, or a run's in `kwargs`.

        Into a run's config the server has put names of its own, and what was sent there into the
        context.
        """
        if payload := value.get("payload"):
            fields = {"metadata": value.get("metadata"), **payload}
            return RunRequest(fields, payload, payload.get("assistant_id"))
        kwargs = value.get("kwargs") or {}
        fields = {**kwargs, **{name: value.get(name) for name in ("metadata", "after_seconds")}}
        return RunRequest(fields, {"context": kwargs.get("context")}, value.get("assistant_id"))

    async def admit(self, value: Any) -> None:
        """Have each step kept; the server itself sees to one run at a time on a thread.

        A step not yet on disk when the process dies would be paid for again. A run without a
        thread writes none, and the library fails where it waits for that.
        """
        kwargs = value.get("kwargs") or {}
        if not kwargs.get("temporary"):
            kwargs["durability"] = "sync"

    def close_after_runs(self, close: Callable[[], Awaitable[None]]) -> bool:
        return close_after_runs(close)


use_engine(LangGraphServer())


def _is_news(record: logging.LogRecord) -> bool:
    """Return False for the 405 that MCP's own clients ask for: whether there is a GET stream."""
    entry = record.msg if isinstance(record.msg, dict) else {}
    return not (
        entry.get("status") == 405 and entry.get("method") == "GET" and entry.get("path") == "/mcp"
    )


logging.getLogger("langgraph_api.server").addFilter(_is_news)


@asynccontextmanager
async def lifespan(app: Starlette) -> AsyncIterator[None]:
    """Recover at the start; close everything outside at the end and before a hot reload."""
    logs = ["langgraph_api.worker", "langgraph_api.cron_scheduler"]
    async with application.serving(_recovering(), engine_logs=logs):
        yield


@asynccontextmanager
async def _recovering() -> AsyncIterator[None]:
    if on_platform():
        yield
        return
    rules = access()
    with limited_heads(rules.header_seconds, rules.waiting_connections):
        async with _watched():
            yield


@asynccontextmanager
async def _watched() -> AsyncIterator[None]:
    where = memory_place()
    # Servers of one folder share their runs, as they share the server's own files there; servers
    # of one database do, wherever they are.
    folder = f" {await asyncio.to_thread(os.getcwd)}" if isinstance(where, Path) else ""
    run_log = RunLog(where, f"server{folder}")
    async with get_client() as client:
        watch = RunWatch(run_log, client)
        following = asyncio.create_task(watch.run(), name="run log")
        following.add_done_callback(_log_failure)
        try:
            with forgetting(run_log.forget), _recorded(watch):
                async with _retained(where, run_log, client):
                    # Who comes back at once is not told that their thread is unknown.
                    await watch.knows_threads()
                    yield
        finally:
            await _ended(following)
            await run_log.aclose()


@asynccontextmanager
async def _retained(where: Place, run_log: RunLog, client: LangGraphClient) -> AsyncIterator[None]:
    """Have a deletion remove what a thread has elsewhere, and old threads be deleted."""
    if (saver := server_saver()) is None:
        yield
        return
    reply_cache, workspace, shares = ReplyCache(where), WorkspaceStore(where), Shares(where)
    evidence = ThreadRemains(
        saver,
        reply_cache,
        workspace,
        shares,
        papers=data_folder() / "papers",
        knowledge=lambda: process_services().knowledge(),
    )
    archive = ThreadArchive(saver, run_log, evidence)
    pruning = asyncio.create_task(prune_regularly(archive, client), name="retention")
    pruning.add_done_callback(_log_failure)
    try:
        with forgetting(evidence.forget):
            yield
    finally:
        await _ended(pruning)
        await reply_cache.aclose()
        await workspace.aclose()
        await shares.aclose()


async def _ended(task: asyncio.Task[None]) -> None:
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError, Exception):
        await task


async def prune_regularly(archive: ThreadArchive, client: LangGraphClient) -> None:
    """Delete threads older than TANLU_KEEP_DAYS, at the start and every hour."""
    while True:
        try:
            if days := RetentionSettings().tanlu_keep_days:
                await prune(archive, client, days)
        except (AgentError, StoreFailed, sqlite3.Error, ValueError, httpx.HTTPError) as error:
            log.warning("old threads are not deleted now: %s", error)
        await asyncio.sleep(_PRUNE_SECONDS)


async def prune(archive: ThreadArchive, client: LangGraphClient, days: int) -> None:
    """Delete the threads on which nobody worked for so many days, but those with a run."""
    now = datetime.now(UTC)
    for thread_id in await archive.older_than(days, now):
        if await archive.is_worked_on(thread_id):
            continue
        try:
            await client.threads.delete(thread_id)
        except NotFoundError:
            # The server does not know it any more; its rows are there all the same.
            await archive.delete(thread_id)
        log.info("thread=%s is deleted: nobody worked on it for %d days", thread_id, days)
    await archive.forget_uncited(days, now)


def _recorded(watch: RunWatch) -> contextlib.AbstractContextManager[None]:
    if not is_serving_threads():
        return contextlib.nullcontext()
    from agent.engines.langgraph.accepted_runs import watched_runs

    return watched_runs(watch)


def _log_failure(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()):
        log.error("%s: does not go on: %s", task.get_name(), error, exc_info=error)


app = Starlette(
    routes=application.routes(),
    middleware=[
        Middleware(RequestGuard, rate_limit=application.rate_limit),
        Middleware(ReplaceHalfCharacters),
        Middleware(CheckedStates),
    ],
    lifespan=lifespan,
)


def serve(host: str, port: int, config: Mapping[str, Any], *, runs_at_once: int) -> None:
    """Serve what langgraph.json lists, as `langgraph dev` does, until a signal ends it.

    Raises AgentError where another server works in this folder.
    """
    own_files()
    from langgraph_api.cli import run_server  # type: ignore[import-untyped]

    # Its banner names neither the page nor the mode.
    logging.getLogger("langgraph_api.cli").setLevel(logging.WARNING)
    parts = {part: config[part] for part in ("graphs", "auth", "http", "checkpointer")}
    run_server(host, port, n_jobs_per_worker=runs_at_once, **parts)
