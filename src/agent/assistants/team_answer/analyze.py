"""Check the input, open the turn, read the question, and pass on its steps: the first two nodes."""

import logging

from langchain_core.messages import BaseMessage
from langgraph.runtime import Runtime
from pydantic import BaseModel, Field

from agent.assistants.common.conversation import conversation
from agent.assistants.common.differences import differences_among
from agent.assistants.common.forms import NamesLanguage
from agent.assistants.common.gaps import parsed_or_gap
from agent.assistants.common.own_documents import (
    SEARCH_DOCUMENTS,
    AsksForDocuments,
    documents_asked_for,
    readable_collections,
)
from agent.assistants.common.preferences import (
    UsesPreferences,
    person_of,
    preferring,
    with_preferences,
)
from agent.assistants.common.remembered import begun_previous
from agent.assistants.common.review_plan import waiting
from agent.assistants.common.services import GetServices
from agent.assistants.common.toolbox import CODE, MAX_PROGRAM
from agent.assistants.common.turn import (
    context_limit,
    in_read_language,
    meter_of,
    open_meter,
    open_turn,
    refuse_without_thread,
    with_room,
)
from agent.assistants.team_answer.documents import with_documents
from agent.assistants.team_answer.state import (
    Analysis,
    FirstLook,
    TeamState,
    TeamUpdate,
    TraceEntry,
    configuration_of,
    new_discussion,
)
from agent.assistants.team_answer.tools import engines_of
from agent.configuration import Configuration
from agent.core.budget import Usage
from agent.core.errors import InputError
from agent.core.progress import event
from agent.core.strings import cut_to_tokens
from agent.evidence.intent import detect_location_query
from agent.evidence.queries import clean_text
from agent.prompts import task_prompt
from agent.state import Turn, replaced

MAX_REQUIREMENT = 2000
"""Characters of a format requirement."""
MAX_STEPS = 6
MAX_ASKED, MAX_FIRST = 1000, 3
"""Characters of a step; look-ups before anybody speaks."""


class PlannedLook(BaseModel):
    """A tool with what it is given."""

    tool: str = Field("", description="One of <tools>.")
    text: str = Field("", description="The query, or the program of run_code.")


class Analyzed(NamesLanguage, AsksForDocuments, UsesPreferences):
    """The question, read before anybody searches."""

    asked: str = Field(description="The question in one sentence that stands alone.")
    format_requirement: str = Field("", description="The form the answer must have, or empty.")
    needs_map: bool = Field(False, description="Asks for places, distances, routes or weather.")
    steps: list[str] = Field(
        default_factory=list, description="Up to six questions that lead to the answer, in order."
    )
    first: list[PlannedLook] = Field(
        default_factory=list, description="Up to three look-ups that can be made at once."
    )


def checked_requirement(requirement: object) -> str:
    """Return the caller's format requirement as one line; raise InputError if it cannot be one."""
    if requirement is None:
        return ""
    if not isinstance(requirement, str):
        raise InputError("format_requirement", "must be a text")
    if len(requirement) > MAX_REQUIREMENT:
        limit = f"is longer than {MAX_REQUIREMENT} characters"
        raise InputError("format_requirement", limit)
    return clean_text(requirement, MAX_REQUIREMENT)


def analysis_of(analyzed: Analyzed, question: str, requirement: str) -> Analysis:
    """Return a model's reading, checked; the caller's requirement wins over the model's."""
    steps = (clean_text(text, MAX_ASKED) for text in analyzed.steps)
    looks = [
        FirstLook(tool=look.tool.strip(), text=look.text.strip())
        for look in analyzed.first
        if look.text.strip() and len(look.text) <= MAX_PROGRAM
    ]
    return Analysis(
        asked=clean_text(analyzed.asked, MAX_ASKED) or clean_text(question, MAX_ASKED),
        format_requirement=requirement or clean_text(analyzed.format_requirement, MAX_REQUIREMENT),
        needs_map=analyzed.needs_map,
        steps=list(dict.fromkeys(filter(None, steps)))[:MAX_STEPS],
        first=looks[:MAX_FIRST],
    )


def analysis_by_rules(question: str, requirement: str) -> Analysis:
    """Return the question as it stands."""
    return Analysis(
        asked=clean_text(question, MAX_ASKED),
        format_requirement=requirement,
        needs_map=detect_location_query(question),
        steps=[],
    )


log = logging.getLogger(__name__)
NODE = "analyze"


