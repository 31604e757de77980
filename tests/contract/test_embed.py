"""Embedding services against their stand-ins: unit vectors, each way to fail, the account."""

import json
import math
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from typing import Any

import pytest

from agent.core.calls import Calls
from agent.core.errors import (
    ConfigurationError,
    MalformedReply,
    ProviderError,
    ProviderRefused,
    ProviderUnavailable,
    RateLimited,
)
from agent.knowledge.embeddings import BatchEmbedder, build_embedder, parse_choice
from agent.sample.services.loopback import Service
from agent.settings import Settings
from tests.contract.ranking_bench import KEY, Bench, fresh, meter
from tests.support.memory_reply_cache import MemoryReplyCache
from tests.support.scripted import Scripted
from tests.support.served import serve_in_thread
from tests.support.standins import GeminiService, RankingService, gemini_error

NAMES = {
    "google": "google:gemini-embedding-001@768",
    "openai": "openai:text-embedding-3-small",
    "tei": "tei:bge-m3",
}


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


@pytest.fixture(scope="module", params=("google", "openai", "tei"), name="embedding_server")
def embedding_server_fixture(request: pytest.FixtureRequest) -> Iterator[tuple[str, Service, str]]:
    google = request.param == "google"
    service = GeminiService(Scripted(), key=KEY) if google else RankingService(key=KEY)
    with serve_in_thread(service.app) as server:
        yield request.param, service, server.url


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


