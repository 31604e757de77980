"""Asks one source for a task; what goes wrong with it is a gap and nobody else's concern."""

import asyncio
import logging
from typing import Any

from agent.assistants.plan_execute.cleaning import documents_of
from agent.assistants.plan_execute.steps.run import ExecutorRun
from agent.assistants.plan_execute.wording import run_gap, say, source_name
from agent.errors import AgentError, BudgetExceeded, StoreFailed
from agent.evidence.reasons import reason_of
from agent.evidence.types import Gap

log = logging.getLogger(__name__)


async def ask_source(run: ExecutorRun, source: str, query: str) -> tuple[Any, list[Gap]]:
    """What the source handed over, in whatever shape, or why it did not."""
    began = run.tell_searching(source, query)
    value: Any = []
    gaps: list[Gap] = []
    try:
        # Tasks may want the same at the same time; one after another, the journal has it.
        value = await run.shared.flights.do(f"{source} {query}", lambda: _found(run, source, query))
    except (asyncio.CancelledError, StoreFailed):
        raise
    except Exception as error:  # noqa: BLE001 - one broken source must not stop the others
        gaps = [_gap(run, source, query, error)]
        log.warning("turn=%s %s %s: %s", run.turn["id"], run.task["id"], source, error)
    run.tell_searched(source, query, len(documents_of(value, source)), began)
    return value, gaps


async def _found(run: ExecutorRun, source: str, query: str) -> Any:
    return await run.given.library.search(
        source,
        query,
        meter=run.meter,
        model=run.configuration.research_model,
        choice=run.configuration.web_search,
    )


def _gap(run: ExecutorRun, source: str, query: str, error: Exception) -> Gap:
    values = {"source": source_name(source, run.language), "reason": _reason(run, error)}
    told = run_gap("source_failed", run.language, query=query, provider=source, **values)
    if isinstance(error, AgentError):
        told["code"] = error.code
    if isinstance(error, BudgetExceeded):
        told["message"] = reason_of(error, run.language)
    return told


def _reason(run: ExecutorRun, error: Exception) -> str:
    if isinstance(error, AgentError):
        return reason_of(error, run.language)
    return say("defect", run.language)
