"""What real services do otherwise than the protocol says, each habit a row."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from aiohttp import web
from langchain_core.messages import AIMessage, SystemMessage, ToolMessage
from langchain_core.tools import BaseTool
from pydantic import BaseModel

from agent.core.errors import ProviderError
from agent.evidence.grounding import ground
from agent.models.types import Withdrawal
from agent.sample.model.request import FunctionCall, GroundedSentence, GroundingPage, ModelReply
from agent.sample.services.loopback import BODY, Service
from tests.support.meters import meter
from tests.support.scripted import ASK, Scripted, client_for, maps_geo
from tests.support.standin import Speed, Standin
from tests.support.standins import GeminiService, OpenAIService, Rules

pytest.importorskip("langchain_openai", reason="the extra openai is not installed")
CHAT, GEMINI = "openai:sample-chat", "google:gemini-3.5-flash-lite"
TOOLS: list[BaseTool] = [maps_geo]
CALL = ModelReply(calls=(FunctionCall("maps_geo", {"address": "故宫"}),))
SAID = "Sodium ions move."


class Plan(BaseModel):
    note: str = ""
    queries: list[str]


PLAN = {"queries": ["a"]}


async def told(client: Any, model: str = CHAT) -> str:
    """Return the text of a stream as it is stored."""
    text = ""
    async for piece in client.stream(model, ASK, meter=meter(), fallback=None):
        text = "" if isinstance(piece, Withdrawal) else text + piece
    return text


# Thoughts.


@pytest.mark.parametrize("kind", [OpenAIService, GeminiService])
@pytest.mark.parametrize(
    "thought", ["<think>hm [^w0-0]</think>\n\n", "Let me see {.\n</think>\n\n", "[THINK]x[/THINK]"]
)
async def test_thoughts_are_dropped_where_a_reply_enters(kind: Any, thought: str) -> None:
    service = kind(
        Scripted(otherwise=ModelReply(text=thought + SAID)),
        speed=lambda turn: Speed(chunk_tokens=1),
    )
    model = CHAT if kind is OpenAIService else GEMINI
    async with client_for(service) as client:
        assert await told(client, model) == SAID
        reply = await client.ask(model, ASK, meter=meter())
        assert (reply.text, reply.parts) == (SAID, (SAID,))
        assert str(reply.message.text) == SAID


async def test_nothing_of_a_thought_is_streamed_once_a_model_is_known_to_have_it_opened() -> None:
    thinking = ModelReply(text=f"Let me see. So.\n</think>\n{SAID}")
    service = OpenAIService(Scripted(otherwise=thinking), speed=lambda t: Speed(chunk_tokens=3))
    async with client_for(service) as client:
        first = [t async for t in client.stream(CHAT, ASK, meter=meter(), fallback=None)]
        assert any(isinstance(piece, Withdrawal) for piece in first)
        again = [t async for t in client.stream(CHAT, ASK, meter=meter(), fallback=None)]
    assert "".join(again) == SAID
    assert not any(isinstance(piece, Withdrawal) for piece in again)


async def test_a_whole_reply_teaches_what_a_stream_must_wait_for() -> None:
    service = OpenAIService(Scripted(otherwise=ModelReply(text=f"So.\n</think>\n{SAID}")))
    async with client_for(service) as client:
        assert (await client.ask(CHAT, ASK, meter=meter())).text == SAID
        pieces = [t async for t in client.stream(CHAT, ASK, meter=meter(), fallback=None)]
    assert "".join(pieces) == SAID
    assert not any(isinstance(piece, Withdrawal) for piece in pieces)


async def test_an_object_after_thoughts_with_braces_is_read() -> None:
    text = f'Try {{"queries": []}} first.\n</think>\n{json.dumps(PLAN)}'
    async with client_for(OpenAIService(Scripted(ModelReply(text=text)))) as client:
        reply = await client.ask(CHAT, ASK, meter=meter(), schema=Plan)
    assert reply.parsed == Plan(**PLAN)


def message_of(body: dict[str, Any]) -> dict[str, Any]:
    [choice] = body["choices"]
    shown: dict[str, Any] = choice.get("message") or choice["delta"]
    return shown


def in_parts(body: dict[str, Any]) -> dict[str, Any]:
    if body["choices"]:
        message = message_of(body)
        thought = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
        message["content"] = [thought, {"type": "text", "text": message.get("content") or ""}]
    return body


def beside(name: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    def shape(body: dict[str, Any]) -> dict[str, Any]:
        if body["choices"]:
            message_of(body)[name] = "hm"
        return body

    return shape


@pytest.mark.parametrize("shape", [in_parts, beside("reasoning_content"), beside("reasoning")])
async def test_thoughts_beside_the_text_are_no_text(shape: Any) -> None:
    service = OpenAIService(Scripted(otherwise=ModelReply(text=SAID)), rules=Rules(shapes=shape))
    async with client_for(service) as client:
        assert (await client.ask(CHAT, ASK, meter=meter())).text == SAID
        assert await told(client) == SAID


async def test_grounding_counts_in_the_parts_whatever_was_thought_before() -> None:
    page = GroundingPage("https://a.example/1", "A")
    thought, fact = (
        GroundedSentence("<think>嗯 [^w0-0]</think>\n\n"),
        GroundedSentence(SAID, (page,)),
    )
    answer = ModelReply(grounded=(thought, fact), queries=("q",))
    async with client_for(GeminiService(Scripted(answer))) as client:
        reply = await client.ask(GEMINI, ASK, meter=meter(), search=True)
    grounded = ground(reply.parts, reply.grounding, prefix="w0", provider="google")
    assert grounded.text.strip() == f"{SAID}[^w0-0]"


# Ends.


def ended(reason: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
    def shape(body: dict[str, Any]) -> dict[str, Any]:
        for choice in body["choices"]:
            if choice.get("finish_reason") or "message" in choice:
                if reason is ...:
                    del choice["finish_reason"]
                else:
                    choice["finish_reason"] = reason
        return body

    return shape


@pytest.mark.parametrize(
    "reason", [None, "", ..., "end_turn", "stop_sequence", "eos", "STOP", "COMPLETE", "stop_token"]
)
async def test_a_whole_reply_is_whole_whatever_its_service_calls_the_end(reason: Any) -> None:
    llm = Scripted(ModelReply(json=PLAN), ModelReply(text=SAID), ModelReply(text="a | b"))
    async with client_for(OpenAIService(llm, rules=Rules(shapes=ended(reason)))) as client:
        assert (await client.ask(CHAT, ASK, meter=meter(), schema=Plan)).parsed == Plan(**PLAN)
        assert not (await client.ask(CHAT, ASK, meter=meter())).truncated
        assert await told(client) == "a | b"
    assert len(llm.turns) == 3


@pytest.mark.parametrize("reason", ["length", "max_tokens", "MAX_TOKENS", "model_length"])
async def test_an_object_that_is_whole_at_the_limit_is_taken(reason: str) -> None:
    llm = Scripted(ModelReply(json=PLAN), ModelReply(text='{"queries": ["a'), ModelReply(json=PLAN))
    async with client_for(OpenAIService(llm, rules=Rules(shapes=ended(reason)))) as client:
        for _ in range(2):
            reply = await client.ask(CHAT, ASK, meter=meter(), schema=Plan)
            assert reply.parsed == Plan(**PLAN)
            assert not reply.truncated
    assert len(llm.turns) == 3


@pytest.mark.parametrize("reason", ["OTHER", "FINISH_REASON_UNSPECIFIED", "STOP"])
async def test_a_whole_reply_of_gemini_is_whole(reason: str) -> None:
    llm = Scripted(
        ModelReply(json=PLAN, finish=reason), otherwise=ModelReply(text=SAID, finish=reason)
    )
    async with client_for(GeminiService(llm)) as client:
        assert (await client.ask(GEMINI, ASK, meter=meter(), schema=Plan)).parsed == Plan(**PLAN)
        assert await told(client, GEMINI) == SAID
    assert len(llm.turns) == 2


# Calls of tools.


def calls(change: Callable[[dict[str, Any]], None]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    def shape(body: dict[str, Any]) -> dict[str, Any]:
        for choice in body["choices"]:
            for call in (choice.get("message") or choice["delta"]).get("tool_calls") or ():
                change(call)
        return body

    return shape


def arguments(value: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return calls(lambda call: call["function"].update(arguments=value))


ARGS = {"address": "故宫"}


@pytest.mark.parametrize(
    ("value", "args"),
    [
        (ARGS, ARGS),
        (json.dumps(json.dumps(ARGS)), ARGS),
        ([ARGS], ARGS),
        ('{"address": "故宫",}', ARGS),
        (None, {}),
        ("", {}),
        ("null", {}),
    ],
)
async def test_arguments_are_read_in_any_shape(value: Any, args: dict[str, Any]) -> None:
    service = OpenAIService(Scripted(CALL), rules=Rules(shapes=arguments(value)))
    async with client_for(service) as client:
        reply = await client.ask(CHAT, ASK, meter=meter(), tools=TOOLS)
    assert [call["args"] for call in reply.message.tool_calls] == [args]


@pytest.mark.parametrize("id", [None, "", "same", ...])
async def test_an_id_that_is_missing_or_taken_is_made_up_on_both_sides(id: Any) -> None:
    def change(call: dict[str, Any]) -> None:
        call.pop("id") if id is ... else call.update(id=id)

    two = ModelReply(calls=CALL.calls * 2)
    llm = Scripted(two, two, ModelReply(text=SAID))
    service = OpenAIService(llm, rules=Rules(shapes=calls(change)))
    messages, ids = [*ASK], list[str | None]()
    async with client_for(service) as client:
        for _ in range(2):
            reply = await client.ask(CHAT, messages, meter=meter(), tools=TOOLS)
            ids += [call["id"] for call in reply.message.tool_calls]
            results = [ToolMessage("1,2", tool_call_id=str(name)) for name in ids[-2:]]
            messages = [*messages, reply.message, *results]
        assert (await client.ask(CHAT, messages, meter=meter(), tools=TOOLS)).text == SAID
    assert len(set(ids)) == 4
    assert all(ids)
    wire = service.requests[-1].body["messages"]
    sent = [call["id"] for message in wire for call in message.get("tool_calls") or ()]
    assert sent == ids == [m["tool_call_id"] for m in wire if m["role"] == "tool"]


class Chunks(Standin, Service):
    """Send these chunks to who asks for a stream, which is all it does."""

    def __init__(self, *chunks: dict[str, Any]) -> None:
        super().__init__("chunks")
        self._chunks = chunks
        self.app.router.add_post("/v1/chat/completions", self._answer)

    async def _answer(self, request: web.Request) -> web.Response:
        if not request[BODY].get("stream"):
            return web.json_response({"message": "only supports stream mode"}, status=400)
        text = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in self._chunks)
        return web.Response(text=f"{text}data: [DONE]\n\n", content_type="text/event-stream")


def called(**function: str) -> dict[str, Any]:
    """Return a chunk with a piece of the call of a tool."""
    call = {"index": 0, "id": "call-1", "type": "function", "function": function}
    return {"id": "1", "choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}


async def test_a_name_that_comes_with_every_piece_of_a_call_is_one_name() -> None:
    begin, end = '{"address', '": "故宫"}'
    service = Chunks(*(called(name="maps_geo", arguments=piece) for piece in (begin, end)))
    async with client_for(service) as client:
        reply = await client.ask(CHAT, ASK, meter=meter(), tools=TOOLS)
    [call] = reply.message.tool_calls
    assert (call["name"], call["args"]) == ("maps_geo", ARGS)


@pytest.mark.parametrize(
    "failure",
    [
        {"object": "error", "message": "Insufficient balance", "code": 402},
        {"choices": None, "base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}},
    ],
)
async def test_a_failure_in_place_of_a_chunk_is_named(failure: dict[str, Any]) -> None:
    async with client_for(Chunks(failure)) as client:
        with pytest.raises(ProviderError) as caught:
            await told(client)
    assert caught.value.code == "model_quota"


OBJECT = '{"name": "maps_geo", "arguments": {"address": "故宫"}}'


@pytest.mark.parametrize(
    "text",
    [
        f"<tool_call>\n{OBJECT}\n</tool_call>",
        f"Let me look.\n```json\n{OBJECT}\n```",
        f"[TOOL_CALLS][{OBJECT}]",
        OBJECT.replace("arguments", "parameters"),
        json.dumps(
            {"tool_calls": [{"function": {"name": "maps_geo", "arguments": '{"address": "故宫"}'}}]}
        ),
        '<function=maps_geo>{"address": "故宫"}</function>',
        "<function=maps_geo>\n<parameter=address>\n故宫\n</parameter>\n</function>",
        '<invoke name="maps_geo"><parameter name="address">故宫</parameter></invoke>',
        "<tool_call>maps_geo\n<arg_key>address</arg_key>\n<arg_value>故宫</arg_value>\n</tool_call>",
        '<｜tool▁call▁begin｜>function<｜tool▁sep｜>maps_geo\n```json\n{"address": "故宫"}\n```',
        f"<think>maps_geo it is</think><tool_call>{OBJECT}</tool_call>",
    ],
)
async def test_a_call_that_comes_as_text_is_a_call(text: str) -> None:
    async with client_for(OpenAIService(Scripted(ModelReply(text=text)))) as client:
        spent = meter()
        reply = await client.ask(CHAT, ASK, meter=spent, tools=TOOLS)
    [call] = reply.message.tool_calls
    assert (call["name"], call["args"]) == ("maps_geo", ARGS)
    assert call["id"]
    assert reply.text in ("", "Let me look.")
    assert not spent.budget.remarks


async def test_a_call_as_text_that_cannot_be_read_is_remarked() -> None:
    text = "<tool_call>\nmaps_geo of the palace\n</tool_call>"
    async with client_for(OpenAIService(Scripted(ModelReply(text=text)))) as client:
        spent = meter()
        reply = await client.ask(CHAT, ASK, meter=spent, tools=TOOLS)
    assert reply.no_tools
    assert spent.budget.remarks["model_no_tools"] == 1


async def test_an_object_that_is_no_call_is_text() -> None:
    text = 'maps_geo gave {"lng": 116.4}.'
    async with client_for(OpenAIService(Scripted(ModelReply(text=text)))) as client:
        reply = await client.ask(CHAT, ASK, meter=meter(), tools=TOOLS)
    assert (reply.text, reply.message.tool_calls) == (text, [])


# Refusals.


def has(*path: str) -> Callable[[Any], bool]:
    def is_there(body: Any) -> bool:
        for name in path:
            if not isinstance(body, dict) or name not in body:
                return False
            body = body[name]
        return bool(body)

    return is_there


def whole(body: Any) -> bool:
    return not body.get("stream")


def instructed(body: Any) -> bool:
    return any(message["role"] in ("system", "developer") for message in body["messages"])


def formatted(kind: str) -> Callable[[Any], bool]:
    return lambda body: (body.get("response_format") or {}).get("type") == kind


REFUSALS: list[tuple[Callable[[Any], bool], int, str]] = [
    (whole, 400, "This model only support stream mode, please enable the stream parameter"),
    (whole, 400, "parameter.enable_thinking must be set to false for non-streaming calls"),
    (whole, 422, "stream: must be true"),
    (has("stream_options"), 400, "Unrecognized request argument supplied: stream_options"),
    (has("stream_options"), 422, "('body', 'stream_options') Extra inputs are not permitted"),
    (instructed, 400, "System role not supported"),
    (instructed, 400, "Developer instruction is not enabled for this model"),
    (instructed, 500, "Conversation roles must alternate user/assistant/user/assistant"),
    (has("tools"), 500, "tools param requires --jinja flag"),
    (has("tools"), 400, "registry/gemma:2b does not support tools"),
    (has("tools"), 404, "No endpoints found that support tool use"),
    (has("tools"), 400, '"auto" tool choice requires --enable-auto-tool-choice'),
    (formatted("json_object"), 400, "response_format.type json_object is not supported"),
    (formatted("json_object"), 400, "JSON mode is not supported when enable_thinking is true"),
    (formatted("json_object"), 400, "odd"),
    (has("enable_thinking"), 400, "Unknown parameter: 'enable_thinking'."),
    (has("temperature"), 400, "Unsupported value: 'temperature' does not support 0.2"),
]


@pytest.mark.parametrize("row", REFUSALS, ids=lambda row: row[2])
async def test_what_is_refused_is_left_out_once_and_for_the_process(row: Any) -> None:
    llm = Scripted(otherwise=ModelReply(json=PLAN))
    service = OpenAIService(llm, rules=Rules(refuses=(row,)))
    extra = {"enable_thinking": True, "temperature": 0.2}
    async with client_for(service, openai_extra_body=extra) as client:
        for _ in range(2):
            reply = await client.ask(CHAT, ASK, meter=meter(), schema=Plan)
            assert reply.parsed == Plan(**PLAN)
            await client.ask(CHAT, ASK, meter=meter(), tools=TOOLS)
            assert await told(client) == json.dumps(PLAN)
    refused = [r for r in service.requests if r.method == "POST" and row[0](r.body)]
    assert len(refused) == 1, "it is tried once"


async def test_thoughts_that_a_service_refuses_to_have_back_are_left_out() -> None:
    def sends_back(body: Any) -> bool:
        return any("reasoning_content" in message for message in body["messages"])

    words = "messages.2: property 'reasoning_content' is unsupported"
    rules = Rules(shapes=beside("reasoning_content"), refuses=((sends_back, 400, words),))
    service = OpenAIService(Scripted(CALL, otherwise=ModelReply(text=SAID)), rules=rules)
    async with client_for(service) as client:
        first = await client.ask(CHAT, ASK, meter=meter(), tools=TOOLS)
        result = ToolMessage("1,2", tool_call_id=str(first.message.tool_calls[0]["id"]))
        for _ in range(2):
            messages = [*ASK, first.message, result]
            assert (await client.ask(CHAT, messages, meter=meter(), tools=TOOLS)).text == SAID
    assert sum(sends_back(r.body) for r in service.requests if r.method == "POST") == 1


async def test_several_refusals_are_adapted_to_one_after_another() -> None:
    rows = (REFUSALS[0], REFUSALS[3], REFUSALS[5], REFUSALS[8])
    service = OpenAIService(Scripted(otherwise=ModelReply(text=SAID)), rules=Rules(refuses=rows))
    async with client_for(service) as client:
        reply = await client.ask(CHAT, ASK, meter=meter(), tools=TOOLS)
    assert reply.text == SAID
    [only] = service.requests[-1].body["messages"]
    assert only["role"] == "user"
    assert str(ASK[0].text) in only["content"]
    assert str(ASK[1].text) in only["content"]


async def test_calls_come_from_a_service_that_only_streams() -> None:
    service = OpenAIService(Scripted(otherwise=CALL), rules=Rules(refuses=(REFUSALS[0],)))
    async with client_for(service) as client:
        reply = await client.ask(CHAT, ASK, meter=meter(), tools=TOOLS)
    assert [call["args"] for call in reply.message.tool_calls] == [ARGS]


async def test_a_service_without_tools_is_shown_past_calls_as_turns_and_the_run_says_so() -> None:
    service = OpenAIService(Scripted(), rules=Rules(refuses=(REFUSALS[8],)))
    call: Any = {"name": "maps_geo", "args": ARGS, "id": "c1", "type": "tool_call"}
    past = [AIMessage("", tool_calls=[call]), ToolMessage("116.4,39.9", tool_call_id="c1")]
    async with client_for(service) as client:
        spent = meter()
        reply = await client.ask(CHAT, [*ASK, *past], meter=spent, tools=TOOLS)
    assert reply.no_tools
    assert spent.budget.remarks["model_no_tools"] == 1
    wire = service.requests[-1].body
    assert [message["role"] for message in wire["messages"]] == ["system", "user"]
    assert "116.4,39.9" in wire["messages"][1]["content"]
    assert "tools" not in wire


@pytest.mark.parametrize(
    "words", ["tool_call_id c9 is not known", "The system is unavailable", "Content Exists Risk"]
)
async def test_a_refusal_of_another_kind_leaves_nothing_out(words: str) -> None:
    service = OpenAIService(Scripted())
    service.fail("status", status=400, body={"error": {"message": words}}, times=None)
    async with client_for(service) as client:
        with pytest.raises(ProviderError):
            await client.ask(CHAT, ASK, meter=meter(), tools=TOOLS)
    assert len(service.requests) == 1


GEMMA = [
    ("systemInstruction", "Developer instruction is not enabled for models/gemma-3-27b-it"),
    ("tools", "Function calling is not enabled for models/gemma-3-27b-it"),
    ("generationConfig.responseMimeType", "JSON mode is not enabled for models/gemma-3-27b-it"),
    ("generationConfig.thinkingConfig", "Thinking level is not supported for this model."),
]


@pytest.mark.parametrize(("field", "words"), GEMMA)
async def test_what_gemini_refuses_is_left_out_too(field: str, words: str) -> None:
    service = GeminiService(Scripted(otherwise=ModelReply(json=PLAN)))
    is_there = has(*field.split("."))
    service.fail(
        "status",
        status=400,
        match=lambda request, body: is_there(body),
        body={"error": {"code": 400, "message": words, "status": "INVALID_ARGUMENT"}},
        times=None,
    )
    async with client_for(service) as client:
        for _ in range(2):
            reply = await client.ask(GEMINI, ASK, meter=meter(), schema=Plan, thinking="low")
            assert reply.parsed == Plan(**PLAN)
            await client.ask(GEMINI, ASK, meter=meter(), tools=TOOLS, thinking="low")
    assert sum(is_there(request.body) for request in service.requests) == 1


# Tokens.


def counted(where: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Return what counts the tokens so far: in every chunk, or in the choice that ends."""

    def shape(body: dict[str, Any]) -> dict[str, Any]:
        counts = {"prompt_tokens": 1000, "completion_tokens": 7, "total_tokens": 1007}
        if where == "chunk":
            return {**body, "usage": counts}
        body.pop("usage", None)
        for choice in body["choices"]:
            if choice.get("finish_reason"):
                choice["usage"] = counts
        return body

    return shape


