"""Run a branch over own documents, without a model: all that fits whole, of the rest passages."""

import asyncio
import logging
import time

from langgraph.runtime import Runtime

from agent.assistants.common.differences import differences_among
from agent.assistants.common.own_documents import (
    marked_passages,
    own_scope,
    search_own,
)
from agent.assistants.common.services import GetServices
from agent.assistants.common.turn import open_meter, own_limit
from agent.assistants.common.whole_documents import (
    WholeDocuments,
    read_documents_whole,
    rest_of,
)
from agent.configuration import Configuration
from agent.core.progress import event
from agent.state import DocumentSearchState, Update
from agent.texts import say

log = logging.getLogger(__name__)
NODE = "document_research"


async def document_research(
    state: DocumentSearchState, runtime: Runtime[Configuration], *, get_services: GetServices
) -> Update:
    """Read own documents for a round's queries; a knowledge base that fails becomes a gap.

    The collections are named, so the turn's first round brings all that the writer has room for,
    with where it contradicts itself, and every query the passages nearest to it of what has none.
    """
    services, configuration = get_services(), runtime.context or Configuration()
    turn, began = state["turn"], time.monotonic()
    language, emit = turn["language"], runtime.stream_writer
    meter = open_meter(turn, configuration, services, spent=state["spent"])
    scope = own_scope(state["readable"], state["owner"], runtime)
    asked = {f"d{n}": query for n, query in enumerate(state["queries"], state["first"])}
    shown = {name: f"{say('plan_execute.own', language)}: {query}" for name, query in asked.items()}
    for name, text in shown.items():
        emit(event("search_started", NODE, id=name, text=text))
    whole, rest = WholeDocuments(), scope
    if scope is not None:
        limit = own_limit(turn, configuration)
        whole = await read_documents_whole(scope, services, language, tokens=limit)
        rest = rest_of(scope, whole)
    if state["first"]:
        # What is read whole has been shown already.
        whole = WholeDocuments(gap=whole.gap)
    model = configuration.research_model
    (differences, failed), found = await asyncio.gather(
        differences_among(whole, turn, services, meter, model=model, node=NODE),
        asyncio.gather(
            *(
                search_own(query, rest, services, meter, prefix=name, language=language)
                for name, query in asked.items()
            )
        ),
    )
    sources = whole.sources(language)
    counts = {name: len(each.sources) for name, each in zip(asked, found, strict=True)}
    counts |= {name: counts[name] + len(sources) for name in [*counts][:1]}
    sources += [source for each in found for source in each.sources]
    # The same failure of several queries is one.
    failures = (each.gap for each in found)
    gaps = [*[gap for gap in [whole.gap, *failures] if gap][:1], *failed]
    for gap in gaps:
        emit(event("gap", NODE, id=next(iter(asked)), text=gap["message"]))
    seconds = time.monotonic() - began
    log.info("turn=%s %s: %d passages, %.1f s", turn["id"], NODE, len(sources), seconds)
    for name, text in shown.items():
        emit(event("search_done", NODE, id=name, text=text, count=counts[name], seconds=seconds))
    results = [marked_passages(sources)] if sources else []
    if differences:
        results.append("\n".join([say("documents.differ", language), *differences]))
    return Update(
        web_research_result=results,
        sources_gathered=sources,
        gaps=gaps,
        usage=meter.usage,
    )
