"""Hold the knowledge base of a process: ingest files, add downloaded papers, search."""

import asyncio
import logging
import os
import uuid
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

from agent.core.budget import Meter, unlimited_meter
from agent.core.calls import Calls
from agent.core.concurrency import Lazy, SingleFlight
from agent.core.errors import BudgetExceeded, ProviderError, ProviderRefused
from agent.core.faults import contained
from agent.knowledge.embeddings import build_embedder
from agent.knowledge.files import (
    CollectionWriter,
    Destination,
    FileRegister,
    HashedFile,
    Tools,
    hash_of,
)
from agent.knowledge.formats import FAILURES
from agent.knowledge.ingest import NOT_REMEMBERED, Ingest, IngestListener, IngestPlan
from agent.knowledge.mineru import MinerU
from agent.knowledge.readers import FileReaders, ReadLimits
from agent.knowledge.sqlite import FILE_NAME, SqliteKnowledgeStore
from agent.knowledge.types import Collected, KnowledgeHit, KnownDocument, Scope
from agent.reading.parts import CannotRead
from agent.settings import Settings
from agent.texts import counted

log = logging.getLogger(__name__)
PAPER = b"\0paper:"
"""Before the hash that is a paper's key; no path begins like that."""


class KnowledgeBase:
    """Open its files at the first use; usable from any event loop."""

    def __init__(self, open_tools: Callable[[], Tools], limits: ReadLimits | None = None) -> None:
        """Open nothing yet; `open_tools` is called once, at the first use, outside of loops."""
        self._opened = Lazy(open_tools)
        self._limits = limits
        self._flights = SingleFlight()

    async def ingest(
        self,
        paths: Sequence[Path],
        *,
        target: Destination,
        retry: bool = False,
        prune: bool = False,
        listener: IngestListener | None = None,
    ) -> Ingest:
        """Return a run over these files and folders, to be started with its `run`."""
        plan = IngestPlan(tuple(paths), target, retry=retry, prune=prune)
        return Ingest(
            await self._tools(), plan, own_meter(), listener=listener, limits=self._limits
        )

    async def add_pdf(
        self,
        path: Path,
        *,
        title: str,
        url: str | None,
        collection: str,
        meter: Meter,
        shared: bool = False,
        owner: str = "",
    ) -> KnownDocument:
        """Add a downloaded paper, each content once in a collection; `title` and `url` are cited.

        Raises ProviderRefused with a code of FAILURES, BudgetExceeded, the store's errors.
        """
        target = Destination(collection, owner, shared)
        status = await asyncio.to_thread(os.stat, path)
        sha256 = await asyncio.to_thread(hash_of, path)
        key = PAPER + sha256.encode()
        source = HashedFile(key, str(path), path.name, "pdf", status.st_size, status.st_mtime_ns,
                        sha256, title=title, url=url)  # fmt: skip
        flight = f"{target.owner}\0{collection}\0{sha256}"
        return await self._flights.do(flight, lambda: self._paper(source, target, meter))

    async def search(
        self, query: str, scope: Scope, *, limit: int = 20, meter: Meter | None = None
    ) -> list[KnowledgeHit]:
        """Return hits, best first; by words alone where an embedder is set but fails.

        Raises the store's errors and InputError.
        """
        with contained("knowledge"):
            return await self._search(query, scope, limit, meter or own_meter())

    async def _search(
        self, query: str, scope: Scope, limit: int, meter: Meter
    ) -> list[KnowledgeHit]:
        tools = await self._tools()
        embedder, vector = tools.embedder, None
        if embedder is not None and query.strip():
            try:
                (vector,) = await embedder.embed([query], meter=meter, query=True)
            except (ProviderError, BudgetExceeded) as error:
                log.warning("searching by words alone: %s", error)
        return await tools.store.search(query, scope, limit=limit, vector=vector)

    async def headings(self, scope: Scope, *, limit: int = 200) -> list[str]:
        """Return distinct headings of the texts a search may see."""
        return await (await self._tools()).store.headings(scope, limit=limit)

    async def collections(self, owner: str = "") -> list[Collected]:
        """Return the collections the owner may read."""
        return await (await self._tools()).store.collections(owner)

    async def documents(self, scope: Scope) -> list[KnownDocument]:
        """Return the documents a search may see."""
        return await (await self._tools()).store.documents(scope)

    async def texts(self, scope: Scope, *, most: int) -> list[KnowledgeHit]:
        """Return documents whole, small ones first as far as `most` characters hold them."""
        return await (await self._tools()).store.texts(scope, most=most)

    async def delete(self, documents: Collection[str]) -> None:
        """Take documents out; their files are read again by the next run over them."""
        await (await self._tools()).store.delete(documents)

    async def forget(self, path: Path, target: Destination) -> None:
        """Take what a file has put into a collection out again, as if it had never been read.

        `path` is absolute.
        """
        tools, key = await self._tools(), os.fsencode(path)
        scope, base = Scope((target.collection,), target.owner), target.document_id(key)
        documents = [document["id"] for document in await tools.store.documents(scope)]
        await tools.store.delete([id for id in documents if id.partition("-")[0] == base])
        await tools.register.forget(target.owner, target.collection, [key])

    async def health(self) -> list[dict[str, Any]]:
        """Return {provider, configured, works, message} of the store and of the PDF readers."""
        tools = await self._tools()
        collections = await tools.store.collections()
        documents = sum(collection["documents"] for collection in collections)
        held = counted("collections", len(collections), "en")
        message = f"{counted('documents', documents, 'en')} in {held}"
        store = {"provider": tools.store.name, "configured": True, "works": True}
        reports = [{**store, "message": message}]
        if tools.mineru:
            return [*reports, await tools.mineru.health()]
        pdf = {"provider": "pypdf", "configured": True, "works": True}
        message = "reads PDF; MINERU_URL names a server for tables and scans"
        return [*reports, {**pdf, "message": message}]

    async def aclose(self) -> None:
        """Close the files and connections, as far as they were opened."""
        tools = self._opened.built
        if tools is None:
            return
        await tools.store.aclose()
        await tools.register.aclose()
        if tools.embedder:
            await tools.embedder.aclose()

    async def _tools(self) -> Tools:
        """Raise ConfigurationError where the settings of store or embedder do not work."""
        opened = self._opened.built
        return opened if opened is not None else await asyncio.to_thread(self._opened)

    async def _paper(self, source: HashedFile, target: Destination, meter: Meter) -> KnownDocument:
        tools = await self._tools()
        scope = Scope((target.collection,), target.owner, (target.document_id(source.key),))
        before = await tools.register.entry(target.owner, target.collection, source.key)
        if before and before.status == "failed":
            raise _refusal(before.code)
        model = tools.embedder.model if tools.embedder else ""
        documents = await self.documents(scope)
        if not documents or before is None or (model and before.model != model):
            await self._read(tools, source, target, meter)
            documents = await self.documents(scope)
        if not documents:
            raise _refusal("page_empty")
        return documents[0]

    async def _read(
        self, tools: Tools, source: HashedFile, target: Destination, meter: Meter
    ) -> None:
        seconds = max(0.0, meter.remaining())
        try:
            async with asyncio.timeout(seconds), FileReaders(1, self._limits) as readers:
                await CollectionWriter(tools, target, readers, meter).keep(source, None)
        except TimeoutError:
            raise meter.budget.out_of_time() from None
        except CannotRead as error:
            code = str(error)
            # Nobody can ask for a paper to be tried again, and a busy machine is slow.
            if code not in (*NOT_REMEMBERED, "timeout"):
                entry = source.entry(status="failed", code=code)
                await tools.register.save(target.owner, target.collection, entry)
            raise _refusal(code) from None


