"""Settles the bare answer, with the evidence it rests on, or that none was found."""

import logging

from langgraph.runtime import Runtime

from agent.assistants.team_answer.settling import (
    Settled,
    Settlement,
    likely,
    settle_prompt,
    settled,
)
from agent.assistants.team_answer.state import TeamState, TeamUpdate, TraceEntry
from agent.assistants.team_answer.toolbox import TeamServices, TeamToolbox, settings_of
from agent.assistants.team_answer.wording import run_gap
from agent.budget import Meter
from agent.configuration import Configuration
from agent.errors import AgentError, BudgetExceeded, ConfigurationError
from agent.evidence.types import Gap
from agent.models.catalogue import DEFAULT_THINKING
from agent.nodes.gaps import gap_of
from agent.nodes.toolbox import meter_of
from agent.progress import event

log = logging.getLogger(__name__)
NODE = "synthesize"


async def synthesize(
    state: TeamState, runtime: Runtime[Configuration], *, services: TeamServices
) -> TeamUpdate:
    """Never an answer that nothing bears out; without a model, the hypothesis all agreed on."""
    given, configuration = services(), settings_of(runtime)
    # A discussion may spend all but what is kept for the answer; this is the answer.
    meter = meter_of(state, configuration, given, answering=True)
    said, gaps = await _said(state, configuration, given, meter)
    kept = settled(said, state) if said else likely(state)
    if kept.unsupported:
        gaps.append(run_gap("answer_unsupported", state["turn"]["language"]))
    for gap in gaps:
        runtime.stream_writer(event("gap", NODE, text=gap["message"]))
    log.info("turn=%s %s: %s, %d pieces of evidence, %d unknown ids", state["turn"]["id"], NODE,
             "found" if kept.answer else "none", len(kept.evidence), kept.unknown)  # fmt: skip
    return TeamUpdate(
        raw_answer=kept.answer,
        explanation=kept.explanation,
        answer_evidence=kept.evidence,
        unknown_ids=kept.unknown,
        unsettled=said is None,
        reasoning_trace=[TraceEntry(step=NODE, text=_trace(kept))],
        gaps=gaps,
        usage=meter.usage,
    )


async def _said(
    state: TeamState, configuration: Configuration, given: TeamToolbox, meter: Meter
) -> tuple[Settled | None, list[Gap]]:
    """The model's word, of the second model where the first one fails; None where both do."""
    chosen, gaps = state["turn"]["reasoning_model"], list[Gap]()
    models = [chosen] if chosen else [configuration.answer_model, configuration.reflection_model]
    prompt = settle_prompt(state, configuration)
    for model in dict.fromkeys(models):
        try:
            reply = await given.models.ask(
                model, prompt, meter=meter, schema=Settled, thinking=DEFAULT_THINKING["reflection"]
            )
        except ConfigurationError:
            raise
        except AgentError as error:
            log.warning("turn=%s %s: %s", state["turn"]["id"], NODE, error)
            gaps = [gap_of("", error, NODE, state["turn"]["language"])]
            if isinstance(error, BudgetExceeded):
                break
        else:
            return reply.parsed, []
    return None, gaps


def _trace(kept: Settlement) -> str:
    return "\n".join(part for part in (kept.answer or "–", kept.explanation) if part)
