"""What `plan_execute` is given: the shared toolbox, sources, papers, own documents, an order."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from langgraph.config import get_config
from langgraph.runtime import Runtime

from agent.assistants.common.toolbox import Toolbox, settings_or
from agent.assistants.plan_execute.state import PlanConfiguration
from agent.configuration import Configuration
from agent.core.budget import Meter
from agent.core.metadata_keys import OWNER
from agent.knowledge.types import Collected, Hit, KnownDocument, Reranker, Scope
from agent.reading.papers import Paper
from agent.search.types import WebChoice


class Library(Protocol):
    """Every source of documents by name."""

    async def search(
        self,
        name: str,
        query: str,
        *,
        meter: Meter,
        count: int | None = None,
        model: str | None = None,
        choice: WebChoice = "auto",
    ) -> Any:
        """Documents, in one of the shapes of `coerce_documents`; `model`, `choice`: the web's.

        Raises ProviderError, BudgetExceeded, ConfigurationError.
        """
        ...

    def offered(self, model: str | None = None) -> list[str]:
        """The names of the sources that are on."""
        ...

    def off(self, model: str | None = None) -> Mapping[str, str]:
        """Why each of the others is off."""
        ...


class Papers(Protocol):
    """Keeps the PDFs of papers."""

    async def get(self, url: str, *, meter: Meter) -> Paper:
        """The PDF behind a URL, kept; raises ProviderError, UnsafeUrl, BudgetExceeded."""
        ...

    def path(self, paper: Paper) -> Path:
        """Where it is kept."""
        ...


class Knowledge(Protocol):
    """Own documents and downloaded papers."""

    async def add_pdf(
        self,
        path: Path,
        *,
        title: str,
        url: str,
        collection: str,
        shared: bool,
        meter: Meter,
    ) -> KnownDocument:
        """Reads a PDF in, at most once; raises AgentError where it cannot be read."""
        ...

    async def search(self, query: str, scope: Scope, *, limit: int = 20, meter: Meter) -> list[Hit]:
        """The passages that bear on the query, best first."""
        ...

    async def headings(self, scope: Scope, *, limit: int = 200) -> list[str]: ...

    async def collections(self, owner: str = "") -> list[Collected]: ...


class PlanToolbox(Toolbox, Protocol):
    """The services of a process."""

    @property
    def library(self) -> Library: ...

    @property
    def papers(self) -> Papers: ...

    @property
    def knowledge(self) -> Knowledge: ...

    @property
    def reranker(self) -> Reranker: ...


PlanServices = Callable[[], PlanToolbox]


settings_of = settings_or(PlanConfiguration)
"""This run's configuration; without one, this assistant's defaults."""


def owner_of(runtime: Runtime[Configuration]) -> str:
    """Whose documents may be read: the server's user, or whoever runs the command line."""
    user = runtime.server_info.user if runtime.server_info else None
    if user is not None:
        return str(user.identity)
    config = get_config()
    # A server hands a user it has stored on as plain data, beside the name alone.
    stored = (config.get("configurable") or {}).get("langgraph_auth_user_id")
    # Nobody asked for a run that is continued; the server notes on it whose it was.
    return str((config.get("metadata") or {}).get(OWNER) or "" if stored is None else stored)