async def analyze(
    state: TeamState, runtime: Runtime[Configuration], *, get_services: GetServices
) -> TeamUpdate:
    """Open the turn; where the model fails, leave the question as it stands."""
    services, configuration = get_services(), configuration_of(runtime)
    refuse_without_thread(configuration)
    turn = await open_turn(state, configuration, services, runtime)
    turn = await with_room(turn, configuration, services)
    requirement = checked_requirement(state.get("format_requirement"))
    readable = await readable_collections(state, configuration, services, runtime, turn=turn)
    previous = await begun_previous(state, turn, services, runtime)
    discussion = conversation(state["messages"], previous["sources"])
    if notice := services.notice(turn["language"]):
        runtime.stream_writer(event("notice", NODE, text=notice))
    meter = open_meter(turn, configuration, services, spent=None)
    tools = ", ".join([
        *engines_of(services.web, configuration, turn).providers,
        *([SEARCH_DOCUMENTS] if readable.names else []),
        *([CODE] if await services.code_runner() else []),
    ])  # fmt: skip
    person = await person_of(readable.owner, services, configuration)
    prompt = _prompt(turn, discussion, requirement, tools, context_limit(turn, configuration))
    prompt = with_preferences(prompt, person)
    analyzed, gaps = await parsed_or_gap(
        services.models, configuration.query_generator_model, prompt, Analyzed,
        meter=meter, turn=turn, part=NODE,
    )  # fmt: skip
    analysis = analysis_by_rules(turn["question"], requirement)
    asks = analyzed.asks(turn["question"], discussion) if analyzed else ""
    if analyzed:
        analysis = analysis_of(analyzed, turn["question"], requirement)
        turn = await in_read_language(turn, analyzed.language, configuration)
        turn = preferring(turn, analyzed.preferred, person)
    readable, turn, lacking = await documents_asked_for(
        state, configuration, services, runtime, turn=turn, readable=readable, asks=asks
    )
    gaps = [*readable.gaps, *gaps, *lacking]
    for gap in gaps:
        runtime.stream_writer(event("gap", NODE, text=gap["message"]))
    runtime.stream_writer(event("analysis", NODE, text=analysis["asked"]))
    log.info("turn=%s %s: %d steps, map %s",
             turn["id"], NODE, len(analysis["steps"]), analysis["needs_map"])  # fmt: skip
    opened = new_discussion()
    opened["owner"], opened["readable"] = readable.owner, readable.names
    opened["turn"], opened["previous"], opened["conversation"] = turn, previous, discussion
    opened["analysis"] = analysis
    opened["reasoning_trace"] = replaced([TraceEntry(step=NODE, text=analysis["asked"])])
    opened["gaps"], opened["usage"] = replaced(gaps), Usage(**meter.usage, first=True)
    return opened


def _prompt(
    turn: Turn, discussion: str, requirement: str, tools: str, limit: int
) -> list[BaseMessage]:
    values = {
        "tools": tools,
        "today": turn["today"],
        "conversation": cut_to_tokens(discussion, limit // 10),
        "format_requirement": cut_to_tokens(requirement, limit // 10),
        "question": cut_to_tokens(turn["question"], limit // 2),
    }
    return task_prompt("team_analyze", **values)


DECOMPOSE = "decompose"


async def decompose(
    state: TeamState, runtime: Runtime[Configuration], *, get_services: GetServices
) -> TeamUpdate:
    """Return the steps that `analyze` wrote; the question itself where it wrote none.

    Own documents that are read whole are compared here: everybody has the differences before them.
    """
    steps = state["analysis"]["steps"] or [state["analysis"]["asked"]]
    services, configuration = get_services(), configuration_of(runtime)
    text = "\n".join(steps)
    runtime.stream_writer(event("sub_questions", DECOMPOSE, text=text, count=len(steps)))
    meter = meter_of(state, configuration, services)
    _, whole = await with_documents(state, services, configuration, runtime)
    differences, gaps = await differences_among(
        whole, state["turn"], services, meter, model=configuration.research_model, node=DECOMPOSE
    )
    for gap in gaps:
        runtime.stream_writer(event("gap", DECOMPOSE, text=gap["message"]))
    return TeamUpdate(
        turn=waiting(state["turn"], configuration, services, "team_answer"),
        sub_questions=steps,
        differences=differences,
        gaps=gaps,
        usage=meter.usage,
        reasoning_trace=[TraceEntry(step=DECOMPOSE, text=text)],
    )
