"""Searches the knowledge base: a pool of questions, the targets chosen from it, their passages."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import PurePosixPath, PureWindowsPath

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langgraph.runtime import Runtime
from pydantic import BaseModel, Field

from agent.assistants.common.budget import meter_of
from agent.assistants.common.gaps import ask_or_gap, run_gap
from agent.assistants.common.services import GetServices, Services
from agent.assistants.plan_execute.documents import ranked, source_name
from agent.assistants.plan_execute.papers import PAPERS, SAMPLE_PAPERS, papers_of
from agent.assistants.plan_execute.state import Passage, PlanState, PlanUpdate, configuration_of
from agent.assistants.plan_execute.subject import bears_on
from agent.configuration import Configuration
from agent.core.budget import Meter
from agent.core.errors import AgentError, ConfigurationError
from agent.core.progress import event
from agent.core.strings import cut_to_tokens
from agent.evidence.markdown import link_url
from agent.evidence.queries import clean_text, drop_seen
from agent.evidence.types import Gap, Query, Source
from agent.knowledge.types import Hit, Scope
from agent.models.catalogue import DEFAULT_THINKING
from agent.prompts import render
from agent.search.grounded import beginning
from agent.search.hits import only_known
from agent.state import Turn
from agent.texts import say
from agent.texts.language import Language
from agent.texts.reasons import reason_of

_TITLE = 200
_PDF = "pdf"


@dataclass(frozen=True)
class Found:
    """A target's hits with their scores, best first."""

    number: int
    target: str
    hits: list[tuple[Hit, float]]


def passages_of(found: Sequence[Found], limit: int) -> list[tuple[Passage, Hit]]:
    """At most `limit` passages, each once: every target's best first, then the second ones.

    In the order of targets; ids are `d{target}-{n}`.
    """
    owner: dict[tuple[str, int], int] = {}
    for row in zip_longest(*(each.hits for each in found)):
        for each, hit in zip(found, row, strict=True):
            if hit is not None and len(owner) < limit:
                owner.setdefault(_key(hit[0]), each.number)
    return [
        (_passage(f"d{each.number}-{n}", each.target, hit, score), hit)
        for each in found
        for n, (hit, score) in enumerate(_own(each, owner))
    ]


def sources_of(passages: Sequence[tuple[Passage, Hit]], language: Language) -> list[Source]:
    """Each passage as it is cited: with its page, and with an address only where others have it."""
    return [_source(passage, hit, language) for passage, hit in passages]


def page_title(passage: Passage, language: Language) -> str:
    """`Title, p. 3`."""
    if passage["page"] is None:
        return passage["title"]
    return say("plan_execute.page", language, title=passage["title"], page=str(passage["page"]))


def aliases(passages: Sequence[Passage]) -> dict[str, str]:
    """For each passage the first one of the same page of the same document: one citation."""
    first: dict[tuple[str, str, int | None], str] = {}
    return {
        passage["id"]: first.setdefault(
            (passage["path"], passage["title"], passage["page"]), passage["id"]
        )
        for passage in passages
    }


def _own(each: Found, owner: dict[tuple[str, int], int]) -> list[tuple[Hit, float]]:
    return [(hit, score) for hit, score in each.hits if owner.get(_key(hit)) == each.number]


def _passage(name: str, target: str, hit: Hit, score: float) -> Passage:
    document, chunk = hit.document, hit.chunk
    path = shown_path(document["path"])
    return Passage(
        id=name,
        target=target,
        title=clean_text(document["title"], _TITLE) or path,
        path=path,
        page=chunk["page"],
        headings=[clean_text(heading, _TITLE) for heading in chunk["headings"]],
        # A document could write our markers to have itself cited under another one's name.
        text=only_known(chunk["text"], ()),
        score=round(score, 4),
    )


def shown_path(path: str) -> str:
    """As far as others may see it: below the folder that was read in, else the name."""
    for kind in (PurePosixPath, PureWindowsPath):
        if kind(path).is_absolute():
            return kind(path).name
    return path


def _source(passage: Passage, hit: Hit, language: Language) -> Source:
    url = link_url(hit.document["url"] or "")
    if url and passage["page"] and hit.document["kind"] == _PDF:
        url = f"{url.partition('#')[0]}#page={passage['page']}"
    quote = beginning(" ".join(passage["text"].split()))
    named = page_title(passage, language)
    is_paper = hit.document["collection"] in (PAPERS, SAMPLE_PAPERS)
    if not url and passage["path"] and passage["path"] not in named:
        named = f"{named} ({passage['path']})"
    return Source(
        id=passage["id"],
        kind="document",
        title=named,
        url=url,
        provider=source_name("papers" if is_paper else "documents", language),
        quotes=[quote] if quote else [],
    )


