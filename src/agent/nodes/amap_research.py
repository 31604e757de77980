"""One map branch: prefetch in code, then the model with the tools bound, in a bounded loop."""

import asyncio
import time
from collections.abc import Sequence

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langgraph.runtime import Runtime
from pydantic import BaseModel

from agent.budget import Meter
from agent.configuration import Configuration
from agent.errors import AgentError
from agent.evidence.citations import restamp
from agent.mcp.types import MapOptions, MapTools, Survey, Tell
from agent.models.catalogue import DEFAULT_THINKING
from agent.models.types import Reply
from agent.nodes.evidence_text import place_lines, route_lines, weather_lines
from agent.nodes.toolbox import Services, Toolbox, gap_of, open_meter
from agent.progress import event
from agent.prompts import render
from agent.state import AmapSearchState, Update

NODE = "amap_research"


async def amap_research(
    state: AmapSearchState, runtime: Runtime[Configuration], *, services: Services
) -> Update:
    """Asks the map about one query; never raises for a failed source."""
    given = services()
    configuration = runtime.context or Configuration()
    turn, query, began = state["turn"], state["search_query"], time.monotonic()
    branch = f"a{state['id']}"
    meter = open_meter(turn, configuration, given, spent=state["spent"])
    options = MapOptions(
        prefix=branch,
        language=turn["language"],
        near=turn["near"],
        keywords=configuration.map_keywords,
        details=configuration.map_details,
        more=configuration.map_more_details,
    )

    def tell(asked: str) -> None:
        runtime.stream_writer(event("map_call", NODE, id=branch, text=asked))

    runtime.stream_writer(event("map_started", NODE, id=branch, text=query))
    try:
        survey = await given.maps.survey(
            state["task"], query, options=options, meter=meter, tell=tell
        )
        text, _ = await asyncio.gather(
            _written(query, survey, options, configuration, given, meter, tell),
            given.maps.look_up_more(
                survey, state["task"], query, options=options, meter=meter, tell=tell
            ),
        )
    except AgentError as error:
        survey, text = Survey(gaps=[gap_of(query, error, "amap")]), ""
    for gap in survey.gaps:
        runtime.stream_writer(event("gap", NODE, id=branch, text=gap["message"]))
    count = len(survey.places) + len(survey.routes) + len(survey.weather)
    runtime.stream_writer(
        event("map_done", NODE, id=branch, text=query, count=count,
              seconds=time.monotonic() - began)
    )  # fmt: skip
    return Update(
        search_query=[query] if state.get("alone") else [],
        amap_research_result=[text] if text else [],
        sources_gathered=survey.sources,
        places=survey.places,
        routes=survey.routes,
        weather=survey.weather,
        places_rejected=survey.rejected,
        anchors=[survey.anchor] if survey.anchor else [],
        gaps=survey.gaps,
        usage=meter.usage,
    )


async def _written(
    query: str,
    survey: Survey,
    options: MapOptions,
    configuration: Configuration,
    given: Toolbox,
    meter: Meter,
    tell: Tell,
) -> str:
    """The model's text over the ledger, citing only what is in it; the bare list if it fails."""
    if not survey.sources and survey.gaps and not survey.open_for_tools:
        return ""
    try:
        tools = await given.maps.tools(survey, query, options=options, meter=meter, tell=tell)
        text = await _loop(query, survey, options, configuration, given, meter, tools)
    except AgentError as error:
        survey.gaps.append(gap_of(query, error, "amap"))
        text = ""
    known = {source["id"]: source["id"] for source in survey.sources}
    return restamp(text, known).strip() or _facts(survey, options)


async def _loop(
    query: str,
    survey: Survey,
    options: MapOptions,
    configuration: Configuration,
    given: Toolbox,
    meter: Meter,
    tools: MapTools,
) -> str:
    messages = _opening(query, survey, options)
    for left in range(configuration.map_rounds, -1, -1):
        reply: Reply[BaseModel] = await given.models.ask(
            configuration.research_model,
            messages,
            meter=meter,
            tools=tools.tools if left else (),
            thinking=DEFAULT_THINKING["research"],
        )
        if not reply.message.tool_calls or not left:
            return reply.text
        answers = await asyncio.gather(*(tools.call(call) for call in reply.message.tool_calls))
        messages = [*messages, reply.message, *answers]
    return ""


def _opening(query: str, survey: Survey, options: MapOptions) -> Sequence[BaseMessage]:
    language = options.language
    values = {
        "query": query,
        "places": place_lines(survey.places, language),
        "routes": route_lines(survey.routes, language),
        "weather": weather_lines(survey.weather, language),
    }
    return [
        SystemMessage(render("amap_research_system", language)),
        HumanMessage(render("amap_research", language, **values)),
    ]


def _facts(survey: Survey, options: MapOptions) -> str:
    """The records themselves, each with its marker."""
    language = options.language
    lines = (
        place_lines(survey.places, language),
        route_lines(survey.routes, language),
        weather_lines(survey.weather, language),
    )
    return "\n".join(line for line in lines if line)
