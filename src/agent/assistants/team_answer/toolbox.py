"""What `team_answer` is given: the shared toolbox, with hits and a runner of code."""

from collections.abc import Callable
from typing import Protocol

from langgraph.runtime import Runtime

from agent.assistants.team_answer.state import TeamConfiguration, TeamState
from agent.budget import Meter
from agent.configuration import Configuration
from agent.nodes.toolbox import Toolbox, open_meter
from agent.sandbox.types import CodeRunner
from agent.search.types import SearchProvider, WebChoice, WebResearch


class TeamSearch(WebResearch, Protocol):
    """The search desk, as far as this assistant uses it."""

    def provider(self, choice: WebChoice = "auto", *, model: str) -> SearchProvider:
        """A service that answers with hits; raises ConfigurationError."""
        ...


class TeamToolbox(Toolbox, Protocol):
    """The services of a process."""

    @property
    def web(self) -> TeamSearch: ...

    async def code_runner(self) -> CodeRunner | None:
        """None where code cannot be run safely here; then the tool is not offered."""
        ...


TeamServices = Callable[[], TeamToolbox]


def settings_of(runtime: Runtime[Configuration]) -> Configuration:
    """This run's configuration; without one, this assistant's defaults."""
    return runtime.context or TeamConfiguration()


def meter_of(
    state: TeamState, configuration: Configuration, given: TeamToolbox, *, answering: bool = False
) -> Meter:
    """A node's share of the turn's budget."""
    spent = state.get("usage")
    return open_meter(state["turn"], configuration, given, spent=spent, answering=answering)