@pytest.mark.parametrize("where", ["chunk", "choice"])
async def test_tokens_that_are_told_again_and_again_are_counted_once(where: str) -> None:
    rules = Rules(shapes=counted(where), refuses=((whole, 400, "only support stream mode"),))
    llm, pieces = Scripted(otherwise=ModelReply(text=SAID)), Speed(chunk_tokens=3)
    service = OpenAIService(llm, rules=rules, speed=lambda turn: pieces)
    async with client_for(service) as client:
        for streamed in (True, False):
            spent = meter()
            stream = client.stream(CHAT, ASK, meter=spent, fallback=None)
            said = "".join([text async for text in stream]) if streamed else ""
            said = said or (await client.ask(CHAT, ASK, meter=spent)).text
            assert said == SAID
            assert (spent.usage["input_tokens"], spent.usage["output_tokens"]) == (1000, 7)


# Servers of one's own.


@pytest.mark.parametrize("owner", ["llamacpp", "vllm", "library", "organization_owner"])
async def test_a_server_of_ones_own_gets_the_schema_as_a_grammar(owner: str) -> None:
    service = OpenAIService(Scripted(otherwise=ModelReply(json=PLAN)), rules=Rules(owner=owner))
    async with client_for(service) as client:
        for _ in range(2):
            reply = await client.ask(CHAT, ASK, meter=meter(), schema=Plan)
            assert reply.parsed == Plan(**PLAN)
    lists = [request for request in service.requests if request.method == "GET"]
    assert len(lists) == 1, "it is asked once"
    body = service.requests[-1].body
    shape = body["response_format"]["json_schema"]["schema"]
    assert shape["required"] == ["note", "queries"], "a grammar keeps the order of required fields"
    assert "schema" not in body["messages"][0]["content"]


