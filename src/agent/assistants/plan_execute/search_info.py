"""Searches the knowledge base: a pool of questions, the targets chosen from it, their passages."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest

from langchain_core.messages import BaseMessage
from langgraph.runtime import Runtime
from pydantic import BaseModel, Field

from agent.assistants.common.differences import differences_among
from agent.assistants.common.gaps import parsed_or_gap, run_gap
from agent.assistants.common.own_documents import (
    documents_gap,
    is_near,
    is_own,
    own_scope,
    papers_of,
    passage_key,
    passage_source,
    passage_text,
    shown_path,
    with_page,
)
from agent.assistants.common.reading import partly_read_gap, read_side_by_side
from agent.assistants.common.services import GetServices, Services
from agent.assistants.common.turn import context_limit, meter_of, own_limit, room_of
from agent.assistants.common.whole_documents import (
    WholeDocuments,
    read_documents_whole,
    rest_of,
)
from agent.assistants.common.workspace import Item, Workspace
from agent.assistants.plan_execute.documents import (
    item_of,
    pages_to_read,
    source_name,
)
from agent.assistants.plan_execute.state import (
    KnowledgePassage,
    PlanState,
    PlanUpdate,
    Task,
    configuration_of,
)
from agent.assistants.plan_execute.subject import (
    queries_for,
    task_queries,
)
from agent.configuration import Configuration
from agent.core.budget import Meter
from agent.core.errors import AgentError, ConfigurationError
from agent.core.progress import event
from agent.core.strings import cut_to_tokens
from agent.evidence.queries import clean_text, drop_seen
from agent.evidence.types import Gap, Query, Source
from agent.knowledge.rerank import BUILT_IN
from agent.knowledge.terms import bears_on
from agent.knowledge.types import KnowledgeHit, Scope
from agent.prompts import task_prompt
from agent.search.documents import Document
from agent.search.hits import beginning, only_known
from agent.state import Turn, reader_language
from agent.texts import Language, reason_of

_TITLE = 200


@dataclass(frozen=True)
class Found:
    """Hold a target's hits with their scores, best first."""

    number: int
    target: str
    hits: list[tuple[KnowledgeHit, float]]


def best_of_each_target(
    results: Sequence[Found], limit: int
) -> list[tuple[KnowledgePassage, KnowledgeHit]]:
    """Return passages, each once: every target's best first, then the second ones.

    At most `limit`, in the order of targets; ids are `d{target}-{n}`.
    """
    owner: dict[tuple[str, int], int] = {}
    for row in zip_longest(*(each.hits for each in results)):
        for each, hit in zip(results, row, strict=True):
            if hit is not None and len(owner) < limit:
                owner.setdefault(passage_key(hit[0]), each.number)
    return [
        (_passage(f"d{each.number}-{n}", each.target, hit, score), hit)
        for each in results
        for n, (hit, score) in enumerate(_own(each, owner))
    ]


def sources_of_passages(
    passages: Sequence[tuple[KnowledgePassage, KnowledgeHit]], language: Language
) -> list[Source]:
    """Return the sources of passages: with page, and an address only where others have it."""
    return [_source(passage, hit, language) for passage, hit in passages]


def page_title(passage: KnowledgePassage, language: Language) -> str:
    """Return `Title, p. 3`."""
    return with_page(passage["title"], passage["page"], language)


def _own(each: Found, owner: dict[tuple[str, int], int]) -> list[tuple[KnowledgeHit, float]]:
    return [(hit, score) for hit, score in each.hits if owner.get(passage_key(hit)) == each.number]


