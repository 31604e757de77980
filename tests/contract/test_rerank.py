"""Reranking servers against their stand-ins: an order, each way to fail, and what stands in."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from typing import Any

import pytest

from agent.core.calls import Calls
from agent.knowledge.rerank import RerankClient
from agent.sample.services.loopback import Service
from agent.settings import Settings
from tests.contract.ranking_bench import KEY, Bench, fresh, meter
from tests.support.memory_reply_cache import MemoryReplyCache
from tests.support.served import serve_in_thread
from tests.support.standins import RankingService

TEXTS = ["磷酸铁锂电池的安全", "公园里的树木", "钠离子电池的成本分析", "sodium-ion cells"]
QUERY = "钠离子电池成本"
NAMES = {"tei": "tei", "jina": "rerank"}
KINDS = ("tei", "jina")


def rerank_settings(kind: str, url: str) -> dict[str, Any]:
    if kind == "tei":
        return {"tei_rerank_url": url, "tei_api_key": KEY}
    return {"rerank_url": f"{url}/v1/rerank", "rerank_api_key": KEY, "rerank_model": "reranker"}


@pytest.fixture(scope="module", params=KINDS, name="reranking_server")
def reranking_server_fixture(request: pytest.FixtureRequest) -> Iterator[tuple[str, Service, str]]:
    service = RankingService(key=KEY)
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


def ranking(bench: Bench, rows: list[tuple[Any, Any]]) -> Any:
    """A reply of the server's shape."""
    name = "score" if bench.kind == "tei" else "relevance_score"
    found = [{"index": index, name: score} for index, score in rows]
    return found if bench.kind == "tei" else {"results": found}


async def test_the_best_text_comes_first_with_its_score(reranking: Bench) -> None:
    found = await reranking().rerank(QUERY, TEXTS, meter=meter())
    assert (found.backend, found.note) == (NAMES[reranking.kind], "")
    assert found.order[0] == (2, pytest.approx(1, abs=0.3))
    assert sorted(index for index, _ in found.order) == [0, 1, 2, 3]
    scores = [score for _, score in found.order]
    assert scores == sorted(scores, reverse=True)


async def test_threshold_and_top_n_cut_what_the_server_scored(reranking: Bench) -> None:
    client = reranking()
    assert len((await client.rerank(QUERY, TEXTS, meter=meter(), top_n=1)).order) == 1
    kept = (await client.rerank(QUERY, TEXTS, meter=meter(), threshold=0.1)).order
    assert [index for index, _ in kept] == [2, 0]


async def test_more_texts_than_a_server_takes_are_ranked_in_batches(reranking: Bench) -> None:
    texts = [f"公园 {n}" for n in range(70)] + ["钠离子电池成本"]
    found = await reranking().rerank(QUERY, texts, meter=meter(), top_n=3)
    assert found.note == ""
    assert found.order[0][0] == 70
    sizes = [len(r.body.get("texts", r.body.get("documents"))) for r in reranking.service.requests]
    assert sorted(sizes) == ([7, 32, 32] if reranking.kind == "tei" else [71])


async def test_a_long_abstract_is_no_reason_to_fail(reranking: Bench) -> None:
    found = await reranking().rerank(QUERY, ["钠离子电池 " * 5000, "x"], meter=meter())
    assert (found.note, found.order[0][0]) == ("", 0)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([(0, 0.9), (1, 0.5), (2, 0.4), (9, 0.3)], "not sent"),
        ([(0, 0.9), (1, 0.5), (1, 0.4), (2, 0.3)], "one twice"),
        ([(-1, 0.9), (1, 0.5), (2, 0.4), (3, 0.3)], "not sent"),
        ([(True, 0.9), (1, 0.5), (2, 0.4), (3, 0.3)], "not sent"),
        ([(0, float("nan")), (1, 0.5), (2, 0.4), (3, 0.3)], "no number"),
        ([(0, 10**400), (1, 0.5), (2, 0.4), (3, 0.3)], "no number"),
        ([(0, "0.9"), (1, 0.5), (2, 0.4), (3, 0.3)], "no number"),
        ([(0, None), (1, 0.5), (2, 0.4), (3, 0.3)], "no number"),
        ([(0, 0.9), (1, 0.5)], "2 of 4"),
    ],
)
async def test_a_nonsensical_ranking_is_replaced_and_noted(
    reranking: Bench, rows: list[tuple[Any, Any]], said: str
) -> None:
    reranking.service.fail("status", status=200, body=ranking(reranking, rows), times=None)
    found = await reranking().rerank(QUERY, TEXTS, meter=meter())
    assert found.backend == "bm25"
    assert found.note.startswith(f"{NAMES[reranking.kind]}: ")
    assert said in found.note
    assert found.order[0][0] == 2


@pytest.mark.parametrize("body", [{"results": None}, [None], ["x"], {"data": []}, "text", 7])
async def test_another_shape_is_replaced(reranking: Bench, body: Any) -> None:
    reranking.service.fail("status", status=200, body=body, times=None)
    found = await reranking().rerank(QUERY, TEXTS, meter=meter())
    assert found.backend == "bm25"
    assert found.note


