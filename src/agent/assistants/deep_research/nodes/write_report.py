"""The last node: the report with numbered citations, and everything a client wants beside it."""

import logging
from typing import Any

from langchain_core.messages import AIMessage
from langgraph.runtime import Runtime

from agent.assistants.deep_research.lanes import Lanes
from agent.assistants.deep_research.report_writer import ReportWriter
from agent.assistants.deep_research.state import DeepState, DeepUpdate
from agent.assistants.deep_research.toolbox import DeepServices, meter_of, settings_of
from agent.budget import add_usage
from agent.configuration import Configuration
from agent.evidence.types import Place, Source
from agent.export.geojson import feature_collection
from agent.models.finished import FinishedText
from agent.nodes.finalize_answer import (
    numbered_ledger,
    refuse_if_all_failed,
    resolved_links,
    with_mentions,
)
from agent.progress import event
from agent.state import replaced

log = logging.getLogger(__name__)
NODE = "write_report"
ASSISTANT = "deep_research"


async def write_report(
    state: DeepState, runtime: Runtime[Configuration], *, services: DeepServices, lanes: Lanes
) -> DeepUpdate:
    """Writes the report from the topics' notes; raises NothingFound where every source failed."""
    given, configuration, turn = services(), settings_of(runtime), state["turn"]
    meter = meter_of(state, configuration, given, answering=True)
    writer = ReportWriter(state, configuration, given, meter)
    if not writer.has_evidence:
        gaps = state.get("gaps", [])
        refuse_if_all_failed([gap for gap in gaps if gap["provider"] != "deep_research"])
    runtime.stream_writer(event("answering", NODE))
    said = await FinishedText(pieces=writer.pieces).ainvoke([])
    text, report, used = str(said.text), writer.report, writer.citer.used
    if configuration.resolve_links:
        text, used = await resolved_links(text, used, given)
        report, _ = await resolved_links(report, writer.citer.used, given)
    seconds = round(meter.budget.seconds(), 2)
    usage = given.billed(add_usage(state.get("usage"), meter.usage))
    places = with_mentions(writer.places, used, text)
    kept = {
        **_told(state, writer),
        "mode": given.mode,
        "sources": used,
        "places": places,
        "usage": {**usage, "seconds": seconds},
    }
    log.info("turn=%s %s: %d sources cited, %d gaps, %.1f s",
             turn["id"], NODE, len(used), len(writer.gaps), seconds)  # fmt: skip
    await given.close_turn(turn["id"])
    lanes.close(turn["id"])
    runtime.stream_writer(event("done", NODE, count=len(used), seconds=seconds))
    message = AIMessage(content=text, id=said.id, name=ASSISTANT, additional_kwargs=kept)
    return DeepUpdate(
        **_last(state, writer, used, places), messages=[message], report=report, usage=meter.usage
    )


def _last(
    state: DeepState, writer: ReportWriter, used: list[Source], places: list[Place]
) -> DeepUpdate:
    """What the state keeps: the cited sources numbered, the texts of the pages dropped."""
    question = state["turn"]["question"]
    return DeepUpdate(
        sources_gathered=replaced(numbered_ledger(state.get("sources_gathered", []), used)),
        pages_read=replaced([]),
        places=replaced(places),
        geojson=feature_collection(places, anchor=None, query=question) if places else None,
        gaps=writer.gaps[len(state.get("gaps", [])) :],
    )


def _told(state: DeepState, writer: ReportWriter) -> dict[str, Any]:
    """What a client wants beside the text, apart from what is worked out above."""
    topics = [
        {"topic": entry["topic"], "pages": len(entry["useful_webpages"])}
        for entry in state.get("search_results", [])
    ]
    counts = {
        name: state.get("counts", {}).get(name, 0)
        for name in ("thoughts", "refused_calls", "invented_urls", "forced_archives",
                     "unknown_notes")
    }  # fmt: skip
    return {
        "assistant": ASSISTANT,
        "routes": state.get("routes", []),
        "weather": state.get("weather", []),
        "gaps": writer.gaps,
        "queries": state.get("queries", []),
        "checks": {
            "cited": len(writer.citer.used),
            "unknown_ids_removed": writer.citer.unknown_ids_removed,
            "places_rejected": 0,
            "unverified_figures": writer.marker.marked,
            "rounds": state.get("rounds", 0),
            **counts,
        },
        "degraded": writer.degraded,
        "needs": None,
        "search_entry_points": [],
        "search_results": topics,
    }
