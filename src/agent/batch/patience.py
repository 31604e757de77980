"""How long a server is waited for, and what a question has waited already.

Nothing a server does, forgets or leaves undone may keep a question for ever: every second is
counted as its work, as time in its queue, or as its absence, and each of them has a limit.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from agent.errors import AgentError

Waiting = Literal["work", "queue", "away"]

MARGIN_SECONDS = 120.0
"""Beyond a run's own `max_run_seconds`: its last call, its checkpoints, a slow machine."""
MOST_RETURNS = 3
"""Times a server may come back, each of which gives a question its time again."""
MOST_RUNS = 3
"""Runs begun for one question on a server that is never away."""


@dataclass(frozen=True)
class Patience:
    """Limits of waiting, in seconds."""

    run: float = 300.0
    """`max_run_seconds` of the assistant, as this batch sets it or the server's schema has it."""
    margin: float = MARGIN_SECONDS
    reply: float = 60.0
    """For one request."""
    join: float = 20.0
    """Then run and thread are looked at anew: a restarted server may not know the run any more."""
    recovery: float = 3.0
    """For a server that restarted to take up by itself what it had in work."""
    away: float = 600.0
    """How long a server may be away before the batch ends; it goes on when started again."""
    pauses: tuple[float, float] = (0.5, 5.0)
    """Between two attempts to reach a server: the first, the longest."""

    @property
    def whole(self) -> float:
        """For a run from its beginning to its end."""
        return self.run + self.margin


def max_run_seconds(context: Mapping[str, Any], schema: Mapping[str, Any]) -> float:
    """The limit of a run: what the batch sets, else the default of the assistant's schema."""
    rule = (schema.get("properties") or {}).get("max_run_seconds") or {}
    return float(context.get("max_run_seconds") or rule.get("default") or Patience.run)


class Pulse:
    """Whether the server works on anything of this batch; shared by its questions."""

    def __init__(self) -> None:
        self.beats = 0

    def beat(self) -> None:
        """A run was seen at work, or ended."""
        self.beats += 1


@dataclass
class Waited:
    """What one question has waited; call `spent` after every wait, saying for what it was."""

    patience: Patience
    pulse: Pulse
    clock: Callable[[], float] = time.monotonic
    returns: int = 0
    """Times the server came back after it had been away."""
    begun: int = 0
    """Runs begun for the question by this process."""
    _seconds: dict[Waiting, float] = field(
        default_factory=lambda: {"work": 0.0, "queue": 0.0, "away": 0.0}
    )

    def __post_init__(self) -> None:
        self._mark, self._beats, self._away = self.clock(), self.pulse.beats, False

    def spent(self, waiting: Waiting) -> None:
        """Count the time since the last call."""
        now = self.clock()
        self._seconds[waiting] += now - self._mark
        self._mark = now
        if waiting == "away":
            self._away = True
        elif self._away:
            self._away, self.returns = False, self.returns + 1
            if self.returns <= MOST_RETURNS:
                self._seconds["away"] = 0.0
        if self.pulse.beats != self._beats:
            # The server is at work on our other questions: this one has its place in the queue.
            self._beats, self._seconds["queue"] = self.pulse.beats, 0.0

    @property
    def gone(self) -> bool:
        """Whether the server is away for too long."""
        return self._seconds["away"] > self.patience.away

    def exhausted(self) -> AgentError | None:
        """Why the question is given up, or None."""
        limit = self.patience.whole * (1 + min(self.returns, MOST_RETURNS))
        if self._seconds["work"] > limit:
            return AgentError(
                f"the server did not bring the run to its end within {limit:.0f} s; if runs may"
                " take longer there, say so with --set max_run_seconds"
            )
        if self._seconds["queue"] > self.patience.whole:
            return AgentError(
                f"the server began no run of this batch for {self.patience.whole:.0f} s"
            )
        return None

    def lost_too_often(self) -> AgentError | None:
        """Why no further run is begun, or None; a server that came back may have lost some."""
        if self.begun < MOST_RUNS + 2 * min(self.returns, MOST_RETURNS):
            return None
        return AgentError(f"the server lost the run, or left it unfinished, {self.begun} times")
