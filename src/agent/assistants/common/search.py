"""Offer searches and the map to a model: which services serve, hits and places as shown."""

import asyncio
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from langchain_core.messages import AIMessage, AnyMessage, ToolCall, ToolMessage
from langchain_core.tools import BaseTool

from agent.assistants.common.page_opener import PageOpener
from agent.assistants.common.services import Services
from agent.configuration import Configuration
from agent.core.budget import Meter
from agent.core.errors import AgentError, BudgetExceeded, ConfigurationError, ProviderError
from agent.core.faults import contained
from agent.evidence.geo import distance_m, parse_lnglat
from agent.evidence.intent import LNGLAT, names_known_place
from agent.evidence.language import SENTENCE_END
from agent.evidence.markdown import link_url
from agent.evidence.types import Gap, Place
from agent.mcp.records import CALLS_FOR_TOOLS, MapOptions, MapResult, has_name, map_gap, place_line
from agent.mcp.servers import SERVERS
from agent.mcp.tools import BranchTools
from agent.prompts import attribute, element
from agent.search.hits import (
    LABELS,
    Hit,
    Hits,
    SearchProvider,
    WebChoice,
    WebTask,
    failure_gap,
    rule_gaps,
)
from agent.search.rules import rules_of
from agent.search.web import WebSearch
from agent.state import Gathered, Turn
from agent.texts import Language, say

_LEAST_SENTENCE = 16
"""Letters of a sentence that two pages do not share by chance."""


@dataclass
class SearchResult:
    """Hold the hits of one query that can be linked to, by the service of this name."""

    query: str
    hits: list[Hit] = field(default_factory=list)
    service: str = ""
    gaps: list[Gap] = field(default_factory=list)
    remarks: Sequence[str] = ()
    """Sentences of the search itself that no page bears: what it did not find, and asides."""
    failure: str = ""
    """Why there are no hits, in the user's language; empty where the search itself worked."""
    is_refused: bool = False
    """Whether it was never sent."""


def providers_of(
    web: WebSearch, choices: Iterable[WebChoice], configuration: Configuration, today: str
) -> dict[WebChoice, SearchProvider]:
    """Return the configured choices under the run's rules; raise ConfigurationError without one."""
    model, rules = configuration.research_model, rules_of(configuration)
    providers: dict[WebChoice, SearchProvider] = {}
    problem = ConfigurationError("web_search", "No service is named")
    for choice in choices:
        try:
            providers[choice] = web.provider(choice, model=model, rules=rules, today=today)
        except ConfigurationError as error:
            problem = error
    if not providers:
        raise problem
    return providers


def search_providers(
    web: WebSearch, configuration: Configuration, today: str
) -> list[SearchProvider]:
    """Return what a query is sent to, the second where the first one fails.

    Raises ConfigurationError where there is none. Tavily comes first: it also reads pages.
    """
    choice = configuration.web_search
    choices: tuple[WebChoice, ...] = ("tavily", "auto") if choice == "auto" else (choice,)
    providers = providers_of(web, choices, configuration, today)
    return list({provider.name: provider for provider in providers.values()}.values())


async def ask_providers(
    query: str,
    providers: Sequence[SearchProvider],
    *,
    turn: Turn,
    model: str,
    meter: Meter,
    pages: PageOpener | None = None,
) -> SearchResult:
    """Ask one service after another until one answers; never raise for a failure.

    `model` is the research model. A spent budget ends it: another service would not be paid for.
    With `pages` the hits have their pages' text, as far as those could be opened.
    """
    result = await _ask_in_turn(query, providers, turn=turn, model=model, meter=meter)
    if pages is not None and result.hits:
        result.hits = await pages.open(result.hits)
    return result


