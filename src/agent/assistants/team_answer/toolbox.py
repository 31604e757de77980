"""What `team_answer` is given: the shared toolbox, with hits and a runner of code."""

from collections.abc import Callable
from typing import Protocol

from agent.assistants.common.toolbox import Toolbox, settings_or
from agent.assistants.team_answer.state import TeamConfiguration
from agent.sandbox.programs import CodeRunner
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


settings_of = settings_or(TeamConfiguration)
"""This run's configuration; without one, this assistant's defaults."""
