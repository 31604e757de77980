"""Speak the protocols of rerankers and embedders on loopback, with their limits and errors.

Scores come from the terms that a text shares with the query, vectors from the terms of a text, so
that texts on the same thing are near each other. No model is involved.
"""

import math
from collections.abc import Sequence
from typing import Any

from aiohttp import web

from agent.knowledge.terms import query_terms, terms
from agent.sample.services.loopback import BODY, RefusedRequest, Service, check_bearer
from tests.support.gemini_vectors import text_vector

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

    def refusal(self, error: RefusedRequest) -> Any:
        """Return an error as TEI, Jina or OpenAI writes it."""
        if error.reason == "Jina":
            return {"detail": error.message}
        if error.reason in ("invalid_api_key", "invalid_request_error"):
            error_body = {"message": error.message, "type": error.reason, "code": error.reason}
            return {"error": error_body}
        return {"error": error.message, "error_type": error.reason}

    async def _tei_rerank(self, request: web.Request) -> web.Response:
        texts = self._tei_texts(request, "texts")
        return web.json_response(_best_first(request[BODY]["query"], texts, "score"))

    async def _tei_embed(self, request: web.Request) -> web.Response:
        texts = self._tei_texts(request, "inputs")
        vectors = [text_vector(text, self._dimensions) for text in texts]
        is_unit = request[BODY].get("normalize")
        return web.json_response([unit(v) for v in vectors] if is_unit else vectors)

    async def _jina_rerank(self, request: web.Request) -> web.Response:
        body = request[BODY]
        check_bearer(request, self._key, "Invalid API key", "Jina")
        if not isinstance(body, dict) or not body.get("documents") or "query" not in body:
            raise RefusedRequest("documents: field required", 422, "Jina")
        rows = _best_first(body["query"], body["documents"], "relevance_score")
        rows = rows[: body.get("top_n") or len(rows)]
        usage = {"total_tokens": sum(map(len, body["documents"]))}
        return web.json_response({"model": body.get("model"), "usage": usage, "results": rows})

    async def _openai_embed(self, request: web.Request) -> web.Response:
        body = request[BODY]
        check_bearer(request, self._key, "Incorrect API key provided.", "invalid_api_key")
        inputs = body.get("input") if isinstance(body, dict) else None
        if not inputs or any(not text for text in inputs):
            raise RefusedRequest("'$.input' is invalid.", reason="invalid_request_error")
        if len(inputs) > self._inputs:
            message = f"batch size is invalid, it should be at most {self._inputs}."
            raise RefusedRequest(message, reason="invalid_request_error")
        size = body.get("dimensions") or self._dimensions
        # Not in order: only `index` says which text a vector belongs to.
        rows = [
            {"object": "embedding", "index": at, "embedding": text_vector(text, size)}
            for at, text in reversed(list(enumerate(inputs)))
        ]
        used = sum(max(1, len(text) // 4) for text in inputs)
        usage = {"prompt_tokens": used, "total_tokens": used}
        reply = {"object": "list", "model": body.get("model"), "data": rows, "usage": usage}
        return web.json_response(reply)

    def _tei_texts(self, request: web.Request, field: str) -> list[str]:
        """Return the texts of a request; refuse what TEI refuses."""
        body = request[BODY]
        check_bearer(request, self._key, "Unauthorized", "Unauthorized")
        if (request.content_length or 0) > TEI_BYTES:
            raise RefusedRequest("length limit exceeded", 413, "Validation")
        texts = body.get(field) if isinstance(body, dict) else None
        if not isinstance(texts, list) or not texts:
            raise RefusedRequest(f"`{field}` cannot be empty", 413, "Validation")
        if len(texts) > self._batch:
            message = f"batch size {len(texts)} > maximum allowed batch size {self._batch}"
            raise RefusedRequest(message, 422, "Validation")
        if not body.get("truncate") and any(len(text) > TEI_CHARACTERS for text in texts):
            raise RefusedRequest("`inputs` must have less than 512 tokens", 413, "Validation")
        return texts


def _best_first(query: str, texts: Sequence[str], name: str) -> list[dict[str, Any]]:
    rows = [{"index": at, name: likeness(query, text)} for at, text in enumerate(texts)]
    return sorted(rows, key=lambda row: -float(row[name]))
