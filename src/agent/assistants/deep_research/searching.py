"""Searches of one step: each query on its own, so that a failure costs only itself."""

import asyncio
import time
from dataclasses import dataclass, field

from agent.assistants.deep_research.state import FoundPage
from agent.assistants.deep_research.toolbox import DeepSearch, search_services
from agent.assistants.deep_research.wording import say
from agent.budget import Meter
from agent.configuration import Configuration
from agent.errors import AgentError
from agent.evidence.lengths import cut_to_tokens, estimated_tokens
from agent.evidence.links import link_url
from agent.evidence.types import Gap
from agent.nodes.gaps import gap_of
from agent.nodes.searching import ask_services, page_row, result_element
from agent.progress import Emit, event
from agent.search.types import Hit, SearchProvider
from agent.state import Turn

NODE = "act"
_SNIPPET_TOKENS = 220


@dataclass
class Found:
    """What one query brought."""

    query: str
    pages: list[FoundPage] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    failure: str = ""

    def shown(self, turn: Turn, tokens: int) -> str:
        """The results as the model reads them, cut to about so many tokens."""
        language, rows, left = turn["language"], list[str](), tokens
        if self.failure:
            return result_element(self.query, [say("failed", language, reason=self.failure)])
        for page in self.pages:
            snippet = cut_to_tokens(page["snippet"], min(_SNIPPET_TOKENS, max(left // 2, 40)))
            about = {"title": page["title"], "site": page["site"], "date": page["published"]}
            row = page_row(snippet, url=page["url"], **about)
            if (left := left - estimated_tokens(row)) < 0:
                break
            rows.append(row)
        return result_element(self.query, rows or [say("nothing", language)])


@dataclass(frozen=True)
class Searching:
    """The services of a step, and what is told of their work."""

    web: DeepSearch
    configuration: Configuration
    turn: Turn
    meter: Meter
    emit: Emit

    async def all(self, queries: list[str], first: int) -> list[Found]:
        """Every query at once; `first` numbers them in the progress. Never raises for one."""
        try:
            services = search_services(self.web, self.configuration)
        except AgentError as error:
            failed = [gap_of(query, error, "web", self.turn["language"]) for query in queries]
            return [self._failed(gap) for gap in failed]
        return await asyncio.gather(
            *(self._one(query, services, f"s{first + n}") for n, query in enumerate(queries))
        )

    async def _one(self, query: str, services: list[SearchProvider], name: str) -> Found:
        began = time.monotonic()
        self.emit(event("search_started", NODE, id=name, text=query))
        found = await self._asked(query, services)
        for gap in found.gaps:
            self.emit(event("gap", NODE, id=name, text=gap["message"]))
        seconds = time.monotonic() - began
        self.emit(
            event("search_done", NODE, id=name, text=query, count=len(found.pages), seconds=seconds)
        )
        return found

    async def _asked(self, query: str, services: list[SearchProvider]) -> Found:
        model = self.configuration.research_model
        brought = await ask_services(query, services, turn=self.turn, model=model, meter=self.meter)
        pages = [_page(hit, brought.service) for hit in brought.hits]
        return Found(query, pages, brought.gaps, brought.failure)

    def _failed(self, gap: Gap) -> Found:
        return Found(gap["query"], gaps=[gap], failure=gap["message"])


def _page(hit: Hit, provider: str) -> FoundPage:
    return FoundPage(
        url=link_url(hit.url),
        title=hit.title,
        site=hit.site,
        snippet=hit.snippet,
        published=hit.published,
        provider=provider,
    )
