"""What a reader is told that a failure cost: the part that failed, why, and what stands in."""

import logging

from agent.core.errors import AgentError
from agent.evidence.types import Gap
from agent.texts import say
from agent.texts.language import Language
from agent.texts.reasons import reason_of

log = logging.getLogger(__name__)

# By the part of a run that failed, which is the gap's provider where no service is.


def gap_of(query: str, error: AgentError, part: str, language: Language) -> Gap:
    """The error of one part of a run as the gap the user sees; its own text goes to the log."""
    log.info("%s failed: %s (%s)", part, error, error.code)
    return Gap(
        query=query,
        provider=getattr(error, "provider", part),
        code=error.code,
        message=say(f"gaps.{part}", language, reason=reason_of(error, language)),
    )


def run_gap(
    key: str, language: Language, *, query: str = "", provider: str = "", **values: object
) -> Gap:
    """Return what a run did not do, or did otherwise: `plan_execute.task_empty` and its values.

    The provider is the assistant that the key begins with, unless another one is named.
    """
    assistant, _, code = key.partition(".")
    message = say(f"{assistant}.gaps.{code}", language, **values)
    return Gap(query=query, provider=provider or assistant, code=code, message=message)
