"""Gemini through the desk, against the loopback Gemini."""

import asyncio
import gc
import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest
from langchain_core.messages import HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import BaseTool, tool
from pydantic import BaseModel

from agent.calls import Calls
from agent.errors import (
    BudgetExceeded,
    ConfigurationError,
    MalformedReply,
    ProviderError,
    ProviderRefused,
    ProviderUnavailable,
    RateLimited,
)
from agent.models.desk import ModelDesk
from agent.offline.brain import Answer, FunctionCall, GroundedSentence, Page
from agent.offline.gemini import GeminiService, Speed, gemini_error
from tests.support.scripted import KEY, MemoryJournal, Scripted, desk_for, meter

FLASH, LITE = "gemini-3.8-flash", "gemini-3.5-flash-lite"
ASK = [SystemMessage("You answer."), HumanMessage("故宫几点开门?")]


class Plan(BaseModel):
    queries: list[str]
    rationale: str


PLAN = {"queries": ["故宫 开放时间", "故宫 门票"], "rationale": "r"}


@tool
def maps_geo(address: str) -> str:
    """Coordinates of an address."""
    return address


@pytest.fixture
def brain() -> Scripted:
    return Scripted()


@pytest.fixture
def gemini(brain: Scripted) -> GeminiService:
    return GeminiService(brain, key=KEY)


@pytest.fixture
async def desk(gemini: GeminiService) -> AsyncIterator[ModelDesk]:
    async with desk_for(gemini) as desk:
        yield desk


async def said(desk: ModelDesk, model: str = FLASH, fallback: str | None = None) -> str:
    return "".join([t async for t in desk.stream(model, ASK, meter=meter(), fallback=fallback)])


async def test_a_reply_brings_its_text_and_what_it_cost(desk: ModelDesk, brain: Scripted) -> None:
    brain.then(Answer(text="八点半。\n"))
    spent = meter()
    reply = await desk.ask(LITE, ASK, meter=spent)
    assert reply.text == "八点半。\n"
    assert reply.parts == ("八点半。\n",)
    assert spent.usage["model_calls"] == 1
    assert spent.usage["input_tokens"] > 0
    assert spent.usage["cost_usd"] is not None
    assert spent.usage["cost_usd"] > 0
    assert brain.turns[0].system == "You answer."


async def test_temperature_is_never_sent_and_thinking_fits_the_model(
    desk: ModelDesk, gemini: GeminiService
) -> None:
    await desk.ask(FLASH, ASK, meter=meter(), thinking="minimal")
    config = gemini.requests[-1].body["generationConfig"]
    assert "temperature" not in config
    assert str(config["thinkingConfig"]).lower().count("low") == 1


async def test_a_structured_answer_is_validated(desk: ModelDesk, brain: Scripted) -> None:
    brain.then(Answer(json=PLAN))
    reply = await desk.ask(LITE, ASK, meter=meter(), schema=Plan)
    assert reply.parsed == Plan(**PLAN)
    assert brain.turns[0].schema
    assert brain.turns[0].schema["properties"].keys() == {"queries", "rationale"}


async def test_an_answer_outside_its_schema_is_repaired_once(
    desk: ModelDesk, brain: Scripted
) -> None:
    brain.then(Answer(json={"queries": "no list"}), Answer(json=PLAN))
    reply = await desk.ask(LITE, ASK, meter=meter(), schema=Plan)
    assert reply.parsed == Plan(**PLAN)
    assert "queries" in brain.turns[1].user


async def test_an_answer_outside_its_schema_twice_is_malformed(
    desk: ModelDesk, brain: Scripted
) -> None:
    brain.then(Answer(json={"queries": 1}), Answer(text="sorry"))
    with pytest.raises(MalformedReply) as caught:
        await desk.ask(LITE, ASK, meter=meter(), schema=Plan)
    assert caught.value.code == "model_schema"


