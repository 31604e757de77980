"""Check what a client writes into the state of a thread, before the server stores it.

The rules of `authorization` are asked whose thread it is, but not shown what is written.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import httpx
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from agent.core.errors import ConfigurationError, InputError
from agent.core.outside import parse_json
from agent.server.auth.admission import check_update
from agent.server.auth.api_keys import client_for
from agent.server.http import read_body, replay

_STATE = re.compile(r"/threads(?:/(?P<thread>[^/]+)/state)?/?")
"""`POST /threads` may bring steps to begin with."""


class CheckedStates:
    """Answer 422 to an update of a thread's state that its graph could not go on from."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = str(scope.get("path", "")).removeprefix(scope.get("root_path", ""))
        match = _STATE.fullmatch(path)
        if match is None or scope["type"] != "http" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        body = await read_body(receive)
        try:
            await _check(Request(scope), match["thread"], body)
        except ConfigurationError as error:
            await JSONResponse({"detail": error.message}, 422)(scope, receive, send)
        else:
            await self._app(scope, replay(body, receive), send)


async def _check(request: Request, thread_id: str | None, body: bytes) -> None:
    """Raise InputError naming the field; what is no request of the server's is its to refuse."""
    if not body:
        return
    try:
        sent = parse_json(body)
    except ValueError:
        raise InputError("body", "must be JSON, nested no deeper than 100 levels") from None
    updates = list(_updates(sent)) if isinstance(sent, dict) else []
    if not updates:
        return
    if thread_id is None:
        metadata = sent.get("metadata")
    else:
        try:
            async with client_for(request) as client:
                metadata = (await client.threads.get(thread_id)).get("metadata")
        except httpx.HTTPError:
            return
    graph_id = metadata.get("graph_id") if isinstance(metadata, Mapping) else None
    for update in updates:
        check_update(str(graph_id), "values", update)


def _updates(sent: Mapping[str, Any]) -> Iterator[Any]:
    """Yield every set of values that a request writes."""
    values = sent.get("values")
    yield from values if isinstance(values, list) else [values] if values else []
    steps = sent.get("supersteps")
    for step in steps if isinstance(steps, list) else []:
        updates = step.get("updates") if isinstance(step, dict) else None
        for update in updates if isinstance(updates, list) else []:
            if isinstance(update, dict) and update.get("values"):
                yield update["values"]
