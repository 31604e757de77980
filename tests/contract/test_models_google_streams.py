"""Gemini through the client: streamed answers, cut off, continued and cancelled."""

import asyncio
import threading
from typing import Any

import pytest

from agent.core.calls import Calls
from agent.core.errors import ProviderRefused, ProviderUnavailable
from agent.models.client import ModelClient
from agent.sample.model.request import ModelReply
from tests.contract.gemini_client import (
    FLASH,
    LITE,
    client_fixture,
    gemini_fixture,
    llm_fixture,
    said,
)
from tests.support.memory_reply_cache import MemoryReplyCache
from tests.support.meters import meter
from tests.support.scripted import ASK, Scripted, client_for
from tests.support.standin import Speed
from tests.support.standins import GeminiService, gemini_error

__all__ = ["client_fixture", "gemini_fixture", "llm_fixture"]


async def test_a_stream_brings_the_text_in_pieces(
    client: ModelClient, llm: Scripted, gemini: GeminiService
) -> None:
    text = "故宫八点半开门，周一闭馆。" * 20
    llm.then(ModelReply(text=text))
    gemini.speed = lambda turn: Speed(chunk_tokens=5)
    spent = meter()
    pieces = [t async for t in client.stream(FLASH, ASK, meter=spent, fallback=None)]
    assert "".join(pieces) == text
    assert len(pieces) > 5
    assert spent.usage["output_tokens"] > 0
    assert spent.usage["model_calls"] == 1


@pytest.mark.parametrize("status", [403, 404, 429])
async def test_a_refused_answer_model_falls_back_before_any_text(
    client: ModelClient, gemini: GeminiService, status: int
) -> None:
    body = gemini_error(status, quota_id="RequestsPerDay")
    gemini.fail(
        "status", status=status, body=body, times=None, match=lambda r, b: "carbon" in r.path
    )
    assert await said(client, "gemini-4-carbon", FLASH) == "Scripted answer."
    assert len(gemini.requests) == 2


async def test_a_stream_is_retried_before_its_first_text(
    client: ModelClient, gemini: GeminiService
) -> None:
    gemini.fail("status", status=503, body=gemini_error(503))
    gemini.fail("drop")
    gemini.fail_stream("drop")
    assert await said(client) == "Scripted answer."


@pytest.mark.parametrize("kind", ["drop", "no_finish", "error", "max_tokens", "stall"])
async def test_a_stream_cut_off_is_continued_once(
    gemini: GeminiService, llm: Scripted, kind: Any
) -> None:
    llm.then(ModelReply(text="一二三四五六七八九十" * 9), ModelReply(text="（接着写完）"))
    gemini.speed = lambda turn: Speed(chunk_tokens=5)
    gemini.fail_stream(kind, after=20)
    async with client_for(gemini, model_timeout_seconds=1 if kind == "stall" else 60) as client:
        text = await said(client)
    assert text.startswith("一二三四五六七八九十一二")
    assert text.endswith("（接着写完）")
    assert "<cut_off>" in llm.turns[1].user
    assert text[:-6][-10:] in llm.turns[1].user


async def test_a_stream_cut_off_twice_keeps_its_text_and_says_so(
    client: ModelClient, gemini: GeminiService
) -> None:
    gemini.speed = lambda turn: Speed(chunk_tokens=1)
    gemini.fail_stream("drop", after=4, times=None)
    written: list[str] = []

    async def read() -> None:
        async for text in client.stream(FLASH, ASK, meter=meter(), fallback=None):
            written.append(text)

    with pytest.raises(ProviderUnavailable) as caught:
        await read()
    assert caught.value.code == "model_cut_off"
    assert "".join(written).startswith("Scri")


async def test_a_stream_blocked_half_way_is_refused(
    client: ModelClient, gemini: GeminiService
) -> None:
    gemini.speed = lambda turn: Speed(chunk_tokens=1)
    gemini.fail_stream("safety", after=4)
    with pytest.raises(ProviderRefused):
        await said(client)


