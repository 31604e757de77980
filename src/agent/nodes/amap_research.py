"""One map branch: prefetch in code, then the model with the tools bound, in a bounded loop."""

import asyncio
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langgraph.runtime import Runtime
from pydantic import BaseModel

from agent.assistants.common.budget import open_meter
from agent.assistants.common.records import place_lines, route_lines, weather_lines
from agent.assistants.common.services import GetServices, Services
from agent.configuration import Configuration
from agent.core.budget import Meter
from agent.core.errors import AgentError
from agent.core.progress import Emit, event
from agent.evidence.citations import restamp
from agent.evidence.types import Gap, MapTask
from agent.mcp.errors import map_gap
from agent.mcp.tools import BranchTools
from agent.mcp.types import MapOptions, MapResult
from agent.models.catalogue import DEFAULT_THINKING
from agent.models.types import Reply
from agent.prompts import render
from agent.state import AmapSearchState, Update

log = logging.getLogger(__name__)
NODE = "amap_research"


async def amap_research(
    state: AmapSearchState, runtime: Runtime[Configuration], *, get_services: GetServices
) -> Update:
    """Asks the map about one query; never raises for a failed source."""
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
        gaps=survey.gaps,
        usage=branch.meter.usage,
    )


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
    )
    return _Branch(
        query=state["search_query"],
        task=state["task"],
        options=options,
        configuration=configuration,
        services=services,
        meter=open_meter(turn, configuration, services, spent=state["spent"]),
        emit=runtime.stream_writer,
    )


@dataclass(frozen=True)
class _Branch:
    """What one query asks the map, and with what."""

    query: str
    task: MapTask
    options: MapOptions
    configuration: Configuration
    services: Services
    meter: Meter
    emit: Emit

    @property
    def id(self) -> str:
        return self.options.prefix

    def lost(self, error: AgentError) -> Gap:
        """What this error costs the reader."""
        return map_gap(error, self.query, self.options.language)

    def tell(self, asked: str) -> None:
        """A map call as progress."""
        self.emit(event("map_call", NODE, id=self.id, text=asked))

    async def run(self) -> tuple[MapResult, str]:
        """The ledger, and a text over it; further places are looked up while the model writes."""
        survey = await self.services.maps.survey(
            self.task, self.query, options=self.options, meter=self.meter, tell=self.tell
        )
        looked_up = asyncio.Event()

        async def look_up_more() -> None:
            try:
                await self.services.maps.look_up_more(
                    survey, self.task, self.query,
                    options=self.options, meter=self.meter, tell=self.tell,
                )  # fmt: skip
            finally:
                looked_up.set()

        # Written before more is known: repeated after a crash, the same question costs nothing.
        opening = self._opening(survey)
        text, _ = await asyncio.gather(self._text(survey, opening, looked_up), look_up_more())
        return survey, text

    async def _text(
        self, survey: MapResult, opening: Sequence[BaseMessage], looked_up: asyncio.Event
    ) -> str:
        """The model's text, citing only what is in the ledger; the bare list if it fails."""
        if not survey.sources and survey.gaps and not survey.open_for_tools:
            return ""
        try:
            tools = await self.services.maps.tools(
                survey, self.query, options=self.options, meter=self.meter, tell=self.tell
            )
            text = await self._loop(tools, opening, looked_up)
        except AgentError as error:
            survey.gaps.append(self.lost(error))
            text = ""
        known = {source["id"]: source["id"] for source in survey.sources}
        return restamp(text, known).strip() or "\n".join(self._records(survey).values()).strip()

    async def _loop(
        self, tools: BranchTools, messages: Sequence[BaseMessage], looked_up: asyncio.Event
    ) -> str:
        for left in range(self.configuration.map_rounds, -1, -1):
            reply: Reply[BaseModel] = await self.services.models.ask(
                self.configuration.research_model,
                messages,
                meter=self.meter,
                tools=tools.tools if left else (),
                thinking=DEFAULT_THINKING["research"],
            )
            asked = reply.message.tool_calls
            if not asked or not left:
                return reply.text
            # Records get their ids in the same order every time.
            await looked_up.wait()
            answers = await asyncio.gather(*(tools.call(call) for call in asked))
            messages = [*messages, reply.message, *answers]
        return ""

    def _opening(self, survey: MapResult) -> Sequence[BaseMessage]:
        language = self.options.language
        blocks = {"query": self.query, **self._records(survey)}
        return [
            SystemMessage(render("amap_research_system", language)),
            HumanMessage(render("amap_research", language, **blocks)),
        ]

    def _records(self, survey: MapResult) -> dict[str, str]:
        """The ledger as lines, each with its marker."""
        language = self.options.language
        return {
            "places": place_lines(survey.places, language),
            "routes": route_lines(survey.routes, language),
            "weather": weather_lines(survey.weather, language),
        }
