"""How well the knowledge base finds what answers: `python -m evals.retrieval [--misses]`.

The questions (`questions.jsonl`) were written from the sample's documents before any retrieval was
run on them, and without reading the ranking code. Prints recall@5 (the share of the labelled
passages) and MRR of the search by words; where EMBEDDING_MODEL is set, of vectors and of both
fused. Questions that only documents in the other language answer stand apart.
"""

import argparse
import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from agent.core.calls import Calls
from agent.knowledge.base import KnowledgeBase, open_knowledge_base
from agent.knowledge.files import Destination
from agent.knowledge.types import KnowledgeHit, Scope
from agent.settings import Settings
from evals.retrieval.documents import export
from evals.retrieval.questions import CROSS, DEPTH, Question, load

COLLECTION = "sample"
LIMIT = 20
"""Hits asked for; MRR looks no further."""
_ALL = 200
Found = dict[str, list[KnowledgeHit]]
"""The hits of each question by its id, best first."""


async def measured(folder: Path, questions: Sequence[Question]) -> dict[str, Found]:
    """The hits by mode; RuntimeError where a document is not read or a vector not made."""
    files = folder / "files"
    export(files)
    found = await by_words(files, folder, questions)
    if Settings().embedding_model:
        found |= await by_vectors(files, folder, questions)
    return found


async def by_words(files: Path, folder: Path, questions: Sequence[Question]) -> dict[str, Found]:
    """The hits of the built-in store without vectors."""
    settings = {"embedding_model": "", "knowledge_store": "sqlite"}
    async with _filled(files, folder / "words", **settings) as base:
        return {"lexical": await _hits(base, questions, LIMIT)}


async def by_vectors(files: Path, folder: Path, questions: Sequence[Question]) -> dict[str, Found]:
    """The hits of the configured store and embedder: of vectors alone, and fused."""
    async with _filled(files, folder / "vectors") as base:
        deep = await _hits(base, questions, _ALL)
        vector = {name: _by_vector(hits) for name, hits in deep.items()}
        return {"vector": vector, "hybrid": await _hits(base, questions, LIMIT)}


@asynccontextmanager
async def _filled(files: Path, folder: Path, **settings: Any) -> AsyncIterator[KnowledgeBase]:
    """A knowledge base of the files, in the folder alone: no server's."""
    alone = Settings(tanlu_data_dir=folder, mineru_url=None, chroma_url=None, **settings)
    base = open_knowledge_base(alone, Calls())
    try:
        ingest = await base.ingest([files], target=Destination(COLLECTION))
        report = await ingest.run()
        if report.failed or report.notes:
            raise RuntimeError(f"not all was read: {report.failed} {report.notes}")
        yield base
    finally:
        await base.aclose()


async def _hits(base: KnowledgeBase, questions: Sequence[Question], limit: int) -> Found:
    scope = Scope((COLLECTION,))
    return {asked.id: await base.search(asked.text, scope, limit=limit) for asked in questions}


def _by_vector(hits: Sequence[KnowledgeHit]) -> list[KnowledgeHit]:
    """The order of the vectors alone, out of fused hits many enough to hold their first ones."""
    ranked = [hit for hit in hits if "vector" in hit.ranks]
    if hits and not ranked:
        raise RuntimeError("searched by words alone: the embedder failed")
    return sorted(ranked, key=lambda hit: hit.ranks["vector"])[:LIMIT]


def mean_recall(questions: Sequence[Question], found: Found) -> float:
    """recall@5 over these questions."""
    return sum(asked.recall(found[asked.id]) for asked in questions) / len(questions)


def mean_reciprocal_rank(questions: Sequence[Question], found: Found) -> float:
    """MRR over these questions."""
    ranks = [asked.reciprocal_rank(found[asked.id]) for asked in questions]
    return sum(ranks) / len(ranks)


def groups(questions: Sequence[Question]) -> dict[str, list[Question]]:
    """All of one language together, then by language; `cross` is no part of the first."""
    own = [asked for asked in questions if asked.language != CROSS]
    by_language = {
        language: [asked for asked in questions if asked.language == language]
        for language in dict.fromkeys(asked.language for asked in questions)
    }
    return {"zh+en": own, **by_language}


def table(questions: Sequence[Question], modes: dict[str, Found]) -> str:
    """recall@5 and MRR by mode and language."""
    parts = groups(questions)
    heads = (f"{name} ({len(part)})" for name, part in parts.items())
    lines = [f"{'':<20}" + "".join(f"{head:>12}" for head in heads)]
    for mode, found in modes.items():
        for title, value in (("recall@5", mean_recall), ("MRR", mean_reciprocal_rank)):
            values = (value(part, found) for part in parts.values())
            lines.append(f"{mode + ' ' + title:<20}" + "".join(f"{v:12.3f}" for v in values))
    return "\n".join(lines)


def misses(questions: Sequence[Question], modes: dict[str, Found]) -> list[str]:
    """Each question with a labelled passage beyond the first five, and what came first."""
    lines = []
    for mode, found in modes.items():
        for asked in questions:
            hits, recall = found[asked.id], asked.recall(found[asked.id])
            if recall == 1:
                continue
            shown = ", ".join(Path(hit.document["path"]).name for hit in hits[:DEPTH]) or "nothing"
            rank = asked.reciprocal_rank(hits)
            lines.append(f"{mode} {asked.id} {recall:.2f} {rank:.2f} {asked.text}\n    {shown}")
    return lines


def main(arguments: list[str] | None = None) -> None:
    """Print the table, and on request what was missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--misses", action="store_true", help="list questions not fully answered")
    chosen = parser.parse_args(arguments)
    questions = load()
    with tempfile.TemporaryDirectory() as folder:
        modes = asyncio.run(measured(Path(folder), questions))
    sys.stdout.write(f"{len(questions)} questions\n{table(questions, modes)}\n")
    if "vector" not in modes:
        sys.stdout.write("no vectors: EMBEDDING_MODEL is not set\n")
    if chosen.misses:
        sys.stdout.write("\n".join(misses(questions, modes)) + "\n")


if __name__ == "__main__":
    main()
