"""Run a branch over own documents: a query to their passages as marked text, without a model."""

import logging
import time

from langgraph.runtime import Runtime

from agent.assistants.common.own_documents import own_scope, search_own
from agent.assistants.common.services import GetServices
from agent.assistants.common.turn import open_meter
from agent.configuration import Configuration
from agent.core.progress import event
from agent.state import DocumentSearchState, Update
from agent.texts import say

log = logging.getLogger(__name__)
NODE = "document_research"


async def document_research(
    state: DocumentSearchState, runtime: Runtime[Configuration], *, get_services: GetServices
) -> Update:
    """Search own documents for one query; a knowledge base that fails becomes a gap."""
    services = get_services()
    configuration = runtime.context or Configuration()
    query, turn, began = state["search_query"], state["turn"], time.monotonic()
    meter = open_meter(turn, configuration, services, spent=state["spent"])
    prefix, scope = f"d{state['id']}", own_scope(state["readable"], state["owner"], runtime)
    shown = f"{say('plan_execute.own', turn['language'])}: {query}"
    runtime.stream_writer(event("search_started", NODE, id=prefix, text=shown))
    documents = await search_own(
        query, scope, services, meter, prefix=prefix, language=turn["language"]
    )
    gaps, count = [documents.gap] if documents.gap else [], len(documents.sources)
    for gap in gaps:
        runtime.stream_writer(event("gap", NODE, id=prefix, text=gap["message"]))
    seconds = time.monotonic() - began
    log.info("turn=%s %s %s: %d passages, %.1f s", turn["id"], NODE, prefix, count, seconds)
    runtime.stream_writer(
        event("search_done", NODE, id=prefix, text=shown, count=count, seconds=seconds)
    )
    return Update(
        web_research_result=[documents.marked] if documents.sources else [],
        sources_gathered=documents.sources,
        gaps=gaps,
        usage=meter.usage,
    )
