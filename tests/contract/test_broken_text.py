"""Half a character or a control character in any reply costs nothing: what comes of it is valid."""

import json
from dataclasses import asdict
from typing import Any

import pytest

from agent.core.calls import Calls
from agent.core.strings import valid_json
from agent.sample.model.request import FunctionCall, ModelReply
from agent.sample.services.loopback import Service
from agent.search.http import SearchHttp
from tests.contract.gemini_client import LITE, Plan
from tests.contract.search_bench import Bench, bench_fixture, running_fixture
from tests.support.library_bench import SourceBench, running_source_fixture, source_fixture
from tests.support.memory_reply_cache import MemoryReplyCache
from tests.support.meters import meter
from tests.support.scripted import ASK, KEY, Scripted, client_for, maps_geo
from tests.support.served import serve_in_thread
from tests.support.standin import BROKEN, Speed
from tests.support.standins import GeminiService, OpenAIService, TavilyService

__all__ = ["bench_fixture", "running_fixture", "running_source_fixture", "source_fixture"]
MODELS: dict[str, Any] = {LITE: GeminiService, "openai:sample-chat": OpenAIService}
REPLACED = "\ufffd31m"
"""What is left of `BROKEN`."""


def is_valid(value: Any) -> bool:
    """Whether a value of JSON has nothing that a store refuses or a screen obeys."""
    json.dumps(value, ensure_ascii=False).encode()
    return bool(valid_json(value) == value)


async def test_hits_are_valid_and_stay_so_when_they_are_remembered(bench: Bench) -> None:
    bench.service.fail("broken_text", times=None)
    reply_cache = MemoryReplyCache()
    found = await bench.provider(reply_cache=reply_cache).search("故宫", meter=meter())
    again = await bench.provider(reply_cache=reply_cache).search("故宫", meter=meter())
    assert again == found
    assert found
    assert all(is_valid(asdict(hit)) for hit in found)
    assert all(is_valid(reply) for reply in reply_cache.kept.values())
    assert "\ufffd" in found[0].title


async def test_an_address_with_half_a_character_is_a_usable_address() -> None:
    row = {"url": "https://ok.example/\ud800", "title": "t", "content": "c"}
    standin, http = TavilyService(key=KEY), SearchHttp(timeout=60)
    standin.fail("status", status=200, body={"results": [row]})
    with serve_in_thread(standin.app) as server:
        running = Bench("tavily", standin, server.url, http)
        found = await running.provider().search("故宫", meter=meter())
    await http.aclose()
    assert [hit.url for hit in found] == ["https://ok.example/\ufffd"]


async def test_documents_are_valid_and_stay_so_when_they_are_remembered(
    source: SourceBench,
) -> None:
    source.service.fail("broken_text", times=None)
    reply_cache = MemoryReplyCache()
    found = await source.search(reply_cache=reply_cache)
    assert found
    assert is_valid(found)
    assert all(is_valid(reply) for reply in reply_cache.kept.values())


@pytest.fixture(params=MODELS, name="model")
def model_fixture(request: pytest.FixtureRequest) -> str:
    if request.param.startswith("openai:"):
        pytest.importorskip("langchain_openai")
    name: str = request.param
    return name


def service(model: str, llm: Scripted) -> Service:
    made: Service = MODELS[model](llm, key=KEY)
    return made


async def test_a_models_text_and_calls_are_valid(model: str) -> None:
    call = FunctionCall("maps_geo", {"address": f"故宫{BROKEN}"})
    llm = Scripted(ModelReply(text=f"故宫{BROKEN}"), ModelReply(calls=(call,)))
    reply_cache = MemoryReplyCache()
    async with client_for(service(model, llm), calls=Calls(reply_cache=reply_cache)) as client:
        text = await client.ask(model, ASK, meter=meter())
        called = await client.ask(model, ASK, meter=meter(), tools=[maps_geo])
    assert (text.text, str(text.message.text)) == (f"故宫{REPLACED}", f"故宫{REPLACED}")
    assert called.message.tool_calls[0]["args"] == {"address": f"故宫{REPLACED}"}
    assert all(is_valid(reply) for reply in reply_cache.kept.values())
    assert "".join(text.parts) == text.text


async def test_a_models_structured_answer_is_valid(model: str) -> None:
    shape = {"queries": [f"故宫{BROKEN}", "\x00\x00"], "rationale": "\ud800 abc"}
    async with client_for(service(model, Scripted(ModelReply(json=shape)))) as client:
        reply = await client.ask(model, ASK, meter=meter(), schema=Plan)
    assert reply.parsed == Plan(queries=[f"故宫{REPLACED}", ""], rationale="\ufffd abc")


async def test_a_streamed_answer_is_valid_and_a_character_cut_in_two_is_joined(model: str) -> None:
    whole = f"晴天\ud83d\ude00雨天{BROKEN}" * 20 + "\ud83d"
    standin: Any = service(model, Scripted(ModelReply(text=whole)))
    standin.speed = lambda turn: Speed(chunk_tokens=1)
    async with client_for(standin) as client:
        said = [text async for text in client.stream(model, ASK, meter=meter(), fallback=None)]
    assert len(said) > 10
    assert "".join(said) == f"晴天😀雨天{REPLACED}" * 20 + "\ufffd"
