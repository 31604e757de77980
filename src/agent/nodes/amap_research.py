"""Run a map branch: prefetch in code, then, where that leaves something, the model with the tools.

The model only decides what else to look up; reflection and the writer read the records.
"""

import asyncio
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from langchain_core.messages import BaseMessage
from langgraph.runtime import Runtime
from pydantic import BaseModel

from agent.assistants.common.services import GetServices, Services
from agent.assistants.common.turn import open_meter
from agent.configuration import Configuration
from agent.core.budget import Meter, Usage
from agent.core.errors import AgentError
from agent.core.faults import await_or_else, contained
from agent.core.progress import Emit, event
from agent.evidence.citations import MARKER
from agent.evidence.constraints import with_own
from agent.evidence.geo import distance_text
from agent.evidence.intent import says_walks
from agent.evidence.maps import WAYS
from agent.evidence.names import is_area
from agent.evidence.nearness import walk_limit_m
from agent.evidence.ordering import fitting, judged
from agent.evidence.records import place_lines, route_lines, weather_lines
from agent.evidence.references import labelled
from agent.evidence.said import (
    AskerWords,
    anchor_said,
    names_said,
    place_said,
    route_said,
    source_said,
    words_before,
)
from agent.evidence.types import FoundPlaces, Gap, MapTask, Place
from agent.evidence.vocabulary import is_chosen_by_name
from agent.mcp.new_records import NamedStop
from agent.mcp.prefetch import FAR_ON_FOOT_M, calls_for_walks, walks_between
from agent.mcp.records import (
    CALLS_FOR_TOOLS,
    FITTING,
    REMARKS,
    MapOptions,
    MapResult,
    lnglat,
    map_gap,
    misread,
)
from agent.models.catalogue import DEFAULT_THINKING
from agent.models.types import ModelAnswer
from agent.prompts import task_prompt
from agent.state import AmapSearchState, Update, reader_language
from agent.texts import is_chinese, say

log = logging.getLogger(__name__)
NODE = "amap_research"
_SHOWN_HITS = 12
_INSTEAD_OF_A_MODEL = 2
"""Further places that code looks up where no model was asked which."""
_TO_SORT = 4
"""Further places that are looked up where they are wished in an order: it is only theirs."""
KEYWORD_INTENTS = ("nearby", "area")
"""Of searches for kinds of places."""


async def amap_research(
    state: AmapSearchState, runtime: Runtime[Configuration], *, get_services: GetServices
) -> Update:
    """Ask the map about one query; never raise for a failed source."""
    branch = _branch(state, runtime, get_services())
    branch.meter.budget.branches.add(branch.id)
    began = time.monotonic()
    branch.emit(event("map_started", NODE, id=branch.id, text=branch.query))
    try:
        with contained("amap", misread):
            map_result = await branch.run()
    except AgentError as error:
        map_result = MapResult(gaps=[branch.lost(error)])
    branch.keep_demands(map_result)
    said = branch.in_words_of_asker(map_result)
    for gap in map_result.gaps:
        branch.emit(event("gap", NODE, id=branch.id, text=gap["message"]))
    count = len(map_result.places) + len(map_result.routes) + len(map_result.weather)
    seconds = time.monotonic() - began
    log.info(
        "turn=%s %s %s: %d records, %d gaps, %.1f s",
        state["turn"]["id"], NODE, branch.id, count, len(map_result.gaps), seconds,
    )  # fmt: skip
    branch.emit(
        event("map_done", NODE, id=branch.id, text=branch.query, count=count, seconds=seconds)
    )
    return Update(
        amap_research_result=list(filter(None, [branch.record_text(map_result)])),
        sources_gathered=labelled(map_result.sources),
        places=map_result.places,
        routes=map_result.routes,
        weather=map_result.weather,
        places_rejected=map_result.rejected,
        anchors=[anchor_said(anchor, said)] if (anchor := map_result.anchor) else [],
        map_searched=_answered_tasks(branch.task, map_result),
        gaps=map_result.gaps,
        usage=branch.meter.usage,
    )


