"""Run a branch over own documents, without a model: all that fits whole, of the rest passages."""

import logging
import time

from langgraph.runtime import Runtime

from agent.assistants.common.own_documents import (
    marked_passages,
    own_scope,
    passage_source,
    search_own,
)
from agent.assistants.common.services import GetServices
from agent.assistants.common.turn import open_meter
from agent.assistants.common.whole_documents import (
    WholeDocuments,
    read_whole,
    rest_of,
)
from agent.configuration import Configuration
from agent.core.progress import event
from agent.state import DocumentSearchState, Update
from agent.texts import say

log = logging.getLogger(__name__)
NODE = "document_research"
_FIRST = "0"


async def document_research(
    state: DocumentSearchState, runtime: Runtime[Configuration], *, get_services: GetServices
) -> Update:
    """Read own documents for one query; a knowledge base that fails becomes a gap.

    The collections are named, so the turn's first branch brings all that the writer has room for,
    and every branch the passages nearest to its query of what has none.
    """
    services = get_services()
    configuration = runtime.context or Configuration()
    query, turn, began = state["search_query"], state["turn"], time.monotonic()
    meter = open_meter(turn, configuration, services, spent=state["spent"])
    prefix, scope = f"d{state['id']}", own_scope(state["readable"], state["owner"], runtime)
    shown = f"{say('plan_execute.own', turn['language'])}: {query}"
    runtime.stream_writer(event("search_started", NODE, id=prefix, text=shown))
    language, first = turn["language"], state["id"] == _FIRST
    whole, rest = WholeDocuments(), scope
    if scope is not None:
        limit = configuration.own_token_limit
        whole = await read_whole(scope, services, language, tokens=limit)
        rest = rest_of(scope, whole)
    documents = await search_own(query, rest, services, meter, prefix=prefix, language=language)
    sources = documents.sources
    if first:
        first_of_all = (passage_source(n, hit, language) for n, hit in whole.by_id.items())
        sources = [*first_of_all, *sources]
    gap = documents.gap or whole.gap
    gaps, count = [gap] if gap else [], len(sources)
    for gap in gaps:
        runtime.stream_writer(event("gap", NODE, id=prefix, text=gap["message"]))
    seconds = time.monotonic() - began
    log.info("turn=%s %s %s: %d passages, %.1f s", turn["id"], NODE, prefix, count, seconds)
    runtime.stream_writer(
        event("search_done", NODE, id=prefix, text=shown, count=count, seconds=seconds)
    )
    return Update(
        web_research_result=[marked_passages(sources)] if sources else [],
        sources_gathered=sources,
        gaps=gaps,
        usage=meter.usage,
    )
