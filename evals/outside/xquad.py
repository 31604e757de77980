"""Finding by words, on XQuAD: each question to its paragraph among 240, in zh and en.

The same questions are negatives for the map: hardly one of them asks for a place to go to.
"""

import json
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from agent.core.calls import Calls
from agent.evidence.intent import detect_location_query
from agent.knowledge.base import KnowledgeBase, open_knowledge_base
from agent.knowledge.files import Destination
from agent.knowledge.types import Scope
from agent.settings import Settings

LIMIT = 20
"""Passages asked for; MRR looks no further."""
_COLLECTION = "xquad"


def languages(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the paragraphs with their questions, by language."""
    return {
        path.stem: [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        for path in sorted(folder.glob("*.jsonl"))
    }


async def report(sets: dict[str, list[dict[str, Any]]]) -> AsyncIterator[str]:
    """Yield a line a language: recall, MRR, and how often the map would be asked."""
    for language, paragraphs in sets.items():
        ranks = await _ranks(paragraphs)
        mapped = sum(detect_location_query(question) for question, _ in _questions(paragraphs))
        found = [rank for rank in ranks if rank is not None]
        first, five = (sum(rank < most for rank in found) / len(ranks) for most in (1, 5))
        mrr = sum(1 / (rank + 1) for rank in found) / len(ranks)
        yield (
            f"{language}: recall@1 {first:.3f} @5 {five:.3f} MRR {mrr:.3f}; "
            f"sent to the map {mapped / len(ranks):.1%} of {len(ranks)}"
        )


def _questions(paragraphs: list[dict[str, Any]]) -> Iterator[tuple[str, int]]:
    for number, paragraph in enumerate(paragraphs):
        for each in paragraph["questions"]:
            yield each[0], number


async def _ranks(paragraphs: list[dict[str, Any]]) -> list[int | None]:
    """Return the place of each question's paragraph among those found."""
    ranks: list[int | None] = []
    async with _filled(paragraphs) as base:
        for question, number in _questions(paragraphs):
            hits = await base.search(question, Scope((_COLLECTION,)), limit=LIMIT)
            names = list(dict.fromkeys(Path(hit.document["path"]).stem for hit in hits))
            name = f"{number:03}"
            ranks.append(names.index(name) if name in names else None)
    return ranks


@asynccontextmanager
async def _filled(paragraphs: list[dict[str, Any]]) -> AsyncIterator[KnowledgeBase]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = folder / "files"
        files.mkdir()
        for number, paragraph in enumerate(paragraphs):
            (files / f"{number:03}.txt").write_text(paragraph["text"], "utf-8")
        settings = Settings(
            tanlu_data_dir=folder / "data", embedding_model="", knowledge_store="sqlite"
        )
        base = open_knowledge_base(settings, Calls())
        try:
            run = await base.ingest([files], target=Destination(_COLLECTION))
            await run.run()
            yield base
        finally:
            await base.aclose()