async def test_half_a_list_is_never_taken_for_a_whole_one(desk: ModelDesk, brain: Scripted) -> None:
    half = Answer(text='{"queries": ["故宫门票", "故宫开放时', finish="MAX_TOKENS")
    brain.then(half, Answer(json=PLAN))
    assert (await desk.ask(LITE, ASK, meter=meter(), schema=Plan)).parsed == Plan(**PLAN)
    brain.then(half, half)
    with pytest.raises(MalformedReply) as caught:
        await desk.ask(LITE, ASK, meter=meter(), schema=Plan)
    assert caught.value.code == "model_truncated"
    assert len(brain.turns) == 4


async def test_a_cut_off_text_says_so(desk: ModelDesk, brain: Scripted) -> None:
    brain.then(Answer(text="八点", finish="MAX_TOKENS"))
    assert (await desk.ask(LITE, ASK, meter=meter())).truncated


@pytest.mark.parametrize(
    ("answer", "error", "code"),
    [
        (Answer(text="", finish="STOP"), MalformedReply, "model_empty"),
        (Answer(finish="NONE"), MalformedReply, "model_empty"),
        (Answer(finish="MALFORMED_FUNCTION_CALL"), MalformedReply, "model_bad_call"),
        (Answer(finish="MAX_TOKENS"), MalformedReply, "model_truncated"),
        (Answer(finish="SAFETY"), ProviderRefused, "model_blocked"),
        (Answer(text="half", finish="RECITATION"), ProviderRefused, "model_blocked"),
        (Answer(finish="PROMPT_BLOCKED"), ProviderRefused, "model_blocked"),
    ],
)
async def test_a_reply_of_no_use_is_an_error(
    desk: ModelDesk, brain: Scripted, answer: Answer, error: type[ProviderError], code: str
) -> None:
    brain.then(answer, answer, answer)
    with pytest.raises(error) as caught:
        await desk.ask(LITE, ASK, meter=meter())
    assert caught.value.code == code
    assert len(brain.turns) == (2 if error is MalformedReply else 1)


@pytest.mark.parametrize("answer", [Answer(text=""), Answer(finish="NONE")])
async def test_an_empty_reply_is_asked_for_once_more(
    desk: ModelDesk, brain: Scripted, answer: Answer
) -> None:
    brain.then(answer, Answer(text="ok"))
    assert (await desk.ask(LITE, ASK, meter=meter())).text == "ok"


REFUSALS: list[tuple[int, dict[str, Any], type[ProviderError], str]] = [
    (400, gemini_error(400, "API_KEY_INVALID"), ProviderRefused, "model_key_invalid"),
    (
        400,
        gemini_error(400, message="User location is not supported", word="FAILED_PRECONDITION"),
        ProviderRefused,
        "model_region",
    ),
    (
        400,
        gemini_error(400, message="input exceeds the maximum number of tokens allowed"),
        ProviderRefused,
        "model_context",
    ),
    (400, gemini_error(400, message="bad"), ProviderRefused, "model_bad_request"),
    (403, gemini_error(403), ProviderRefused, "model_forbidden"),
    (404, gemini_error(404), ProviderRefused, "model_missing"),
    (
        429,
        gemini_error(429, quota_id="GenerateRequestsPerDayPerProjectPerModel-FreeTier"),
        ProviderRefused,
        "model_quota_day",
    ),
    (429, gemini_error(429, None, 3600), RateLimited, "rate_limited"),
]


@pytest.mark.parametrize(("status", "body", "error", "code"), REFUSALS)
async def test_a_refusal_is_not_tried_again(
    desk: ModelDesk,
    gemini: GeminiService,
    status: int,
    body: dict[str, Any],
    error: type[ProviderError],
    code: str,
) -> None:
    gemini.fail("status", status=status, body=body, times=None)
    with pytest.raises(error) as caught:
        await desk.ask(LITE, ASK, meter=meter())
    assert caught.value.code == code
    assert KEY not in repr(caught.value)
    assert len(gemini.requests) == 1


async def test_the_wait_a_service_asks_for_is_kept(desk: ModelDesk, gemini: GeminiService) -> None:
    gemini.fail("status", status=429, body=gemini_error(429, None, 0.4))
    start = asyncio.get_running_loop().time()
    await desk.ask(LITE, ASK, meter=meter())
    assert asyncio.get_running_loop().time() - start >= 0.4
    assert len(gemini.requests) == 2


