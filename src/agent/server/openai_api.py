"""Answer clients of OpenAI's API: `/v1/chat/completions`, `/v1/responses` and `/v1/models`.

Each answer is a run of this server like any other: the same keys, owners, limits and recovery. A
client that sends its whole conversation is led to the thread that this conversation has here, so
that a follow-up knows the places, sources and the plan that were shown; where there is none (an
earlier message was edited, an answer is asked for again) a thread begins with what was said.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final

import anyio
import httpx
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import ConflictError, NotFoundError
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from agent.client.asked_again import Said, history
from agent.client.connection import LimitReached, NotAccepted, server_refusal
from agent.client.follow import RunFollower, RunListener
from agent.client.run_result import RunName, RunResult, outcome_of
from agent.core.errors import AgentError, InputError
from agent.core.faults import MEANT, contained
from agent.core.outside import parse_json
from agent.core.processor import SHORT, in_turns
from agent.core.strings import as_sentence, one_line
from agent.runs.engine import OWNER
from agent.server.assistant_call import Call, CallArguments, read_arguments
from agent.server.auth.admission import check_settings
from agent.server.auth.api_keys import OPEN_OWNER, access, client_for, identify
from agent.server.auth.guard import LARGEST_BODY
from agent.server.http import NotRead, limited_body, private, private_json, security_headers
from agent.server.mcp_tools import AssistantTool, ToolList
from agent.server.openai_replies import ChatReply, JsonObject, Reply, ResponseReply
from agent.server.openai_requests import (
    ClientQuestion,
    conversation_key,
    read_chat,
    read_response,
    response_id,
    thread_of_response,
)
from agent.texts import Language, event_line

log = logging.getLogger(__name__)
QUIET_SECONDS = 15.0
"""Proxies and clients give a silent stream up, many after 60 s; a comment keeps it."""
_CONVERSATION: Final = "conversation"
"""Where a thread's metadata have what its conversation is found by."""
_RESPONSE: Final = "response"
_EFFORT: Final = ("initial_search_query_count", "max_research_loops")
_INVALID: Final = "invalid_request_error"
_GONE: Final = 499
_TITLE: Final = 120
_BELOW: Final = "/v1/"
_METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")
_QUIET: Final = ": at work\n\n"
_STREAM_HEADERS: Final = {
    **private(security_headers()),
    "Content-Type": "text/event-stream; charset=utf-8",
    # nginx would hold the events back.
    "X-Accel-Buffering": "no",
}
_catalogue = ToolList()


async def models(request: Request) -> Response:
    """List the assistants that the caller may ask, those of the server first."""
    try:
        with _said_plainly():
            async with client_for(request) as client:
                tools = await _catalogue.tools(client)
    except MEANT as error:
        return refused(error)
    return private_json({"object": "list", "data": [_described(*each) for each in tools.items()]})


async def model(request: Request) -> Response:
    """Describe one of them."""
    name = request.path_params["name"]
    try:
        with _said_plainly():
            async with client_for(request) as client:
                return private_json(
                    _described(name, _offered(await _catalogue.tools(client), name))
                )
    except MEANT as error:
        return refused(error)


def _described(name: str, offered: AssistantTool) -> JsonObject:
    told = {"id": name, "object": "model", "created": 0, "owned_by": "tanlu"}
    return {**told, "description": offered.tool.description}


class _NoModel(AgentError):
    """Report a model that is none of the assistants that the caller sees."""


def _offered(tools: Mapping[str, AssistantTool], name: str) -> AssistantTool:
    if name not in tools:
        raise _NoModel(f"model: there is no {name!r}; known: {', '.join(tools)}")
    return tools[name]


