"""Whether the part of a run's budget that is meant for searching and discussing is used up."""

from dataclasses import dataclass

from agent.budget import Meter, no_usage
from agent.configuration import Configuration
from agent.evidence.types import Usage


@dataclass(frozen=True)
class Share:
    """What must be left: model calls; and the parts of tokens and seconds that may be used."""

    kept_calls: int
    tokens: float
    seconds: float


def share_spent(
    share: Share, spent: Usage | None, configuration: Configuration, meter: Meter
) -> str:
    """The limit of which no more than the rest is left; empty while there is none."""
    usage = spent or no_usage()
    if usage["model_calls"] >= configuration.max_model_calls - share.kept_calls:
        return "max_model_calls"
    tokens = usage["input_tokens"] + usage["output_tokens"]
    if tokens >= configuration.max_run_tokens * share.tokens:
        return "max_run_tokens"
    if meter.budget.seconds() >= configuration.max_run_seconds * share.seconds:
        return "max_run_seconds"
    return ""
