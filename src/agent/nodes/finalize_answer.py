"""The last node: the answer with numbered citations, and everything a client wants beside it."""

from collections.abc import AsyncIterator
from typing import Any, cast

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langgraph.runtime import Runtime

from agent.assistants.common.budget import open_meter
from agent.assistants.common.conversation import conversation
from agent.assistants.common.records import place_lines, route_lines, source_lines, weather_lines
from agent.assistants.common.services import GetServices, Services
from agent.assistants.common.turn import Ending, close, refuse_if_all_failed
from agent.assistants.common.writer import ModelWriter, say
from agent.configuration import Configuration
from agent.core.budget import Meter
from agent.prompts import render
from agent.state import OverallState, Update

_SHOWN_PLACES = 20


class AnswerWriter(ModelWriter):
    """Writes from the branches' findings, or takes the answer straight from them."""

    def __init__(
        self, state: OverallState, configuration: Configuration, services: Services, meter: Meter
    ) -> None:
        super().__init__(state, configuration, services, meter)
        self._state = state
        self._findings = [
            *state.get("web_research_result", []), *state.get("amap_research_result", []),
        ]  # fmt: skip

    @property
    def has_evidence(self) -> bool:
        """Whether there is anything to answer from."""
        return bool(self._findings or self.places or self._previous["sources"])

    def told(self) -> dict[str, Any]:
        more = {"needs": self._state.get("needs"),
                "search_entry_points": self._state.get("search_entry_points", [])}  # fmt: skip
        return {**super().told(), **more}

    def checks(self) -> dict[str, int]:
        rejected = len(self._state.get("places_rejected", []))
        return {**super().checks(), "places_rejected": rejected}

    async def _body(self) -> AsyncIterator[str]:
        if self._state.get("cancelled"):
            yield say("cancelled", self._language)
        elif self._state.get("needs"):
            yield say("needs_place", self._language)
        elif not self.has_evidence:
            yield say("nothing", self._language)
        else:
            async for piece in self._answer():
                yield piece

    async def _answer(self) -> AsyncIterator[str]:
        async for piece in self._model_text():
            yield piece
        if not self._written or (self.degraded and not self.citer.used):
            self.degraded = True
            lead = "\n\n" if self._written else ""
            yield lead + self._cited(self._extract())

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


NODE = "finalize_answer"
ASSISTANT = "agent"


async def finalize_answer(
    state: OverallState, runtime: Runtime[Configuration], *, get_services: GetServices
) -> Update:
    """Writes the answer from the evidence; raises NothingFound where every source failed."""
    services = get_services()
    configuration = runtime.context or Configuration()
    spent = state.get("usage")
    meter = open_meter(state["turn"], configuration, services, spent=spent, answering=True)
    writer = AnswerWriter(state, configuration, services, meter)
    nothing_sought = state.get("needs") or state.get("cancelled")
    if not writer.has_evidence and not nothing_sought:
        refuse_if_all_failed(state.get("gaps", []), state["turn"]["language"])
    ending = Ending(NODE, ASSISTANT, services, configuration, meter, runtime.stream_writer)
    anchor = next(iter(state.get("anchors", [])), None)
    return cast(Update, await close(state, writer, ending, anchor=anchor))
