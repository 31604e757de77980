"""How long a reply may be, what becomes of a prompt that is too long, calls that end early."""

import ast
import asyncio
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from langchain_core.messages import HumanMessage, SystemMessage
from pydantic import BaseModel, Field

from agent.core.errors import BudgetExceeded, KeyRefused, MalformedReply, TimedOut
from agent.core.strings import estimated_tokens
from agent.models.catalogue import parse
from agent.models.client import ModelClient
from agent.models.errors import PromptTooLong
from agent.models.limits import (
    ANSWER_TOKENS,
    REPLY_TOKENS,
    ReplySizes,
    with_ends,
)
from agent.models.probe import probe
from agent.models.types import ModelRequest
from agent.models.validation import schema_of
from agent.sample.model.request import FunctionCall, ModelReply
from agent.sample.services.loopback import RefusedRequest
from tests.support.meters import meter
from tests.support.scripted import ASK, Scripted, client_for, maps_geo
from tests.support.standin import Speed
from tests.support.standins import GeminiService, OpenAIService, Rules

CHAT, FLASH = "openai:sample-chat", "gemini-3.8-flash"
MATERIAL = "\n".join(f"- fact {n}: the metro of city {n} opened in {1900 + n}" for n in range(300))
LONG = [SystemMessage("You answer."), HumanMessage(f"<facts>\n{MATERIAL}\n</facts>\nWhich is it?")]
SOURCE = Path(__file__).parents[2] / "src/agent"
_FOURTH = "parsed_or_gap"
"""Takes the form of a reply as its fourth argument."""


def forms_of(node: ast.AST) -> Iterator[ast.expr]:
    """Yield what says the form of a reply: `schema=…`, `schema = …`, an argument of a function."""
    match node:
        case ast.keyword(arg="schema", value=form):
            yield form
        case ast.Assign(targets=[ast.Name(id="schema")], value=ast.IfExp() as form):
            yield form
        case ast.Call(func=ast.Name(id=name), args=[_, _, _, form, *_]) if name == _FOURTH:
            yield form
        case ast.Call(func=ast.Attribute(attr="_reply"), args=[ast.Name() as form, *_]):
            yield form


def forms() -> set[str]:
    """Return the names of all forms that a step of the source asks a reply in."""
    return {
        name
        for path in SOURCE.rglob("*.py")
        if "schema" in (text := path.read_text("utf-8")) or _FOURTH in text
        for node in ast.walk(ast.parse(text))
        for form in forms_of(node)
        for name in re.findall(r"\b[A-Z]\w+", ast.unparse(form))
        if not name.endswith(("Configuration", "S", "None"))
    }


class Plan(BaseModel):
    queries: list[str]


class Small(OpenAIService):
    """Have a window of so many tokens; say so as llama.cpp does, when asked, or not at all."""

    def __init__(self, window: int, *, words: str = "n_ctx", listed: bool = False) -> None:
        super().__init__(Scripted())
        self._window, self._words, self._listed = window, words, listed

    def check(self, body: Any) -> None:
        super().check(body)
        size = sum(estimated_tokens(str(m["content"])) for m in body["messages"])
        if size > self._window:
            about = f"request ({size} tokens) exceeds the available context size"
            told = f"{about} ({self._window} tokens)"
            text = told if self._words == "n_ctx" else "prompt is too long"
            raise RefusedRequest(text, 400, "exceed_context_size_error")

    async def _list(self, request: web.Request) -> web.StreamResponse:
        meta = {"meta": {"n_ctx": self._window}} if self._listed else {}
        return web.json_response({"data": [{"id": "sample-chat", "object": "model", **meta}]})


def asked(service: OpenAIService) -> list[Any]:
    """The bodies of the completions that were asked for."""
    return [request.body for request in service.requests if request.method == "POST"]


