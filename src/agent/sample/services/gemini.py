"""Speak the Gemini API on loopback: generateContent and streamGenerateContent."""

import base64
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from aiohttp import web

from agent.models.catalogue import GOOGLE_MODELS
from agent.sample.model.request import (
    FunctionCall,
    GroundedSentence,
    Model,
    ModelReply,
    ModelTurn,
    PastMessage,
    Tool,
    ToolResult,
)
from agent.sample.services.loopback import BODY, RefusedRequest, StreamingService

SIGNATURE = base64.b64encode(b"offline thought signature").decode()


def parts_of_kind(content: Mapping[str, Any], kind: str) -> list[Mapping[str, Any]]:
    return [part[kind] for part in content.get("parts") or () if kind in part]


def _turn(body: Mapping[str, Any], model: str) -> ModelTurn:
    """Return what a request asks of the model."""
    contents = body["contents"]
    asked = [i for i, c in enumerate(contents) if c.get("role") != "model" and _text(c)]
    last = max(asked, default=-1)
    config = body.get("generationConfig") or {}
    schema = config.get("responseJsonSchema") or config.get("responseSchema")
    wants_json = config.get("responseMimeType") == "application/json"
    tools = body.get("tools") or []
    return ModelTurn(
        system=_text(body.get("systemInstruction") or {}),
        user=_text(contents[last]) if last >= 0 else "",
        history=tuple(_past(c) for i, c in enumerate(contents) if i != last and _is_said(c)),
        tools=tuple(
            Tool(f["name"], f.get("description", ""), _parameters(f))
            for tool in tools
            for f in tool.get("functionDeclarations") or ()
        ),
        tool_results=tuple(
            ToolResult(r["name"], _result(r.get("response")), r.get("id") or "")
            for content in contents[last + 1 :]
            for r in parts_of_kind(content, "functionResponse")
        ),
        schema=schema if schema is not None else {} if wants_json else None,
        search=any("googleSearch" in tool for tool in tools),
        since=_since(body),
        model=model,
    )


def _is_said(content: Mapping[str, Any]) -> bool:
    return bool(_text(content) or parts_of_kind(content, "functionCall"))


def _past(content: Mapping[str, Any]) -> PastMessage:
    calls = tuple(
        FunctionCall(c["name"], c.get("args") or {}, c.get("id") or "")
        for c in parts_of_kind(content, "functionCall")
    )
    return PastMessage("model" if content.get("role") == "model" else "user", _text(content), calls)


def _text(content: Mapping[str, Any]) -> str:
    return "".join(part.get("text", "") for part in content.get("parts") or ())


def _parameters(declaration: Mapping[str, Any]) -> dict[str, Any]:
    return declaration.get("parametersJsonSchema") or declaration.get("parameters") or {}


def _result(response: Any) -> str:
    """Return the text of a result; LangChain wraps what is not an object as {"output": …}."""
    if isinstance(response, Mapping) and set(response) == {"output"}:
        response = response["output"]
    return response if isinstance(response, str) else json.dumps(response, ensure_ascii=False)


def _candidate(answer: ModelReply, ids: Iterator[int]) -> dict[str, Any]:
    """Return the answer as a candidate (parts, finishReason, groundingMetadata)."""
    candidate: dict[str, Any] = {"finishReason": answer.finish, "index": 0}
    parts: list[dict[str, Any]] = []
    if answer.calls:
        parts = [
            {"functionCall": {"name": c.name, "args": c.args, "id": c.id or f"call-{next(ids)}"}}
            for c in answer.calls
        ]
        parts[0]["thoughtSignature"] = SIGNATURE
        parts = [*([{"text": answer.text}] if answer.text else []), *parts]
    elif answer.grounded is not None:
        parts = [{"text": "".join(sentence.text for sentence in answer.grounded)}]
        candidate["groundingMetadata"] = _grounding(answer.grounded, answer.queries)
    elif answer.json is not None:
        parts = [{"text": json.dumps(answer.json, ensure_ascii=False)}]
    elif answer.text is not None:
        parts = [{"text": answer.text}]
    if parts:
        candidate["content"] = {"role": "model", "parts": parts}
    return candidate


def _grounding(sentences: Iterable[GroundedSentence], queries: Sequence[str]) -> dict[str, Any]:
    """Return the grounding metadata of a part made of sentences; offsets are UTF-8 bytes."""
    chunks, supports, at = dict[str, dict[str, Any]](), list[dict[str, Any]](), 0
    for sentence in sentences:
        start, at = at, at + len(sentence.text.encode("utf-8", "replace"))
        if not sentence.pages:
            continue
        for page in sentence.pages:
            chunks.setdefault(page.uri, {"web": {"uri": page.uri, "title": page.title}})
        places = {"startIndex": start} if start else {}
        segment = places | {"endIndex": at, "text": sentence.text}
        indices = [list(chunks).index(page.uri) for page in sentence.pages]
        supports.append({"segment": segment, "groundingChunkIndices": indices})
    metadata: dict[str, Any] = {"webSearchQueries": list(queries)}
    if chunks:
        metadata |= {"groundingChunks": list(chunks.values()), "groundingSupports": supports}
    return metadata


