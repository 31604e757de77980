"""Reads a file of questions: JSON lines or CSV, in the shapes of the common benchmarks."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Question:
    id: str
    """The file's own id, else the first 16 digits of the SHA-1 of the text."""
    text: str
    line: int
    """Where the row begins in the file, from 1."""
    format_requirement: str | None = None
    expected: str | None = None
    """None: not given. "": known to have no answer."""
    level: str | None = None
    needs_file: bool = False


@dataclass(frozen=True)
class BadLine:
    line: int
    problem: str


def read_questions(path: Path, *, decrypt: bool = False) -> tuple[list[Question], list[BadLine]]:
    """Every usable question in the file's order, and every line that is not one.

    Raises InputError("QUESTIONS", …) where the file as a whole cannot be used.
    """
    raise NotImplementedError
