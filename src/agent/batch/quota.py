"""Whether a question got no answer because something is spent until tomorrow."""

from collections.abc import Iterable

from agent.errors import AgentError
from agent.evidence.types import Gap

SPENT = frozenset({"model_quota_day", "model_quota", "search_quota", "map_quota_day"})
"""Codes after which the next question would fail, too."""


def spent_quota(gaps: Iterable[Gap], error: AgentError | None = None) -> str | None:
    """What is spent, in words; None if nothing is."""
    if error is not None and error.code in SPENT:
        return error.message
    for gap in gaps:
        if gap["code"] in SPENT:
            said = gap["message"]
            return said if gap["provider"] in said else f"{gap['provider']}: {said}"
    return None
