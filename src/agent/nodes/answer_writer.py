"""One answer as finished pieces: the notice, the model's text made clean, code's sections."""

import logging
from collections.abc import AsyncIterator

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from agent.budget import Meter
from agent.configuration import Configuration
from agent.errors import AgentError, ConfigurationError
from agent.evidence.citations import Citer, references
from agent.evidence.types import Gap, Place
from agent.nodes.answer_text import attribution, gap_section, record_sections, say
from agent.nodes.conversation import conversation
from agent.nodes.evidence_text import place_lines, route_lines, source_lines, weather_lines
from agent.nodes.toolbox import Toolbox, gap_of
from agent.prompts import render
from agent.state import OverallState

log = logging.getLogger(__name__)
_SHOWN_PLACES = 20


class AnswerWriter:
    """Holds what came of writing: the citer with its counts, the gaps, whether it is degraded."""

    def __init__(
        self, state: OverallState, configuration: Configuration, given: Toolbox, meter: Meter
    ) -> None:
        self._state, self._configuration = state, configuration
        self._given, self._meter = given, meter
        self._turn = state["turn"]
        self._language = self._turn["language"]
        previous = state.get("previous") or {"sources": [], "places": []}
        self._previous = previous
        ledger = [*state.get("sources_gathered", []), *previous["sources"]]
        self.citer = Citer({source["id"]: source for source in ledger})
        self.places = distinct_places(state.get("places", []))
        self.gaps: list[Gap] = list(state.get("gaps", []))
        self.degraded = False
        self._findings = [
            *state.get("web_research_result", []), *state.get("amap_research_result", []),
        ]  # fmt: skip

    @property
    def has_evidence(self) -> bool:
        """Whether there is anything to answer from."""
        return bool(self._findings or self.places or self._previous["sources"])

    async def pieces(self) -> AsyncIterator[str]:
        """The whole message, piece by piece, as it will be stored."""
        if notice := self._given.notice(self._language):
            yield f"> {notice}\n\n"
        if self._state.get("needs"):
            yield say("needs_place", self._language)
        elif not self.has_evidence:
            yield say("nothing", self._language)
        else:
            async for piece in self._body():
                yield piece
        for section in self._sections():
            yield f"\n\n{section}"

    async def _body(self) -> AsyncIterator[str]:
        written = False
        try:
            async for piece in self._model_text():
                written = written or bool(piece.strip())
                yield piece
        except ConfigurationError:
            raise
        except AgentError as error:
            log.warning("turn=%s answer: %s", self._turn["id"], error)
            self.gaps.append(gap_of("", error, "answer"))
            self.degraded = True
        if not written or (self.degraded and not self.citer.used):
            self.degraded = True
            lead = "\n\n" if written else ""
            yield lead + self.citer.feed(self._extract()) + self.citer.flush()

    async def _model_text(self) -> AsyncIterator[str]:
        configuration, chosen = self._configuration, self._turn["reasoning_model"]
        stream = self._given.models.stream(
            chosen or configuration.answer_model,
            self._messages(),
            meter=self._meter,
            fallback=chosen or configuration.reflection_model,
        )
        try:
            async for chunk in stream:
                if piece := self.citer.feed(chunk):
                    yield piece
        finally:
            tail = self.citer.flush()
        if tail:
            yield tail

    def _messages(self) -> list[BaseMessage]:
        state, language = self._state, self._language
        values = {
            "today": self._turn["today"],
            "conversation": conversation(state["messages"], self._previous["sources"]),
            "question": self._turn["question"],
            "findings": "\n\n".join(self._findings),
            "places": place_lines(self.places[:_SHOWN_PLACES], language),
            "routes": route_lines(state.get("routes", []), language),
            "weather": weather_lines(state.get("weather", []), language),
            "gaps": "\n".join(f"{g['query']}: {g['message']}" for g in self.gaps),
            "previous_sources": source_lines(self._previous["sources"]),
            "previous_places": place_lines(self._previous["places"], language),
        }
        return [
            SystemMessage(render("answer_system", language)),
            HumanMessage(render("answer", language, **values)),
        ]

    def _extract(self) -> str:
        """The evidence itself, for when no model can write."""
        parts = [say("extractive", self._language), *self._findings]
        if not self._state.get("amap_research_result") and self.places:
            lines = place_lines(self.places[:_SHOWN_PLACES], self._language).splitlines()
            parts.append("\n".join(f"- {line}" for line in lines))
        return "\n\n".join(parts)

    def _sections(self) -> list[str]:
        state, language = self._state, self._language
        routes, weather = state.get("routes", []), state.get("weather", [])
        sections = [
            self.citer.feed(section) + self.citer.flush()
            for section in record_sections(routes, weather, language)
        ]
        sections.append(attribution(self.places, routes, weather, language))
        sections.append(gap_section(self.gaps, language))
        sections.append(references(self.citer.used, language) if self.citer.used else "")
        return [section for section in sections if section]


def distinct_places(places: list[Place]) -> list[Place]:
    """One record a place: the more detailed one wins, in order of first appearance."""
    best: dict[str, Place] = {}
    for place in places:
        known = best.get(place["id"])
        if known is None or (place["detailed"] and not known["detailed"]):
            best[place["id"]] = place
    return list(best.values())
