"""Find where a person's own documents contradict each other.

The check of claims finds what a text says wrongly, never what it leaves out: that two files name
another price for the same thing stands in no statement of a draft. A model looks for such pairs
once, over all documents that are read whole; code keeps those whose words really stand there.
"""

from collections.abc import Mapping

from pydantic import BaseModel, Field

from agent.assistants.common.gaps import ask_or_gap, run_gap
from agent.assistants.common.services import Services
from agent.assistants.common.whole_documents import WholeDocuments, document_elements
from agent.core.budget import Meter
from agent.evidence.citations import inert
from agent.evidence.language import fold
from agent.evidence.queries import clean_text
from agent.evidence.types import Gap
from agent.models.catalogue import DEFAULT_THINKING
from agent.prompts import task_prompt
from agent.state import Turn

_LEAST = 2
"""Documents that can contradict each other."""
_MOST, _WORDS = 12, 300


class Difference(BaseModel):
    """Two passages that say different things about the same matter."""

    about: str = Field(max_length=120, description="What it is about, in a few words.")
    first: str = Field(max_length=20, description="Id of the one passage.")
    first_words: str = Field(max_length=_WORDS, description="Its words, copied exactly.")
    second: str = Field(max_length=20, description="Id of the other passage.")
    second_words: str = Field(max_length=_WORDS, description="Its words, copied exactly.")


class Differences(BaseModel):
    """Where the documents say different things."""

    differences: list[Difference] = Field(default_factory=list, max_length=_MOST)


async def differences_among(
    whole: WholeDocuments,
    turn: Turn,
    services: Services,
    meter: Meter,
    *,
    model: str,
    node: str,
) -> tuple[list[str], list[Gap]]:
    """Return the differences as marked lines, and the gap of a model that failed."""
    if len(whole.read) < _LEAST:
        return [], []
    documents = document_elements(whole)
    prompt = task_prompt("own_differences", documents=documents, question=turn["question"])
    asking = services.models.ask(
        model, prompt, meter=meter, schema=Differences, thinking=DEFAULT_THINKING["query"]
    )
    reply, gaps = await ask_or_gap(
        asking,
        turn,
        node,
        lambda reason: run_gap("documents.differences_failed", turn["language"], reason=reason),
    )
    if reply is None or reply.parsed is None:
        return [], gaps
    texts = whole.texts
    found = [each for each in reply.parsed.differences if _is_there(each, texts)]
    return list(dict.fromkeys(map(_line, found))), gaps


def _is_there(found: Difference, texts: Mapping[str, str]) -> bool:
    """Return whether both words stand in their passages and differ."""
    first, second = _plain(found.first_words), _plain(found.second_words)
    return bool(
        first
        and second
        and first != second
        and first in _plain(texts.get(_id(found.first), ""))
        and second in _plain(texts.get(_id(found.second), ""))
    )


def _plain(text: str) -> str:
    return "".join(fold(text).split())


def _id(name: str) -> str:
    return name.strip().removeprefix("[^").removesuffix("]")


def _line(found: Difference) -> str:
    """Return `about: “words” [^o0-1] ≠ “words” [^o1-2]`."""
    one = f"“{inert(clean_text(found.first_words, _WORDS))}” [^{_id(found.first)}]"
    other = f"“{inert(clean_text(found.second_words, _WORDS))}” [^{_id(found.second)}]"
    return f"{inert(clean_text(found.about, 120))}: {one} ≠ {other}"
