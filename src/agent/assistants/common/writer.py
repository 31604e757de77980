"""The last message of a turn as finished pieces: what every assistant's writer has in common."""

import logging
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from langchain_core.messages import BaseMessage

from agent.assistants.common.budget import Accounted
from agent.assistants.common.gaps import gap_of
from agent.assistants.common.records import (
    place_lines,
    route_lines,
    route_text,
    weather_lines,
    weather_texts,
)
from agent.assistants.common.services import Services
from agent.configuration import Configuration
from agent.core.budget import Meter
from agent.core.errors import AgentError, ConfigurationError
from agent.evidence.citations import Citer, inert, references
from agent.evidence.figures import FigureMarker
from agent.evidence.markdown import without_urls
from agent.evidence.types import Gap, Place, Route, Source, Weather
from agent.state import PlannedQuery, Previous
from agent.texts.language import Language

_TEXTS: dict[str, dict[Language, str]] = {
    "needs_place": {
        "zh": "请告诉我您在哪里：说一个地名（例如“王府井附近”），或附上您的位置，我再去找。",
        "en": "Where are you? Name a place (for example “near the Bund”) or share your location, "
        "and I will look.",
    },
    "nothing": {
        "zh": "没有找到可以引用的资料，因此不作回答。可以换一种问法，或补充地点、时间等细节。",
        "en": "Nothing citable was found, so there is no answer. Try other words, or add a place "
        "or a time.",
    },
    "cancelled": {
        "zh": "已按您的要求停止：网页和地图都没有搜索，因此没有答案。可以换一种问法再问。",
        "en": "Stopped as you asked: nothing was searched, neither the web nor the map, so there "
        "is no answer. Ask again in other words whenever you like.",
    },
    "extractive": {
        "zh": "写答案的模型暂时不可用，以下直接摘自查到的资料：",
        "en": "The model that writes answers is unavailable; this is taken straight from the "
        "findings:",
    },
    "all_failed": {
        "zh": "所有来源都没能查到：{reasons}。请稍后再试，或用 tanlu doctor 检查配置",
        "en": "every source failed: {reasons}. Try again later, or check with `tanlu doctor`",
    },
    "no_model": {
        "zh": "没有模型能够作答：{reasons}。请稍后再试，或用 tanlu doctor 检查配置",
        "en": "every model failed: {reasons}. Try again later, or check with `tanlu doctor`",
    },
    "gaps": {"zh": "**没有查到的**", "en": "**What could not be found**"},
    "more_queries": {"zh": "等 {count} 条", "en": "; {count} in all"},
    "routes": {"zh": "**路线**", "en": "**Routes**"},
    "weather": {"zh": "**天气**", "en": "**Weather**"},
    "map_data": {
        "zh": "数据 © 高德地图，查询于 {time}",
        "en": "Data © Amap (高德地图), fetched {time}",
    },
}

_SHOWN_QUERY, _SHOWN_QUERIES = 60, 3


def say(key: str, language: Language) -> str:
    """A fixed sentence."""
    return _TEXTS[key][language]


def gap_section(gaps: Sequence[Gap], language: Language) -> str:
    """The gaps, each message once, with the queries it concerns; both may be foreign text."""
    asked: dict[str, dict[str, None]] = {}
    for gap in gaps:
        queries = asked.setdefault(inert(gap["message"]).rstrip("。."), {})
        if gap["query"]:
            # Addresses go first: half of one that is cut is not known for one.
            queries.setdefault(inert(without_urls(gap["query"])[0][:_SHOWN_QUERY]))
    if not asked:
        return ""
    lines = [f"- {text}{_concerning(list(queries), language)}" for text, queries in asked.items()]
    return "\n".join([say("gaps", language), *lines])


def _concerning(queries: list[str], language: Language) -> str:
    """The queries a gap concerns, in brackets; of many the first ones and how many there are."""
    if not queries:
        return ""
    shown = ("；" if language == "zh" else "; ").join(queries[:_SHOWN_QUERIES])
    if len(queries) > _SHOWN_QUERIES:
        shown += say("more_queries", language).format(count=len(queries))
    return f"（{shown}）" if language == "zh" else f" ({shown})"


