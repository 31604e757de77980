"""Speak MCP for the assistants, and tell the progress of a call."""

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx
from mcp.server.lowlevel import Server
from mcp.types import (
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    ServerResult,
    Tool,
)

from agent import __version__
from agent.client.connection import refusal
from agent.client.follow import RunListener
from agent.core.errors import AgentError
from agent.server.mcp_tools import error_result
from agent.texts import Language, event_line, say

QUIET_SECONDS = 15.0
"""Clients give a silent call up, many after 60 s; word from us starts their clock again."""


TellProgress = Callable[[float, str], Awaitable[None]]
"""Sends one notification: how far (it only grows), and the words."""


class CallProgress(RunListener):
    """Report the progress of one call; `notify` is None where the client asked for none."""

    def __init__(
        self,
        notify: TellProgress | None,
        language: Language,
        *,
        quiet_seconds: float = QUIET_SECONDS,
    ) -> None:
        self._notify, self._language, self._quiet = notify, language, quiet_seconds
        self._line, self._count = say("progress.starting", language), 0
        self._began = self._last = time.monotonic()

    async def event(self, event: Mapping[str, Any]) -> None:
        """Report an event of the run, if its line is a new one."""
        if line := event_line(event, self._language):
            self._line = line
            await self._send(line)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Say that the run starts, and in long silences that it still works."""
        await self._send(self._line)
        heartbeat = asyncio.create_task(self._beat())
        try:
            yield
        finally:
            heartbeat.cancel()

    async def _beat(self) -> None:
        while True:
            silent = time.monotonic() - self._last
            if silent < self._quiet:
                await asyncio.sleep(self._quiet - silent)
            else:
                await self._send(f"{self._line} · {time.monotonic() - self._began:.0f} s")

    async def _send(self, line: str) -> None:
        self._count, self._last = self._count + 1, time.monotonic()
        if self._notify is None:
            return
        # A client that has hung up hears no more; that the call ends is seen elsewhere.
        with contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
            await self._notify(float(self._count), line)


log = logging.getLogger(__name__)
_INSTRUCTIONS = (
    "Assistants that look things up on the web and on the map (Chinese places by Amap) and answer "
    "with numbered sources. Each takes one `question`; a run takes from seconds to minutes "
    "and tells its progress. Follow up with the `thread_id` of a result. `search` and `fetch` find "
    "and read pages and the caller's own documents, without an answer."
)


class ToolServer:
    """Speak MCP for the assistants; a subclass lists them and answers their calls."""

    def __init__(self) -> None:
        self.server: Server[Any, Any] = Server(
            "tanlu", version=__version__, instructions=_INSTRUCTIONS
        )
        self.server.list_tools()(self.tools)  # type: ignore[no-untyped-call]
        # Beside the SDK's decorator: its checks of input do not say which argument is meant.
        self.server.request_handlers[CallToolRequest] = self.call

    async def tools(self) -> list[Tool]:
        """Return what is offered."""
        raise NotImplementedError

    async def answer(self, params: CallToolRequestParams) -> CallToolResult:
        """Return the answer to a call; raise AgentError in one line where there is none."""
        raise NotImplementedError

    async def call(self, request: CallToolRequest) -> ServerResult:
        """Return the answer or what is in its way; a call that fails must not end the server."""
        try:
            return ServerResult(await self.answer(request.params))
        except AgentError as error:
            problem = error.message
        except httpx.HTTPError as error:
            problem = refusal("the server", error).message
        except Exception:
            log.exception("a call of %s failed", request.params.name)
            problem = "the call failed inside the server; its log says more"
        return ServerResult(error_result(problem))

    def notify(self) -> TellProgress | None:
        """Return the teller of the present call's progress; None where no client asked for it."""
        context = self.server.request_context
        token = context.meta.progressToken if context.meta else None
        if token is None:
            return None

        async def notify(progress: float, message: str) -> None:
            # As text, for 0 is a request's id, too; it puts the words on the call's own stream.
            await context.session.send_progress_notification(
                token, progress, message=message, related_request_id=str(context.request_id)
            )

        return notify
