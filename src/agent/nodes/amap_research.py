"""One map branch: prefetch in code, then the model with the tools bound, in a bounded loop."""

import asyncio
import logging
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langgraph.runtime import Runtime
from pydantic import BaseModel

from agent.assistants.common.budget import open_meter
from agent.assistants.common.claims import record_texts
from agent.assistants.common.records import place_lines, route_lines, weather_lines
from agent.assistants.common.services import GetServices, Services
from agent.configuration import Configuration
from agent.core.budget import Meter
from agent.core.errors import AgentError
from agent.core.progress import Emit, event
from agent.evidence.citations import restamp
from agent.evidence.claims.check import borne_out
from agent.evidence.claims.evidence import Evidence, record
from agent.evidence.constraints import judged
from agent.evidence.geo import distance_text
from agent.evidence.places import mentioned
from agent.evidence.types import Gap, MapTask, Place
from agent.mcp.errors import map_gap
from agent.mcp.records import lnglat
from agent.mcp.types import CALLS_FOR_TOOLS, MapOptions, MapResult
from agent.models.catalogue import DEFAULT_THINKING
from agent.models.types import Reply
from agent.prompts import render
from agent.state import AmapSearchState, Update
from agent.texts import say

log = logging.getLogger(__name__)
NODE = "amap_research"
_SHOWN_HITS = 12
_KEYWORD_INTENTS = ("nearby", "area")
_SENTENCE = re.compile(r".+?(?:(?:[。！？!?]|\.(?=[\s\[]|$))(?:\s*\[\^[^\]]*\])*|$)\s*")


async def amap_research(
    state: AmapSearchState, runtime: Runtime[Configuration], *, get_services: GetServices
) -> Update:
    """Ask the map about one query; never raise for a failed source."""
    branch = _branch(state, runtime, get_services())
    began = time.monotonic()
    branch.emit(event("map_started", NODE, id=branch.id, text=branch.query))
    try:
        map_result, text = await branch.run()
    except AgentError as error:
        map_result, text = MapResult(gaps=[branch.lost(error)]), ""
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
        search_query=[branch.query] if state.get("alone") else [],
        amap_research_result=[text] if text else [],
        sources_gathered=map_result.sources,
        places=map_result.places,
        routes=map_result.routes,
        weather=map_result.weather,
        places_rejected=map_result.rejected,
        anchors=[map_result.anchor] if map_result.anchor else [],
        map_searched=_searched(branch.task, map_result),
        gaps=map_result.gaps,
        usage=branch.meter.usage,
    )


def _searched(task: MapTask, map_result: MapResult) -> list[MapTask]:
    """Return the task with the keywords that the map was asked for; nothing where it was not."""
    if task["intent"] in _KEYWORD_INTENTS:
        words = [search["keyword"] for search in map_result.searches if search["keyword"]]
        return [MapTask(**{**task, "keywords": words})] if map_result.searches else []
    unanswered = any(gap["code"].startswith("budget_") for gap in map_result.gaps)
    return [] if unanswered and not map_result.complete else [task]


def backed_by_records(text: str, places: Sequence[Place]) -> str:
    """Return the sentences of a model that cite a record or name a place of the records."""
    lines = (
        "".join(s for s in _SENTENCE.findall(line) if "[^" in s or mentioned(places, s)).strip()
        for line in text.splitlines()
    )
    return "\n".join(filter(None, lines))


def _branch(
    state: AmapSearchState, runtime: Runtime[Configuration], services: Services
) -> "_Branch":
    configuration, turn = runtime.context or Configuration(), state["turn"]
    options = MapOptions(
        prefix=f"a{state['id']}",
        language=turn["language"],
        near=turn["near"],
        keywords=configuration.map_keywords,
        details=configuration.map_details,
        more=configuration.map_more_details,
        constraints=turn.get("constraints", {}),
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
        emit=runtime.stream_writer,
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

    def lost(self, error: AgentError) -> Gap:
        """Return the gap that an error leaves."""
        return map_gap(error, self.query, self.options.language)

    def on_call(self, call: str) -> None:
        """Report a map call as progress."""
        self.emit(event("map_call", NODE, id=self.id, text=call))

    async def run(self) -> tuple[MapResult, str]:
        """Return the records, and a text over them in which each sentence rests on one."""
        maps = self.services.maps
        map_result = await maps.map_result(
            self.task, self.query, options=self.options, meter=self.meter, on_call=self.on_call
        )
        text = await self._text(map_result)
        # Last, so that it takes no call that the model asks for.
        await maps.look_up_more(
            map_result, self.task, self.query,
            options=self.options, meter=self.meter, on_call=self.on_call,
        )  # fmt: skip
        return map_result, text or "\n".join(self._records(map_result).values()).strip()

    async def _text(self, map_result: MapResult) -> str:
        """Return what the model wrote and the records bear; empty where it failed."""
        if not map_result.sources and map_result.gaps and not map_result.open_for_tools:
            return ""
        try:
            text = await self._loop(map_result)
        except AgentError as error:
            map_result.gaps.append(self.lost(error))
            return ""
        known = {source["id"]: source["id"] for source in map_result.sources}
        text = borne_out(restamp(text, known), self._evidence(map_result))
        return backed_by_records(text, map_result.places)

    def _evidence(self, map_result: MapResult) -> Evidence:
        """Return what the text may say: the records, and what was asked."""
        by_source = {place["source"]: place for place in map_result.places}
        texts = record_texts(
            map_result.places, map_result.routes, map_result.weather, self.options.language
        )
        records = {name: record(name, [text], by_source.get(name)) for name, text in texts.items()}
        return Evidence(records, question=self.query, known=self._known(map_result).values())

    async def _loop(self, map_result: MapResult) -> str:
        """Return the model's last reply; it may call tools while its share of calls lasts."""
        tools = await self.services.maps.tools(
            map_result, self.query, options=self.options, meter=self.meter, on_call=self.on_call
        )
        messages = self._opening(map_result)
        for left in range(self.configuration.map_rounds, -1, -1):
            offered = left and self.meter.left("map_calls") >= CALLS_FOR_TOOLS
            reply: Reply[BaseModel] = await self.services.models.ask(
                self.configuration.research_model,
                messages,
                meter=self.meter,
                tools=tools.tools if offered else (),
                thinking=DEFAULT_THINKING["research"],
            )
            calls = reply.message.tool_calls
            if not calls or not offered:
                return reply.text
            answers = await asyncio.gather(*(tools.call(call) for call in calls))
            messages = [*messages, reply.message, *answers]
        return ""

    def _opening(self, map_result: MapResult) -> Sequence[BaseMessage]:
        language = self.options.language
        blocks = {"query": self.query, **self._known(map_result), **self._records(map_result)}
        return [
            SystemMessage(render("amap_research_system", language)),
            HumanMessage(render("amap_research", language, **blocks)),
        ]

    def _known(self, map_result: MapResult) -> dict[str, str]:
        """Return what tools can start from: the centre, what was searched, further hits by id."""
        centre, name = map_result.centre, map_result.centre_name
        return {
            "centre": f"{name} {lnglat(centre)}" if centre and name else "",
            "tried": "\n".join(self._tried(map_result)),
            "more": say("punctuation.semicolon", self.options.language).join(
                f"{hit['id']}: {hit['name']}" for hit in map_result.hits[:_SHOWN_HITS]
            ),
        }

    def _tried(self, map_result: MapResult) -> list[str]:
        """Return a line for each search, with the number of its hits."""
        language = self.options.language
        return [
            say(
                "map.tried",
                language,
                where=" ".join(filter(None, (search["where"], distance_text(search["radius_m"])))),
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