def all_failed(gaps: Sequence[Gap], language: Language) -> str:
    """That nothing could be looked up, with each source's reason once; else the models'."""
    asked = [gap for gap in gaps if not gap["provider"].startswith("model")]
    reasons = dict.fromkeys(gap["message"].rstrip("。.") for gap in asked or gaps)
    told = ("；" if language == "zh" else "; ").join(reasons)
    return say("all_failed" if asked else "no_model", language).format(reasons=told)


def record_sections(
    routes: Sequence[Route], weather: Sequence[Weather], language: Language
) -> list[str]:
    """Routes and weather as code prints them, each line with its marker."""
    sections = []
    if routes:
        once = {route["id"]: route for route in routes}.values()
        lines = [f"- {route_text(r, language)} [^{r['source']}]" for r in once]
        sections.append("\n".join([say("routes", language), *lines]))
    if weather:
        lines = [f"- {t} [^{w['source']}]" for w in weather for t in weather_texts(w, language)]
        sections.append("\n".join([say("weather", language), *lines]))
    return sections


def attribution(
    places: Sequence[Place], routes: Sequence[Route], weather: Sequence[Weather], language: Language
) -> str:
    """Who owns the map's data, and when it was fetched; nothing where the map gave nothing."""
    fetched = [record["fetched_at"] for record in (*places, *routes, *weather)]
    if not fetched:
        return ""
    when = max(fetched)[:16].replace("T", " ")
    return f"*{say('map_data', language).format(time=when + ' UTC')}*"


log = logging.getLogger(__name__)

_SHOWN_PLACES = 20


class Gathered(Accounted, total=False):
    """What a turn gathered, under the keys that the states of all assistants have."""

    previous: Previous
    queries: list[PlannedQuery]
    sources_gathered: list[Source]
    places: list[Place]
    routes: list[Route]
    weather: list[Weather]
    gaps: list[Gap]


class TurnWriter(ABC):
    """Holds what came of writing: the citer with its counts, the gaps, whether it is degraded."""

    def __init__(
        self, gathered: Gathered, configuration: Configuration, services: Services, meter: Meter
    ) -> None:
        self._gathered, self._configuration = gathered, configuration
        self._services, self._meter = services, meter
        self._turn = gathered["turn"]
        self._language = self._turn["language"]
        self._previous = gathered.get("previous") or Previous(sources=[], places=[])
        ledger = [*gathered.get("sources_gathered", []), *self._previous["sources"]]
        self.citer = Citer({source["id"]: source for source in ledger})
        self.places = distinct_places(gathered.get("places", []))
        self.gaps: list[Gap] = list(gathered.get("gaps", []))
        self.degraded = False

    @property
    def lead(self) -> str:
        """What stands before everything: that this is sample data, or nothing."""
        notice = self._services.notice(self._language)
        return f"> {notice}\n\n" if notice else ""

    async def pieces(self) -> AsyncIterator[str]:
        """The whole message, piece by piece, as it will be stored."""
        if lead := self.lead:
            yield lead
        async for piece in self._body():
            yield piece
        for section in self._sections():
            yield f"\n\n{section}"

    def told(self) -> dict[str, Any]:
        """What a client wants beside the text, as far as this assistant has it; once written."""
        return {
            "routes": self._gathered.get("routes", []),
            "weather": self._gathered.get("weather", []),
            "gaps": self.gaps,
            "queries": self._gathered.get("queries", []),
            "degraded": self.degraded,
            "needs": None,
            "search_entry_points": [],
        }

    def checks(self) -> dict[str, int]:
        """What was counted, once written."""
        return {
            "cited": len(self.citer.used),
            "unknown_ids_removed": self.citer.unknown_ids_removed,
            "places_rejected": 0,
        }

    @abstractmethod
    def _body(self) -> AsyncIterator[str]:
        """The message between the notice and the sections that code adds."""

    def _own_sections(self) -> list[str]:
        """What this assistant's code adds first: the map's routes and weather."""
        gathered = self._gathered
        sections = record_sections(
            gathered.get("routes", []), gathered.get("weather", []), self._language
        )
        return [self._cited(section) for section in sections]

    def _cited(self, marked: str) -> str:
        """A whole marked text with its citations numbered."""
        return self.citer.feed(marked) + self.citer.flush()

    def _sections(self) -> list[str]:
        gathered, language = self._gathered, self._language
        routes, weather = gathered.get("routes", []), gathered.get("weather", [])
        sections = [
            *self._own_sections(),
            attribution(self.places, routes, weather, language),
            gap_section(self.gaps, language),
            references(self.citer.used, language),
        ]
        return [section for section in sections if section]


