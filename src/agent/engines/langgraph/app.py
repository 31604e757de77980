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
from collections.abc import AsyncIterator, Mapping, Sequence
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
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from agent.assistants.common.services import LOOKED_FOR
from agent.core.errors import AgentError, StoreFailed
from agent.core.redaction import scrub
from agent.engines.langgraph.checkpoints import close_after_runs, forgetting, on_platform
from agent.engines.langgraph.recovery import RunWatch
from agent.engines.langgraph.request_heads import limited_heads
from agent.retention import ThreadArchive
from agent.runs.reply_cache import ReplyCache
from agent.runs.run_log import RunLog
from agent.runs.sql import Place
from agent.runs.threads import data_folder, memory_place, server_saver, serving
from agent.server.auth.api_keys import access, use_transport
from agent.server.auth.guard import Guard
from agent.server.auth.rate_limit import RateLimit
from agent.server.half_characters import ReplaceHalfCharacters
from agent.server.health import settings_or_reason
from agent.server.mcp_endpoint import McpEndpoint
from agent.server.page_routes import page_routes
from agent.services import close_process_services, process_services
from agent.settings import RetentionSettings

log = logging.getLogger(__name__)
_PRUNE_SECONDS = 3600.0
_mcp = McpEndpoint()
_rate_limit = RateLimit()


class ScrubbingFormatter(logging.Formatter):
    """Remove every key from another formatter's finished text."""

    def __init__(self, inner: logging.Formatter | None) -> None:
        super().__init__()
        self._inner = inner or logging.Formatter()

    def format(self, record: logging.LogRecord) -> str:
        return scrub(self._inner.format(record))


class _PlainEnd(logging.Filter):
    """Keep what is expected free of tracebacks.

    Runs that the server ends with are continued by its next start; our own errors say in one line
    what to do.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        message = record.msg
        if isinstance(message, str) and message.startswith("Traceback"):
            # A start that fails: Starlette hands the whole trace on as the message.
            record.msg = _own_error(message.splitlines()) or message
        elif isinstance(message, dict) and "exception" in message:
            lines = str(message["exception"]).splitlines()
            if error := _own_error(lines):
                record.msg = {**message, "exception": error}
            elif lines and lines[-1].endswith("CancelledError"):
                record.msg = {name: value for name, value in message.items() if name != "exception"}
        return True


def _own_error(trace: Sequence[str]) -> str:
    """Return the last line of a trace that is an error of ours; empty where none is."""
    errors = [line for line in trace if line.startswith(f"{AgentError.__module__}.")]
    return errors[-1] if errors else ""


_plain_end = _PlainEnd()
# Here, for a start may fail before the lifespan begins.
logging.getLogger("uvicorn.error").addFilter(_plain_end)


def scrub_logs() -> None:
    """Keep keys out of the log writers of this process; httpx would write whole addresses."""
    writers = [w for name in (None, "uvicorn") for w in logging.getLogger(name).handlers]
    for writer in writers:
        if not isinstance(writer.formatter, ScrubbingFormatter):
            writer.setFormatter(ScrubbingFormatter(writer.formatter))
    logging.getLogger("httpx").setLevel(logging.WARNING)
    logging.getLogger("langgraph_api.worker").addFilter(_plain_end)


def announce() -> None:
    """Log one line on what this server will answer from, and one on whom it answers."""
    _announce_access()
    settings, reason = settings_or_reason()
    if settings is None:
        log.error("every run will fail until this is corrected: %s", reason)
        return
    logging.getLogger("agent").setLevel(settings.tanlu_log_level)
    if settings.mode == "offline":
        log.info("offline: answers come from bundled sample data; looked for %s", LOOKED_FOR)
    else:
        log.info("online")


def _announce_access() -> None:
    rules = access()
    careless = rules.open and rules.is_exposed
    level = logging.ERROR if rules.problem else logging.WARNING if careless else logging.INFO
    log.log(level, "%s", rules.summary)


@asynccontextmanager
async def lifespan(app: Starlette) -> AsyncIterator[None]:
    """Recover at the start; close everything outside at the end and before a hot reload."""
    from langgraph_api.asgi_transport import ASGITransport  # type: ignore[import-untyped]

    use_transport(ASGITransport)
    scrub_logs()
    announce()
    closes_later = close_after_runs(close_process_services)
    try:
        async with contextlib.AsyncExitStack() as stack:
            if not on_platform():
                rules = access()
                stack.enter_context(limited_heads(rules.header_seconds, rules.waiting_connections))
                await stack.enter_async_context(_watched())
            await stack.enter_async_context(_mcp.running())
            yield
    finally:
        if not closes_later:
            await close_process_services()


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
    reply_cache = ReplyCache(where)
    archive = ThreadArchive(
        saver,
        run_log,
        reply_cache,
        papers=data_folder() / "papers",
        knowledge=lambda: process_services().knowledge(),
    )
    pruning = asyncio.create_task(prune_regularly(archive, client), name="retention")
    pruning.add_done_callback(_log_failure)
    try:
        with forgetting(archive.forget_evidence):
            yield
    finally:
        await _ended(pruning)
        await reply_cache.aclose()


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
    for thread_id in await archive.older_than(days, datetime.now(UTC)):
        if await archive.is_worked_on(thread_id):
            continue
        try:
            await client.threads.delete(thread_id)
        except NotFoundError:
            # The server does not know it any more; its rows are there all the same.
            await archive.delete(thread_id)
        log.info("thread=%s is deleted: nobody worked on it for %d days", thread_id, days)


def _recorded(watch: RunWatch) -> contextlib.AbstractContextManager[None]:
    if not serving():
        return contextlib.nullcontext()
    from agent.engines.langgraph.accepted_runs import recorded

    return recorded(watch)


def _log_failure(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()):
        log.error("%s: does not go on: %s", task.get_name(), error, exc_info=error)


async def healthz(_: Request) -> JSONResponse:
    """Answer 200 with the mode where runs can work, 503 with the reason where they cannot."""
    settings, reason = settings_or_reason()
    reason = reason or access().problem
    if settings is None or reason:
        return JSONResponse({"ok": False, "reason": reason}, status_code=503)
    return JSONResponse({"ok": True, "mode": settings.mode})


# Two routes, not a mount: a mount would send clients of `/mcp` on to `/mcp/`, and some do not go.
app = Starlette(
    routes=[
        Route("/healthz", healthz),
        Route("/mcp", _mcp),
        Route("/mcp/", _mcp),
        *page_routes(_rate_limit),
    ],
    middleware=[Middleware(Guard, rate_limit=_rate_limit), Middleware(ReplaceHalfCharacters)],
    lifespan=lifespan,
)


def serve(host: str, port: int, config: Mapping[str, Any], *, runs_at_once: int) -> None:
    """Serve what langgraph.json lists, as `langgraph dev` does, until a signal ends it."""
    from langgraph_api.cli import run_server  # type: ignore[import-untyped]

    # Its banner names neither the page nor the mode.
    logging.getLogger("langgraph_api.cli").setLevel(logging.WARNING)
    parts = {part: config[part] for part in ("graphs", "auth", "http", "checkpointer")}
    run_server(host, port, n_jobs_per_worker=runs_at_once, **parts)
