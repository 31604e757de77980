"""Put together what is ours of a server, whichever engine begins its runs."""

import asyncio
import contextlib
import logging
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import BaseRoute, Route

from agent.assistants.common.services import LOOKED_FOR
from agent.core.errors import AgentError
from agent.core.garbage import keep_loaded
from agent.core.processor import give_way_soon
from agent.core.redaction import HIDDEN, scrub
from agent.runs.engine import engine
from agent.server.auth.api_keys import SHARED, access
from agent.server.auth.guard import RateLimit
from agent.server.auth.owner_limits import owner_limits
from agent.server.health import settings_or_reason
from agent.server.mcp_endpoint import McpEndpoint
from agent.server.mcp_tools import load_own
from agent.server.metrics import counting, metrics
from agent.server.openai_api import openai_routes
from agent.server.page_routes import page_routes
from agent.server.person import person_routes
from agent.server.sharing import close_shares, share_routes
from agent.services import close_process_services

log = logging.getLogger(__name__)
rate_limit = RateLimit()
_mcp = McpEndpoint()


_ADDRESS = re.compile(rf"({SHARED}|'token': ')[\w-]{{16,100}}", re.ASCII)
"""Of a shared answer, in a server's line on a request: whoever has it may read the answer."""


class ScrubbingFormatter(logging.Formatter):
    """Remove every key, and addresses of shared answers, from another formatter's finished text."""

    def __init__(self, inner: logging.Formatter | None) -> None:
        super().__init__()
        self._inner = inner or logging.Formatter()

    def format(self, record: logging.LogRecord) -> str:
        return _ADDRESS.sub(rf"\1{HIDDEN}", scrub(self._inner.format(record)))


class _PlainEnd(logging.Filter):
    """Keep what is expected free of tracebacks.

    Runs that the server ends with are continued by its next start; our own errors, and refusals of
    runs that nobody waits for (a cron's, beyond its owner's limits), say in one line what to do.
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
    """Return the last line of a trace that is an error of ours or a refusal; else nothing."""
    own = f"{AgentError.__module__}."
    errors = [line for line in trace if line.startswith(own) or ".HTTPException: 4" in line]
    return errors[-1] if errors else ""


_TALKATIVE = ("httpx", "google_genai", "langgraph_api.auth.custom")
"""Libraries that log each request: httpx with its whole address, which may hold a key."""
_plain_end = _PlainEnd()
# Here, for a start may fail before the lifespan begins.
logging.getLogger("uvicorn.error").addFilter(_plain_end)


def scrub_logs(engine_logs: Sequence[str]) -> None:
    """Keep keys out of the log writers of this process, and libraries to their warnings."""
    writers = [w for name in (None, "uvicorn") for w in logging.getLogger(name).handlers]
    for writer in writers:
        if not isinstance(writer.formatter, ScrubbingFormatter):
            writer.setFormatter(ScrubbingFormatter(writer.formatter))
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(logging.WARNING)
    for name in engine_logs:
        logging.getLogger(name).addFilter(_plain_end)


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
async def serving(
    recovery: contextlib.AbstractAsyncContextManager[None], *, engine_logs: Sequence[str]
) -> AsyncIterator[None]:
    """Run our part of a server; at the end everything outside is closed, after the last run.

    `recovery` is the engine's own part, entered first; `engine_logs` names the loggers of what
    does runs there and of what begins them by the clock.
    """
    scrub_logs(engine_logs)
    announce()
    await asyncio.to_thread(load_own)
    keep_loaded()
    give_way_soon()
    closes_later = engine().close_after_runs(close_process_services)
    try:
        with counting():
            async with owner_limits().running(), recovery, _mcp.running():
                yield
    finally:
        await close_shares()
        if not closes_later:
            await close_process_services()


async def healthz(_: Request) -> JSONResponse:
    """Answer 200 with the mode where runs can work, 503 with the reason where they cannot."""
    settings, reason = settings_or_reason()
    reason = reason or access().problem
    if settings is None or reason:
        return JSONResponse({"ok": False, "reason": reason}, status_code=503)
    return JSONResponse({"ok": True, "mode": settings.mode})


def routes() -> list[BaseRoute]:
    """Return the routes of ours."""
    # Two routes, not a mount: a mount would send clients on to `/mcp/`, and some do not go.
    return [
        Route("/healthz", healthz),
        Route("/metrics", metrics),
        Route("/mcp", _mcp),
        Route("/mcp/", _mcp),
        *openai_routes(),
        *share_routes(),
        *person_routes(),
        *page_routes(rate_limit),
    ]
