"""What a reader is told that a failure cost: the part that failed, why, and what stands in."""

import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from agent.core.errors import AgentError, ConfigurationError
from agent.evidence.types import Gap
from agent.state import Turn
from agent.texts import say
from agent.texts.language import Language
from agent.texts.reasons import reason_of

T = TypeVar("T")
log = logging.getLogger(__name__)


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


async def ask_or_gap(
    asking: Awaitable[T], turn: Turn, part: str, gap: Callable[[str], Gap] | None = None
) -> tuple[T | None, list[Gap]]:
    """Return a model's reply; where it fails, None and the gap that says what that costs.

    `gap` makes one of the reason; the default is `gap_of` the part. A setting that cannot work
    raises ConfigurationError: the next call would fail as well.
    """
    try:
        return await asking, []
    except ConfigurationError:
        raise
    except AgentError as error:
        language = turn["language"]
        log.warning("turn=%s %s: %s", turn["id"], part, error)
        if gap is None:
            return None, [gap_of("", error, part, language)]
        return None, [gap(reason_of(error, language))]
