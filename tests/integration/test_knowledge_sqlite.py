"""The knowledge base's file: crashes, several processes, frequent terms, many vectors."""

import asyncio
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent.core.errors import ConfigurationError, ProviderUnavailable, StoreFailed
from agent.knowledge.base import build_store
from agent.knowledge.sqlite import FILE_NAME, SqliteKnowledgeStore
from agent.knowledge.sqlite_search import Frequent
from agent.knowledge.types import Scope
from agent.runs.sql import BUSY_SECONDS, connect_sqlite
from agent.settings import read_settings
from tests.support.dev_server import REPOSITORY
from tests.support.knowledge_texts import found, keep, names

WRITER = """
import asyncio, sys
from pathlib import Path
from agent.knowledge.sqlite import SqliteKnowledgeStore
from tests.support.knowledge_texts import keep

async def main():
    store = SqliteKnowledgeStore(Path(sys.argv[1]), embedder="small")
    for turn in range(10_000):
        texts = [f"version{turn} part{n} " + "sodium " * 40 for n in range(40 + turn % 7)]
        await keep(store, sys.argv[2], *texts, vectors=[[1, turn]] * len(texts))
        print(turn, flush=True)

asyncio.run(main())
"""


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteKnowledgeStore]:
    opened = SqliteKnowledgeStore(tmp_path, embedder="small")
    yield opened
    await opened.aclose()


def start_writer(folder: Path, name: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(folder), name],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
    )


async def test_killed_writers_leave_each_document_old_or_new(
    store: SqliteKnowledgeStore, tmp_path: Path
) -> None:
    random.seed(4)
    for _ in range(2):
        writers = [start_writer(tmp_path, name) for name in ("a", "b")]
        for writer in writers:
            assert writer.stdout is not None
            for _ in range(3):
                assert writer.stdout.readline()
        await asyncio.sleep(random.uniform(0, 0.1))
        for writer in writers:
            writer.send_signal(signal.SIGKILL)
            writer.wait()
            assert writer.stdout is not None
            writer.stdout.close()
        await consistent(store, tmp_path)


async def consistent(store: SqliteKnowledgeStore, folder: Path) -> None:
    """Each document is one version, whole; index, signs and vectors hold the same chunks."""
    for name in ("a", "b"):
        hits = await store.search("sodium", Scope(documents=(name,)), limit=100, vector=[1, 1])
        versions = {hit.chunk["text"].split()[0] for hit in hits}
        assert len(versions) == 1
        (known,) = await store.documents(Scope(documents=(name,)))
        assert len(hits) == known["chunks"] == 40 + int(versions.pop()[7:]) % 7
    with sqlite3.connect(folder / FILE_NAME) as db:
        counts = {
            db.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            for table in ("chunks", "signs", "vectors")
        }
        counts.add(db.execute("SELECT value FROM totals").fetchone()[0])
        indexed = "SELECT count(*) FROM words WHERE words MATCH 'sodium'"
        counts.add(db.execute(indexed).fetchone()[0])
    db.close()
    assert len(counts) == 1


async def test_threads_with_their_own_loops_may_share_a_store_and_processes_a_file(
    tmp_path: Path, store: SqliteKnowledgeStore
) -> None:
    other = SqliteKnowledgeStore(tmp_path)

    def fill(target: SqliteKnowledgeStore, prefix: str) -> None:
        async def put_all() -> None:
            for n in range(12):
                await keep(target, f"{prefix}{n}", "lithium", collection=prefix)

        asyncio.run(put_all())

    filling = [
        threading.Thread(target=fill, args=pair)
        for pair in ((store, "a"), (store, "b"), (other, "c"))
    ]
    for thread in filling:
        thread.start()
    for thread in filling:
        await asyncio.to_thread(thread.join)
    assert len(await store.documents(Scope())) == 36
    assert sum(c["documents"] for c in await other.collections()) == 36
    await other.aclose()


async def test_a_search_does_not_wait_for_a_writer(
    store: SqliteKnowledgeStore, tmp_path: Path
) -> None:
    await keep(store, "a", "lithium")
    writing = connect_sqlite(tmp_path / FILE_NAME)
    writing.execute("BEGIN IMMEDIATE")
    putting = asyncio.create_task(keep(store, "b", "lithium"))
    begun = time.monotonic()
    assert await names(store, "lithium") == ["a"]
    assert time.monotonic() - begun < BUSY_SECONDS / 2
    assert not putting.done()
    writing.rollback()
    writing.close()
    await putting
    assert await names(store, "lithium") == ["a", "b"]


