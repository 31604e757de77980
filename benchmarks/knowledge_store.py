"""The embedded knowledge base: documents a second, and how long a query takes.

    uv run python -m benchmarks.knowledge_store [--chunks 100000] [--queries 100] [--dimensions 0]

Made-up Chinese and English chunks of 800 characters, 20 to a document; queries with and without
the rule that leaves frequent terms out. With --dimensions every chunk also gets a random vector.
"""

import argparse
import asyncio
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from agent.knowledge.sqlite import FILE_NAME, SqliteKnowledgeStore
from agent.knowledge.sqlite_search import Frequent
from agent.knowledge.types import Chunk, KnownDocument, Scope
from benchmarks.knowledge_texts import Writer
from benchmarks.table import Line, header, show

MODEL = "benchmark"
TARGET_MS = 50.0
WARM_UP = 3
_random = random.Random(3)


async def fill(folder: Path, writer: Writer, chunks: int, dimensions: int) -> list[Line]:
    """Put every document; making up the texts is not counted."""
    store = SqliteKnowledgeStore(folder, embedder=MODEL)
    spent, documents = 0.0, 0
    for document, parts in writer.documents(chunks):
        vectors = made_vectors(len(parts), dimensions) or None
        begun = time.perf_counter()
        await store.put(document, parts, vectors)
        spent += time.perf_counter() - begun
        documents += 1
    again, begun = list(writer.documents(min(chunks, 200))), time.perf_counter()
    await replace(store, again)
    replacing = time.perf_counter() - begun
    await store.aclose()
    size = (folder / FILE_NAME).stat().st_size / 1e6
    return [
        Line("filling", "documents a second", documents / spent, digits=1),
        Line("filling", "chunks a second", chunks / spent, digits=0),
        Line("filling", "documents replaced a second", len(again) / replacing, digits=1),
        Line("filling", "file, MB", size, note=f"{chunks} chunks", digits=1),
    ]


async def replace(
    store: SqliteKnowledgeStore, documents: list[tuple[KnownDocument, list[Chunk]]]
) -> None:
    for document, parts in documents:
        await store.put(document, parts)


async def latencies(
    folder: Path, queries: Sequence[str], rule: Frequent, dimensions: int
) -> list[float]:
    """Milliseconds of each query, after a few that warm the file up."""
    store = SqliteKnowledgeStore(folder, embedder=MODEL, frequent=rule)
    spent: list[float] = []
    for query in [*queries[:WARM_UP], *queries]:
        vector = made_vectors(1, dimensions)
        begun = time.perf_counter()
        await store.search(query, Scope(), limit=20, vector=vector[0] if vector else None)
        spent.append((time.perf_counter() - begun) * 1000)
    await store.aclose()
    return spent[WARM_UP:]


def made_vectors(count: int, dimensions: int) -> list[list[float]]:
    if not dimensions:
        return []
    return [[_random.gauss(0, 1) for _ in range(dimensions)] for _ in range(count)]


def lines(row: str, spent: list[float], target: float | None = None) -> list[Line]:
    p95 = statistics.quantiles(spent, n=20)[-1]
    return [
        Line(row, "median, ms", statistics.median(spent), target, f"{len(spent)} queries", 1),
        Line(row, "p95, ms", p95, digits=1),
    ]


async def run(options: argparse.Namespace, folder: Path) -> list[Line]:
    writer = Writer()
    show(await fill(folder, writer, options.chunks, 0))
    queries = writer.queries(options.queries)
    with_rule = lines(
        "frequent terms out", await latencies(folder, queries, Frequent(), 0), TARGET_MS
    )
    show(with_rule)
    show(lines("all terms", await latencies(folder, queries, Frequent(share=1.0), 0)))
    if not options.dimensions:
        return with_rule
    apart = folder / "vectors"
    show(await fill(apart, writer, options.chunks, options.dimensions))
    hybrid = lines("hybrid", await latencies(apart, queries, Frequent(), options.dimensions))
    show(hybrid)
    return with_rule


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--dimensions", type=int, default=0)
    options = parser.parse_args()
    print(header())
    with tempfile.TemporaryDirectory() as folder:
        measured = asyncio.run(run(options, Path(folder)))
    return 0 if all(line.holds is not False for line in measured) else 1


if __name__ == "__main__":
    sys.exit(main())
