"""Read a request's tagged sources as sentences, and rank them by a question."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from agent.core.strings import one_line
from agent.evidence.citations import ID, MARKER
from agent.evidence.places import activity_keywords
from agent.knowledge.ranking import Bm25, best_first
from agent.knowledge.terms import query_terms
from agent.sample.model.request import Turn
from agent.sample.model.subject import Subject
from agent.texts import Language, detect_language

T = TypeVar("T")
_MARKER = re.compile(rf"\s*{MARKER.pattern}")
_SENTENCE = re.compile(
    rf"(.+?(?:[。！？!?]+[”」』）)\"]*|(?<!\b[A-Z])\.(?=\s+[^a-z\s]|\[\^|\s*$)|$))"
    rf"((?:\s*\[\^{ID}\])*)\s*"
)
_MARKED = re.compile(rf"^\s*{MARKER.pattern}\s*(.+?)\s*$", re.MULTILINE)
_DOCUMENT = re.compile(
    r"(?:[(（](?P<kind>[^()（）,，]*)[^()（）]*[)）]\s*)?(?P<title>.*?)(?: — (?P<text>.*))?"
)
_PAGE = r"(?:, p\. \d+|，第 \d+ 页)"
_PASSAGE = re.compile(rf"(?P<title>.*?(?={_PAGE})|[^:›]*?){_PAGE}?(?: › [^:]*)?: (?P<text>.*)")
_ATTRIBUTE = re.compile(r'(\w+)=["”]([^"”]*)["”]')
_LIST_SIGN = re.compile(r"^\s*(?:[-*•#>]+|\d+[.、)])\s+")
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


@dataclass(frozen=True)
class Record:
    """Hold one line of places, routes or weather: its id, and its fields."""

    id: str
    fields: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.fields[0]

    def shown(self, most: int = 6) -> str:
        """Return the name and the facts as listed, then the marker."""
        facts = " · ".join(self.fields[1:most])
        return f"{self.name}{' — ' if facts else ''}{facts} [^{self.id}]"


@dataclass(frozen=True)
class Source:
    """Hold a listed source: a result, a page, a document or a passage."""

    id: str
    title: str
    text: str
    kind: str = ""
    url: str = ""

    def sentences(self) -> list[Sentence]:
        """Return its sentences, each with its marker."""
        own = sentences(self.text)
        return [Sentence(f"{s.bare}[^{self.id}]", self.title, self.kind) for s in own]


def task_of(turn: Turn) -> str:
    """Return the name in `<task>`, with which every system prompt begins; "" where it is not."""
    return block(turn.system, "task")


def language_of(turn: Turn) -> Language:
    return "en" if block(turn.system, "language") == "en" else "zh"


def block(text: str, tag: str) -> str:
    """Return the text between `<tag>` and `</tag>`; "" where the block is missing."""
    match = re.search(rf"<{tag}>\n?(.*?)\n?</{tag}>", text, re.DOTALL)
    return match[1].strip() if match else ""


def lines(text: str, tag: str) -> list[str]:
    return [line.strip() for line in block(text, tag).splitlines() if line.strip()]


def number(text: str, tag: str, default: int) -> int:
    match = re.search(r"\d+", block(text, tag))
    return int(match[0]) if match else default


def elements(text: str, tag: str) -> list[tuple[dict[str, str], str]]:
    """Return the attributes and content of each `<tag …>`, fenced as foreign text or not."""
    matches = re.findall(rf"[<‹]{tag}\s([^<>‹›]*)[>›]\n?(.*?)[<‹]/{tag}[>›]", text, re.DOTALL)
    return [(dict(_ATTRIBUTE.findall(attributes)), body.strip()) for attributes, body in matches]


def records(text: str) -> list[Record]:
    """Return the marked lines of a text, their fields split at ` | `."""
    return [Record(name, tuple(line.split(" | "))) for name, line in _MARKED.findall(text)]


def sources(text: str, subject: Subject | None = None) -> list[Source]:
    """Return the sources a text lists, results and pages first; only those on the subject."""
    rows: list[Source] = []
    for row, body in (*elements(text, "result"), *elements(text, "page")):
        first, _, rest = body.partition("\n")
        title, own = (row["title"], body) if "title" in row else (first, rest or body)
        rows.append(Source(row.get("id", ""), title, own, url=row.get("url", "")))
    passages = block(text, "passages")
    for part, pattern in ((text.replace(passages, ""), _DOCUMENT), (passages, _PASSAGE)):
        matches = [(name, pattern.fullmatch(line)) for name, line in _MARKED.findall(part)]
        rows += [Source(name, **match.groupdict("")) for name, match in matches if match]
    return [s for s in rows if not subject or subject.is_named_in(f"{s.title} {s.text}")]


def quotable(text: str, subject: Subject) -> list[Sentence]:
    """Return the sentences of the listed sources on a subject, each with its marker."""
    return [s for source in sources(text, subject) for s in source.sentences() if s.ids]


def sentences(text: str, title: str = "") -> list[Sentence]:
    """Return the sentences of a text with the markers that follow each, without list signs."""
    result = [
        Sentence(match[0].strip(), title)
        for line in re.sub(r"\s*(?:…|\.{3})\s*", "\n", text).splitlines()
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
    """Return the items that bear most on the query by BM25; none without a shared word."""
    rows, words = list(items), _with_map_words
    scores = best_first(Bm25([words(text_of(row)) for row in rows]).scores(words(query)))[:most]
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
