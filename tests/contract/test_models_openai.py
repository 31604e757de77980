"""OpenAI-compatible endpoints through the client, with what each of them refuses."""

import asyncio
import json
import sys
from importlib.util import find_spec
from typing import Any

import pytest
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool
from pydantic import BaseModel

from agent.core.calls import Calls
from agent.core.errors import (
    ConfigurationError,
    MalformedReply,
    ProviderError,
    ProviderRefused,
    ProviderUnavailable,
    RateLimited,
)
from agent.models.client import ModelClient
from agent.models.probe import probe
from agent.sample.model.request import FunctionCall, ModelReply
from agent.settings import Settings
from tests.support.memory_reply_cache import MemoryReplyCache
from tests.support.meters import meter
from tests.support.rows import by_examples
from tests.support.scripted import ASK, KEY, Scripted, client_for, maps_geo
from tests.support.served import serve_in_thread
from tests.support.standin import Speed
from tests.support.standins import OpenAIService, Rules

pytestmark = pytest.mark.skipif(
    find_spec("langchain_openai") is None, reason="the extra openai is not installed"
)
CHAT = "openai:sample-chat"


class Plan(BaseModel):
    queries: list[str]


PLAN = {"queries": ["故宫 开放时间"]}


async def said(client: ModelClient) -> str:
    return "".join([t async for t in client.stream(CHAT, ASK, meter=meter(), fallback=None)])


async def test_a_reply_brings_its_tokens_and_an_unknown_cost() -> None:
    llm = Scripted(ModelReply(text="八点半"))
    async with client_for(OpenAIService(llm, key=KEY)) as client:
        spent = meter()
        reply = await client.ask(CHAT, ASK, meter=spent)
    assert reply.text == "八点半"
    assert spent.usage["input_tokens"] > 0
    assert spent.usage["cost_usd"] is None
    assert not client.is_google(CHAT)


@pytest.mark.parametrize(
    "rules",
    [
        Rules(no_json_schema=True, no_forced_tool=True),
        Rules(no_json_schema=True, no_json_object=True, no_forced_tool=True),
    ],
)
async def test_a_schema_is_told_in_words_where_it_cannot_be_sent(rules: Rules) -> None:
    llm = Scripted(
        otherwise=ModelReply(
            text=f'<think>hm</think>```json\n{{"queries": {PLAN["queries"]}}}\n```'.replace(
                "'", '"'
            )
        )
    )
    service = OpenAIService(llm, key=KEY, rules=rules)
    async with client_for(service) as client:
        for _ in range(2):
            reply = await client.ask(CHAT, ASK, meter=meter(), schema=Plan)
            assert reply.parsed == Plan(**PLAN)
    assert llm.turns[0].schema
    assert "queries" in llm.turns[0].schema["properties"]
    # JSON mode is tried once and remembered.
    assert len(service.turns) == 2
    asked = [request for request in service.requests if request.method == "POST"]
    assert len(asked) == (3 if rules.no_json_object else 2)


@pytest.mark.parametrize("method", ["json_schema", "function_calling", "json_mode", "prompt"])
async def test_every_structured_method_can_be_chosen(method: Any) -> None:
    answer = ModelReply(json=PLAN)
    if method == "function_calling":
        answer = ModelReply(calls=(FunctionCall("Plan", PLAN),))
    service = OpenAIService(Scripted(answer), rules=Rules(no_forced_tool=True))
    async with client_for(service, structured_method=method) as client:
        assert (await client.ask(CHAT, ASK, meter=meter(), schema=Plan)).parsed == Plan(**PLAN)
    assert '"title"' not in json.dumps(service.requests[0].body)


async def test_an_answer_outside_its_schema_is_repaired_once() -> None:
    llm = Scripted(ModelReply(text="Sure! {"), ModelReply(json=PLAN))
    async with client_for(OpenAIService(llm)) as client:
        assert (await client.ask(CHAT, ASK, meter=meter(), schema=Plan)).parsed == Plan(**PLAN)
    assert "corrected JSON" in llm.turns[1].user


