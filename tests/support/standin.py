"""Make a loopback service of the sample a stand-in: with a log, faults, and a pace."""

import asyncio
import itertools
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from aiohttp import web

from agent.sample.model.request import Model, ModelReply, ModelTurn
from agent.sample.services.gemini import tokens
from agent.sample.services.loopback import BODY, Handler, StreamedReply

FaultKind = Literal[
    "status", "drop", "drop_mid_body", "hang", "garbage", "cut_json", "broken_text", "empty",
    "html", "deep_json", "odd_numbers",
]  # fmt: skip


@dataclass
class Fault:
    """One way to misbehave, for requests `match` accepts, `times` times (None: always)."""

    kind: FaultKind
    match: Callable[[web.Request, Any], bool] = lambda request, body: True
    times: int | None = 1
    status: int = 500
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    seconds: float = 3600


_WORDS = re.compile("[\u3400-\u9fff]|\\w \\w")
_NUMBER = re.compile(r"(?<=[:\[,\s])-?\d+(?:\.\d+)?(?=[\s,}\]])")
ODD_NUMBERS = ("1e999", "NaN", "9" * 400, "-Infinity", "9" * 5000)
DEEP_JSON = '{"results": ' + "[" * 20_000 + "]" * 20_000 + "}"
BROKEN = "\ud83d\x00\x9b31m\u202e"


