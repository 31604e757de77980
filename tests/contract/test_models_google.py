"""Gemini through the client, against the loopback Gemini: replies, schemas, tools and searches."""

import json

import pytest
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool

from agent.core.calls import Calls
from agent.core.errors import BudgetExceeded, MalformedReply, ProviderError, ProviderRefused
from agent.models.client import ModelClient
from agent.models.google import read_google_reply, text_parts
from agent.sample.model.request import FunctionCall, GroundedSentence, GroundingPage, ModelReply
from tests.contract.gemini_client import (
    FLASH,
    LITE,
    PLAN,
    Plan,
    client_fixture,
    gemini_fixture,
    llm_fixture,
)
from tests.support.memory_reply_cache import MemoryReplyCache
from tests.support.meters import meter
from tests.support.scripted import ASK, Scripted, client_for, maps_geo
from tests.support.standins import GeminiService

__all__ = ["client_fixture", "gemini_fixture", "llm_fixture"]


async def test_a_reply_brings_its_text_and_what_it_cost(client: ModelClient, llm: Scripted) -> None:
    llm.then(ModelReply(text="八点半。\n"))
    spent = meter()
    reply = await client.ask(LITE, ASK, meter=spent)
    assert reply.text == "八点半。\n"
    assert reply.parts == ("八点半。\n",)
    assert spent.usage["model_calls"] == 1
    assert spent.usage["input_tokens"] > 0
    assert spent.usage["cost_usd"] is not None
    assert spent.usage["cost_usd"] > 0
    assert llm.turns[0].system == "You answer."


async def test_temperature_is_never_sent_and_thinking_fits_the_model(
    client: ModelClient, gemini: GeminiService
) -> None:
    await client.ask(FLASH, ASK, meter=meter(), thinking="minimal")
    config = gemini.requests[-1].body["generationConfig"]
    assert "temperature" not in config
    assert str(config["thinkingConfig"]).lower().count("low") == 1


async def test_a_tool_is_declared_with_its_description_once(
    client: ModelClient, gemini: GeminiService
) -> None:
    await client.ask(LITE, ASK, meter=meter(), tools=[maps_geo])
    [declared] = gemini.requests[-1].body["tools"][0]["functionDeclarations"]
    assert declared["description"] == maps_geo.description
    assert declared["parameters"].keys() == {"properties", "required", "type"}


async def test_the_library_never_calls_tools_itself_nor_logs_each_request(
    client: ModelClient, llm: Scripted, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "google_genai")
    llm.then(ModelReply(text="好"))
    await client.ask(LITE, ASK, meter=meter(), tools=[maps_geo])
    assert not [row for row in caplog.records if row.name.startswith("google_genai")]


async def test_a_structured_answer_is_validated(client: ModelClient, llm: Scripted) -> None:
    llm.then(ModelReply(json=PLAN))
    reply = await client.ask(LITE, ASK, meter=meter(), schema=Plan)
    assert reply.parsed == Plan(**PLAN)
    assert llm.turns[0].schema
    assert llm.turns[0].schema["properties"].keys() == {"queries", "rationale"}


async def test_an_answer_outside_its_schema_is_repaired_once(
    client: ModelClient, llm: Scripted
) -> None:
    llm.then(ModelReply(json={"queries": "no list"}), ModelReply(json=PLAN))
    reply = await client.ask(LITE, ASK, meter=meter(), schema=Plan)
    assert reply.parsed == Plan(**PLAN)
    assert "queries" in llm.turns[1].user


async def test_an_answer_outside_its_schema_twice_is_malformed(
    client: ModelClient, llm: Scripted
) -> None:
    llm.then(ModelReply(json={"queries": 1}), ModelReply(text="sorry"))
    with pytest.raises(MalformedReply) as caught:
        await client.ask(LITE, ASK, meter=meter(), schema=Plan)
    assert caught.value.code == "model_schema"


async def test_half_a_list_is_never_taken_for_a_whole_one(
    client: ModelClient, llm: Scripted
) -> None:
    half = ModelReply(text='{"queries": ["故宫门票", "故宫开放时', finish="MAX_TOKENS")
    llm.then(half, ModelReply(json=PLAN))
    assert (await client.ask(LITE, ASK, meter=meter(), schema=Plan)).parsed == Plan(**PLAN)
    llm.then(half, half)
    with pytest.raises(MalformedReply) as caught:
        await client.ask(LITE, ASK, meter=meter(), schema=Plan)
    assert caught.value.code == "model_truncated"
    assert len(llm.turns) == 4


async def test_a_cut_off_text_says_so(client: ModelClient, llm: Scripted) -> None:
    llm.then(ModelReply(text="八点", finish="MAX_TOKENS"))
    assert (await client.ask(LITE, ASK, meter=meter())).truncated


@pytest.mark.parametrize(
    ("answer", "error", "code"),
    [
        (ModelReply(text="", finish="STOP"), MalformedReply, "model_empty"),
        (ModelReply(finish="NONE"), MalformedReply, "model_empty"),
        (ModelReply(finish="MALFORMED_FUNCTION_CALL"), MalformedReply, "model_bad_call"),
        (ModelReply(finish="MAX_TOKENS"), MalformedReply, "model_truncated"),
        (ModelReply(finish="SAFETY"), ProviderRefused, "model_blocked"),
        (ModelReply(text="half", finish="RECITATION"), ProviderRefused, "model_blocked"),
        (ModelReply(finish="PROMPT_BLOCKED"), ProviderRefused, "model_blocked"),
    ],
)
async def test_a_reply_of_no_use_is_an_error(
    client: ModelClient, llm: Scripted, answer: ModelReply, error: type[ProviderError], code: str
) -> None:
    llm.then(answer, answer, answer)
    with pytest.raises(error) as caught:
        await client.ask(LITE, ASK, meter=meter())
    assert caught.value.code == code
    assert len(llm.turns) == (2 if error is MalformedReply else 1)


