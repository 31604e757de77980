"""Let a model open a page that this turn has shown it: its passages nearest to what it looks for.

Nothing else is fetched. An address that neither a search nor a page read before has shown is
refused without a request, and a page's links become readable with the page that holds them.
"""

import asyncio
import logging
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from langchain_core.messages import ToolCall
from langchain_core.tools import BaseTool, tool

from agent.assistants.common.gaps import gap_of
from agent.assistants.common.services import Services
from agent.assistants.common.workspace import Item, choose, passages_by_queries, runs
from agent.core.budget import Meter
from agent.core.errors import AgentError, ProviderError
from agent.core.faults import contained
from agent.core.processor import compute
from agent.core.strings import cut_to_tokens, estimated_tokens
from agent.evidence.language import without_marks
from agent.evidence.markdown import canonical, first_heading, link_url
from agent.evidence.queries import clean_text
from agent.evidence.types import Gap
from agent.knowledge.ranking import Bm25, best_first
from agent.prompts import element, fence
from agent.search.hits import only_known
from agent.texts import Language, reason_of, say

log = logging.getLogger(__name__)
READ = "read_page"
PAGE_TOKENS = 2000
"""Tokens of a page's passages that a model is shown."""
MAX_TEXT = 120_000
"""Characters kept of a page; the longest page of a manual has half of that."""
_MAX_LINKS, _LEAST_TOKENS = 10, 200
_MAX_ADDRESS, _MAX_WANTED, _MAX_TITLE = 2000, 400, 200
_MARKDOWN_LINK = re.compile(r"\[([^\[\]\n]{2,120})\]\((https?://[^\s()]{1,500})\)")


@tool
def read_page(url: str, looking_for: str) -> str:
    """Open a page that a search or a page read before has shown, by its url or id.

    Brings the passages nearest to looking_for, and links that can be opened likewise.
    """
    return ""


READING: BaseTool = read_page


@dataclass(frozen=True)
class Wanted:
    """Hold a call of the tool: the page as the model names it, and the words to look for."""

    page: str
    looking_for: str


@dataclass(frozen=True)
class OpenedPage:
    """Hold a page as it was read, or why not; `links` are the words of each address."""

    url: str
    """As asked."""
    title: str = ""
    text: str = ""
    passages: tuple[str, ...] = ()
    """The nearest ones, in the order of the page."""
    best: str = ""
    """The nearest of all."""
    links: dict[str, str] = field(default_factory=dict)
    address: str = ""
    """Its own, after redirects, where our reader read it."""
    published: str = ""
    """The day, where the page says it."""
    partial: bool = False
    failure: str = ""
    """In the user's language, for the model; empty where the page was read."""
    gap: Gap | None = None
    """For the reader of the answer, where a page that could have been read was not."""

    def shown(
        self, language: Language, before: Iterable[str] = (), **attributes: str | None
    ) -> str:
        """Return the page as a model reads it, and whether that is all that can be had of it.

        What a model has in texts before it is not shown again.
        """
        if self.failure:
            return say("reading.failed", language, reason=self.failure)
        is_whole, text = self.passages == (self.text,), "\n…\n".join(self.passages)
        own = without_marks(fence(self.text))
        if is_whole and own and any(own in without_marks(each) for each in before):
            is_whole, text = False, say("reading.above", language)
        # What ends like this was cut where it was published.
        is_partial = self.partial or self.text.rstrip().endswith(("…", "..."))
        page = element(
            "page", text, **attributes, url=self.url, title=self.title,
            published=self.published or None, partial="yes" if is_partial else "no",
        )  # fmt: skip
        links = [element("link", words, url=url) for url, words in self.links.items()]
        return "\n".join([page, *([say("reading.all", language)] if is_whole else []), *links])


def wanted_page(call: ToolCall) -> Wanted:
    """Return what a call of the tool asks for; empty texts where it says nothing usable."""
    arguments = call["args"]
    names = (arguments.get("url"), arguments.get("id"))
    page = next((name for name in names if isinstance(name, str) and name.strip()), "")
    looking_for = arguments.get("looking_for")
    words = clean_text(looking_for, _MAX_WANTED) if isinstance(looking_for, str) else ""
    return Wanted(page.strip().strip("[]^<>")[:_MAX_ADDRESS], words)