class _Conversations:
    """Find the thread of a conversation, and note what it is found by the next time."""

    def __init__(self, client: LangGraphClient, asked: ClientQuestion, graph_id: str) -> None:
        self._client, self._asked, self._graph_id = client, asked, graph_id

    async def thread(self) -> tuple[str, bool]:
        """Return the thread, and whether it knows what was said; "" where one is to be made."""
        if self._asked.previous:
            return await self._followed(), True
        if self._asked.thread_id:
            return await self._named(self._asked.thread_id), True
        found = await self._known()
        return found, bool(found)

    async def _followed(self) -> str:
        """Return the thread of the response that is followed up, if it is the thread's last."""
        thread_id = thread_of_response(self._asked.previous)
        try:
            thread = await self._client.threads.get(thread_id)
        except NotFoundError:
            raise InputError("previous_response_id", "There is no such response") from None
        if (thread.get("metadata") or {}).get(_RESPONSE) != self._asked.previous:
            problem = "The conversation has gone on since; send its messages as input"
            raise InputError("previous_response_id", problem)
        return thread_id

    async def _named(self, thread_id: str) -> str:
        """Return the client's own thread, made where it is new."""
        try:
            await self._client.threads.create(
                thread_id=thread_id,
                if_exists="do_nothing",
                graph_id=self._graph_id,
                metadata=self.metadata,
            )
        except (ConflictError, NotFoundError):
            raise InputError("thread_id", "There is no such thread") from None
        return thread_id

    async def _known(self) -> str:
        """Return the thread on which just this was said, and nothing since."""
        earlier = self._asked.earlier
        if not earlier or earlier[-1].role != "assistant":
            return ""
        metadata = {_CONVERSATION: conversation_key(self._asked, earlier)}
        found = await self._client.threads.search(
            metadata=metadata, limit=1, status="idle", select=["thread_id"]
        )
        for thread_id in (str(thread["thread_id"]) for thread in found):
            # Somebody may have gone on with it elsewhere; not every server lists values.
            state: Mapping[str, Any] = await self._client.threads.get_state(thread_id)
            if _last_answer(state["values"] or {}).split() == earlier[-1].text.split():
                return thread_id
        return ""

    @property
    def metadata(self) -> dict[str, str]:
        """Return what a new thread says of itself: the client's own words, and where it is from."""
        title = one_line(self._asked.question, longest=_TITLE)
        return {"title": title, **self._asked.metadata, "asked_over": "openai"}

    async def note(self, result: RunResult, response: str) -> None:
        """Note what the next question finds the thread by; without it that begins a new one."""
        noted = {_RESPONSE: response}
        if not (self._asked.thread_id or self._asked.previous):
            turn = (Said("user", self._asked.question), Said("assistant", result.answer))
            said = [*self._asked.earlier, *turn]
            noted[_CONVERSATION] = conversation_key(self._asked, said)
        try:
            await self._client.threads.update(result.thread_id, metadata=noted)
        except httpx.HTTPError as error:
            log.warning("thread=%s: its conversation is not noted: %s", result.thread_id, error)


def _last_answer(values: Mapping[str, Any]) -> str:
    """Return the answer that a thread ends with, as its client was given it; "" without one."""
    try:
        return outcome_of(values, RunName("", "", ""), 0).answer_first
    except AgentError:
        return ""


class _Progress(RunListener):
    """Take the lines of a run, each once where it is said again and again."""

    def __init__(self, language: Language) -> None:
        self._language, self.said = language, list[str]()
        self.lines = asyncio.Queue[str | None]()
        """As they come; None is the end."""

    async def event(self, event: Mapping[str, Any]) -> None:
        line = event_line(event, self._language)
        if line and line not in self.said[-1:]:
            self.said.append(line)
            self.lines.put_nowait(line)


@dataclass(frozen=True)
class _Turn:
    """Hold a run that the server has accepted, until its answer."""

    call: Call
    follower: RunFollower
    progress: _Progress
    conversations: _Conversations
    response: str
    """The id of the answer, which names its thread."""

    async def result(self) -> RunResult:
        """Return the finished run; raise AgentError."""
        try:
            with _said_plainly():
                result = await self.call.finish(self.follower)
                result = replace(result, answer=result.answer_first)
                await self.conversations.note(result, self.response)
                return result
        finally:
            self.progress.lines.put_nowait(None)


