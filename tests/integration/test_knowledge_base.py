"""The knowledge base of a process: downloaded papers, vectors, failures."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from agent.core.budget import Budget, Limits
from agent.core.calls import Calls
from agent.core.errors import BudgetExceeded, ConfigurationError, ProviderRefused
from agent.knowledge.base import open_knowledge_base, own_meter
from agent.knowledge.file_events import ReadEvent
from agent.knowledge.readers import FileReaders
from agent.knowledge.types import KnownDocument, Scope
from agent.reading.parts import CannotRead
from agent.settings import Settings
from tests.support import mixed_files
from tests.support.knowledge_bench import Bench, bench_fixture
from tests.support.served import serve_in_thread
from tests.support.standins import RankingService

__all__ = ["bench_fixture"]
URL = "https://example.org/paper.pdf"


async def added(bench: Bench, path: Path, title: str = "A paper") -> KnownDocument:
    return await bench.base.add_pdf(
        path, title=title, url=URL, collection="papers", shared=True, meter=own_meter()
    )


async def test_a_paper_is_cited_by_the_title_and_address_it_was_found_under(bench: Bench) -> None:
    mixed_files.pdf(bench.docs / "0a1b.pdf", 3, pages=3)
    known = await added(bench, bench.docs / "0a1b.pdf")
    assert (known["title"], known["url"], known["path"]) == ("A paper", URL, "0a1b.pdf")
    (hit,) = await bench.found(mixed_files.marker(3), Scope(("papers",), owner="anybody"))
    assert (hit.document["id"], hit.chunk["page"]) == (known["id"], 3)
    assert str(bench.docs) not in str(hit)


async def test_a_paper_is_read_once_however_often_and_at_once_it_is_added(bench: Bench) -> None:
    path = bench.docs / "a.pdf"
    mixed_files.pdf(path, 3)
    mixed_files.pdf(bench.docs / "b.pdf", 3)
    (bench.docs / "b.pdf").write_bytes(path.read_bytes())
    first = await asyncio.gather(*(added(bench, path) for _ in range(4)))
    again = await added(bench, bench.docs / "b.pdf", "Another name of it")
    assert {known["id"] for known in [*first, again]} == {first[0]["id"]}
    await bench.again()
    assert await added(bench, path) == first[0]
    assert len(await bench.base.documents(Scope())) == 1


@pytest.mark.parametrize(
    ("body", "code"), [(b"%PDF-1.7 no", "page_unreadable"), (b"", "page_unreadable")]
)
async def test_a_paper_that_cannot_be_read_says_why_each_time(
    bench: Bench, body: bytes, code: str
) -> None:
    path = bench.write("a.pdf", body)
    for _ in range(2):
        with pytest.raises(ProviderRefused) as refused:
            await added(bench, path)
        assert refused.value.code == code
    assert await bench.base.documents(Scope()) == []


async def test_a_paper_is_not_read_after_the_end_of_the_run(bench: Bench) -> None:
    mixed_files.pdf(bench.docs / "a.pdf", 3)
    meter = Budget("t", Limits(1, 1, 1, 1, 0.0, 0.0)).meter()
    with pytest.raises(BudgetExceeded):
        await bench.base.add_pdf(
            bench.docs / "a.pdf", title="", url=None, collection="papers", meter=meter
        )


class Vectors:
    """A knowledge base with a TEI server beside it."""

    def __init__(self, folder: Path, service: RankingService, url: str) -> None:
        self.service = service
        self.bench = Bench(
            folder, embedding_model="tei:stand-in", tei_embed_url=url, tei_api_key=SecretStr("k")
        )


@pytest.fixture
async def vectors(tmp_path: Path) -> AsyncIterator[Vectors]:
    service = RankingService(key="k")
    with serve_in_thread(service.app) as running:
        found = Vectors(tmp_path, service, running.url)
        yield found
        await found.bench.aclose()


async def test_with_an_embedder_both_searches_find_and_their_places_are_told(
    vectors: Vectors,
) -> None:
    bench = vectors.bench
    mixed_files.good_files(bench.docs, {"md": 4})
    report = await bench.ingest()
    assert report.notes == []
    (hit, *_) = await bench.found(mixed_files.marker(2))
    assert set(hit.ranks) == {"lexical", "vector"}
    assert (await bench.ingest()).counts["unchanged"] == 4


async def test_an_embedder_that_fails_leaves_words_and_the_next_run_adds_vectors(
    vectors: Vectors,
) -> None:
    bench = vectors.bench
    made = mixed_files.good_files(bench.docs, {"md": 3, "csv": 1})
    fault = vectors.service.fail("status", times=None, status=400)
    report = await bench.ingest()
    assert (report.counts["read"], report.failed) == (4, [])
    assert "no vectors yet" in report.notes[0]
    (hit,) = await bench.found(mixed_files.marker(2))
    assert set(hit.ranks) == {"lexical"}
    fault.times = 0
    await bench.again()
    assert (await bench.ingest()).counts["read"] == len(made)
    (hit, *_) = await bench.found(mixed_files.marker(2))
    assert set(hit.ranks) == {"lexical", "vector"}


async def test_another_embedder_reads_the_files_again(vectors: Vectors) -> None:
    bench = vectors.bench
    mixed_files.good_files(bench.docs, {"md": 2})
    await bench.ingest()
    await bench.again(embedding_model="tei:other")
    assert (await bench.ingest()).counts["read"] == 2
    await bench.again(embedding_model="")
    assert (await bench.ingest()).counts["unchanged"] == 2


async def test_a_setting_that_does_not_work_is_told_at_the_first_use_only(tmp_path: Path) -> None:
    settings = Settings(tanlu_data_dir=tmp_path, embedding_model="nonsense:x")
    base = open_knowledge_base(settings, Calls())
    with pytest.raises(ConfigurationError, match="EMBEDDING_MODEL"):
        await base.collections()
    await base.aclose()
    assert os.listdir(tmp_path) == []


async def test_a_paper_that_took_too_long_is_tried_again(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    mixed_files.pdf(bench.docs / "a.pdf", 3)
    whole = FileReaders.read

    async def stuck(*given: object) -> AsyncIterator[ReadEvent]:
        raise CannotRead("timeout")
        yield ReadEvent()

    monkeypatch.setattr(FileReaders, "read", stuck)
    with pytest.raises(ProviderRefused) as refused:
        await added(bench, bench.docs / "a.pdf")
    assert refused.value.code == "timeout"
    monkeypatch.setattr(FileReaders, "read", whole)
    assert (await added(bench, bench.docs / "a.pdf"))["status"] == "ready"
