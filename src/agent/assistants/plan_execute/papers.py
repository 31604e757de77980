"""Download papers, and read them into the knowledge base so that they are cited by page."""

import asyncio
import logging
import time
from typing import cast

from langgraph.runtime import Runtime

from agent.assistants.common.gaps import run_gap
from agent.assistants.common.own_documents import papers_of
from agent.assistants.common.services import GetServices, Services
from agent.assistants.common.turn import meter_of
from agent.assistants.plan_execute.state import (
    DownloadedPaper,
    ExecutorResult,
    ExecutorState,
    PlanState,
    PlanUpdate,
    TaskStatus,
    configuration_of,
)
from agent.assistants.plan_execute.task_run import ExecutorRun
from agent.configuration import Configuration
from agent.core.budget import Meter
from agent.core.errors import AgentError
from agent.core.progress import event
from agent.evidence.types import Gap
from agent.reading.papers import Paper
from agent.search.documents import Document
from agent.texts import Language, reason_of


async def download(state: ExecutorState, runtime: Runtime[ExecutorRun]) -> ExecutorState:
    """Download at most `max_downloads` papers, with one next paper for each failure."""
    run, documents = runtime.context, state.get("reranked_results") or []
    limit = run.configuration.max_downloads
    offered = [document for document in documents if document.get("pdf_url")]
    papers = await _all(run, offered[:limit])
    missing = sum(paper["error"] is not None for paper in papers)
    papers += await _all(run, offered[limit : limit + missing])
    map_result = run.map_result
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
        sources_gathered=map_result.sources,
        places=map_result.places,
        routes=map_result.routes,
        weather=map_result.weather,
        places_rejected=map_result.rejected,
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
        stored = await run.services.papers().get(url, meter=run.meter)
    except AgentError as error:
        paper["error"] = reason_of(error, run.language)
    else:
        paper["path"], paper["sha256"] = f"papers/{stored.name}", stored.sha256
    _tell(run, paper, time.monotonic() - began)
    return paper


def _tell(run: ExecutorRun, paper: DownloadedPaper, seconds: float) -> None:
    """Report each paper once, however many tasks want it."""
    if paper["url"] in run.shared.papers_told:
        return
    run.shared.papers_told.add(paper["url"])
    if paper["error"]:
        run.tell("download", f"{paper['title']}: {paper['error']}", count=0)
    else:
        run.tell("download", paper["title"], count=1, seconds=seconds)


def _status(state: ExecutorState, run: ExecutorRun) -> TaskStatus:
    map_result = run.map_result
    if (
        state.get("reranked_results")
        or map_result.places
        or map_result.routes
        or map_result.weather
    ):
        return "done"
    return "failed" if state.get("gaps") else "empty"


log = logging.getLogger(__name__)
NODE = "build_knowledge"
_AT_ONCE = 2


async def build_knowledge(
    state: PlanState, runtime: Runtime[Configuration], *, get_services: GetServices
) -> PlanUpdate:
    """Add each paper once; unreadable ones are noted, and together are one gap."""
    services, configuration = get_services(), configuration_of(runtime)
    meter, language = meter_of(state, configuration, services), state["turn"]["language"]
    papers, began = state.get("downloaded_papers", []), time.monotonic()
    gaps = _not_had(papers, language)
    first = {paper["sha256"]: paper for paper in reversed(papers) if paper["sha256"]}
    places = asyncio.Semaphore(_AT_ONCE)

    async def one(paper: DownloadedPaper) -> tuple[str | None, str | None]:
        async with places:
            return await _read(paper, services, meter)

    outcomes = await asyncio.gather(*(one(paper) for paper in first.values()))
    by_content = dict(zip(first, outcomes, strict=True))
    read = [_with(paper, by_content.get(paper["sha256"] or "")) for paper in papers]
    errors = [error for _, error in outcomes if error]
    if errors:
        gaps.append(_gap("papers_unread", language, errors))
    for gap in gaps:
        runtime.stream_writer(event("gap", NODE, text=gap["message"]))
    if first:
        count, seconds = len(outcomes) - len(errors), time.monotonic() - began
        runtime.stream_writer(event("ingested", NODE, count=count, seconds=seconds))
        log.info("turn=%s %s: %d papers read, %d not, %.1f s",
                 state["turn"]["id"], NODE, count, len(errors), seconds)  # fmt: skip
    return PlanUpdate(downloaded_papers=read, gaps=gaps, usage=meter.usage)


async def _read(
    paper: DownloadedPaper, services: Services, meter: Meter
) -> tuple[str | None, str | None]:
    """Return the document's id in the knowledge base, or the problem with it."""
    stored = Paper(paper["url"], paper["sha256"] or "", 0)
    try:
        document = await services.knowledge().add_pdf(
            services.papers().path(stored),
            title=paper["title"],
            url=paper["url"],
            collection=papers_of(services.mode),
            # Open access: everybody may read them.
            shared=True,
            meter=meter,
        )
    except AgentError as error:
        return None, error.message
    except OSError as error:
        # The file was removed after it was downloaded.
        return None, error.strerror or type(error).__name__
    if document["status"] == "failed":
        return None, document["error"] or "?"
    return document["id"], None


def _with(paper: DownloadedPaper, outcome: tuple[str | None, str | None] | None) -> DownloadedPaper:
    if outcome is None:
        return paper
    document, error = outcome
    return cast(DownloadedPaper, {**paper, "document": document, "error": error})


def _not_had(papers: list[DownloadedPaper], language: Language) -> list[Gap]:
    errors = {paper["url"]: paper["error"] for paper in papers if paper["error"]}
    return [_gap("papers_failed", language, list(errors.values()))] if errors else []


def _gap(code: str, language: Language, errors: list[str]) -> Gap:
    """Return one gap for all, with the reasons that differ."""
    reasons = list(dict.fromkeys(errors))
    summary = "; ".join(reasons[:2]) + ("; …" if len(reasons) > 2 else "")
    return run_gap(f"plan_execute.{code}", language, count=str(len(errors)), reason=summary)
