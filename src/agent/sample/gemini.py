"""A loopback Gemini API: generateContent, streamGenerateContent, countTokens, models."""

import itertools
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from aiohttp import web

from agent.models.catalogue import GOOGLE_EMBEDDINGS, GOOGLE_MODELS
from agent.sample.gemini_wire import Refused, check, read, tokens, write
from agent.sample.model.request import Answer, Brain, Turn
from agent.sample.ranking import text_vector
from agent.sample.service import BODY, FaultyEvent, Speed, StreamingService, go_wrong, send_pieces

METHODS = ("embedContent", "batchEmbedContents")
_BATCH = 100
_FULL = 3072
_TASKS = frozenset(
    {
        "RETRIEVAL_QUERY",
        "RETRIEVAL_DOCUMENT",
        "SEMANTIC_SIMILARITY",
        "CLASSIFICATION",
        "CLUSTERING",
        "QUESTION_ANSWERING",
        "FACT_VERIFICATION",
        "CODE_RETRIEVAL_QUERY",
    }
)
_PREFIXES = ("task: search result | query: ", "title: none | text: ")


def embed(method: str, body: Any, model: str) -> dict[str, Any]:
    """The reply; raises Refused for what the service answers with an error."""
    if not isinstance(body, Mapping):
        raise Refused("Invalid JSON payload received.")
    if method == "embedContent":
        return {"embedding": _vector(body, model)}
    requests = body.get("requests") or []
    if len(requests) > _BATCH:
        raise Refused(f"BatchEmbedContentsRequest.requests: at most {_BATCH} requests per batch")
    for request in requests:
        if request.get("model", f"models/{model}") != f"models/{model}":
            raise Refused("all models must match the model of the batch")
    return {"embeddings": [_vector(request, model) for request in requests]}


def _vector(request: Mapping[str, Any], model: str) -> dict[str, Any]:
    parts = (request.get("content") or {}).get("parts") or []
    text = "".join(part.get("text", "") for part in parts)
    if not text:
        raise Refused("content is empty")
    task = request.get("taskType")
    if task is not None and task not in _TASKS:
        raise Refused(f"Invalid value at 'task_type': {task}")
    if task is not None and not model.endswith("-001"):
        raise Refused(f"task_type is not supported by {model}")
    for prefix in _PREFIXES:
        text = text.removeprefix(prefix)
    size = int(request.get("outputDimensionality") or _FULL)
    # Shortened vectors come as they are cut, not of unit length.
    return {"values": text_vector(text, size)}


_STATUS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
_TYPE = "type.googleapis.com/google.rpc."


def gemini_error(
    status: int,
    reason: str | None = None,
    retry_seconds: float | None = None,
    *,
    message: str = "injected fault",
    quota_id: str | None = None,
    word: str | None = None,
) -> dict[str, Any]:
    """An error body as Gemini writes it; `word` replaces the status word of `status`."""
    details: list[dict[str, Any]] = []
    if reason:
        details.append({"@type": f"{_TYPE}ErrorInfo", "reason": reason, "domain": "googleapis.com"})
    if quota_id:
        violation = {"quotaMetric": "generate_content_free_tier_requests", "quotaId": quota_id}
        details.append({"@type": f"{_TYPE}QuotaFailure", "violations": [violation]})
    if retry_seconds is not None:
        details.append({"@type": f"{_TYPE}RetryInfo", "retryDelay": f"{retry_seconds:g}s"})
    error = {"code": status, "message": message, "status": word or _STATUS.get(status, "UNKNOWN")}
    return {"error": error | ({"details": details} if details else {})}