async def _ask_in_turn(
    query: str, providers: Sequence[SearchProvider], *, turn: Turn, model: str, meter: Meter
) -> SearchResult:
    task = WebTask(query, "", turn["language"], turn["today"], model)
    gaps: list[Gap] = []
    for service, following in zip(providers, [*providers[1:], None], strict=True):
        try:
            with contained(service.name):
                hits = await service.search(query, meter=meter)
        except BudgetExceeded as error:
            return _failure(query, [*gaps, failure_gap(task, service.name, error, text="failed")])
        except (ProviderError, ConfigurationError) as error:
            if following is None:
                gaps.append(failure_gap(task, service.name, error, text="failed"))
            else:
                other = LABELS.get(following.name, following.name)
                gaps.append(failure_gap(task, service.name, error, text="fallback", other=other))
        else:
            linked = [hit for hit in hits if link_url(hit.url)]
            remarks = hits.remarks if isinstance(hits, Hits) else ()
            if isinstance(hits, Hits):
                gaps += rule_gaps(query, service.name, hits, turn["language"])
            return SearchResult(query, linked, service.name, gaps, remarks)
    return _failure(query, gaps)


def _failure(query: str, gaps: list[Gap]) -> SearchResult:
    return SearchResult(query, gaps=gaps, failure=gaps[-1]["message"] if gaps else "")


def result_element(query: str, rows: Sequence[str], **attributes: str) -> str:
    """Return the results of one query as an element; rows are elements already."""
    written = "".join(f' {name}="{attribute(value)}"' for name, value in attributes.items())
    return "\n".join([f'<results{written} query="{attribute(query)}">', *rows, "</results>"])


def page_row(snippet: str, **attributes: str | None) -> str:
    """Return one result."""
    return element("result", snippet, **attributes)


def remark_row(remark: str) -> str:
    """Return what a search said without a source: a model may know it, nobody can cite it."""
    return element("remark", remark, source="none")


def told_once(
    names: Sequence[str], snippets: Sequence[str], language: Language
) -> list[tuple[str, str | None]]:
    """Return the snippets with each sentence once, and the other names that bear one of it."""
    bearers: dict[str, int] = {}
    others: list[list[str]] = [[] for _ in snippets]
    shown = list[str]()
    for place, snippet in enumerate(snippets):
        own = [part for part in SENTENCE_END.split(snippet) if part.strip()]
        fresh = list[str]()
        for sentence in own:
            key = "".join(sentence.split()).casefold()
            first = bearers.setdefault(key, place) if len(key) >= _LEAST_SENTENCE else place
            if first == place:
                fresh.append(sentence.strip())
            elif names[place] not in others[first]:
                others[first].append(names[place])
        is_whole = len(fresh) == len(own)
        shown.append(snippet if is_whole else " ".join(fresh) or say("tools.above", language))
    return [(text, " ".join(also) or None) for text, also in zip(shown, others, strict=True)]


def offers_map(state: Gathered, configuration: Configuration) -> bool:
    """Return whether the map may be asked, and did not fail in this turn."""
    if configuration.geo_routing == "never" or state["turn"].get("own_only"):
        return False
    return not any(gap["provider"] in SERVERS for gap in state.get("gaps", []))


def belongs_on_map(routing: str, said: bool | None, texts: Iterable[str]) -> bool:
    """Return whether the map's tools belong to what is asked, by what a model `said` of it.

    Without a model's word they do where a text has a position or the name of a known place.
    """
    if routing == "llm" and said is not None:
        return said
    placed = any(names_known_place(text) or parse_lnglat(text) for text in texts)
    return routing != "never" and (placed or routing == "always")


async def map_tools(
    turn: Turn, services: Services, meter: Meter
) -> tuple[list[BaseTool], list[Gap]]:
    """Return the map's tools to be offered, or the gap of a map that cannot be had."""
    options = MapOptions(prefix="a0", language=turn["language"], near=turn["near"])
    try:
        maps = await services.maps.tools(
            MapResult(), turn["question"], options=options, meter=meter, on_call=lambda call: None
        )
    except AgentError as error:
        return [], [map_gap(error, turn["question"][:60], turn["language"])]
    return list(maps.tools), []


