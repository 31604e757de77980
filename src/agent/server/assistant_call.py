"""Have one question answered by a run on a thread of this server, followed or cancelled there."""

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import NotFoundError

from agent.assistants.common.conversation import MAX_QUESTION
from agent.client.connection import LimitReached
from agent.client.follow import FollowLimits, RunFollower, RunListener, RunOrder
from agent.client.run_result import RunName, RunResult, outcome_of, pause_of
from agent.core.errors import AgentError, InputError
from agent.evidence.queries import clean_text
from agent.runs.engine import engine
from agent.server.auth.api_keys import OPEN_OWNER, access
from agent.server.auth.owner_limits import TooMany, owner_limits
from agent.server.mcp_tools import AssistantTool
from agent.texts import Language
from agent.texts.languages import language_of_setting

T = TypeVar("T")
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
        raise InputError("review_plan", "A tool cannot wait for a review; leave it out")
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
            raise InputError(name, f"There is no such argument; known: {names}")
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
        listener: RunListener,
        given_up: Callable[[], bool],
        *,
        metadata: dict[str, Any],
    ) -> None:
        """Prepare a call; `metadata` is what a thread that it makes says of itself."""
        self._client, self._offered, self._listener = client, offered, listener
        self._given_up, self._metadata = given_up, metadata
        self._began = time.monotonic()
        self.thread_id = ""
        """Known once the run is begun."""

    async def answer(self, question: CallArguments) -> RunResult:
        """Return the finished run; raise AgentError in one line where there is no answer."""
        return await self.finish(await self.begin(question))

    async def begin(self, question: CallArguments) -> RunFollower:
        """Return the follower of a run that the server has accepted; raise AgentError."""
        if access().open and not engine().rules_its_own_calls:
            await self._admit(question)
        self.thread_id = await self._thread(question)
        follower = self._follower(question)
        await self._unless_given_up(follower, follower.begin())
        return follower

    async def finish(self, follower: RunFollower) -> RunResult:
        """Return the finished run; raise AgentError in one line where there is no answer."""
        run = await self._unless_given_up(follower, follower.follow())
        if run.error:
            raise run.error
        if pause_of(run.values):
            raise pause_refusal(self.thread_id)
        name = RunName(self._offered.graph_id, self.thread_id, run.run_id)
        return outcome_of(run.values, name, time.monotonic() - self._began)

    async def _unless_given_up(self, follower: RunFollower, work: Awaitable[T]) -> T:
        try:
            return await work
        except asyncio.CancelledError:
            if self._given_up():
                await follower.cancel()
            raise

    async def _admit(self, question: CallArguments) -> None:
        try:
            await owner_limits().admit(OPEN_OWNER)
        except TooMany as too_many:
            words = too_many.words(question.language)
            raise LimitReached(words, too_many.retry_after) from None

    async def _thread(self, question: CallArguments) -> str:
        """Return the thread's id; one that the client named must be there."""
        if question.thread_id is None:
            thread = await self._client.threads.create(
                graph_id=self._offered.graph_id, metadata=self._metadata
            )
        else:
            try:
                thread = await self._client.threads.get(question.thread_id)
            except NotFoundError:
                raise InputError("thread_id", "There is no such thread") from None
        return str(thread["thread_id"])

    def _follower(self, question: CallArguments) -> RunFollower:
        offered = self._offered
        request = RunOrder(
            {"assistant_id": offered.assistant_id, "graph_id": offered.graph_id},
            self.thread_id,
            input=question.input,
            context=question.context,
            stream_mode=("custom", "values"),
        )
        return RunFollower(
            self._client,
            request,
            server="the server",
            limits=FollowLimits(run=offered.run_seconds, queue=_QUEUE_SECONDS, away=_AWAY_SECONDS),
            listener=self._listener,
        )


def pause_refusal(thread_id: str) -> AgentError:
    """Return the error of a run that waits for a person."""
    return AgentError(
        f"review_plan: the run waits for a review, which a tool cannot give; "
        f"go on with thread {thread_id} in a client that can"
    )