class GeminiService(StreamingService):
    """Gemini's protocol in front of a Brain. `key` None accepts any key, but not none at all."""

    def __init__(
        self,
        brain: Brain,
        *,
        key: str | None = None,
        models: Iterable[str] = (*GOOGLE_MODELS, *GOOGLE_EMBEDDINGS),
        latency: Callable[[web.Request, Any], float] | None = None,
        speed: Callable[[Turn], Speed] | None = None,
    ) -> None:
        super().__init__("gemini", latency=latency, speed=speed)
        self.brain, self.key, self.models = brain, key, frozenset(models)
        self.turns: list[Turn] = []
        self._ids = itertools.count(1)
        for version in ("v1beta", "v1"):
            self.app.router.add_get(f"/{version}/models", self._list)
            self.app.router.add_get(f"/{version}/models/{{model}}", self._get)
            self.app.router.add_post(f"/{version}/models/{{model}}:{{method}}", self._call)

    async def _list(self, request: web.Request) -> web.StreamResponse:
        try:
            self._check_key(request)
        except Refused as error:
            return _refuse(error)
        return web.json_response({"models": [_model(name) for name in sorted(self.models)]})

    async def _get(self, request: web.Request) -> web.StreamResponse:
        try:
            return web.json_response(_model(self._known(request)))
        except Refused as error:
            return _refuse(error)

    async def _call(self, request: web.Request) -> web.StreamResponse:
        method, body = request.match_info["method"], request[BODY]
        try:
            model = self._known(request)
            if method == "countTokens":
                return web.json_response({"totalTokens": tokens(body)})
            if model in GOOGLE_EMBEDDINGS and method in METHODS:
                return web.json_response(embed(method, body, model))
            if model in GOOGLE_EMBEDDINGS or method not in (
                "generateContent",
                "streamGenerateContent",
            ):
                raise Refused(f"unknown method {method}", 404)
            check(body, model)
        except Refused as error:
            return _refuse(error)
        turn = read(body, model)
        self.turns.append(turn)
        reply = _Reply(self.brain.respond(turn), model, tokens(body), self._ids)
        if method == "generateContent":
            return web.json_response(reply.whole())
        return await self._stream(request, turn, reply)

    def _check_key(self, request: web.Request) -> None:
        given = request.headers.get("x-goog-api-key") or request.query.get("key")
        if not given:
            raise Refused("Method doesn't allow unregistered callers", 403)
        if self.key is not None and given != self.key:
            message = "API key not valid. Please pass a valid API key."
            raise Refused(message, reason="API_KEY_INVALID")

    def _known(self, request: web.Request) -> str:
        self._check_key(request)
        model = request.match_info["model"]
        if model not in self.models:
            version = request.path.split("/")[1]
            raise Refused(f"models/{model} is not found for API version {version}", 404)
        return model

    async def _stream(
        self, request: web.Request, turn: Turn, reply: "_Reply"
    ) -> web.StreamResponse:
        speed = self.speed(turn)
        response = await self._open_stream(request, speed)
        fault = self._stream_fault(turn)

        async def send(text: str) -> None:
            await _event(response, reply.chunk(text))

        async def send_fault(kind: FaultyEvent) -> None:
            await _event(response, reply.fault(kind))

        await send_pieces(_pieces(reply.text, speed.chunk_tokens), speed, fault, send)
        if fault:
            await go_wrong(request, fault, send_fault)
        else:
            await _event(response, reply.last())
        await response.write_eof()
        return response


class _Reply:
    """One answer as whole or in chunks, with its usage counted."""

    def __init__(
        self, answer: Answer, model: str, prompt_tokens: int, ids: "itertools.count[int]"
    ) -> None:
        self._model, self._prompt, self._written = model, prompt_tokens, 0
        self._id = f"response-{next(ids)}"
        self.candidate = write(answer, ids)
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

    def fault(self, kind: FaultyEvent) -> dict[str, Any]:
        if kind == "error":
            return gemini_error(503, message="The model is overloaded.")
        return self.chunk("", finish=kind.upper())

    def last(self) -> dict[str, Any]:
        if self._blocked or not self.text:
            return self.whole()
        return self._body(self.candidate | {"content": {"role": "model", "parts": [{"text": ""}]}})

    def _body(self, candidate: Mapping[str, Any] | None) -> dict[str, Any]:
        usage = {
            "promptTokenCount": self._prompt,
            "candidatesTokenCount": self._written,
            "totalTokenCount": self._prompt + self._written,
        }
        body = {"usageMetadata": usage, "modelVersion": self._model, "responseId": self._id}
        return body | ({"candidates": [candidate]} if candidate else {})


def _pieces(text: str, chunk_tokens: int) -> Iterable[str]:
    """Text in chunks of about `chunk_tokens`, never inside a character."""
    piece, size = "", 0
    for character in text:
        piece, size = piece + character, size + len(character.encode("utf-8", "replace"))
        if size >= chunk_tokens * 4:
            yield piece
            piece, size = "", 0
    if piece:
        yield piece


async def _event(response: web.StreamResponse, body: Mapping[str, Any]) -> None:
    await response.write(f"data: {json.dumps(body)}\r\n\r\n".encode())


def _refuse(error: Refused) -> web.Response:
    body = gemini_error(error.status, error.reason, message=error.message)
    return web.json_response(body, status=error.status)


def _model(name: str) -> dict[str, Any]:
    return {
        "name": f"models/{name}",
        "displayName": name,
        "inputTokenLimit": 1_048_576,
        "outputTokenLimit": 65_536,
        "supportedGenerationMethods": (
            ["embedContent"] if name in GOOGLE_EMBEDDINGS else ["generateContent", "countTokens"]
        ),
    }
