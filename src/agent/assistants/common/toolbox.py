"""Whether the part of a run's budget that is meant for searching and discussing is used up."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from agent.configuration import Configuration
from agent.core.budget import Budgets, Limits, Meter, Usage, no_usage
from agent.mcp.types import Maps
from agent.models.types import Models
from agent.search.types import WebResearch
from agent.state import Turn
from agent.texts.language import Language


class Links(Protocol):
    async def __call__(self, urls: list[str]) -> dict[str, str]:
        """Where redirect links lead; those that cannot be resolved are left out."""
        ...


class Toolbox(Protocol):
    """The services of a process, as far as nodes use them."""

    @property
    def models(self) -> Models: ...

    @property
    def web(self) -> WebResearch: ...

    @property
    def maps(self) -> Maps: ...

    @property
    def links(self) -> Links: ...

    async def close_turn(self, turn_id: str) -> None:
        """The turn is over: its account and its journal can go."""
        ...

    @property
    def budgets(self) -> Budgets: ...

    @property
    def mode(self) -> str: ...

    def notice(self, language: Language) -> str:
        """What the user must know first (sample data), or nothing."""
        ...

    def billed(self, usage: Usage) -> Usage:
        """The usage with what it costs the operator: nothing where the services are a sample."""
        ...

    def now(self) -> datetime:
        """The present, with its time zone."""
        ...


Services = Callable[[], Toolbox]
"""Asked for at the first call, so that building a graph reads no setting."""


class Accounted(TypedDict, total=False):
    """What the states of all assistants have, as far as the turn's account needs it."""

    turn: Turn
    usage: Usage


def settings_or(default: type[Configuration]) -> Callable[[Runtime[Configuration]], Configuration]:
    """How a node gets its run's configuration; a run without one has an assistant's defaults."""

    def settings_of(runtime: Runtime[Configuration]) -> Configuration:
        return runtime.context or default()

    return settings_of


def meter_of(
    state: Accounted, configuration: Configuration, services: Toolbox, *, answering: bool = False
) -> Meter:
    """A node's share of the turn's budget, after what its state says is spent."""
    spent = state.get("usage")
    return open_meter(state["turn"], configuration, services, spent=spent, answering=answering)


def open_meter(
    turn: Turn,
    configuration: Configuration,
    services: Toolbox,
    *,
    spent: Usage | None,
    answering: bool = False,
) -> Meter:
    """This step's share of the turn's budget, also in a process that resumes the turn."""
    budget = services.budgets.of(
        turn["id"],
        limits_of(configuration),
        spent=spent,
        elapsed=max(0.0, services.now().timestamp() - turn["started_at"]),
    )
    return budget.meter(answering=answering)


def limits_of(configuration: Configuration) -> Limits:
    """The limits of a run; at most a minute of its time is kept back for the answer."""
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