@pytest.mark.parametrize(
    ("kind", "details"),
    [
        ("status", {"status": 500, "body": gemini_error(500)}),
        ("status", {"status": 503, "body": gemini_error(503)}),
        ("html", {"status": 502}),
        ("drop", {}),
        ("drop_mid_body", {}),
        ("garbage", {}),
        ("cut_json", {}),
        ("empty", {}),
        ("hang", {}),
    ],
)
@pytest.mark.parametrize("times", [1, None])
async def test_a_passing_fault_is_survived_and_a_lasting_one_is_an_error(
    gemini: GeminiService, kind: Any, details: dict[str, Any], times: int | None
) -> None:
    async with desk_for(gemini, model_timeout_seconds=0.3) as desk:
        await desk.ask(LITE, ASK, meter=meter())
        gemini.fail(kind, times=times, **details)
        if times == 1:
            assert (await desk.ask(LITE, ASK, meter=meter())).text
            return
        with pytest.raises((ProviderUnavailable, MalformedReply)) as caught:
            await desk.ask(LITE, ASK, meter=meter())
        assert KEY not in repr(caught.value)
        assert len(gemini.requests) == (3 if kind == "empty" else 5)


async def test_a_service_that_is_not_there_is_unavailable() -> None:
    from agent.settings import Settings

    settings = Settings(gemini_api_key=KEY, google_gemini_base_url="http://127.0.0.1:9")
    desk = ModelDesk(settings, Calls())
    with pytest.raises(ProviderUnavailable):
        await desk.ask(LITE, ASK, meter=meter())
    await desk.aclose()


async def test_a_wrong_key_names_no_key() -> None:
    gemini = GeminiService(Scripted(), key="another")
    async with desk_for(gemini) as desk:
        with pytest.raises(ProviderRefused) as caught:
            await desk.ask(LITE, ASK, meter=meter())
    assert caught.value.code == "model_key_invalid"


async def test_a_missing_key_names_its_variable() -> None:
    from agent.settings import Settings

    with pytest.raises(ConfigurationError, match="GEMINI_API_KEY"):
        await ModelDesk(Settings(), Calls()).ask(LITE, ASK, meter=meter())


async def test_a_retired_model_names_its_successor(desk: ModelDesk) -> None:
    with pytest.raises(ProviderRefused, match=r"gemini-3\.5-flash-lite"):
        await desk.ask("gemini-2.0-flash", ASK, meter=meter())


async def test_call_ids_and_signatures_survive_a_tool_loop(
    desk: ModelDesk, brain: Scripted, gemini: GeminiService
) -> None:
    """The service itself refuses the second turn if an id or a signature is missing."""
    calls = (
        FunctionCall("maps_geo", {"address": "王府井"}),
        FunctionCall("maps_geo", {"address": "三里屯"}),
    )
    brain.then(Answer(calls=calls), Answer(text="done"))
    tools: list[BaseTool] = [maps_geo]
    first = await desk.ask(LITE, ASK, meter=meter(), tools=tools, thinking="medium")
    ids = [call["id"] for call in first.message.tool_calls]
    results = [ToolMessage('{"location": "1,2"}', tool_call_id=i or "") for i in reversed(ids)]
    messages = [*ASK, first.message, *results]
    second = await desk.ask(LITE, messages, meter=meter(), tools=tools, thinking="medium")
    assert second.text == "done"
    assert [r.id for r in brain.turns[1].tool_results] == ids[::-1]
    parts = gemini.requests[-1].body["contents"][1]["parts"]
    assert parts[0]["thoughtSignature"]


async def test_a_search_brings_its_metadata_and_exact_parts(
    desk: ModelDesk, brain: Scripted
) -> None:
    page = Page("https://vertexaisearch.example/redirect/1", "dpm.org.cn")
    sentences = (GroundedSentence("故宫8:30开门。\n", (page,)), GroundedSentence("周一闭馆。\n"))
    brain.then(Answer(grounded=sentences, queries=("故宫 开放时间",)))
    reply = await desk.ask(LITE, ASK, meter=meter(), search=True)
    assert brain.turns[0].search
    assert reply.grounding is not None
    segment = reply.grounding["grounding_supports"][0]["segment"]
    part = reply.parts[segment["part_index"] or 0].encode()
    assert part[segment["start_index"] or 0 : segment["end_index"]].decode() == "故宫8:30开门。\n"
    assert reply.grounding["web_search_queries"] == ["故宫 开放时间"]


