"""Cut texts into sentences, and find those nearest to a question by their words alone."""

from collections.abc import Iterable
from dataclasses import dataclass

from agent.core.strings import one_line
from agent.evidence.citations import MARKER
from agent.evidence.language import sentence_spans
from agent.knowledge.ranking import Bm25, best_first
from agent.knowledge.terms import query_terms, terms

_SHARE = 0.5
_ASKING = frozenset(terms("work mean happen explain 原理 怎么 工作 作的"))
"""Words that only ask, besides those that every question is searched without."""


def short(text: str) -> str:
    """Return a question as it stands within a sentence of ours, cut where it is long."""
    return one_line(text.rstrip(" ?？!！.。"), longest=61)


@dataclass(frozen=True)
class Sentence:
    """Hold a sentence, and the id and the title of the source it stands in."""

    text: str
    id: str = ""
    title: str = ""


def sentences(text: str, id: str = "", title: str = "") -> list[Sentence]:
    """Return the sentences of a text without its markers."""
    plain = MARKER.sub("", text.replace("…", "\n"))
    return [Sentence(plain[start:end], id, title) for start, end in sentence_spans(plain)]


def ranked(rows: Iterable[Sentence], query: str) -> list[Sentence]:
    """Return the sentences that share a word with a query, best first."""
    own = list(dict.fromkeys(rows))
    scores = best_first(Bm25([row.text for row in own]).scores(query))
    return [own[at] for at, score in scores if score > 0]


def nearest(rows: Iterable[Sentence], query: str, most: int) -> list[Sentence]:
    """Return the sentences that share words with a query beyond the name of their subject.

    Best first. A word of the query that stands in a source's title tells the source, not the
    sentence: of a page on West Lake, "rain" must stand in the sentence itself.
    """
    return [row for row in ranked(rows, query) if _is_near(row, query)][:most]


def _is_near(row: Sentence, query: str) -> bool:
    told, wanted = set(terms(row.title)), query_terms(query)
    rest = [term for term in wanted if term not in told and term not in _ASKING] or wanted
    have = set(terms(row.text))
    return sum(term in have for term in rest) >= _SHARE * len(rest)
