"""Hold the sources of documents by name: on, or off for a reason.

To add one: its file here, its line in NAMES and in `_built`, its settings, and its stand-in in
`sample/`.
"""

import asyncio
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Literal

from agent import __version__
from agent.core.budget import Budget, Limits, Meter
from agent.core.calls import Calls
from agent.core.errors import AgentError, ConfigurationError
from agent.search import akshare, sec_edgar
from agent.search.akshare import AkShare
from agent.search.documents import (
    Document,
    Documents,
    DocumentSource,
    FiledFigure,
    SourceEndpoint,
    distinct_documents,
    make_document,
)
from agent.search.hits import Hits, SearchProvider, WebChoice
from agent.search.http import SearchHttp
from agent.search.openalex import OpenAlex
from agent.search.rules import ANY, SearchRules
from agent.search.sec_edgar import SecEdgar
from agent.search.semantic_scholar import SemanticScholar
from agent.search.web import WebSearch
from agent.search.wikipedia import Wikipedia

NAMES = ("wikipedia", "openalex", "semantic_scholar", "tavily", "sec_edgar", "akshare")
"""`tavily` is the web: Tavily where it is configured, else the web search that is."""
_WEB: Literal["tavily"] = "tavily"
_RATE = 10.0
"""Requests a second where no setting (`<name>_qps`) says otherwise."""
_PROBES: Mapping[str, str] = {"sec_edgar": "annual report battery"}
_PROBE = "battery"
_WITHOUT_CONTACT = "self-hosted research assistant"
# Whom to ask where the caller names no research model: not one that searches by itself.
_NOT_GOOGLE = "openai:any"
Built = tuple[DocumentSource | None, str]


class DocumentSources:
    """Hold every source by name; `settings` has their keys, addresses and counts."""

    def __init__(self, settings: Any, calls: Calls, web: WebSearch) -> None:
        self._web = web
        self._timeout: float = settings.search_timeout_seconds
        self._links: str | None = getattr(settings, "library_links_url", None)
        self._sources: dict[str, DocumentSource] = {}
        self._off: dict[str, str] = {}
        for name, build in _builders(settings, web.http, calls).items():
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
        rules: SearchRules = ANY,
        today: str = "",
    ) -> list[Document]:
        """Return the documents of a source, named with or without `_search`.

        `model` (the research model), `choice` and the rules' sites are for the web only; how new
        it must be, counted back from `today`, is for papers, too. Raises ProviderError,
        BudgetExceeded, and ConfigurationError for a source that is off or unknown.
        """
        source_name = name.removesuffix("_search")
        if source_name == _WEB:
            provided = partial(
                self._web.provider, model=model or _NOT_GOOGLE, rules=rules, today=today
            )
            return await _pages(_chosen(choice, provided), query, meter, count)
        source = self._sources.get(source_name)
        if source is None:
            raise ConfigurationError(source_name, self._off.get(source_name, "is not a source"))
        since = rules.first_day(today) if rules.since and today else ""
        documents = await source.search(query, meter=meter, count=count, since=since)
        return [_with_links(document, self._links) for document in documents]

    def offered(self, model: str | None = None) -> list[str]:
        """Return the names of the sources that are on."""
        off = self.off(model)
        return [name for name in NAMES if name not in off]

    def off(self, model: str | None = None) -> dict[str, str]:
        """Return why each of the others is off, naming what to set."""
        off = dict(self._off)
        try:
            self._web.provider("auto", model=model or _NOT_GOOGLE)
        except ConfigurationError as error:
            off[_WEB] = error.problem
        return {name: off[name] for name in NAMES if name in off}

    async def health(self) -> list[dict[str, Any]]:
        """Return {provider, configured, works, message} for each but the web; probe those on."""
        return list(await asyncio.gather(*(self._probe(n) for n in NAMES if n != _WEB)))

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


def _chosen(choice: WebChoice, provided: Callable[[WebChoice], SearchProvider]) -> SearchProvider:
    """Return the service of a choice; of `auto`, Tavily where it is configured."""
    if choice == "auto":
        with suppress(ConfigurationError):
            return provided(_WEB)
    return provided(choice)


async def _pages(
    provider: SearchProvider, query: str, meter: Meter, count: int | None
) -> list[Document]:
    hits = await provider.search(query, meter=meter, count=count)
    pages = Documents(distinct_documents(
        make_document(
            provider.name, "page", hit.title, hit.url, hit.snippet, published=hit.published
        )
        for hit in hits
    ))  # fmt: skip
    if isinstance(hits, Hits):
        pages.older_than, pages.ruled_out = hits.older_than, hits.ruled_out
    return pages


def _is_mail(word: str) -> bool:
    name, _, host = word.partition("@")
    return bool(name) and "." in host.strip(".") and "@" not in host


def _builders(settings: Any, http: SearchHttp, calls: Calls) -> dict[str, Callable[[], Built]]:
    """Return the builder of each source, which gives the source, or the reason why it is off."""

    def wikipedia() -> Built:
        agent = settings.wikipedia_user_agent
        if not agent:
            agent = f"tanlu/{__version__} ({settings.tanlu_contact or _WITHOUT_CONTACT})"
        elif not (any(map(_is_mail, agent.split())) or "https://" in agent or "http://" in agent):
            return None, _contact_problem(
                "WIKIPEDIA_USER_AGENT", agent, "MyTool/1.0 (me@example.org)"
            )
        return Wikipedia(http, calls, _endpoint(settings, "wikipedia", agent)), ""

    def openalex() -> Built:
        if settings.openalex_api_key is None:
            return None, "OPENALEX_API_KEY is not set (a key is free of charge)"
        return OpenAlex(http, calls, _endpoint(settings, "openalex")), ""

    def semantic_scholar() -> Built:
        return SemanticScholar(http, calls, _endpoint(settings, "semantic_scholar")), ""

    def sec() -> Built:
        agent = settings.sec_user_agent
        if len(words := (agent or "").split()) < 2 or not _is_mail(words[-1]):
            return None, _contact_problem("SEC_USER_AGENT", agent, "Company Name me@example.org")
        return SecEdgar(http, calls, _endpoint(settings, "sec_edgar", agent)), ""

    def finance() -> Built:
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


def _with_links(document: Document, base: str | None) -> Document:
    """Return the document with its links, and those of its figures, below `base` if one is set."""
    if not base:
        return document

    def below(url: str) -> str:
        return url if not url or url.startswith(base) else f"{base}/{url.partition('://')[2]}"

    copy = Document(**{**document, "url": below(document["url"])})
    if figures := document.get("figures"):
        copy["figures"] = [FiledFigure(**{**row, "url": below(row["url"])}) for row in figures]
    return copy


def _endpoint(settings: Any, name: str, user_agent: str | None = None) -> SourceEndpoint:
    return SourceEndpoint(
        base_url=getattr(settings, f"{name}_base_url"),
        key=getattr(settings, f"{name}_api_key", None),
        default_count=getattr(settings, f"{name}_default_count"),
        timeout=settings.search_timeout_seconds,
        user_agent=user_agent or f"tanlu/{__version__}",
    )


def _contact_problem(variable: str, contact: str | None, example: str) -> str:
    """Return why a source is off that wants a contact."""
    return f"{variable} {'names no contact' if contact else 'is not set'}; such as: {example}"


def _probe_meter(seconds: float) -> Meter:
    """Return the meter of a turn of its own, so that no cached reply answers the probe."""
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
