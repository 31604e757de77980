"""Turn hits into marked text: a model writes them up, and only their ids survive."""

import re
from collections.abc import Sequence

from langchain_core.messages import HumanMessage, SystemMessage
from pydantic import BaseModel

from agent.core.budget import Meter
from agent.core.errors import BudgetExceeded, ConfigurationError, ProviderError
from agent.evidence.citations import ID
from agent.evidence.references import without_source_list
from agent.evidence.types import Gap, Source
from agent.models.types import Models, Reply
from agent.prompts import Raw, element, render
from agent.search.hits import only_known
from agent.search.types import Hit, WebResult, WebTask, failure_gap, search_gap

_RUN = re.compile(rf"(?:\[\^{ID}\])+")
_ID = re.compile(ID)
_SENTENCE_END = re.compile(r"(?<=[。！？])|(?<=[.!?])\s+|\n+")
_EXCERPTS = 5
_EXCERPT = 300
_MAX_QUOTES = 12
_MAX_QUOTE = 500


class HitWriter:
    """Write hits up with a model; without its text or markers use their snippets."""

    def __init__(self, models: Models) -> None:
        self._models = models

    async def write_up(
        self, task: WebTask, hits: Sequence[Hit], *, provider: str, meter: Meter
    ) -> WebResult:
        """Return marked text; a ProviderError or BudgetExceeded becomes a gap."""
        if not hits:
            return WebResult("", gaps=[search_gap(task, provider, "no_results")])
        hits_by_id = {f"{task.prefix}-{index}": hit for index, hit in enumerate(hits)}
        gaps: list[Gap] = []
        text = ""
        try:
            text = without_source_list(await self._write(task, hits_by_id, meter))
            text = only_known(text, hits_by_id)
            if not _RUN.search(text):
                gaps = [search_gap(task, provider, "ungrounded", text="writeup_unmarked")]
                text = ""
        except (ProviderError, BudgetExceeded, ConfigurationError) as error:
            gaps = [failure_gap(task, provider, error, text="writeup_failed")]
        text = text or _excerpts(hits_by_id)
        gaps = [Gap(**{**gap, "recovered": True}) for gap in gaps]
        return WebResult(text, sources=_sources(hits_by_id, text, provider), gaps=gaps)

    async def _write(self, task: WebTask, hits_by_id: dict[str, Hit], meter: Meter) -> str:
        results = Raw("\n".join(_result(name, hit) for name, hit in hits_by_id.items()))
        prompt = render(
            "web_writeup", task.language, today=task.today, query=task.query, results=results
        )
        messages = [
            SystemMessage(render("web_writeup_system", task.language)),
            HumanMessage(prompt),
        ]
        reply: Reply[BaseModel] = await self._models.ask(task.model, messages, meter=meter)
        return reply.text.strip()


def quotes_by_id(text: str) -> dict[str, list[str]]:
    """Return the sentences before each id's markers, before or behind their full stops."""
    quotes: dict[str, list[str]] = {}
    start = 0
    sentence = ""
    for run in _RUN.finditer(text):
        before = [part for part in _SENTENCE_END.split(text[start : run.start()]) if part.strip()]
        if before and re.search(r"\w", before[-1]):
            sentence = before[-1].strip().lstrip("。！？.!?,，;；*-• ")[:_MAX_QUOTE]
        for name in _ID.findall(run[0]):
            of_source = quotes.setdefault(name, [])
            if sentence and sentence not in of_source and len(of_source) < _MAX_QUOTES:
                of_source.append(sentence)
        start = run.end()
    return quotes


def _result(name: str, hit: Hit) -> str:
    return element(
        "result", f"{hit.title}\n{hit.snippet}", id=name, site=hit.site, date=hit.published
    )


def _excerpts(hits_by_id: dict[str, Hit]) -> str:
    lines = [
        f"{hit.title}: {beginning(hit.snippet)}[^{name}]"
        if hit.snippet
        else f"{hit.title}[^{name}]"
        for name, hit in list(hits_by_id.items())[:_EXCERPTS]
    ]
    return "\n\n".join(lines)


def beginning(text: str) -> str:
    """Return whole sentences as far as they fit; one too long for that is cut visibly."""
    if len(text) <= _EXCERPT:
        return text
    ends = [end.start() for end in _SENTENCE_END.finditer(text, 0, _EXCERPT)]
    whole = text[: ends[-1]].strip() if ends else ""
    return whole or f"{text[:_EXCERPT].rstrip()}…"


def _sources(hits_by_id: dict[str, Hit], text: str, provider: str) -> list[Source]:
    quotes = quotes_by_id(text)
    return [
        Source(
            id=name,
            kind="page",
            title=hit.title,
            url=hit.url,
            provider=provider,
            quotes=quotes.get(name, []),
            site=hit.site,
            published=hit.published,
        )
        for name, hit in hits_by_id.items()
    ]
