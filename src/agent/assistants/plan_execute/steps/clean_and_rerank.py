"""Merges what is the same, and puts papers in the order of their bearing on the task."""

import logging
from typing import cast

from langgraph.runtime import Runtime

from agent.assistants.plan_execute.cleaning import SCORED, distinct, sorted_by_kind
from agent.assistants.plan_execute.ranking import ranked as ranked_by
from agent.assistants.plan_execute.state import ExecutorState
from agent.assistants.plan_execute.steps.run import ExecutorRun
from agent.assistants.plan_execute.wording import run_gap
from agent.evidence.types import Gap
from agent.search.documents import Document

log = logging.getLogger(__name__)
_LEAST = 3
"""Papers that are kept where only words can be counted."""


async def clean_and_rerank(state: ExecutorState, runtime: Runtime[ExecutorRun]) -> ExecutorState:
    """Scored sources are cut by threshold and top-n; the others are kept as they are."""
    run, query = runtime.context, state["current_query"]
    documents = distinct(state.get("search_results") or [])
    papers = [document for document in documents if document["source"] in SCORED]
    others = [document for document in documents if document["source"] not in SCORED]
    ranked, note, gaps = list[Document](), "", list[Gap]()
    if papers:
        ranking = await ranked_by(
            run.given.reranker,
            query,
            [f"{paper['title']}\n{paper['text']}" for paper in papers],
            meter=run.meter,
            top_n=run.configuration.rerank_top_n,
            threshold=run.configuration.rerank_threshold,
            least=_LEAST,
        )
        ranked = [_scored(papers[place], score) for place, score in ranking.order]
        note = f"{ranking.backend} ({ranking.note})" if ranking.note else ranking.backend
        if ranking.note:
            log.info("turn=%s %s: ranking: %s", run.turn["id"], run.task["id"], ranking.note)
            gaps = [run_gap("rerank_fallback", run.language, backend=ranking.backend)]
    log.info("turn=%s %s: %d found, %d distinct, %d of %d papers kept", run.turn["id"],
             run.task["id"], len(state.get("search_results") or []), len(documents),
             len(ranked), len(papers))  # fmt: skip
    return ExecutorState(
        reranked_results=sorted_by_kind([*ranked, *others]), rerank_note=note, gaps=gaps
    )


def _scored(document: Document, score: float) -> Document:
    return cast(Document, {**document, "score": round(score, 4)})
