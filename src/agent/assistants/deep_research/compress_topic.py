"""One topic's branch: its pages read, then compressed to notes with a marker for each fact."""

import logging
import time
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langgraph.runtime import Runtime
from pydantic import BaseModel

from agent.assistants.common.conversation import prompt_tokens
from agent.assistants.common.gaps import ask_or_gap, gap_of, run_gap
from agent.assistants.common.reading import MAX_TEXT, read_whole
from agent.assistants.common.services import GetServices, Services
from agent.assistants.common.turn import open_meter
from agent.assistants.deep_research.state import (
    Counts,
    DeepUpdate,
    PageText,
    TopicBranch,
    TopicResult,
    UsefulPage,
    configuration_of,
)
from agent.configuration import Configuration
from agent.core.budget import Meter
from agent.core.concurrency import Lanes
from agent.core.errors import AgentError
from agent.core.progress import Emit, event
from agent.core.strings import cut_to_tokens, estimated_tokens
from agent.evidence.citations import MARKER, cited_ids
from agent.evidence.types import Gap, Source
from agent.models.catalogue import DEFAULT_THINKING
from agent.models.types import Reply
from agent.prompts import Raw, element, render
from agent.reading.reader import Readings
from agent.search.hits import beginning, only_known, quotes_by_id
from agent.texts import Language

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ReadPage:
    """Hold a page with its text; `partial` where that is an excerpt."""

    page: UsefulPage
    text: str
    partial: bool


async def read_pages(
    pages: Sequence[UsefulPage], services: Services, meter: Meter, language: Language
) -> tuple[list[ReadPage], list[Gap]]:
    """Read every page in order; an unreadable one becomes its excerpt. Never raise for a page."""
    texts = await _read_again([page for page in pages if page.get("opened")], services, meter)
    gaps: list[Gap] = []
    urls = [page["url"] for page in pages if page["url"] not in texts]
    try:
        if not urls:
            pass
        elif services.web.can_extract:
            extracted = await services.web.extract(urls, meter=meter)
            texts |= {content.url: (content.text, False) for content in extracted}
        else:
            readings = await services.reader().read_many(urls, meter=meter)
            texts |= {a.url: (a.text, a.partial) for a in readings.articles if a.text.strip()}
            gaps = _failures(readings, language)
    except AgentError as error:
        log.warning("turn=%s reading: %s", meter.turn_id, error)
        gaps.append(gap_of("", error, "reader", language))
    return [_read(page, texts.get(page["url"])) for page in pages], gaps


async def _read_again(
    pages: Sequence[UsefulPage], services: Services, meter: Meter
) -> dict[str, tuple[str, bool]]:
    """Return the texts of pages that the model opened, which this turn has paid for."""
    texts: dict[str, tuple[str, bool]] = {}
    for page in pages:
        try:
            read = await read_whole(page["url"], services, meter)
        except AgentError as error:
            log.warning("turn=%s reading again: %s", meter.turn_id, error)
        else:
            texts[page["url"]] = read.text, read.partial
    return texts


def _failures(readings: Readings, language: Language) -> list[Gap]:
    """Return one gap for each kind of failure, with the first page it concerns."""
    by_code: dict[str, Gap] = {}
    for url, error in readings.failures.items():
        by_code.setdefault(error.code, gap_of(url, error, "reader", language))
    return list(by_code.values())


def _read(page: UsefulPage, text_found: tuple[str, bool] | None) -> ReadPage:
    text, partial = text_found or (page["snippet"], True)
    # A page could write our markers to have itself cited under another source's name.
    return ReadPage(page, only_known(text[:MAX_TEXT], ()), partial or len(text) > MAX_TEXT)


NODE = "compress_topic"
_PER_PAGE = 80
"""Tokens for a page's tag."""


async def compress_topic(
    state: TopicBranch, runtime: Runtime[Configuration], *, get_services: GetServices, lanes: Lanes
) -> DeepUpdate:
    """Compress a topic into notes; for a failing page or model use marked excerpts."""
    services, configuration = get_services(), configuration_of(runtime)
    meter = open_meter(state["turn"], configuration, services, spent=state["spent"])
    branch = _Branch(state, configuration, services, meter, runtime.stream_writer)
    async with lanes.of(state["turn"]["id"], configuration.max_parallel_reads):
        return await branch.run()


