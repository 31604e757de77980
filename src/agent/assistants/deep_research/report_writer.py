"""The report as finished pieces: the model's text made clean and checked, code's sections."""

import logging
from collections.abc import AsyncIterator

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from agent.assistants.deep_research.state import DeepState
from agent.assistants.deep_research.toolbox import DeepToolbox
from agent.assistants.deep_research.wording import run_gap
from agent.budget import Meter
from agent.configuration import Configuration
from agent.errors import AgentError, ConfigurationError
from agent.evidence.citations import Citer, references
from agent.evidence.figures import FigureMarker
from agent.evidence.lengths import cut_to_tokens
from agent.evidence.types import Gap
from agent.nodes.answer_text import attribution, gap_section, record_sections, say
from agent.nodes.answer_writer import distinct_places
from agent.nodes.evidence_text import place_lines, route_lines, weather_lines
from agent.nodes.prompt_size import prompt_tokens
from agent.nodes.toolbox import gap_of
from agent.prompts import Raw, element, render

log = logging.getLogger(__name__)
_SHOWN_PLACES = 20
_MAP_TOPIC = {"zh": "地图", "en": "Map"}
_PER_TOPIC = 60
"""Tokens for a topic's tag."""


class ReportWriter:
    """Holds what came of writing: the citer and marker with their counts, gaps, degradation."""

    def __init__(
        self, state: DeepState, configuration: Configuration, given: DeepToolbox, meter: Meter
    ) -> None:
        self._state, self._configuration = state, configuration
        self._given, self._meter = given, meter
        self._turn = state["turn"]
        self._language = self._turn["language"]
        ledger = [*state.get("sources_gathered", []), *state["previous"]["sources"]]
        self.citer = Citer({source["id"]: source for source in ledger})
        self.marker = FigureMarker(_texts(state), self._language)
        self.places = distinct_places(state.get("places", []))
        self.gaps: list[Gap] = list(state.get("gaps", []))
        self.degraded = False
        self.report = ""
        self._topics = self._noted()

    @property
    def has_evidence(self) -> bool:
        """Whether there is anything to report."""
        return bool(self._topics or self._state["previous"]["sources"])

    async def pieces(self) -> AsyncIterator[str]:
        """The whole message, piece by piece, as it will be stored."""
        if notice := self._given.notice(self._language):
            yield f"> {notice}\n\n"
        if not self.has_evidence:
            self.report = say("nothing", self._language)
            yield self.report
        else:
            async for piece in self._body():
                self.report += piece
                yield piece
        for section in self._sections():
            self.report += f"\n\n{section}"
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
            log.warning("turn=%s report: %s", self._turn["id"], error)
            self.gaps.append(gap_of("", error, "report"))
            self.degraded = True
        if written and not self.citer.used:
            self.gaps.append(run_gap("report_uncited", self._language))
        if not self.citer.used:
            self.degraded = True
            lead = "\n\n" if written else f"{say('extractive', self._language)}\n\n"
            yield lead + self.citer.feed(self._notes()) + self.citer.flush()

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
                if piece := self.citer.feed(self.marker.feed(chunk)):
                    yield piece
        finally:
            tail = self.citer.feed(self.marker.flush()) + self.citer.flush()
        if tail:
            yield tail

    def _messages(self) -> list[BaseMessage]:
        """The prompt with every topic's notes, each cut to its share of the limit."""
        turn, limit = self._turn, self._configuration.context_token_limit
        gaps = "\n".join(f"{g['query']}: {g['message']}" for g in self.gaps)
        values = {
            "today": turn["today"],
            "conversation": cut_to_tokens(self._state["conversation"], limit // 10),
            "question": cut_to_tokens(turn["question"], limit // 5),
            "gaps": cut_to_tokens(gaps, limit // 10),
        }
        system = SystemMessage(render("deep_report_system", self._language))
        bare = HumanMessage(render("deep_report", self._language, topics="", **values))
        free = limit - prompt_tokens([system, bare]) - 100
        share = max(0, free // max(1, len(self._topics)) - _PER_TOPIC)
        shown = [
            element("topic", cut_to_tokens(notes, share), name=name) for name, notes in self._topics
        ]
        topics = Raw("\n".join(shown))
        full = render("deep_report", self._language, topics=topics, **values)
        return [system, HumanMessage(full)]

    def _noted(self) -> list[tuple[str, str]]:
        """The topics with what is known of each; the map's records are one of their own."""
        state, language = self._state, self._language
        topics = [
            (entry["topic"], entry["compressed_content"] or "")
            for entry in state.get("search_results", [])
        ]
        records = (
            place_lines(self.places[:_SHOWN_PLACES], language),
            route_lines(state.get("routes", []), language),
            weather_lines(state.get("weather", []), language),
        )
        if any(records):
            topics.append((_MAP_TOPIC[language], "\n".join(filter(None, records))))
        return topics if any(notes for _, notes in topics) else []

    def _notes(self) -> str:
        """The notes themselves, for when no model can write."""
        return "\n\n".join(f"## {name}\n\n{notes}" for name, notes in self._topics if notes)

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


def _texts(state: DeepState) -> dict[str, str]:
    """What each source says, for checking figures: the page's text, else what was noted of it."""
    texts = {read["id"]: read["text"] for read in state.get("pages_read", [])}
    for entry in state.get("search_results", []):
        for page in entry["useful_webpages"]:
            known = texts.get(page["id"], "")
            texts[page["id"]] = "\n".join([page["title"], page["snippet"], known])
    for source in [*state.get("sources_gathered", []), *state["previous"]["sources"]]:
        texts.setdefault(source["id"], "\n".join([source["title"], *source["quotes"]]))
    for name, told in _records_told(state):
        texts[name] = f"{texts.get(name, '')}\n{told}"
    return texts


def _records_told(state: DeepState) -> list[tuple[str, str]]:
    """Each record of the map by its source: as the model is shown it (rounded), and in full."""
    language = state["turn"]["language"]
    places, routes = state.get("places", []), state.get("routes", [])
    return [
        *((p["source"], f"{place_lines([p], language)}\n{p}") for p in places),
        *((r["source"], f"{route_lines([r], language)}\n{r}") for r in routes),
        *((w["source"], f"{weather_lines([w], language)}\n{w}") for w in state.get("weather", [])),
    ]
