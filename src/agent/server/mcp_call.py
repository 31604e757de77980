"""Answer one call of a tool: a run on a thread of this server, followed or cancelled there."""

import asyncio
import contextlib
import logging
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio
import httpx
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import NotFoundError
from mcp.server.lowlevel import Server
from mcp.types import (
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    ServerResult,
    Tool,
)

from agent import __version__
from agent.assistants.common.conversation import MAX_QUESTION
from agent.client.connection import refusal
from agent.client.follow import FollowLimits, RunFollower, RunListener, RunOrder
from agent.client.run_result import RunName, RunResult, outcome_of, pause_of
from agent.core.errors import AgentError, InputError
from agent.evidence.queries import clean_text
from agent.runs.engine import engine
from agent.server.auth.api_keys import OPEN_OWNER, access
from agent.server.auth.owner_limits import TooMany, owner_limits
from agent.server.mcp_tools import AssistantTool, error_result
from agent.texts import Language, event_line, say
from agent.texts.languages import language_of_setting

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


_QUEUE_SECONDS = 3600.0
"""A client that waits no longer cancels its call."""
_AWAY_SECONDS = 30.0


@dataclass(frozen=True)
class CallArguments:
    """Hold checked arguments; without a `thread_id` the question begins a thread."""

    question: str
    thread_id: str | None
    input: dict[str, Any]
    context: dict[str, Any]

    @property
    def language(self) -> Language:
        """Return the language of the progress."""
        return language_of_setting(self.context.get("answer_language") or "auto", self.question)


def read_arguments(arguments: Mapping[str, Any], offered: AssistantTool) -> CallArguments:
    """Return the checked arguments; raise InputError that names the one that is wrong."""
    if "review_plan" in arguments:
        raise InputError("review_plan", "a tool cannot wait for a review; leave it out")
    _check(arguments, offered.tool.inputSchema)
    question = clean_text(arguments["question"], MAX_QUESTION)
    if not question:
        raise InputError("question", "is empty")
    own = ("question", "thread_id", *offered.context)
    rest = {name: value for name, value in arguments.items() if name not in own}
    context = {name: arguments[name] for name in offered.context if name in arguments}
    messages = [{"role": "user", "content": question}]
    thread_id = _thread_id(arguments.get("thread_id"))
    return CallArguments(question, thread_id, {"messages": messages, **rest}, context)


def _check(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> None:
    for name in arguments:
        if name not in schema["properties"]:
            names = ", ".join(schema["properties"])
            raise InputError(name, f"there is no such argument; known: {names}")
    for name in schema["required"]:
        if name not in arguments:
            raise InputError(name, "is missing")
    if len(str(arguments["question"])) > MAX_QUESTION:
        raise InputError("question", f"is longer than {MAX_QUESTION} characters")
    error = best_match(Draft202012Validator(schema).iter_errors(dict(arguments)))
    if error is not None:
        raise InputError(".".join(map(str, error.absolute_path)) or "arguments", error.message)


def _thread_id(value: str | None) -> str | None:
    """Return a thread's id, a UUID everywhere: anything else could be part of a path."""
    if value is None:
        return None
    try:
        return str(uuid.UUID(value))
    except ValueError:
        raise InputError("thread_id", "must be the thread_id of an earlier result") from None


class Call:
    """Answer one question; when its client gives it up, the run is cancelled.

    Where the server ends meanwhile the run is not: that is continued as every accepted run.
    """

    def __init__(
        self,
        client: LangGraphClient,
        offered: AssistantTool,
        progress: CallProgress,
        given_up: Callable[[], bool],
    ) -> None:
        self._client, self._offered, self._progress = client, offered, progress
        self._given_up = given_up

    async def answer(self, question: CallArguments) -> RunResult:
        """Return the finished run; raise AgentError in one line where there is no answer."""
        began = time.monotonic()
        if access().open and not engine().rules_its_own_calls:
            await self._admit(question)
        thread_id = await self._thread(question)
        follower = self._follower(thread_id, question)
        await follower.begin()
        try:
            async with self._progress.running():
                run = await follower.follow()
        except asyncio.CancelledError:
            if self._given_up():
                await follower.cancel()
            raise
        if run.error:
            raise run.error
        if pause_of(run.values):
            raise pause_refusal(thread_id)
        name = RunName(self._offered.graph_id, thread_id, run.run_id)
        return outcome_of(run.values, name, time.monotonic() - began)

    async def _admit(self, question: CallArguments) -> None:
        try:
            await owner_limits().admit(OPEN_OWNER)
        except TooMany as too_many:
            raise AgentError(too_many.words(question.language)) from None

    async def _thread(self, question: CallArguments) -> str:
        """Return the thread's id; one that the client named must be there."""
        if question.thread_id is None:
            graph_id = self._offered.graph_id
            metadata = {"asked_over": "mcp"}
            thread = await self._client.threads.create(graph_id=graph_id, metadata=metadata)
        else:
            try:
                thread = await self._client.threads.get(question.thread_id)
            except NotFoundError:
                raise InputError("thread_id", "there is no such thread") from None
        return str(thread["thread_id"])

    def _follower(self, thread_id: str, question: CallArguments) -> RunFollower:
        offered = self._offered
        request = RunOrder(
            {"assistant_id": offered.assistant_id, "graph_id": offered.graph_id},
            thread_id,
            input=question.input,
            context=question.context,
            stream_mode=("custom", "values"),
        )
        return RunFollower(
            self._client,
            request,
            server="the server",
            limits=FollowLimits(run=offered.run_seconds, queue=_QUEUE_SECONDS, away=_AWAY_SECONDS),
            listener=self._progress,
        )


log = logging.getLogger(__name__)
_INSTRUCTIONS = (
    "Assistants that look things up on the web and on the map (Chinese places by Amap) and answer "
    "with numbered sources. Each tool takes one `question`; a run takes from seconds to minutes "
    "and tells its progress. Follow up with the `thread_id` of a result."
)


def pause_refusal(thread_id: str) -> AgentError:
    """Return the error of a run that waits for a person."""
    return AgentError(
        f"review_plan: the run waits for a review, which a tool cannot give; "
        f"go on with thread {thread_id} in a client that can"
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