@dataclass(frozen=True)
class _Branch:
    state: TopicBranch
    configuration: Configuration
    services: Services
    meter: Meter
    emit: Emit

    async def run(self) -> DeepUpdate:
        result, turn, began = self.state["result"], self.state["turn"], time.monotonic()
        name, count = f"t{self.state['number']}", len(result["useful_webpages"])
        self.emit(event("reading", NODE, id=name, text=result["topic"], count=count))
        pages, gaps = await read_pages(
            result["useful_webpages"], self.services, self.meter, turn["language"]
        )
        notes, unknown, failed = await self._compress(pages)
        gaps += failed
        if partial := sum(read.partial for read in pages):
            values = {"count": str(partial)}
            gaps.append(
                run_gap(
                    "deep_research.page_partial", turn["language"], query=result["topic"], **values
                )
            )
        for gap in gaps:
            self.emit(event("gap", NODE, id=name, text=gap["message"]))
        seconds = time.monotonic() - began
        self.emit(event("compressed", NODE, id=name, text=result["topic"], count=count,
                        seconds=seconds))  # fmt: skip
        log.info("turn=%s %s %s: %d pages, %d partial, %.1f s",
                 turn["id"], NODE, name, count, partial, seconds)  # fmt: skip
        return DeepUpdate(
            search_results=[_with_notes(result, pages, notes)],
            sources_gathered=_sources(pages, notes),
            pages_read=[PageText(id=read.page["id"], text=read.text) for read in pages],
            counts=Counts(unknown_notes=unknown),
            gaps=gaps,
            usage=self.meter.usage,
        )

    async def _compress(self, pages: list[ReadPage]) -> tuple[str, int, list[Gap]]:
        """Return notes that cite only these pages, and the number of removed notes."""
        language, topic = self.state["turn"]["language"], self.state["result"]["topic"]
        ids = [read.page["id"] for read in pages]
        asking: Awaitable[Reply[BaseModel]] = self.services.models.ask(
            self.configuration.research_model,
            self._prompt(pages),
            meter=self.meter,
            thinking=DEFAULT_THINKING["research"],
        )
        reply, gaps = await ask_or_gap(
            asking,
            self.state["turn"],
            NODE,
            lambda reason: run_gap(
                "deep_research.compress_failed", language, query=topic, reason=reason
            ),
        )
        if reply is None:
            return _excerpts(pages), 0, gaps
        unknown = sum(name not in ids for name in cited_ids(reply.text))
        notes = only_known(reply.text, ids).strip()
        if MARKER.search(notes):
            return notes, unknown, []
        return (
            _excerpts(pages),
            unknown,
            [run_gap("deep_research.compress_unmarked", language, query=topic)],
        )

    def _prompt(self, pages: list[ReadPage]) -> list[BaseMessage]:
        """Return the instructions with the pages, each cut to its share of the limit."""
        turn, limit = self.state["turn"], self.configuration.context_token_limit
        language = turn["language"]
        values = {
            "question": cut_to_tokens(turn["question"], limit // 5),
            "topic": self.state["result"]["topic"],
        }
        system = SystemMessage(render("deep_compress_system", language))
        bare = HumanMessage(render("deep_compress", language, pages="", **values))
        free = limit - prompt_tokens([system, bare]) - 100
        shares = _shares([read.text for read in pages], free - _PER_PAGE * len(pages))
        elements = [_page_element(r, text) for r, text in zip(pages, shares, strict=True)]
        full = render("deep_compress", language, pages=Raw("\n".join(elements)), **values)
        return [system, HumanMessage(full)]


def _shares(texts: list[str], free: int) -> list[str]:
    """Cut the texts to fit together; what short ones leave goes to longer ones."""
    cut: dict[int, str] = {}
    order = sorted(range(len(texts)), key=lambda n: len(texts[n]))
    for position, place in enumerate(order):
        cut[place] = cut_to_tokens(texts[place], max(0, free) // (len(order) - position))
        free -= estimated_tokens(cut[place])
    return [cut[n] for n in range(len(texts))]


def _page_element(read: ReadPage, text: str) -> str:
    page = read.page
    partial = "yes" if read.partial else "no"
    title, site = page["title"][:120], page["site"][:60]
    return element("page", text, id=page["id"], title=title, site=site, partial=partial)


def _excerpts(pages: list[ReadPage]) -> str:
    """Return the search's own excerpts, each with its page's marker."""
    lines = []
    for read in pages:
        page = read.page
        text = beginning(page["snippet"]) or beginning(" ".join(read.text.split()))
        lines.append(f"{page['title']}: {text}[^{page['id']}]")
    return "\n\n".join(lines)


def _with_notes(result: TopicResult, pages: list[ReadPage], notes: str) -> TopicResult:
    read = [UsefulPage(**{**each.page, "partial": each.partial}) for each in pages]
    return TopicResult(
        topic=result["topic"],
        reason=result["reason"],
        useful_webpages=read,
        compressed_content=notes,
    )


def _sources(pages: list[ReadPage], notes: str) -> list[Source]:
    quotes = quotes_by_id(notes)
    return [
        Source(
            id=read.page["id"],
            kind="page",
            title=read.page["title"],
            url=read.page["url"],
            provider=read.page["provider"],
            quotes=quotes.get(read.page["id"], []),
        )
        for read in pages
    ]
