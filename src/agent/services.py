"""Pick the implementations, once per process and at the first call; nothing else does."""

import logging
import threading

from agent.assistants.common.services import Services, no_model
from agent.assistants.common.workspace import Workspaces
from agent.core.calls import Calls
from agent.core.concurrency import Lazy
from agent.core.hosts import Hosts
from agent.core.shared_limits import SharedLimits
from agent.core.tracing import Tracing
from agent.knowledge.base import open_knowledge_base
from agent.knowledge.rerank import RerankClient
from agent.mcp.map import build_maps
from agent.models.client import ModelClient
from agent.reading.fetch import Fetcher, FetchLimits, page_cache
from agent.reading.guard import AddressGuard
from agent.reading.papers import PaperStore
from agent.reading.reader import Reader
from agent.runs.person import PersonMemory
from agent.runs.reply_cache import ReplyCache
from agent.runs.run_log import WishBox
from agent.runs.workspace_store import WorkspaceStore
from agent.sample.server import start_sample_services
from agent.sandbox.select import CodeSandbox
from agent.search.document_sources import DocumentSources
from agent.search.web import WebSearch
from agent.settings import Settings, read_settings

log = logging.getLogger(__name__)


def build_services(
    settings: Settings,
    *,
    reply_cache: ReplyCache | None = None,
    wishes: WishBox | None = None,
    workspace: WorkspaceStore | None = None,
    persons: PersonMemory | None = None,
) -> Services:
    """Build the services for these settings; offline they get the sample services' endpoints.

    Without a store of its own a workspace is in memory.
    """
    if settings.mode == "online" and not settings.model_configured:
        raise no_model()
    sample = start_sample_services(settings) if settings.mode == "offline" else None
    used = sample.settings if sample else settings
    shared = SharedLimits(used.tanlu_redis_url) if used.tanlu_redis_url else None
    calls, hosts = Calls(reply_cache=reply_cache, shared=shared), Hosts(used.silent_host_seconds)
    endpoint, headers = used.tanlu_otlp_endpoint, used.tanlu_otlp_headers
    tracing = Tracing(endpoint, headers) if endpoint else None
    models = ModelClient(used, calls, only_google=sample is not None)
    web = WebSearch(used, models, calls)
    origins = sample.origins if sample else None
    return Services(
        settings=used,
        mode=settings.mode,
        models=models,
        web=web,
        maps=build_maps(used, calls, redirect=sample.amap_url if sample else None),
        library=Lazy(lambda: DocumentSources(used, calls, web)),
        reader=Lazy(lambda: build_reader(used, calls, hosts, origins=origins)),
        papers=Lazy(lambda: build_papers(used, calls, hosts, origins=origins)),
        reranker=Lazy(lambda: RerankClient(used, calls)),
        knowledge=Lazy(lambda: open_knowledge_base(used, calls)),
        code=Lazy(lambda: CodeSandbox(used)),
        calls=calls,
        hosts=hosts,
        workspaces=Workspaces(workspace or WorkspaceStore(), used.workspace_megabytes),
        reply_cache=reply_cache,
        wishes=wishes,
        persons=persons,
        sample=sample,
        tracing=tracing,
    )


def build_reader(
    settings: Settings, calls: Calls, hosts: Hosts, *, origins: dict[str, str] | None = None
) -> Reader:
    """Build the page reader.

    `origins` sends hosts to other endpoints, as for the sample's pages.
    """
    limits = FetchLimits(
        seconds=settings.reader_timeout_seconds,
        max_bytes=settings.reader_max_bytes,
        user_agent=settings.reader_user_agent,
        respect_robots=settings.respect_robots,
    )
    guard = AddressGuard(origins=origins, resolve=hosts.resolve)
    return Reader(calls, Fetcher(calls, limits, guard=guard, lookups=hosts))


def build_papers(
    settings: Settings, calls: Calls, hosts: Hosts, *, origins: dict[str, str] | None = None
) -> PaperStore:
    """Build the store that downloads and keeps PDFs of papers, larger ones than pages."""
    limits = FetchLimits(
        seconds=settings.paper_timeout_seconds,
        max_bytes=settings.paper_max_bytes,
        user_agent=settings.reader_user_agent,
        respect_robots=settings.respect_robots,
    )
    # They are kept as files, so that there is no need to keep them in memory, too.
    guard = AddressGuard(origins=origins, resolve=hosts.resolve)
    fetcher = Fetcher(calls, limits, guard=guard, lookups=hosts, cache=page_cache(0))
    return PaperStore(calls, fetcher, settings.tanlu_data_dir / "papers")


_lock = threading.Lock()
_current: Services | None = None


def process_services() -> Services:
    """Return the services of this process.

    Raise ConfigurationError at every call for a bad setting.
    """
    global _current
    with _lock:
        if _current is None:
            settings = read_settings()
            where = settings.memory
            _current = build_services(
                settings,
                reply_cache=ReplyCache(where),
                wishes=WishBox(where),
                workspace=WorkspaceStore(where),
                persons=PersonMemory(where) if settings.keeps_memory else None,
            )
            log.info("services ready: %s", _current.mode)
        return _current


def started_services() -> Services | None:
    """Return the services if a run has needed them already; starts nothing."""
    return _current


async def close_process_services() -> None:
    """Close what `process_services` built; the next call builds anew."""
    global _current
    with _lock:
        closing, _current = _current, None
    if closing is not None:
        await closing.aclose()
