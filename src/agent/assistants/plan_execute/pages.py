"""Read the best web pages of every task, and cut them into passages like the knowledge base's."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from agent.assistants.common.own_documents import passage_text
from agent.assistants.common.reading import OpenedPage, canonical, read_whole
from agent.assistants.common.services import Services
from agent.assistants.plan_execute.documents import is_scored
from agent.assistants.plan_execute.state import ExecutorResult
from agent.core.budget import Meter
from agent.core.concurrency import compute
from agent.core.errors import AgentError
from agent.knowledge.markup import markdown_blocks
from agent.knowledge.ranking import Bm25, best_first
from agent.knowledge.split import Sections, split
from agent.knowledge.types import Chunk, Hit, KnownDocument
from agent.search.documents import Document

PAGES = "pages"
"""The collection that passages of pages are said to be of; nothing of it is kept."""
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class PageIndex:
    """Hold the pages of a run and their passages, to be searched by words."""

    texts: dict[str, str] = field(default_factory=dict)
    """The whole text with its title, by address."""
    hits: list[Hit] = field(default_factory=list)
    errors: list[AgentError] = field(default_factory=list)
    """Why the others were not read."""

    def search(self, query: str, limit: int) -> list[Hit]:
        """Return the passages that share words with the query, best first."""
        scored = best_first(self._counted.scores(query))[:limit]
        return [self.hits[at] for at, score in scored if score > 0]

    @cached_property
    def _counted(self) -> Bm25:
        return Bm25([passage_text(hit) for hit in self.hits])


def pages_to_read(results: Sequence[ExecutorResult], per_task: int) -> list[Document]:
    """Return the first web pages of each task, each page once."""
    chosen: dict[str, Document] = {}
    for result in results:
        pages = [d for d in result["documents"] if d["url"] and is_scored(d, "tavily")]
        for document in pages[:per_task]:
            chosen.setdefault(canonical(document["url"]), document)
    return list(chosen.values())


async def read_pages(
    documents: Sequence[Document], services: Services, meter: Meter, *, parallel: int
) -> PageIndex:
    """Return the pages by the guarded reader, so many at once; never raise for a page."""
    places = asyncio.Semaphore(max(1, parallel))
    index = PageIndex()

    async def one(document: Document) -> tuple[str, list[Hit]]:
        async with places:
            try:
                page = await read_whole(document["url"], services, meter)
            except AgentError as error:
                log.info("turn=%s page not read: %s", meter.turn_id, error)
                index.errors.append(error)
                return "", []
        return f"{page.title}\n{page.text}", await compute(lambda: _cut(page, document))

    read = await asyncio.gather(*(one(document) for document in documents))
    for document, (text, hits) in zip(documents, read, strict=True):
        if hits:
            index.texts[document["url"]] = text
            index.hits.extend(hits)
    return index


def _cut(page: OpenedPage, document: Document) -> list[Hit]:
    """Return the passages of a page, each under its headings."""
    title = page.title or document["title"]
    pieces = list(split(markdown_blocks(page.text), Sections(title)))
    record = KnownDocument(
        id=page.url, collection=PAGES, title=title, path=page.url, url=page.url, kind="html",
        layer="upper", sha256="", status="ready", error=None, chunks=len(pieces),
        metadata={"source": document["source"], "published": document.get("published") or ""},
    )  # fmt: skip
    return [
        Hit(Chunk(document=page.url, number=n, text=piece.text, headings=list(piece.headings),
                  page=None), record, 0.0)
        for n, piece in enumerate(pieces)
    ]  # fmt: skip
