"""Every run that our server accepts is written down before the client hears of it.

ASGI middleware around the whole API of the server; what becomes of the rows: `recovery`.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agent.core.metadata_keys import MARK
from agent.engines.langgraph.recovery import HEARD, RunWatch
from agent.runs.run_log import AcceptedRun
from agent.server.auth.api_keys import access, identify

_CREATES = re.compile(r"/threads/(?P<thread>[^/]+)/(?P<how>runs|runs/stream|runs/wait|commands)/?$")
_STATELESS = re.compile(r"^/runs(/stream|/wait)?/?$")
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB]\w\w\\u[dD][c-fC-F]\w\w|(?P<half>u[dD][89a-fA-F]\w\w)|.)", re.DOTALL
)
_TALKS = re.compile(r"/threads/(?P<thread>[^/]+)/stream/events/?$")
_ENDS = re.compile(r"^POST .*/runs/(.+/)?cancel/?$|^DELETE .*/threads/[^/]+(/runs/[^/]+)?/?$")
_REPEATED = (
    "command", "checkpoint", "checkpoint_id", "metadata", "interrupt_before", "interrupt_after",
    "webhook", *HEARD,
)  # fmt: skip
_STARTS = ("run.start", "input.respond")
_POSITION = ("checkpoint_id", "checkpoint_ns", "checkpoint_map")
_INTERNAL = ("thread_id", "run_id", *_POSITION)
_SERVERS_OWN = ("__", "langgraph_")
"""How names begin that the server sets, as the caller's: for a continued run nobody would."""
_OF_COMMANDS = ("assistant_id", "input", "config", "metadata")
"""What a command's run is made of; whatever else it says the server neither checks nor uses."""


