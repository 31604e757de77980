"""Serve the assistants as tools of MCP clients: `/mcp` over streamable HTTP, or over stdio.

Over HTTP nothing is held between requests, so a client goes on after a restart of the server. The
session id we give out only ties a cancellation to the call it means; the answer of a call is a
stream, which stays open as long as the run lasts.

Over stdio every request has an answer: the SDK drops a line that is no message of its types, such
as one whose params are a list, and its client would wait for ever.
"""

import asyncio
import contextlib
import json
import logging
import sys
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from io import TextIOWrapper
from typing import Any, BinaryIO, cast

import anyio
import httpx
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import RequestBodyLimitMiddleware
from mcp.shared.exceptions import McpError
from mcp.types import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    PARSE_ERROR,
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    ErrorData,
    JSONRPCMessage,
    ServerResult,
    Tool,
)
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agent import __version__
from agent.assistants.registry import schemas_of_graph
from agent.client.connection import server_refusal
from agent.client.follow import RunListener
from agent.client.local import LocalRunner
from agent.client.run_result import Pause
from agent.core.errors import AgentError, InputError
from agent.core.outside import parse_json
from agent.core.strings import as_sentence
from agent.runs.threads import Threads, open_threads
from agent.server.assistant_call import Call, pause_refusal, read_arguments
from agent.server.auth.api_keys import OPEN_OWNER, access, client_for, identify
from agent.server.auth.owner_limits import TooMany, owner_limits
from agent.server.http import replay
from agent.server.mcp_search import FETCH, SEARCH, answer_search, search_tools
from agent.server.mcp_tools import (
    AssistantTool,
    ToolList,
    assistant_tool,
    error_result,
    tool_result,
)
from agent.services import close_process_services, process_services
from agent.settings import read_settings
from agent.texts import Language, event_line, say

LONGEST_LINE = 4 << 20
"""Bytes of one message; a question has at most 20,000 characters."""


class RefusedLine(Exception):
    """Signal a line that is no request: the answer to it."""

    def __init__(self, id: str | int | None, code: int, problem: str) -> None:
        error = {"code": code, "message": problem}
        super().__init__(json.dumps({"jsonrpc": "2.0", "id": id, "error": error}))


def message_of(line: bytes) -> str:
    """Return a line's message in valid text; raise Refused for one that the SDK would drop."""
    try:
        sent = parse_json(line.decode("utf-8", "replace"))
    except ValueError:
        raise RefusedLine(None, PARSE_ERROR, "The line is no JSON, or nested too deeply.") from None
    if not isinstance(sent, dict):
        raise RefusedLine(None, INVALID_REQUEST, "A message is one JSON object.")
    id = sent.get("id")
    if "id" in sent and "method" in sent and type(id) not in (str, int):
        raise RefusedLine(None, INVALID_REQUEST, "The id of a request is a text or a whole number.")
    if not isinstance(sent.get("params"), dict | None):
        raise RefusedLine(id, INVALID_PARAMS, "The params must be an object.")
    message = json.dumps(sent)
    try:
        JSONRPCMessage.model_validate_json(message)
    except ValueError:
        raise RefusedLine(id, INVALID_REQUEST, "This is no message of JSON-RPC 2.0.") from None
    return message


class AnsweredLines:
    """Iterate over the messages of a stream; what is none is answered here."""

    def __init__(self, stdin: BinaryIO, stdout: "anyio.AsyncFile[str]") -> None:
        self._stdin, self._stdout = stdin, stdout

    async def __aiter__(self) -> AsyncIterator[str]:
        while line := await self._next():
            if not line.strip():
                continue
            try:
                yield message_of(await self._whole(line))
            except RefusedLine as answer:
                await self._stdout.write(f"{answer}\n")
                await self._stdout.flush()

    async def _next(self) -> bytes:
        return await anyio.to_thread.run_sync(self._stdin.readline, LONGEST_LINE)

    async def _whole(self, line: bytes) -> bytes:
        """Return the line; of one that is too long read the rest, and raise Refused."""
        if line.endswith(b"\n") or len(line) < LONGEST_LINE:
            return line
        while (rest := await self._next()) and not rest.endswith(b"\n"):
            pass
        raise RefusedLine(None, INVALID_REQUEST, f"A message has at most {LONGEST_LINE} bytes.")


@asynccontextmanager
async def answering_stdio() -> AsyncIterator[tuple[Any, Any]]:
    """Yield the SDK's streams of messages from and to the client."""
    stdout = anyio.wrap_file(TextIOWrapper(sys.stdout.buffer, encoding="utf-8"))
    lines = cast("anyio.AsyncFile[str]", AnsweredLines(sys.stdin.buffer, stdout))
    async with stdio_server(lines, stdout) as streams:
        yield streams


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


