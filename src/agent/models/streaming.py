"""Stream an answer: retried and replaced before its first text, continued once after it.

LangGraph streams what chat models say inside nodes. The models we ask are hidden from it (they
write internal ids); this one wraps the pieces that code has already made clean.

A reply may be begun before it is known whether it is wanted, beside the call that decides it. As
LangGraph's steps end together, it is a task of the process, kept here by its turn. Nothing of it is
in the state: a process that goes on with a run finds none, and asks as if there had been none.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, cast

from langchain_core.callbacks import (
    AsyncCallbackManagerForLLMRun,
    CallbackManagerForLLMRun,
)
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from pydantic import Field, SkipValidation

from agent.core.budget import Meter
from agent.core.calls import Calls, Policy, Pulse, request_key
from agent.core.concurrency import begin_beside
from agent.core.errors import (
    BudgetExceeded,
    ConfigurationError,
    MalformedReply,
    ProviderError,
    ProviderRefused,
    ProviderUnavailable,
)
from agent.core.processor import lazy_property
from agent.core.strings import ends_in_half, valid_text
from agent.models.catalogue import ModelName
from agent.models.limits import ReplySize, Underway, refuse_late, without_loop
from agent.models.replies import SpokenText, spoken_pieces
from agent.models.seam import Seam, last_words, shown_end
from agent.models.types import ModelRequest, StreamPiece, Thinking, Vendor, Withdrawal
from agent.models.validation import LOOP, RUNAWAY, blocked_reply, malformed_reply
from agent.models.window import Windows
from agent.prompts import render

Pieces = Callable[[], AsyncIterator[str]]


class FinishedText(BaseChatModel):
    """Say what `pieces` yields; call it with `ainvoke([], config)` inside a node."""

    pieces: SkipValidation[Pieces] = Field(exclude=True, repr=False)

    @property
    def _llm_type(self) -> str:
        return "finished-text"

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        async for piece in self.pieces():
            if piece:
                yield ChatGenerationChunk(message=AIMessageChunk(content=piece))

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        text = "".join([piece async for piece in self.pieces()])
        return ChatResult(generations=[ChatGeneration(message=AIMessage(content=text))])

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        raise TypeError("finished text is written asynchronously: use ainvoke")


log = logging.getLogger(__name__)
_IDLE_SECONDS = 30.0
_LAST_CHARACTERS = 200
_ENDS = tuple(".!?。！？…|`*_)）]】」』”\"'>")
Account = Callable[[ModelName, Meter, Any], None]


async def _valid(pieces: AsyncGenerator[StreamPiece, None]) -> AsyncGenerator[StreamPiece, None]:
    """Yield the same in valid text; half a character waits for its other half in the next piece."""
    half = ""
    async with aclosing(pieces):
        async for piece in pieces:
            text = half + piece.text
            half = text[-1:] if ends_in_half(text) else ""
            yield replace(piece, text=valid_text(text.removesuffix(half)))
    if half:
        yield StreamPiece(text=valid_text(half))


class ReadAhead:
    """Read texts in a task of its own, as fast as they come; iterate over it to have them.

    What is done at their end, such as keeping the whole reply, waits for no reader of the pieces.
    """

    def __init__(self, texts: AsyncGenerator[str, None]) -> None:
        self._pieces: asyncio.Queue[str | None] = asyncio.Queue()
        self._task = begin_beside(self._read(texts))

    async def _read(self, texts: AsyncGenerator[str, None]) -> None:
        try:
            async with aclosing(texts):
                async for text in texts:
                    self._pieces.put_nowait(text)
                    # What has come already, a kept reply or a fast machine's, never waits.
                    await asyncio.sleep(0)
        finally:
            self._pieces.put_nowait(None)

    @property
    def has_failed(self) -> bool:
        """Return whether the reading has ended, and not at the end of the texts."""
        return self._task.done() and (self._task.cancelled() or bool(self._task.exception()))

    async def __aiter__(self) -> AsyncIterator[str]:
        """Yield what has come so far at once, then the rest as it comes."""
        while (text := await self._pieces.get()) is not None:
            yield text
        await self._task

    def give_up(self) -> None:
        """End the reading, without waiting for that."""
        self._task.cancel()

    async def aclose(self) -> None:
        """End the reading where it is not over."""
        self.give_up()
        await asyncio.wait([self._task])


@dataclass(frozen=True)
class Streamed:
    """Hold one text that is to be streamed: from whom, for what; `request` identifies it."""

    names: Sequence[ModelName]
    messages: Sequence[BaseMessage]
    thinking: Thinking
    policy: Policy
    request: Any

    @lazy_property
    def key(self) -> str:
        """Return the name that the reply is kept under."""
        return request_key(self.policy.provider, self.request)


class OpenStream:
    """Hold a stream whose first text has come."""

    def __init__(
        self,
        pieces: AsyncGenerator[StreamPiece, None],
        name: ModelName,
        idle: float,
        account: Account,
        *,
        text: SpokenText,
        underway: Underway,
    ) -> None:
        self.name, self.text = name, text
        self._pieces, self._idle, self._account = pieces, idle, account
        self._underway = underway
        self._first, self._last = "", ""
        self._finish, self._ended = "none", False
        self._spent = StreamPiece()

    @property
    def whole(self) -> bool:
        """Return True if the reply is whole: its service says so, or it ends as texts end."""
        if self._finish != "none":
            return self._finish == "stop"
        return self._ended and ends_naturally(self._last)

    async def wait_for_text(self) -> None:
        """Raise ProviderError where the stream ends without text."""
        provider, model = f"model:{self.name.provider}", self.name.id
        async for piece in self._pieces:
            self._count(piece)
            if piece.finish == "blocked":
                raise blocked_reply(provider, model, piece.reason)
            if piece.text:
                self._first = piece.text
                return
        code = "model_truncated" if self._finish == "length" else "model_empty"
        raise malformed_reply(provider, model, code)

    async def texts(self, meter: Meter) -> AsyncGenerator[str, None]:
        """Yield all text; ends quietly where it is cut off, with `whole` False."""
        yield self._first
        try:
            while (piece := await self._next(meter)) is not None:
                self._count(piece)
                if piece.withdraws:
                    yield Withdrawal()
                if piece.text:
                    yield piece.text
                if piece.finish == "blocked":
                    raise blocked_reply(f"model:{self.name.provider}", self.name.id, piece.reason)
            self._ended = True
        except ProviderRefused:
            raise
        except (ProviderError, TimeoutError) as error:
            if isinstance(error, ProviderError) and error.code in RUNAWAY:
                if error.code == LOOP:
                    meter.remark("model_weak")
                raise
            if not self.whole:
                log.warning("turn=%s %s: cut off: %s", meter.turn_id, self.name.id, error)

    async def _next(self, meter: Meter) -> StreamPiece | None:
        async with asyncio.timeout(max(0.0, min(self._idle, meter.remaining()))):
            return await anext(self._pieces, None)

    def _count(self, piece: StreamPiece) -> None:
        self._spent.input_tokens += piece.input_tokens
        self._spent.output_tokens += piece.output_tokens
        self._spent.served_by = piece.served_by or self._spent.served_by
        if piece.finish and piece.finish != "none":
            self._finish = piece.finish
        self._last = (self._last + piece.text)[-_LAST_CHARACTERS:]

    async def close(self, meter: Meter, *, given_up: bool = False) -> None:
        """Close the connection and account for what was used, by estimate where it ended early.

        A reply that is `given_up` before its first word has been paid for its prompt.
        """
        await self._pieces.aclose()
        is_begun = self._underway.has_heard or given_up
        if not self._ended and not self._spent.output_tokens and is_begun:
            self._spent = replace(self._underway.spent(), served_by=self._spent.served_by)
        if self.text.echoes:
            meter.remark("model_weak")
        self._account(self.name, meter, self._spent)


class AnswerStream:
    """Stream one answer to a client."""

    def __init__(
        self,
        calls: Calls,
        vendor: Callable[[ModelName], Awaitable[Vendor]],
        policy: Callable[[ModelName], Policy],
        account: Account,
        *,
        opened: set[ModelName],
        windows: Windows,
        size_of: Callable[[ModelName, ModelRequest], ReplySize],
        characters: int,
        meter: Meter,
        thinking: Thinking,
    ) -> None:
        self._calls, self._vendor, self._policy = calls, vendor, policy
        self._account, self._opened = account, opened
        self._meter, self._thinking = meter, thinking
        self._windows, self._size_of = windows, size_of
        self._characters = characters

    async def tell(
        self, names: Sequence[ModelName], messages: Sequence[BaseMessage]
    ) -> AsyncGenerator[str, None]:
        """Yield the text as it comes, from the first of `names` that answers at all.

        What went round in circles is taken back, but for its first round.
        """
        said = ""
        try:
            async with aclosing(self._tell(names, messages)) as pieces:
                async for text in pieces:
                    said = "" if isinstance(text, Withdrawal) else said + text
                    yield text
        except MalformedReply as error:
            if error.code == LOOP and (kept := without_loop(said)) != said:
                yield Withdrawal()
                yield kept
            raise

    async def _tell(
        self, names: Sequence[ModelName], messages: Sequence[BaseMessage]
    ) -> AsyncGenerator[str, None]:
        text_so_far = ""
        async with AsyncExitStack() as stack:
            opened = await self._open_any(names, messages, stack)
            stack.callback(self._remember, opened)
            async for text in opened.texts(self._meter):
                text_so_far = "" if isinstance(text, Withdrawal) else text_so_far + text
                yield text
        if opened.whole:
            return
        prompt = [*messages, continue_prompt(text_so_far)]
        async with AsyncExitStack() as stack:
            more = await self._continue(opened.name, prompt, stack)
            async for text in self._joined(more, Seam(text_so_far)):
                yield text
        if not more.whole:
            raise _cut_off(opened.name)

    async def _joined(self, more: OpenStream, seam: Seam) -> AsyncGenerator[str, None]:
        """Yield the rest of a text so that no seam is seen; where it begins anew, instead of it."""
        async for text in more.texts(self._meter):
            if isinstance(text, Withdrawal):
                seam = Seam("")
                yield text
            elif rest := seam.take(text):
                if seam.restarted:
                    yield Withdrawal()
                    seam = Seam("")
                yield rest
        if rest := seam.end():
            yield rest

    def _remember(self, stream: OpenStream) -> None:
        """Keep whether a model's template opens its thoughts: the next reply of it waits."""
        if stream.text.opened:
            self._opened.add(stream.name)
        else:
            self._opened.discard(stream.name)

    async def _open_any(
        self,
        names: Sequence[ModelName],
        messages: Sequence[BaseMessage],
        stack: AsyncExitStack,
    ) -> OpenStream:
        for name, following in zip(names, [*names[1:], None], strict=True):
            try:
                return await self._open(name, messages, stack)
            except (ProviderError, ConfigurationError) as error:
                if following is None:
                    raise
                log.warning(
                    "turn=%s %s; asking %s instead", self._meter.turn_id, error, following.id
                )
        raise ValueError("no model to ask")

    async def _continue(
        self, name: ModelName, messages: Sequence[BaseMessage], stack: AsyncExitStack
    ) -> OpenStream:
        try:
            return await self._open(name, messages, stack)
        except (ProviderError, BudgetExceeded) as error:
            raise _cut_off(name) from error

    async def _open(
        self, name: ModelName, messages: Sequence[BaseMessage], stack: AsyncExitStack
    ) -> OpenStream:
        """Return an open stream; `stack` closes it and leaves its place among the calls."""
        vendor, policy = await self._vendor(name), self._policy(name)
        request = ModelRequest(name.id, tuple(messages), thinking=self._thinking)

        async def ask(sized: ModelRequest) -> OpenStream:
            size, pulse = self._size_of(name, sized), Pulse()
            limited = replace(sized, max_tokens=size.tokens)

            async def start() -> OpenStream:
                refuse_late(size, self._meter)
                opened = self._stream(vendor, limited, name, policy, pulse)
                try:
                    await opened.wait_for_text()
                except BaseException as error:
                    given_up = isinstance(error, asyncio.CancelledError)
                    await opened.close(self._meter, given_up=given_up)
                    raise
                return opened

            return await self._calls.call(policy, start, meter=self._meter, pulse=pulse)

        async with AsyncExitStack() as own:
            await own.enter_async_context(self._calls.place(policy, self._meter))
            opened = await self._windows.ask_within(name, request, vendor, ask)
            own.push_async_callback(opened.close, self._meter)
            stack.push_async_exit(own.pop_all())
        return opened

    def _stream(
        self, vendor: Vendor, request: ModelRequest, name: ModelName, policy: Policy, pulse: Pulse
    ) -> OpenStream:
        """Return a stream whose pieces are made clean and heard as they come."""
        underway = Underway(policy.provider, request, pulse, characters=self._characters)
        pieces = _valid(cast(AsyncGenerator[StreamPiece, None], vendor.stream(request)))
        text = SpokenText(request, opened=name in self._opened)
        spoken = spoken_pieces(heard(pieces, underway), text)
        idle = min(_IDLE_SECONDS, policy.timeout)
        return OpenStream(spoken, name, idle, self._account, text=text, underway=underway)


