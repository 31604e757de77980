"""Read web pages: fetch, then extract the text; within a turn each page is read once."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from urllib.parse import urldefrag, urljoin

from agent.core.budget import Meter
from agent.core.calls import Calls, Policy
from agent.core.errors import MalformedReply
from agent.core.outside import parse_json
from agent.reading.extract import KINDS, Extractor
from agent.reading.fetch import Fetcher

_SECONDS = 3600.0
"""The fetcher and the extractor have limits of their own, which do not count waiting for a turn."""


@dataclass(frozen=True)
class Article:
    """Hold the text of a page; `partial` if something was left out; `kind` is html, pdf or text."""

    url: str
    """As asked."""
    title: str
    text: str
    partial: bool
    kind: str
    final_url: str
    """After redirects."""
    links: dict[str, str] = field(default_factory=dict)
    """The words of each link, under its address in full."""
    published: str = ""
    """The day, 2025-11-13, where the page says it."""


class Reader:
    """Read pages for every run of the process, from any event loop."""

    def __init__(self, calls: Calls, fetcher: Fetcher, extractor: Extractor | None = None) -> None:
        self._calls, self._fetcher = calls, fetcher
        self._extractor = extractor or Extractor()

    async def read(self, url: str, *, meter: Meter) -> Article:
        """Return the article behind a URL, in the turn's reply cache once read.

        Raises UnsafeUrl, BudgetExceeded, or the ProviderErrors of Fetcher.get and
        Extractor.extract.
        """
        policy = Policy("reader", None, timeout=_SECONDS, attempts=1)
        text = await self._calls.once(
            policy, lambda: self._read(url, meter), meter=meter, request={"read": url}
        )
        try:
            return Article(**parse_json(text))
        except (ValueError, TypeError):
            raise MalformedReply("reader", "what the reply cache kept cannot be read") from None

    async def _read(self, url: str, meter: Meter) -> str:
        if meter.remaining() <= 0:
            raise meter.budget.out_of_time()
        page = await self._fetcher.get(url, meter=meter, kinds=KINDS)
        extracted, kind = await self._extractor.extract(page.body, page.content_type)
        article = Article(
            url, extracted.title, extracted.text, extracted.partial, kind, page.final_url,
            _full_links(extracted.links, page.final_url), extracted.published,
        )  # fmt: skip
        return json.dumps(asdict(article), ensure_ascii=False)


def _full_links(links: Mapping[str, str], base: str) -> dict[str, str]:
    """Return the links that lead to another web page, by their address in full."""
    full: dict[str, str] = {}
    for written, words in links.items():
        try:
            address = urldefrag(urljoin(base, written)).url
        except ValueError:
            continue
        if address.startswith(("http://", "https://")) and address != urldefrag(base).url:
            full.setdefault(address, words)
    return full
