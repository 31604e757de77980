"""The last node: the report with numbered citations, and everything a client wants beside it."""

from typing import cast

from langgraph.runtime import Runtime

from agent.assistants.deep_research.lanes import Lanes
from agent.assistants.deep_research.report_writer import ReportWriter
from agent.assistants.deep_research.state import DeepState, DeepUpdate
from agent.assistants.deep_research.toolbox import DeepServices, settings_of
from agent.configuration import Configuration
from agent.nodes.finishing import Ending, close, refuse_if_all_failed
from agent.nodes.toolbox import meter_of
from agent.state import replaced

NODE = "write_report"
ASSISTANT = "deep_research"


async def write_report(
    state: DeepState, runtime: Runtime[Configuration], *, services: DeepServices, lanes: Lanes
) -> DeepUpdate:
    """Writes the report from the topics' notes; raises NothingFound where every source failed."""
    given, configuration = services(), settings_of(runtime)
    meter = meter_of(state, configuration, given, answering=True)
    writer = ReportWriter(state, configuration, given, meter)
    if not writer.has_evidence:
        gaps = [gap for gap in state.get("gaps", []) if gap["provider"] != ASSISTANT]
        refuse_if_all_failed(gaps, state["turn"]["language"])
    ending = Ending(NODE, ASSISTANT, given, configuration, meter, runtime.stream_writer)
    closing = await close(state, writer, ending)
    lanes.close(state["turn"]["id"])
    report = str(closing["messages"][-1].text).removeprefix(writer.lead)
    return cast(DeepUpdate, {**closing, "pages_read": replaced([]), "report": report})
