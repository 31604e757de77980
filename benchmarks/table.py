"""The printed table: what was measured, what is wanted, and whether that holds."""

import sys
from dataclasses import dataclass
from typing import TextIO


@dataclass(frozen=True)
class Line:
    """One figure; `target` is the most it may be (`least`: the least), None where there is none."""

    row: str
    name: str
    value: float
    target: float | None = None
    note: str = ""
    digits: int = 3
    least: bool = False

    @property
    def holds(self) -> bool | None:
        if self.target is None:
            return None
        return self.value >= self.target if self.least else self.value <= self.target

    def text(self) -> str:
        mark = {None: " ", True: "✓", False: "✗"}[self.holds]
        bound = "≥" if self.least else "≤"
        wanted = "" if self.target is None else f"{bound} {self.target:g}"
        value = f"{self.value:.{self.digits}f}"
        return f"{mark} {self.row:<22} {self.name:<34} {value:>9}  {wanted:<8} {self.note}".rstrip()


def header() -> str:
    return f"  {'row':<22} {'figure':<34} {'measured':>9}  {'target':<8} note"


def show(lines: list[Line], out: TextIO = sys.stdout) -> None:
    """Print lines as they come."""
    for line in lines:
        print(line.text(), file=out, flush=True)
