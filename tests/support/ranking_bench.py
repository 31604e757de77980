"""Reranking and embedding servers running, and our side of them; import the fixtures."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

import pytest

from agent.core.budget import Budget, Limits, Meter
from agent.core.calls import Calls
from agent.knowledge.embeddings import BatchEmbedder, build_embedder
from agent.knowledge.rerank import RerankClient
from agent.sample.services.loopback import Service
from agent.settings import Settings
from tests.support.memory_reply_cache import MemoryReplyCache
from tests.support.scripted import Scripted
from tests.support.served import serve_in_thread
from tests.support.standins import GeminiService, RankingService

KEY = "canary-key-8d2f4b6a0c1e"
KINDS = ("tei", "jina")


def meter(turn: str = "turn", *, seconds: float = 60) -> Meter:
    """Room for nothing but time: rankings and embeddings are no searches."""
    return Budget(turn, Limits(0, 0, 0, 1_000_000, seconds, 0)).meter()


@dataclass
class Bench:
    """One server running behind a protocol, and a maker of our side of it."""

    kind: str
    service: Service
    url: str
    make: Callable[..., Any]

    def __call__(self, *, reply_cache: MemoryReplyCache | None = None, **changes: Any) -> Any:
        return self.make(self.kind, self.url, reply_cache, changes)


def rerank_settings(kind: str, url: str) -> dict[str, Any]:
    if kind == "tei":
        return {"tei_rerank_url": url, "tei_api_key": KEY}
    return {"rerank_url": f"{url}/v1/rerank", "rerank_api_key": KEY, "rerank_model": "reranker"}


def embed_settings(kind: str, url: str) -> dict[str, Any]:
    given: dict[str, dict[str, Any]] = {
        "google": {
            "embedding_model": "google:gemini-embedding-001",
            "gemini_api_key": KEY,
            "google_gemini_base_url": url,
        },
        "openai": {
            "embedding_model": "openai:text-embedding-3-small",
            "embedding_base_url": f"{url}/v1",
            "embedding_api_key": KEY,
        },
        "tei": {"embedding_model": "tei:bge-m3", "tei_embed_url": url, "tei_api_key": KEY},
    }
    return given[kind]


@pytest.fixture(scope="module", params=KINDS, name="reranking_server")
def reranking_server_fixture(request: pytest.FixtureRequest) -> Iterator[tuple[str, Service, str]]:
    service = RankingService(key=KEY)
    with serve_in_thread(service.app) as server:
        yield request.param, service, server.url


@pytest.fixture(scope="module", params=("google", "openai", "tei"), name="embedding_server")
def embedding_server_fixture(request: pytest.FixtureRequest) -> Iterator[tuple[str, Service, str]]:
    google = request.param == "google"
    service = GeminiService(Scripted(), key=KEY) if google else RankingService(key=KEY)
    with serve_in_thread(service.app) as server:
        yield request.param, service, server.url


@pytest.fixture(name="reranking")
async def reranking_fixture(reranking_server: tuple[str, Service, str]) -> AsyncIterator[Bench]:
    async with AsyncExitStack() as stack:

        def make(
            kind: str, url: str, reply_cache: MemoryReplyCache | None, changes: dict[str, Any]
        ) -> RerankClient:
            given = {**rerank_settings(kind, url), "rerank_timeout_seconds": 60, **changes}
            client = RerankClient(Settings(**given), Calls(reply_cache=reply_cache))
            stack.push_async_callback(client.aclose)
            return client

        yield fresh(reranking_server, make)


@pytest.fixture(name="embedding")
async def embedding_fixture(embedding_server: tuple[str, Service, str]) -> AsyncIterator[Bench]:
    async with AsyncExitStack() as stack:

        def make(
            kind: str, url: str, reply_cache: MemoryReplyCache | None, changes: dict[str, Any]
        ) -> BatchEmbedder:
            given = {**embed_settings(kind, url), "embedding_timeout_seconds": 60, **changes}
            embedder = build_embedder(Settings(**given), Calls(reply_cache=reply_cache))
            assert embedder is not None
            stack.push_async_callback(embedder.aclose)
            return embedder

        yield fresh(embedding_server, make)


def fresh(running: tuple[str, Service, str], make: Callable[..., Any]) -> Bench:
    """The server of the module without an earlier test's faults and requests."""
    kind, service, url = running
    service.faults.clear()
    service.requests.clear()
    return Bench(kind, service, url, make)
