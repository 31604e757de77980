"""Cut texts into sentences, and rank them by a question."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from agent.core.strings import one_line
from agent.evidence.citations import ID, MARKER
from agent.evidence.vocabulary import activity_keywords
from agent.knowledge.ranking import Bm25, best_first
from agent.knowledge.terms import query_terms
from agent.texts import Language, detect_language

T = TypeVar("T")
_MARKER = re.compile(rf"(?<!\s)\s*+{MARKER.pattern}")
_SENTENCE = re.compile(
    rf"(.+?(?:[。！？!?]+[”」』）)\"]*|(?<!\b[A-Z])\.(?=\s+[^a-z\s]|\[\^|\s*$)|$))"
    rf"((?:\s*\[\^{ID}\])*)\s*"
)
_LIST_SIGN = re.compile(r"^\s*(?:[-*•#>]+|\d+[.、)])\s+")
_IN_NAME = re.compile(r"\b(?:[A-Z]\w+ ){2,}(?=[A-Z])")
_SHARE_OF_BEST = 0.2

short = partial(one_line, longest=61)
"""Return a text for a sentence of ours, cut where it is long."""


@dataclass(frozen=True)
class Sentence:
    """Hold a sentence with its markers; `title` and `kind` are its source's."""

    text: str
    title: str = ""
    kind: str = ""

    @property
    def bare(self) -> str:
        return _MARKER.sub("", self.text).strip()

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(MARKER.findall(self.text)))


def sentences(text: str, title: str = "") -> list[Sentence]:
    """Return the sentences of a text with the markers that follow each, without list signs."""
    result = [
        Sentence(match[0].strip(), title)
        for line in re.sub(r"(?:…|\.{3})\s*", "\n", text).splitlines()
        for match in _SENTENCE.finditer(_LIST_SIGN.sub("", line).strip())
    ]
    return [sentence for sentence in result if len(sentence.bare) > 1]


def distinct(candidates: Iterable[Sentence]) -> list[Sentence]:
    """Return the sentences in order, near-copies of earlier ones left out."""
    result: dict[frozenset[str], Sentence] = {}
    for sentence in candidates:
        own = frozenset(query_terms(sentence.bare))
        if not any(len(own & other) >= 0.8 * max(len(own), 1) for other in result):
            result[own] = sentence
    return list(result.values())


def best(items: Iterable[T], query: str, text_of: Callable[[T], str], most: int) -> list[T]:
    """Return the items that bear most on the query by BM25; a name's word is no common one."""
    rows, words, other = list(items), _with_map_words, _IN_NAME if query.islower() else _MARKER
    texts = [words(other.sub("", text_of(row))) for row in rows]
    scores = best_first(Bm25(texts).scores(words(query)))[:most]
    return [rows[at] for at, score in scores if score > scores[0][1] * _SHARE_OF_BEST]


def _with_map_words(text: str) -> str:
    """Return a text with what the map would look for: 遛娃 and "with kids" are then one word."""
    return " ".join([text, *activity_keywords(text, "zh"), *activity_keywords(text, "en")])


def rank(
    candidates: Iterable[Sentence], query: str, most: int = 100, *, titles: bool = True
) -> list[Sentence]:
    """Return the distinct sentences that bear on a query, best first; titles count as well."""
    return best(
        distinct(candidates), query, lambda s: f"{s.title} {s.bare}" if titles else s.bare, most
    )


def quote(candidates: Iterable[Sentence], query: str, most: int) -> list[Sentence]:
    """Return the best sentences of a text, in the order in which they stand there."""
    whole = distinct(candidates)
    chosen = rank(whole, query, most)
    return [sentence for sentence in whole if sentence in chosen]


def in_language(candidates: list[Sentence], language: Language) -> list[Sentence]:
    """Return the sentences in a language; all of them where none is."""
    return [s for s in candidates if detect_language(s.bare) == language] or candidates


def join_sentences(sentences: Iterable[Sentence], language: Language) -> str:
    return ("" if language == "zh" else " ").join(sentence.text for sentence in sentences)