def _key(hit: Hit) -> tuple[str, int]:
    return hit.document["id"], hit.chunk["number"]


log = logging.getLogger(__name__)
NODE = "search_info"
MAX_HEADINGS, MAX_REWRITTEN, MAX_TARGETS = 60, 12, 12
_MAX_QUESTION, _MAX_HEADING = 300, 120
_PER_TARGET = 12
"""Passages looked at for one target."""
_LEAST = 2
"""Passages kept for a target where only words can be counted."""
_NEAREST = 3
_NEAR = 15
"""Passages nearest to the question and to each task, whose documents' headings are rewritten."""


class Rewritten(BaseModel):
    """Questions that the documents might answer."""

    questions: list[str] = Field(description="Short questions, one for each useful heading.")


async def search_info(
    state: PlanState, runtime: Runtime[Configuration], *, get_services: GetServices
) -> PlanUpdate:
    """Passages that bear on the targets; a knowledge base that fails is a gap."""
    services, configuration = get_services(), configuration_of(runtime)
    searching = _Searching(
        turn=state["turn"],
        tasks=[task["query"] for task in state["tasks"]],
        configuration=configuration,
        services=services,
        meter=meter_of(state, configuration, services),
        scope=_scope(state, services.mode),
        papers=_titles(state),
    )
    try:
        pool, targets, found = await searching.run()
    except ConfigurationError as error:
        if error.name in type(configuration).model_fields:
            raise
        pool, targets, found = searching.failed(error)
    except AgentError as error:
        pool, targets, found = searching.failed(error)
    chosen = passages_of(found, configuration.max_passages)
    passages = [passage for passage, _ in chosen]
    known = {(gap["provider"], gap["code"]) for gap in state.get("gaps", [])}
    gaps = [gap for gap in searching.gaps if (gap["provider"], gap["code"]) not in known]
    for gap in gaps:
        runtime.stream_writer(event("gap", NODE, text=gap["message"]))
    runtime.stream_writer(event("passages", NODE, count=len(passages)))
    log.info("turn=%s %s: %d questions, %d targets, %d passages",
             state["turn"]["id"], NODE, len(pool), len(targets), len(passages))  # fmt: skip
    return PlanUpdate(
        question_pool=pool,
        pre_questions=targets,
        passages=passages,
        sources_gathered=sources_of(chosen, state["turn"]["language"]),
        gaps=gaps,
        usage=searching.meter.usage,
    )


def _scope(state: PlanState, mode: str) -> Scope | None:
    """The collections of this run, with the papers; None where there is nothing to read."""
    names = list(state.get("readable", []))
    if any(paper["document"] for paper in state.get("downloaded_papers", [])):
        names.append(papers_of(mode))
    if not names:
        return None
    return Scope(collections=tuple(dict.fromkeys(names)), owner=state["owner"])


def _titles(state: PlanState) -> dict[str, str]:
    """Of the papers of this run, by their ids in the knowledge base."""
    papers = state.get("downloaded_papers", [])
    return {paper["document"]: paper["title"] for paper in papers if paper["document"]}