async def test_the_same_request_in_a_turn_is_paid_once(
    gemini: GeminiService, brain: Scripted
) -> None:
    page = Page("https://example.org/1", "example.org")
    brain.then(
        Answer(calls=(FunctionCall("maps_geo", {"address": "x"}),)),
        Answer(grounded=(GroundedSentence("一。", (page,)),), queries=("q",)),
    )
    async with desk_for(gemini, calls=Calls(journal=MemoryJournal())) as desk:
        tools: list[BaseTool] = [maps_geo]
        replies = [await desk.ask(LITE, ASK, meter=meter(), tools=tools) for _ in range(2)]
        searched = [await desk.ask(LITE, ASK, meter=meter(), search=True) for _ in range(2)]
    assert replies[0] == replies[1]
    assert searched[0].grounding == searched[1].grounding
    assert searched[0].parts == searched[1].parts
    assert len(gemini.requests) == 2


async def test_a_reply_from_the_journal_still_counts_its_tokens(gemini: GeminiService) -> None:
    calls = Calls(journal=MemoryJournal())
    async with desk_for(gemini, calls=calls) as desk:
        first, second = meter(), meter()
        await desk.ask(LITE, ASK, meter=first)
        await desk.ask(LITE, ASK, meter=second)
    assert second.usage["input_tokens"] == first.usage["input_tokens"]


async def test_a_spent_budget_stops_before_the_call(desk: ModelDesk, gemini: GeminiService) -> None:
    with pytest.raises(BudgetExceeded):
        await desk.ask(LITE, ASK, meter=meter(max_model_calls=0))
    assert not gemini.requests


async def test_a_stream_brings_the_text_in_pieces(
    desk: ModelDesk, brain: Scripted, gemini: GeminiService
) -> None:
    text = "故宫八点半开门，周一闭馆。" * 20
    brain.then(Answer(text=text))
    gemini.speed = lambda turn: Speed(chunk_tokens=5)
    spent = meter()
    pieces = [t async for t in desk.stream(FLASH, ASK, meter=spent, fallback=None)]
    assert "".join(pieces) == text
    assert len(pieces) > 5
    assert spent.usage["output_tokens"] > 0
    assert spent.usage["model_calls"] == 1


@pytest.mark.parametrize("status", [403, 404, 429])
async def test_a_refused_answer_model_falls_back_before_any_text(
    desk: ModelDesk, gemini: GeminiService, status: int
) -> None:
    body = gemini_error(status, quota_id="RequestsPerDay")
    gemini.fail(
        "status", status=status, body=body, times=None, match=lambda r, b: "carbon" in r.path
    )
    assert await said(desk, "gemini-4-carbon", FLASH) == "Scripted answer."
    assert len(gemini.requests) == 2


async def test_a_stream_is_retried_before_its_first_text(
    desk: ModelDesk, gemini: GeminiService
) -> None:
    gemini.fail("status", status=503, body=gemini_error(503))
    gemini.fail("drop")
    gemini.fail_stream("drop")
    assert await said(desk) == "Scripted answer."


@pytest.mark.parametrize("kind", ["drop", "no_finish", "error", "max_tokens", "stall"])
async def test_a_stream_cut_off_is_continued_once(
    gemini: GeminiService, brain: Scripted, kind: Any
) -> None:
    brain.then(Answer(text="一二三四五六七八九十" * 9), Answer(text="（接着写完）"))
    gemini.speed = lambda turn: Speed(chunk_tokens=5)
    gemini.fail_stream(kind, after=20)
    async with desk_for(gemini, model_timeout_seconds=0.5) as desk:
        text = await said(desk)
    assert text.startswith("一二三四五六七八九十一二")
    assert text.endswith("（接着写完）")
    assert "<cut_off>" in brain.turns[1].user
    assert text[:-6][-10:] in brain.turns[1].user


