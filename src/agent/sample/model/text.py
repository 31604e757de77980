"""Read texts as tagged records and marked sentences, and rank them by a question."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from agent.evidence.citations import ID, MARKER
from agent.evidence.places import activity_keywords
from agent.knowledge.ranking import Bm25
from agent.knowledge.terms import query_terms
from agent.sample.model.request import Turn
from agent.sample.model.subject import Subject
from agent.texts.language import Language, detect_language

T = TypeVar("T")
_TASK = re.compile(r"<task>\s*(\w+)\s*</task>")
_LANGUAGE = re.compile(r"<language>\s*(zh|en)\s*</language>")
_MARKER = re.compile(rf"\s*{MARKER.pattern}")
_SENTENCE = re.compile(
    rf"(.+?(?:[。！？!?]+[”」』）)\"]*|(?<!\b[A-Z])\.(?=\s+[^a-z\s]|\[\^|\s*$)|$))"
    rf"((?:\s*\[\^{ID}\])*)\s*"
)
_LINE = re.compile(rf"^{MARKER.pattern}\s*(.+)$")
_ELEMENT = r"[<‹]{tag}\s([^<>‹›]*)[>›]\n?(.*?)[<‹]/{tag}[>›]"
_ATTRIBUTE = re.compile(r'(\w+)=["”]([^"”]*)["”]')
_LIST_SIGN = re.compile(r"^\s*(?:[-*•#>]+|\d+[.、)])\s+")
_SHARE_OF_BEST = 0.2
_LONGEST = 60


@dataclass(frozen=True)
class Sentence:
    """Hold a sentence as it stands, with its markers; `title` is what its source is called."""

    text: str
    title: str = ""

    @property
    def bare(self) -> str:
        return _MARKER.sub("", self.text).strip()

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(MARKER.findall(self.text)))

    def marked(self, name: str) -> "Sentence":
        return Sentence(f"{self.bare}[^{name}]", self.title)


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


def task_of(turn: Turn) -> str:
    """Return the name in `<task>`, with which every system prompt begins.

    "" where there is none.
    """
    match = _TASK.search(turn.system)
    return match[1] if match else ""


def language_of(turn: Turn) -> Language:
    match = _LANGUAGE.search(turn.system)
    return "en" if match and match[1] == "en" else "zh"


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
    matches = re.findall(_ELEMENT.replace("{tag}", tag), text, re.DOTALL)
    return [(dict(_ATTRIBUTE.findall(attributes)), body.strip()) for attributes, body in matches]


def records(text: str) -> list[Record]:
    """Return the marked lines of a text, their fields split at ` | `."""
    rows = []
    for line in text.splitlines():
        if match := _LINE.match(line.strip()):
            fields = tuple(field.strip() for field in match[2].split(" | ") if field.strip())
            rows += [Record(match[1], fields)] if fields else []
    return rows


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
    result: list[Sentence] = []
    earlier: list[frozenset[str]] = []
    for sentence in candidates:
        mine = frozenset(query_terms(sentence.bare))
        if not any(len(mine & other) >= 0.8 * max(len(mine), 1) for other in earlier):
            earlier.append(mine)
            result.append(sentence)
    return result


def with_map_words(text: str) -> str:
    """Return a text with what the map would look for: 遛娃 and "with kids" are then one word."""
    return " ".join([text, *activity_keywords(text, "zh"), *activity_keywords(text, "en")])


def best(items: Iterable[T], query: str, text_of: Callable[[T], str], most: int) -> list[T]:
    """Return the rows that bear most on the query by BM25, best first.

    None without a shared word.
    """
    rows = list(items)
    scores = Bm25([with_map_words(text_of(row)) for row in rows]).scores(with_map_words(query))
    top = max(scores, default=0.0)
    order = sorted(range(len(rows)), key=lambda at: -scores[at])
    return [rows[at] for at in order if scores[at] > 0 and scores[at] >= top * _SHARE_OF_BEST][
        :most
    ]


def rank(candidates: Iterable[Sentence], query: str, most: int = 100) -> list[Sentence]:
    """Return the distinct sentences that bear on a query, best first; titles count as well."""
    return best(distinct(candidates), query, lambda s: f"{s.title} {s.bare}", most)


def quote_text(text: str, query: str, most: int, title: str = "") -> list[Sentence]:
    """Return the best sentences of a text, in the order in which they stand there."""
    all_sentences = sentences(text, title)
    best_texts = {sentence.text for sentence in rank(all_sentences, query, most)}
    return [sentence for sentence in distinct(all_sentences) if sentence.text in best_texts]


def in_language(candidates: list[Sentence], language: Language) -> list[Sentence]:
    """Return the sentences in a language; all of them where none is."""
    return [s for s in candidates if detect_language(s.bare) == language] or candidates


def about(pairs: Iterable[tuple[T, str]], subject: Subject) -> list[T]:
    """Return the rows whose text names the subject."""
    return [row for row, text in pairs if subject.is_named_in(text)]


def join_sentences(texts: Iterable[str], language: Language) -> str:
    return ("" if language == "zh" else " ").join(texts)


def short(text: str) -> str:
    """Return a text for a sentence of ours, cut where it is long."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