def tokens(value: Any) -> int:
    """Return the tokens of a value, at about four bytes each."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return -(-len(text.encode("utf-8", "replace")) // 4) if text else 0


VERSIONS = ("v1beta", "v1")
_GENERATE = ("generateContent", "streamGenerateContent")
STATUS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
TYPE = "type.googleapis.com/google.rpc."


class GeminiService(StreamingService):
    """Speak Gemini's protocol for a model. `key` None accepts any key, but not none at all."""

    def __init__(
        self,
        model: Model,
        *,
        key: str | None = None,
        models: Iterable[str] = tuple(GOOGLE_MODELS),
    ) -> None:
        super().__init__("gemini")
        self.model, self.key, self.models = model, key, frozenset(models)
        self._ids = itertools.count(1)
        for version in VERSIONS:
            self.app.router.add_post(f"/{version}/models/{{model}}:{{method}}", self._call)

    def refusal(self, error: RefusedRequest) -> Any:
        body = {"code": error.status, "message": error.message, "status": STATUS[error.status]}
        if error.reason:
            info = {"@type": f"{TYPE}ErrorInfo", "reason": error.reason}
            body["details"] = [info | {"domain": "googleapis.com"}]
        return {"error": body}

    async def _call(self, request: web.Request) -> web.StreamResponse:
        method, body = request.match_info["method"], request[BODY]
        model = self.checked_model(request)
        if method not in _GENERATE:
            return web.json_response(self.embedded(method, body, model))
        self.check(body, model)
        answer = self.model.respond(_turn(body, model))
        reply = GeminiReply(answer, model, tokens(body), self._ids)
        if method == "generateContent":
            return web.json_response(reply.whole())
        return await self.stream(request, reply)

    def embedded(self, method: str, body: Any, model: str) -> dict[str, Any]:
        """Refuse any other method: the sample has no vectors."""
        raise RefusedRequest(f"unknown method {method} of {model}", 404)

    def check(self, body: Any, model: str) -> None:
        """Refuse a request that asks nothing."""
        if not isinstance(body, Mapping) or not body.get("contents"):
            raise RefusedRequest("contents is not specified")

    def check_key(self, request: web.Request) -> None:
        """Refuse a request without a key, or with a wrong one."""
        request_key = request.headers.get("x-goog-api-key") or request.query.get("key")
        if not request_key:
            raise RefusedRequest("Method doesn't allow unregistered callers", 403)
        if self.key is not None and request_key != self.key:
            message = "API key not valid. Please pass a valid API key."
            raise RefusedRequest(message, reason="API_KEY_INVALID")

    def checked_model(self, request: web.Request) -> str:
        """Return the model of a request; refuse one that is not served."""
        self.check_key(request)
        model = request.match_info["model"]
        if model not in self.models:
            version = request.path.split("/")[1]
            raise RefusedRequest(f"models/{model} is not found for API version {version}", 404)
        return model


def _since(body: Mapping[str, Any]) -> str:
    """Return the ISO date from which on pages are searched; empty without a filter."""
    searches = [tool.get("googleSearch") or {} for tool in body.get("tools") or ()]
    times = [s.get("timeRangeFilter") or s.get("time_range_filter") or {} for s in searches]
    begins = [str(each.get("startTime") or each.get("start_time") or "") for each in times]
    return max(begins, default="")[:10]


class GeminiReply:
    """Write one answer as a whole or in chunks, with its usage counted."""

    def __init__(
        self, answer: ModelReply, model: str, prompt_tokens: int, ids: "itertools.count[int]"
    ) -> None:
        self._model, self._prompt, self._written = model, prompt_tokens, 0
        self._id = f"response-{next(ids)}"
        self.candidate = _candidate(answer, ids)
        self._blocked = answer.finish == "PROMPT_BLOCKED"
        self._parts = (self.candidate.get("content") or {}).get("parts") or []
        self.text = "".join(part.get("text", "") for part in self._parts)

    def whole(self) -> dict[str, Any]:
        self._written = tokens([part for part in self._parts if part.get("text") != ""])
        if self._blocked:
            return self._body(None) | {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}
        return self._body(None if self.candidate["finishReason"] == "NONE" else self.candidate)

    def chunk(self, text: str, finish: str | None = None) -> dict[str, Any]:
        self._written += tokens(text)
        candidate: dict[str, Any] = {"content": {"role": "model", "parts": [{"text": text}]}}
        return self._body(candidate | ({"finishReason": finish} if finish else {}))

    def pieces(self, chunk_tokens: int) -> Iterable[str]:
        """Yield text in chunks of about so many tokens, never inside a character."""
        piece, size = "", 0
        for character in self.text:
            piece, size = piece + character, size + len(character.encode("utf-8", "replace"))
            if size >= chunk_tokens * 4:
                yield piece
                piece, size = "", 0
        if piece:
            yield piece

    def event(self, piece: str) -> bytes:
        return sse(self.chunk(piece))

    def end(self) -> Iterable[bytes]:
        empty = {"content": {"role": "model", "parts": [{"text": ""}]}}
        nothing_sent = self._blocked or not self.text
        yield sse(self.whole() if nothing_sent else self._body(self.candidate | empty))

    def _body(self, candidate: Mapping[str, Any] | None) -> dict[str, Any]:
        usage = {"promptTokenCount": self._prompt, "candidatesTokenCount": self._written}
        usage["totalTokenCount"] = self._prompt + self._written
        body = {"usageMetadata": usage, "modelVersion": self._model, "responseId": self._id}
        return body | ({"candidates": [candidate]} if candidate else {})


def sse(body: Mapping[str, Any]) -> bytes:
    """Return a body as a server-sent event."""
    return f"data: {json.dumps(body)}\r\n\r\n".encode()
