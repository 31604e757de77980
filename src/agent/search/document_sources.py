"""The sources of documents of a process: which are on, why others are off, and one way to ask.

To add one: its file here, its line in NAMES and in `_built`, its settings, and its stand-in in
`sample/`.
"""

import asyncio
import re
import uuid
from collections.abc import Callable, Mapping
from typing import Any, Literal

from agent import REPOSITORY, __version__
from agent.core.budget import Budget, Limits, Meter
from agent.core.calls import Calls
from agent.core.errors import AgentError, ConfigurationError
from agent.search import akshare, sec_edgar
from agent.search.akshare import AkShare
from agent.search.documents import (
    Document,
    DocumentSource,
    Figure,
    SourceEndpoint,
    distinct,
    make_document,
)
from agent.search.http import SearchHttp
from agent.search.openalex import OpenAlex
from agent.search.sec_edgar import SecEdgar
from agent.search.semantic_scholar import SemanticScholar
from agent.search.types import WebChoice
from agent.search.web import WebSearch
from agent.search.wikipedia import Wikipedia

NAMES = ("wikipedia", "openalex", "semantic_scholar", "tavily", "sec_edgar", "akshare")
"""`tavily` is the web: Tavily where it is configured, else the web search that is."""
_WEB: Literal["tavily"] = "tavily"
_RATE = 10.0
"""Requests a second where no setting (`<name>_qps`) says otherwise."""
_PROBES: Mapping[str, str] = {"sec_edgar": "annual report battery"}
_PROBE = "battery"
_CONTACT = re.compile(r"[^\s@]+@[^\s@]+\.[^\s@]+|https?://\S+")
_MAIL = re.compile(r"\S.*\s[^\s@]+@[^\s@]+\.[^\s@]+")
# Whom to ask where the caller names no research model: not one that searches by itself.
_NOT_GOOGLE = "openai:any"
Found = tuple[DocumentSource | None, str]


class DocumentSources:
    """Every source by name. `settings` has, by name, their keys, addresses and counts."""

    def __init__(self, settings: Any, calls: Calls, web: WebSearch) -> None:
        self._web = web
        self._timeout: float = settings.search_timeout_seconds
        self._links: str | None = getattr(settings, "library_links_url", None)
        self._sources: dict[str, DocumentSource] = {}
        self._off: dict[str, str] = {}
        for name, build in _built(settings, web.http, calls).items():
            rate = getattr(settings, f"{name}_qps", _RATE)
            # One company is a search and seven figures; the SEC counts its hosts together. The
            # list of companies is loaded once a day, and needs no pace.
            shares = {name: 0.25, sec_edgar.DATA: 0.75} if name == "sec_edgar" else {name: 1.0}
            for provider, share in shares.items():
                calls.pace(provider, rate=rate * share)
            source, reason = build()
            if source:
                self._sources[name] = source
            else:
                self._off[name] = reason

    async def search(
        self,
        name: str,
        query: str,
        *,
        meter: Meter,
        count: int | None = None,
        model: str | None = None,
        choice: WebChoice = "auto",
    ) -> list[Document]:
        """What the source (with or without `_search` behind its name) has on the query.

        `model` (the research model) and `choice` are for the web only. Raises ProviderError,
        BudgetExceeded, and ConfigurationError for a source that is off or unknown.
        """
        known = name.removesuffix("_search")
        if known == _WEB:
            return await self._pages(query, meter, count, model, choice)
        source = self._sources.get(known)
        if source is None:
            raise ConfigurationError(known, self._off.get(known, "is not a source"))
        found = await source.search(query, meter=meter, count=count)
        return [_linked(document, self._links) for document in found]

    def offered(self, model: str | None = None) -> list[str]:
        """The names of the sources that are on."""
        off = self.off(model)
        return [name for name in NAMES if name not in off]

    def off(self, model: str | None = None) -> dict[str, str]:
        """Why each of the others is off; what to set is named."""
        off = dict(self._off)
        try:
            self._web.provider("auto", model=model or _NOT_GOOGLE)
        except ConfigurationError as error:
            off[_WEB] = error.problem
        return {name: off[name] for name in NAMES if name in off}

    async def health(self) -> list[dict[str, Any]]:
        """For each but the web {provider, configured, works, message}; a live probe of those on."""
        return list(await asyncio.gather(*(self._probe(n) for n in NAMES if n != _WEB)))

    async def _pages(
        self, query: str, meter: Meter, count: int | None, model: str | None, choice: WebChoice
    ) -> list[Document]:
        provider = None
        if choice == "auto":
            try:
                provider = self._web.provider(_WEB, model=model or _NOT_GOOGLE)
            except ConfigurationError:
                provider = None  # another one serves
        provider = provider or self._web.provider(choice, model=model or _NOT_GOOGLE)
        hits = await provider.search(query, meter=meter, count=count)
        return distinct(
            make_document(
                provider.name, "page", hit.title, hit.url, hit.snippet, published=hit.published
            )
            for hit in hits
        )

    async def _probe(self, name: str) -> dict[str, Any]:
        if name in self._off:
            return _report(name, False, None, self._off[name])
        source = self._sources[name]
        try:
            if isinstance(source, AkShare):
                return _report(name, True, True, await source.health())
            meter = _probe_meter(self._timeout)
            documents = await source.search(_PROBES.get(name, _PROBE), meter=meter, count=1)
        except AgentError as error:
            # A busy pool is how it is without a key.
            return _report(name, True, error.code == "degraded", error.message)
        return _report(name, True, True, "answers" if documents else "answers, without results")