async def _begin(
    client: LangGraphClient, asked: ClientQuestion, given_up: Callable[[], bool]
) -> _Turn:
    """Begin the run; raise AgentError where the server does not accept it."""
    with _said_plainly():
        offered = _offered(await _catalogue.tools(client), asked.model)
        arguments = read_arguments({"question": asked.question, **asked.arguments}, offered)
        conversations = _Conversations(client, asked, offered.graph_id)
        # An open server asks no rule about what this process makes.
        check_settings({"metadata": conversations.metadata})
        if OWNER in asked.metadata:
            raise InputError(f"metadata.{OWNER}", "is the server's to set")
        thread_id, is_known = await conversations.thread()
        progress = _Progress(arguments.language)
        call = Call(client, offered, progress, given_up, metadata=conversations.metadata)
        order = _order(asked, arguments, offered, thread_id, is_known=is_known)
        follower = await call.begin(order)
        return _Turn(call, follower, progress, conversations, response_id(call.thread_id))


@contextmanager
def _said_plainly() -> Iterator[None]:
    """Raise what goes wrong as an AgentError in words for the client (or StoreFailed)."""

    def broken(part: str, problem: str) -> AgentError:
        return AgentError(f"{part} failed inside the server; its log says more.")

    with contained("the answer", broken):
        try:
            yield
        except httpx.HTTPError as error:
            raise server_refusal("the server", error) from None


def _order(
    asked: ClientQuestion,
    arguments: CallArguments,
    offered: AssistantTool,
    thread_id: str,
    *,
    is_known: bool,
) -> CallArguments:
    """Return what the run gets: nobody reviews a plan here, so it is not shown for that."""
    run_input = dict(arguments.input)
    if asked.effort and _EFFORT[0] in offered.tool.inputSchema["properties"]:
        run_input = {**dict(zip(_EFFORT, asked.effort, strict=True)), **run_input}
    if not is_known:
        run_input["messages"] = history(arguments.question, asked.earlier)
    context = {**arguments.context, "review_plan": False}
    return replace(arguments, thread_id=thread_id or None, input=run_input, context=context)


class OpenAIEndpoint:
    """Answer one of the two routes, as an ASGI application: it has to see its client hang up."""

    def __init__(self, read: Callable[[Any], ClientQuestion], *, responses: bool) -> None:
        self._read, self._responses = read, responses

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            asked = await self._asked(request)
        except ClientDisconnect:
            return
        except AgentError as error:
            await refused(error)(scope, receive, send)
            return
        begun: list[Message] = []

        async def sent(message: Message) -> None:
            begun[:] = begun or [message]
            await send(message)

        with anyio.CancelScope() as stop:
            async with anyio.create_task_group() as watching:
                watching.start_soon(_watch, receive, stop)
                await self._answer(request, asked, stop, sent)
                watching.cancel_scope.cancel()
        if not begun:
            # Nobody reads it, but the server takes an application without an answer for broken.
            await Response(status_code=_GONE)(scope, receive, send)

    async def _asked(self, request: Request) -> ClientQuestion:
        """Return what is asked; a body of a megabyte takes the processor for more than a second."""
        body = await _body(request)
        if len(body) <= SHORT:
            return self._read(_parsed(body))
        owner = identify(request.headers, access()) or OPEN_OWNER
        try:
            return await in_turns(lambda: self._read(_parsed(body)), owner)
        except TimeoutError:
            raise InputError("body", "takes too long to read") from None

    async def _answer(
        self, request: Request, asked: ClientQuestion, stop: anyio.CancelScope, send: Send
    ) -> None:
        async with client_for(request) as client:
            try:
                turn = await _begin(client, asked, lambda: stop.cancel_called)
                reply = self._reply(asked, turn)
                if asked.stream:
                    await _stream(turn, reply, send)
                    return
                whole = reply.whole(await turn.result(), turn.progress.said)
                answer: Response = private_json(whole)
            except MEANT as error:
                answer = refused(error)
            await answer(request.scope, request.receive, send)

    def _reply(self, asked: ClientQuestion, turn: _Turn) -> Reply:
        if not self._responses:
            return ChatReply(asked.model, include_usage=asked.include_usage)
        metadata = {**asked.metadata, "thread_id": turn.call.thread_id}
        return ResponseReply(asked.model, turn.response, previous=asked.previous, metadata=metadata)


