"""Settle the bare answer with the evidence it rests on, check it, and say if it is verified.

Where the verifier's verdict holds it is the answer, and no model is asked.
"""

import logging
from dataclasses import dataclass
from functools import partial

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.runtime import Runtime

from agent.assistants.common.conversation import prompt_tokens
from agent.assistants.common.gaps import parsed_or_gap, run_gap
from agent.assistants.common.services import GetServices, Services
from agent.assistants.common.steering import new_wishes, wished, with_wishes
from agent.assistants.common.turn import answer_model, context_limit, meter_of, room_of
from agent.assistants.common.whole_documents import WholeDocuments, document_elements
from agent.assistants.team_answer.documents import (
    page_texts,
    prompt_limit,
    with_documents,
    with_pages,
)
from agent.assistants.team_answer.evidence_view import evidence_view, known_sources, lookups
from agent.assistants.team_answer.settlement import SynthesizedAnswer, settled_answer
from agent.assistants.team_answer.speakers import (
    NO_DOCUMENTS,
    WITHOUT_RESULTS,
    known_of_question,
    transcript_block,
)
from agent.assistants.team_answer.state import (
    TeamState,
    TeamUpdate,
    TraceEntry,
    configuration_of,
)
from agent.assistants.team_answer.verdict import Settled, is_not_found, says_premise_false
from agent.assistants.team_answer.verified import (
    agreed_answer,
    agreement,
    agrees,
    given_in,
    missing_figures,
    unverified_reason,
)
from agent.configuration import Configuration
from agent.core.budget import Meter
from agent.core.processor import read_in_turns
from agent.core.progress import event
from agent.evidence.types import Gap
from agent.prompts import task_prompt
from agent.state import answer_language
from agent.texts import say

_LIKELY = 0.5


def likely(state: TeamState) -> SynthesizedAnswer:
    """Return, without a model, the answer that the verifier agreed to, if a source bears it."""
    turn = agreement(state)
    if turn is None:
        return SynthesizedAnswer()
    alive = [branch for branch in state.get("hypotheses", []) if not branch["pruned"]]
    best = max(alive, key=lambda branch: branch["score"], default=None)
    answer = turn.get("agreed", "") or (best["text"] if best and best["score"] >= _LIKELY else "")
    if not answer or is_not_found(answer) or says_premise_false(answer):
        return SynthesizedAnswer()
    explanation = best["text"] if best and best["score"] >= _LIKELY else turn["text"]
    return settled_answer(Settled(outcome="answer", answer=answer, explanation=explanation), state)


def by_verdict(state: TeamState) -> SynthesizedAnswer | None:
    """Return the answer of a verdict that holds and agrees; None where a model has to settle."""
    given = given_in(agreement(state))
    if given is None or state.get("ended") != "terminated":
        return None
    synthesized = settled_answer(given.settled, state)
    is_clear = synthesized.explanation and not problem_of(synthesized, state)
    return synthesized if is_clear and agrees(agreed_answer(state), synthesized) else None


def problem_of(synthesized: SynthesizedAnswer, state: TeamState) -> str:
    """Return what is wrong with a settled answer, for the one repair; empty if nothing is."""
    language = state["turn"]["language"]
    if synthesized.unsupported:
        return say("team_answer.problem_unsupported", language)
    if missing := missing_figures(synthesized, state):
        return say("team_answer.problem_figures", language, figures=", ".join(missing))
    agreed = agreed_answer(state)
    if agreed and not agrees(agreed, synthesized):
        return say("team_answer.problem_agreed", language, agreed=agreed)
    return ""


