"""Closing a turn: the written message with everything a client wants beside it."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage
from typing_extensions import TypedDict

from agent.budget import Meter, add_usage
from agent.configuration import Configuration
from agent.errors import NothingFound
from agent.evidence.citations import with_targets
from agent.evidence.mentions import mentioned
from agent.evidence.types import Anchor, Gap, Place, Source, Usage
from agent.export.geojson import feature_collection
from agent.language import Language
from agent.models.finished import FinishedText
from agent.nodes.answer_text import all_failed
from agent.nodes.toolbox import Toolbox
from agent.nodes.writer import Gathered, TurnWriter
from agent.progress import Emit, event
from agent.state import replaced

log = logging.getLogger(__name__)
_ANSWERED_EMPTY = {
    "no_results", "map_no_results", "map_place_not_found", "map_not_covered", "ungrounded",
}  # fmt: skip


class Closing(TypedDict):
    """What the last node of every assistant leaves in the state."""

    messages: list[Any]
    sources_gathered: list[Source]
    places: list[Place]
    geojson: dict[str, Any] | None
    gaps: list[Gap]
    usage: Usage


@dataclass(frozen=True)
class Ending:
    """Whose turn ends, and with what."""

    node: str
    assistant: str
    given: Toolbox
    configuration: Configuration
    meter: Meter
    emit: Emit


async def close(
    gathered: Gathered, writer: TurnWriter, ending: Ending, *, anchor: Anchor | None = None
) -> Closing:
    """Writes and streams the message, closes the turn, and says so."""
    given, turn = ending.given, gathered["turn"]
    ending.emit(event("answering", ending.node))
    said = await FinishedText(pieces=writer.pieces).ainvoke([])
    text, used = str(said.text), writer.citer.used
    if ending.configuration.resolve_links:
        text, used = with_targets(text, used, await given.links([s["url"] for s in used]))
    places = _with_mentions(writer.places, used, text)
    seconds = round(ending.meter.budget.seconds(), 2)
    usage = given.billed(add_usage(gathered.get("usage"), ending.meter.usage))
    kept = {
        **writer.told(),
        "assistant": ending.assistant,
        "mode": given.mode,
        "sources": used,
        "places": places,
        "anchor": anchor if places else None,
        "usage": {**usage, "seconds": seconds},
        "checks": writer.checks(),
    }
    log.info("turn=%s %s: %d sources cited, %d gaps, %.1f s",
             turn["id"], ending.node, len(used), len(writer.gaps), seconds)  # fmt: skip
    await given.close_turn(turn["id"])
    ending.emit(event("done", ending.node, count=len(used), seconds=seconds))
    message = AIMessage(content=text, id=said.id, name=ending.assistant, additional_kwargs=kept)
    found = feature_collection(places, anchor=anchor, query=turn["question"]) if places else None
    return Closing(
        messages=[message],
        sources_gathered=replaced(_numbered_ledger(gathered.get("sources_gathered", []), used)),
        places=replaced(places),
        geojson=found,
        gaps=writer.gaps[len(gathered.get("gaps", [])) :],
        usage=ending.meter.usage,
    )


def refuse_if_all_failed(gaps: Sequence[Gap], language: Language) -> None:
    """An empty answer is honest only if some source did answer; raises NothingFound."""
    failures = [g for g in gaps if not g["code"].startswith("budget_")]
    if failures and not any(g["code"] in _ANSWERED_EMPTY for g in gaps):
        raise NothingFound(all_failed(failures, language))


def _numbered_ledger(ledger: list[Source], used: list[Source]) -> list[Source]:
    """The turn's ledger, in which the cited sources carry their numbers."""
    cited = {source["id"]: source for source in used}
    return [cited.get(source["id"], source) for source in ledger]


def _with_mentions(places: list[Place], used: list[Source], text: str) -> list[Place]:
    """The places the answer names or cites are marked, and come first."""
    cited = {source["id"] for source in used}
    named = mentioned(places, text)
    marked = [Place(**{**p, "mentioned": p["id"] in named or p["source"] in cited}) for p in places]
    return sorted(marked, key=lambda p: not p["mentioned"])
