"""Search the sources of a task, merge what is the same, and put papers in order."""

import asyncio
import logging
from itertools import zip_longest
from typing import cast

from langgraph.runtime import Runtime

from agent.assistants.plan_execute.decide import SEARCHES
from agent.assistants.plan_execute.documents import (
    concerning,
    distinct,
    documents_of,
    is_scored,
    sorted_by_kind,
    whole_text,
)
from agent.assistants.plan_execute.documents import ranked as ranked_by
from agent.assistants.plan_execute.state import ExecutorState
from agent.assistants.plan_execute.subject import queries_for, queries_of, subject_of
from agent.assistants.plan_execute.task_run import REQUIRED, ExecutorRun, ask_source
from agent.search.documents import Document

_OF_TOOL = {tool.name: source for source, tool in SEARCHES.items()}


async def search(state: ExecutorState, runtime: Runtime[ExecutorRun]) -> ExecutorState:
    """Return all that was found, also by optional tools; a source that fails is a gap.

    Sources that are off are not asked: the run says so once.
    """
    run, queries = runtime.context, queries_of(state["task"])
    names = [name for name in REQUIRED if name not in run.off]
    pairs = [(name, query) for name in names for query in queries_for(name, queries)]
    outcomes = await asyncio.gather(*(ask_source(run, *each) for each in pairs))
    documents = [
        document
        for message in state.get("optional_search_results") or []
        for document in documents_of(message.content, _OF_TOOL.get(str(message.name), ""))
        if message.name in _OF_TOOL
    ]
    for name in names:
        lists = [
            documents_of(value, name)
            for (source, _), (value, _) in zip(pairs, outcomes, strict=True)
            if source == name
        ]
        # The best of every query first.
        documents += [document for row in zip_longest(*lists) for document in row if document]
    return ExecutorState(
        search_results=documents,
        gaps=[gap for _, gaps in outcomes for gap in gaps],
    )


log = logging.getLogger(__name__)
_LEAST = 3
"""Papers that are kept where only words can be counted."""


async def clean_and_rerank(state: ExecutorState, runtime: Runtime[ExecutorRun]) -> ExecutorState:
    """Keep what concerns the task; scored sources are cut by threshold and top-n besides."""
    run, query = runtime.context, state["current_query"]
    every = distinct(state.get("search_results") or [])
    documents = concerning(every, subject_of(state["task"]))
    scored = run.configuration.rerank_sources
    papers = [document for document in documents if is_scored(document, scored)]
    others = [document for document in documents if not is_scored(document, scored)]
    ranked, note = list[Document](), ""
    if papers:
        ranking = await ranked_by(
            run.services.reranker(),
            query,
            [whole_text(paper) for paper in papers],
            meter=run.meter,
            top_n=run.configuration.rerank_top_n,
            threshold=run.configuration.rerank_threshold,
            least=_LEAST,
        )
        ranked = [_with_score(papers[place], score) for place, score in ranking.order]
        note = f"{ranking.backend} ({ranking.note})" if ranking.note else ranking.backend
        if ranking.note:
            log.warning("turn=%s %s: ranking: %s", run.turn["id"], run.task["id"], ranking.note)
    log.info("turn=%s %s: %d found, %d distinct, %d on its subject, %d of %d scored kept",
             run.turn["id"], run.task["id"], len(state.get("search_results") or []), len(every),
             len(documents), len(ranked), len(papers))  # fmt: skip
    documents = sorted_by_kind([*ranked, *others])
    return ExecutorState(found=len(every), reranked_results=documents, rerank_note=note)


def _with_score(document: Document, score: float) -> Document:
    return cast(Document, {**document, "score": round(score, 4)})
