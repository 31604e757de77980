"""What the loopback model services share: streams at a given speed, and streams that go wrong."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

from aiohttp import web

from agent.offline.brain import Turn
from agent.offline.gemini_wire import tokens
from agent.offline.service import Service

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
    match: Callable[[Turn], bool] = lambda turn: True


class StreamingService(Service):
    """A service whose answers can come in pieces."""

    def __init__(
        self,
        name: str,
        *,
        latency: Callable[[web.Request, Any], float] | None = None,
        speed: Callable[[Turn], Speed] | None = None,
    ) -> None:
        super().__init__(name, latency)
        self.speed = speed or (lambda turn: Speed())
        self.stream_faults: list[StreamFault] = []

    def fail_stream(self, kind: Any, **details: Any) -> StreamFault:
        """Switch a stream's fault on; see StreamFault."""
        fault = StreamFault(kind, **details)
        self.stream_faults.append(fault)
        return fault

    async def _open_stream(self, request: web.Request, speed: Speed) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await asyncio.sleep(speed.first_chunk)
        await response.prepare(request)
        return response

    def _stream_fault(self, turn: Turn) -> StreamFault | None:
        for fault in self.stream_faults:
            if fault.times != 0 and fault.match(turn):
                if fault.times is not None:
                    fault.times -= 1
                return fault
        return None


async def send_pieces(
    pieces: Iterable[str],
    speed: Speed,
    fault: StreamFault | None,
    send: Callable[[str], Awaitable[None]],
) -> None:
    """Send text at its speed, up to where the fault sets in."""
    sent = 0
    for text in pieces:
        if fault and sent >= fault.after:
            return
        if sent and speed.tokens_per_second:
            await asyncio.sleep(tokens(text) / speed.tokens_per_second)
        await send(text)
        sent += len(text)


async def go_wrong(
    request: web.Request, fault: StreamFault, send: Callable[[FaultyEvent], Awaitable[None]]
) -> None:
    """Break a stream off; the faults that are events of the protocol are left to `send`."""
    match fault.kind:
        case "drop":
            await asyncio.sleep(0)
            if request.transport:
                request.transport.abort()
            raise ConnectionResetError("injected fault: dropped stream")
        case "stall":
            await asyncio.sleep(3600)
        case "error" | "max_tokens" | "safety":
            await send(fault.kind)