class RecordRuns:
    """ASGI middleware around the whole API; its watch is `app.state.watch` (None: do nothing)."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        watch = _watch(scope)
        if watch is None:
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._talk(watch, scope, receive, send)
        elif scope["method"] == "POST" and (creates := _CREATES.search(scope["path"])):
            await self._create(creates, watch, (scope, receive, send))
        elif scope["method"] == "POST" and _STATELESS.search(scope["path"]):
            body = _encodable(await _read(receive))
            await self._app(scope, _replay(body, receive), send)
        elif _ENDS.search(f"{scope['method']} {scope['path']}"):
            try:
                await self._app(scope, receive, send)
            finally:
                watch.look()
        else:
            await self._app(scope, receive, send)

    async def _talk(self, watch: RunWatch, scope: Scope, receive: Receive, send: Send) -> None:
        if talks := _TALKS.search(scope["path"]):
            commands = _Commands(watch, talks["thread"], _asker(scope))
            receive, send = commands.received(receive), commands.sent(send)
        await self._app(scope, receive, send)

    async def _create(
        self, creates: re.Match[str], watch: RunWatch, call: tuple[Scope, Receive, Send]
    ) -> None:
        scope, receive, send = call
        body = _encodable(await _read(receive))
        request = _parsed(body)
        if request is not None and MARK not in _inner(request, "metadata"):
            asked = _Asked(watch, creates["thread"], request, _asker(scope))
            commands = creates["how"] == "commands"
            send = _CommandReply(asked, send) if commands else _RunReply(asked, send)
        try:
            await self._app(scope, _replay(body, receive), send)
        finally:
            watch.look()


@dataclass(frozen=True)
class _Asked:
    """A request that may become a run."""

    watch: RunWatch
    thread_id: str
    request: dict[str, Any]
    asker: str

    async def accepted(self, run_id: str, request: Mapping[str, Any]) -> None:
        run = _run(run_id, self.thread_id, request)
        await self.watch.accepted(replace(run, asker=self.asker))

    async def answered(self, params: Mapping[str, Any]) -> None:
        """A run that goes on after a review; the reply does not say its id."""
        answers = params.get("responses")
        given = answers if isinstance(answers, list) else [params]
        resume = {
            str(one.get("interrupt_id")): one.get("response")
            for one in given
            if isinstance(one, dict)
        }
        used = {**_used(params), "input": None, "command": {"resume": resume}}
        run = _run("", self.thread_id, used)
        await self.watch.answered(replace(run, asker=self.asker))

    async def replied(self, reply: Mapping[str, Any]) -> None:
        """The request was a protocol v2 command; its reply says which run it started."""
        run_id = _inner(reply, "result").get("run_id")
        method, params = self.request.get("method"), _inner(self.request, "params")
        if run_id and method == "run.start":
            await self.accepted(run_id, _used(params))
        elif method == "input.respond" and reply.get("type") == "success":
            await self.answered(params)


class _RunReply:
    """Holds the start of the reply to `…/runs*` back until the row is committed."""

    def __init__(self, asked: _Asked, send: Send) -> None:
        self._asked, self._send = asked, send

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start" and message["status"] < 300:
            headers = dict(message.get("headers", []))
            if where := headers.get(b"content-location"):
                run_id = where.decode().rstrip("/").rsplit("/", 1)[-1]
                await self._asked.accepted(run_id, self._asked.request)
        await self._send(message)


class _CommandReply:
    """Holds the reply to a protocol v2 command back until what it started is written down."""

    def __init__(self, asked: _Asked, send: Send) -> None:
        self._asked, self._send = asked, send
        self._held: list[Message] = []

    async def __call__(self, message: Message) -> None:
        self._held.append(message)
        if message["type"] == "http.response.body" and not message.get("more_body"):
            body = b"".join(m.get("body", b"") for m in self._held[1:])
            await self._asked.replied(_parsed(body) or {})
            for held in self._held:
                await self._send(held)


class _Commands:
    """What a web socket asks, until it is answered; the replies are held back as those above."""

    def __init__(self, watch: RunWatch, thread_id: str, asker: str) -> None:
        self._watch, self._thread_id, self._asker = watch, thread_id, asker
        self._asked: dict[int, _Asked] = {}

    def received(self, receive: Receive) -> Receive:
        async def noted() -> Message:
            message = await receive()
            command = _parsed(message.get("text") or b"") or {}
            if isinstance(number := command.get("id"), int) and command.get("method") in _STARTS:
                self._asked[number] = _Asked(self._watch, self._thread_id, command, self._asker)
            return message

        return noted

    def sent(self, send: Send) -> Send:
        async def held(message: Message) -> None:
            # Events pass unread, unless a command waits for its reply.
            reply = (_parsed(message.get("text") or b"") or {}) if self._asked else {}
            number = reply.get("id")
            if isinstance(number, int) and (asked := self._asked.pop(number, None)):
                await asked.replied(reply)
            await send(message)

        return held


def _run(run_id: str, thread_id: str, request: Mapping[str, Any]) -> AcceptedRun:
    given = _inner(request, "context") or _inner(_inner(request, "config"), "configurable")
    context = {
        name: value
        for name, value in given.items()
        if name not in _INTERNAL and not name.startswith(_SERVERS_OWN)
    }
    options = {name: request[name] for name in _REPEATED if request.get(name) is not None}
    if "checkpoint" in options:
        position = _inner(request, "checkpoint")
        options["checkpoint"] = {name: position[name] for name in _POSITION if name in position}
    assistant = str(request.get("assistant_id"))
    return AcceptedRun(run_id, thread_id, assistant, request.get("input"), context, options)


def _used(params: Mapping[str, Any]) -> dict[str, Any]:
    return {name: params[name] for name in _OF_COMMANDS if name in params}


def _inner(request: Mapping[str, Any], name: str) -> dict[str, Any]:
    """An object within an object that nobody has checked yet."""
    found = request.get(name)
    return found if isinstance(found, dict) else {}


def _asker(scope: Scope) -> str:
    """Whose key the request carries."""
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    return identify(headers, access()) or ""


def _watch(scope: Scope) -> RunWatch | None:
    if scope["type"] not in {"http", "websocket"} or "app" not in scope:
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


def _parsed(body: bytes | str) -> dict[str, Any] | None:
    try:
        parsed = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return parsed if isinstance(parsed, dict) else None


def _encodable(body: bytes) -> bytes:
    """JSON of the same length without half characters, for which the server would refuse it all."""
    return _ESCAPE.sub(lambda found: rb"\ufffd" if found["half"] else found[0], body)


def _replay(body: bytes, receive: Receive) -> Receive:
    unread = [body]

    async def again() -> Message:
        if unread:
            return {"type": "http.request", "body": unread.pop(), "more_body": False}
        return await receive()

    return again
