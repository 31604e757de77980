"""Gemini on loopback for a server with a key, whose calls wait until a test lets them go."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from aiohttp import web
from aiohttp.typedefs import Handler

from agent.sample.model.reply import SampleModel
from agent.sample.services.loopback import BODY
from tests.support.command_line import CANARY, searches, until
from tests.support.served import serving
from tests.support.standin import Speed
from tests.support.standins import GeminiService

Kind = Callable[[Any, Any], bool]


class HeldGemini(GeminiService):
    """What is sent is counted when it comes, held or not."""

    def __init__(self) -> None:
        speed = Speed(tokens_per_second=400)
        super().__init__(SampleModel(), key=CANARY, speed=lambda turn: speed)
        self._free = threading.Event()
        self._free.set()
        self._held: Kind = searches
        self.app.middlewares.append(self._hold)

    def hold(self, kind: Kind = searches) -> None:
        """From now on calls of this kind wait."""
        self._held = kind
        self._free.clear()

    def let_go(self) -> None:
        self._free.set()

    def asked(self, text: str) -> int:
        """How many calls so far speak of `text`."""
        return sum(text in str(request.body) for request in self.requests)

    def waits(self, kind: Kind = searches) -> None:
        """Until a call of this kind has come; it is held, then."""
        until(lambda: any(kind(None, request.body) for request in self.requests))

    @web.middleware
    async def _hold(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if self._held(request, request[BODY]):
            await asyncio.to_thread(self._free.wait)
        return await handler(request)


@contextmanager
def held_gemini() -> Iterator[HeldGemini]:
    """The running service; its `environment` is that of a server that uses it.

    At the end nothing is held: a call that waits would keep the process from ending.
    """
    service = HeldGemini()
    with serving(service) as served:
        service.environment = served.environment
        try:
            yield service
        finally:
            service.let_go()