async def answer(
    client: ModelClient, messages: Any = ASK, *, streamed: bool = True, model: str = CHAT
) -> str:
    if not streamed:
        return (await client.ask(model, messages, meter=meter())).text
    return "".join([t async for t in client.stream(model, messages, meter=meter(), fallback=None)])


@pytest.mark.parametrize(
    "words", [{"words": "n_ctx"}, {"words": "none", "listed": True}, {"words": "none"}],
    ids=["told by the error", "told when asked", "never told"],
)  # fmt: skip
@pytest.mark.parametrize("streamed", [False, True])
async def test_a_prompt_too_long_is_cut_to_the_window_and_sent_again(
    words: Any, streamed: bool
) -> None:
    service = Small(2048, **words)
    async with client_for(service) as client:
        for _ in range(2):
            assert await answer(client, LONG, streamed=streamed)
    bodies = asked(service)
    # The second call knows the window.
    assert len(bodies) <= (3 if words != {"words": "none"} else 4)
    instructions, prompt = (message["content"] for message in bodies[-1]["messages"])
    assert prompt.startswith("<facts>\n- fact 0:")
    assert prompt.endswith("</facts>\nWhich is it?")
    assert instructions == "You answer."
    assert bodies[-1]["max_tokens"] <= 2048 // 4


async def test_the_room_of_a_prompt_is_that_of_the_window_that_the_server_tells_once() -> None:
    service = Small(8192, listed=True)
    async with client_for(service) as client:
        rooms = [await client.prompt_room(CHAT) for _ in range(2)]
    assert rooms == [int((8192 - 2048) * 0.95)] * 2
    assert len(service.requests) == 1


async def test_where_no_window_is_told_there_is_no_room_known_until_a_prompt_is_refused() -> None:
    service = Small(2048)
    async with client_for(service) as client:
        assert await client.prompt_room(CHAT) is None
        assert await client.prompt_room(CHAT) is None
        assert len(service.requests) == 1
        assert await answer(client, LONG)
        assert await client.prompt_room(CHAT) is not None


async def test_nobody_is_asked_for_the_window_of_a_model_whose_facts_are_known() -> None:
    service = GeminiService(Scripted())
    async with client_for(service) as client:
        assert await client.prompt_room(FLASH) is None
    assert service.requests == []


async def test_a_prompt_that_no_cut_helps_is_refused_by_its_name() -> None:
    service = Small(120)
    async with client_for(service) as client:
        with pytest.raises(PromptTooLong):
            await answer(client, LONG)
    assert len(asked(service)) == 1


