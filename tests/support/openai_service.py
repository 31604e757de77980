"""Speak an OpenAI-compatible protocol on loopback: chat completions (plain and SSE), models."""

import itertools
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from aiohttp import web

from agent.models.validation import SCHEMA_INTRO
from agent.sample.model.request import (
    FunctionCall,
    Model,
    ModelReply,
    ModelTurn,
    PastMessage,
    Tool,
    ToolResult,
)
from agent.sample.services.gemini import tokens
from agent.sample.services.loopback import (
    BODY,
    RefusedRequest,
    StreamingService,
    check_bearer,
)

FINISHES = {"STOP": "stop", "MAX_TOKENS": "length", "SAFETY": "content_filter"}


class OpenAIService(StreamingService):
    """Speak OpenAI's protocol for a model; mounted at /v1.

    `key` None accepts anyone, `models` None every name.
    """

    def __init__(
        self,
        model: Model,
        *,
        key: str | None = None,
        models: Iterable[str] | None = ("sample-chat",),
    ) -> None:
        super().__init__("openai")
        self.model, self.key = model, key
        self.models = None if models is None else frozenset(models)
        self._ids = itertools.count(1)
        self.app.router.add_get("/v1/models", self._list)
        self.app.router.add_post("/v1/chat/completions", self._complete)

    def refusal(self, error: RefusedRequest) -> Any:
        body = {"message": error.message, "type": "invalid_request_error", "code": error.reason}
        return {"error": body}

    async def _list(self, request: web.Request) -> web.StreamResponse:
        self._check_key(request)
        models = [self.listed(name) for name in sorted(self.models or ())]
        return web.json_response({"object": "list", "data": models})

    def listed(self, name: str) -> dict[str, Any]:
        """Return a model as the list has it."""
        return {"id": name, "object": "model"}

    def _check_key(self, request: web.Request) -> None:
        check_bearer(request, self.key, "Incorrect API key provided", "invalid_api_key")

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        body = request[BODY]
        self._check_key(request)
        self.check(body)
        if self.models is not None and body["model"] not in self.models:
            message = f"The model {body['model']} does not exist"
            raise RefusedRequest(message, 404, "model_not_found")
        answer = self.model.respond(_turn(body))
        reply = OpenAIReply(body, self.write(answer), answer, self.shape)
        if body.get("stream"):
            return await self.stream(request, reply)
        return web.json_response(reply.whole())

    def check(self, body: Any) -> None:
        """Refuse a request that asks nothing."""
        if not isinstance(body, Mapping) or not body.get("messages"):
            raise RefusedRequest("messages is required")

    def write(self, answer: ModelReply) -> dict[str, Any]:
        """Return the answer as an assistant message."""
        text = answer.text
        if answer.grounded is not None:
            text = "".join(sentence.text for sentence in answer.grounded)
        elif answer.json is not None:
            text = json.dumps(answer.json, ensure_ascii=False)
        message: dict[str, Any] = {"role": "assistant", "content": text or ""}
        if answer.calls:
            message["tool_calls"] = [self._call(call) for call in answer.calls]
        return message

    def _call(self, call: FunctionCall) -> dict[str, Any]:
        function = {"name": call.name, "arguments": json.dumps(call.args)}
        return {
            "id": call.id or f"call-{next(self._ids)}",
            "type": "function",
            "function": function,
        }

    def shape(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return a reply's body, or a chunk's, as it is sent."""
        return body


class OpenAIReply:
    """Write one answer as a whole or in chunks."""

    def __init__(
        self,
        body: Mapping[str, Any],
        message: Mapping[str, Any],
        answer: ModelReply,
        shape: Callable[[dict[str, Any]], dict[str, Any]],
    ) -> None:
        self.body, self._message, self._shape = body, message, shape
        finish = FINISHES.get(answer.finish, "stop")
        self._finish = "tool_calls" if answer.calls else finish
        self._empty = answer.finish == "NONE"

    def whole(self) -> dict[str, Any]:
        choice = {"index": 0, "message": self._message, "finish_reason": self._finish}
        reply = {"choices": [] if self._empty else [choice]}
        return self._shape(_envelope(self.body, "chat.completion") | reply | self._usage())

    def pieces(self, chunk_tokens: int) -> Iterable[str]:
        text = self._message.get("content") or ""
        return [text[at : at + chunk_tokens] for at in range(0, len(text), chunk_tokens)]

    def event(self, piece: str) -> bytes:
        return sse(self._shape(chunk(self.body, {"role": "assistant", "content": piece})))

    def end(self) -> Iterable[bytes]:
        delta = {k: v for k, v in self._message.items() if k == "tool_calls"}
        yield sse(self._shape(chunk(self.body, delta, self._finish)))
        usage = {"choices": []} | self._usage()
        yield sse(self._shape(_envelope(self.body, "chat.completion.chunk") | usage))
        yield b"data: [DONE]\n\n"

    def _usage(self) -> dict[str, Any]:
        prompt, completion = tokens(dict(self.body)), tokens(dict(self._message))
        counts = {"prompt_tokens": prompt, "completion_tokens": completion}
        return {"usage": counts | {"total_tokens": prompt + completion}}


def _turn(body: Mapping[str, Any]) -> ModelTurn:
    """Return what a request asks; a schema told in words is read from the system message."""
    messages = body["messages"]
    system = "\n\n".join(_text(m) for m in messages if m["role"] == "system")
    last = max((i for i, m in enumerate(messages) if m["role"] == "user"), default=-1)
    names = {c["id"]: c["function"]["name"] for m in messages for c in m.get("tool_calls") or ()}
    messages_before = [
        m for i, m in enumerate(messages) if i != last and m["role"] in ("user", "assistant")
    ]
    return ModelTurn(
        system=system,
        user=_text(messages[last]) if last >= 0 else "",
        history=tuple(_past(m) for m in messages_before),
        tools=tuple(_tool(t["function"]) for t in body.get("tools") or ()),
        tool_results=tuple(
            ToolResult(names.get(m["tool_call_id"], ""), _text(m), m["tool_call_id"])
            for m in messages[last + 1 :]
            if m["role"] == "tool"
        ),
        schema=_schema(body, system),
        model=body["model"],
    )


def _schema(body: Mapping[str, Any], system: str) -> dict[str, Any] | None:
    response_format = body.get("response_format") or {}
    if response_format.get("type") == "json_schema":
        return dict(response_format["json_schema"]["schema"])
    if SCHEMA_INTRO in system:
        schema, _ = json.JSONDecoder().raw_decode(system.split(SCHEMA_INTRO)[1].lstrip())
        return dict(schema)
    return {} if response_format.get("type") == "json_object" else None


def _past(message: Mapping[str, Any]) -> PastMessage:
    calls = tuple(
        FunctionCall(c["function"]["name"], json.loads(c["function"]["arguments"]), c["id"])
        for c in message.get("tool_calls") or ()
    )
    return PastMessage("model" if message["role"] == "assistant" else "user", _text(message), calls)


def _tool(function: Mapping[str, Any]) -> Tool:
    return Tool(function["name"], function.get("description", ""), function.get("parameters", {}))


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "".join(block.get("text", "") for block in content)


def _envelope(body: Mapping[str, Any], kind: str) -> dict[str, Any]:
    return {"id": "chat-1", "object": kind, "created": 0, "model": body["model"]}


def chunk(
    body: Mapping[str, Any], delta: Mapping[str, Any], finish: str | None = None
) -> dict[str, Any]:
    """Return a chunk of a streamed completion."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return _envelope(body, "chat.completion.chunk") | {"choices": [choice]}


def sse(body: Mapping[str, Any]) -> bytes:
    """Return a body as a server-sent event."""
    return f"data: {json.dumps(body)}\n\n".encode()
