"""The collections that downloaded papers go into; sample papers never among real ones."""

from collections.abc import Iterable

PAPERS, SAMPLE_PAPERS = "papers", "sample-papers"


def papers_of(mode: str) -> str:
    """Where this mode's papers go."""
    return SAMPLE_PAPERS if mode == "offline" else PAPERS


def read_by_default(names: Iterable[str], mode: str) -> list[str]:
    """All but, online, what came from the sample."""
    return [name for name in names if name != SAMPLE_PAPERS or mode == "offline"]
