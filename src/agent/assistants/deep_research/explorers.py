"""Explore independent matters side by side, each by a cheap model with a context of its own."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from langchain_core.messages import ToolCall
from pydantic import BaseModel, Field

from agent.assistants.common.gaps import parsed_or_gap
from agent.assistants.common.tool_results import shown_result
from agent.assistants.common.toolbox import Toolbox, ToolOutcome
from agent.assistants.common.workspace import Item
from agent.assistants.deep_research.state import FoundPage, TopicResult, UsefulPage
from agent.assistants.deep_research.tools import SEARCH, ToExplore
from agent.core.strings import cut_to_tokens
from agent.evidence.citations import cited_ids
from agent.evidence.queries import clean_text
from agent.evidence.quotes import as_it_says
from agent.evidence.types import Gap
from agent.prompts import Raw, fence, task_prompt
from agent.search.hits import only_known, summary_label
from agent.state import answer_language

_ROUNDS, _QUERIES, _MOST = 2, 2, 12
_FACT, _QUOTE = 400, 400
_RESULTS = 12_000
"""Tokens of the results of one round."""


class Finding(BaseModel):
    """A fact with the words of the page that bear it."""

    fact: str
    quote: str = Field("", description="Its words, copied exactly, at most 40.")
    id: str = Field("", description="Id of the page.")


class Findings(BaseModel):
    """What an explorer has found."""

    findings: list[Finding] = Field(default_factory=list, description="At most twelve.")
    open: list[str] = Field(
        default_factory=list,
        description="What was asked and is nowhere, with what <found> names so and still is.",
    )
    queries: list[str] = Field(
        default_factory=list,
        description="At most two more, if something decisive is open.",
    )


@dataclass
class Explored:
    """Hold what the exploring of one matter has brought."""

    topic: str
    wanted: str = ""
    lines: list[str] = field(default_factory=list)
    """Findings as marked lines."""
    open: list[str] = field(default_factory=list)
    outcomes: list[ToolOutcome] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    is_told: bool = False
    """Whether a model has read what was found."""

    @property
    def told(self) -> list[str]:
        """Return what was found and what is open, a line each."""
        return [*self.lines, *(f"- open: {each}" for each in self.open)]

    def shown(self) -> str:
        """Return the findings as the lead reads them."""
        pages = {item.id: item for o in self.outcomes for items in o.items for item in items}
        cited = cited_ids("\n".join(self.lines))
        titles = (f"[^{name}] {pages[name].title} ({pages[name].site})" for name in cited)
        rows = [*self.told, *titles]
        failed = [f"- {gap['message']}" for gap in self.gaps]
        return fence("\n".join([f"{self.topic}:", *rows, *failed]))


_UNNAMED = 6
"""Pages that are kept of a topic where no finding names one."""


def explored_topic(
    explored: Explored, pages: Sequence[FoundPage], earlier: TopicResult | None
) -> TopicResult:
    """Return the topic with the findings and pages that it had, and these.

    Of the pages those that findings name; the others stay in the workspace.
    """
    cited = cited_ids("\n".join(explored.lines))
    distinct = list({page["id"]: page for page in pages}.values())
    named = [page for page in distinct if page["id"] in cited] or distinct[:_UNNAMED]
    known = earlier["useful_webpages"] if earlier else []
    ids = {page["id"] for page in known}
    fresh = [cast(UsefulPage, page) for page in named if page["id"] not in ids]
    entry = TopicResult(
        topic=explored.topic, reason=earlier["reason"] if earlier else "",
        useful_webpages=[*known, *fresh], compressed_content=None,
    )  # fmt: skip
    before = earlier.get("found") if earlier else None
    if explored.is_told or before is not None:
        lines = [*(before or "").splitlines(), *explored.lines]
        entry["found"] = "\n".join(dict.fromkeys(lines))
        entry["open"] = "; ".join(explored.open)
    return entry


async def explore_side_by_side(box: Toolbox, topics: Sequence[ToExplore]) -> list[Explored]:
    """Return what was found on each matter; a failing model leaves its pages and a gap."""
    return list(await asyncio.gather(*(_explored(box, each) for each in topics)))


async def _explored(box: Toolbox, matter: ToExplore) -> Explored:
    explored, queries = Explored(matter.topic, matter.wanted), list(matter.queries)
    for _ in range(_ROUNDS):
        call = ToolCall(name=SEARCH, args={"queries": queries}, id="", type="tool_call")
        outcomes = box.planned([call])
        await box.do(outcomes)
        explored.outcomes += outcomes
        told = await _asked(box, explored, outcomes)
        if told is None:
            break
        explored.is_told = True
        items = [item for outcome in explored.outcomes for item in _shown(outcome)]
        findings = [found for found in told.findings[:_MOST] if found.fact]
        explored.lines += [line for found in findings if (line := _line(found, items))]
        explored.lines = list(dict.fromkeys(explored.lines))
        explored.open = [clean_text(each, _FACT) for each in told.open[:_MOST]]
        queries = [query for each in told.queries[:_QUERIES] if (query := clean_text(each, _FACT))]
        if not queries:
            break
    return explored


async def _asked(
    box: Toolbox, explored: Explored, outcomes: Sequence[ToolOutcome]
) -> Findings | None:
    turn, language = box.turn, box.language
    results = [(o, n, result) for o in outcomes for n, result in enumerate(o.results)]
    share = _RESULTS // max(1, len(results))
    shown = list[str]()
    for o, n, result in results:
        items = o.items[n] if o.items else ()
        shown.append(shown_result(result, share, language, items=items, before=shown))
    values = {
        "today": turn["today"],
        "question": cut_to_tokens(turn["question"], _RESULTS // 10),
        "topic": ": ".join(filter(None, [explored.topic, explored.wanted])),
        "found": "\n".join(explored.told),
        "results": Raw("\n".join(shown)),
    }
    prompt = task_prompt("deep_find", answer_language(turn), **values)
    findings, gaps = await parsed_or_gap(
        box.services.models, box.configuration.research_model, prompt, Findings,
        meter=box.meter, turn=turn, part=box.policy.node,
        failed="deep_research.explore_failed", query=explored.topic,
    )  # fmt: skip
    explored.gaps += gaps
    return findings


def _shown(outcome: ToolOutcome) -> Iterator[Item]:
    """Yield the pages of a search, each as a query has shown it and as it was kept then."""
    for result, items in zip(outcome.results, outcome.items, strict=False):
        for hit, item in zip(result.hits, items, strict=False):
            yield replace(item, text=hit.text, snippet=hit.snippet)
            yield item


def _line(found: Finding, items: Sequence[Item]) -> str:
    """Return a finding as a marked line with its quote; empty where its page has no such words.

    They may stand in whatever of it was shown. What only the search has said of a page is no
    quote, and none at all where that was read later.
    """
    name = found.id.strip(" []^").partition(".")[0]
    fact, quote = (
        clean_text(only_known(text, ()), most)
        for text, most in ((found.fact, _FACT), (found.quote, _QUOTE))
    )
    texts = dict.fromkeys(item.words for item in reversed(items) if item.id == name)
    last = next(iter(texts), "")
    said = as_it_says(quote, "\n".join(text for text in texts if not summary_label(text)))
    label = "" if said else summary_label(last)
    said = clean_text(said or as_it_says(quote, last), _QUOTE)
    if not said:
        return ""
    told = f"({label}{said.removeprefix(label)})" if label else f"“{said}”"
    return f"- {fact} {told} [^{name}]"