@pytest.mark.parametrize(
    "kind", ["status", "drop", "garbage", "cut_json", "deep_json", "odd_numbers", "empty"]
)
async def test_a_failing_server_is_replaced_and_a_passing_fault_is_not(
    reranking: Bench, kind: Any
) -> None:
    reranking.service.fail(kind, status=503)
    client = reranking()
    assert (await client.rerank(QUERY, TEXTS, meter=meter("one"))).note == ""
    reranking.service.fail(kind, status=503, times=None)
    found = await client.rerank(QUERY, TEXTS, meter=meter("two"))
    assert (found.backend, found.order[0][0]) == ("bm25", 2)
    assert found.note


@pytest.mark.parametrize("status", [401, 403, 404, 424, 429])
async def test_a_refusal_is_replaced_without_telling_the_key(reranking: Bench, status: int) -> None:
    echo = {"error": f"{KEY} may not", "error_type": "Backend"}
    reranking.service.fail("status", status=status, body=echo, times=None)
    found = await reranking().rerank(QUERY, TEXTS, meter=meter())
    assert found.backend == "bm25"
    assert KEY[:8] not in found.note


async def test_a_server_that_fails_again_and_again_is_not_asked_for_a_while(
    reranking: Bench,
) -> None:
    reranking.service.fail("status", status=500, times=None)
    client = reranking()
    for turn in range(3):
        assert (await client.rerank(QUERY, TEXTS, meter=meter(str(turn)))).backend == "bm25"
    assert len(reranking.service.requests) == 3


async def test_silence_ends_at_the_time_limit(reranking: Bench) -> None:
    reranking.service.fail("hang", times=None)
    client = reranking(rerank_timeout_seconds=0.2)
    found = await client.rerank(QUERY, TEXTS, meter=meter())
    assert found.backend == "bm25"
    assert "no answer" in found.note


async def test_a_run_without_time_left_is_ranked_without_the_server(reranking: Bench) -> None:
    found = await reranking().rerank(QUERY, TEXTS, meter=meter(seconds=0))
    assert (found.backend, reranking.service.requests) == ("bm25", [])
    assert "max_run_seconds" in found.note


async def test_a_ranking_is_paid_for_once_in_a_turn(reranking: Bench) -> None:
    reply_cache = MemoryReplyCache()
    first = await reranking(reply_cache=reply_cache).rerank(QUERY, TEXTS, meter=meter("one"))
    again = await reranking(reply_cache=reply_cache).rerank(QUERY, TEXTS, meter=meter("one"))
    assert first == again
    assert len(reranking.service.requests) == 1
    assert KEY not in json.dumps(list(reply_cache.kept.values()))


async def test_half_a_character_in_a_text_does_no_harm(reranking: Bench) -> None:
    found = await reranking().rerank("钠离子\ud83d", ["\udc00 钠离子", "x"], meter=meter())
    assert (found.note, found.order[0][0]) == ("", 0)


async def test_nothing_to_rank_asks_nobody(reranking: Bench) -> None:
    client = reranking()
    assert (await client.rerank(QUERY, [], meter=meter())).order == []
    assert (await client.rerank("  ", ["a", "b"], meter=meter())).order == [(0, 0.0), (1, 0.0)]
    assert reranking.service.requests == []


async def test_an_address_of_no_use_names_its_variable(reranking: Bench) -> None:
    variable = {"tei": "tei_rerank_url", "jina": "rerank_url"}[reranking.kind]
    found = await reranking(**{variable: "no address"}).rerank(QUERY, TEXTS, meter=meter())
    assert found.backend == "bm25"
    assert variable.upper() in found.note


async def test_cancellation_is_not_swallowed(reranking: Bench) -> None:
    reranking.service.fail("hang", times=None)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.3):
            await reranking().rerank(QUERY, TEXTS, meter=meter())


async def test_health_says_what_serves(reranking: Bench) -> None:
    client = reranking()
    assert (await client.health())["works"] is True
    reranking.service.fail("status", status=500, times=None)
    report = await client.health()
    assert report["works"] is False
    assert "bm25" in report["message"]


async def test_a_smaller_limit_of_a_tei_server_is_learnt() -> None:
    service = RankingService(batch=8)
    with serve_in_thread(service.app) as server:
        client = RerankClient(Settings(tei_rerank_url=server.url), Calls())
        texts = [f"文 {n}" for n in range(20)]
        assert (await client.rerank("文", texts, meter=meter("one"))).note == ""
        refused = len(service.requests)
        assert (await client.rerank("文", texts, meter=meter("two"))).note == ""
        await client.aclose()
    assert refused > 3
    assert len(service.requests) - refused <= 4


async def test_without_a_server_bm25_serves_without_a_note() -> None:
    client = RerankClient(Settings(), Calls())
    found = await client.rerank(QUERY, TEXTS, meter=meter(seconds=0), top_n=1, threshold=0.1)
    await client.aclose()
    assert (client.name, found.backend, found.note) == ("bm25", "bm25", "")
    assert [index for index, _ in found.order] == [2]
