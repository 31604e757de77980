"""Run a web branch: a query to marked text with sources, or a gap."""

import logging
import time

from langgraph.runtime import Runtime

from agent.assistants.common.gaps import gap_of
from agent.assistants.common.services import GetServices
from agent.assistants.common.turn import open_meter
from agent.configuration import Configuration
from agent.core.errors import AgentError
from agent.core.progress import ListedSource, event
from agent.evidence.references import labelled
from agent.evidence.types import Source
from agent.search.hits import WebResult, WebTask
from agent.search.rules import rules_of
from agent.state import Turn, Update, WebSearchState, answer_language

log = logging.getLogger(__name__)
NODE = "web_research"


async def web_research(
    state: WebSearchState, runtime: Runtime[Configuration], *, get_services: GetServices
) -> Update:
    """Search the web for one query; a failed source becomes a gap."""
    services = get_services()
    configuration = runtime.context or Configuration()
    query, turn, began = state["search_query"], state["turn"], time.monotonic()
    meter = open_meter(turn, configuration, services, spent=state["spent"])
    task = _task(state, turn, configuration)
    runtime.stream_writer(event("search_started", NODE, id=task.prefix, text=query))
    try:
        web_result = await services.web.research(task, meter=meter)
    except AgentError as error:
        web_result = WebResult(text="", gaps=[gap_of(query, error, "web", turn["language"])])
    for gap in web_result.gaps:
        runtime.stream_writer(event("gap", NODE, id=task.prefix, text=gap["message"]))
    seconds, count = time.monotonic() - began, len(web_result.sources)
    log.info("turn=%s %s %s: %d sources, %d gaps, %.1f s",
             turn["id"], NODE, task.prefix, count, len(web_result.gaps), seconds)  # fmt: skip
    runtime.stream_writer(
        event(
            "search_done", NODE, id=task.prefix, text=query, count=count, seconds=seconds,
            sources=[_listed(source) for source in web_result.sources],
        )
    )  # fmt: skip
    return Update(
        web_research_result=[web_result.text] if web_result.text else [],
        sources_gathered=labelled(web_result.sources),
        search_entry_points=web_result.search_entry_points,
        gaps=web_result.gaps,
        usage=meter.usage,
    )


def _listed(source: Source) -> ListedSource:
    return ListedSource(title=source["title"], url=source["url"], site=source.get("site", ""))


def _task(state: WebSearchState, turn: Turn, configuration: Configuration) -> WebTask:
    return WebTask(
        query=state["search_query"],
        prefix=f"w{state['id']}",
        language=turn["language"],
        answer_language=answer_language(turn),
        today=turn["today"],
        model=configuration.research_model,
        choice=configuration.web_search,
        rules=rules_of(configuration),
    )
