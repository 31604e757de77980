"""Downloads the open-access papers that bear most on the task, and sums the task up."""

import asyncio
import time

from langgraph.runtime import Runtime

from agent.assistants.plan_execute.state import (
    DownloadedPaper,
    ExecutorResult,
    ExecutorState,
    TaskStatus,
)
from agent.assistants.plan_execute.steps.run import ExecutorRun
from agent.errors import AgentError
from agent.evidence.reasons import reason_of
from agent.search.documents import Document


async def download(state: ExecutorState, runtime: Runtime[ExecutorRun]) -> ExecutorState:
    """At most `max_downloads` papers; for those that cannot be had the next ones are tried once."""
    run, documents = runtime.context, state.get("reranked_results") or []
    limit = run.configuration.max_downloads
    offered = [document for document in documents if document.get("pdf_url")]
    papers = await _all(run, offered[:limit])
    missing = sum(paper["error"] is not None for paper in papers)
    papers += await _all(run, offered[limit : limit + missing])
    survey = run.survey
    result = ExecutorResult(
        task=run.task["id"],
        query=run.task["query"],
        status=_status(state, run),
        documents=documents,
        rerank=state.get("rerank_note", ""),
        papers=papers,
        decisions=state.get("decisions") or [],
    )
    return ExecutorState(
        downloaded_papers=papers,
        executor_result=result,
        sources_gathered=survey.sources,
        places=survey.places,
        routes=survey.routes,
        weather=survey.weather,
    )


async def _all(run: ExecutorRun, documents: list[Document]) -> list[DownloadedPaper]:
    return list(await asyncio.gather(*(_one(run, document) for document in documents)))


async def _one(run: ExecutorRun, document: Document) -> DownloadedPaper:
    url, began = document.get("pdf_url") or "", time.monotonic()
    paper = DownloadedPaper(
        title=document["title"],
        url=url,
        page_url=document["url"],
        path=None,
        sha256=None,
        document=None,
        error=None,
    )
    try:
        kept = await run.given.papers.get(url, meter=run.meter)
    except AgentError as error:
        paper["error"] = reason_of(error, run.language)
    else:
        paper["path"], paper["sha256"] = f"papers/{kept.name}", kept.sha256
    _tell(run, paper, time.monotonic() - began)
    return paper


def _tell(run: ExecutorRun, paper: DownloadedPaper, seconds: float) -> None:
    """Once for each paper, however many tasks want it."""
    if paper["url"] in run.shared.papers_told:
        return
    run.shared.papers_told.add(paper["url"])
    if paper["error"]:
        run.tell("download", f"{paper['title']}: {paper['error']}", count=0)
    else:
        run.tell("download", paper["title"], count=1, seconds=seconds)


def _status(state: ExecutorState, run: ExecutorRun) -> TaskStatus:
    survey = run.survey
    if state.get("reranked_results") or survey.places or survey.routes or survey.weather:
        return "done"
    return "failed" if state.get("gaps") else "empty"