async def look_up_named(
    state: AmapSearchState,
    runtime: Runtime[Configuration],
    services: Services,
    *,
    pages: str,
    entered: frozenset[str],
    first: int,
) -> tuple[MapResult, Usage]:
    """Enter the hits of a search that was answered which pages name, whatever their rank.

    But those that are `entered` already. The searches are known by now and cost nothing; a look-up
    may. `first` is the number of the first source.
    """
    branch = _branch(state, runtime, services)
    if branch.id not in branch.meter.budget.branches:
        await branch.recall_searches()
    options = replace(branch.options, pages=pages, entered=entered, first=first)
    branch = replace(branch, options=options)
    # The searches were told of when they were made.
    map_result = await services.maps.map_result(
        branch.task, branch.query, options=branch.options, meter=branch.meter,
        on_call=lambda call: None,
    )  # fmt: skip
    await await_or_else("measuring walks", branch.measure_walks(map_result), lambda: None)
    branch.keep_demands(map_result)
    branch.in_words_of_asker(map_result)
    return map_result, branch.meter.usage


def _answered_tasks(task: MapTask, map_result: MapResult) -> list[MapTask]:
    """Return the task with the keywords that the map was asked for; nothing where it was not."""
    if task["intent"] in KEYWORD_INTENTS:
        words = [search["keyword"] for search in map_result.searches if search["keyword"]]
        found = [
            FoundPlaces(
                words=search["words"],
                where=search["where"],
                count=search["hits"],
                is_cut=search["is_cut"],
                radius_m=search["radius_m"],
            )
            for search in map_result.searches
        ]
        return [MapTask(**{**task, "keywords": words, "found": found})] if found else []
    unanswered = any(gap["code"].startswith("budget_") for gap in map_result.gaps)
    return [] if unanswered and not map_result.complete else [task]


def _branch(
    state: AmapSearchState, runtime: Runtime[Configuration], services: Services
) -> "_Branch":
    configuration, turn = runtime.context or Configuration(), state["turn"]
    emit, prefix = runtime.stream_writer, f"a{state['id']}"
    demands = with_own(turn.get("constraints", {}), state["task"].get("demands"))
    # A day's ways are measured from stop to stop, once these are known.
    on_foot = "outing" not in turn and (
        state["task"].get("mode") == "walking" or says_walks(turn["question"])
    )
    far = FAR_ON_FOOT_M if on_foot or demands.get("sort_by") == "walk" else None
    walks = walk_limit_m(demands)
    options = MapOptions(
        prefix=prefix,
        language=reader_language(turn),
        near=turn["near"],
        keywords=configuration.map_keywords,
        details=configuration.map_details,
        more=configuration.map_more_details + (_TO_SORT if "sort_by" in demands else 0),
        constraints=demands,
        on_found=lambda spots: emit(event("map_found", NODE, id=prefix, spots=spots)),
        walks_within_m=far if walks is None else walks,
        question=turn["question"],
        known=state.get("known", []),
    )
    return _Branch(
        query=state["search_query"],
        task=state["task"],
        options=options,
        configuration=configuration,
        services=services,
        meter=open_meter(
            turn, configuration, services, spent=state["spent"], map_calls=state.get("map_calls")
        ),
        emit=emit,
    )


