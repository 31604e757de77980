"""Reading web pages: fetch, then take the text out. What was read in a turn is read once."""

import asyncio
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from agent.core.budget import Meter
from agent.core.calls import Calls, Policy
from agent.core.errors import AgentError, BudgetExceeded, MalformedReply
from agent.reading.extract import KINDS, Extractor
from agent.reading.fetch import Fetcher

_SECONDS = 3600.0
"""The fetcher and the extractor have limits of their own, which do not count waiting for a turn."""


@dataclass(frozen=True)
class Article:
    """The text of a page; `partial` if something was left out; `kind` is html, pdf or text."""

    url: str
    """As asked."""
    title: str
    text: str
    partial: bool
    kind: str
    final_url: str
    """After redirects."""


@dataclass(frozen=True)
class Readings:
    """Articles in the order asked, and each failure under its URL."""

    articles: list[Article]
    failures: dict[str, AgentError]


class Reader:
    """Reads pages for every run of the process, from any event loop."""

    def __init__(self, calls: Calls, fetcher: Fetcher, extractor: Extractor | None = None) -> None:
        self._calls, self._fetcher = calls, fetcher
        self._extractor = extractor or Extractor()

    async def read(self, url: str, *, meter: Meter) -> Article:
        """The article behind a URL, in the turn's journal once read.

        Raises UnsafeUrl, BudgetExceeded, or the ProviderErrors of Fetcher.get and
        Extractor.extract.
        """
        policy = Policy("reader", None, timeout=_SECONDS, attempts=1)
        text = await self._calls.once(
            policy, lambda: self._read(url, meter), meter=meter, request={"read": url}
        )
        try:
            return Article(**json.loads(text))
        except (ValueError, TypeError):
            raise MalformedReply("reader", "what the journal kept cannot be read") from None

    async def read_many(self, urls: Iterable[str], *, meter: Meter, parallel: int = 8) -> Readings:
        """Every page, `parallel` at a time; one that fails does not stop the others.

        A spent budget is a failure of the pages it left unread.
        """
        wanted = list(dict.fromkeys(urls))
        places = asyncio.Semaphore(max(1, parallel))

        async def one(url: str) -> Article | AgentError:
            async with places:
                try:
                    return await self.read(url, meter=meter)
                except AgentError as error:
                    return error

        outcomes = await asyncio.gather(*(one(url) for url in wanted))
        return Readings(
            [outcome for outcome in outcomes if isinstance(outcome, Article)],
            {
                url: outcome
                for url, outcome in zip(wanted, outcomes, strict=True)
                if isinstance(outcome, AgentError)
            },
        )

    async def _read(self, url: str, meter: Meter) -> str:
        if meter.remaining() <= 0:
            raise BudgetExceeded("max_run_seconds", meter.budget.limits.max_run_seconds)
        page = await self._fetcher.get(url, meter=meter, kinds=KINDS)
        found, kind = await self._extractor.extract(page.body, page.content_type)
        article = Article(url, found.title, found.text, found.partial, kind, page.final_url)
        return json.dumps(asdict(article), ensure_ascii=False)
