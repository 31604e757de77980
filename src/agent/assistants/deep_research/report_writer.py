"""The report as finished pieces: the model's text made clean and checked, code's sections."""

from collections.abc import AsyncIterator
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from agent.assistants.deep_research.state import DeepState
from agent.assistants.deep_research.toolbox import DeepToolbox
from agent.assistants.deep_research.wording import run_gap
from agent.budget import Meter
from agent.configuration import Configuration
from agent.evidence.figures import FigureMarker
from agent.evidence.lengths import cut_to_tokens
from agent.nodes.answer_text import say
from agent.nodes.evidence_text import place_lines, route_lines, weather_lines
from agent.nodes.prompt_size import prompt_tokens
from agent.nodes.writer import ModelWriter
from agent.prompts import Raw, element, render

_SHOWN_PLACES = 20
_MAP_TOPIC = {"zh": "地图", "en": "Map"}
_COUNTS = ("thoughts", "refused_calls", "invented_urls", "forced_archives", "unknown_notes")
_PER_TOPIC = 60
"""Tokens for a topic's tag."""


class ReportWriter(ModelWriter):
    """Writes from the topics' notes; its marker counts the figures no cited page has."""

    _part = "report"

    def __init__(
        self, state: DeepState, configuration: Configuration, given: DeepToolbox, meter: Meter
    ) -> None:
        super().__init__(state, configuration, given, meter)
        self._state = state
        self.marker = FigureMarker(_texts(state), self._language)
        self._topics = self._noted()

    @property
    def has_evidence(self) -> bool:
        """Whether there is anything to report."""
        return bool(self._topics or self._previous["sources"])

    def told(self) -> dict[str, Any]:
        topics = [
            {"topic": entry["topic"], "pages": len(entry["useful_webpages"])}
            for entry in self._state.get("search_results", [])
        ]
        return {**super().told(), "search_results": topics}

    def checks(self) -> dict[str, int]:
        counts: dict[str, Any] = {**self._state.get("counts", {})}
        return {
            **super().checks(),
            "unverified_figures": self.marker.marked,
            "rounds": self._state.get("rounds", 0),
            **{name: counts.get(name, 0) for name in _COUNTS},
        }

    async def _body(self) -> AsyncIterator[str]:
        if not self.has_evidence:
            yield say("nothing", self._language)
            return
        async for piece in self._model_text():
            yield piece
        if self._written and not self.citer.used:
            self.gaps.append(run_gap("report_uncited", self._language))
        if not self.citer.used:
            self.degraded = True
            lead = "\n\n" if self._written else f"{say('extractive', self._language)}\n\n"
            yield lead + self._cited(self._notes())

    def _clean(self, chunk: str) -> str:
        return self.citer.feed(self.marker.feed(chunk))

    def _rest(self) -> str:
        return self.citer.feed(self.marker.flush()) + self.citer.flush()

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
