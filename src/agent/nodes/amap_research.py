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
        survey, text = await branch.run()
    except AgentError as error:
        survey, text = MapResult(gaps=[branch.lost(error)]), ""
    for gap in survey.gaps:
        branch.emit(event("gap", NODE, id=branch.id, text=gap["message"]))
    count = len(survey.places) + len(survey.routes) + len(survey.weather)
    seconds = time.monotonic() - began
    log.info("turn=%s %s %s: %d records, %d gaps, %.1f s",
             state["turn"]["id"], NODE, branch.id, count, len(survey.gaps), seconds)  # fmt: skip
    branch.emit(
        event("map_done", NODE, id=branch.id, text=branch.query, count=count, seconds=seconds)
    )
    return Update(
        search_query=[branch.query] if state.get("alone") else [],
        amap_research_result=[text] if text else [],
        sources_gathered=survey.sources,
        places=survey.places,
        routes=survey.routes,
        weather=survey.weather,
        places_rejected=survey.rejected,
        anchors=[survey.anchor] if survey.anchor else [],
        map_searched=_searched(branch.task, survey),
        gaps=survey.gaps,
        usage=branch.meter.usage,
    )


def _searched(task: MapTask, survey: MapResult) -> list[MapTask]:
    """Return the task with the keywords that the map was asked for; nothing where it was not."""
    if task["intent"] in _KEYWORD_INTENTS:
        words = [search["keyword"] for search in survey.searches if search["keyword"]]
        return [MapTask(**{**task, "keywords": words})] if survey.searches else []
    unanswered = any(gap["code"].startswith("budget_") for gap in survey.gaps)
    return [] if unanswered and not survey.complete else [task]


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

    def tell(self, call: str) -> None:
        """Report a map call as progress."""
        self.emit(event("map_call", NODE, id=self.id, text=call))

    async def run(self) -> tuple[MapResult, str]:
        """Return the records, and a text over them in which each sentence rests on one."""
        maps = self.services.maps
        survey = await maps.survey(
            self.task, self.query, options=self.options, meter=self.meter, tell=self.tell
        )
        text = await self._text(survey)
        # Last, so that it takes no call that the model asks for.
        await maps.look_up_more(
            survey, self.task, self.query,
            options=self.options, meter=self.meter, tell=self.tell,
        )  # fmt: skip
        return survey, text or "\n".join(self._records(survey).values()).strip()

    async def _text(self, survey: MapResult) -> str:
        """Return what the model wrote and the records bear; empty where it failed."""
        if not survey.sources and survey.gaps and not survey.open_for_tools:
            return ""
        try:
            text = await self._loop(survey)
        except AgentError as error:
            survey.gaps.append(self.lost(error))
            return ""
        known = {source["id"]: source["id"] for source in survey.sources}
        text = borne_out(restamp(text, known), self._evidence(survey))
        return backed_by_records(text, survey.places)

    def _evidence(self, survey: MapResult) -> Evidence:
        """Return what the text may say: the records, and what was asked."""
        by_source = {place["source"]: place for place in survey.places}
        texts = record_texts(survey.places, survey.routes, survey.weather, self.options.language)
        records = {name: record(name, [text], by_source.get(name)) for name, text in texts.items()}
        return Evidence(records, question=self.query, known=self._known(survey).values())

    async def _loop(self, survey: MapResult) -> str:
        """Return the model's last reply; it may call tools while its share of calls lasts."""
        tools = await self.services.maps.tools(
            survey, self.query, options=self.options, meter=self.meter, tell=self.tell
        )
        messages = self._opening(survey)
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

    def _opening(self, survey: MapResult) -> Sequence[BaseMessage]:
        language = self.options.language
        blocks = {"query": self.query, **self._known(survey), **self._records(survey)}
        return [
            SystemMessage(render("amap_research_system", language)),
            HumanMessage(render("amap_research", language, **blocks)),
        ]

    def _known(self, survey: MapResult) -> dict[str, str]:
        """Return what tools can start from: the centre, what was searched, further hits by id."""
        centre, name = survey.centre, survey.centre_name
        return {
            "centre": f"{name} {lnglat(centre)}" if centre and name else "",
            "tried": "\n".join(self._tried(survey)),
            "more": say("punctuation.semicolon", self.options.language).join(
                f"{hit['id']}: {hit['name']}" for hit in survey.hits[:_SHOWN_HITS]
            ),
        }

    def _tried(self, survey: MapResult) -> list[str]:
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
            for search in survey.searches
        ]

    def _records(self, survey: MapResult) -> dict[str, str]:
        """Return the records as lines, each with its marker."""
        language = self.options.language
        places = judged(survey.places, self.options.constraints, language)
        return {
            "places": place_lines(places, language),
            "routes": route_lines(survey.routes, language),
            "weather": weather_lines(survey.weather, language),
        }
