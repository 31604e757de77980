"""The bundled encyclopedia articles and papers, read from `sample/scholar_*.json`.

A file is an object with a `note` on where its texts are from and two lists, either may be missing:

`articles`: {"id": 9000001, "language": "zh" | "en", "title", "url", "subjects": [names in both
languages], "extract": the opening of the article as plain text}.

`papers`: {"id": "W9000000001", "title", "year", "doi": "10.5555/…" or null, "authors": [names],
"venue", "abstract", "subjects": [names in both languages], "topics": [aspects in both languages],
"cited_by": number, "url": page of the paper, "pdf": address or null (not open access),
"indexed_by": ["openalex", "semantic_scholar"] (default: both)}.

A record fits a query that names one of its subjects, or most of whose words it has.
"""

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, TypeVar

from agent.sample.model.subject import subject_of

from .corpus_words import has, phrase, terms

_LEAST = 0.6
_NAMED = 0.6
_IN_TEXT = 0.7


@dataclass(frozen=True)
class Article:
    id: int
    language: str
    title: str
    url: str
    subjects: tuple[str, ...]
    extract: str

    @property
    def body(self) -> str:
        return self.extract

    @property
    def names(self) -> tuple[str, ...]:
        return (self.title, *self.subjects)


@dataclass(frozen=True)
class Paper:
    id: str
    title: str
    year: int
    doi: str | None
    authors: tuple[str, ...]
    venue: str
    abstract: str
    subjects: tuple[str, ...]
    topics: tuple[str, ...]
    cited_by: int
    url: str
    pdf: str | None
    indexed_by: tuple[str, ...] = ("openalex", "semantic_scholar")

    @property
    def body(self) -> str:
        return self.abstract

    @property
    def names(self) -> tuple[str, ...]:
        return (self.title, *self.subjects, *self.topics)


Record = TypeVar("Record", Article, Paper)


@cache
def sample_articles() -> tuple[Article, ...]:
    return tuple(
        Article(**_frozen(row)) for sheet in _sheets() for row in sheet.get("articles", ())
    )


@cache
def sample_papers() -> tuple[Paper, ...]:
    return tuple(Paper(**_frozen(row)) for sheet in _sheets() for row in sheet.get("papers", ()))


def best(query: str, records: Iterable[Record], limit: int) -> list[Record]:
    """The records that fit the query, best first."""
    subject = subject_of(query)
    kept: list[tuple[float, Record]] = []
    for row in records:
        text = f"{' '.join(row.names)} {' '.join(row.subjects)} {row.body}"
        score = fit(query, row.names, row.subjects, row.body)
        if score >= _LEAST and subject.is_named_in(text):
            kept.append((score, row))
    kept.sort(key=lambda pair: (-pair[0], str(pair[1].id)))
    return [row for _, row in kept[:limit]]


def fit(query: str, names: Sequence[str], subjects: Collection[str], body: str) -> float:
    """The share of the query's words that a record has, and more where it names its subject."""
    wanted = terms(query)
    if not wanted:
        return 0.0
    heading, text = terms(" ".join(names)), terms(body)
    found = sum(1.0 if term in heading else _IN_TEXT * (term in text) for term in wanted)
    asked = phrase(query)
    named = any(has(asked, phrase(subject)) for subject in subjects)
    return found / len(wanted) + _NAMED * named


def _sheets() -> list[dict[str, Any]]:
    folder = resources.files(__package__) / "sample"
    files = sorted(
        (entry for entry in folder.iterdir() if entry.name.startswith("scholar_")),
        key=lambda entry: entry.name,
    )
    return [json.loads(entry.read_text(encoding="utf-8")) for entry in files]


def _frozen(row: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(v) if isinstance(v, list) else v for name, v in row.items()}