class WholeRequest(OpenAIService):
    """Count the tokens that the reply may have as part of the request, as vLLM does."""

    def check(self, body: Any) -> None:
        super().check(body)
        asked, most = 60, body.get("max_tokens", 0)
        if asked + most > 2048:
            passed = f"You passed {asked} input tokens and requested {most} output tokens."
            raise RefusedRequest(
                f"{passed} However, the model's context length is only 2048 tokens"
            )


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_reply_too_long_for_the_window_is_asked_for_shorter(streamed: bool) -> None:
    service = WholeRequest(Scripted())
    async with client_for(service) as client:
        for _ in range(2):
            assert await answer(client, streamed=streamed)
    assert [body["max_tokens"] for body in asked(service)][1:] == [2048 // 4] * 2


class Silent(OpenAIService):
    """Read the end of a prompt only, without a word, as Ollama does."""

    def check(self, body: Any) -> None:
        super().check(body)
        for message in body["messages"]:
            message["content"] = message["content"][-7000:]


async def test_a_prompt_that_was_cut_without_a_word_is_sent_again_shorter() -> None:
    service = Silent(Scripted())
    async with client_for(service) as client:
        assert await answer(client, LONG, streamed=False)
    first, second = asked(service)
    assert first["messages"][-1]["content"].startswith("<facts>") is False
    assert second["messages"][-1]["content"].startswith("<facts>")


class Wide(BaseModel):
    """Say more in its form than a prompt does."""

    queries: list[str] = Field(description="Which of the things that were found? " * 900)


async def test_a_form_that_a_server_makes_a_grammar_of_is_no_prompt_cut_without_a_word() -> None:
    question = [HumanMessage("Which of the metros opened first? " * 250)]
    service = Own(Scripted(ModelReply(json={"queries": ["a"]})))
    async with client_for(service) as client:
        assert (await client.ask(CHAT, question, meter=meter(), schema=Wide)).parsed
    assert len(asked(service)) == 1


@pytest.mark.parametrize("streamed", [False, True])
async def test_every_reply_has_a_limit(streamed: bool) -> None:
    service = OpenAIService(Scripted())
    async with client_for(service) as client:
        await answer(client, streamed=streamed)
        await client.ask(CHAT, ASK, meter=meter(), tools=[maps_geo])
    assert all(0 < body["max_tokens"] <= ANSWER_TOKENS for body in asked(service))


async def test_a_limit_of_the_operators_is_kept() -> None:
    service = OpenAIService(Scripted())
    async with client_for(service, openai_extra_body={"max_tokens": 77}) as client:
        await answer(client)
        await answer(client, streamed=False)
    assert [body["max_tokens"] for body in asked(service)] == [77, 77]


async def test_gemini_has_room_for_thoughts_besides_the_reply() -> None:
    service = GeminiService(Scripted())
    async with client_for(service) as client:
        await client.ask(FLASH, ASK, meter=meter(), thinking="low")
        await client.ask(FLASH, ASK, meter=meter(), thinking="high")
    low, high = (r.body["generationConfig"]["maxOutputTokens"] for r in service.requests)
    assert ANSWER_TOKENS < low < high


async def test_a_reply_cut_at_its_limit_is_asked_for_with_more_room() -> None:
    service = OpenAIService(Scripted(ModelReply(text='{"queries": [', finish="MAX_TOKENS"),
                                     ModelReply(json={"queries": ["a"]})))  # fmt: skip
    async with client_for(service) as client:
        assert (await client.ask(CHAT, ASK, meter=meter(), schema=Plan)).parsed
    first, second = asked(service)
    assert second["max_tokens"] == 2 * first["max_tokens"]


async def test_a_model_that_thinks_gets_room_for_it_from_then_on() -> None:
    thoughts = ModelReply(text="<think>well", finish="MAX_TOKENS")
    service = OpenAIService(
        Scripted(thoughts, ModelReply(json={"queries": ["a"]}), ModelReply(text="b"))
    )
    async with client_for(service) as client:
        await client.ask(CHAT, ASK, meter=meter(), schema=Plan)
        await answer(client, streamed=False)
    first, second, third = asked(service)
    assert second["max_tokens"] > first["max_tokens"] + 5000
    assert third["max_tokens"] > first["max_tokens"] + 5000


async def test_a_reply_that_ran_round_in_circles_is_not_asked_for_again() -> None:
    round_and_round = ModelReply(text="The same again. " * 400, finish="MAX_TOKENS")
    service = OpenAIService(Scripted(otherwise=round_and_round))
    async with client_for(service) as client:
        with pytest.raises(MalformedReply) as caught:
            await answer(client, streamed=False)
    assert caught.value.code == "model_loop"
    assert len(asked(service)) == 1


MOST = 20_000
RUNAWAY = "".join(f"{number} " for number in range(MOST // 3))


@pytest.mark.parametrize("model", [CHAT, FLASH])
@pytest.mark.parametrize("streamed", [False, True])
async def test_a_reply_past_all_limits_is_given_up_and_not_asked_for_again(
    streamed: bool, model: str
) -> None:
    kind = OpenAIService if model == CHAT else GeminiService
    service: Any = kind(Scripted(otherwise=ModelReply(text=RUNAWAY)))
    async with client_for(service, model_reply_characters=MOST) as client:
        with pytest.raises(MalformedReply) as caught:
            await answer(client, streamed=streamed, model=model)
    assert caught.value.code == "model_too_long"
    assert len(service.turns) == 1


async def test_of_an_answer_past_all_limits_what_was_written_is_said_and_it_is_no_weakness() -> (
    None
):
    service, spent = OpenAIService(Scripted(otherwise=ModelReply(text=RUNAWAY))), meter()
    texts = list[str]()

    async def hear(client: ModelClient) -> None:
        async for text in client.stream(CHAT, ASK, meter=spent, fallback=None):
            texts.append(text)

    async with client_for(service, model_reply_characters=MOST) as client:
        with pytest.raises(MalformedReply):
            await hear(client)
    said = "".join(texts)
    assert MOST * 0.9 < len(said) <= MOST
    assert RUNAWAY.startswith(said)
    assert spent.budget.remarks["model_weak"] == 0


def endless(field: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Put what a reply says into another field of it: a thought, a call's argument."""

    def shape(body: dict[str, Any]) -> dict[str, Any]:
        for choice in body.get("choices", []):
            delta = choice.get("delta", {})
            if text := delta.pop("content", ""):
                call = {"index": 0, "id": "c", "function": {"name": "maps_geo", "arguments": text}}
                delta |= {"tool_calls": [call]} if field == "tool_calls" else {field: text}
        return body

    return shape


@pytest.mark.parametrize("field", ["reasoning_content", "tool_calls"])
@pytest.mark.parametrize("streamed", [False, True])
async def test_thoughts_and_arguments_without_end_are_given_up_too(
    field: str, streamed: bool
) -> None:
    rules = Rules(shapes=endless(field))
    service = Own(Scripted(otherwise=ModelReply(text=RUNAWAY)), rules=rules)
    async with client_for(service, model_reply_characters=MOST) as client:
        with pytest.raises(MalformedReply) as caught:
            await answer(client, streamed=streamed)
    assert caught.value.code == "model_too_long"
    assert len(asked(service)) == 1


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_body_or_a_line_without_end_is_not_read_into_memory(streamed: bool) -> None:
    one_piece = Speed(chunk_tokens=100 * MOST)
    endless = ModelReply(text="x" * (11 * MOST))
    service = OpenAIService(Scripted(otherwise=endless), speed=lambda turn: one_piece)
    async with client_for(service, model_reply_characters=MOST) as client:
        with pytest.raises(MalformedReply) as caught:
            await answer(client, streamed=streamed)
    assert caught.value.code == "model_too_long"
    assert "the endpoint" in str(caught.value)


async def test_a_stream_that_goes_round_in_circles_ends_and_is_not_continued() -> None:
    service = OpenAIService(Scripted(otherwise=ModelReply(text="The same again. " * 4000)))
    spent, texts = meter(), list[str]()

    async def hear(client: ModelClient) -> None:
        async for text in client.stream(CHAT, ASK, meter=spent, fallback=None):
            texts.append(text)

    async with client_for(service) as client:
        with pytest.raises(MalformedReply) as caught:
            await hear(client)
    assert caught.value.code == "model_loop"
    assert 0 < len("".join(texts)) < 4000
    assert len(asked(service)) == 1
    # What had come by then is counted, though no usage came.
    assert 50 < spent.usage["output_tokens"] < 2000
    assert spent.usage["input_tokens"] > 0


async def test_what_a_cancelled_call_had_been_sent_is_counted() -> None:
    arrived, loop = asyncio.Event(), asyncio.get_running_loop()
    service = OpenAIService(Scripted())

    def latency(request: Any, body: Any) -> float:
        loop.call_soon_threadsafe(arrived.set)
        return 60

    service.latency, spent = latency, meter()
    async with client_for(service) as client:
        task = asyncio.ensure_future(client.ask(CHAT, LONG, meter=spent))
        await arrived.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert spent.usage["input_tokens"] > 2000


class Counting(OpenAIService):
    """Count the requests under way at once; answer none before so many have come."""

    def __init__(self, expected: int) -> None:
        super().__init__(Scripted())
        self._expected, self._all_here = expected, asyncio.Event()
        self.now = self.most = 0

    async def respond(self, request: web.Request, handler: Any) -> web.StreamResponse:
        self.now += 1
        self.most = max(self.most, self.now)
        if self.now >= self._expected:
            self._all_here.set()
        await self._all_here.wait()
        try:
            return await super().respond(request, handler)
        finally:
            self.now -= 1


@pytest.mark.parametrize(("setting", "most"), [(None, 1), (0, 6), (2, 2)])
async def test_a_server_nearby_is_asked_one_thing_at_a_time_unless_told_otherwise(
    setting: int | None, most: int
) -> None:
    service = Counting(most)
    async with client_for(service, model_concurrency=setting) as client:
        calls = [answer(client, streamed=n % 2 == 0) for n in range(6)]
        await asyncio.gather(*calls)
    assert service.most == most


async def test_a_stream_that_is_cut_off_leaves_its_place_before_it_goes_on() -> None:
    service = OpenAIService(Scripted(ModelReply(text="abc " * 50), ModelReply(text="the rest")))
    service.fail_stream("no_finish", after=20)
    async with client_for(service, model_concurrency=1) as client:
        assert (await answer(client)).endswith("the rest")
        assert await answer(client, streamed=False)


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_refused_key_has_its_variable_and_ends_what_has_not_begun(streamed: bool) -> None:
    async with client_for(OpenAIService(Scripted(), key="another")) as client:
        with pytest.raises(KeyRefused) as caught:
            await answer(client, streamed=streamed)
    assert (caught.value.variable, caught.value.at_once) == ("OPENAI_API_KEY", True)


async def test_a_key_refused_after_something_had_come_is_a_failure_of_that_step() -> None:
    async with client_for(OpenAIService(Scripted(), key="another")) as client:
        spent = meter()
        spent.record(input_tokens=5, output_tokens=5)
        with pytest.raises(KeyRefused) as caught:
            await client.ask(CHAT, ASK, meter=spent)
    assert not caught.value.at_once


def test_the_table_has_every_form_that_a_step_asks_for_and_no_other() -> None:
    assert sorted(forms() ^ set(REPLY_TOKENS)) == []


def test_every_list_and_text_of_a_form_has_an_end() -> None:
    shape = with_ends(schema_of(Plan))
    assert shape["properties"]["queries"]["maxItems"] > 0
    assert shape["properties"]["queries"]["items"]["maxLength"] > 0


class Own(OpenAIService):
    """A server of one's own, as its list of models says."""

    async def _list(self, request: web.Request) -> web.StreamResponse:
        entry = {"id": "sample-chat", "object": "model", "owned_by": "llamacpp"}
        return web.json_response({"data": [entry]})


PLANNED = {"queries": [f"question number {n} about the metro" for n in range(12)]}


async def test_a_slow_reply_of_ones_own_server_is_waited_for_while_it_comes() -> None:
    speed = Speed(chunk_tokens=10, tokens_per_second=100)
    service = Own(Scripted(ModelReply(json=PLANNED)), speed=lambda turn: speed)
    async with client_for(service, model_timeout_seconds=0.5) as client:
        # The whole of it takes more than twice the limit, each piece a fifth.
        reply = await client.ask(CHAT, ASK, meter=meter(), schema=Plan)
    assert reply.parsed == Plan(**PLANNED)
    assert [body["stream"] for body in asked(service)] == [True]


async def test_a_form_that_goes_round_in_circles_is_ended_as_it_comes() -> None:
    text = '{"queries": [' + '"the second one", ' * 3000
    service = Own(Scripted(otherwise=ModelReply(text=text)))
    spent = meter()
    async with client_for(service) as client:
        with pytest.raises(MalformedReply) as caught:
            await client.ask(CHAT, ASK, meter=spent, schema=Plan)
    assert caught.value.code == "model_loop"
    assert len(asked(service)) == 1
    assert 100 < spent.usage["output_tokens"] < 1000


LOOPING = "the model.\n" * 3000


async def test_a_probe_bounds_what_it_asks_for_and_knows_a_model_that_writes_nothing() -> None:
    service = Own(Scripted(otherwise=ModelReply(text=LOOPING)))
    async with client_for(service) as client:
        seen = await probe(client, CHAT)
    assert (seen.error, seen.writes, seen.fills_forms, seen.calls_tools) == (
        None,
        False,
        False,
        False,
    )
    counting = asked(service)[0]
    assert (counting["max_tokens"], counting["stream"]) == (200, True)


async def test_a_reply_of_a_slow_server_nearby_is_no_longer_than_the_run_has_time_for() -> None:
    cut = ModelReply(text='{"queries": ["which metro', finish="MAX_TOKENS")
    service = Own(Scripted(ModelReply(text="Done."), cut, ModelReply(json={"queries": ["a"]})))
    async with client_for(service) as client:
        client.reply_sizes.measure(parse(CHAT), tokens=60, seconds=30)
        assert await answer(client, streamed=False)
        with pytest.raises(TimedOut) as caught:
            await client.ask(CHAT, ASK, meter=meter(), schema=Plan)
    assert (caught.value.setting, caught.value.begun) == ("MAX_RUN_SECONDS", True)
    # Asked again, it would have less time: two tokens a second, half of a minute is the least.
    assert [body["max_tokens"] for body in asked(service)] == [100, 100]


def test_the_time_of_a_reply_is_half_of_what_is_left_at_the_speed_that_was_seen() -> None:
    sizes, request = ReplySizes(characters=MOST), ModelRequest("m", ASK)
    name = parse(CHAT)
    unmeasured = sizes.of(name, request, left=lambda: 100.0)
    assert (unmeasured.tokens, unmeasured.hurried) == (4000, 0)
    sizes.measure(name, tokens=200, seconds=10)
    sizes.measure(name, tokens=5, seconds=10)
    size = sizes.of(name, request, left=lambda: 100.0)
    assert (size.tokens, size.hurried) == (1000, 50)
    assert sizes.of(name, request).tokens == 4000
    assert sizes.of(name, request, left=lambda: 10_000.0).tokens == 4000


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_call_that_the_run_has_no_time_for_is_not_begun(streamed: bool) -> None:
    service = Own(Scripted())
    async with client_for(service) as client:
        client.reply_sizes.measure(parse(CHAT), tokens=100, seconds=1)
        client.reply_sizes.measure_reading(parse(CHAT), tokens=100, seconds=5)
        client.reply_sizes.measure_reading(parse(CHAT), tokens=100, seconds=0.1)
        with pytest.raises(BudgetExceeded):
            await answer(client, LONG, streamed=streamed)
        assert asked(service) == []
        assert await answer(client, ASK, streamed=streamed)


async def test_tools_are_called_in_pieces_where_a_server_of_ones_own_can_do_so() -> None:
    call = ModelReply(calls=(FunctionCall("maps_geo", {"address": "故宫"}),))
    refuses = Rules(refuses=[(
        lambda body: bool(body.get("stream") and body.get("tools")), 500,
        "Cannot use tools with stream",
    )])  # fmt: skip
    for rules, streamed in ((None, [True]), (refuses, [True, False])):
        service = Own(Scripted(otherwise=call), rules=rules)
        async with client_for(service) as client:
            await client.window(CHAT)
            reply: Any = await client.ask(CHAT, ASK, meter=meter(), tools=[maps_geo])
            assert [c["name"] for c in reply.message.tool_calls] == ["maps_geo"]
        assert [body["stream"] for body in asked(service)] == streamed
