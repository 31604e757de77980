"""Rerank texts by their bearing on a query: by a server, or by the built-in BM25.

TEI (`TEI_RERANK_URL`) goes before the shape of Jina, Cohere, vLLM and DashScope (`RERANK_URL`).
All scores are from 0 to 1, comparable within one back-end only; the threshold is the back-end's.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from agent.core.budget import Budget, Limits, Meter
from agent.core.calls import Calls
from agent.core.errors import (
    AgentError,
    BudgetExceeded,
    ConfigurationError,
    MalformedReply,
    ProviderError,
)
from agent.core.faults import contained
from agent.core.processor import compute
from agent.knowledge.ranking import Bm25, best_first
from agent.knowledge.remote import MAX_REPLY, Batches, Server, is_number, sendable
from agent.knowledge.types import Ranked
from agent.search.http import SearchHttp

BUILT_IN = "bm25"
MAX_TEXT = 8000
"""Characters of a text that a server is sent; it cuts them to its model's length itself."""
MAX_QUERY = 2000
_TEI_BATCH = 32
_LIST_BATCH = 500
_IN_THREAD = 200_000
"""Characters from which counting is moved off the event loop."""
RerankScores = list[float | None]
"""By text; None is a text outside the best that were asked for."""


class _Shape(Protocol):
    """Describe how one kind of server is asked, and where the scores are in its reply."""

    batch: int

    def body(self, query: str, texts: Sequence[str], top_n: int) -> dict[str, Any]: ...

    def rows(self, reply: Any) -> tuple[Any, str]:
        """Return the list of results and the name of the score in them."""
        ...


class Tei:
    """POST /rerank of text-embeddings-inference, which scores every text."""

    batch = _TEI_BATCH

    def body(self, query: str, texts: Sequence[str], top_n: int) -> dict[str, Any]:
        options = {"raw_scores": False, "return_text": False, "truncate": True}
        return {"query": query, "texts": list(texts), **options}

    def rows(self, reply: Any) -> tuple[Any, str]:
        return reply, "score"


class JinaLike:
    """Ask Jina, Cohere, vLLM or DashScope, which score the best `top_n`."""

    batch = _LIST_BATCH

    def __init__(self, model: str) -> None:
        self._model = model

    def body(self, query: str, texts: Sequence[str], top_n: int) -> dict[str, Any]:
        model = {"model": self._model} if self._model else {}
        return {**model, "query": query, "documents": list(texts), "top_n": top_n}

    def rows(self, reply: Any) -> tuple[Any, str]:
        return (reply.get("results") if isinstance(reply, Mapping) else None), "relevance_score"