@dataclass
class _Searching:
    """One search of the knowledge base."""

    turn: Turn
    tasks: list[str]
    configuration: Configuration
    services: Services
    meter: Meter
    scope: Scope | None
    papers: dict[str, str]
    gaps: list[Gap] = field(default_factory=list)

    async def run(self) -> tuple[list[str], list[str], list[Found]]:
        """The pool, the targets, and what each target found."""
        if self.scope is None or not self.configuration.max_passages:
            return self.tasks, [], []
        headings = await self._headings(self.scope)
        if headings is None:
            return self.tasks, [], []
        pool = distinct_questions([*self.tasks, *await self._rewritten(headings)])
        targets = await self._targets(pool)
        scope = self.scope
        found = await asyncio.gather(
            *(self._search(number, target, scope) for number, target in enumerate(targets))
        )
        return pool, targets, list(found)

    def failed(self, error: AgentError) -> tuple[list[str], list[str], list[Found]]:
        """Nothing found, and why."""
        log.warning("turn=%s %s: %s", self.turn["id"], NODE, error)
        language = self.turn["language"]
        self.gaps.append(
            run_gap("plan_execute.knowledge_failed", language, reason=reason_of(error, language))
        )
        return self.tasks, [], []

    async def _headings(self, scope: Scope) -> list[str] | None:
        """Of the documents near to the question, the nearest first; None where there are none."""
        asked = [self.turn["question"], *self.tasks]
        near = await asyncio.gather(
            *(
                self.services.knowledge.search(query, scope, limit=_NEAR, meter=self.meter)
                for query in asked
            )
        )
        documents = [hit.document["id"] for hits in near for hit in hits]
        documents += self.papers
        if not documents:
            return None
        close = Scope(
            collections=scope.collections,
            owner=scope.owner,
            documents=tuple(dict.fromkeys(documents)),
        )
        found = await self.services.knowledge.headings(close, limit=MAX_HEADINGS)
        nearest = [heading for hits in near for hit in hits for heading in hit.chunk["headings"]]
        # Titles too: a paper in another language is near to no question until it is asked in it.
        told = [*nearest, *self.papers.values(), *sorted(found)]
        cleaned = (clean_text(heading, _MAX_HEADING) for heading in told)
        return list(dict.fromkeys(heading for heading in cleaned if heading))[:MAX_HEADINGS]

    async def _rewritten(self, headings: Sequence[str]) -> list[str]:
        """Questions a model makes of headings; none, and a gap, where it cannot."""
        if not headings:
            return []
        asking = self.services.models.ask(
            self.configuration.query_generator_model,
            self._prompt(headings),
            meter=self.meter,
            schema=Rewritten,
            thinking=DEFAULT_THINKING["query"],
        )
        language = self.turn["language"]
        reply, gaps = await ask_or_gap(
            asking,
            self.turn,
            NODE,
            lambda reason: run_gap("plan_execute.headings_failed", language, reason=reason),
        )
        if reply is None:
            self.gaps += gaps
            return []
        assert reply.parsed is not None
        return reply.parsed.questions[:MAX_REWRITTEN]

    def _prompt(self, headings: Sequence[str]) -> list[BaseMessage]:
        limit, language = self.configuration.context_token_limit, self.turn["language"]
        values = {
            "question": cut_to_tokens(self.turn["question"], limit // 4),
            "headings": cut_to_tokens("\n".join(headings), limit // 4),
        }
        return [
            SystemMessage(render("rewrite_headings_system", language)),
            HumanMessage(render("rewrite_headings", language, **values)),
        ]

    async def _targets(self, pool: list[str]) -> list[str]:
        """The tasks, then the rewritten questions that bear most on the question."""
        tasks = pool[: len(distinct_questions(self.tasks))][:MAX_TARGETS]
        others = pool[len(tasks) :]
        room = MAX_TARGETS - len(tasks)
        if len(others) <= room:
            return [*tasks, *others]
        ranking = await self.services.reranker.rerank(
            self.turn["question"], others, meter=self.meter, top_n=room
        )
        return [*tasks, *(others[place] for place, _ in ranking.order)]

    async def _search(self, number: int, target: str, scope: Scope) -> Found:
        """What a target finds, reranked; below the threshold it is left out."""
        hits = await self.services.knowledge.search(
            target, scope, limit=_PER_TARGET, meter=self.meter
        )
        if not hits:
            return Found(number, target, [])
        texts = ["\n".join([*hit.chunk["headings"], hit.chunk["text"]]) for hit in hits]
        ranking = await ranked(
            self.services.reranker,
            target,
            texts,
            meter=self.meter,
            threshold=self.configuration.rerank_threshold,
            least=_LEAST,
            may_stay=lambda at: _is_near(hits[at]) or bears_on(target, texts[at]),
        )
        return Found(number, target, [(hits[place], score) for place, score in ranking.order])


def _is_near(hit: Hit) -> bool:
    """Whether its meaning is among the nearest, where vectors were compared."""
    return hit.ranks.get("vector", _NEAREST + 1) <= _NEAREST


def distinct_questions(questions: Sequence[str]) -> list[str]:
    """Cleaned, each asked once, in order."""
    cleaned = [clean_text(question, _MAX_QUESTION) for question in questions]
    asked = [Query(query=question, map=None) for question in cleaned if question]
    return [query["query"] for query in drop_seen(asked, [])]
