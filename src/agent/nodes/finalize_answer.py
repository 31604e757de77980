"""The last node: the answer with numbered citations, and everything a client wants beside it."""

import logging
from typing import Any

from langchain_core.messages import AIMessage
from langgraph.runtime import Runtime

from agent.budget import add_usage
from agent.configuration import Configuration
from agent.errors import NothingFound
from agent.evidence.mentions import mentioned
from agent.evidence.types import Gap, Place, Source
from agent.export.geojson import feature_collection
from agent.models.finished import FinishedText
from agent.nodes.answer_writer import AnswerWriter
from agent.nodes.toolbox import Services, Toolbox, open_meter
from agent.progress import event
from agent.state import OverallState, Update, replaced

log = logging.getLogger(__name__)
NODE = "finalize_answer"
ASSISTANT = "agent"
_ANSWERED_EMPTY = {
    "no_results", "map_no_results", "map_place_not_found", "map_not_covered", "ungrounded",
}  # fmt: skip


async def finalize_answer(
    state: OverallState, runtime: Runtime[Configuration], *, services: Services
) -> Update:
    """Writes the answer from the evidence; raises NothingFound where every source failed."""
    given = services()
    configuration = runtime.context or Configuration()
    turn = state["turn"]
    meter = open_meter(turn, configuration, given, spent=state.get("usage"), answering=True)
    writer = AnswerWriter(state, configuration, given, meter)
    if not writer.has_evidence and not state.get("needs"):
        refuse_if_all_failed(state.get("gaps", []))
    runtime.stream_writer(event("answering", NODE))
    said = await FinishedText(pieces=writer.pieces).ainvoke([])
    text, used = str(said.text), writer.citer.used
    if configuration.resolve_links:
        text, used = await resolved_links(text, used, given)
    places = with_mentions(writer.places, used, text)
    seconds = round(meter.budget.seconds(), 2)
    usage = given.billed(add_usage(state.get("usage"), meter.usage))
    kept = _told(state, writer) | {"mode": given.mode, "sources": used, "places": places}
    kept["usage"] = {**usage, "seconds": seconds}
    log.info("turn=%s %s: %d sources cited, %d gaps, %.1f s",
             turn["id"], NODE, len(used), len(writer.gaps), seconds)  # fmt: skip
    await given.close_turn(turn["id"])
    runtime.stream_writer(event("done", NODE, count=len(used), seconds=seconds))
    return Update(
        messages=[AIMessage(content=text, id=said.id, name=ASSISTANT, additional_kwargs=kept)],
        sources_gathered=replaced(numbered_ledger(state.get("sources_gathered", []), used)),
        places=replaced(places),
        geojson=_geojson(state, places),
        gaps=writer.gaps[len(state.get("gaps", [])) :],
        usage=meter.usage,
    )


def numbered_ledger(ledger: list[Source], used: list[Source]) -> list[Source]:
    """The turn's ledger, in which the cited sources carry their numbers."""
    cited = {source["id"]: source for source in used}
    return [cited.get(source["id"], source) for source in ledger]


def _told(state: OverallState, writer: AnswerWriter) -> dict[str, Any]:
    """What a client wants beside the text, apart from what is worked out here."""
    return {
        "assistant": ASSISTANT,
        "routes": state.get("routes", []),
        "weather": state.get("weather", []),
        "gaps": writer.gaps,
        "queries": state.get("queries", []),
        "checks": {
            "cited": len(writer.citer.used),
            "unknown_ids_removed": writer.citer.unknown_ids_removed,
            "places_rejected": len(state.get("places_rejected", [])),
        },
        "degraded": writer.degraded,
        "needs": state.get("needs"),
        "search_entry_points": state.get("search_entry_points", []),
    }


def _geojson(state: OverallState, places: list[Place]) -> dict[str, Any] | None:
    """The places as a FeatureCollection around what was searched around."""
    if not places:
        return None
    anchor = next(iter(state.get("anchors", [])), None)
    return feature_collection(places, anchor=anchor, query=state["turn"]["question"])


def refuse_if_all_failed(gaps: list[Gap]) -> None:
    """An empty answer is honest only if some source did answer."""
    failures = [g for g in gaps if not g["code"].startswith("budget_")]
    if failures and not any(g["code"] in _ANSWERED_EMPTY for g in gaps):
        reasons = dict.fromkeys(f"{g['provider']}: {g['message']}" for g in failures)
        raise NothingFound("every source failed: " + "; ".join(reasons))


async def resolved_links(text: str, used: list[Source], given: Toolbox) -> tuple[str, list[Source]]:
    """Cited redirect links replaced by where they lead."""
    found = await given.links([source["url"] for source in used])
    for old, new in found.items():
        text = text.replace(f"({old})", f"({new})")
    return text, [Source(**{**s, "url": found.get(s["url"], s["url"])}) for s in used]


def with_mentions(places: list[Place], used: list[Source], text: str) -> list[Place]:
    """The places the answer names or cites are marked, and come first."""
    cited = {source["id"] for source in used}
    named = mentioned(places, text)
    marked = [Place(**{**p, "mentioned": p["id"] in named or p["source"] in cited}) for p in places]
    return sorted(marked, key=lambda p: not p["mentioned"])