@dataclass(frozen=True)
class _Branch:
    """Hold one query to the map, and with what it is answered."""

    query: str
    task: MapTask
    options: MapOptions
    configuration: Configuration
    services: Services
    meter: Meter
    emit: Emit

    @property
    def id(self) -> str:
        """Return the prefix of the ids of its records."""
        return self.options.prefix

    async def recall_searches(self) -> None:
        """Know again what a process that is gone has searched: its step has counted that."""
        quiet = replace(self.options, on_found=lambda spots: None)
        meter = Meter(self.meter.budget, share={"map_calls": 0}, counts_recalled=False)
        await self.services.maps.map_result(
            self.task, self.query, options=quiet, meter=meter, on_call=lambda *_: None
        )

    def lost(self, error: AgentError) -> Gap:
        """Return the gap that an error leaves."""
        return map_gap(error, self.query, self.options.language)

    def on_call(self, call: str) -> None:
        """Report a map call as progress."""
        self.emit(event("map_call", NODE, id=self.id, text=call))

    async def run(self) -> MapResult:
        """Return the records: those of code's own calls, and what a model looked up besides.

        Where nothing is left to look up, a model could only say "enough".
        """
        maps = self.services.maps
        map_result = await maps.map_result(
            self.task, self.query, options=self.options, meter=self.meter, on_call=self.on_call
        )
        if self._is_left(map_result):
            try:
                with contained("amap", misread):
                    await self._complete(map_result)
            except AgentError as error:
                map_result.gaps.append(self.lost(error))
            map_result.settle_found()
            options = self.options
        else:
            options = replace(self.options, more=self.options.more + _INSTEAD_OF_A_MODEL)
        # Last, so that it takes no call that the model asks for.
        more = maps.look_up_more(
            map_result, self.task, self.query,
            options=options, meter=self.meter, on_call=self.on_call,
        )  # fmt: skip
        await await_or_else("looking up more", more, lambda: None)
        await await_or_else("measuring walks", self.measure_walks(map_result), lambda: None)
        return map_result

    def _is_left(self, map_result: MapResult) -> bool:
        """Return whether something is left to look up that code has not got.

        That is what failed, what has no record at all, places that meet the demands, and among
        sights those that are worth it. Of further car parks code looks up the best itself.
        """
        demands, language = self.options.constraints, self.options.language
        is_search = self.task["intent"] in KEYWORD_INTENTS
        lacking = demands and is_search and fitting(map_result.places, demands, language) < FITTING
        failed = any(gap["code"] not in REMARKS for gap in map_result.gaps)
        chosen = any(is_chosen_by_name(word) for hit in map_result.hits for word in hit["keywords"])
        return map_result.open_for_tools and bool(
            failed or lacking or chosen or not map_result.complete
        )

    async def measure_walks(self, map_result: MapResult) -> None:
        """Measure how far it is on foot for who walks; a straight line cannot tell."""
        if map_result.between:
            await self._measure_detours(map_result, *map_result.between)
            return
        limit, centre = self.options.walks_within_m, map_result.centre
        if limit is None or centre is None or is_area(map_result.centre_name or ""):
            return
        near = [
            at
            for at, place in enumerate(map_result.places)
            if place["distance_from"] == map_result.centre_name
            and place["distance_m"] is not None
            and place["distance_m"] <= limit
        ]
        points = [map_result.places[at]["location"] for at in near]
        legs = await self.services.maps.walks_from(
            centre, points, meter=self.meter, on_call=self.on_call
        )
        for at, leg in legs.items():
            place = map_result.places[near[at]]
            map_result.places[near[at]] = Place(
                **{**place, "walk_m": leg["distance_m"], "walk_s": leg["duration_s"]}
            )

    async def _measure_detours(
        self, map_result: MapResult, start: NamedStop, end: NamedStop
    ) -> None:
        """Measure what a way on foot gets longer by each place; the least out of the way leads."""
        places = map_result.places
        if places and walks_between(self.task, start, end):
            points = [place["location"] for place in places]
            walks = partial(self.services.maps.walks_from, meter=self.meter, on_call=self.on_call)
            first, last = await asyncio.gather(
                walks(start[1], [*points, end[1]]), walks(end[1], points)
            )
            whole = first.get(len(points))
            for at in first.keys() & last.keys() if whole else ():
                over = first[at]["distance_m"] + last[at]["distance_m"]
                places[at] = Place(**{
                    **places[at],
                    "detour_m": max(0, over - whole["distance_m"]) if whole else 0,
                    "detour_walked": True,
                })  # fmt: skip
        places.sort(key=lambda place: place.get("detour_m", 0))

    def keep_demands(self, map_result: MapResult) -> None:
        """Have the places carry what is demanded of what this search finds alone."""
        if own := self.task.get("demands"):
            map_result.places[:] = [Place(**{**p, "demands": own}) for p in map_result.places]

    def in_words_of_asker(self, map_result: MapResult) -> AskerWords:
        """Call places as their asker does, who does not read the map's names; return the words."""
        if is_chinese(self.options.language):
            return {}
        before = words_before([*self.options.known, *map_result.places], self.options.language)
        ends = [name for name, _ in map_result.between or ()]
        said = before | names_said(self.task, map_result.meant)
        if ends:
            begin, end = (said.get(name, name) for name in ends)
            between = say("map.between", self.options.language, begin=begin, end=end)
            for search in map_result.searches:
                if search["where"] == map_result.centre_name:
                    search["where"] = between
            map_result.centre_name = between
        map_result.places[:] = [place_said(place, said) for place in map_result.places]
        map_result.routes[:] = routes = [route_said(route, said) for route in map_result.routes]
        map_result.sources[:] = [source_said(source, routes) for source in map_result.sources]
        return said

    def record_text(self, map_result: MapResult) -> str:
        """Return every record as a line with its marker."""
        return "\n".join(filter(None, self._records(map_result).values()))

    async def _complete(self, map_result: MapResult) -> None:
        """Let the model call tools until it has enough, or its share of calls is spent."""
        tools = await self.services.maps.tools(
            map_result, self.query, options=self.options, meter=self.meter, on_call=self.on_call
        )
        messages = self._opening(map_result)
        for _ in range(self.configuration.map_rounds):
            if self._left_for_tools(map_result) < CALLS_FOR_TOOLS:
                return
            reply: ModelAnswer[BaseModel] = await self.services.models.ask(
                self.configuration.research_model,
                messages,
                meter=self.meter,
                tools=tools.tools,
                thinking=DEFAULT_THINKING["research"],
            )
            if not reply.message.tool_calls:
                # It has enough, also where a way's other end is on no map.
                return
            answers = await asyncio.gather(*map(tools.call, reply.message.tool_calls))
            is_lacking = self.task["intent"] in WAYS and not map_result.routes
            if all(MARKER.match(str(answer.text)) for answer in answers) and not is_lacking:
                # Each call brought a record, new or known: that was what it was for. The ends of a
                # way are no way.
                return
            messages = [*messages, reply.message, *answers]

    def _opening(self, map_result: MapResult) -> Sequence[BaseMessage]:
        # What is to be looked up besides does not hang on a street.
        placeless = [Place(**{**p, "city": None, "address": None}) for p in map_result.places]
        blocks = {
            "query": self.query,
            **self._context_blocks(map_result),
            **self._records(replace(map_result, places=placeless)),
        }
        return task_prompt("amap_research", **blocks)

    def _left_for_tools(self, map_result: MapResult) -> int:
        walks = calls_for_walks(self.task, map_result, self.options)
        return max(0, self.meter.left("map_calls") - walks)

    def _context_blocks(self, map_result: MapResult) -> dict[str, str]:
        """Return what tools can start from: the centre, what was searched, further hits by id."""
        centre, name = map_result.centre, map_result.centre_name
        # Who is shown more than can be looked up asks in vain, and nobody learns of it.
        most = min(_SHOWN_HITS, self._left_for_tools(map_result))
        return {
            "centre": f"{name} {lnglat(centre)}" if centre and name else "",
            "tried": "\n".join(
                [*self._search_lines(map_result), *(gap["message"] for gap in map_result.gaps)]
            ),
            "more": say("punctuation.semicolon", self.options.language).join(
                f"{hit['id']}: {hit['name']}" for hit in map_result.hits[:most]
            ),
        }

    def _search_lines(self, map_result: MapResult) -> list[str]:
        """Return a line for each search, with the number of its hits."""
        language = self.options.language
        return [
            say(
                "map.tried",
                language,
                where=" ".join(
                    filter(None, (search["where"], distance_text(search["radius_m"], language)))
                ),
                words=search["words"],
                count=search["hits"],
            )
            for search in map_result.searches
        ]

    def _records(self, map_result: MapResult) -> dict[str, str]:
        """Return the records as lines, each with its marker."""
        language = self.options.language
        places = judged(map_result.places, self.options.constraints, language)
        return {
            "places": place_lines(places, language),
            "routes": route_lines(map_result.routes, language),
            "weather": weather_lines(map_result.weather, language),
        }