@pytest.mark.parametrize("answer", [ModelReply(text=""), ModelReply(finish="NONE")])
async def test_an_empty_reply_is_asked_for_once_more(
    client: ModelClient, llm: Scripted, answer: ModelReply
) -> None:
    llm.then(answer, ModelReply(text="ok"))
    assert (await client.ask(LITE, ASK, meter=meter())).text == "ok"


async def test_call_ids_and_signatures_survive_a_tool_loop(
    client: ModelClient, llm: Scripted, gemini: GeminiService
) -> None:
    """The service itself refuses the second turn if an id or a signature is missing."""
    calls = (
        FunctionCall("maps_geo", {"address": "王府井"}),
        FunctionCall("maps_geo", {"address": "三里屯"}),
    )
    llm.then(ModelReply(calls=calls), ModelReply(text="done"))
    tools: list[BaseTool] = [maps_geo]
    first = await client.ask(LITE, ASK, meter=meter(), tools=tools, thinking="medium")
    ids = [call["id"] for call in first.message.tool_calls]
    results = [ToolMessage('{"location": "1,2"}', tool_call_id=i or "") for i in reversed(ids)]
    messages = [*ASK, first.message, *results]
    second = await client.ask(LITE, messages, meter=meter(), tools=tools, thinking="medium")
    assert second.text == "done"
    assert [r.id for r in llm.turns[1].tool_results] == ids[::-1]
    parts = gemini.requests[-1].body["contents"][1]["parts"]
    assert parts[0]["thoughtSignature"]


async def test_a_search_brings_its_metadata_and_exact_parts(
    client: ModelClient, llm: Scripted
) -> None:
    page = GroundingPage("https://vertexaisearch.example/redirect/1", "dpm.org.cn")
    sentences = (GroundedSentence("故宫8:30开门。\n", (page,)), GroundedSentence("周一闭馆。\n"))
    llm.then(ModelReply(grounded=sentences, queries=("故宫 开放时间",)))
    reply = await client.ask(LITE, ASK, meter=meter(), search=True)
    assert llm.turns[0].search
    assert reply.grounding is not None
    segment = reply.grounding["groundingSupports"][0]["segment"]
    part = reply.parts[segment.get("partIndex", 0)].encode()
    assert part[segment.get("startIndex", 0) : segment["endIndex"]].decode() == "故宫8:30开门。\n"
    assert reply.grounding["webSearchQueries"] == ["故宫 开放时间"]


def test_a_field_that_the_library_does_not_know_costs_nothing_but_itself() -> None:
    part = {"text": "八点半。", "newInPart": {"a": [1]}}
    candidate = {
        "content": {"parts": [part], "role": "model"}, "finishReason": "STOP", "newInCandidate": 1,
        "citationMetadata": {"citationSources": [{"uri": "https://example.org"}]},
        "groundingMetadata": {"newInGrounding": True},
    }  # fmt: skip
    usage = {"promptTokenCount": 7, "newInUsage": 1}
    body = {"candidates": [candidate], "usageMetadata": usage, "newInReply": {}}
    response, grounding = read_google_reply(json.dumps(body))
    assert text_parts(response) == ["八点半。"]
    assert response.usage_metadata is not None
    assert response.usage_metadata.prompt_token_count == 7
    assert grounding == {"newInGrounding": True}


@pytest.mark.parametrize(
    "body", ["[]", "nothing", '{"candidates": 3}', '{"candidates": [{"content": 3}]}']
)
def test_a_reply_in_another_shape_is_an_error(body: str) -> None:
    with pytest.raises((ValueError, TypeError, AttributeError)):
        read_google_reply(body)


async def test_the_same_request_in_a_turn_is_paid_once(
    gemini: GeminiService, llm: Scripted
) -> None:
    page = GroundingPage("https://example.org/1", "example.org")
    llm.then(
        ModelReply(calls=(FunctionCall("maps_geo", {"address": "x"}),)),
        ModelReply(grounded=(GroundedSentence("一。", (page,)),), queries=("q",)),
    )
    async with client_for(gemini, calls=Calls(reply_cache=MemoryReplyCache())) as client:
        tools: list[BaseTool] = [maps_geo]
        replies = [await client.ask(LITE, ASK, meter=meter(), tools=tools) for _ in range(2)]
        searched = [await client.ask(LITE, ASK, meter=meter(), search=True) for _ in range(2)]
    assert replies[0] == replies[1]
    assert searched[0].grounding == searched[1].grounding
    assert searched[0].parts == searched[1].parts
    assert len(gemini.requests) == 2


async def test_a_reply_from_the_cache_still_counts_its_tokens(gemini: GeminiService) -> None:
    calls = Calls(reply_cache=MemoryReplyCache())
    async with client_for(gemini, calls=calls) as client:
        first, second = meter(), meter()
        await client.ask(LITE, ASK, meter=first)
        await client.ask(LITE, ASK, meter=second)
    assert second.usage["input_tokens"] == first.usage["input_tokens"]


async def test_a_spent_budget_stops_before_the_call(
    client: ModelClient, gemini: GeminiService
) -> None:
    with pytest.raises(BudgetExceeded):
        await client.ask(LITE, ASK, meter=meter(model_calls=0))
    assert not gemini.requests