async def test_thoughts_go_back_in_a_tool_loop() -> None:
    """The endpoint itself refuses the second turn without them."""
    llm = Scripted(
        ModelReply(calls=(FunctionCall("maps_geo", {"address": "a"}),)), ModelReply(text="ok")
    )
    service = OpenAIService(llm, rules=Rules(reasoning_back=True, no_forced_tool=True))
    tools: list[BaseTool] = [maps_geo]
    async with client_for(service, calls=Calls(reply_cache=MemoryReplyCache())) as client:
        first = await client.ask(CHAT, ASK, meter=meter(), tools=tools)
        again = await client.ask(CHAT, ASK, meter=meter(), tools=tools)
        assert again == first
        call = first.message.tool_calls[0]
        messages = [*ASK, again.message, ToolMessage("1,2", tool_call_id=call["id"] or "")]
        second = await client.ask(CHAT, messages, meter=meter(), tools=tools)
    assert second.text == "ok"
    assert llm.turns[1].tool_results[0].name == "maps_geo"


async def test_extra_fields_of_the_settings_are_sent() -> None:
    service = OpenAIService(Scripted())
    extra = {"thinking": {"type": "disabled"}}
    async with client_for(service, openai_extra_body=extra) as client:
        await client.ask(CHAT, ASK, meter=meter())
        await said(client)
    assert all(r.body["thinking"] == {"type": "disabled"} for r in service.requests)
    assert all("temperature" not in r.body for r in service.requests)


async def test_an_address_alone_needs_no_key() -> None:
    with serve_in_thread(OpenAIService(Scripted()).app) as running:
        client = ModelClient(Settings(openai_base_url=f"{running.url}/v1"), Calls())
        assert (await client.ask(CHAT, ASK, meter=meter())).text
        await client.aclose()


@pytest.mark.parametrize(
    ("host", "code"),
    [("127.0.0.1:9", "model_not_running"), ("nowhere.invalid", "unreachable")],
)
async def test_an_address_where_nobody_is_is_told_from_a_service_that_fails(
    host: str, code: str
) -> None:
    client = ModelClient(Settings(openai_base_url=f"http://{host}/v1"), Calls())
    with pytest.raises(ProviderUnavailable) as caught:
        await client.ask(CHAT, ASK, meter=meter())
    assert caught.value.code == code
    await client.aclose()


async def test_neither_key_nor_address_names_the_variable() -> None:
    with pytest.raises(ConfigurationError, match="OPENAI_API_KEY"):
        await ModelClient(Settings(), Calls()).ask(CHAT, ASK, meter=meter())


async def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("agent.models.openai", "agent.models.compatible"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setitem(sys.modules, "langchain_openai", None)
    with pytest.raises(ConfigurationError, match=r"tanlu\[openai\]"):
        await ModelClient(Settings(openai_base_url="http://x/v1"), Calls()).ask(
            CHAT, ASK, meter=meter()
        )


async def test_searching_with_google_is_not_for_other_models() -> None:
    with pytest.raises(ConfigurationError):
        await ModelClient(Settings(), Calls()).ask(CHAT, ASK, meter=meter(), search=True)


REFUSALS: list[tuple[int, dict[str, Any], type[ProviderError], str]] = [
    (401, {"message": "no", "code": "invalid_api_key"}, ProviderRefused, "model_key_invalid"),
    (402, {"message": "Insufficient Balance"}, ProviderRefused, "model_quota"),
    (403, {"message": "no"}, ProviderRefused, "model_forbidden"),
    (404, {"message": "no such model"}, ProviderRefused, "model_missing"),
    (429, {"message": "no", "code": "insufficient_quota"}, ProviderRefused, "model_quota"),
    (400, {"message": "maximum context length is 8"}, ProviderRefused, "model_context"),
    (400, {"message": "odd"}, ProviderRefused, "model_bad_request"),
]


@pytest.mark.parametrize(("status", "error", "kind", "code"), REFUSALS)
async def test_a_refusal_is_not_tried_again(
    status: int, error: dict[str, Any], kind: type[ProviderError], code: str
) -> None:
    service = OpenAIService(Scripted())
    service.fail("status", status=status, body={"error": error}, times=None)
    async with client_for(service) as client:
        with pytest.raises(kind) as caught:
            await client.ask(CHAT, ASK, meter=meter())
    assert caught.value.code == code
    assert KEY not in repr(caught.value)
    assert len([r for r in service.requests if r.method == "POST"]) == 1


async def test_retry_after_is_kept() -> None:
    service = OpenAIService(Scripted())
    service.fail("status", status=429, headers={"Retry-After": "3600"})
    async with client_for(service) as client:
        with pytest.raises(RateLimited) as caught:
            await client.ask(CHAT, ASK, meter=meter())
    assert caught.value.retry_after == 3600


@by_examples
@pytest.mark.parametrize("times", [1, None])
async def test_a_passing_fault_is_survived_and_a_lasting_one_is_an_error(
    kind: Any, details: dict[str, Any], times: int | None
) -> None:
    service = OpenAIService(Scripted(), key=KEY)
    async with client_for(service, model_timeout_seconds=0.8 if kind == "hang" else 60) as client:
        await client.ask(CHAT, ASK, meter=meter())
        service.fail(kind, times=times, **details)
        if times == 1:
            assert (await client.ask(CHAT, ASK, meter=meter())).text
            return
        with pytest.raises((ProviderUnavailable, MalformedReply)) as caught:
            await client.ask(CHAT, ASK, meter=meter())
        assert KEY not in repr(caught.value)


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (ModelReply(text=""), "model_empty"),
        (ModelReply(finish="MAX_TOKENS"), "model_truncated"),
        (ModelReply(text="x", finish="SAFETY"), "model_blocked"),
    ],
)
async def test_a_reply_of_no_use_is_an_error(answer: ModelReply, code: str) -> None:
    async with client_for(OpenAIService(Scripted(otherwise=answer))) as client:
        with pytest.raises(ProviderError) as caught:
            await client.ask(CHAT, ASK, meter=meter())
    assert caught.value.code == code


