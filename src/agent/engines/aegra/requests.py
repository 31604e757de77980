"""Read requests as Aegra has them, and take them as LangGraph's server takes them.

A stream's disconnect does not stop its run, unless its client says so; every step is kept before
the next one; which fields of a thread are wanted is a wish, not an error.
"""

import json
import re
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

from agent.core.outside import parse_json
from agent.runs.engine import RunRequest
from agent.server.http import read_body, replay

_RUNS = re.compile(r"(/threads/[^/]+)?/runs(/stream|/wait|/crons|/crons/[^/]+)?/?")
_SEARCH = ("/threads/search", "/threads/search/")
_DURABILITY = ("durability", "checkpoint_during")
_BODY: ContextVar[bytes] = ContextVar("body", default=b"")
"""Of the request as it was sent; Aegra shows a rule only the fields that it knows."""


class AsLangGraphTakesThem:
    """Adapt JSON bodies of requests for runs and for threads; ASGI middleware."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = str(scope.get("path", ""))
        if not (_RUNS.fullmatch(path) or path in _SEARCH) or not _changes(scope):
            await self._app(scope, receive, send)
            return
        body = adapted(path, sent := await read_body(receive))
        scope = {**scope, "headers": _with_length(scope["headers"], len(body))}
        token = _BODY.set(sent)
        try:
            await self._app(scope, replay(body, receive), send)
        finally:
            _BODY.reset(token)


def _changes(scope: Scope) -> bool:
    return scope["type"] == "http" and scope["method"] in ("POST", "PATCH")


def adapted(path: str, body: bytes) -> bytes:
    """Return the body as Aegra is to see it; one that is no JSON object stays as it is."""
    if not (request := _object(body)):
        return body
    if path in _SEARCH:
        changed = {name: value for name, value in request.items() if name != "select"}
    else:
        changed = _as_run(request)
    return json.dumps(changed).encode()


def _object(body: bytes) -> dict[str, Any]:
    """Return what a body holds; nothing for one that is no JSON object."""
    try:
        request = parse_json(body)
    except ValueError:
        return {}
    return request if isinstance(request, dict) else {}


def _as_run(request: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in request.items() if name not in _DURABILITY}
    return {**kept, "on_disconnect": request.get("on_disconnect") or "continue"}


def _with_length(headers: list[tuple[bytes, bytes]], length: int) -> list[tuple[bytes, bytes]]:
    others = [(name, value) for name, value in headers if name != b"content-length"]
    return [*others, (b"content-length", str(length).encode())]


_SENT = ("input", "command", "config", "context", "metadata", "webhook", "feedback_keys",
         "interrupt_before", "interrupt_after", "after_seconds")  # fmt: skip


def read_run_request(value: Mapping[str, Any]) -> RunRequest:
    """Return a run or a cron as it was sent, over REST or as a command of the event protocol."""
    sent = {**_object(_BODY.get()), **_sent(value)}
    fields = {name: sent.get(name) for name in _SENT}
    if value.get("method") == "input.respond":
        resume = sent.get("responses") or sent.get("response")
        fields["command"] = {"resume": resume, **{n: sent.get(n) for n in ("update", "goto")}}
    return RunRequest(fields, sent, sent.get("assistant_id"))


def strategy_of(value: Mapping[str, Any]) -> str:
    """Return what a request wants on a busy thread; by default to wait."""
    sent = _sent(value)
    return str(sent.get("multitask_strategy") or sent.get("multitaskStrategy") or "enqueue")


def checkpoint_of(value: Mapping[str, Any]) -> str:
    """Return the checkpoint that a run is to begin from; empty for the thread's last one."""
    sent = _sent(value)
    position = sent.get("checkpoint")
    named = position.get("checkpoint_id") if isinstance(position, Mapping) else None
    return str(named or sent.get("checkpoint_id") or "")


def _sent(value: Mapping[str, Any]) -> Mapping[str, Any]:
    params = value.get("params")
    return params if "method" in value and isinstance(params, Mapping) else value
