"""A loopback OpenAI-compatible endpoint: chat completions (plain and SSE) and models."""

import itertools
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from agent.models.validation import SCHEMA_INTRO
from agent.sample.gemini_wire import tokens
from agent.sample.model.request import Answer, Brain, FunctionCall, Past, Tool, ToolResult, Turn
from agent.sample.service import BODY, FaultyEvent, Speed, StreamingService, go_wrong, send_pieces

_FINISHES = {"STOP": "stop", "MAX_TOKENS": "length", "SAFETY": "content_filter"}


@dataclass(frozen=True)
class Rules:
    """What an endpoint of this kind refuses, switched on one by one."""

    no_json_schema: bool = False
    no_json_object: bool = False
    no_forced_tool: bool = False
    json_word: bool = True
    """JSON mode wants the word JSON in the messages."""
    reasoning_back: bool = False
    """It thinks, and wants its thoughts back in a tool loop."""


class Refused(Exception):
    def __init__(self, message: str, status: int = 400, code: str | None = None) -> None:
        super().__init__(message)
        self.message, self.status, self.code = message, status, code


class OpenAIService(StreamingService):
    """OpenAI's protocol in front of a Brain; mounted at /v1.

    `key` None accepts anyone, `models` None every name.
    """

    def __init__(
        self,
        brain: Brain,
        *,
        key: str | None = None,
        models: Iterable[str] | None = ("sample-chat",),
        rules: Rules | None = None,
        speed: Callable[[Turn], Speed] | None = None,
    ) -> None:
        super().__init__("openai", speed=speed)
        self.brain, self.key = brain, key
        self.models = None if models is None else frozenset(models)
        self.rules = rules or Rules()
        self._ids = itertools.count(1)
        self.app.router.add_get("/v1/models", self._list)
        self.app.router.add_post("/v1/chat/completions", self._complete)

    async def _list(self, request: web.Request) -> web.StreamResponse:
        try:
            self._check_key(request)
        except Refused as error:
            return _refuse(error)
        listed = [{"id": name, "object": "model"} for name in sorted(self.models or ())]
        return web.json_response({"object": "list", "data": listed})

    def _check_key(self, request: web.Request) -> None:
        if self.key and request.headers.get("Authorization") != f"Bearer {self.key}":
            raise Refused("Incorrect API key provided", 401, "invalid_api_key")

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        body = request[BODY]
        try:
            self._check_key(request)
            _check(body, self.rules)
            if self.models is not None and body["model"] not in self.models:
                raise Refused(f"The model {body['model']} does not exist", 404, "model_not_found")
        except Refused as error:
            return _refuse(error)
        turn = read(body)
        answer = self.brain.respond(turn)
        message = write(answer, self._ids, thinks=self.rules.reasoning_back)
        finish = "tool_calls" if answer.calls else _FINISHES.get(answer.finish, "stop")
        if body.get("stream"):
            return await self._stream(request, turn, message, finish)
        choices = [{"index": 0, "message": message, "finish_reason": finish}]
        if answer.finish == "NONE":
            choices = []
        return web.json_response(
            _envelope(body, "chat.completion")
            | {"choices": choices, "usage": _usage(body, message)}
        )

    async def _stream(
        self, request: web.Request, turn: Turn, message: Mapping[str, Any], finish: str
    ) -> web.StreamResponse:
        body, speed = request[BODY], self.speed(turn)
        response = await self._open_stream(request, speed)
        fault = self._stream_fault(turn)

        async def send(text: str) -> None:
            await _event(response, _chunk(body, {"role": "assistant", "content": text}))

        async def send_fault(kind: FaultyEvent) -> None:
            await _event(response, _fault(body, kind))

        pieces = _pieces(message.get("content") or "", speed.chunk_tokens)
        await send_pieces(pieces, speed, fault, send)
        if fault:
            await go_wrong(request, fault, send_fault)
        else:
            await _event(response, _chunk(body, {}, finish))
            usage = {"choices": [], "usage": _usage(body, message)}
            await _event(response, _envelope(body, "chat.completion.chunk") | usage)
            await response.write(b"data: [DONE]\n\n")
        await response.write_eof()
        return response


