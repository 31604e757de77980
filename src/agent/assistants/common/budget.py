"""A step's share of the budget of its turn."""

from dataclasses import dataclass

from agent.assistants.common.services import Services
from agent.configuration import Configuration
from agent.core.budget import Limits, Meter, Spending, Usage, no_usage
from agent.state import Gathered, Turn


def meter_of(
    state: Gathered, configuration: Configuration, services: Services, *, answering: bool = False
) -> Meter:
    """Open a node's share of the turn's budget, after what its state says is spent."""
    spent = state.get("usage")
    return open_meter(state["turn"], configuration, services, spent=spent, answering=answering)


def open_meter(
    turn: Turn,
    configuration: Configuration,
    services: Services,
    *,
    spent: Usage | None,
    answering: bool = False,
    map_calls: int | None = None,
) -> Meter:
    """Open this step's share of the turn's budget, also in a process that resumes the turn.

    `map_calls` is what the step may spend of the map's calls; without it, all that is left.
    """
    budget = services.budgets.of(
        turn["id"],
        limits_of(configuration),
        spent=spent,
        elapsed=max(0.0, services.now().timestamp() - turn["started_at"]),
    )
    share: dict[Spending, int] = {} if map_calls is None else {"map_calls": map_calls}
    return budget.meter(answering=answering, share=share)


def limits_of(configuration: Configuration) -> Limits:
    """Return the limits of a run; at most a minute of its time is kept back for the answer."""
    return Limits(
        max_searches=configuration.max_searches,
        max_model_calls=configuration.max_model_calls,
        max_map_calls=configuration.max_map_calls,
        max_run_tokens=configuration.max_run_tokens,
        max_run_seconds=configuration.max_run_seconds,
        answer_seconds=min(60.0, configuration.max_run_seconds / 3),
    )


@dataclass(frozen=True)
class Share:
    """Hold the model calls that must be left, and the usable parts of tokens and seconds."""

    kept_calls: int
    tokens: float
    seconds: float


def share_spent(
    share: Share, spent: Usage | None, configuration: Configuration, meter: Meter
) -> str:
    """Return the limit of which no more than `share` is left; empty while there is none."""
    usage = spent or no_usage()
    if usage["model_calls"] >= configuration.max_model_calls - share.kept_calls:
        return "max_model_calls"
    tokens = usage["input_tokens"] + usage["output_tokens"]
    if tokens >= configuration.max_run_tokens * share.tokens:
        return "max_run_tokens"
    if meter.budget.seconds() >= configuration.max_run_seconds * share.seconds:
        return "max_run_seconds"
    return ""