def build_store(settings: Settings, *, embedder: str = "") -> SqliteKnowledgeStore:
    """Return the store of KNOWLEDGE_STORE, with vectors where an embedder's model is named.

    Nothing is opened yet. Raises ConfigurationError for Chroma without its extra or an embedder.
    """
    if settings.knowledge_store == "sqlite":
        return SqliteKnowledgeStore(settings.tanlu_data_dir, embedder=embedder)
    from agent.knowledge.chroma import ChromaKnowledgeStore

    return ChromaKnowledgeStore(settings.tanlu_data_dir, embedder=embedder, url=settings.chroma_url)


def open_knowledge_base(settings: Settings, calls: Calls) -> KnowledgeBase:
    """Return the knowledge base of these settings; nothing is opened, and nothing refused, yet."""

    def open_tools() -> Tools:
        embedder = build_embedder(settings, calls)
        store = build_store(settings, embedder=embedder.model if embedder else "")
        mineru = None
        if settings.mineru_url:
            mineru = MinerU(settings.mineru_url, settings.mineru_api_key, calls)
        return Tools(store, FileRegister(settings.tanlu_data_dir), embedder, mineru)

    return KnowledgeBase(open_tools)


def has_documents(settings: Settings) -> bool:
    """Tell whether documents were ever kept here; nothing is opened or made."""
    return (settings.tanlu_data_dir / FILE_NAME).is_file()


def own_meter() -> Meter:
    """Return an account without limits, for what the owner of the machine asks for."""
    return unlimited_meter(f"knowledge-{uuid.uuid4()}")


def _refusal(code: str) -> ProviderRefused:
    return ProviderRefused("reader", FAILURES.get(code, code), code=code)