_INSTRUCTIONS = (
    "Assistants that look things up on the web and on the map (China by Amap, elsewhere by "
    "OpenStreetMap) and answer with numbered sources. Each takes one `question`; a run takes from "
    "seconds to minutes and tells its progress. Follow up with the `thread_id` of a result. "
    "`search` and `fetch` find and read pages and the caller's own documents, without an answer."
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
            problem = server_refusal("the server", error).message
        except Exception:
            log.exception("a call of %s failed", request.params.name)
            problem = "the call failed inside the server; its log says more"
        return ServerResult(error_result(as_sentence(problem)))

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


log = logging.getLogger(__name__)

_MAX_BODY = 256 * 1024
_UNREADABLE = {
    "jsonrpc": "2.0",
    "id": None,
    "error": {"code": PARSE_ERROR, "message": "The body is no JSON that can be read."},
}
_STOP = "tanlu.stop"
"""Where a request's scope holds what stops its call."""


class McpEndpoint(ToolServer):
    """Answer as an ASGI application while `running()` is entered."""

    def __init__(self) -> None:
        super().__init__()
        self._catalogue = ToolList()
        self._calls = _Calls()
        self._with_body_limit: ASGIApp = RequestBodyLimitMiddleware(self._post, _MAX_BODY)
        self._manager: StreamableHTTPSessionManager | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Serve for the application's lifespan; at its end no call is left."""
        logging.getLogger("mcp.server").setLevel(logging.WARNING)
        self._manager = StreamableHTTPSessionManager(self.server, stateless=True)
        async with self._manager.run():
            try:
                yield
            finally:
                self._manager = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer: ASGIApp
        if scope["method"] == "POST":
            answer = self._with_body_limit
        elif scope["method"] == "DELETE":
            self._calls.stop_all(_session(scope))
            answer = Response(status_code=204)
        else:
            problem = {"detail": "This is an MCP endpoint: clients POST here (streamable HTTP)."}
            answer = JSONResponse(problem, status_code=405, headers={"Allow": "POST, DELETE"})
        await answer(scope, receive, send)

    async def _post(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._manager is None:
            await JSONResponse({"detail": "The server has not started yet."}, 503)(
                scope, receive, send
            )
            return
        try:
            body = await Request(scope, receive).body()
        except ClientDisconnect:
            return
        message, session = _parse(body), _session(scope)
        if message is None:
            await JSONResponse(_UNREADABLE, 400)(scope, receive, send)
            return
        if message.get("method") == "initialize":
            send = _with_session(send)
        elif message.get("method") == "notifications/cancelled":
            params = message.get("params")
            self._calls.stop(session, params.get("requestId") if isinstance(params, dict) else None)
        with self._calls.open(session, message.get("id")) as stop:
            # As it was read: the SDK's own reader gives up at a number of 5,000 digits.
            body = json.dumps(message).encode() if message else body
            again = replay(body, _stopping(stop, receive))
            await self._manager.handle_request({**scope, _STOP: stop}, again, send)

    async def tools(self) -> list[Tool]:
        async with client_for(self._request()) as client:
            tools = (await self._catalogue.tools(client)).values()
            return [*(tool.tool for tool in tools), *search_tools()]

    async def call(self, request: CallToolRequest) -> ServerResult:
        with self._stop():
            return await super().call(request)
        raise McpError(ErrorData(code=0, message="Request cancelled"))

    async def answer(self, params: CallToolRequestParams) -> CallToolResult:
        if params.name in (SEARCH, FETCH):
            return await self._searched(params)
        async with client_for(self._request()) as client:
            tools = await self._catalogue.tools(client)
            offered = _offered(tools, params.name)
            arguments, stop = read_arguments(params.arguments or {}, offered), self._stop()
            progress = CallProgress(self.notify(), arguments.language)
            metadata = {"asked_over": "mcp"}
            call = Call(client, offered, progress, lambda: stop.cancel_called, metadata=metadata)
            follower = await call.begin(arguments)
            async with progress.running():
                return tool_result(await call.finish(follower))

    async def _searched(self, params: CallToolRequestParams) -> CallToolResult:
        owner = identify(self._request().headers, access()) or OPEN_OWNER
        if params.name == SEARCH:
            # It may cost as a run does; reading what was found does not.
            try:
                await owner_limits().admit_search(owner)
            except TooMany as too_many:
                raise AgentError(too_many.words("en")) from None
        services = await run_in_threadpool(process_services)
        return await answer_search(params.name, params.arguments or {}, services, owner)

    def _request(self) -> Request:
        """Return the HTTP request that the present message came with."""
        request = self.server.request_context.request
        assert isinstance(request, Request)
        return request

    def _stop(self) -> anyio.CancelScope:
        """Return what the present call's client stops it with."""
        stop: anyio.CancelScope = self._request().scope[_STOP]
        return stop


def _offered(tools: Mapping[str, AssistantTool], name: str) -> AssistantTool:
    if name not in tools:
        names = ", ".join([*tools, SEARCH, FETCH])
        raise AgentError(f"There is no tool {name!r}; known: {names}.")
    return tools[name]


class _Calls:
    """Stop calls under way, known by their client's session and its number of them."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, str], anyio.CancelScope] = {}

    @contextmanager
    def open(self, session: str, number: Any) -> Iterator[anyio.CancelScope]:
        """Open the scope in which the call runs; known only where the client has a session."""
        stop, key = anyio.CancelScope(), (session, repr(number))
        if session:
            self._open[key] = stop
        try:
            yield stop
        finally:
            if self._open.get(key) is stop:
                del self._open[key]

    def stop(self, session: str, number: Any) -> None:
        if stop := self._open.get((session, repr(number))):
            stop.cancel()

    def stop_all(self, session: str) -> None:
        for (its_session, _), stop in list(self._open.items()):
            if its_session == session:
                stop.cancel()


def _session(scope: Scope) -> str:
    """Return the session a request names, as its owner's; empty where it names none."""
    headers = Request(scope).headers
    named = headers.get(MCP_SESSION_ID_HEADER)
    # An owner's name has no slash.
    return f"{identify(headers, access())}/{named}" if named else ""


def _with_session(send: Send) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start" and message["status"] < 300:
            session = (MCP_SESSION_ID_HEADER.encode(), uuid.uuid4().hex.encode())
            message = {**message, "headers": [*message.get("headers", []), session]}
        await send(message)

    return sent


def _parse(body: bytes) -> dict[str, Any] | None:
    """Parse a JSON object, an empty one for other JSON (the SDK's to refuse); else None."""
    try:
        message = parse_json(body)
    except ValueError:
        return None
    return message if isinstance(message, dict) else {}


def _stopping(stop: anyio.CancelScope, receive: Receive) -> Receive:
    """Stop the call of who hangs up, and can never get the answer."""

    async def received() -> Message:
        message = await receive()
        if message["type"] == "http.disconnect":
            stop.cancel()
        return message

    return received


async def serve_mcp_stdio(graphs: Mapping[str, Any]) -> None:
    """Serve until the client hangs up; `graphs` are those of langgraph.json. Raises AgentError."""
    try:
        async with open_threads(read_settings()) as threads, answering_stdio() as (read, write):
            server = StdioServer(threads, graphs).server
            await server.run(read, write, server.create_initialization_options())
    finally:
        await close_process_services()


class StdioServer(ToolServer):
    """Answer calls in this process, on the threads of the data folder."""

    def __init__(self, threads: Threads, graphs: Mapping[str, Any]) -> None:
        super().__init__()
        self._runner, self._graphs = LocalRunner(threads), graphs
        self._offered: dict[str, AssistantTool] = {}

    async def tools(self) -> list[Tool]:
        offered = (await self._catalogue()).values()
        return [*(one.tool for one in offered), *search_tools()]

    async def answer(self, params: CallToolRequestParams) -> CallToolResult:
        if params.name in (SEARCH, FETCH):
            services = await asyncio.to_thread(process_services)
            return await answer_search(params.name, params.arguments or {}, services, OPEN_OWNER)
        offered = _offered(await self._catalogue(), params.name)
        arguments = read_arguments(params.arguments or {}, offered)
        assistant, thread_id = offered.graph_id, arguments.thread_id or str(uuid.uuid4())
        if arguments.thread_id and not (await self._runner.snapshot(assistant, thread_id)).values:
            raise InputError("thread_id", "There is no such thread")
        progress = CallProgress(self.notify(), arguments.language)
        async with progress.running():
            run = await self._runner.accept(
                assistant, thread_id, input=arguments.input, context=arguments.context
            )
            outcome = await self._runner.run(run, progress)
        if isinstance(outcome, Pause):
            raise pause_refusal(thread_id)
        return tool_result(outcome)

    async def _catalogue(self) -> Mapping[str, AssistantTool]:
        if not self._offered:
            self._offered = await asyncio.to_thread(self._read_catalogue)
        return self._offered

    def _read_catalogue(self) -> dict[str, AssistantTool]:
        offered = {}
        for name, described in self._graphs.items():
            schemas = schemas_of_graph(self._runner.graph(name))
            assistant = {"assistant_id": name, "graph_id": name, **described}
            offered[name] = assistant_tool(name, assistant, schemas)
        return offered