def near(one: list[float], other: list[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def reply(bench: Bench, vectors: list[Any]) -> Any:
    """A reply of the service's shape."""
    if bench.kind == "google":
        return {"embeddings": [{"values": vector} for vector in vectors]}
    if bench.kind == "openai":
        return {"data": [{"index": n, "embedding": v} for n, v in enumerate(vectors)]}
    return vectors


async def failure(bench: Bench) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        await bench().embed(["一", "二"], meter=meter())
    assert KEY[:8] not in f"{caught.value!r}"
    return caught.value


async def test_vectors_are_of_unit_length_and_like_texts_are_near(embedding: Bench) -> None:
    embedder = embedding()
    assert embedder.model == NAMES[embedding.kind]
    texts = ["钠离子电池的成本", "公园里的树木", "钠离子电池成本分析"]
    vectors = await embedder.embed(texts, meter=meter())
    assert [math.hypot(*vector) for vector in vectors] == pytest.approx([1, 1, 1])
    assert near(vectors[0], vectors[2]) > near(vectors[0], vectors[1])
    query = (await embedder.embed(["钠离子电池的成本"], meter=meter(), query=True))[0]
    assert near(query, vectors[0]) == pytest.approx(1)


async def test_many_texts_keep_their_order_over_batches(embedding: Bench) -> None:
    texts = [f"文本 {n}" for n in range(150)]
    embedder = embedding()
    vectors = await embedder.embed(texts, meter=meter())
    alone = await embedder.embed([texts[149]], meter=meter())
    assert len(vectors) == 150
    assert near(vectors[149], alone[0]) == pytest.approx(1)
    assert len(embedding.service.requests) == (6 if embedding.kind == "tei" else 4)


async def test_empty_long_and_broken_texts_are_embedded_too(embedding: Bench) -> None:
    texts = ["", "  \n", "长" * 50_000, "half \ud83d"]
    assert len(await embedding().embed(texts, meter=meter())) == 4


async def test_no_texts_ask_nobody(embedding: Bench) -> None:
    assert await embedding().embed([], meter=meter()) == []
    assert embedding.service.requests == []


@pytest.mark.parametrize(
    ("vectors", "said"),
    [
        ([[1.0] * 768], "1 vectors for 2 texts"),
        ([[1.0] * 768, [1.0] * 767], "dimensions"),
        ([[0.0] * 768, [1.0] * 767 + [float("nan")]], "zero or has values that are no numbers"),
    ],
)
async def test_vectors_that_cannot_be_right_are_refused(
    embedding: Bench, vectors: list[Any], said: str
) -> None:
    embedding.service.fail("status", status=200, body=reply(embedding, vectors), times=None)
    error = await failure(embedding)
    assert isinstance(error, MalformedReply)
    assert said in str(error)


async def test_a_model_that_changes_its_dimensions_is_refused(embedding: Bench) -> None:
    embedder = embedding()
    await embedder.embed(["一"], meter=meter())
    body = reply(embedding, [[1.0] * 5])
    embedding.service.fail("status", status=200, body=body, times=None)
    with pytest.raises(MalformedReply) as caught:
        await embedder.embed(["二"], meter=meter())
    assert caught.value.code == "embed_dimensions"


@pytest.mark.parametrize("body", [{"data": None, "embeddings": None}, ["x", "y"]])
async def test_another_shape_is_malformed(embedding: Bench, body: Any) -> None:
    embedding.service.fail("status", status=200, body=body, times=None)
    assert isinstance(await failure(embedding), MalformedReply | ProviderUnavailable)


@pytest.mark.parametrize("kind", ["status", "drop_mid_body", "cut_json"])
async def test_a_passing_fault_is_retried(embedding: Bench, kind: Any) -> None:
    embedding.service.fail(kind, status=503)
    assert len(await embedding().embed(["一", "二"], meter=meter())) == 2
    assert len(embedding.service.requests) == 2


async def test_a_wrong_key_is_refused_at_once(embedding: Bench) -> None:
    names = {"google": "gemini_api_key", "openai": "embedding_api_key", "tei": "tei_api_key"}
    embedder = embedding(**{names[embedding.kind]: f"{KEY}-wrong"})
    with pytest.raises(ProviderRefused) as caught:
        await embedder.embed(["一", "二"], meter=meter())
    assert caught.value.code in ("model_key_invalid", "server_key_invalid")
    assert len(embedding.service.requests) == 1


async def test_a_long_rate_limit_is_handed_on(embedding: Bench) -> None:
    body = gemini_error(429, retry_seconds=120)
    headers = {"Retry-After": "120"}
    embedding.service.fail("status", status=429, body=body, headers=headers, times=None)
    error = await failure(embedding)
    assert isinstance(error, RateLimited)
    assert error.retry_after == 120


async def test_silence_ends_at_the_time_limit(embedding: Bench) -> None:
    embedding.service.fail("hang", times=None)
    with pytest.raises(ProviderUnavailable):
        await embedding(embedding_timeout_seconds=0.2).embed(["一"], meter=meter(seconds=1))


async def test_a_query_is_paid_for_once_in_a_turn_and_counted_by_both_lives(
    embedding: Bench,
) -> None:
    reply_cache, account = MemoryReplyCache(), meter("one")
    first = await embedding(reply_cache=reply_cache).embed(["钠离子"], meter=account, query=True)
    again = meter("one")
    assert (
        await embedding(reply_cache=reply_cache).embed(["钠离子"], meter=again, query=True) == first
    )
    assert len(embedding.service.requests) == 1
    assert again.usage == account.usage
    assert KEY not in json.dumps(list(reply_cache.kept.values()))


async def test_documents_do_not_fill_the_reply_cache(embedding: Bench) -> None:
    reply_cache = MemoryReplyCache()
    await embedding(reply_cache=reply_cache).embed(["钠离子"], meter=meter())
    assert reply_cache.kept == {}


async def test_tokens_and_cost_are_recorded_where_they_are_known(embedding: Bench) -> None:
    account = meter()
    await embedding().embed(["sodium ion batteries"] * 3, meter=account)
    usage = account.usage
    assert (usage["input_tokens"] > 0) == (embedding.kind != "tei")
    if embedding.kind == "google":
        assert usage["cost_usd"] == pytest.approx(usage["input_tokens"] * 0.15 / 1e6, abs=1e-6)
    else:
        assert usage["cost_usd"] == (0 if embedding.kind == "tei" else None)


async def test_health_names_the_dimensions_or_the_fault(embedding: Bench) -> None:
    embedder = embedding()
    assert (await embedder.health())["message"].endswith("dimensions")
    embedding.service.fail("status", status=403, times=None)
    assert (await embedder.health())["works"] is False


@pytest.mark.parametrize(("model", "typed"), [("001", True), ("2", False)])
async def test_gemini_is_told_queries_from_documents_the_way_the_model_wants_it(
    model: str, typed: bool
) -> None:
    service = GeminiService(Scripted(), key=KEY)
    with serve_in_thread(service.app) as server:
        given = embed_settings("google", server.url)
        given["embedding_model"] = f"google:gemini-embedding-{model}"
        embedder = build_embedder(Settings(**given), Calls())
        assert embedder is not None
        assert len(await embedder.embed(["一", "二"], meter=meter())) == 2
        await embedder.embed(["三"], meter=meter(), query=True)
        await embedder.aclose()
    documents, query = (recorded.body["requests"] for recorded in service.requests)
    told = [request["content"]["parts"][0]["text"] for request in [*documents, *query]]
    tasks = [request.get("taskType") for request in [*documents, *query]]
    if typed:
        assert told == ["一", "二", "三"]
        assert tasks == ["RETRIEVAL_DOCUMENT", "RETRIEVAL_DOCUMENT", "RETRIEVAL_QUERY"]
    else:
        assert told[0] == "title: none | text: 一"
        assert told[2] == "task: search result | query: 三"
        assert tasks == [None, None, None]


async def test_a_service_that_takes_few_texts_at_once_is_learnt() -> None:
    service = RankingService(inputs=10)
    with serve_in_thread(service.app) as server:
        given = {"embedding_model": "openai:text-embedding-v4"}
        settings = Settings(**given, embedding_base_url=f"{server.url}/v1")
        embedder = build_embedder(settings, Calls())
        assert embedder is not None
        texts = [f"文 {n}" for n in range(40)]
        assert len(await embedder.embed(texts, meter=meter())) == 40
        refused = len(service.requests)
        assert len(await embedder.embed(texts, meter=meter())) == 40
        await embedder.aclose()
    assert len(service.requests) - refused == 4


async def test_the_key_of_one_address_is_not_sent_to_another() -> None:
    service = RankingService()
    with serve_in_thread(service.app) as server:
        settings = Settings(
            embedding_model="openai:any",
            openai_api_key=KEY,
            embedding_base_url=f"{server.url}/v1",
        )
        embedder = build_embedder(settings, Calls())
        assert embedder is not None
        await embedder.embed(["一"], meter=meter())
        await embedder.aclose()
    assert "Authorization" not in service.requests[0].headers


def test_nothing_is_embedded_unless_a_model_is_named() -> None:
    assert build_embedder(Settings(gemini_api_key=KEY), Calls()) is None


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"embedding_model": "cohere:embed"}, "EMBEDDING_MODEL"),
        ({"embedding_model": "openai:"}, "EMBEDDING_MODEL"),
        ({"embedding_model": "google:gemini-embedding-001"}, "GEMINI_API_KEY"),
        ({"embedding_model": "tei:"}, "TEI_EMBED_URL"),
    ],
)
def test_what_is_missing_is_named(given: dict[str, str], named: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        build_embedder(Settings(**given), Calls())
    assert caught.value.name == named


def test_models_with_other_dimensions_are_other_models() -> None:
    assert parse_choice("gemini-embedding-001").kept_as == "google:gemini-embedding-001@768"
    assert parse_choice("google:models/gemini-embedding-001", 1536).kept_as.endswith("-001@1536")
    assert parse_choice("tei:").kept_as == "tei:default"
