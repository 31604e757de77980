"""Find where a person's own documents contradict each other, and which limits they set.

The check of claims finds what a text says wrongly, never what it leaves out: that two files name
another price for the same thing stands in no statement of a draft, nor that the crane bears just
what is to be lifted. A model looks for both once, over all documents that are read whole; code
keeps those whose words really stand there.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field

from agent.assistants.common.draft import Draft
from agent.assistants.common.gaps import parsed_or_gap
from agent.assistants.common.services import Services
from agent.assistants.common.whole_documents import WholeDocuments, document_elements
from agent.core.budget import Meter
from agent.evidence.citations import MARKER, id_meant, inert
from agent.evidence.figures import figures, same
from agent.evidence.numbering import source_key
from agent.evidence.queries import clean_text
from agent.evidence.quotes import as_it_says
from agent.evidence.records import with_weekday
from agent.evidence.types import Gap
from agent.prompts import task_prompt
from agent.state import Turn
from agent.texts import say

_LEAST = 2
"""Documents that can contradict each other."""
_DIFFERS = " ≠ "
_MOST, _WORDS, _ABOUT, _ID = 12, 300, 200, 20


def _at_most(most: int) -> BeforeValidator:
    """Cut what is longer than asked for: one line too many must not lose all the others."""

    def cut(value: Any) -> Any:
        return value[:most] if isinstance(value, str | list) else value

    return BeforeValidator(cut)


_About = Annotated[str, _at_most(_ABOUT), Field(max_length=_ABOUT)]
_Id = Annotated[str, _at_most(_ID), Field(max_length=_ID)]
_Words = Annotated[str, _at_most(_WORDS), Field(max_length=_WORDS)]


class Difference(BaseModel):
    """Two passages that say different things about the same matter."""

    about: _About = Field(description="What it is about, in a few words.")
    first: _Id = Field(description="Id of the one passage.")
    first_words: _Words = Field(description="Its words, copied exactly.")
    second: _Id = Field(description="Id of the other passage.")
    second_words: _Words = Field(description="Its words, copied exactly.")


class FileLimit(BaseModel):
    """A passage that rules out, or nearly, what the question might be answered by."""

    about: _About = Field(description="What it means for which choice, in figures.")
    id: _Id = Field(description="Id of the passage.")
    words: _Words = Field(description="Its words, copied exactly.")


class Differences(BaseModel):
    """Where the documents say different things, and the limits that bear on the choices."""

    differences: Annotated[list[Difference], _at_most(_MOST), Field(max_length=_MOST)] = []
    limits: Annotated[list[FileLimit], _at_most(_MOST), Field(max_length=_MOST)] = []


async def differences_among(
    whole: WholeDocuments,
    turn: Turn,
    services: Services,
    meter: Meter,
    *,
    model: str,
    node: str,
) -> tuple[list[str], list[Gap]]:
    """Return differences, then limits, as marked lines, and the gap of a model that failed."""
    if len(whole.read) < _LEAST:
        return [], []
    documents, today = document_elements(whole), with_weekday(turn["today"], "en")
    prompt = task_prompt(
        "own_differences", documents=documents, today=today, question=turn["question"]
    )
    found, gaps = await parsed_or_gap(
        services.models, model, prompt, Differences,
        meter=meter, turn=turn, part=node, failed="documents.differences_failed",
    )  # fmt: skip
    if found is None:
        return [], gaps
    texts = whole.texts
    rows: list[Difference | FileLimit] = [*found.differences, *found.limits]
    return list(dict.fromkeys(filter(None, (_line(row, texts) for row in rows)))), gaps


def _line(found: Difference | FileLimit, texts: Mapping[str, str]) -> str:
    """Return `about: “words” [^o0-1] ≠ “words” [^o1-2]`; empty where a passage has no such words.

    Of a limit there is one side.
    """
    sides = [(found.words, found.id)] if isinstance(found, FileLimit) else [
        (found.first_words, found.first), (found.second_words, found.second)
    ]  # fmt: skip
    named = [(words, id_meant(name, texts)) for words, name in sides]
    told = [(as_it_says(words, texts.get(name, "")), name) for words, name in named]
    if not all(words for words, _ in told) or len({words for words, _ in told}) < len(told):
        return ""
    quotes = (f"“{inert(clean_text(words, _WORDS))}” [^{name}]" for words, name in told)
    return f"{inert(clean_text(found.about, _ABOUT))}: {_DIFFERS.join(quotes)}"


def untold(lines: Iterable[str], text: str, cited: Container[str]) -> list[str]:
    """Return the differences of which a text does not tell both sides.

    A side is told by a figure that the other has not; one without such by its citation: `cited`
    are ids.
    """
    told = figures(text)

    def tells(words: str, other: str, name: str) -> bool:
        others = figures(other)
        own = [one for one in figures(words) if not any(same(one, each) for each in others)]
        return any(same(one, each) for one in own for each in told) if own else name in cited

    found = list[str]()
    for line in lines:
        sides = line[max(0, line.find("“")) :].split(_DIFFERS)
        names = MARKER.findall(line)
        if len(sides) == len(names) == _LEAST:
            words = [MARKER.sub("", side) for side in sides]
            pairs = zip(words, reversed(words), names, strict=True)
            if not all(tells(*each) for each in pairs):
                found.append(line)
    return found


def untold_section(draft: Draft, lines: Sequence[str]) -> str:
    """Return what a text leaves out of the differences, but of those that a revision has settled.

    A check finds what is said wrongly; what is left out is told by code.
    """
    used = {source_key(source) for source in draft.citer.used}
    cited = {name for name, source in draft.sources.items() if source_key(source) in used}
    left = [line for line in untold(lines, draft.body, cited) if line not in draft.passed_over]
    if not left:
        return ""
    listed = "\n".join(f"- {line}" for line in left)
    return draft.by_code(draft.cited(f"{say('documents.untold', draft.language)}\n\n{listed}"))