async def heard(
    pieces: AsyncGenerator[StreamPiece, None], underway: Underway
) -> AsyncGenerator[StreamPiece, None]:
    """Yield the same, thoughts included, and tell who watches that it comes."""
    async with aclosing(pieces):
        async for piece in pieces:
            underway.hear(piece.text + piece.hidden)
            yield piece
            if not piece.text:
                # Of a thought that has come already nobody who reads the text would wait.
                await asyncio.sleep(0)


def ends_naturally(text: str) -> bool:
    """Return True for a text that ends with a sentence, a row, a link or a line."""
    bare = text.rstrip()
    return bare.endswith(_ENDS) or "\n" in text[len(bare) :]


def continue_prompt(text: str) -> HumanMessage:
    """Ask for the rest of what was cut off."""
    values = {"cut_off": shown_end(text), "last_words": last_words(text)}
    return HumanMessage(render("continue_answer", **values))


def _cut_off(name: ModelName) -> ProviderUnavailable:
    return ProviderUnavailable(
        f"model:{name.provider}", f"{name.id}: the answer was cut off", code="model_cut_off"
    )


Texts = Callable[[Meter], AsyncGenerator[str, None]]
_KEPT_SECONDS = 60.0
"""For the next step to take a reply up: a run that was cancelled between the two never does."""


