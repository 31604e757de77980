"""What a user reads where a web search brought nothing, or less than it should."""

import logging

from agent.core.errors import AgentError
from agent.evidence.types import Gap
from agent.search.types import WebTask
from agent.texts import say
from agent.texts.reasons import reason_of

log = logging.getLogger(__name__)
LABELS = {"google": "Google", "tavily": "Tavily", "serper": "Serper", "bocha": "Bocha"}


def search_gap(task: WebTask, provider: str, code: str, *, text: str = "", **values: str) -> Gap:
    """A gap in the user's language; `text` names the wording where it differs from the code."""
    values = {"service": LABELS.get(provider, provider), **values}
    message = say(f"search.{text or code}", task.language, **values)
    return Gap(query=task.query, provider=provider, code=code, message=message)


def failure_gap(task: WebTask, provider: str, error: AgentError, *, text: str, **more: str) -> Gap:
    """The gap an error leaves; `code` is the error's."""
    reason = reason_of(error, task.language)
    log.info("%s search failed: %s (%s)", provider, error, error.code)
    return search_gap(task, provider, error.code, text=text, reason=reason, **more)
