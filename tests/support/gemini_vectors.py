"""What Gemini answers besides the sample: its list of models, and vectors of texts."""

import math
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from aiohttp import web

from agent.knowledge.terms import terms
from agent.models.catalogue import GOOGLE_EMBEDDINGS, GOOGLE_MODELS
from agent.sample.model.request import Model
from agent.sample.services import gemini
from agent.sample.services.loopback import RefusedRequest

_BATCH, _FULL = 100, 3072
_TASKS = (
    "RETRIEVAL_QUERY", "RETRIEVAL_DOCUMENT", "SEMANTIC_SIMILARITY", "CLASSIFICATION", "CLUSTERING",
    "QUESTION_ANSWERING", "FACT_VERIFICATION", "CODE_RETRIEVAL_QUERY",
)  # fmt: skip
_PREFIXES = ("task: search result | query: ", "title: none | text: ")


def _embedded(method: str, body: Any, model: str) -> dict[str, Any]:
    """Return the vectors of one text or of several."""
    if not isinstance(body, Mapping):
        raise RefusedRequest("Invalid JSON payload received.")
    if method == "embedContent":
        return {"embedding": _vector(body, model)}
    requests = body.get("requests") or []
    if len(requests) > _BATCH:
        raise RefusedRequest(f"BatchEmbedContentsRequest.requests: at most {_BATCH} a batch")
    for request in requests:
        if request.get("model", f"models/{model}") != f"models/{model}":
            raise RefusedRequest("all models must match the model of the batch")
    return {"embeddings": [_vector(request, model) for request in requests]}


def _vector(request: Mapping[str, Any], model: str) -> dict[str, Any]:
    parts = (request.get("content") or {}).get("parts") or []
    text = "".join(part.get("text", "") for part in parts)
    if not text:
        raise RefusedRequest("content is empty")
    task = request.get("taskType")
    if task is not None and task not in _TASKS:
        raise RefusedRequest(f"Invalid value at 'task_type': {task}")
    if task is not None and not model.endswith("-001"):
        raise RefusedRequest(f"task_type is not supported by {model}")
    for prefix in _PREFIXES:
        text = text.removeprefix(prefix)
    size = int(request.get("outputDimensionality") or _FULL)
    # Shortened vectors come as they are cut, not of unit length.
    return {"values": text_vector(text, size)}


def text_vector(text: str, dimensions: int) -> list[float]:
    """Return a vector of the text's terms, not of unit length; like texts are near each other."""
    vector = [0.0] * dimensions
    for term, count in Counter(terms(text) or [text]).items():
        place = zlib.crc32(term.encode("utf-8", "replace"))
        vector[place % dimensions] += (1 + math.log(count)) * (1 if place & 1 << 31 else -1)
    return vector if any(vector) else [1.0] + [0.0] * (dimensions - 1)


class EmbeddingGemini(gemini.GeminiService):
    def __init__(
        self,
        model: Model,
        *,
        key: str | None = None,
        models: Iterable[str] = (*GOOGLE_MODELS, *GOOGLE_EMBEDDINGS),
    ) -> None:
        super().__init__(model, key=key, models=models)
        for version in gemini.VERSIONS:
            self.app.router.add_get(f"/{version}/models", self._list)
            self.app.router.add_get(f"/{version}/models/{{model}}", self._get)

    def embedded(self, method: str, body: Any, model: str) -> dict[str, Any]:
        if model in GOOGLE_EMBEDDINGS and method in ("embedContent", "batchEmbedContents"):
            return _embedded(method, body, model)
        return super().embedded(method, body, model)

    async def _list(self, request: web.Request) -> web.StreamResponse:
        self.check_key(request)
        return web.json_response({"models": [_model(name) for name in sorted(self.models)]})

    async def _get(self, request: web.Request) -> web.StreamResponse:
        return web.json_response(_model(self.checked_model(request)))


def _model(name: str) -> dict[str, Any]:
    methods = ["embedContent"] if name in GOOGLE_EMBEDDINGS else ["generateContent"]
    return {
        "name": f"models/{name}",
        "displayName": name,
        "inputTokenLimit": 1_048_576,
        "outputTokenLimit": 65_536,
        "supportedGenerationMethods": methods,
    }