@dataclass(frozen=True)
class PageReading:
    """Open pages within one step of a turn, `parallel` at a time.

    `addresses` are all that may be opened; `ids` are other names of some of them.
    """

    services: Services
    meter: Meter
    language: Language
    addresses: Collection[str]
    ids: Mapping[str, str] = field(default_factory=dict)
    titles: Mapping[str, str] = field(default_factory=dict)
    """Of addresses, as a search has shown them; for pages whose own is not known."""
    parallel: int = 5
    free: Collection[str] = ()
    """Canonical addresses that were read in this turn already: to show them costs nothing."""

    async def open_all(
        self, wanted: Sequence[Wanted], *, left: int, tokens: int = PAGE_TOKENS
    ) -> list[OpenedPage]:
        """Return each page in order, read or with its failure; `left` of them may still be read.

        Never raises for a page.
        """
        by_address = {canonical(url): url for url in self.addresses}
        urls = [self.ids.get(each.page) or by_address.get(canonical(each.page), "")
                for each in wanted]  # fmt: skip
        costly = [n for n, url in enumerate(urls) if url and canonical(url) not in self.free]
        places = asyncio.Semaphore(max(1, self.parallel))

        async def one(number: int, each: Wanted) -> OpenedPage:
            url = urls[number]
            if not url:
                reason = say("reading.not_shown", self.language)
                return OpenedPage(each.page, failure=reason)
            if number in costly[max(0, left) :]:
                return OpenedPage(url, failure=say("reading.spent", self.language))
            async with places:
                return await self._open(url, each.looking_for, max(_LEAST_TOKENS, tokens))

        return list(await asyncio.gather(*(one(n, each) for n, each in enumerate(wanted))))

    async def _open(self, url: str, looking_for: str, tokens: int) -> OpenedPage:
        try:
            page = await open_whole_page(url, self.services, self.meter)
        except AgentError as error:
            gap = gap_of(url, error, "reader", self.language)
            return OpenedPage(url, failure=reason_of(error, self.language), gap=gap)
        page = replace(page, title=page.title or self.titles.get(url, ""))
        begin = cut_to_tokens(page.text, tokens)
        return await compute(
            lambda: _nearest(page, looking_for, tokens),
            otherwise=lambda: replace(page, passages=(begin,), best=begin, links={}),
        )


def partly_read_gap(page: OpenedPage, language: Language) -> list[Gap]:
    """Return the gap of a page of which something was left out; else none."""
    if not page.partial:
        return []
    message = say("reading.partly", language, title=page.title or page.url)
    return [Gap(query=page.url, provider="reader", code="page_partial", message=message)]


async def open_whole_page(url: str, services: Services, meter: Meter) -> OpenedPage:
    """Return a page with its whole text, paid for once in a turn; raise AgentError.

    Our own reader comes first, as it brings links; where it fails, the search service reads.
    """
    try:
        article = await services.reader().read(url, meter=meter)
    except ProviderError:
        if not services.web.can_extract:
            raise
        contents = await services.web.extract([url], meter=meter)
        if not contents:
            raise
        text, partial, links = contents[0].text, False, dict[str, str]()
        address = published = ""
        title = first_heading(text)
    else:
        text, title = article.text, article.title
        partial, links, address = article.partial, article.links, article.final_url
        published = article.published
    # A page could write our markers to have itself cited under another source's name.
    safe = only_known(text[:MAX_TEXT], ())
    links = links or {address: words for words, address in _MARKDOWN_LINK.findall(text)}
    return OpenedPage(
        url, only_known(title, ())[:_MAX_TITLE], safe, links=links, address=address,
        published=published, partial=partial or len(text) > MAX_TEXT,
    )  # fmt: skip


async def read_side_by_side(
    urls: Iterable[str], services: Services, meter: Meter, *, parallel: int = 8
) -> dict[str, OpenedPage | AgentError]:
    """Return each page whole, or why it was not read, by its address; never raise for a page."""
    unique, places = list(dict.fromkeys(urls)), asyncio.Semaphore(max(1, parallel))

    async def one(url: str) -> OpenedPage | AgentError:
        async with places:
            try:
                with contained("reader"):
                    return await open_whole_page(url, services, meter)
            except AgentError as error:
                log.info("turn=%s page not read: %s", meter.turn_id, error)
                return error

    return dict(zip(unique, await asyncio.gather(*map(one, unique)), strict=True))


def _nearest(page: OpenedPage, looking_for: str, tokens: int) -> OpenedPage:
    """Return the page with the passages and the links that are nearest."""
    links = _nearest_links(page.links, looking_for)
    item = Item("page", page.title, page.url, text=page.text)
    best = next((passage.text for passage in passages_by_queries([item], [looking_for])), page.text)
    whole = estimated_tokens(page.text) <= tokens
    near = [page.text] if whole else runs(choose([item], [looking_for], tokens))
    near = near or [cut_to_tokens(best, tokens)]
    return replace(page, passages=tuple(near), best=best, links=links)


def _nearest_links(links: Mapping[str, str], looking_for: str) -> dict[str, str]:
    addresses = [url for url in links if link_url(url)]
    scores = Bm25([f"{links[url]} {url}" for url in addresses]).scores(looking_for)
    chosen = sorted(place for place, _ in best_first(scores)[:_MAX_LINKS])
    return {link_url(addresses[n]): only_known(links[addresses[n]], ()) for n in chosen}