class RerankClient:
    """Put texts in the order of their bearing on a query, by whatever is configured.

    One serves a process, from any event loop.
    """

    def __init__(self, settings: Any, calls: Calls, *, http: SearchHttp | None = None) -> None:
        timeout: float = settings.rerank_timeout_seconds
        self._calls = calls
        self._http = http or SearchHttp(timeout=timeout, max_bytes=MAX_REPLY)
        self._server: Server | None = None
        self._shape: _Shape = Tei()
        # A service with a key charges what only its bill says.
        self._cost: float | None = 0.0
        if settings.tei_rerank_url:
            url = settings.tei_rerank_url.rstrip("/").removesuffix("/rerank") + "/rerank"
            self._server = Server("tei", "TEI_RERANK_URL", url, settings.tei_api_key, timeout)
        elif settings.rerank_url:
            key = settings.rerank_api_key
            self._server = Server("rerank", "RERANK_URL", settings.rerank_url, key, timeout)
            self._shape = JinaLike(settings.rerank_model)
            self._cost = None if key else 0.0
        self._batches = Batches(self._shape.batch)
        self.name = self._server.provider if self._server else BUILT_IN

    async def rerank(
        self,
        query: str,
        texts: Sequence[str],
        *,
        meter: Meter,
        top_n: int | None = None,
        threshold: float | None = None,
    ) -> Ranked:
        """Return the texts' indices and scores, best first; a server that fails is replaced.

        Raises nothing but cancellation.
        """
        if not texts or not query.strip():
            return Ranked(_limit([(at, 0.0) for at in range(len(texts))], top_n, None), self.name)
        if self._server is None:
            return Ranked(_limit(await _count(query, texts), top_n, threshold), BUILT_IN)
        try:
            with contained(self._server.provider):
                order = await self._ask(self._server, query, texts, meter, top_n)
        except (ProviderError, ConfigurationError, BudgetExceeded) as error:
            order = await _count(query, texts)
            return Ranked(
                _limit(order, top_n, threshold), BUILT_IN, f"{self.name}: {error.message}"
            )
        return Ranked(_limit(order, top_n, threshold), self.name)

    async def health(self) -> dict[str, Any]:
        """Return {provider, configured, works, message}; probe a configured server."""
        report: dict[str, Any] = {"provider": self.name, "configured": True, "works": True}
        if self._server is None:
            return {**report, "message": "built in; TEI_RERANK_URL or RERANK_URL name a server"}
        limits = Limits(0, 0, 0, 1_000_000, self._server.timeout, 0)
        meter = Budget("probe", limits).meter()
        try:
            texts = ["a battery", "a garden"]
            await self._send(self._server, "battery", texts, top_n=2, meter=meter)
        except AgentError as error:
            return {**report, "works": False, "message": f"{error.message}; bm25 serves instead"}
        return {**report, "message": f"answers at {self._server.url}"}

    async def aclose(self) -> None:
        await self._http.aclose()

    async def _ask(
        self, server: Server, query: str, texts: Sequence[str], meter: Meter, top_n: int | None
    ) -> list[tuple[int, float]]:
        async def ask(batch: Sequence[str]) -> RerankScores:
            count = min(top_n or len(batch), len(batch))
            request = {"to": server.url, **self._shape.body(query, batch, count)}

            async def send() -> str:
                return json.dumps(await self._send(server, query, batch, top_n=count, meter=meter))

            reply = await self._calls.once(server.policy, send, meter=meter, request=request)
            scores: RerankScores = json.loads(reply)
            return scores

        query = sendable(query, MAX_QUERY)
        scores = await self._batches.run([sendable(text, MAX_TEXT) for text in texts], ask)
        return sorted(
            ((at, score) for at, score in enumerate(scores) if score is not None),
            key=lambda scored: -scored[1],
        )

    async def _send(
        self, server: Server, query: str, texts: Sequence[str], *, top_n: int, meter: Meter
    ) -> RerankScores:
        reply = await server.post(self._http, self._shape.body(query, texts, top_n))
        meter.record(cost_usd=self._cost, model=server.provider)
        rows, name = self._shape.rows(reply)
        expected = len(texts) if isinstance(self._shape, Tei) else top_n
        return _scores(rows, name, server.provider, count=len(texts), expected=expected)


def _scores(rows: Any, name: str, provider: str, *, count: int, expected: int) -> RerankScores:
    """Return the scores by index; MalformedReply for what no ranking of these texts can be."""
    if not isinstance(rows, list):
        raise MalformedReply(provider, "the reply is no list of scores")
    scores: RerankScores = [None] * count
    for row in rows:
        index, score = (row.get("index"), row.get(name)) if isinstance(row, Mapping) else (0, None)
        if type(index) is not int or not 0 <= index < count or scores[index] is not None:
            raise MalformedReply(provider, "the reply ranks texts that were not sent, or one twice")
        if not is_number(score):
            raise MalformedReply(provider, "the reply has a score that is no number")
        scores[index] = float(score)
    if len(rows) < expected:
        raise MalformedReply(provider, f"the reply has {len(rows)} of {expected} scores")
    return scores


async def _count(query: str, texts: Sequence[str]) -> list[tuple[int, float]]:
    def count() -> list[tuple[int, float]]:
        return best_first(Bm25(texts).scores(query))

    if sum(map(len, texts)) < _IN_THREAD:
        return count()
    return await compute(count, otherwise=lambda: [(at, 0.0) for at in range(len(texts))])


def _limit(
    order: list[tuple[int, float]], top_n: int | None, threshold: float | None
) -> list[tuple[int, float]]:
    ranked = [scored for scored in order if threshold is None or scored[1] >= threshold]
    return ranked[:top_n]
