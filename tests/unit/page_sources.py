"""Sources for the tests of citations."""

from agent.evidence.types import Source


def source(name: str, url: str | None = None, title: str = "T") -> Source:
    """A page of Google's; its address follows its id unless one is given."""
    return Source(
        id=name,
        kind="page",
        title=title,
        url=f"https://e.example/{name}" if url is None else url,
        provider="google",
        quotes=[],
    )
