"""Speak the Gemini API on loopback: generateContent, streamGenerateContent, countTokens, models."""

import itertools
import json
from collections.abc import Iterable, Mapping
from typing import Any

from aiohttp import web

from agent.models.catalogue import GOOGLE_EMBEDDINGS, GOOGLE_MODELS
from agent.sample.gemini_wire import Refused, check, read, tokens, write
from agent.sample.model.request import Answer, Model
from agent.sample.ranking import text_vector
from agent.sample.service import BODY, StreamingService

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


def embed_reply(method: str, body: Any, model: str) -> dict[str, Any]:
    """Return the reply; raises Refused for what the service answers with an error."""
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


def _refuse(error: Refused) -> web.Response:
    body = {"code": error.status, "message": error.message, "status": STATUS[error.status]}
    if error.reason:
        info = {"@type": f"{TYPE}ErrorInfo", "reason": error.reason, "domain": "googleapis.com"}
        body["details"] = [info]
    return web.json_response({"error": body}, status=error.status)


class GeminiService(StreamingService):
    """Speak Gemini's protocol for a model. `key` None accepts any key, but not none at all."""

    def __init__(
        self,
        model: Model,
        *,
        key: str | None = None,
        models: Iterable[str] = (*GOOGLE_MODELS, *GOOGLE_EMBEDDINGS),
    ) -> None:
        super().__init__("gemini")
        self.model, self.key, self.models = model, key, frozenset(models)
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
            return web.json_response(_model(self._checked_model(request)))
        except Refused as error:
            return _refuse(error)

    async def _call(self, request: web.Request) -> web.StreamResponse:
        method, body = request.match_info["method"], request[BODY]
        try:
            model = self._checked_model(request)
            if method == "countTokens":
                return web.json_response({"totalTokens": tokens(body)})
            if model in GOOGLE_EMBEDDINGS and method in METHODS:
                return web.json_response(embed_reply(method, body, model))
            if model in GOOGLE_EMBEDDINGS or method not in (
                "generateContent",
                "streamGenerateContent",
            ):
                raise Refused(f"unknown method {method}", 404)
            check(body, model)
        except Refused as error:
            return _refuse(error)
        answer = self.model.respond(read(body, model))
        reply = GeminiReply(answer, model, tokens(body), self._ids)
        if method == "generateContent":
            return web.json_response(reply.whole())
        return await self.stream(request, reply)

    def _check_key(self, request: web.Request) -> None:
        request_key = request.headers.get("x-goog-api-key") or request.query.get("key")
        if not request_key:
            raise Refused("Method doesn't allow unregistered callers", 403)
        if self.key is not None and request_key != self.key:
            message = "API key not valid. Please pass a valid API key."
            raise Refused(message, reason="API_KEY_INVALID")

    def _checked_model(self, request: web.Request) -> str:
        self._check_key(request)
        model = request.match_info["model"]
        if model not in self.models:
            version = request.path.split("/")[1]
            raise Refused(f"models/{model} is not found for API version {version}", 404)
        return model


class GeminiReply:
    """Write one answer as a whole or in chunks, with its usage counted."""

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

    def pieces(self, chunk_tokens: int) -> Iterable[str]:
        return _pieces(self.text, chunk_tokens)

    def event(self, piece: str) -> bytes:
        return sse(self.chunk(piece))

    def end(self) -> Iterable[bytes]:
        yield sse(self.last())

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
    """Yield text in chunks of about `chunk_tokens`, never inside a character."""
    piece, size = "", 0
    for character in text:
        piece, size = piece + character, size + len(character.encode("utf-8", "replace"))
        if size >= chunk_tokens * 4:
            yield piece
            piece, size = "", 0
    if piece:
        yield piece


def sse(body: Mapping[str, Any]) -> bytes:
    """Return a body as a server-sent event."""
    return f"data: {json.dumps(body)}\r\n\r\n".encode()


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
