"""Define search: queries to hits, and queries to marked text with sources."""

import logging
from dataclasses import dataclass, field
from typing import Literal, Protocol

from agent.core.budget import Meter
from agent.core.errors import AgentError
from agent.evidence.types import Gap, Source
from agent.search.rules import ANY, SearchRules
from agent.texts import Language, reason_of, say

log = logging.getLogger(__name__)
WebChoice = Literal["auto", "google", "tavily", "serper", "bocha", "off"]


@dataclass(frozen=True)
class Hit:
    """Hold one search result; `published` as the service words it, or None."""

    title: str
    url: str
    snippet: str
    site: str = ""
    published: str | None = None


class Hits(list[Hit]):
    """Hold hits with what the search said beside them."""

    remarks: tuple[str, ...] = ()
    """Sentences without a source, such as what was not found; nobody can cite them."""


@dataclass(frozen=True)
class PageContent:
    """Hold the text of a page that a service has read; `url` as requested."""

    url: str
    text: str


class SearchProvider(Protocol):
    """Search hits by a query."""

    name: str

    async def search(self, query: str, *, meter: Meter, count: int | None = None) -> list[Hit]:
        """Return at most `count` hits (default: the service's setting); raise ProviderError."""
        ...


@dataclass(frozen=True)
class WebTask:
    """Hold one query of a branch; source ids begin with `prefix` ("w0")."""

    query: str
    prefix: str
    language: Language
    today: str
    model: str
    """The research model, which searches or writes the hits up."""
    choice: WebChoice = "auto"
    rules: SearchRules = ANY


@dataclass(frozen=True)
class WebResult:
    """Hold marked text (`[^w0-2]`) with its sources and gaps."""

    text: str
    sources: list[Source] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    executed: list[str] = field(default_factory=list)
    """The searches that really ran (what Google bills)."""
    search_entry_points: list[str] = field(default_factory=list)
    """Google's search suggestions (HTML), to be shown unmodified with the answer."""


LABELS = {"google": "Google", "tavily": "Tavily", "serper": "Serper", "bocha": "Bocha"}


def search_gap(task: WebTask, provider: str, code: str, *, text: str = "", **values: str) -> Gap:
    """Return a gap in the user's language; `text` names the wording, default the code."""
    values = {"service": LABELS.get(provider, provider), **values}
    message = say(f"search.{text or code}", task.language, **values)
    return Gap(query=task.query, provider=provider, code=code, message=message)


def failure_gap(task: WebTask, provider: str, error: AgentError, *, text: str, **more: str) -> Gap:
    """Return the gap of an error, with its code."""
    reason = reason_of(error, task.language)
    log.info("%s search failed: %s (%s)", provider, error, error.code)
    return search_gap(task, provider, error.code, text=text, reason=reason, **more)