def _check(body: Any, rules: Rules) -> None:
    if not isinstance(body, Mapping) or not body.get("messages"):
        raise Refused("messages is required")
    messages = body["messages"]
    kind = (body.get("response_format") or {}).get("type")
    if (kind == "json_schema" and rules.no_json_schema) or (
        kind == "json_object" and rules.no_json_object
    ):
        raise Refused("This response_format type is unavailable now")
    said = " ".join(str(message.get("content")) for message in messages).lower()
    if kind == "json_object" and rules.json_word and "json" not in said:
        raise Refused("Prompt must contain the word 'json' to use 'response_format' json_object")
    if rules.no_forced_tool and body.get("tool_choice") not in (None, "auto", "none"):
        raise Refused("tool_choice is not supported while thinking")
    called: set[str] = set()
    for message in messages:
        calls = message.get("tool_calls") or []
        if calls and rules.reasoning_back and not message.get("reasoning_content"):
            raise Refused("The reasoning_content in the thinking mode must be passed back")
        called |= {call["id"] for call in calls}
        if message["role"] == "tool" and message.get("tool_call_id") not in called:
            raise Refused("A tool message must answer a tool call")


def read(body: Mapping[str, Any]) -> Turn:
    """The request as a Turn; a schema told in words is read back from the system message."""
    messages = body["messages"]
    system = "\n\n".join(_text(m) for m in messages if m["role"] == "system")
    asked = max((i for i, m in enumerate(messages) if m["role"] == "user"), default=-1)
    names = {c["id"]: c["function"]["name"] for m in messages for c in m.get("tool_calls") or ()}
    spoken = [
        m for i, m in enumerate(messages) if i != asked and m["role"] in ("user", "assistant")
    ]
    return Turn(
        system=system,
        user=_text(messages[asked]) if asked >= 0 else "",
        history=tuple(_past(m) for m in spoken),
        tools=tuple(_tool(t["function"]) for t in body.get("tools") or ()),
        tool_results=tuple(
            ToolResult(names.get(m["tool_call_id"], ""), _text(m), m["tool_call_id"])
            for m in messages[asked + 1 :]
            if m["role"] == "tool"
        ),
        schema=_schema(body, system),
        model=body["model"],
    )


def _schema(body: Mapping[str, Any], system: str) -> dict[str, Any] | None:
    wanted = body.get("response_format") or {}
    if wanted.get("type") == "json_schema":
        return dict(wanted["json_schema"]["schema"])
    if SCHEMA_INTRO in system:
        told, _ = json.JSONDecoder().raw_decode(system.split(SCHEMA_INTRO)[1].lstrip())
        return dict(told)
    return {} if wanted.get("type") == "json_object" else None


def _past(message: Mapping[str, Any]) -> Past:
    calls = tuple(
        FunctionCall(c["function"]["name"], json.loads(c["function"]["arguments"]), c["id"])
        for c in message.get("tool_calls") or ()
    )
    return Past("model" if message["role"] == "assistant" else "user", _text(message), calls)


def _tool(function: Mapping[str, Any]) -> Tool:
    return Tool(function["name"], function.get("description", ""), function.get("parameters", {}))


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "".join(block.get("text", "") for block in content)


def write(answer: Answer, ids: "itertools.count[int]", *, thinks: bool) -> dict[str, Any]:
    """The answer as an assistant message."""
    text = answer.text
    if answer.grounded is not None:
        text = "".join(sentence.text for sentence in answer.grounded)
    elif answer.json is not None:
        text = json.dumps(answer.json, ensure_ascii=False)
    message: dict[str, Any] = {"role": "assistant", "content": text or ""}
    if thinks:
        message["reasoning_content"] = "thinking about it"
    if answer.calls:
        message["tool_calls"] = [
            {
                "id": call.id or f"call-{next(ids)}",
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(call.args)},
            }
            for call in answer.calls
        ]
    return message


def _envelope(body: Mapping[str, Any], kind: str) -> dict[str, Any]:
    return {"id": "chat-1", "object": kind, "created": 0, "model": body["model"]}


def _chunk(
    body: Mapping[str, Any], delta: Mapping[str, Any], finish: str | None = None
) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return _envelope(body, "chat.completion.chunk") | {"choices": [choice]}


def _pieces(text: str, size: int) -> list[str]:
    """Text in chunks of `size` characters."""
    return [text[start : start + size] for start in range(0, len(text), size)]


def _fault(body: Mapping[str, Any], kind: FaultyEvent) -> dict[str, Any]:
    if kind == "error":
        return {"error": {"message": "overloaded", "code": 503}}
    return _chunk(body, {}, _FINISHES[kind.upper()])


def _usage(body: Mapping[str, Any], message: Mapping[str, Any]) -> dict[str, int]:
    asked, said = tokens(dict(body)), tokens(dict(message))
    return {"prompt_tokens": asked, "completion_tokens": said, "total_tokens": asked + said}


async def _event(response: web.StreamResponse, body: Mapping[str, Any]) -> None:
    await response.write(f"data: {json.dumps(body)}\n\n".encode())


def _refuse(error: Refused) -> web.Response:
    body = {"message": error.message, "type": "invalid_request_error", "code": error.code}
    return web.json_response({"error": body}, status=error.status)