async def test_a_reply_without_choices_is_an_error() -> None:
    async with client_for(OpenAIService(Scripted(otherwise=ModelReply(finish="NONE")))) as client:
        with pytest.raises(MalformedReply):
            await client.ask(CHAT, ASK, meter=meter())


@pytest.mark.parametrize("kind", ["drop", "no_finish", "error", "max_tokens", "stall"])
async def test_a_stream_cut_off_is_continued_once(kind: Any) -> None:
    llm = Scripted(ModelReply(text="abcdefghij" * 9), ModelReply(text=" (the rest)"))
    service = OpenAIService(llm, speed=lambda turn: Speed(chunk_tokens=5))
    service.fail_stream(kind, after=20)
    async with client_for(service, model_timeout_seconds=1 if kind == "stall" else 60) as client:
        text = await said(client)
    assert text.startswith("abcdefghijabcde")
    assert text.endswith(" (the rest)")
    assert "<cut_off>" in llm.turns[1].user


async def test_a_stream_counts_its_tokens() -> None:
    async with client_for(OpenAIService(Scripted())) as client:
        spent = meter()
        texts = [t async for t in client.stream(CHAT, ASK, meter=spent, fallback=None)]
    assert "".join(texts) == "Scripted answer."
    assert spent.usage["output_tokens"] > 0


async def test_cancelling_ends_a_call_at_once() -> None:
    arrived = asyncio.Event()
    loop = asyncio.get_running_loop()
    service = OpenAIService(Scripted())

    def latency(request: Any, body: Any) -> float:
        loop.call_soon_threadsafe(arrived.set)
        return 60

    service.latency = latency
    async with client_for(service) as client:
        task = asyncio.ensure_future(client.ask(CHAT, ASK, meter=meter()))
        await arrived.wait()
        start = loop.time()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert loop.time() - start < 1


ABLE = (
    ModelReply(text="one two three four five six seven eight nine ten eleven twelve thirteen"),
    ModelReply(json={"city": "Paris"}),
    ModelReply(calls=(FunctionCall("look_up", {"word": "tea"}),)),
)


async def test_a_probe_says_what_a_model_can_do() -> None:
    async with client_for(OpenAIService(Scripted(*ABLE), key=KEY)) as client:
        seen = await probe(client, CHAT)
    assert seen.error is None
    assert (seen.fills_forms, seen.calls_tools) == (True, True)
    assert seen.seconds > 0
    assert (seen.tokens_a_second or 0) > 0


async def test_a_probe_says_what_a_model_cannot_do() -> None:
    async with client_for(OpenAIService(Scripted(), key=KEY)) as client:
        seen = await probe(client, CHAT)
    assert seen.error is None
    assert (seen.fills_forms, seen.calls_tools) == (False, False)


async def test_a_probe_of_an_unknown_model_lists_those_there_are() -> None:
    async with client_for(OpenAIService(Scripted(), key=KEY)) as client:
        seen = await probe(client, "openai:other")
    assert seen.error is not None
    assert seen.error.code == "model_missing"
    assert seen.names == ("sample-chat",)