class ModelWriter(TurnWriter):
    """A writer whose body is a model's text, made clean while it streams."""

    _part = "answer"
    """What is written, in the gap that a failing model leaves."""
    _written = False

    async def _model_text(self) -> AsyncIterator[str]:
        """What the model writes; a failure is a gap, after the text there is."""
        try:
            async for piece in self._streamed():
                self._written = self._written or bool(piece.strip())
                yield piece
        except ConfigurationError:
            raise
        except AgentError as error:
            log.warning("turn=%s %s: %s", self._turn["id"], self._part, error)
            self.gaps.append(gap_of("", error, self._part, self._language))
            self.degraded = True

    async def _streamed(self) -> AsyncIterator[str]:
        configuration, chosen = self._configuration, self._turn["reasoning_model"]
        stream = self._services.models.stream(
            chosen or configuration.answer_model,
            self._messages(),
            meter=self._meter,
            fallback=chosen or configuration.reflection_model,
        )
        try:
            async for chunk in stream:
                if piece := self._clean(chunk):
                    yield piece
        finally:
            tail = self._rest()
        if tail:
            yield tail

    @abstractmethod
    def _messages(self) -> Sequence[BaseMessage]:
        """The prompt."""

    def _clean(self, chunk: str) -> str:
        return self.citer.feed(chunk)

    def _rest(self) -> str:
        return self.citer.flush()


class CheckedWriter(ModelWriter):
    """A writer whose text must cite its sources, and whose figures are checked against them.

    Where the model writes nothing, or cites nothing, the material itself follows.
    """

    def __init__(
        self,
        gathered: Gathered,
        configuration: Configuration,
        services: Services,
        meter: Meter,
        *,
        texts: Mapping[str, str],
    ) -> None:
        """`texts`: what each source says, by its id."""
        super().__init__(gathered, configuration, services, meter)
        self.marker = FigureMarker(texts, self._language)

    @property
    @abstractmethod
    def has_evidence(self) -> bool:
        """Whether there is anything to write from."""

    def checks(self) -> dict[str, int]:
        return {**super().checks(), "unverified_figures": self.marker.marked}

    @abstractmethod
    def _uncited_gap(self) -> Gap:
        """That the model's text names no sources."""

    @abstractmethod
    def _material(self) -> str:
        """What was found, marked, for when no model can write."""

    async def _body(self) -> AsyncIterator[str]:
        if not self.has_evidence:
            yield say("nothing", self._language)
            return
        async for piece in self._model_text():
            yield piece
        if self._written and not self.citer.used:
            self.gaps.append(self._uncited_gap())
        if not self.citer.used:
            self.degraded = True
            lead = "\n\n" if self._written else f"{say('extractive', self._language)}\n\n"
            yield lead + self._cited(self._material())

    def _clean(self, chunk: str) -> str:
        return self.citer.feed(self.marker.feed(chunk))

    def _rest(self) -> str:
        return self.citer.feed(self.marker.flush()) + self.citer.flush()

    def _records(self) -> str:
        """What the map said, as lines."""
        gathered, language = self._gathered, self._language
        records = (
            place_lines(self.places[:_SHOWN_PLACES], language),
            route_lines(gathered.get("routes", []), language),
            weather_lines(gathered.get("weather", []), language),
        )
        return "\n".join(filter(None, records))


def distinct_places(places: list[Place]) -> list[Place]:
    """One record a place: the more detailed one wins, in order of first appearance."""
    best: dict[str, Place] = {}
    for place in places:
        known = best.get(place["id"])
        if known is None or (place["detailed"] and not known["detailed"]):
            best[place["id"]] = place
    return list(best.values())
