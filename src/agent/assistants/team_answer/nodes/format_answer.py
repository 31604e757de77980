"""The last node: the answer in the form asked for, by a model and then by rules, and written."""

import re
from typing import cast

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langgraph.runtime import Runtime
from pydantic import BaseModel, Field

from agent.assistants.team_answer.formatting import formatted, presentable
from agent.assistants.team_answer.state import TeamState, TeamUpdate, TraceEntry
from agent.assistants.team_answer.team_writer import TeamWriter
from agent.assistants.team_answer.toolbox import TeamServices, TeamToolbox, settings_of
from agent.budget import Meter
from agent.configuration import Configuration
from agent.errors import AgentError, ConfigurationError
from agent.evidence.lengths import cut_to_tokens
from agent.evidence.queries import clean_text
from agent.evidence.types import Gap
from agent.language import Language
from agent.models.catalogue import DEFAULT_THINKING
from agent.nodes.finishing import Ending, close, refuse_if_all_failed
from agent.nodes.gaps import gap_of
from agent.nodes.toolbox import meter_of
from agent.progress import event
from agent.prompts import render

NODE = "format_answer"
ASSISTANT = "team_answer"
_MAX_ANSWER = 2000
_HAN = re.compile(r"[\u3400-\u9fff]")
_WORD = re.compile(r"[0-9]+|[^\W\d_\u3400-\u9fff]+|[\u3400-\u9fff]")


class Extracted(BaseModel):
    """The answer in its form."""

    answer: str = Field(description="The answer and nothing else.")


async def format_answer(
    state: TeamState, runtime: Runtime[Configuration], *, services: TeamServices
) -> TeamUpdate:
    """Writes the message; raises NothingFound where every source asked, or every model, failed."""
    given, configuration = services(), settings_of(runtime)
    raw, pool = state.get("raw_answer", "").strip(), state.get("evidence_pool", [])
    asked = [found for found in pool if found["kind"] != "code"]
    nobody_spoke = state.get("ended") == "failures" and not state.get("transcript")
    if not raw and (nobody_spoke or (asked and all(found["failed"] for found in asked))):
        gaps = [gap for gap in state.get("gaps", []) if gap["provider"] != ASSISTANT]
        refuse_if_all_failed(gaps, state["turn"]["language"])
    meter = meter_of(state, configuration, given, answering=True)
    extracted, failed = await _extracted(raw, state, configuration, (given, meter))
    writer = TeamWriter(state, configuration, given, meter)
    requirement = state["analysis"]["format_requirement"]
    writer.answer = presentable(extracted, requirement)
    writer.final = formatted(extracted, requirement)
    for gap in failed:
        writer.gaps.append(gap)
        runtime.stream_writer(event("gap", NODE, text=gap["message"]))
    ending = Ending(NODE, ASSISTANT, given, configuration, meter, runtime.stream_writer)
    closing = await close(state, writer, ending)
    trace = [TraceEntry(step=NODE, text=writer.final or "–")]
    kept = {"final_answer": writer.final, "verified": writer.verified, "reasoning_trace": trace}
    return cast(TeamUpdate, {**closing, **kept})


async def _extracted(
    raw: str,
    state: TeamState,
    configuration: Configuration,
    asking: tuple[TeamToolbox, Meter],
) -> tuple[str, list[Gap]]:
    """What the model takes out of the settled answer; the settled answer where it cannot."""
    if not raw:
        return "", []
    given, meter = asking
    try:
        reply = await given.models.ask(
            configuration.query_generator_model,
            _prompt(raw, state, configuration.context_token_limit),
            meter=meter,
            schema=Extracted,
            thinking=DEFAULT_THINKING["query"],
        )
    except ConfigurationError:
        raise
    except AgentError as error:
        return raw, [gap_of("", error, NODE, state["turn"]["language"])]
    assert reply.parsed is not None
    answer = clean_text(reply.parsed.answer, _MAX_ANSWER)
    requirement = state["analysis"]["format_requirement"]
    faithful = is_extract(answer, raw, requirement, state["turn"]["language"])
    return (answer if faithful else raw), []


def is_extract(answer: str, raw: str, requirement: str, language: Language) -> bool:
    """Whether a model took the answer out of the settled one, rather than giving another.

    A requirement may ask for other words or figures, and an answer in Chinese characters may be
    put into the question's language: then only an answer that has grown is refused.
    """
    if not answer or len(answer) > 2 * len(raw) + 40:
        return False
    if requirement or (language == "en" and _HAN.search(raw)):
        return True
    return set(_WORD.findall(answer.casefold())) <= set(_WORD.findall(raw.casefold()))


def _prompt(raw: str, state: TeamState, limit: int) -> list[BaseMessage]:
    turn = state["turn"]
    values = {
        "question": cut_to_tokens(turn["question"], limit // 2),
        "format_requirement": state["analysis"]["format_requirement"],
        "answer": cut_to_tokens(raw, limit // 4),
    }
    return [
        SystemMessage(render("team_format_system", turn["language"])),
        HumanMessage(render("team_format", turn["language"], **values)),
    ]
