"""Yield the text of an answer: what the model writes, else quotations of what was found."""

import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial

from langchain_core.messages import BaseMessage

from agent.assistants.common.draft import Draft
from agent.assistants.common.gaps import gap_of
from agent.core.budget import Meter
from agent.core.errors import AgentError, ConfigurationError
from agent.core.faults import contained
from agent.core.processor import compute, read_in_turns
from agent.evidence.types import Gap
from agent.models.streaming import EarlyReply
from agent.models.types import Withdrawal
from agent.models.validation import LOOP
from agent.texts import reason_of, say

log = logging.getLogger(__name__)
_SURELY = 2
"""Times that a model has been seen to be weak."""


async def write_or_quote(
    draft: Draft,
    prompt: Sequence[BaseMessage],
    material: Callable[[], str],
    *,
    part: str,
    must_cite: Callable[[str], bool] = lambda text: True,
) -> AsyncIterator[str]:
    """Yield what the model writes; where that is no answer, the material below it.

    That is nothing, what cites nothing, or what a model wrote that is too weak for it.

    `part` names what is written in the gaps that this leaves; `must_cite` says of a text without
    citations whether it needs some. What is quoted is no statement of the answer (`draft.quoted`).
    """
    seen, begun = _weakness(draft), len(draft.gaps)
    async for piece in _model_text(draft, prompt, part):
        yield piece
    written = draft.written.strip()
    draft.unfinished = bool(written) and draft.degraded
    weak = _weakness(draft) > max(seen, _SURELY - 1) or _loops(draft.gaps[begun:])
    cites = bool(draft.citer.used)
    if not (cites or draft.degraded):
        must = partial(must_cite, written)
        cites = draft.refuses or not await read_in_turns(must, len(written))
    if written and cites and not weak:
        return
    draft.degraded = True
    found = draft.cited(await compute(material, otherwise=str))
    if written and cites:
        lead = say("answer.weak", draft.language) if found else ""
    else:
        lead = _lead(draft, found, part)
    draft.quoted = "\n\n".join(filter(None, [lead, found]))
    if draft.quoted:
        yield f"\n\n{draft.quoted}" if written else draft.quoted


def _weakness(draft: Draft) -> int:
    """Return how often this run's models repeated themselves or their instructions."""
    return draft.meter.budget.remarks["model_weak"]


def _loops(gaps: Sequence[Gap]) -> bool:
    return any(gap["code"] == LOOP for gap in gaps)


def _lead(draft: Draft, found: str, part: str) -> str:
    """Return what is said before the quotations; of a text that cites nothing it leaves a gap."""
    language, failure = draft.language, draft.failure
    if not draft.written.strip():
        reason = say("answer.because", language, reason=failure) if failure else ""
        return say("answer.extractive" if found else "answer.unwritten", language, reason=reason)
    lead = say("answer.uncited" if found else "answer.uncited_alone", language)
    gap = Gap(query="", provider=draft.assistant, code=f"{part}_uncited", message=lead)
    draft.gaps.append(gap)
    return lead


def written_early(
    draft: Draft, prompt: Sequence[BaseMessage], meter: Meter
) -> AbstractAsyncContextManager[EarlyReply]:
    """Hold what the model may begin to write before it is known whether the research is over."""
    return draft.services.models.early(
        draft.model,
        prompt,
        meter=meter,
        fallback=draft.configuration.reflection_model,
    )


async def _model_text(draft: Draft, prompt: Sequence[BaseMessage], part: str) -> AsyncIterator[str]:
    """Yield what the model writes, made clean; a failure is a gap, after the text there is."""
    stream = draft.services.models.stream(
        draft.model,
        prompt,
        meter=draft.meter,
        fallback=draft.configuration.reflection_model,
    )
    try:
        with contained("model"):
            async for chunk in stream:
                piece = draft.withdraw() if isinstance(chunk, Withdrawal) else draft.clean(chunk)
                if piece:
                    draft.written += piece
                    yield piece
    except ConfigurationError:
        raise
    except AgentError as error:
        draft.rest()
        log.warning("turn=%s %s: %s", draft.turn["id"], part, error)
        draft.gaps.append(gap_of("", error, part, draft.language))
        draft.failure = reason_of(error, draft.language)
        draft.degraded = True
    else:
        if rest := draft.rest():
            draft.written += rest
            yield rest
