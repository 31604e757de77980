"""Speak the protocols of rerankers and embedders on loopback, with their limits and errors.

Scores come from the terms that a text shares with the query, vectors from the terms of a text, so
that texts on the same thing are near each other. No model is involved.
"""

import math
import zlib
from collections import Counter
from collections.abc import Sequence
from typing import Any

from aiohttp import web

from agent.knowledge.terms import query_terms, terms
from agent.sample.services.loopback import BODY, Service, has_bearer

TEI_BATCH = 32
TEI_BYTES = 2_000_000
TEI_CHARACTERS = 4000
"""Without `truncate`, a longer text is refused."""
DIMENSIONS = 256


def likeness(query: str, text: str) -> float:
    """Return the share of the query's terms that the text has, 0 to 1."""
    wanted_terms = query_terms(query)
    have = set(terms(text))
    return sum(term in have for term in wanted_terms) / len(wanted_terms) if wanted_terms else 0.0


def text_vector(text: str, dimensions: int = DIMENSIONS) -> list[float]:
    """Return a vector of the text's terms, not of unit length; like texts are near each other."""
    vector = [0.0] * dimensions
    for term, count in Counter(terms(text) or [text]).items():
        place = zlib.crc32(term.encode("utf-8", "replace"))
        vector[place % dimensions] += (1 + math.log(count)) * (1 if place & 1 << 31 else -1)
    return vector if any(vector) else [1.0] + [0.0] * (dimensions - 1)


def unit(vector: Sequence[float]) -> list[float]:
    """Return the same direction at length 1."""
    norm = math.sqrt(sum(value * value for value in vector))
    return [value / norm for value in vector]


class RankingService(Service):
    """Answer TEI's /rerank and /embed, Jina's /v1/rerank and OpenAI's /v1/embeddings.

    `key` None lets everybody in. `batch` is TEI's --max-client-batch-size, `inputs` the most
    texts /v1/embeddings takes at once.
    """

    def __init__(
        self,
        *,
        key: str | None = None,
        batch: int = TEI_BATCH,
        inputs: int = 2048,
        dimensions: int = DIMENSIONS,
    ) -> None:
        super().__init__("ranking")
        self._key, self._batch, self._inputs = key, batch, inputs
        self._dimensions = dimensions
        self.app.router.add_post("/rerank", self._tei_rerank)
        self.app.router.add_post("/embed", self._tei_embed)
        self.app.router.add_post("/v1/rerank", self._jina_rerank)
        self.app.router.add_post("/v1/embeddings", self._openai_embed)

    async def _tei_rerank(self, request: web.Request) -> web.Response:
        body = request[BODY]
        if refusal := self._tei_refusal(request, body, "texts"):
            return refusal
        return web.json_response(_best_first(body["query"], body["texts"], "score"))

    async def _tei_embed(self, request: web.Request) -> web.Response:
        body = request[BODY]
        if refusal := self._tei_refusal(request, body, "inputs"):
            return refusal
        vectors = [text_vector(text, self._dimensions) for text in body["inputs"]]
        return web.json_response([unit(v) for v in vectors] if body.get("normalize") else vectors)

    async def _jina_rerank(self, request: web.Request) -> web.Response:
        body = request[BODY]
        if not has_bearer(request, self._key):
            return web.json_response({"detail": "Invalid API key"}, status=401)
        if not isinstance(body, dict) or not body.get("documents") or "query" not in body:
            return web.json_response({"detail": "documents: field required"}, status=422)
        rows = _best_first(body["query"], body["documents"], "relevance_score")
        count = body.get("top_n") or len(rows)
        usage = {"total_tokens": sum(map(len, body["documents"]))}
        return web.json_response(
            {"model": body.get("model"), "usage": usage, "results": rows[:count]}
        )

    async def _openai_embed(self, request: web.Request) -> web.Response:
        body = request[BODY]
        if not has_bearer(request, self._key):
            error = {"message": "Incorrect API key provided.", "code": "invalid_api_key"}
            return web.json_response({"error": error}, status=401)
        inputs = body.get("input") if isinstance(body, dict) else None
        if not inputs or any(not text for text in inputs):
            return _openai_refusal("'$.input' is invalid.")
        if len(inputs) > self._inputs:
            return _openai_refusal(f"batch size is invalid, it should be at most {self._inputs}.")
        size = body.get("dimensions") or self._dimensions
        # Not in order: only `index` says which text a vector belongs to.
        rows = [
            {"object": "embedding", "index": at, "embedding": text_vector(text, size)}
            for at, text in reversed(list(enumerate(inputs)))
        ]
        used = sum(max(1, len(text) // 4) for text in inputs)
        usage = {"prompt_tokens": used, "total_tokens": used}
        return web.json_response(
            {"object": "list", "model": body.get("model"), "data": rows, "usage": usage}
        )

    def _tei_refusal(self, request: web.Request, body: Any, field: str) -> web.Response | None:
        if not has_bearer(request, self._key):
            return _tei_error("Unauthorized", "Unauthorized", 401)
        if (request.content_length or 0) > TEI_BYTES:
            return _tei_error("length limit exceeded", "Validation", 413)
        texts = body.get(field) if isinstance(body, dict) else None
        if not isinstance(texts, list) or not texts:
            return _tei_error(f"`{field}` cannot be empty", "Validation", 413)
        if len(texts) > self._batch:
            message = f"batch size {len(texts)} > maximum allowed batch size {self._batch}"
            return _tei_error(message, "Validation", 422)
        if not body.get("truncate") and any(len(text) > TEI_CHARACTERS for text in texts):
            return _tei_error("`inputs` must have less than 512 tokens", "Validation", 413)
        return None


def _best_first(query: str, texts: Sequence[str], name: str) -> list[dict[str, Any]]:
    rows = [{"index": at, name: likeness(query, text)} for at, text in enumerate(texts)]
    return sorted(rows, key=lambda row: -float(row[name]))


def _tei_error(message: str, kind: str, status: int) -> web.Response:
    return web.json_response({"error": message, "error_type": kind}, status=status)


def _openai_refusal(message: str) -> web.Response:
    error = {"message": message, "type": "invalid_request_error", "code": None}
    return web.json_response({"error": error}, status=400)
