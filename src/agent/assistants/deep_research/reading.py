"""The pages of a topic as texts: by the search service, by our own reader, or as excerpts."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from agent.assistants.deep_research.state import UsefulPage
from agent.assistants.deep_research.toolbox import DeepToolbox, Readings
from agent.budget import Meter
from agent.errors import AgentError
from agent.evidence.types import Gap
from agent.language import Language
from agent.nodes.gaps import gap_of
from agent.search.hits import only_known

log = logging.getLogger(__name__)
MAX_TEXT = 60_000
"""Characters kept of a page."""


@dataclass(frozen=True)
class ReadPage:
    """A page with the text there is of it; `partial` where that is an excerpt."""

    page: UsefulPage
    text: str
    partial: bool


async def read_pages(
    pages: Sequence[UsefulPage], given: DeepToolbox, meter: Meter, language: Language
) -> tuple[list[ReadPage], list[Gap]]:
    """Every page in order; what could not be read is its excerpt. Never raises for a page."""
    urls, texts, gaps = [page["url"] for page in pages], dict[str, tuple[str, bool]](), list[Gap]()
    try:
        if given.web.can_extract:
            extracted = await given.web.extract(urls, meter=meter)
            texts = {content.url: (content.text, False) for content in extracted}
        else:
            readings = await given.reader.read_many(urls, meter=meter)
            texts = {a.url: (a.text, a.partial) for a in readings.articles if a.text.strip()}
            gaps = _failures(readings, language)
    except AgentError as error:
        log.warning("turn=%s reading: %s", meter.turn_id, error)
        gaps.append(gap_of("", error, "reader", language))
    return [_read(page, texts.get(page["url"])) for page in pages], gaps


def _failures(readings: Readings, language: Language) -> list[Gap]:
    """One gap for each kind of failure, with the first page it concerns."""
    by_code: dict[str, Gap] = {}
    for url, error in readings.failures.items():
        by_code.setdefault(error.code, gap_of(url, error, "reader", language))
    return list(by_code.values())


def _read(page: UsefulPage, found: tuple[str, bool] | None) -> ReadPage:
    text, partial = found or (page["snippet"], True)
    # A page could write our markers to have itself cited under another source's name.
    return ReadPage(page, only_known(text[:MAX_TEXT], ()), partial or len(text) > MAX_TEXT)
