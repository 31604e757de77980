"""Explain an error to the person who asked, in one short phrase of the question's language.

The error's own text, with model names and HTTP statuses, is for logs and `tanlu doctor`.
"""

from collections.abc import Sequence

from agent.core.errors import (
    AgentError,
    BudgetExceeded,
    ConfigurationError,
    MalformedReply,
    ProviderError,
    ProviderRefused,
    ProviderUnavailable,
    RateLimited,
    StoreFailed,
)
from agent.texts import has, say
from agent.texts.language import Language

_SAME = {
    "model_bad_request": "refused",
    "model_bad_call": "model_unusable",
    "model_schema": "model_unusable",
    "model_no_turn": "model_empty",
    "search_refused": "refused",
    "server_refused": "refused",
    "server_quota": "search_quota",
    "server_misconfigured": "search_misconfigured",
}
_BY_KIND: tuple[tuple[type[AgentError], str], ...] = (
    (ProviderUnavailable, "unavailable"),
    (RateLimited, "rate_limited"),
    (MalformedReply, "malformed"),
    (ProviderRefused, "refused"),
    (ConfigurationError, "configuration"),
)
_KEYS = {"model:google": "GEMINI_API_KEY", "google": "GEMINI_API_KEY",
         "model:openai": "OPENAI_API_KEY", "amap": "AMAP_MAPS_API_KEY"}  # fmt: skip


REMEDY = " → "
"""Between a reason and what helps; the page has the same."""
_REMEDIES = {
    "unreachable": "network",
    "proxy": "network",
    "model_region": "network",
    "model_key_invalid": "key",
    "model_forbidden": "key",
    "search_key_invalid": "key",
    "model_quota": "quota",
    "model_quota_day": "quota",
    "search_quota": "quota",
}


def remedy_of(codes: Sequence[str], language: Language) -> str:
    """Return what helps where a run failed for these reasons; the first that tells decides."""
    kind = next((_REMEDIES[code] for code in codes if code in _REMEDIES), "other")
    return say(f"remedies.{kind}", language)


def reason_of(error: AgentError, language: Language) -> str:
    """Return why something failed and what to do about it, without a full stop."""
    return say(f"reasons.{_key(error)}", language, **_values(error, language)).rstrip("。.")


def problem_text(error: ConfigurationError, language: Language) -> str:
    """Return the setting and its fault; in English where the fault has no text of its own."""
    if not has(f"faults.{error.fault}"):
        return error.message
    fault = say(f"faults.{error.fault}", language, **error.values)
    return f"{error.name}{say('punctuation.colon', language)}{fault}"


def stop_of(error: StoreFailed, language: Language) -> str:
    """Return why a run had to end, and what makes it go on."""
    return say("reasons.store_failed", language, name=error.name, problem=error.problem)


def _key(error: AgentError) -> str:
    """Return the key of the best wording: by the code, else by the kind of error."""
    if isinstance(error, ConfigurationError):
        return "web_search" if error.name == "web_search" else "configuration"
    code = _SAME.get(error.code, error.code)
    if has(f"reasons.{code}"):
        return code
    return next((key for kind, key in _BY_KIND if isinstance(error, kind)), "refused")


def _values(error: AgentError, language: Language) -> dict[str, str]:
    values = {part: say(f"reason_parts.{part}", language) for part in ("doctor", "who")}
    if isinstance(error, ConfigurationError):
        is_worded = has(f"faults.{error.fault}")
        fault = say(f"faults.{error.fault}", language, **error.values) if is_worded else ""
        # Without a text the problem is told in English.
        advice = fault or (values["doctor"] if language == "zh" else error.problem)
        return {**values, "variable": error.name, "advice": advice}
    if isinstance(error, BudgetExceeded):
        return {**values, "limit": f"{error.value:g}"}
    if isinstance(error, ProviderError):
        if error.provider.startswith("model"):
            values["who"] = say("reason_parts.model", language)
        name = error.provider.replace(":", "_").upper()
        values["variable"] = _KEYS.get(error.provider, f"{name}_API_KEY")
    return values
