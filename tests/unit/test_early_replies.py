"""A reply is written before it is known to be wanted: taken up, given up, or never begun."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from langchain_core.messages import BaseMessage, HumanMessage

from agent.core.budget import Budget, Limits, Meter
from agent.core.calls import Calls
from agent.core.errors import ProviderRefused
from agent.models.client import ModelClient
from agent.models.streaming import EarlyReply
from agent.models.types import ModelRequest, Response, StreamPiece
from agent.settings import Settings
from tests.support.memory_reply_cache import MemoryReplyCache

MODEL = "gemini-3.8-flash"
ASK: list[BaseMessage] = [HumanMessage("What is there to see?")]
OTHER: list[BaseMessage] = [HumanMessage("What is there to see, with a wish more?")]


@dataclass
class Writer:
    """A service that writes one piece when it is let, and counts what it is asked."""

    pieces: asyncio.Queue[str | Exception] = field(default_factory=asyncio.Queue)
    asked: list[ModelRequest] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    heard: asyncio.Event = field(default_factory=asyncio.Event)
    written: asyncio.Event = field(default_factory=asyncio.Event)

    def says(self, *pieces: str | Exception) -> None:
        for piece in pieces:
            self.pieces.put_nowait(piece)

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamPiece]:
        self.asked.append(request)
        self.heard.set()
        how = "cancelled"
        try:
            while piece := await self.pieces.get():
                self.written.set()
                if isinstance(piece, Exception):
                    raise piece
                yield StreamPiece(text=piece)
            how = "whole"
            yield StreamPiece(finish="stop", input_tokens=11, output_tokens=7)
        finally:
            self.ended.append(how)

    async def complete(self, request: ModelRequest) -> Response:
        raise NotImplementedError

    async def list_models(self) -> list[str]:
        raise NotImplementedError

    async def window(self, model: str) -> int | None:
        return None

    async def aclose(self) -> None:
        return None


def turn(name: str = "turn-1", **limits: Any) -> Budget:
    given: dict[str, Any] = {
        "max_searches": 10, "max_model_calls": 10, "max_map_calls": 10,
        "max_run_tokens": 100_000, "max_run_seconds": 60.0, "answer_seconds": 20.0,
    }  # fmt: skip
    return Budget(name, Limits(**{**given, **limits}))


def client(writer: Writer, *, calls: Calls | None = None, **settings: Any) -> ModelClient:
    given = {"gemini_api_key": "AIza-canary-0123456789abcdef", **settings}
    return ModelClient(Settings(**given), calls or Calls(), vendors={"google": writer})


@asynccontextmanager
async def begun(models: ModelClient, writer: Writer, meter: Meter) -> AsyncIterator[EarlyReply]:
    """An early reply of which the first words have come."""
    async with models.early(MODEL, ASK, meter=meter, fallback=None) as early:
        early.begin()
        writer.says("Much")
        await writer.written.wait()
        yield early


async def streamed(
    models: ModelClient, meter: Meter, messages: list[BaseMessage] = ASK
) -> list[str]:
    return [text async for text in models.stream(MODEL, messages, meter=meter, fallback=None)]


async def until_over(early: EarlyReply) -> None:
    """Wait for the end of its writing, whatever that is."""
    assert early.reading
    await asyncio.wait([early.reading._task])


async def test_what_was_written_early_is_read_at_once_and_the_rest_as_it_comes() -> None:
    writer, budget = Writer(), turn()
    models = client(writer)
    step, answering = budget.meter(), budget.meter(answering=True)
    async with begun(models, writer, step) as early:
        early.keep()
    texts = models.stream(MODEL, ASK, meter=answering, fallback=None)
    assert await anext(texts) == "Much"
    writer.says(", and more", "")
    assert [text async for text in texts] == [", and more"]
    assert len(writer.asked) == 1
    assert step.usage["model_calls"] == 0
    assert answering.usage["model_calls"] == 1
    assert (answering.usage["input_tokens"], answering.usage["output_tokens"]) == (11, 7)


async def test_a_reply_that_is_not_wanted_ends_with_its_step_which_owns_its_cost() -> None:
    writer, budget = Writer(), turn()
    models, step = client(writer), budget.meter()
    async with begun(models, writer, step):
        pass
    assert writer.ended == ["cancelled"]
    assert step.usage["model_calls"] == 1
    assert step.usage["input_tokens"] > 0
    assert step.usage["output_tokens"] > 0
    assert step.usage["cost_usd"]
    writer.says("Anew", "")
    assert await streamed(models, budget.meter(answering=True)) == ["Anew"]
    assert len(writer.asked) == 2


async def test_a_reply_given_up_before_its_first_word_has_cost_its_prompt() -> None:
    writer, step = Writer(), turn().meter()
    models = client(writer)
    async with models.early(MODEL, ASK, meter=step, fallback=None) as early:
        early.begin()
        await writer.heard.wait()
    assert writer.ended == ["cancelled"]
    assert step.usage["model_calls"] == 1
    assert step.usage["input_tokens"] > 0


async def test_a_client_that_is_closed_ends_what_nobody_took_up() -> None:
    writer = Writer()
    models = client(writer)
    async with begun(models, writer, turn().meter()) as early:
        early.keep()
    await models.aclose()
    assert writer.ended == ["cancelled"]


async def test_a_step_that_is_cancelled_or_fails_ends_a_reply_it_wanted() -> None:
    for failure in (asyncio.CancelledError, RuntimeError):
        writer, step = Writer(), turn().meter()
        with contextlib.suppress(failure):
            async with begun(client(writer), writer, step) as early:
                early.keep()
                raise failure
        assert writer.ended == ["cancelled"]
        assert step.usage["model_calls"] == 1


async def test_a_reader_that_goes_away_ends_what_it_took_up() -> None:
    writer, budget = Writer(), turn()
    models, answering = client(writer), budget.meter(answering=True)
    async with begun(models, writer, budget.meter()) as early:
        early.keep()
    texts: Any = models.stream(MODEL, ASK, meter=answering, fallback=None)
    assert await anext(texts) == "Much"
    await texts.aclose()
    assert writer.ended == ["cancelled"]
    assert answering.usage["model_calls"] == 1


async def test_another_request_gives_the_early_reply_up_and_owns_what_both_cost() -> None:
    writer, budget = Writer(), turn()
    models, answering = client(writer), budget.meter(answering=True)
    async with begun(models, writer, budget.meter()) as early:
        early.keep()
    writer.says("With", "")
    assert await streamed(models, answering, OTHER) == ["With"]
    assert writer.ended == ["cancelled", "whole"]
    assert answering.usage["model_calls"] == 2


async def test_an_early_reply_that_failed_is_asked_for_anew() -> None:
    writer, budget = Writer(), turn()
    models, answering = client(writer), budget.meter(answering=True)
    async with models.early(MODEL, ASK, meter=budget.meter(), fallback=None) as early:
        early.begin()
        writer.says(ProviderRefused("model:google", "no", code="model_refused"))
        await until_over(early)
        early.keep()
    writer.says("All is well", "")
    assert await streamed(models, answering) == ["All is well"]
    assert answering.usage["model_calls"] == 2


async def test_an_early_reply_leaves_the_answer_its_call() -> None:
    writer, budget = Writer(), turn(max_model_calls=1)
    models, answering = client(writer), budget.meter(answering=True)
    async with models.early(MODEL, ASK, meter=budget.meter(), fallback=None) as early:
        early.begin()
        await until_over(early)
        early.keep()
    writer.says("Enough", "")
    assert await streamed(models, answering) == ["Enough"]
    assert len(writer.asked) == 1


async def test_what_is_not_begun_leaves_nothing_behind() -> None:
    writer, budget = Writer(), turn()
    models, step = client(writer), budget.meter()
    async with models.early(MODEL, ASK, meter=step, fallback=None) as early:
        early.keep()
    writer.says("Late", "")
    assert await streamed(models, budget.meter(answering=True)) == ["Late"]
    assert step.usage["model_calls"] == 0


@pytest.mark.parametrize(
    "few", [{"model_concurrency": 1}, {"model_concurrency": 2}, {"model_rpm": 10}]
)
async def test_where_few_calls_may_be_made_none_is_begun_early(few: dict[str, int]) -> None:
    writer, step = Writer(), turn().meter()
    models = client(writer, **few)
    places = models._places["google"]
    if places:
        await places.__aenter__()  # that of the call it would stand beside
    async with models.early(MODEL, ASK, meter=step, fallback=None) as early:
        early.begin()
        assert early.reading is None


async def test_a_place_that_stays_free_for_others_lets_a_reply_begin_early() -> None:
    writer, step = Writer(), turn().meter()
    models = client(writer, model_concurrency=3)
    places = models._places["google"]
    assert places
    async with places, begun(models, writer, step):
        assert places.free == 1
    assert places.free == 3


async def test_two_turns_have_each_their_own() -> None:
    writer, one, other = Writer(), turn("one"), turn("other")
    models = client(writer)
    async with begun(models, writer, one.meter()) as early:
        writer.says("")
        await until_over(early)
        early.keep()
    writer.says("Of the other", "")
    assert await streamed(models, other.meter(answering=True)) == ["Of the other"]
    assert await streamed(models, one.meter(answering=True)) == ["Much"]
    assert len(writer.asked) == 2


async def test_a_whole_early_reply_is_kept_for_a_process_that_goes_on_with_the_turn() -> None:
    writer, budget, kept = Writer(), turn(), MemoryReplyCache()
    models = client(writer, calls=Calls(reply_cache=kept))
    async with begun(models, writer, budget.meter()) as early:
        writer.says("")
        await until_over(early)
    later, asked = client(writer, calls=Calls(reply_cache=kept)), turn().meter(answering=True)
    assert await streamed(later, asked) == ["Much"]
    assert len(writer.asked) == 1
    assert asked.usage["input_tokens"] == 11
