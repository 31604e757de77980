"""Choose what is quoted of the sources where no model has written: what answers the question."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from agent.core.strings import letters_of
from agent.evidence.citations import inert
from agent.evidence.language import SENTENCE_END
from agent.evidence.quotes import marked_stretches, quoted_item
from agent.knowledge.ranking import Bm25
from agent.texts import Language, is_written_in

_BEFORE = " \t#>*•-。！？.!?,，;；"
_MOST, _EACH = 5, 2
"""Sources that are quoted, and sentences of each."""
_LONGEST, _READ = 300, 200
"""Characters of a sentence, and sentences of a source that are looked at."""


def sentences_by_id(marked: Iterable[str]) -> dict[str, list[str]]:
    """Return the sentences that each id of marked texts stands behind, as far back as the last."""
    sentences: dict[str, list[str]] = {}
    for text in marked:
        for stretch, names in marked_stretches(text):
            for name in names:
                sentences.setdefault(name, []).extend(sentences_of(stretch))
    return sentences


def sentences_of(text: str) -> list[str]:
    """Return the sentences of a text that say something, without the marks of a list."""
    parts = (part.lstrip(_BEFORE).strip() for part in SENTENCE_END.split(text))
    return [part for part in parts if any(map(str.isalpha, part))]


@dataclass(frozen=True)
class _Sentence:
    source: str
    text: str
    at: int
    is_readable: bool
    """In the question's language."""
    score: float

    @property
    def rank(self) -> tuple[bool, bool, float, int]:
        return not (self.score and self.is_readable), not self.score, -self.score, self.at


def excerpt_lines(
    sentences: Mapping[str, Sequence[str]],
    question: str,
    language: Language,
    *,
    seen: set[str] | None = None,
) -> list[str]:
    """Return a marked line a source, the best first: its sentences nearest to the question.

    Those in the question's language come before others. None stands there twice, nor of those
    `seen` by an earlier call. What shares no word with the question is quoted only where nothing
    does.
    """
    seen = set() if seen is None else seen
    every = list(chain.from_iterable([(n, s) for s in own[:_READ]] for n, own in sentences.items()))
    scores = Bm25([text for _, text in every]).scores(question)
    rows = [
        _Sentence(name, text, at, is_written_in(text, language), score)
        for at, ((name, text), score) in enumerate(zip(every, scores, strict=True))
    ]
    bearing = [row for row in rows if row.score] or rows
    chosen: dict[str, list[_Sentence]] = {}
    for row in sorted(bearing, key=lambda row: row.rank):
        own = chosen.get(row.source, [])
        key = letters_of(row.text)
        if key in seen or len(own) == _EACH or (not own and len(chosen) == _MOST):
            continue
        seen.add(key)
        chosen.setdefault(row.source, []).append(row)
    return [_line(name, own, language) for name, own in chosen.items()]


def _line(name: str, own: Iterable[_Sentence], language: Language) -> str:
    texts = [_cut(row.text) for row in sorted(own, key=lambda row: row.at)]
    return quoted_item(("" if language == "zh" else " ").join(texts), name)


def _cut(sentence: str) -> str:
    text = inert(sentence)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST].rstrip()}…"
