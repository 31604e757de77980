"""The last node: the report with numbered citations, and everything a client wants beside it."""

from typing import Any, cast

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langgraph.runtime import Runtime

from agent.assistants.common.budget import meter_of
from agent.assistants.common.records import place_lines, prompt_tokens, route_lines, weather_lines
from agent.assistants.common.services import GetServices, Services
from agent.assistants.common.turn import Ending, close, refuse_if_all_failed
from agent.assistants.common.writer import CheckedWriter
from agent.assistants.deep_research.state import DeepState, DeepUpdate, configuration_of
from agent.assistants.deep_research.wording import run_gap
from agent.configuration import Configuration
from agent.core.budget import Meter
from agent.core.concurrency import Lanes
from agent.core.strings import cut_to_tokens
from agent.evidence.types import Gap
from agent.prompts import Raw, element, render
from agent.state import replaced

_MAP_TOPIC = {"zh": "地图", "en": "Map"}
_COUNTS = ("thoughts", "refused_calls", "invented_urls", "forced_archives", "unknown_notes")
_PER_TOPIC = 60
"""Tokens for a topic's tag."""


class ReportWriter(CheckedWriter):
    """Writes from the topics' notes; its marker counts the figures no cited page has."""

    _part = "report"

    def __init__(
        self, state: DeepState, configuration: Configuration, services: Services, meter: Meter
    ) -> None:
        super().__init__(state, configuration, services, meter, texts=_texts(state))
        self._state = state
        self._topics = self._noted()

    @property
    def has_evidence(self) -> bool:
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
            "rounds": self._state.get("rounds", 0),
            **{name: counts.get(name, 0) for name in _COUNTS},
        }

    def _uncited_gap(self) -> Gap:
        return run_gap("report_uncited", self._language)

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
        topics = [
            (entry["topic"], entry["compressed_content"] or "")
            for entry in self._state.get("search_results", [])
        ]
        if records := self._records():
            topics.append((_MAP_TOPIC[self._language], records))
        return topics if any(notes for _, notes in topics) else []

    def _material(self) -> str:
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


NODE = "write_report"
ASSISTANT = "deep_research"


async def write_report(
    state: DeepState, runtime: Runtime[Configuration], *, get_services: GetServices, lanes: Lanes
) -> DeepUpdate:
    """Writes the report from the topics' notes; raises NothingFound where every source failed."""
    services, configuration = get_services(), configuration_of(runtime)
    meter = meter_of(state, configuration, services, answering=True)
    writer = ReportWriter(state, configuration, services, meter)
    if not writer.has_evidence:
        gaps = [gap for gap in state.get("gaps", []) if gap["provider"] != ASSISTANT]
        refuse_if_all_failed(gaps, state["turn"]["language"])
    ending = Ending(NODE, ASSISTANT, services, configuration, meter, runtime.stream_writer)
    closing = await close(state, writer, ending)
    lanes.close(state["turn"]["id"])
    report = str(closing["messages"][-1].text).removeprefix(writer.lead)
    return cast(DeepUpdate, {**closing, "pages_read": replaced([]), "report": report})
