"""What becomes of each file that is read into the knowledge base, and of all together."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, Protocol

Outcome = Literal["read", "unchanged", "same", "failed", "left_out", "gone", "removed"]
"""`same`: another file has this content; `left_out`: a type that is not read, in a folder;
`gone`: it was read once and is not there any more; `removed`: that is out of the store, too."""


@dataclass(frozen=True)
class FileResult:
    """A file; `path` is as a citation names it."""

    path: str
    outcome: Outcome
    reason: str = ""
    """Why it failed or was left out, or the file it is the same as."""
    code: str = ""
    documents: int = 0
    chunks: int = 0
    note: str = ""
    """What a reader should know of a file that was read."""


@dataclass
class Report:
    """A run of reading files in."""

    results: list[FileResult] = field(default_factory=list)
    """All but unchanged files."""
    counts: Counter[str] = field(default_factory=Counter)
    total: int = 0
    chunks: int = 0
    documents: int = 0
    seconds: float = 0.0
    stopped: bool = False
    """It was interrupted; what is left is read by the next run."""
    notes: list[str] = field(default_factory=list)

    def add(self, result: FileResult) -> None:
        self.counts[result.outcome] += 1
        self.chunks += result.chunks
        self.documents += result.documents
        if result.outcome != "unchanged":
            self.results.append(result)

    def of(self, outcome: Outcome) -> Iterator[FileResult]:
        return (result for result in self.results if result.outcome == outcome)

    @property
    def failed(self) -> list[FileResult]:
        return list(self.of("failed"))

    @property
    def done(self) -> int:
        """Files that were looked at."""
        return sum(n for outcome, n in self.counts.items() if outcome not in ("gone", "removed"))


class Tell(Protocol):
    """Who is told how it goes."""

    def began(self, total: int) -> None: ...

    def told(self, result: FileResult, report: Report) -> None: ...

    def said(self, line: str) -> None: ...


class Quiet:
    """Tells nobody."""

    def began(self, total: int) -> None: ...

    def told(self, result: FileResult, report: Report) -> None: ...

    def said(self, line: str) -> None: ...