def settle_prompt(
    state: TeamState, configuration: Configuration, whole: WholeDocuments = NO_DOCUMENTS
) -> list[BaseMessage]:
    """Return the whole discussion with what can be cited, within `context_token_limit`."""
    turn = state["turn"]
    own, limit = context_limit(turn, configuration), prompt_limit(state, configuration, whole)
    values = known_of_question(state, own) | {"documents": document_elements(whole)}
    evidence = evidence_view(state, own // 3, besides=whole.by_id)

    def asked(transcript: str) -> list[BaseMessage]:
        blocks = {**values, "transcript": transcript, "evidence": evidence}
        return with_wishes(task_prompt("team_synthesize", answer_language(turn), **blocks), state)

    free = limit - prompt_tokens(asked("")) - 60
    # Results stand in <evidence>; the transcript repeats none.
    return asked(
        transcript_block(
            state.get("transcript") or [], free, turn["language"], level=WITHOUT_RESULTS
        )
    )


log = logging.getLogger(__name__)
NODE = "synthesize"


async def synthesize(
    state: TeamState, runtime: Runtime[Configuration], *, get_services: GetServices
) -> TeamUpdate:
    """Settle the answer; without a model, what the verifier agreed to."""
    services, configuration = get_services(), configuration_of(runtime)
    wishes = await new_wishes(state, services, runtime.stream_writer, NODE)
    state, whole = await with_documents(wished(state, wishes), services, configuration, runtime)
    workspace, given = (
        services.workspace(room_of(state["turn"], runtime)),
        given_in(agreement(state)),
    )
    named = [*given.evidence, *given.looked_at] if given else []
    state = with_pages(state, await page_texts(state, workspace, named))
    # A discussion may spend all but what is kept for the answer; this is the answer.
    meter = meter_of(state, configuration, services, answering=True)
    synthesis = _Synthesis(state, configuration, services, meter, whole)
    # What a person wished since the verdict has still to be heard.
    clear = None if wishes else by_verdict(state)
    if configuration.answer_now and not (known_sources(state) or lookups(state) or whole.hits):
        # There is nothing that a model could settle.
        clear = SynthesizedAnswer()
    synthesized, gaps = (clear, []) if clear else await synthesis.run()
    reason = unverified_reason(synthesized, state)
    if synthesized.unsupported:
        gaps.append(run_gap("team_answer.answer_unsupported", state["turn"]["language"]))
    for gap in gaps:
        runtime.stream_writer(event("gap", NODE, text=gap["message"]))
    log.info("turn=%s %s: %s, %d pieces of evidence, %d unknown ids, %s", state["turn"]["id"], NODE,
             synthesized.outcome, len(synthesized.evidence), synthesized.unknown,
             reason or "verified")  # fmt: skip
    return TeamUpdate(
        outcome=synthesized.outcome,
        contested=synthesized.contested,
        raw_answer=synthesized.answer,
        explanation=synthesized.explanation,
        answer_evidence=synthesized.evidence,
        unknown_ids=synthesized.unknown,
        unsettled=synthesis.failed,
        verified=not reason,
        unverified_reason=reason,
        reasoning_trace=[TraceEntry(step=NODE, text=_trace(synthesized))],
        gaps=gaps,
        wishes=wishes,
        usage=meter.usage,
    )


@dataclass
class _Synthesis:
    """Ask for the settled answer, of the second model where the first fails; repair it once."""

    state: TeamState
    configuration: Configuration
    services: Services
    meter: Meter
    whole: WholeDocuments
    failed: bool = False
    """True where no model settled it."""

    async def run(self) -> tuple[SynthesizedAnswer, list[Gap]]:
        """Return what can be kept of the answer, and gaps."""
        configuration = self.configuration
        said = sum(len(turn["text"]) for turn in self.state.get("transcript") or [])
        prompt = await read_in_turns(
            partial(settle_prompt, self.state, configuration, self.whole), said
        )
        chosen = answer_model(self.state["turn"], configuration)
        models = [chosen, configuration.reflection_model]
        gaps: list[Gap] = []
        for name in dict.fromkeys(models):
            reply, gaps = await self._ask(name, prompt)
            if reply is not None:
                return await self._repair(name, prompt, reply), []
            if gaps[0]["code"].startswith("budget_"):
                break
        self.failed = True
        return likely(self.state), gaps

    async def _repair(
        self, model: str, prompt: list[BaseMessage], reply: Settled
    ) -> SynthesizedAnswer:
        """Return the settlement, of a second reply where code finds fault with the first."""
        synthesized = settled_answer(reply, self.state)
        problem = problem_of(synthesized, self.state)
        if not problem:
            return synthesized
        again, _ = await self._ask(
            model, [*prompt, AIMessage(reply.model_dump_json()), HumanMessage(problem)]
        )
        second = settled_answer(again, self.state) if again else synthesized
        return synthesized if synthesized.answer and second.unsupported else second

    async def _ask(self, model: str, prompt: list[BaseMessage]) -> tuple[Settled | None, list[Gap]]:
        return await parsed_or_gap(
            self.services.models, model, prompt, Settled,
            meter=self.meter, turn=self.state["turn"], part=NODE, thinks="reflection",
        )  # fmt: skip


def _trace(synthesized: SynthesizedAnswer) -> str:
    return "\n".join(filter(None, [synthesized.answer or "–", synthesized.explanation]))