async def test_cancelling_ends_a_call_and_a_stream_at_once(gemini: GeminiService) -> None:
    arrived = threading.Semaphore(0)

    def latency(request: Any, body: Any) -> float:
        arrived.release()
        return 60

    gemini.latency = latency
    async with client_for(gemini) as client:
        for begin in (lambda: client.ask(LITE, ASK, meter=meter()), lambda: said(client)):
            taken = []
            for _ in range(5):
                task: asyncio.Task[Any] = asyncio.ensure_future(begin())
                await asyncio.to_thread(arrived.acquire)
                start = asyncio.get_running_loop().time()
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                taken.append(asyncio.get_running_loop().time() - start)
            assert min(taken) < 0.05, "a busy machine makes some of them late, not all"


async def test_a_reader_who_stops_ends_the_stream(
    client: ModelClient, gemini: GeminiService
) -> None:
    gemini.speed = lambda turn: Speed(chunk_tokens=1, tokens_per_second=1)
    stream = client.stream(FLASH, ASK, meter=meter(), fallback=None)
    assert await anext(stream)
    await stream.aclose()  # type: ignore[attr-defined]


async def test_a_complete_answer_is_paid_for_once_in_a_turn(
    gemini: GeminiService,
) -> None:
    """A new meter knows nothing of the turn's earlier life."""
    spent, texts = [], []
    async with client_for(gemini, calls=Calls(reply_cache=MemoryReplyCache())) as client:
        for _ in range(2):
            used = meter()
            pieces = [t async for t in client.stream(FLASH, ASK, meter=used, fallback=None)]
            texts.append("".join(pieces))
            spent.append(used.usage)
    assert texts == ["Scripted answer."] * 2
    assert len(gemini.requests) == 1
    assert spent[0] == spent[1]
    assert spent[0]["output_tokens"] > 0


async def test_an_answer_that_nobody_heard_to_its_end_is_asked_for_again(
    gemini: GeminiService,
) -> None:
    gemini.speed = lambda turn: Speed(chunk_tokens=1)
    calls = Calls(reply_cache=MemoryReplyCache())
    async with client_for(gemini, calls=calls) as client:
        stream = client.stream(FLASH, ASK, meter=meter(), fallback=None)
        assert await anext(stream)
        await stream.aclose()  # type: ignore[attr-defined]
        whole = [t async for t in client.stream(FLASH, ASK, meter=meter(), fallback=None)]
    assert "".join(whole) == "Scripted answer."
    assert len(gemini.requests) == 2


async def test_inner_calls_are_invisible_to_a_graphs_message_stream(client: ModelClient) -> None:
    from langgraph.graph import END, START, StateGraph
    from typing_extensions import TypedDict

    class State(TypedDict):
        text: str

    async def node(state: State) -> State:
        reply = await client.ask(LITE, ASK, meter=meter())
        return {"text": reply.text + await said(client)}

    graph = StateGraph(State).add_node("node", node).add_edge(START, "node").add_edge("node", END)
    seen = [part async for part in graph.compile().astream({"text": ""}, stream_mode="messages")]
    assert seen == []


class AnnouncedReplies(MemoryReplyCache):
    """Tells when the first reply has been kept."""

    def __init__(self) -> None:
        super().__init__()
        self.saved = asyncio.Event()

    async def save(self, turn_id: str, key: str, reply: str) -> None:
        await super().save(turn_id, key, reply)
        self.saved.set()


async def test_a_whole_answer_is_kept_however_slow_its_reader_is(gemini: GeminiService) -> None:
    gemini.speed = lambda turn: Speed(chunk_tokens=1)
    replies = AnnouncedReplies()
    async with client_for(gemini, calls=Calls(reply_cache=replies)) as client:
        texts = client.stream(FLASH, ASK, meter=meter(), fallback=None)
        first = await anext(texts)
        async with asyncio.timeout(10):
            await replies.saved.wait()
        rest = [text async for text in texts]
    assert len(rest) > 0
    assert "".join([first, *rest]) == "Scripted answer."