def _passage(name: str, target: str, hit: KnowledgeHit, score: float) -> KnowledgePassage:
    document, chunk = hit.document, hit.chunk
    path = shown_path(document["path"])
    return KnowledgePassage(
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


def _source(passage: KnowledgePassage, hit: KnowledgeHit, language: Language) -> Source:
    source = passage_source(passage["id"], hit, language)
    provider = "documents" if is_own(hit.document["collection"]) else "papers"
    quote = beginning(" ".join(passage["text"].split()))
    source["kind"] = "document"
    source["provider"] = source_name(provider, language)
    source["quotes"] = [quote] if quote else []
    return source


log = logging.getLogger(__name__)
NODE = "search_info"
MAX_HEADINGS, MAX_REWRITTEN, MAX_TARGETS = 60, 12, 12
_MAX_QUESTION, _MAX_HEADING = 300, 120
_PER_TARGET = 12
"""Passages looked at for one target."""
_NEAR = 15
"""Passages nearest to the question and to each task, whose documents' headings are rewritten."""


class Rewritten(BaseModel):
    """Questions that the documents might answer."""

    questions: list[str] = Field(description="Short questions, one for each useful heading.")


async def search_info(
    state: PlanState, runtime: Runtime[Configuration], *, get_services: GetServices
) -> PlanUpdate:
    """Return passages that bear on the targets; a knowledge base that fails is a gap.

    The best pages of each task are read meanwhile; what they say is kept in the workspace.
    """
    services, configuration = get_services(), configuration_of(runtime)
    own = own_scope(state.get("readable", []), state["owner"], runtime)
    wanted = own if state.get("documents_wanted") else None
    limit = own_limit(state["turn"], configuration)
    whole = await _whole(wanted, limit, services, state["turn"]["language"])
    searching = _searching(state, services, configuration, own and rest_of(own, whole))
    workspace = services.workspace(room_of(state["turn"], runtime))
    comparing = asyncio.ensure_future(_differences(whole, searching))
    reading = asyncio.ensure_future(searching.read_pages(workspace))
    try:
        pool, targets, results = await searching.run()
        differences, pages = await comparing, await reading
    finally:
        comparing.cancel()
        reading.cancel()
    chosen = best_of_each_target(results, configuration.max_passages)
    passages = [passage for passage, _ in chosen]
    reasons = {(gap["provider"], gap["code"]) for gap in state.get("gaps", [])}
    gaps = [gap for gap in searching.gaps if (gap["provider"], gap["code"]) not in reasons]
    gaps += [whole.gap] if whole.gap else []
    for gap in gaps:
        runtime.stream_writer(event("gap", NODE, text=gap["message"]))
    runtime.stream_writer(event("passages", NODE, count=len(passages) + len(whole.hits)))
    log.info("turn=%s %s: %d questions, %d targets, %d pages, %d passages", state["turn"]["id"],
             NODE, len(pool), len(targets), len(pages), len(passages))  # fmt: skip
    return PlanUpdate(
        question_pool=pool,
        pre_questions=targets,
        passages=passages,
        whole_documents=[document["id"] for document in whole.read],
        documents_read=whole.coverage(reader_language(state["turn"])),
        differences=differences,
        sources_gathered=sources_of_passages(chosen, reader_language(state["turn"])),
        gaps=gaps,
        usage=searching.meter.usage,
    )


async def _whole(
    wanted: Scope | None, limit: int, services: Services, language: Language
) -> WholeDocuments:
    """Return the own documents that the question wants, whole; none where it wants none."""
    if wanted is None:
        return WholeDocuments()
    return await read_documents_whole(wanted, services, language, tokens=limit)


async def _differences(whole: WholeDocuments, searching: "_Searching") -> list[str]:
    """Return where the documents say different things, as marked lines."""
    model = searching.configuration.research_model
    lines, gaps = await differences_among(
        whole, searching.turn, searching.services, searching.meter, model=model, node=NODE
    )
    searching.gaps += gaps
    return lines


def _searching(
    state: PlanState, services: Services, configuration: Configuration, own: Scope | None
) -> "_Searching":
    papers = {
        p["document"]: p["title"] for p in state.get("downloaded_papers", []) if p["document"]
    }
    full_texts = (papers_of(services.mode),)
    return _Searching(
        turn=state["turn"],
        tasks=state["tasks"],
        web=pages_to_read(state["executor_result"], configuration.max_task_pages),
        configuration=configuration,
        services=services,
        meter=meter_of(state, configuration, services),
        own=own,
        # Papers of earlier questions are on other subjects.
        full_texts=Scope(full_texts, state["owner"], tuple(papers)) if papers else None,
        papers=papers,
        wanted=state.get("documents_wanted", False),
    )


@dataclass
class _Searching:
    """Hold one search of own documents and full texts of papers."""

    turn: Turn
    tasks: list[Task]
    web: list[Document]
    configuration: Configuration
    services: Services
    meter: Meter
    own: Scope | None
    full_texts: Scope | None
    papers: dict[str, str]
    """Titles of this run's papers, by their ids in the knowledge base."""
    wanted: bool
    """Whether the question wants the own documents: then none is left out, only put in order."""
    gaps: list[Gap] = field(default_factory=list)

    @property
    def queries(self) -> list[str]:
        return [task["query"] for task in self.tasks]

    async def run(self) -> tuple[list[str], list[str], list[Found]]:
        """Return the pool, the targets, and what each target found."""
        if not self.configuration.max_passages:
            return self.queries, [], []
        pool = distinct_questions([*self.queries, *await self._questions()])
        if not (self.own or self.full_texts):
            return pool, [], []
        targets = await self._targets(pool)
        results = await asyncio.gather(
            *(self._search(n, target) for n, target in enumerate(targets))
        )
        return pool, targets, [*results, await self._neighbours(results)]

    async def _neighbours(self, results: Sequence[Found]) -> Found:
        """Search once more those own documents in which a target found something.

        Return the passages that no target has, nearest to the question and the tasks' queries.
        """
        hits_by_key = {passage_key(hit): hit for each in results for hit, _ in each.hits}
        ids = dict.fromkeys(hit.document["id"] for hit in hits_by_key.values())
        own = [id for id in ids if id not in self.papers]
        lists = list[list[KnowledgeHit]]()
        if self.own is not None and own:
            scope, limit = replace(self.own, documents=tuple(own)), self.configuration.max_passages
            queries = (self.turn["question"], *self.queries)
            lists += await asyncio.gather(*(self._known(each, scope, limit) for each in queries))
        in_turn = (hit for row in zip_longest(*lists) for hit in row if hit is not None)
        others = {passage_key(hit): hit for hit in in_turn if passage_key(hit) not in hits_by_key}
        question = clean_text(self.turn["question"], _MAX_QUESTION)
        return Found(len(results), question, [(hit, 0.0) for hit in others.values()])

    async def read_pages(self, workspace: Workspace) -> list[Item]:
        """Return the web's best pages as they are kept; those not to be read are one gap."""
        language, parallel = self.turn["language"], self.configuration.max_parallel_reads
        urls = (document["url"] for document in self.web)
        read = await read_side_by_side(urls, self.services, self.meter, parallel=parallel)
        errors, items = list[AgentError](), list[Item]()
        for document in self.web:
            page = read[document["url"]]
            if isinstance(page, AgentError):
                errors.append(page)
                continue
            self.gaps += partly_read_gap(page, language)
            title = page.title or document["title"]
            item = item_of(document, "", language)
            dated = item.date or page.published
            items.append(replace(item, title=title, text=page.text, date=dated))
        if errors:
            reasons = dict.fromkeys(reason_of(error, language) for error in errors)
            values = {"count": str(len(errors)), "reason": "; ".join(reasons)}
            self.gaps.append(run_gap("plan_execute.pages_unread", language, **values))
        return await workspace.keep(items)

    async def _known(self, query: str, scope: Scope | None, limit: int) -> list[KnowledgeHit]:
        """Return hits of the knowledge base; where it fails none, and a gap."""
        if scope is None:
            return []
        try:
            return await self.services.knowledge().search(
                query, scope, limit=limit, meter=self.meter
            )
        except AgentError as error:
            self._fail(error)
            return []

    def _fail(self, error: AgentError) -> None:
        """Note that the knowledge base cannot be used; raise what a run's own setting is wrong."""
        fields = type(self.configuration).model_fields
        if isinstance(error, ConfigurationError) and error.name in fields:
            raise error
        if not any(gap["code"] == "knowledge_failed" for gap in self.gaps):
            self.gaps.append(documents_gap(error, self.turn["language"]))

    async def _questions(self) -> list[str]:
        """Return questions made of the headings of documents near to the question."""
        try:
            return await self._rewritten(await self._headings())
        except AgentError as error:
            self._fail(error)
            return []

    async def _headings(self) -> list[str]:
        """Return headings of the documents near to the question, the nearest first."""
        scopes = [scope for scope in (self.own, self.full_texts) if scope]
        near = await asyncio.gather(
            *(self._known(query, scope, _NEAR)
              for query in (self.turn["question"], *self.queries) for scope in scopes)
        )  # fmt: skip
        documents = [hit.document["id"] for hits in near for hit in hits]
        documents += self.papers
        if not documents:
            return []
        close = Scope(
            collections=tuple(
                dict.fromkeys(name for scope in scopes for name in scope.collections)
            ),
            owner=scopes[0].owner,
            documents=tuple(dict.fromkeys(documents)),
        )
        headings = await self.services.knowledge().headings(close, limit=MAX_HEADINGS)
        nearest = [heading for hits in near for hit in hits for heading in hit.chunk["headings"]]
        # Titles too: a paper in another language is near to no question until it is asked in it.
        lines = [*nearest, *self.papers.values(), *sorted(headings)]
        cleaned = (clean_text(heading, _MAX_HEADING) for heading in lines)
        return list(dict.fromkeys(heading for heading in cleaned if heading))[:MAX_HEADINGS]

    async def _rewritten(self, headings: Sequence[str]) -> list[str]:
        """Return questions a model makes of headings; none, and a gap, where it cannot."""
        if not headings:
            return []
        model, prompt = self.configuration.query_generator_model, self._prompt(headings)
        rewritten, gaps = await parsed_or_gap(
            self.services.models, model, prompt, Rewritten,
            meter=self.meter, turn=self.turn, part=NODE, failed="plan_execute.headings_failed",
        )  # fmt: skip
        self.gaps += gaps
        return rewritten.questions[:MAX_REWRITTEN] if rewritten else []

    def _prompt(self, headings: Sequence[str]) -> list[BaseMessage]:
        limit = context_limit(self.turn, self.configuration)
        values = {
            "question": cut_to_tokens(self.turn["question"], limit // 4),
            "headings": cut_to_tokens("\n".join(headings), limit // 4),
        }
        return task_prompt("rewrite_headings", **values)

    async def _targets(self, pool: list[str]) -> list[str]:
        """Return the tasks, then the rewritten questions that bear most on the question."""
        tasks = pool[: len(distinct_questions(self.queries))][:MAX_TARGETS]
        others = pool[len(tasks) :]
        room = MAX_TARGETS - len(tasks)
        if len(others) <= room:
            return [*tasks, *others]
        ranking = await self.services.reranker().rerank(
            self.turn["question"], others, meter=self.meter, top_n=room
        )
        return [*tasks, *(others[place] for place, _ in ranking.order)]

    async def _search(self, number: int, target: str) -> Found:
        """Return what a target finds, reranked.

        A task's target is searched in the languages of its queries.
        """
        own = [task for task in self.tasks if distinct_questions([task["query"]]) == [target]]
        variants = queries_for(
            "wikipedia", [target, *(q for task in own for q in task_queries(task))]
        )
        scopes = (self.own, self.full_texts)
        lists = await asyncio.gather(
            *(self._known(each, scope, _PER_TARGET) for each in variants for scope in scopes)
        )
        hits_by_key = {passage_key(hit): hit for hits in lists for hit in hits}
        return Found(number, target, await self._ranked(variants, list(hits_by_key.values())))

    async def _ranked(
        self, variants: list[str], hits: list[KnowledgeHit]
    ) -> list[tuple[KnowledgeHit, float]]:
        """Return the best hits with their highest scores for one of the queries.

        Own documents that nobody asked for have to reach the threshold, or, where only words can
        be counted, to bear on the query. The others are put in order only.
        """
        texts, best = [passage_text(hit) for hit in hits], dict[int, float]()
        least, reranker = self.configuration.rerank_threshold, self.services.reranker()
        for query in variants if hits else []:
            ranking = await reranker.rerank(query, texts, meter=self.meter)
            scores = dict(ranking.order)
            for place, hit in enumerate(hits):
                score = scores.get(place, 0.0)
                bears = ranking.backend == BUILT_IN and bears_on(query, texts[place])
                if self._is_asked_for(hit) or is_near(hit) or bears or score >= least:
                    best[place] = max(score, best.get(place, score))
        order = sorted(best, key=lambda place: -best[place])[:_PER_TARGET]
        return [(hits[place], best[place]) for place in order]

    def _is_asked_for(self, hit: KnowledgeHit) -> bool:
        """Return whether the question or one of its tasks has brought a passage in."""
        return self.wanted or not is_own(hit.document["collection"])


def distinct_questions(questions: Sequence[str]) -> list[str]:
    """Clean the questions; return each once, in order."""
    cleaned = [clean_text(question, _MAX_QUESTION) for question in questions]
    queries = [Query(query=question, map=None) for question in cleaned if question]
    return [query["query"] for query in drop_seen(queries, [])]
