"""Define the input of every export: one finished answer."""

from dataclasses import dataclass, field
from typing import Any

from agent.evidence.types import Place, Source
from agent.texts.language import Language


@dataclass(frozen=True)
class FinishedAnswer:
    """Hold a finished answer; `answer` is Markdown with citations `[n](url)` and gaps."""

    question: str
    answer: str
    language: Language
    generated_at: str
    """ISO 8601, UTC."""
    sources: list[Source] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)
    notice: str = ""
    """Printed first where the answer rests on sample data."""
    search_entry_points: list[str] = field(default_factory=list)
    """Google's search suggestions (HTML), shown unmodified and fenced off."""
    geojson: dict[str, Any] | None = None


def by_mention(places: list[Place]) -> list[Place]:
    """Return those the answer names first; otherwise in the order they were found."""
    return sorted(places, key=lambda place: not place["mentioned"])


def without_notice(answer: str, notice: str) -> str:
    """Return the answer without the quoted notice that it begins with."""
    return answer.removeprefix(f"> {notice}").lstrip("\n") if notice else answer


def without_title(answer: str, question: str) -> str:
    """Return the answer without a first heading that only repeats the question."""
    first, _, rest = answer.partition("\n")
    heading, words = (text.rstrip("?？。.!！ ").split() for text in (first[2:], question))
    repeats = first.startswith("# ") and heading == words
    return rest.lstrip("\n") if repeats else answer
