"""The last node: the answer with numbered citations, and everything a client wants beside it."""

from typing import cast

from langgraph.runtime import Runtime

from agent.configuration import Configuration
from agent.nodes.answer_writer import AnswerWriter
from agent.nodes.finishing import Ending, close, refuse_if_all_failed
from agent.nodes.toolbox import Services, open_meter
from agent.state import OverallState, Update

NODE = "finalize_answer"
ASSISTANT = "agent"


async def finalize_answer(
    state: OverallState, runtime: Runtime[Configuration], *, services: Services
) -> Update:
    """Writes the answer from the evidence; raises NothingFound where every source failed."""
    given = services()
    configuration = runtime.context or Configuration()
    spent = state.get("usage")
    meter = open_meter(state["turn"], configuration, given, spent=spent, answering=True)
    writer = AnswerWriter(state, configuration, given, meter)
    nothing_sought = state.get("needs") or state.get("cancelled")
    if not writer.has_evidence and not nothing_sought:
        refuse_if_all_failed(state.get("gaps", []), state["turn"]["language"])
    ending = Ending(NODE, ASSISTANT, given, configuration, meter, runtime.stream_writer)
    anchor = next(iter(state.get("anchors", [])), None)
    return cast(Update, await close(state, writer, ending, anchor=anchor))