_SEARCHES, _DETAIL = ("maps_around_search", "maps_text_search"), "maps_search_detail"
_LOCATE = "maps_geo"
_SAME_SPOT_M, _BESIDE_M = 100, 300
_PLACE_ID = re.compile(r'"id":\s*"([^"]{3,40})"')


def located(messages: Sequence[AnyMessage]) -> dict[str, str]:
    """Return the words with which a model located positions ("lng,lat"), by these."""
    addresses: dict[str, str] = {}
    names: dict[str, str] = {}
    for message in messages:
        for call in message.tool_calls if isinstance(message, AIMessage) else []:
            if call["name"] == _LOCATE:
                addresses[call["id"] or ""] = str(call["args"].get("address") or "")
        if isinstance(message, ToolMessage) and (name := addresses.get(message.tool_call_id)):
            names |= dict.fromkeys(LNGLAT.findall(str(message.text)), name)
    return names


@dataclass(frozen=True)
class PlaceLookup:
    """Look up the first places of each search, so that they have an id to cite, rating and hours.

    `most` is how many of one search; calls that a model may still want are left to it.
    """

    tools: BranchTools
    result: MapResult
    meter: Meter
    language: Language
    most: int

    async def lines(
        self, calls: Sequence[ToolCall], answers: Sequence[ToolMessage]
    ) -> list[list[str]]:
        """Return the records of each call's places, in the order of the calls."""
        before, language = len(self.result.places), self.language
        by_id = {_own_id(place): place_line(place, language) for place in self.result.places}
        lines: list[list[str]] = [[] for _ in calls]
        searches: dict[str, int] = {}
        for number, (call, answer) in enumerate(zip(calls, answers, strict=True)):
            if call["name"] in _SEARCHES and answer.status == "success":
                ids = dict.fromkeys(_PLACE_ID.findall(str(answer.text)))
                lines[number] = [by_id[name] for name in ids if name in by_id]
                unread = [name for name in ids if name not in by_id][: self.most]
                searches |= {name: number for name in unread if name not in searches}
        left = max(0, self.meter.left("map_calls") - CALLS_FOR_TOOLS)
        chosen = list(searches)[:left]
        records = await asyncio.gather(
            *(
                self.tools.call(
                    ToolCall(name=_DETAIL, args={"id": name}, id=name, type="tool_call")
                )
                for name in chosen
            )
        )
        self._measure(before, {name: calls[searches[name]] for name in chosen})
        for name, record in zip(chosen, records, strict=True):
            if record.status == "success":
                place = next((p for p in self.result.places if p["id"].endswith(name)), None)
                line = place_line(place, language) if place else record.text
                lines[searches[name]].append(str(line))
        return lines

    def _measure(self, before: int, searches: Mapping[str, ToolCall]) -> None:
        """Note how far each place is from where it was searched around, if that has a name."""
        for place in self.result.places[before:]:
            call = searches.get(_own_id(place))
            around = str(call["args"].get("location") or "").strip(" []^") if call else ""
            centre_place = next(
                (p for p in self.result.places if around in (p["source"], p["id"], _own_id(p))),
                None,
            )
            centre = _position(centre_place) if centre_place else parse_lnglat(around)
            if not centre:
                continue
            name = centre_place["name"] if centre_place else self._name_of(centre)
            if name and not has_name(place, name):
                place["distance_m"] = round(distance_m(centre, _position(place)))
                place["distance_from"] = name
                if centre_place and (english := centre_place.get("name_en")):
                    place["distance_from_en"] = english

    def _name_of(self, position: tuple[float, float]) -> str:
        """Return the words that located a position, or the name of the place that is there."""
        for around, name in self.result.names.items():
            point = parse_lnglat(around)
            if point and distance_m(point, position) < _SAME_SPOT_M:
                return name
        near = {distance_m(_position(p), position): p["name"] for p in self.result.places}
        return near[min(near)] if near and min(near) < _BESIDE_M else ""


def _own_id(place: Place) -> str:
    """Return the map's own id of a place."""
    return place["id"].partition(":")[2]


def _position(place: Place) -> tuple[float, float]:
    return place["location"]["lng"], place["location"]["lat"]