@dataclass(frozen=True)
class Recorded:
    """Hold a request as it came in; `body` is parsed JSON, text, or None."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any


class Standin:
    """Log the requests of a service, delay them, and misbehave as real services do."""

    def __init__(
        self,
        *arguments: Any,
        latency: Callable[[web.Request, Any], float] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(*arguments, **options)
        self.requests: list[Recorded] = []
        self.faults: list[Fault] = []
        self.latency = latency

    def fail(self, kind: FaultKind, **details: Any) -> Fault:
        """Switch a fault on; see Fault for the details."""
        fault = Fault(kind, **details)
        self.faults.append(fault)
        return fault

    async def respond(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        body = request[BODY]
        self.requests.append(
            Recorded(request.method, request.path, dict(request.query), dict(request.headers), body)
        )
        if fault := self._due(request, body):
            return await _misbehave(fault, request, handler)
        if self.latency and (seconds := self.latency(request, body)) > 0:
            await asyncio.sleep(seconds)
        return await handler(request)

    def _due(self, request: web.Request, body: Any) -> Fault | None:
        for fault in self.faults:
            if fault.times != 0 and fault.match(request, body):
                if fault.times is not None:
                    fault.times -= 1
                return fault
        return None


async def _misbehave(fault: Fault, request: web.Request, handler: Handler) -> web.StreamResponse:
    match fault.kind:
        case "status":
            return web.json_response(
                fault.body or {"error": {"code": fault.status, "message": "injected fault"}},
                status=fault.status,
                headers=fault.headers,
            )
        case "hang":
            await asyncio.sleep(fault.seconds)
        case "drop":
            _abort(request)
        case "drop_mid_body":
            await _half(request, await handler(request))
        case "garbage":
            return web.Response(body=b"\xff\xfe\x00 not json {", content_type="application/json")
        case "cut_json":
            whole = await handler(request)
            text = getattr(whole, "text", None) or '{"cut": '
            return web.Response(text=text[: len(text) // 2], content_type="application/json")
        case "broken_text":
            whole = await handler(request)
            text = getattr(whole, "text", None)
            return web.json_response(broken(json.loads(text))) if text else whole
        case "deep_json":
            return web.Response(text=DEEP_JSON, content_type="application/json")
        case "odd_numbers":
            text = getattr(await handler(request), "text", None) or "{}"
            return web.Response(text=with_odd_numbers(text), content_type="application/json")
        case "empty":
            return web.Response(body=b"", content_type="application/json")
        case "html":
            return web.Response(
                text="<html><body>502 Bad Gateway</body></html>",
                status=fault.status,
                content_type="text/html",
            )
    return await handler(request)


def with_odd_numbers(text: str) -> str:
    """The same JSON, but its numbers are beyond all bounds, or none."""
    odd = itertools.cycle(ODD_NUMBERS)
    return _NUMBER.sub(lambda _: next(odd), text)


def broken(value: Any) -> Any:
    """The same reply, but every text of words ends in half a character and control characters."""
    if isinstance(value, dict):
        return {name: broken(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [broken(inner) for inner in value]
    if not isinstance(value, str) or not _WORDS.search(value) or value.startswith("http"):
        return value
    try:
        return json.dumps(broken(json.loads(value)))
    except ValueError:
        return value + BROKEN


def _abort(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.abort()
    raise ConnectionResetError("injected fault: dropped connection")


async def _half(request: web.Request, whole: web.StreamResponse) -> None:
    body = getattr(whole, "body", None) or b"{}"
    broken = web.StreamResponse(headers={"Content-Length": str(len(body) + 10)})
    broken.content_type = "application/json"
    await broken.prepare(request)
    await broken.write(bytes(body)[: len(body) // 2])
    await asyncio.sleep(0)
    _abort(request)


FaultyEvent = Literal["error", "max_tokens", "safety"]


@dataclass(frozen=True)
class Speed:
    """How fast a stream comes: seconds to the first chunk, then tokens a second (0: at once)."""

    first_chunk: float = 0
    tokens_per_second: float = 0
    chunk_tokens: int = 20


@dataclass
class StreamFault:
    """A stream that goes wrong after `after` characters, `times` times (None: always)."""

    kind: Literal["drop", "no_finish", "error", "stall", "max_tokens", "safety"]
    after: int = 0
    times: int | None = 1
    match: Callable[[ModelTurn], bool] = lambda turn: True


class StreamingStandin(Standin):
    """Send a model's answers at a pace, and break them off; `turns` are what it was asked."""

    def __init__(
        self, model: Model, *, speed: Callable[[ModelTurn], Speed] | None = None, **options: Any
    ) -> None:
        self.turns: list[ModelTurn] = []
        super().__init__(model, **options)
        self.speed = speed or (lambda turn: Speed())
        self.stream_faults: list[StreamFault] = []

    @property
    def model(self) -> Model:
        """The model, whose turns are logged."""
        return self._model

    @model.setter
    def model(self, model: Model) -> None:
        self._model = _Logged(model, self.turns)

    @property
    def llm(self) -> Any:
        """The model itself."""
        return self._model.model

    @llm.setter
    def llm(self, model: Model) -> None:
        self.model = model

    def fail_stream(self, kind: Any, **details: Any) -> StreamFault:
        """Switch a stream's fault on; see StreamFault."""
        fault = StreamFault(kind, **details)
        self.stream_faults.append(fault)
        return fault

    def fault_event(self, reply: Any, kind: FaultyEvent) -> bytes:
        """Return the event with which the protocol ends a stream badly."""
        raise NotImplementedError

    async def stream(self, request: web.Request, reply: StreamedReply) -> web.StreamResponse:
        turn = self.turns[-1]
        speed = self.speed(turn)
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await asyncio.sleep(speed.first_chunk)
        await response.prepare(request)
        fault = self._stream_fault(turn)
        await _send_pieces(response, reply, speed, fault)
        if fault:
            await self._break_off(request, response, reply, fault)
        else:
            for event in reply.end():
                await response.write(event)
        await response.write_eof()
        return response

    def _stream_fault(self, turn: ModelTurn) -> StreamFault | None:
        for fault in self.stream_faults:
            if fault.times != 0 and fault.match(turn):
                if fault.times is not None:
                    fault.times -= 1
                return fault
        return None

    async def _break_off(
        self,
        request: web.Request,
        response: web.StreamResponse,
        reply: StreamedReply,
        fault: StreamFault,
    ) -> None:
        match fault.kind:
            case "drop":
                await asyncio.sleep(0)
                _abort(request)
            case "stall":
                await asyncio.sleep(3600)
            case "error" | "max_tokens" | "safety":
                await response.write(self.fault_event(reply, fault.kind))


@dataclass(frozen=True)
class _Logged:
    """Log the turns of a model."""

    model: Model
    turns: list[ModelTurn]

    def respond(self, turn: ModelTurn) -> ModelReply:
        self.turns.append(turn)
        return self.model.respond(turn)


async def _send_pieces(
    response: web.StreamResponse, reply: StreamedReply, speed: Speed, fault: StreamFault | None
) -> None:
    """Send text at its speed, up to where the fault sets in."""
    sent = 0
    for text in reply.pieces(speed.chunk_tokens):
        if fault and sent >= fault.after:
            return
        if sent and speed.tokens_per_second:
            await asyncio.sleep(tokens(text) / speed.tokens_per_second)
        await response.write(reply.event(text))
        sent += len(text)
