"""What `deep_research` is given: the shared toolbox, with hits and page texts."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

from agent.assistants.common.search import Hits, services_of
from agent.assistants.common.toolbox import Toolbox, settings_or
from agent.assistants.deep_research.state import DeepConfiguration, DeepState
from agent.configuration import Configuration
from agent.core.budget import Meter
from agent.core.errors import AgentError
from agent.evidence.geo import parse_lnglat
from agent.evidence.intent import has_location_intent
from agent.search.types import PageContent, SearchProvider, WebChoice, WebResearch


class DeepSearch(WebResearch, Hits, Protocol):
    """The search desk, as far as this assistant uses it."""

    @property
    def can_extract(self) -> bool:
        """Whether a configured service reads pages."""
        ...

    async def extract(self, urls: Sequence[str], *, meter: Meter) -> list[PageContent]:
        """The texts of those pages that could be read; raises ProviderError."""
        ...


class Readings(Protocol):
    """The pages that could be read, in order, and the others."""

    @property
    def articles(self) -> Sequence["Article"]: ...

    @property
    def failures(self) -> Mapping[str, AgentError]:
        """Why a page could not be read, by its URL."""
        ...


class Article(Protocol):
    """The text behind a URL; `partial` where something of it was left out."""

    @property
    def url(self) -> str: ...

    @property
    def text(self) -> str: ...

    @property
    def partial(self) -> bool: ...


class PageReader(Protocol):
    """Our own reader of pages."""

    async def read_many(self, urls: Iterable[str], *, meter: Meter, parallel: int = 8) -> Readings:
        """Never raises for a page: one that fails is among the failures."""
        ...


class DeepToolbox(Toolbox, Protocol):
    """The services of a process."""

    @property
    def web(self) -> DeepSearch: ...

    @property
    def reader(self) -> PageReader: ...


DeepServices = Callable[[], DeepToolbox]


settings_of = settings_or(DeepConfiguration)
"""This run's configuration; without one, this assistant's defaults."""


def offers_maps(state: DeepState, configuration: Configuration) -> bool:
    """Whether the map's tools belong to this question, and can still be had."""
    if configuration.geo_routing == "never":
        return False
    if any(gap["provider"] == "amap" for gap in state.get("gaps", [])):
        return False
    turn = state["turn"]
    question = turn["question"]
    placed = has_location_intent(question) or parse_lnglat(question) is not None
    return placed or configuration.geo_routing == "always"


def search_services(web: DeepSearch, configuration: Configuration) -> list[SearchProvider]:
    """The services a query is sent to, the second where the first one fails.

    Raises ConfigurationError where there is none. Tavily comes first: it also reads pages.
    """
    choice = configuration.web_search
    choices: tuple[WebChoice, ...] = ("tavily", "auto") if choice == "auto" else (choice,)
    found = services_of(web, choices, model=configuration.research_model)
    return list({service.name: service for service in found.values()}.values())
