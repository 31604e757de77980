"""The tools of the discussion as a model sees them, and the searches behind them.

tolerantly. `use_tools` executes them.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal

from langchain_core.tools import BaseTool, tool

from agent.assistants.common.gaps import gap_of
from agent.assistants.common.own_documents import DOCUMENTS
from agent.assistants.common.previous import NO_PREVIOUS
from agent.assistants.common.reading import READING
from agent.assistants.common.search import (
    map_tools,
    offers_map,
    providers_of,
)
from agent.assistants.common.services import Services
from agent.assistants.common.toolbox import CODING
from agent.assistants.team_answer.state import TeamState, ToolEvidence
from agent.configuration import Configuration
from agent.core.budget import Meter
from agent.core.errors import ConfigurationError
from agent.core.outside import parse_json
from agent.core.strings import cut_to_tokens, estimated_tokens
from agent.evidence.intent import LNGLAT, detect_location_query
from agent.evidence.queries import normalised_query, same_search
from agent.evidence.records import route_text
from agent.evidence.types import Gap, Route, RouteMode
from agent.search.hits import SearchProvider, WebChoice, WebTask, search_gap
from agent.search.web import WebSearch
from agent.state import Turn
from agent.texts import Language, say

GOOGLE, BOCHA, TAVILY = "search_google", "search_bocha", "search_tavily"
MAX_SHOWN = 6000
"""Characters of a result that enter the transcript."""
_CHOICES: dict[WebChoice, str] = {
    "serper": GOOGLE,
    "google": GOOGLE,
    "bocha": BOCHA,
    "tavily": TAVILY,
}
"""The tool that a service serves, Google by Serper before Google by a model."""
_AUTO: tuple[tuple[WebChoice, ...], ...] = (("serper", "google", "bocha"), ("tavily",))
"""The second of them where nothing of the first can be had."""
_ROW, _ROW_ENDS = "<result ", "</result>"
_SNIPPETS = (700, 500, 350, 220, 120)
_NOTE = 40
"""Characters kept for the remark that results were left out."""


@dataclass(frozen=True)
class Engines:
    """Hold the services by the tools they serve; or none of them, with the reason as a gap."""

    providers: dict[str, SearchProvider] = field(default_factory=dict)
    gaps: list[Gap] = field(default_factory=list)


def engines_of(web: WebSearch, configuration: Configuration, turn: Turn) -> Engines:
    """Return the search tools that `web_search` allows; Tavily only as the last resort."""
    model, choice = configuration.research_model, configuration.web_search
    if turn.get("own_only"):
        return Engines()
    if choice == "off":
        task = WebTask("", "", turn["language"], turn["today"], model)
        return Engines(gaps=[search_gap(task, "web", "search_off")])
    by_choice: dict[WebChoice, SearchProvider] = {}
    for tier in _AUTO if choice == "auto" else ((choice,),):
        with suppress(ConfigurationError):
            by_choice = by_choice or providers_of(web, tier, configuration, turn["today"])
    providers: dict[str, SearchProvider] = {}
    for chosen, service in by_choice.items():
        providers.setdefault(_CHOICES[chosen], service)
    return Engines(providers, [] if providers else _missing(web, configuration, turn["language"]))


def _missing(web: WebSearch, configuration: Configuration, language: Language) -> list[Gap]:
    """Return the gaps that name what could be set, in the words of the web search."""
    try:
        web.provider(configuration.web_search, model=configuration.research_model)
    except ConfigurationError as error:
        return [gap_of("", error, "web", language)]
    return []


def searched_before(tool: str, query: str, pool: Iterable[ToolEvidence]) -> ToolEvidence | None:
    """Return the evidence that answers this query too: the same one's, else a near-duplicate's.

    Only what this engine really found in this turn counts.
    """
    operators = tool == GOOGLE
    searches = [e for e in pool if e["kind"] == "search" and e["tool"] == tool]
    answered = [e for e in searches if not (e["failed"] or e["cached"])]
    exact = normalised_query(query, operators=operators)
    for evidence in answered:
        if normalised_query(evidence["asked"], operators=operators) == exact:
            return evidence
    return next((e for e in answered if same_search(e["asked"], query, operators=operators)), None)


def searches_saved(pool: Iterable[ToolEvidence]) -> int:
    """Return the number of searches that an earlier result answered."""
    return sum(e["kind"] == "search" and e["cached"] for e in pool)


def measurement(lookup: ToolEvidence, names: Mapping[str, str], language: Language) -> str:
    """Return a map lookup in words, `天安门 → 故宫：直线距离 1018 米`, or else its result.

    `names` are those of positions ("lng,lat").
    """
    lines = [
        say("team_answer.tools.located", language, name=name, point=point)
        for name, point in _located(lookup)
    ]
    if lookup["tool"] == "maps_distance":
        lines = _straight_lines(lookup, names, language)
    elif mode := _WAYS.get(lookup["tool"]):
        lines = _ways(lookup, mode, names, language)
    return say("punctuation.semicolon", language).join(lines) or " ".join(lookup["text"].split())


def _straight_lines(
    lookup: ToolEvidence, names: Mapping[str, str], language: Language
) -> list[str]:
    """Return a line for each distance of a lookup; none where its result cannot be read."""
    arguments = map_arguments(lookup["asked"])
    try:
        begins, end = arguments["origins"].split("|"), arguments["destination"]
        rows = parse_json(lookup["text"])["results"]
        ends = [(begin, str(int(r["distance"]))) for begin, r in zip(begins, rows, strict=True)]
    except (KeyError, TypeError, ValueError):
        return []
    return [
        say("records.straight_line", language, begin=names.get(begin, begin),
            end=names.get(end, end), metres=metres)
        for begin, metres in ends
    ]  # fmt: skip


_WAYS: Mapping[str, RouteMode] = {
    "maps_direction_walking": "walking",
    "maps_direction_driving": "driving",
    "maps_bicycling": "bicycling",
    "maps_direction_transit_integrated": "transit",
}


def _ways(
    lookup: ToolEvidence, mode: RouteMode, names: Mapping[str, str], language: Language
) -> list[str]:
    """Return the first way that a lookup brought, in a line; none where it cannot be read."""
    arguments, text = map_arguments(lookup["asked"]), lookup["text"]
    try:
        reply = parse_json(text[text.index("{") :])
        way = reply["data" if mode == "bicycling" else "route"]
        first = way["transits" if mode == "transit" else "paths"][0]
        metres = int(float(first.get("distance") or way["distance"]))
        seconds = int(float(first["duration"]))
        ends = [arguments[key].replace(" ", "") for key in ("origin", "destination")]
    except (IndexError, KeyError, TypeError, ValueError):
        return []
    route = Route(
        id="", mode=mode, origin=names.get(ends[0], ends[0]),
        destination=names.get(ends[1], ends[1]), distance_m=metres, duration_s=seconds, steps=[],
        url="", source="", fetched_at="",
    )  # fmt: skip
    return [route_text(route, language)]


def map_arguments(call: str) -> dict[str, str]:
    """Return the arguments of a map call that map_call_text wrote in one line."""
    return dict(_ARGUMENT.findall(call.partition(" ")[2]))


def known_positions(state: TeamState) -> dict[str, str]:
    """Return the names of positions ("lng,lat", GCJ-02) that this turn or the last one located."""
    previous, pool = state.get("previous") or NO_PREVIOUS, state.get("evidence_pool", [])
    names = {point: name for each in pool for name, point in _located(each)}
    return {**previous.get("names", {}), **names}


def _located(lookup: ToolEvidence) -> list[tuple[str, str]]:
    """Return the address of a geocoding with the first point found for it (GCJ-02)."""
    if lookup["tool"] != "maps_geo" or lookup["failed"]:
        return []
    try:
        point = parse_json(lookup["text"])["return"][0]["location"]
        return [(map_arguments(lookup["asked"])["address"], str(point))]
    except (IndexError, KeyError, TypeError, ValueError):
        return []


def shortened(text: str, tokens: int, language: Language) -> str:
    """Return a result of at most 6,000 characters and about so many tokens.

    Of a search every snippet is shortened before results are left out, the last ones first.
    """
    lines = text.split("\n")
    rows = [at for at, line in enumerate(lines) if _is_row(line)]
    for length in _SNIPPETS if rows else ():
        if _fits(lines, tokens):
            break
        lines = [_cut_row(line, length) for line in lines]
    left = 0
    while len(rows) > 1 and not _fits(lines, tokens):
        del lines[rows.pop()]
        left += 1
    if left:
        lines.insert(len(lines) - 1, say("team_answer.tools.left_out", language, count=str(left)))
    whole = "\n".join(lines)
    whole = whole if len(whole) <= MAX_SHOWN else whole[: MAX_SHOWN - 1] + "…"
    return cut_to_tokens(whole, tokens)


def _fits(lines: Sequence[str], tokens: int) -> bool:
    text = "\n".join(lines)
    return len(text) <= MAX_SHOWN - _NOTE and estimated_tokens(text) <= tokens - _NOTE // 2


def _cut_row(line: str, length: int) -> str:
    opening, _, told = line.removesuffix(_ROW_ENDS).partition(">")
    if not _is_row(line) or len(told) <= length:
        return line
    return f"{opening}>{told[: length - 1].rstrip()}…{_ROW_ENDS}"


def _is_row(line: str) -> bool:
    return line.startswith(_ROW) and line.endswith(_ROW_ENDS)


_NUMBER = re.compile(r"\d+(?:\.\d+)?")


def shown_calculations(names: Iterable[str], pool: Sequence[ToolEvidence]) -> list[ToolEvidence]:
    """Return those of these calculations that do not repeat a part of another one."""
    every = _calculations(names, pool)
    blocks = []
    for at, each in enumerate(every):
        # Of two that repeat each other the first stays.
        others = [*every[:at], *(other for other in every[at + 1 :] if not _repeats(other, each))]
        if not any(_repeats(each, other) for other in others):
            blocks.append(each)
    return blocks


def calculation_numbers(names: Iterable[str], pool: Sequence[ToolEvidence]) -> dict[str, int]:
    """Return which of the shown ones, from 1, has each of these calculations: `{c0: 1, c2: 1}`."""
    ids = list(names)
    blocks = shown_calculations(ids, pool)
    return {
        each["id"]: next(n for n, block in enumerate(blocks, 1) if _repeats(each, block))
        for each in _calculations(ids, pool)
    }


def _calculations(names: Iterable[str], pool: Sequence[ToolEvidence]) -> list[ToolEvidence]:
    ids = set(names)
    return [each for each in pool if each["kind"] == "code" and each["id"] in ids]


def _repeats(calculation: ToolEvidence, other: ToolEvidence) -> bool:
    """Return True if the other one has every number of this program and of its result, rounded."""
    if calculation["id"] == other["id"]:
        return True
    program, result = (_values(calculation[key]) for key in ("asked", "text"))
    there = _values(other["text"])
    told = all(any(_is_rounded(one, its) for its in there) for one in result)
    return bool(result) and program <= _values(other["asked"]) and told


def _is_rounded(one: Decimal, other: Decimal) -> bool:
    """Return whether two numbers are one as far as both are written: 30.43 and 30.434782."""
    places = min(max(0, -int(each.as_tuple().exponent)) for each in (one, other))
    return round(one, places) == round(other, places)


def _values(text: str) -> set[Decimal]:
    """Return the numbers of a text: 539.1360 is 539.136."""
    return {Decimal(number).normalize() for number in _NUMBER.findall(text)}


_ARGUMENT = re.compile(r"(?<![a-z_])([a-z_]+)=(.*?)(?=, [a-z_]+=|$)")


@tool
def search_google(query: str) -> str:
    """Search Google. Choose it by where the SUBJECT is, not by the language of the question: for
    people, companies, works and events outside mainland China, and for what is international.
    Operators work: "exact words", site:, intitle:, -word. One short query a call.
    """
    return ""


@tool
def search_bocha(query: str) -> str:
    """Search the Chinese web (Bocha). Choose it by where the SUBJECT is, not by the language of
    the question: for people, companies, places and rules of mainland China. Natural language
    only: no operators, no quotes. One question or phrase a call.
    """
    return ""


@tool
def search_tavily(query: str) -> str:
    """Search the web (Tavily). Natural language only, no operators. One query a call."""
    return ""


SEARCHES: dict[str, BaseTool] = {
    GOOGLE: search_google,
    BOCHA: search_bocha,
    TAVILY: search_tavily,
}


@dataclass(frozen=True)
class Offered:
    """Hold the tools a speaker may call now, and what could not be offered that nobody told yet."""

    tools: list[BaseTool] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)


async def offered_tools(
    state: TeamState, configuration: Configuration, services: Services, meter: Meter, *, own: bool
) -> Offered:
    """Return the searches, the code runner and the map's tools that can be had here. Never raises
    AgentError: what cannot be had is a gap, told once. `own` says if own documents are searched.
    """
    engines = engines_of(services.web, configuration, state["turn"])
    tools = [SEARCHES[name] for name in engines.providers]
    if tools and reads_left(state, configuration):
        tools.append(READING)
    if own:
        tools.append(DOCUMENTS)
    if await services.code_runner() is not None:
        tools.append(CODING)
    maps, map_gaps = list[BaseTool](), list[Gap]()
    # Their declarations are a third of a prompt; most questions name no place.
    if offers_map(state, configuration) and wants_map(state, configuration):
        maps, map_gaps = await map_tools(state["turn"], services, meter)
    before = {(gap["provider"], gap["code"]) for gap in state.get("gaps", [])}
    gaps = [*engines.gaps, *map_gaps]
    return Offered(
        [*tools, *maps],
        [gap for gap in gaps if (gap["provider"], gap["code"]) not in before],
    )


def reads_left(state: TeamState, configuration: Configuration) -> int:
    """Return how many pages the team may still open in this turn."""
    return max(0, configuration.max_page_reads - state.get("pages_opened", 0))


def wants_map(state: TeamState, configuration: Configuration) -> bool:
    """Return True if the question needs the map, in the word of the model that read it.

    Coordinates always do; a question that rules read, or one of its steps, where they say so.
    """
    if configuration.geo_routing == "always" or state["analysis"]["needs_map"]:
        return True
    texts = [state["turn"]["question"], *state["sub_questions"]]
    if configuration.geo_routing == "rules" and any(map(detect_location_query, texts)):
        return True
    words = [turn["text"] for turn in state.get("transcript") or []]
    return any(LNGLAT.search(text) for text in (*texts, *words))
