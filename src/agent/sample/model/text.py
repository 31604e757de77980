"""Texts as the model reads them: tagged records, marked sentences, and which bear on a question."""

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


@dataclass(frozen=True)
class Sentence:
    """A sentence as it stands, with its markers; `title` is what its source is called."""

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
    """One line of places, routes or weather: its id, and its fields."""

    id: str
    fields: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.fields[0]

    def shown(self, most: int = 6) -> str:
        """The name and the facts as listed, then the marker."""
        facts = " · ".join(self.fields[1:most])
        return f"{self.name}{' — ' if facts else ''}{facts} [^{self.id}]"


def task_of(turn: Turn) -> str:
    """The name in `<task>`, with which every system prompt begins; empty where there is none."""
    found = _TASK.search(turn.system)
    return found[1] if found else ""


def language_of(turn: Turn) -> Language:
    found = _LANGUAGE.search(turn.system)
    return "en" if found and found[1] == "en" else "zh"


def block(text: str, tag: str) -> str:
    """What stands between `<tag>` and `</tag>`; empty where the block is missing."""
    found = re.search(rf"<{tag}>\n?(.*?)\n?</{tag}>", text, re.DOTALL)
    return found[1].strip() if found else ""


def lines(text: str, tag: str) -> list[str]:
    return [line.strip() for line in block(text, tag).splitlines() if line.strip()]


def number(text: str, tag: str, default: int) -> int:
    found = re.search(r"\d+", block(text, tag))
    return int(found[0]) if found else default


def elements(text: str, tag: str) -> list[tuple[dict[str, str], str]]:
    """The attributes and the content of each `<tag …>`, also of those fenced as foreign text."""
    found = re.findall(_ELEMENT.replace("{tag}", tag), text, re.DOTALL)
    return [(dict(_ATTRIBUTE.findall(attributes)), body.strip()) for attributes, body in found]


def records(text: str) -> list[Record]:
    """The marked lines of a text, their fields split at ` | `."""
    found = []
    for line in text.splitlines():
        if match := _LINE.match(line.strip()):
            fields = tuple(field.strip() for field in match[2].split(" | ") if field.strip())
            found += [Record(match[1], fields)] if fields else []
    return found


def sentences(text: str, title: str = "") -> list[Sentence]:
    """The sentences of a text, each with the markers that follow it; list signs are dropped."""
    found = [
        Sentence(match[0].strip(), title)
        for line in re.sub(r"\s*(?:…|\.{3})\s*", "\n", text).splitlines()
        for match in _SENTENCE.finditer(_LIST_SIGN.sub("", line).strip())
    ]
    return [sentence for sentence in found if len(sentence.bare) > 1]


def distinct(found: Iterable[Sentence]) -> list[Sentence]:
    """The sentences in order, near-copies of earlier ones left out."""
    kept: list[Sentence] = []
    seen: list[frozenset[str]] = []
    for sentence in found:
        mine = frozenset(query_terms(sentence.bare))
        if not any(len(mine & other) >= 0.8 * max(len(mine), 1) for other in seen):
            seen.append(mine)
            kept.append(sentence)
    return kept


def expanded(text: str) -> str:
    """A text with what the map would look for: 遛娃 and "with kids" are then one word."""
    return " ".join([text, *activity_keywords(text, "zh"), *activity_keywords(text, "en")])


def best(found: Iterable[T], query: str, text_of: Callable[[T], str], most: int) -> list[T]:
    """Those that bear most on the query by BM25, best first; none that shares no word with it."""
    rows = list(found)
    scores = Bm25([expanded(text_of(row)) for row in rows]).scores(expanded(query))
    top = max(scores, default=0.0)
    order = sorted(range(len(rows)), key=lambda at: -scores[at])
    return [rows[at] for at in order if scores[at] > 0 and scores[at] >= top * _SHARE_OF_BEST][
        :most
    ]


def ranked(found: Iterable[Sentence], query: str, most: int = 100) -> list[Sentence]:
    """The distinct sentences that bear on a query, best first; a title counts for its sentences."""
    return best(distinct(found), query, lambda s: f"{s.title} {s.bare}", most)


def quoted(text: str, query: str, most: int, title: str = "") -> list[Sentence]:
    """The best sentences of a text, in the order in which they stand there."""
    told = sentences(text, title)
    chosen = {sentence.text for sentence in ranked(told, query, most)}
    return [sentence for sentence in distinct(told) if sentence.text in chosen]


def spoken(found: list[Sentence], language: Language) -> list[Sentence]:
    """The sentences in a language; all of them where none is."""
    return [s for s in found if detect_language(s.bare) == language] or found


def about(found: Iterable[tuple[T, str]], subject: Subject) -> list[T]:
    """The rows whose text names the subject."""
    return [row for row, text in found if subject.is_named_in(text)]


def joined(texts: Iterable[str], language: Language) -> str:
    return ("" if language == "zh" else " ").join(texts)