async def test_frequent_terms_are_left_out_while_rarer_ones_find_enough(tmp_path: Path) -> None:
    store = SqliteKnowledgeStore(tmp_path, frequent=Frequent(share=0.05, least=5))
    rare = [f"sodium {'market' if n == 50 else 'salt'} {n}" for n in range(210)]
    common = [f"market {n}" for n in range(4500)]
    await keep(store, "rare", *rare)
    await keep(store, "common", *common)
    await keep(store, "apart", "market of cobalt", collection="apart")
    hits = await store.search("sodium market", Scope(), limit=60)
    assert found(hits) == ["rare"]
    assert len(hits) == 60
    assert "common" in await names(store, "market")
    assert await names(store, "cobalt market", Scope(documents=("common",))) == ["common"]
    assert await names(store, "sodium market", Scope(collections=("apart",))) == ["apart"]
    await store.aclose()


async def test_frequent_terms_still_help_to_order_what_the_rarer_ones_found(tmp_path: Path) -> None:
    store = SqliteKnowledgeStore(tmp_path, frequent=Frequent(share=0.05, least=5))
    topics = ("market", "salt", "market salt", "锂电池")
    other = "and what is said of other things"
    await keep(store, "rare", *(f"sodium {topics[n] if n < 4 else other}" for n in range(210)))
    for topic in ("market salt", "锂电池的市场"):
        await keep(store, topic[:2], *(f"{topic} {n}" for n in range(2000)))
    for query, expected in (("sodium market salt", 2), ("sodium 锂", 3)):
        (best, *_) = await store.search(query, Scope())
        assert (best.document["id"], best.chunk["number"]) == ("rare", expected)
    await store.aclose()


async def test_among_thousands_of_vectors_the_near_ones_are_found(
    store: SqliteKnowledgeStore,
) -> None:
    rng = random.Random(2)
    vectors = [[rng.gauss(0, 1) for _ in range(48)] for _ in range(3000)]
    await keep(store, "a", *["x"] * 3000, vectors=vectors)
    for n in (5, 1500, 2999):
        asked = [value + rng.gauss(0, 0.3) for value in vectors[n]]
        hits = await store.search("", Scope(), limit=3, vector=asked)
        assert hits[0].chunk["number"] == n


async def test_vectors_without_an_embedder_are_refused(tmp_path: Path) -> None:
    store = build_store(read_settings(tanlu_data_dir=tmp_path))
    with pytest.raises(ConfigurationError, match="EMBEDDING_MODEL"):
        await keep(store, "a", "lithium", vectors=[[1, 0]])
    await keep(store, "a", "lithium")
    assert found(await store.search("lithium", Scope(), vector=[1, 0])) == ["a"]
    await store.aclose()


async def test_a_file_that_is_none_of_ours_names_the_setting(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_bytes(b"not a database, but long enough to be read " * 99)
    store = SqliteKnowledgeStore(tmp_path)
    with pytest.raises(ConfigurationError, match="TANLU_DATA_DIR"):
        await store.documents(Scope())
    await store.aclose()


async def test_a_file_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    db = connect_sqlite(tmp_path / FILE_NAME)
    db.execute("PRAGMA user_version = 99")
    db.close()
    store = SqliteKnowledgeStore(tmp_path)
    with pytest.raises(ConfigurationError, match="newer version"):
        await keep(store, "a", "lithium")
    await store.aclose()


async def test_a_file_that_fails_later_ends_what_writes_there_and_reading_does_without_it(
    store: SqliteKnowledgeStore, tmp_path: Path
) -> None:
    await keep(store, "a", "lithium")
    with sqlite3.connect(tmp_path / FILE_NAME) as db:
        db.execute("DROP TABLE headings")
    db.close()
    with pytest.raises(StoreFailed, match=FILE_NAME):
        await keep(store, "b", "lithium", headings=["x"])
    with pytest.raises(ProviderUnavailable, match="knowledge base"):
        await store.headings(Scope())
    assert await names(store, "lithium") == ["a"]
