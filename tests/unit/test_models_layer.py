"""Proxies, tolerant JSON, replies as text, call ids."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable
from typing import Any, Literal

import pytest
from google.genai.types import Content, FunctionCall, FunctionResponse, Part
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from pydantic import BaseModel, Field

from agent.assistants.common.judge import WAITING
from agent.core.calls import Calls, Pulse
from agent.core.errors import ConfigurationError
from agent.core.proxies import is_socks, proxy_environment, proxy_for
from agent.models.client import ModelClient
from agent.models.google import restore_ids
from agent.models.habits import Attempt
from agent.models.limits import Underway
from agent.models.openai import OpenAI
from agent.models.replies import from_text, to_text
from agent.models.streaming import ReadAhead, heard
from agent.models.types import ModelRequest, Response, StreamPiece
from agent.models.validation import find_object, parse_reply, schema_of, with_schema
from agent.settings import Settings
from tests.support.rows import by_examples

GOOGLE = "https://generativelanguage.googleapis.com"


class Plan(BaseModel):
    queries: list[str]


def test_external_calls_honour_the_proxy_and_loopback_never(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert proxy_for(GOOGLE) is None
    monkeypatch.setenv("https_proxy", "http://proxy.example:3128")
    monkeypatch.setenv("http_proxy", "http://proxy.example:3128")
    assert proxy_for(GOOGLE) == "http://proxy.example:3128"
    for local in ("http://127.0.0.1:8000", "http://localhost:1", "http://[::1]:1"):
        assert proxy_for(local) is None
    monkeypatch.setenv("no_proxy", "googleapis.com")
    assert proxy_for(GOOGLE) is None


def test_a_socks_proxy_for_everything_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("all_proxy", "socks5://proxy.example:1080")
    assert is_socks(proxy_for(GOOGLE))


@by_examples
@pytest.mark.parametrize("variable", ["https_proxy", "HTTPS_PROXY", "ALL_PROXY"])
def test_a_proxy_is_understood_as_it_is_written(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, proxy: str
) -> None:
    monkeypatch.setenv(variable, value)
    assert proxy_for(GOOGLE) == proxy
    assert proxy_environment() == {variable: proxy}


@pytest.mark.parametrize(
    "value", ["http://", "http://a b:1", "http://proxy.example:port", "ftp://x:1"]
)
def test_what_is_no_proxy_is_refused_by_the_name_of_its_variable(
    monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", value)
    for use in (lambda: proxy_for(GOOGLE), proxy_environment):
        with pytest.raises(ConfigurationError, match="HTTPS_PROXY"):
            use()


def test_a_proxy_makes_no_false_warning_that_proxies_are_off(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example:3128")
    monkeypatch.setattr(
        "langchain_openai.chat_models._client_utils._proxy_env_warning_emitted", False
    )
    settings = Settings(openai_base_url="https://api.example/v1")

    async def made() -> None:
        service = OpenAI(settings)
        await service._model("some-model", Attempt(frozenset()))
        await service.aclose()

    asyncio.run(made())
    assert caplog.text == ""


def test_a_proxy_of_no_use_names_its_variable_and_hides_its_password(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("https_proxy", "socks4://user:hunter22@proxy.example:1080")
    with pytest.raises(ConfigurationError, match=r"^HTTPS_PROXY: ") as caught:
        proxy_for(GOOGLE)
    assert "hunter22" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        '{"queries": ["a"]}',
        '```json\n{"queries": ["a"]}\n```',
        'Sure! Here it is:\n{"queries": ["a"]}\nAnything else?',
        'a brace { and then {"queries": ["a"]}',
    ],
)
def test_json_is_found_among_other_words(text: str) -> None:
    assert parse_reply(text, Plan) == Plan(queries=["a"])


@pytest.mark.parametrize("text", ["", "no", '{"queries": ["a"', "[1]"])
def test_half_an_object_is_none(text: str) -> None:
    with pytest.raises(ValueError, match="no complete JSON"):
        find_object(text)


class Piece(BaseModel):
    """One of them."""

    text: str = Field(description="As it is.")
    title: str | None = None
    kinds: list[str] = []
    note: str = ""
    size: Literal["s", "m"] | None = "m"


class Pieces(BaseModel):
    """Several."""

    part: list[Piece]


def test_a_comma_too_many_costs_no_repair() -> None:
    text = '{"part": [{"text": "a, ]b", "kinds": ["x", ],},\n],}'
    assert parse_reply(text, Pieces) == Pieces(part=[Piece(text="a, ]b", kinds=["x"])])


def test_texts_where_objects_belong_and_nulls_for_unset_cost_no_repair() -> None:
    assert parse_reply('{"part": ["a", "b"]}', Pieces) == Pieces(
        part=[Piece(text="a"), Piece(text="b")]
    )
    text = '{"part": [{"text": "a", "title": null, "kinds": null, "note": null, "size": ""}]}'
    assert parse_reply(text, Pieces) == Pieces(part=[Piece(text="a")])
    with pytest.raises(ValueError, match=r"^part.0.text: "):
        parse_reply('{"part": [{"text": null}]}', Pieces)


def test_an_object_within_a_broken_one_is_not_taken_for_the_answer() -> None:
    with pytest.raises(ValueError, match=r"Expecting ',' delimiter, line 2 of it"):
        parse_reply('{"part": [{"text": "a"}\n{"text": "b"}]}', Pieces)


def test_a_schema_is_sent_in_one_piece_without_what_a_model_does_not_need() -> None:
    shape = schema_of(Pieces)
    part = shape["properties"]["part"]["items"]
    assert "description" not in {*shape, *part}, "a docstring is an engineer's"
    assert part["properties"].keys() == {"text", "title", "kinds", "note", "size"}
    assert part["properties"]["title"] == {"type": "string"}
    assert part["properties"]["size"] == {"enum": ["s", "m"], "type": "string", "default": "m"}
    assert part["properties"]["text"] == {"type": "string", "description": "As it is."}
    assert part["required"] == ["text"]
    assert not {"title", "$defs"} & {*shape, *part}


def test_what_does_not_fit_is_told_without_its_value() -> None:
    with pytest.raises(ValueError, match=r"^queries: ") as caught:
        parse_reply('{"queries": "secret words"}', Plan)
    assert "secret words" not in str(caught.value)


def test_a_told_schema_joins_the_system_message_with_the_word_json() -> None:
    told = with_schema([SystemMessage("Be brief."), HumanMessage("q")], Plan)
    assert [m.type for m in told] == ["system", "human"]
    assert told[0].text.startswith("Be brief.")
    assert "JSON" in told[0].text
    assert '"queries"' in told[0].text


def test_a_reply_survives_the_reply_cache() -> None:
    message = AIMessage(
        content=[{"type": "text", "text": "x", "extras": {"signature": "c2ln"}}],
        additional_kwargs={"raw": b"bytes"},
        tool_calls=[{"name": "f", "args": {"a": 1}, "id": "c1", "type": "tool_call"}],
    )
    kept = Response(message, "x", ("x", ""), "stop", "STOP", {"web_search_queries": ["q"]}, 3, 4)
    assert from_text(to_text(kept)) == kept


def test_ids_go_back_to_the_calls_and_results_they_belong_to() -> None:
    def call(name: str) -> Part:
        return Part(function_call=FunctionCall(name=name))

    def answer(name: str) -> Part:
        return Part(function_response=FunctionResponse(name=name, response={}))

    def asked(*ids: str) -> AIMessage:
        calls: list[Any] = [{"name": i, "args": {}, "id": i, "type": "tool_call"} for i in ids]
        return AIMessage("", tool_calls=calls)

    messages = [
        HumanMessage("q"), asked("a", "b"), ToolMessage("2", tool_call_id="b"),
        ToolMessage("1", tool_call_id="a"), asked("c"), ToolMessage("3", tool_call_id="c"),
    ]  # fmt: skip
    contents = [
        Content(role="user", parts=[Part(text="q")]),
        Content(role="model", parts=[call("a"), call("b")]),
        Content(role="user", parts=[answer("b"), answer("a")]),
        Content(role="model", parts=[call("c")]),
        Content(role="user", parts=[answer("c")]),
    ]
    restore_ids(messages, contents)
    parts = [part for content in contents for part in content.parts or ()]
    for part in parts:
        if part.function_call:
            assert part.function_call.id == part.function_call.name
        if part.function_response:
            assert part.function_response.id == part.function_response.name


async def _turns_beside(texts: AsyncIterable[object]) -> int:
    """Return how often another task goes on while all of it is read."""
    turns, ended = [0], asyncio.Event()

    async def other() -> None:
        while not ended.is_set():
            turns[0] += 1
            await asyncio.sleep(0)

    going = asyncio.create_task(other())
    assert len([text async for text in texts]) == 100
    ended.set()
    await going
    return turns[0]


async def test_a_reply_that_has_come_already_lets_others_go_on_while_it_is_read() -> None:
    async def ready() -> AsyncGenerator[str, None]:
        for number in range(100):
            yield str(number)

    assert await _turns_beside(ReadAhead(ready())) >= 100


async def test_a_thought_that_has_come_already_lets_others_go_on_while_it_is_read() -> None:
    async def thought() -> AsyncGenerator[StreamPiece, None]:
        for number in range(100):
            yield StreamPiece(hidden=str(number))

    underway = Underway("model:x", ModelRequest("x", ()), Pulse(), characters=1000)
    assert await _turns_beside(heard(thought(), underway)) >= 100


@by_examples
def test_a_reader_waits_for_a_judge_as_its_model_is_served(
    model: str, settings: dict[str, Any], kind: str, one: bool
) -> None:
    models = ModelClient(Settings(gemini_api_key="k", openai_api_key="k", **settings), Calls())
    assert (models.kind(model), models.serves_one(model)) == (kind, one)
    assert WAITING["hosted"] < WAITING["thinking"] < WAITING["near"]
