"""Be the application that Aegra takes over (aegra.json, `http.app`): ours, with its API behind.

The start is refused where a promise of ours would not hold: another module than ours says whose
what is, or no Redis hands the runs of a dead instance on.
"""

import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from aegra_api.core.auth_middleware import get_auth_instance
from aegra_api.settings import settings
from fastapi import FastAPI, HTTPException
from fastapi.exception_handlers import http_exception_handler
from langgraph_sdk.client import LangGraphClient
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agent.core.errors import ConfigurationError
from agent.engines.aegra.checkpoints import PatientPool
from agent.engines.aegra.requests import (
    AsLangGraphTakesThem,
    checkpoint_of,
    read_run_request,
    strategy_of,
)
from agent.engines.aegra.retention import KeptThreads, Retention
from agent.engines.aegra.thread_queue import LOCKS, refuse_if_busy, refuse_without_checkpoint
from agent.engines.aegra.transport import InProcessTransport
from agent.runs.engine import EVERYBODY, RunRequest, client_over, use_engine
from agent.server import application
from agent.server.auth import auth
from agent.server.auth.guard import RequestGuard
from agent.server.auth.thread_states import CheckedStates
from agent.server.http import ReplaceHalfCharacters

_SECRET = secrets.token_urlsafe(32)
_IN_PROCESS_HEADER = "x-tanlu-in-process"
_ROOT = "/noauth"
"""The guard lets calls through whose root it is; no request from outside can have one."""


_pool, _retention = PatientPool(), Retention()


class AegraServer:
    """Offer what differs of Aegra (`runs.engine.Engine`)."""

    rules_its_own_calls = True
    ignored_fields = ("after_seconds",)

    def __init__(self) -> None:
        self._close_last: list[Callable[[], Awaitable[None]]] = [
            LOCKS.aclose,
            _pool.aclose,
            _retention.aclose,
        ]

    def client(self, owner: str) -> LangGraphClient:
        headers = {_IN_PROCESS_HEADER: f"{_SECRET}:{owner}"}
        return client_over(InProcessTransport(app, root_path=_ROOT), headers)

    def client_with(self, app: Any, headers: Mapping[str, str]) -> LangGraphClient:
        return client_over(InProcessTransport(app), headers)

    def calling_owner(self, headers: Mapping[str, str]) -> str | None:
        """Return for whom this process itself calls; None for a request from outside."""
        secret, _, owner = headers.get(_IN_PROCESS_HEADER, "").partition(":")
        return owner if secrets.compare_digest(secret.encode(), _SECRET.encode()) else None

    def identity(self, owner: str) -> str:
        """Return the owner's name; Aegra keeps nothing of a user without one."""
        return owner or EVERYBODY

    def request_of(self, value: Mapping[str, Any]) -> RunRequest:
        return read_run_request(value)

    async def admit(self, value: Any) -> None:
        """Refuse a run that its thread cannot take; that each step is kept says aegra.json."""
        if thread_id := value.get("thread_id"):
            await refuse_if_busy(str(thread_id), strategy_of(value))
            if checkpoint_id := checkpoint_of(value):
                await refuse_without_checkpoint(str(thread_id), checkpoint_id)

    def close_after_runs(self, close: Callable[[], Awaitable[None]]) -> bool:
        """Have `close` called once Aegra has handed its runs on, which comes after our lifespan."""
        self._close_last.append(close)
        return True

    async def close_last(self) -> None:
        """Close what was to be closed after the last run."""
        while self._close_last:
            await self._close_last.pop()()


class Application(FastAPI):  # type: ignore[misc]
    """Keep our guard outside of everything, also of what Aegra adds; CORS is the guard's."""

    def add_middleware(self, middleware_class: Any, *args: Any, **kwargs: Any) -> None:
        if middleware_class is not CORSMiddleware:
            super().add_middleware(middleware_class, *args, **kwargs)

    def build_middleware_stack(self) -> ASGIApp:
        checked = ReplaceHalfCharacters(CheckedStates(super().build_middleware_stack()))
        inner = AsLangGraphTakesThem(checked)
        return RequestGuard(inner, rate_limit=application.rate_limit)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "lifespan":
            await super().__call__(scope, receive, send)
            return

        async def sent(message: Message) -> None:
            if message["type"] == "lifespan.startup.complete":
                _retention.begin(_pool.begin(KeptThreads))
            if message["type"] in ("lifespan.startup.complete", "lifespan.startup.failed"):
                await LOCKS.started()
            # Only now has Aegra drained its runs; they need what is outside until then.
            if message["type"] == "lifespan.shutdown.complete":
                await _server.close_last()
            await send(message)

        await LOCKS.start_alone()
        await super().__call__(scope, receive, sent)


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Check what Aegra only warns of, then serve; runs of dead instances are Aegra's to hand on."""
    if get_auth_instance() is not auth:
        raise ConfigurationError(
            "AEGRA_CONFIG", "names no auth module of Tanlu that loads; everybody would be let in"
        )
    if not settings.redis.REDIS_BROKER_ENABLED:
        raise ConfigurationError(
            "REDIS_BROKER_ENABLED", "must be true, or the runs of an instance that dies are lost"
        )
    async with application.serving(_nothing(), engine_logs=["aegra_api.services"]):
        yield


@asynccontextmanager
async def _nothing() -> AsyncIterator[None]:
    yield


async def ok(_: Request) -> JSONResponse:
    """Answer as LangGraph's server does whether it is up."""
    return JSONResponse({"ok": True})


_server = AegraServer()
use_engine(_server)
app = Application(
    routes=[Route("/ok", ok), *application.routes()],
    lifespan=lifespan,
    # The reason of a refusal is in `detail`, as clients of LangGraph's server know it.
    exception_handlers={HTTPException: http_exception_handler},
    docs_url=None,
    redoc_url=None,
)
