"""A knowledge base in a folder, without the other services; import the fixture."""

from collections import Counter
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any

import pytest

from agent.core.calls import Calls
from agent.knowledge.base import KnowledgeBase, open_knowledge_base
from agent.knowledge.files import Destination
from agent.knowledge.ingest import FileResult, Ingest, Report
from agent.knowledge.types import KnowledgeHit, Scope
from agent.settings import Settings

TARGET = Destination("documents")


def codes(results: Iterable[FileResult]) -> dict[str, str]:
    """Why each file was not read, by its name in the bench's folder."""
    return {result.path.removeprefix("docs/"): result.code for result in results}


class Bench:
    """One folder of documents, one knowledge base; `again` opens it anew."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.docs = folder / "docs"
        self.docs.mkdir(exist_ok=True)
        self.settings = Settings(tanlu_data_dir=folder / "data", **settings)
        self.base = self.opened()
        self.open_bases = [self.base]

    def opened(self) -> KnowledgeBase:
        return open_knowledge_base(self.settings, Calls())

    def write(self, name: str, content: str | bytes) -> Path:
        path = self.docs / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    async def started(self, *paths: Path, target: Destination = TARGET, **options: Any) -> Ingest:
        return await self.base.ingest(paths or (self.docs,), target=target, **options)

    async def ingest(self, *paths: Path, target: Destination = TARGET, **options: Any) -> Report:
        return await (await self.started(*paths, target=target, **options)).run()

    async def found(self, query: str, scope: Scope | None = None) -> list[KnowledgeHit]:
        return await self.base.search(query, scope or Scope(), limit=50)

    async def paths(self, query: str) -> list[str]:
        """The files that a query finds, best first, each once."""
        return list(dict.fromkeys(hit.document["path"] for hit in await self.found(query)))

    async def kept(self) -> Counter[str]:
        """Every document by its path, with how many there are."""
        return Counter(known["path"] for known in await self.base.documents(Scope()))

    async def again(self, **settings: Any) -> None:
        """The same folder with other settings, as after a restart."""
        self.settings = self.settings.model_copy(update=settings)
        self.base = self.opened()
        self.open_bases.append(self.base)

    async def aclose(self) -> None:
        for base in self.open_bases:
            await base.aclose()


@pytest.fixture(name="bench")
async def bench_fixture(tmp_path: Path) -> AsyncIterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    await bench.aclose()
