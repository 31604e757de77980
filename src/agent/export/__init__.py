"""Export a finished answer as a file: a page, Word, Markdown, PDF, GeoJSON, GPX, BibTeX, RIS."""

from agent.core.errors import AgentError

EXPORT_FAILED = "export_failed"


def export_failed(part: str, problem: str) -> AgentError:
    """Return a fault in writing one file: the answer and its other files are none the worse."""
    return AgentError(
        "this file cannot be made of the answer; the server's log says why", code=EXPORT_FAILED
    )
