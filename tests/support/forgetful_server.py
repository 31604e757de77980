"""The routes of a LangGraph server that a batch uses, on loopback; each run has its own fate."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

from aiohttp import web

from tests.support.batch_lab import values_of
from tests.support.served import serve_in_thread

Fate = Literal["done", "lost", "stuck", "queued", "unfinished"]
"""lost: gone when it is streamed, which is never answered. unfinished: ends with steps left."""


class ForgetfulServer:
    """One thread; the runs begun on it meet `fates` in turn, the last of them for ever."""

    def __init__(self, *fates: Fate) -> None:
        self.fates = list(fates)
        self.created: list[dict[str, Any]] = []
        self.threads: set[str] = set()
        self.cancelled: list[str] = []
        self.silent = 0
        """Requests from now on that are never answered."""
        self.refused = False
        """Whether everything is answered with 429."""
        self.url = ""
        self._runs: list[dict[str, Any]] = []
        self._values: dict[str, Any] = {}
        self._left: list[str] = []
        self.app = web.Application(middlewares=[self._moods])
        thread = "/threads/{thread}"
        self.app.add_routes([
            web.post("/threads", self._thread),
            web.get(f"{thread}/state", self._state),
            web.get(f"{thread}/runs", self._list),
            web.post(f"{thread}/runs", self._create),
            web.get(f"{thread}/runs/{{run}}/stream", self._stream),
            web.post(f"{thread}/runs/{{run}}/cancel", self._cancel),
        ])  # fmt: skip

    @web.middleware
    async def _moods(self, request: web.Request, handler: Any) -> web.StreamResponse:
        if self.refused:
            return web.json_response({"detail": "not now"}, status=429)
        if self.silent:
            self.silent -= 1
            await asyncio.Event().wait()
        answer: web.StreamResponse = await handler(request)
        return answer

    async def _thread(self, request: web.Request) -> web.Response:
        thread_id = (await request.json())["thread_id"]
        self.threads.add(thread_id)
        return web.json_response({"thread_id": thread_id})

    async def _list(self, request: web.Request) -> web.Response:
        return web.json_response(self._runs[::-1])

    async def _state(self, request: web.Request) -> web.Response:
        metadata = {"run_id": "first"} if self._values else {}
        state = {"values": self._values, "next": self._left, "tasks": [], "interrupts": []}
        return web.json_response({**state, "metadata": metadata})

    async def _create(self, request: web.Request) -> web.Response:
        self.created.append(await request.json())
        fate = self.fates.pop(0) if len(self.fates) > 1 else self.fates[0]
        status = "pending" if fate == "queued" else "running"
        run = {"run_id": f"run-{len(self.created)}", "status": status, "fate": fate}
        self._runs.append(run)
        return web.json_response(run)

    async def _stream(self, request: web.Request) -> web.Response:
        run = next(run for run in self._runs if run["run_id"] == request.match_info["run"])
        match run["fate"]:
            case "lost":
                self._runs.remove(run)
                await asyncio.Event().wait()
            case "stuck" | "queued":
                await asyncio.Event().wait()
            case "unfinished":
                self._values, self._left = {"turn": {"id": "t"}}, ["web_research"]
            case "done":
                self._values, self._left = values_of("found"), []
        run["status"] = "success"
        return web.Response(text="event: end\ndata: null\n\n", content_type="text/event-stream")

    async def _cancel(self, request: web.Request) -> web.Response:
        self.cancelled.append(request.match_info["run"])
        return web.json_response({})


@contextmanager
def forgetful(*fates: Fate) -> Iterator[ForgetfulServer]:
    server = ForgetfulServer(*fates)
    with serve_in_thread(server.app) as running:
        server.url = running.url
        yield server