class EarlyReply:
    """Hold a reply that may be begun early: `begin` it, and `keep` it where it is wanted."""

    def __init__(self, key: str, texts: Texts, meter: Meter, has_room: Callable[[], bool]) -> None:
        self.key, self.meter = key, meter
        self.reading: ReadAhead | None = None
        self.is_kept = False
        self._texts, self._has_room = texts, has_room

    def begin(self) -> None:
        """Begin to write, once, where that takes no other call's place."""
        if self.reading is None and self._has_room():
            self.reading = ReadAhead(self._texts(self.meter))

    def keep(self) -> None:
        """Leave it to the step that asks for it."""
        self.is_kept = self.reading is not None

    async def end(self, meter: Meter) -> None:
        """End the writing where it is not over; `meter` owns what it has cost."""
        if self.reading is not None:
            await self.reading.aclose()
            meter.own(self.meter)


class EarlyReplies:
    """Hold the early replies of a process: one a turn, on the loop that it was begun on."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, int], EarlyReply] = {}

    @asynccontextmanager
    async def beside(self, early: EarlyReply, meter: Meter) -> AsyncIterator[EarlyReply]:
        """Hold a reply for as long as the step lasts that decides of it, longer where it is kept.

        What was begun and is not wanted ends with the step, also where that fails or is cancelled.
        """
        try:
            yield early
        except BaseException:
            early.is_kept = False
            raise
        finally:
            if early.is_kept:
                self._keep(_place(meter), early)
            else:
                await early.end(meter)

    def _keep(self, place: tuple[str, int], early: EarlyReply) -> None:
        self._kept[place] = early
        asyncio.get_running_loop().call_later(_KEPT_SECONDS, self._drop, place, early)

    def _drop(self, place: tuple[str, int], early: EarlyReply) -> None:
        if self._kept.get(place) is early:
            del self._kept[place]
            if early.reading is not None:
                early.reading.give_up()

    async def aclose(self) -> None:
        """End what nobody has taken up on this loop."""
        here = id(asyncio.get_running_loop())
        for place in [place for place in self._kept if place[1] == here]:
            if (reading := self._kept.pop(place).reading) is not None:
                await reading.aclose()

    @asynccontextmanager
    async def taken_up(self, key: str, meter: Meter) -> AsyncIterator[ReadAhead | None]:
        """Hold the turn's early reply to this very request; None where there is none that works.

        One to another request, or one that failed, ends here: the answer is asked for anew.
        """
        early = self._kept.pop(_place(meter), None)
        if early is None:
            yield None
            return
        reading = early.reading
        if early.key != key or (reading is not None and reading.has_failed):
            await early.end(meter)
            yield None
            return
        # From here on it may spend what is kept back for the answer.
        early.meter.answering = True
        try:
            yield reading
        finally:
            await early.end(meter)


def _place(meter: Meter) -> tuple[str, int]:
    return meter.turn_id, id(asyncio.get_running_loop())
