"""Tell whoever listens what runs do: their steps, outside calls, costs and ends.

Nobody listens by default. A listener is called at once, on the thread and in the context of what it
hears of, so it must be quick; one that raises has only missed an event.
"""

import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from agent.core.faults import or_else

CANCELLED = "cancelled"
RunStatus = Literal["success", "paused", "cancelled", "error"]


@dataclass
class NodeStep:
    """Hold one execution of a node: for whom, and in which run and turn."""

    assistant: str
    node: str
    owner: str = ""
    """Whose key the run was asked with; empty where no keys are used."""
    thread_id: str = ""
    run_id: str = ""
    turn_id: str = ""
    """Empty in the node that opens the turn, until it has."""
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    began_at: float = field(default_factory=time.time)
    """Seconds since 1970."""


STEP: ContextVar[NodeStep | None] = ContextVar("step", default=None)
"""The step that the present code works for; None outside of runs."""


def owner_of_step() -> str:
    """Return whose share the present code takes: a key's owner's, or without keys its turn's."""
    step = STEP.get()
    return (step.owner or step.turn_id or step.thread_id) if step else ""


@dataclass
class Tokens:
    """Count what one model call used; filled in by who reads the reply."""

    input: int = 0
    output: int = 0
    served_by: str = ""

    def add(self, spent: Any) -> None:
        """Add those of a Response or Piece."""
        self.input += spent.input_tokens
        self.output += spent.output_tokens
        self.served_by = spent.served_by or self.served_by


@dataclass(frozen=True)
class Exchange:
    """Hold one outside call that has ended: what was sent, and the reply or the problem."""

    provider: str
    request: Any
    """JSON-like; of a model its `messages`, `tools` and `schema`."""
    reply: str = ""
    problem: str = ""
    seconds: float = 0.0
    code: str = ""
    """The error's, where there was one."""
    reused: bool = False
    """Paid for before a crash, and not sent again."""
    retried: Sequence[str] = ()
    """Codes of the attempts that failed before."""
    turn_id: str = ""
    tokens: Tokens = field(default_factory=Tokens)


@dataclass(frozen=True)
class Cost:
    """Hold what one call is charged with, by what is charged: a model, or a service's name."""

    model: str
    usd: float | None
    """None where the price is not known."""


@dataclass(frozen=True)
class StepEnd:
    """Hold a step that has ended."""

    step: NodeStep
    code: str = ""
    """The error's code or class; empty where there was none."""


@dataclass(frozen=True)
class RunEnd:
    """Hold the end of a run, or its pause."""

    step: NodeStep
    """The last one."""
    status: RunStatus
    seconds: float = 0.0
    """Since the question was asked."""
    gaps: Sequence[str] = ()
    """Codes of what failed on the way."""
    claims: Mapping[str, int] = field(default_factory=dict)
    """Sentences of the answer by the verdict of the check."""


Event = Exchange | Cost | StepEnd | RunEnd
Listener = Callable[[Event], None]
_listeners: list[Listener] = []


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Have the listener told of everything in this process while the context lasts."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def tell_listeners(event: Event) -> None:
    """Pass an event on to those that listen."""
    for listener in list(_listeners):
        or_else("telemetry", partial(listener, event), lambda: None)


def code_of(error: BaseException) -> str:
    """Return the stable word for an error: its code, else the name of its class."""
    return str(getattr(error, "code", "") or type(error).__name__)


_REMEMBERED = 1000
_ended: OrderedDict[str, None] = OrderedDict()


def tell_end(end: RunEnd) -> None:
    """Tell the end of a run once: what fails in one branch is cancelled in the others."""
    key = end.step.run_id
    if key and key in _ended:
        return
    if key and end.status != "paused":
        _ended[key] = None
        while len(_ended) > _REMEMBERED:
            _ended.popitem(last=False)
    tell_listeners(end)