def _built(settings: Any, http: SearchHttp, calls: Calls) -> dict[str, Callable[[], Found]]:
    """How each source is built from the settings: itself, or why it is off."""

    def wikipedia() -> Found:
        agent = settings.wikipedia_user_agent or f"tanlu/{__version__} ({REPOSITORY})"
        if not _CONTACT.search(agent):
            return None, _unnamed("WIKIPEDIA_USER_AGENT", agent, "MyTool/1.0 (me@example.org)")
        return Wikipedia(http, calls, _endpoint(settings, "wikipedia", agent)), ""

    def openalex() -> Found:
        if settings.openalex_api_key is None:
            return None, "OPENALEX_API_KEY is not set (a key is free of charge)"
        return OpenAlex(http, calls, _endpoint(settings, "openalex")), ""

    def semantic_scholar() -> Found:
        return SemanticScholar(http, calls, _endpoint(settings, "semantic_scholar")), ""

    def sec() -> Found:
        agent = settings.sec_user_agent
        if not agent or not _MAIL.fullmatch(agent):
            return None, _unnamed("SEC_USER_AGENT", agent, "Company Name me@example.org")
        return SecEdgar(http, calls, _endpoint(settings, "sec_edgar", agent)), ""

    def finance() -> Found:
        folder = settings.akshare_path
        if reason := akshare.why_off(folder):
            return None, reason
        return AkShare(calls, timeout=settings.akshare_timeout_seconds, folder=folder), ""

    return {
        "wikipedia": wikipedia,
        "openalex": openalex,
        "semantic_scholar": semantic_scholar,
        "sec_edgar": sec,
        "akshare": finance,
    }


def _linked(document: Document, base: str | None) -> Document:
    """The document with its links, and those of its figures, below `base` where one is set."""
    if not base:
        return document

    def below(url: str) -> str:
        return url if not url or url.startswith(base) else f"{base}/{url.partition('://')[2]}"

    linked = Document(**{**document, "url": below(document["url"])})
    if figures := document.get("figures"):
        linked["figures"] = [Figure(**{**row, "url": below(row["url"])}) for row in figures]
    return linked


def _endpoint(settings: Any, name: str, user_agent: str | None = None) -> SourceEndpoint:
    return SourceEndpoint(
        base_url=getattr(settings, f"{name}_base_url"),
        key=getattr(settings, f"{name}_api_key", None),
        default_count=getattr(settings, f"{name}_default_count"),
        timeout=settings.search_timeout_seconds,
        user_agent=user_agent or f"tanlu/{__version__}",
    )


def _unnamed(variable: str, given: str | None, example: str) -> str:
    """The service wants to know whom to turn to."""
    return f"{variable} {'names no contact' if given else 'is not set'}; such as: {example}"


def _probe_meter(seconds: float) -> Meter:
    """A turn of its own, so that no earlier probe's reply is taken for this one's."""
    limits = Limits(
        max_searches=5,
        max_model_calls=1,
        max_map_calls=0,
        max_run_tokens=1000,
        max_run_seconds=seconds,
        answer_seconds=0,
    )
    return Budget(f"probe-{uuid.uuid4().hex}", limits).meter()


def _report(name: str, is_configured: bool, works: bool | None, message: str) -> dict[str, Any]:
    return {"provider": name, "configured": is_configured, "works": works, "message": message}