async def test_a_server_of_ones_own_that_refuses_schemas_gets_them_in_words() -> None:
    rules = Rules(owner="vllm", no_json_schema=True)
    service = OpenAIService(Scripted(otherwise=ModelReply(json=PLAN)), rules=rules)
    async with client_for(service) as client:
        assert (await client.ask(CHAT, ASK, meter=meter(), schema=Plan)).parsed == Plan(**PLAN)
    assert service.requests[-1].body["response_format"] == {"type": "json_object"}


# Echoes.


async def test_an_echo_of_the_prompt_is_dropped_and_remarked() -> None:
    asked = [SystemMessage("You answer the questions of the readers of this page."), *ASK[1:]]
    llm = Scripted(otherwise=ModelReply(text=f"{asked[0].text}\n{SAID}"))
    async with client_for(OpenAIService(llm)) as client:
        spent = meter()
        assert (await client.ask(CHAT, asked, meter=spent)).text == SAID
        text = [t async for t in client.stream(CHAT, asked, meter=spent, fallback=None)]
    assert "".join(text) == SAID
    assert spent.budget.remarks["model_weak"] == 2


async def test_a_reply_that_only_repeats_the_prompt_is_empty() -> None:
    llm = Scripted(
        otherwise=ModelReply(text="You answer the questions of the readers of this page.")
    )
    asked = [SystemMessage("You answer the questions of the readers of this page."), *ASK[1:]]
    async with client_for(OpenAIService(llm)) as client:
        with pytest.raises(ProviderError) as caught:
            await client.ask(CHAT, asked, meter=meter())
    assert caught.value.code == "model_empty"


async def test_a_stream_that_breaks_off_amid_a_sentence_is_continued_without_a_done() -> None:
    llm = Scripted(ModelReply(text="abcdefghij" * 9), ModelReply(text=" (the rest)."))
    service = OpenAIService(llm, speed=lambda turn: Speed(chunk_tokens=5))
    service.fail_stream("no_finish", after=20)
    async with client_for(service) as client:
        assert (await told(client)).endswith(" (the rest).")
