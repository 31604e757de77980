"""What running a model's code takes and gives."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class CodeLimits:
    """What one program may use; beyond any of these it is killed."""

    wall_seconds: float = 3.0
    cpu_seconds: float = 2.0
    memory_mb: int = 128
    """The interpreter included; a program has 16 MB beside it whatever this says."""
    output_bytes: int = 65_536
    parallel: int = 2
    """Programs that run at once; others wait."""


@dataclass(frozen=True)
class CodeResult:
    """What came of a program: what it printed, else the value of its last expression.

    `error` is one line (`ZeroDivisionError: division by zero`, `timeout`, …), empty where the
    program ended well; `output` may hold what was printed before it.
    """

    output: str
    error: str = ""
    truncated: bool = False
    """Whether more was printed than the limit lets through."""
    seconds: float = 0.0


class CodeRunner(Protocol):
    """Runs one program at a time in a process of its own; nothing is kept between two."""

    name: str
    """`process` or `monty`."""

    async def run(self, code: str) -> CodeResult:
        """Never raises for what the program does; cancelled, it kills the program."""
        ...

    async def aclose(self) -> None:
        """End whatever still runs."""
        ...