async def test_a_stream_cut_off_twice_keeps_its_text_and_says_so(
    desk: ModelDesk, gemini: GeminiService
) -> None:
    gemini.speed = lambda turn: Speed(chunk_tokens=1)
    gemini.fail_stream("drop", after=4, times=None)
    written: list[str] = []

    async def read() -> None:
        async for text in desk.stream(FLASH, ASK, meter=meter(), fallback=None):
            written.append(text)

    with pytest.raises(ProviderUnavailable) as caught:
        await read()
    assert caught.value.code == "model_cut_off"
    assert "".join(written).startswith("Scri")


async def test_a_stream_blocked_half_way_is_refused(desk: ModelDesk, gemini: GeminiService) -> None:
    gemini.speed = lambda turn: Speed(chunk_tokens=1)
    gemini.fail_stream("safety", after=4)
    with pytest.raises(ProviderRefused):
        await said(desk)


async def test_cancelling_ends_a_call_and_a_stream_at_once(gemini: GeminiService) -> None:
    arrived = threading.Semaphore(0)

    def latency(request: Any, body: Any) -> float:
        arrived.release()
        return 60

    gemini.latency = latency
    async with desk_for(gemini) as desk:
        for work in (desk.ask(LITE, ASK, meter=meter()), said(desk)):
            task = asyncio.ensure_future(work)
            await asyncio.to_thread(arrived.acquire)
            start = asyncio.get_running_loop().time()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert asyncio.get_running_loop().time() - start < 0.05


async def test_a_reader_who_stops_ends_the_stream(desk: ModelDesk, gemini: GeminiService) -> None:
    gemini.speed = lambda turn: Speed(chunk_tokens=1, tokens_per_second=1)
    stream = desk.stream(FLASH, ASK, meter=meter(), fallback=None)
    assert await anext(stream)
    await stream.aclose()  # type: ignore[attr-defined]


def test_a_desk_serves_several_event_loops_in_turn(gemini: GeminiService) -> None:
    async def once() -> None:
        assert (await desk.ask(LITE, ASK, meter=meter())).text

    from agent.offline.service import serve
    from agent.settings import Settings

    with serve(gemini.app) as running:
        desk = ModelDesk(Settings(gemini_api_key=KEY, google_gemini_base_url=running.url), Calls())
        asyncio.run(once())
        asyncio.run(once())
        asyncio.run(desk.aclose())
    gc.collect()


async def test_connections_are_reused_and_not_limited_to_a_hundred(
    gemini: GeminiService,
) -> None:
    waiting, most = 0, 0

    def latency(request: Any, body: Any) -> float:
        nonlocal waiting, most
        waiting += 1
        most = max(most, waiting)
        asyncio.get_running_loop().call_later(0.8, done)
        return 0.8

    def done() -> None:
        nonlocal waiting
        waiting -= 1

    gemini.latency = latency
    async with desk_for(gemini) as desk:
        asks = (desk.ask(LITE, ASK, meter=meter()) for _ in range(200))
        await asyncio.gather(*asks)
    assert most > 110


async def test_loopback_never_goes_through_a_proxy(
    gemini: GeminiService, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "socks5://127.0.0.1:1")
    async with desk_for(gemini) as desk:
        assert (await desk.ask(LITE, ASK, meter=meter())).text


async def test_doctor_learns_which_models_the_service_knows(desk: ModelDesk) -> None:
    assert FLASH in await desk.list_models()
    assert await desk.check(FLASH) is None
    assert "gemini-3.8-flash" in (await desk.check("gemini-2.5-pro", "answer_model") or "")
    assert "does not know" in (await desk.check("gemini-9-none") or "")
    assert "provider" in (await desk.check("nobody:x") or "")


async def test_inner_calls_are_invisible_to_a_graphs_message_stream(desk: ModelDesk) -> None:
    from langgraph.graph import END, START, StateGraph
    from typing_extensions import TypedDict

    class State(TypedDict):
        text: str

    async def node(state: State) -> State:
        reply = await desk.ask(LITE, ASK, meter=meter())
        return {"text": reply.text + await said(desk)}

    graph = StateGraph(State).add_node("node", node).add_edge(START, "node").add_edge("node", END)
    seen = [part async for part in graph.compile().astream({"text": ""}, stream_mode="messages")]
    assert seen == []
