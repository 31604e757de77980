"""Say what the failures of a map, by their codes, mean to the person who asked."""

import logging
import re

from agent.core.errors import AgentError
from agent.evidence.types import Gap
from agent.texts import has, say
from agent.texts.language import Language
from agent.texts.reasons import reason_of

_DEFAULT_PROVIDER = "amap"
_NAME = re.compile(r"\b[A-Z][A-Z_]{6,}\b")
WAITING_HELPS = frozenset({"map_rate", "map_busy", "map_network", "map_malformed"})
"""Codes after which the same call may be made again soon."""
NOT_FOUND = "map_place_not_found"
NOT_SET_UP = frozenset({"map_key_missing", "map_no_node"})
"""Codes of a map that nobody has set up; nothing is broken."""


def service_words(text: str) -> list[str]:
    """Return a map service's own words for a failure, such as INVALID_USER_IP."""
    return [name for name in _NAME.findall(text) if not name.endswith("_API_KEY")]


log = logging.getLogger(__name__)

_SAME = {"timeout": "map_timeout"}
POINTLESS_TO_GO_ON = frozenset(
    {
        "map_key_missing", "map_key_invalid", "map_quota_day", "map_rate", "map_banned",
        "map_server_down", "map_no_node", "map_install_failed", "map_contract", "map_timeout",
        "timeout", "map_needs_place", "budget_max_map_calls", "budget_max_run_seconds",
    }
)  # fmt: skip
"""Codes after which further map calls of this run would only fail the same way."""


def map_message(error: AgentError, language: Language, about: str = "") -> str:
    """Return one line for people; of a refused key with the service's own word for it."""
    code = _SAME.get(error.code, error.code)
    provider = getattr(error, "provider", _DEFAULT_PROVIDER)
    key = f"map.errors.{code}"
    if provider != _DEFAULT_PROVIDER and has(f"map.other_errors.{code}"):
        key = f"map.other_errors.{code}"
    if not has(key):
        return say("map.unwritten", language, reason=reason_of(error, language))
    text = say(key, language, about=about, map=provider)
    words = service_words(error.message) if error.code == "map_key_invalid" else []
    if not words:
        return text
    refusal = "map.refusal" if provider == _DEFAULT_PROVIDER else "map.other_refusal"
    return say(refusal, language, text=text, reply=words[0], map=provider)


def map_gap(
    error: AgentError,
    query: str,
    language: Language,
    about: str = "",
    *,
    provider: str = _DEFAULT_PROVIDER,
) -> Gap:
    """Return the failure as the user sees it; its own text goes to the log."""
    log.info("map: %s (%s)", error, error.code)
    return Gap(
        query=query,
        provider=getattr(error, "provider", provider),
        code=error.code,
        message=map_message(error, language, about or query),
    )