async def _watch(receive: Receive, stop: anyio.CancelScope) -> None:
    """Stop where the client hangs up: nobody would get the answer."""
    while (await receive())["type"] != "http.disconnect":
        pass
    stop.cancel()


async def _stream(turn: _Turn, reply: Reply, send: Send) -> None:
    """Send the events of a run; a failure is one, too, for the status has been sent long before."""

    async def say_all(events: Iterable[str]) -> None:
        for event in events:
            await send({"type": "http.response.body", "body": event.encode(), "more_body": True})

    async def tell() -> None:
        while True:
            try:
                async with asyncio.timeout(QUIET_SECONDS):
                    line = await turn.progress.lines.get()
            except TimeoutError:
                await say_all([_QUIET])
                continue
            if line is None:
                return
            await say_all(reply.progress(line))

    headers = [(name.encode(), value.encode()) for name, value in _STREAM_HEADERS.items()]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await say_all(reply.begin())
    async with anyio.create_task_group() as telling:
        telling.start_soon(tell)
        try:
            ending = reply.end(await turn.result())
        except MEANT as error:
            ending = reply.failed(_problem(error).error)
    await say_all(ending)
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _body(request: Request) -> bytes:
    """Return what was sent; raise InputError where it does not come."""
    try:
        return await limited_body(request, LARGEST_BODY)
    except NotRead:
        raise InputError("body", "must be there within seconds") from None


def _parsed(body: bytes) -> Any:
    try:
        return parse_json(body)
    except ValueError:
        raise InputError("body", "must be JSON") from None


@dataclass(frozen=True)
class _Problem:
    """Hold an error as OpenAI's clients know it: a type of theirs, our words and code."""

    status: int
    kind: str
    message: str
    code: str
    param: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def error(self) -> JsonObject:
        return {
            "message": as_sentence(self.message),
            "type": self.kind,
            "param": self.param,
            "code": self.code,
        }


def _problem(error: Exception) -> _Problem:
    """Return what a failure is for the client: its own, a limit's, or the server's."""
    if isinstance(error, LimitReached):
        wait = {"Retry-After": f"{error.retry_after:.0f}"}
        code = "rate_limit_exceeded"
        return _Problem(429, "rate_limit_error", error.message, code, headers=wait)
    if isinstance(error, InputError):
        return _Problem(400, _INVALID, error.message, "invalid_value", error.name)
    if isinstance(error, _NoModel):
        return _Problem(404, _INVALID, error.message, "model_not_found", "model")
    if isinstance(error, NotAccepted) or getattr(error, "code", "") == InputError.code:
        return _Problem(400, _INVALID, str(error), "invalid_value")
    code = getattr(error, "code", AgentError.code)
    status = 504 if code == "run_overdue" else 500
    return _Problem(status, "server_error", str(error) or "it took too long", code)


def refused(error: Exception) -> Response:
    """Return the answer that says why there is none."""
    problem = _problem(error)
    return private_json({"error": problem.error}, problem.status, problem.headers)


async def nothing_else(request: Request) -> Response:
    """Refuse what the API has besides, in the shape that its clients read."""
    words = f"{request.method} {request.url.path} is not served; there are POST "
    words += "/v1/chat/completions, POST /v1/responses and GET /v1/models"
    problem = _Problem(404, _INVALID, words, "not_found")
    return private_json({"error": problem.error}, 404)


def openai_routes() -> list[Route]:
    """Return all below `/v1`."""
    chat = OpenAIEndpoint(read_chat, responses=False)
    response = OpenAIEndpoint(read_response, responses=True)
    return [
        Route("/v1/models", models),
        Route("/v1/models/{name}", model),
        Route("/v1/chat/completions", chat, methods=["POST"]),
        Route("/v1/responses", response, methods=["POST"]),
        Route(f"{_BELOW}{{rest:path}}", nothing_else, methods=_METHODS),
    ]
