"""Open the pages that a search has found, side by side, so that a model reads their own words."""

import asyncio
import logging
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from agent.assistants.common.reading import open_whole_page
from agent.assistants.common.services import Services
from agent.assistants.common.workspace import Item
from agent.core.budget import Meter
from agent.core.concurrency import SingleFlight
from agent.core.errors import AgentError
from agent.core.faults import contained
from agent.evidence.markdown import canonical
from agent.evidence.references import is_domain
from agent.search.google import is_redirect
from agent.search.hits import Hit

log = logging.getLogger(__name__)
OF_A_SEARCH = 6
"""Hits of one search whose pages may be opened; the others are shown as the search shows them."""
SECONDS, FOR_FIRST = 8.0, 24.0
"""That a search waits for its pages, and for the first of them where that is none yet: whoever
searches would go on by the search's few words, as all do under load."""


@dataclass
class PageOpener:
    """Open pages for all searches of one step.

    Robots, addresses inside and each host's pace are the reader's to heed. A page that cannot be
    had is no failure of the search: what the search itself shows of it stays.
    """

    services: Services
    meter: Meter
    left: int
    """Pages that may still be read in the turn; counted down."""
    of_a_search: int = OF_A_SEARCH
    """How many of one search."""
    parallel: int = 5
    known: Iterable[Item] = ()
    """What was read before: it is not opened again."""
    seconds: float = SECONDS
    for_first: float = FOR_FIRST
    opened: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._places = asyncio.Semaphore(max(1, self.parallel))
        self._flights = SingleFlight()
        self._read = {canonical(each.url): each for each in self.known if each.text}

    async def open(self, hits: Sequence[Hit]) -> list[Hit]:
        """Return the hits with the text of their pages, as far as these come in time.

        A page that cannot be had leaves its place to the next one. What was read before costs none.
        """
        is_known = any(canonical(hit.url) in self._read for hit in hits)
        unread, lanes = iter(hits[:OF_A_SEARCH]), range(min(self.of_a_search, OF_A_SEARCH))
        tasks = [asyncio.ensure_future(self._first(unread)) for _ in lanes]
        await self._wait(tasks, is_known=is_known)
        for task in tasks:
            task.cancel()
        for outcome in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(outcome, Exception):
                raise outcome
        return [self._with_page(hit) for hit in hits]

    async def _wait(self, tasks: Iterable["asyncio.Task[bool]"], *, is_known: bool) -> None:
        """Wait for pages until their time is over, and on for a first one where none is known."""
        pending, until = {*tasks}, time.monotonic() + self.for_first
        seconds, ends = self.seconds, asyncio.ALL_COMPLETED
        while pending:
            left = max(0.0, min(seconds, self.meter.remaining()))
            done, pending = await asyncio.wait(pending, timeout=left, return_when=ends)
            if not left or is_known or any(task.exception() or task.result() for task in done):
                return
            seconds, ends = until - time.monotonic(), asyncio.FIRST_COMPLETED

    async def _first(self, hits: Iterator[Hit]) -> bool:
        """Read the first page that was not read before and can be had; False where none can."""
        for hit in hits:
            key = canonical(hit.url)
            if key not in self._read and await self._flights.do(key, partial(self._open, hit, key)):
                return True
        return False

    def _with_page(self, hit: Hit) -> Hit:
        page = self._read.get(canonical(hit.url))
        if page is None:
            return hit
        # Google names a page by its site alone.
        title = page.title if page.title and is_domain(hit.title) else hit.title
        return replace(hit, title=title, url=page.url, text=page.text,
                       published=hit.published or page.date or None)  # fmt: skip

    async def _open(self, hit: Hit, key: str) -> bool:
        """Read a page; return False where it cannot be had, or no more may be read."""
        async with self._places:
            if self.left <= 0:
                return False
            self.left -= 1
            try:
                with contained("reader"):
                    page = await open_whole_page(hit.url, self.services, self.meter)
                if page.text.strip():
                    own = page.address if is_redirect(hit.url) else ""
                    self._read[key] = Item("page", page.title, own or hit.url, text=page.text,
                                           date=page.published)  # fmt: skip
            except AgentError as error:
                log.info("turn=%s not opened: %s", self.meter.turn_id, error)
            finally:
                # A page that says nothing leaves room for another.
                is_read = key in self._read
                self.left += not is_read
                self.opened += is_read
            return is_read
