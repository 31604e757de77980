"""One call of a tool: a run on a thread of this server, followed to its end or cancelled there."""

import asyncio
import contextlib
import time
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import anyio
import httpx
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import NotFoundError

from agent.assistants.common.conversation import MAX_QUESTION
from agent.client.connection import message_of
from agent.client.run_result import Outcome, RunName, outcome_of
from agent.core.errors import AgentError, InputError
from agent.evidence.queries import clean_text
from agent.server.mcp_tools import Offered
from agent.texts import say
from agent.texts.language import Language, detect_language
from agent.texts.progress_words import event_line

QUIET_SECONDS = 15.0
"""Clients give a silent call up, many after 60 s; word from us starts their clock again."""


class Notify(Protocol):
    """Sends one notification: how far (it only grows), and the words."""

    async def __call__(self, progress: float, message: str) -> None: ...


class Teller:
    """The progress of one call; `notify` is None where the client asked for none."""

    def __init__(
        self, notify: Notify | None, language: Language, *, quiet_seconds: float = QUIET_SECONDS
    ) -> None:
        self._notify, self._language, self._quiet = notify, language, quiet_seconds
        self._line, self._count = say("progress.starting", language), 0
        self._began = self._said = time.monotonic()

    async def event(self, told: Mapping[str, Any]) -> None:
        """One event of the run, if it says something new."""
        if line := event_line(told, self._language):
            self._line = line
            await self._say(line)

    @asynccontextmanager
    async def telling(self) -> AsyncIterator[None]:
        """Says that it starts, and in long silences that it still works."""
        await self._say(self._line)
        still = asyncio.create_task(self._still())
        try:
            yield
        finally:
            still.cancel()

    async def _still(self) -> None:
        while True:
            silent = time.monotonic() - self._said
            if silent < self._quiet:
                await asyncio.sleep(self._quiet - silent)
            else:
                await self._say(f"{self._line} · {time.monotonic() - self._began:.0f} s")

    async def _say(self, line: str) -> None:
        self._count, self._said = self._count + 1, time.monotonic()
        if self._notify is None:
            return
        # Who has hung up is not told any more; that the call ends is seen elsewhere.
        with contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
            await self._notify(float(self._count), line)


_CANCEL_SECONDS = 5.0
_FROM_THE_START = "-1"


@dataclass(frozen=True)
class Asked:
    """Checked arguments; without a `thread_id` the question begins a thread."""

    question: str
    thread_id: str | None
    input: dict[str, Any]
    context: dict[str, Any]

    @property
    def language(self) -> Language:
        """Of the progress."""
        chosen = self.context.get("answer_language")
        return chosen if chosen in ("zh", "en") else detect_language(self.question)


def read_arguments(given: Mapping[str, Any], offered: Offered) -> Asked:
    """The arguments as a request; raises InputError that names the one that is wrong."""
    if "review_plan" in given:
        raise InputError("review_plan", "a tool cannot wait for a review; leave it out")
    _check(given, offered.tool.inputSchema)
    question = clean_text(given["question"], MAX_QUESTION)
    if not question:
        raise InputError("question", "is empty")
    rest = {name: value for name, value in given.items() if name not in ("question", "thread_id")}
    context = {name: rest.pop(name) for name in offered.context if name in rest}
    messages = [{"role": "user", "content": question}]
    return Asked(question, _thread(given.get("thread_id")), {"messages": messages, **rest}, context)


def _check(given: Mapping[str, Any], schema: Mapping[str, Any]) -> None:
    for name in given:
        if name not in schema["properties"]:
            known = ", ".join(schema["properties"])
            raise InputError(name, f"there is no such argument; known: {known}")
    for name in schema["required"]:
        if name not in given:
            raise InputError(name, "is missing")
    if len(str(given["question"])) > MAX_QUESTION:
        raise InputError("question", f"is longer than {MAX_QUESTION} characters")
    error = best_match(Draft202012Validator(schema).iter_errors(dict(given)))
    if error is not None:
        raise InputError(".".join(map(str, error.absolute_path)) or "arguments", error.message)


def _thread(given: str | None) -> str | None:
    """A thread's id is a UUID everywhere; anything else could be part of a path."""
    if given is None:
        return None
    try:
        return str(uuid.UUID(given))
    except ValueError:
        raise InputError("thread_id", "must be the thread_id of an earlier result") from None


class Call:
    """A question on its way; when its client gives it up, the run is cancelled.

    Where the server ends under it the run is not: that is continued as every accepted run.
    """

    def __init__(
        self,
        client: LangGraphClient,
        offered: Offered,
        teller: Teller,
        given_up: Callable[[], bool],
    ) -> None:
        self._client, self._offered, self._teller = client, offered, teller
        self._given_up = given_up

    async def answer(self, asked: Asked) -> Outcome:
        """The finished run; raises AgentError in one line where there is no answer."""
        began = time.monotonic()
        thread_id = await self._place(asked)
        # Not to be broken off: a run whose id nobody has could not be cancelled.
        with anyio.CancelScope(shield=True):
            run_id = await self._start(thread_id, asked)
        try:
            async with self._teller.telling():
                values = await self._follow(thread_id, run_id)
        except asyncio.CancelledError:
            if self._given_up():
                await self._cancel(thread_id, run_id)
            raise
        run = RunName(self._offered.graph_id, thread_id, run_id)
        return outcome_of(values, run, time.monotonic() - began)

    async def _place(self, asked: Asked) -> str:
        if asked.thread_id is None:
            graph_id = self._offered.graph_id
            metadata = {"asked_over": "mcp"}
            thread = await self._client.threads.create(graph_id=graph_id, metadata=metadata)
        else:
            try:
                thread = await self._client.threads.get(asked.thread_id)
            except NotFoundError:
                raise InputError("thread_id", "there is no such thread") from None
        return str(thread["thread_id"])

    async def _start(self, thread_id: str, asked: Asked) -> str:
        run = await self._client.runs.create(
            thread_id,
            self._offered.assistant_id,
            input=asked.input,
            context=asked.context or None,
            stream_mode=["custom", "values"],
            stream_resumable=True,
            durability="sync",
        )
        return str(run["run_id"])

    async def _follow(self, thread_id: str, run_id: str) -> Mapping[str, Any]:
        """The state the run leaves; its events are told on the way."""
        values: Mapping[str, Any] = {}
        failure = ""
        stream = self._client.runs.join_stream(thread_id, run_id, last_event_id=_FROM_THE_START)
        async for part in stream:
            match part.event:
                case "custom":
                    await self._teller.event(part.data)
                case "values":
                    values = part.data
                case "error":
                    failure = message_of(part.data)
        # Raised only now: a stream left before its end complains when it is collected.
        if failure:
            raise AgentError(failure)
        if "__interrupt__" in values:
            raise AgentError(
                f"review_plan: the run waits for a review, which a tool cannot give; "
                f"go on with thread {thread_id} in a client that can"
            )
        return values

    async def _cancel(self, thread_id: str, run_id: str) -> None:
        with (
            contextlib.suppress(httpx.HTTPError),
            anyio.move_on_after(_CANCEL_SECONDS, shield=True),
        ):
            await self._client.runs.cancel(thread_id, run_id, wait=True)
