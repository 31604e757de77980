"""The tools of the discussion as a model sees them, which are offered, and arguments read
tolerantly. `use_tools` executes them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import ToolCall
from langchain_core.tools import BaseTool, tool

from agent.assistants.team_answer.searching import BOCHA, GOOGLE, TAVILY, engines_of
from agent.assistants.team_answer.state import TeamState
from agent.assistants.team_answer.toolbox import TeamToolbox
from agent.budget import Meter
from agent.configuration import Configuration
from agent.errors import AgentError
from agent.evidence.intent import detect_location_query
from agent.evidence.queries import clean_text
from agent.evidence.types import Gap
from agent.mcp.messages import map_gap
from agent.mcp.types import MapOptions, Survey
from agent.search.hits import MAX_QUERY

CODE = "run_code"
MAP_PREFIX = "maps_"
MAX_PROGRAM = 20_000
"""Characters of a program."""
_NOT_SET_UP = ("map_key_missing", "map_no_node")
_QUERY_NAMES = ("query", "q", "queries", "search_query", "keywords")
_CODE_NAMES = ("code", "program", "source", "python", "script")


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


@tool
def run_code(code: str) -> str:
    """Run a short Python program for exact arithmetic, dates, counting or comparison; never
    compute in your head. Print the result, or end with an expression. math, re, json, datetime,
    statistics, Decimal, Fraction and Counter are there; no files, no network, no other imports.
    """
    return ""


SEARCHES: dict[str, BaseTool] = {
    GOOGLE: search_google,
    BOCHA: search_bocha,
    TAVILY: search_tavily,
}


@dataclass(frozen=True)
class Offered:
    """The tools a speaker may call now, and what could not be offered that nobody told yet."""

    tools: list[BaseTool] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)


async def offered_tools(
    state: TeamState, configuration: Configuration, given: TeamToolbox, meter: Meter
) -> Offered:
    """The searches, the code runner and the map's tools that can be had here. Never raises
    AgentError: what cannot be had is a gap, told once.
    """
    engines = engines_of(given.web, configuration, state["turn"])
    tools = [SEARCHES[name] for name in engines.services]
    if await given.code_runner() is not None:
        tools.append(run_code)
    maps = await _map_tools(state, configuration, given, meter)
    known = {(gap["provider"], gap["code"]) for gap in state.get("gaps", [])}
    gaps = [*engines.gaps, *maps.gaps]
    return Offered(
        [*tools, *maps.tools],
        [gap for gap in gaps if (gap["provider"], gap["code"]) not in known],
    )


def offers_maps(state: TeamState, configuration: Configuration) -> bool:
    """Whether the map may be asked, and did not fail in this turn."""
    if configuration.geo_routing == "never":
        return False
    return not any(gap["provider"] == "amap" for gap in state.get("gaps", []))


async def _map_tools(
    state: TeamState, configuration: Configuration, given: TeamToolbox, meter: Meter
) -> Offered:
    if not offers_maps(state, configuration):
        return Offered()
    turn = state["turn"]
    options = MapOptions(prefix="a0", language=turn["language"], near=turn["near"])
    try:
        maps = await given.maps.tools(
            Survey(), turn["question"], options=options, meter=meter, tell=lambda asked: None
        )
    except AgentError as error:
        # Most questions name no place: a map that was never set up is not what they lack.
        if error.code in _NOT_SET_UP and not _wants_map(state, configuration):
            return Offered()
        return Offered(gaps=[map_gap(error, turn["question"][:60], turn["language"])])
    return Offered(list(maps.tools))


def _wants_map(state: TeamState, configuration: Configuration) -> bool:
    asked = [state["turn"]["question"], *state.get("sub_questions", [])]
    return configuration.geo_routing == "always" or any(map(detect_location_query, asked))


def query_of(call: ToolCall) -> str:
    """The one query of a search; empty where there is none, or several."""
    return clean_text(_text(call["args"], _QUERY_NAMES), MAX_QUERY)


def program_of(call: ToolCall) -> str:
    """The program as the model wrote it; empty where there is none or it is far too long."""
    program = _text(call["args"], _CODE_NAMES)
    return program if program.strip() and len(program) <= MAX_PROGRAM else ""


def _text(arguments: Mapping[str, Any], names: tuple[str, ...]) -> str:
    """A text under the first name that has one; models also write a list of one."""
    value = next((arguments[name] for name in names if arguments.get(name)), None)
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    return value if isinstance(value, str) else ""
