"""Name what the house needs of the server that begins runs, whichever it is.

The server's own part (`agent.engines`) registers itself here when it is loaded; what checks
requests and offers routes asks `engine()` and never knows which one serves. What we write into the
metadata of threads, runs, assistants and crons there has its keys here.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import httpx
from langgraph_sdk.client import LangGraphClient

from agent.core.errors import AgentError

MARK = "tanlu_run"
"""Of a continued run: the id under which it was first accepted. Clients that go on may set it."""
OWNER = "tanlu_owner"
"""Whose key it was made with; the server's rules set it, and nobody else can."""
EVERYBODY = "*"
"""The caller of an open server, where its engine wants a name; no owner can have it."""
OF_THREAD = ("title", "asked_over")
"""Of a thread: its name in lists, and where it was begun. Runs may carry them for one made anew."""


IN_PROCESS = ("in process", 0)
"""An address of its own: wrong keys from others must not be in the way of its right one."""
_WAITS = httpx.Timeout(connect=5, read=300, write=300, pool=5)
"""As the SDK's own client; a run's stream is never silent for so long."""


class ThreadBusy(AgentError):
    """A run that its thread cannot take now."""


@dataclass(frozen=True)
class RunRequest:
    """Hold what is asked of a run, whichever shape its server has it in."""

    fields: Mapping[str, Any]
    """By the names of the API: input, command, context, config, metadata, after_seconds …"""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """The context, and the config where the server leaves it as it was sent."""
    assistant: Any = None
    """The name of a graph or the id of an assistant."""

    @property
    def command(self) -> Mapping[str, Any]:
        """Return the command; empty where there is none."""
        command = self.fields.get("command")
        return command if isinstance(command, Mapping) else {}


class Engine(Protocol):
    """Offer what differs between the servers that can begin our runs."""

    def client(self, owner: str) -> LangGraphClient:
        """Return the server's own API in this process, as far as this owner may use it.

        "" is everybody on an open server. It may be allowed more: what it reads is checked again.
        """
        ...

    @property
    def rules_its_own_calls(self) -> bool:
        """Return whether the rules are asked for what `client` begins, too."""
        ...

    @property
    def ignored_fields(self) -> Collection[str]:
        """Return what of a run's request the server takes and does nothing with."""
        ...

    def client_with(self, app: Any, headers: Mapping[str, str]) -> LangGraphClient:
        """Return the same through the door of `app`, as whoever these headers identify."""
        ...

    def calling_owner(self, headers: Mapping[str, str]) -> str | None:
        """Return for whom this process itself calls; None for a request from outside."""
        ...

    def identity(self, owner: str) -> str:
        """Return the name under which the server knows an owner."""
        ...

    def request_of(self, value: Mapping[str, Any]) -> RunRequest:
        """Read what the server shows to the rule for new runs."""
        ...

    async def admit(self, value: Any) -> None:
        """Have each step of the run kept before the next; raise ThreadBusy where it must wait."""
        ...

    def close_after_runs(self, close: Callable[[], Awaitable[None]]) -> bool:
        """Have `close` called once the last run has ended; return False where nobody will."""
        ...


def store_label(owner: str) -> str:
    """Return the label below which LangGraph's store has an owner's items.

    A label has no full stop, and a name has no colon.
    """
    return "owner:" + owner.replace(".", ":")


_engine: Engine | None = None


def use_engine(engine: Engine) -> None:
    """Name the server of this process."""
    global _engine
    _engine = engine


def engine() -> Engine:
    """Return the server of this process."""
    if _engine is None:
        raise RuntimeError("no server is loaded in this process")
    return _engine


def client_over(
    transport: httpx.AsyncBaseTransport, headers: Mapping[str, str] | None = None
) -> LangGraphClient:
    """Return a client of the server's own API over a transport in this process."""
    return LangGraphClient(
        httpx.AsyncClient(
            base_url="http://localhost", transport=transport, headers=headers, timeout=_WAITS
        )
    )
