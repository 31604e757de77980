"""What sources brought, as distinct documents: shapes read tolerantly, the same paper once."""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast, get_args
from urllib.parse import urlsplit

from agent.evidence.links import link_url
from agent.evidence.queries import clean_text
from agent.search.documents import Document, DocumentKind, Figure, coerce_documents
from agent.search.hits import only_known

SCORED = ("openalex", "semantic_scholar")
"""The sources whose documents the reranker scores; others are kept as they are."""
_KINDS: dict[str, DocumentKind] = {
    "wikipedia": "encyclopedia",
    "openalex": "paper",
    "semantic_scholar": "paper",
    "sec_edgar": "filing",
    "akshare": "statement",
}
_ORDER = ("statement", "filing", "encyclopedia", "paper", "page")
_TITLE, _TEXT, _SHORT = 300, 6000, 200
_FIGURE = ("name", "value", "unit", "period", "url")
_MAX_FIGURES = 60
_DOI = re.compile(r"^(?:https?://(?:dx\.)?doi\.org/|doi:\s*)", re.IGNORECASE)
_NOT_WORD = re.compile(r"[\W_]+")
_LEAST_TITLE = 12
"""Characters (Chinese ones count three) of a title that names one paper only."""


def documents_of(value: Any, source: str) -> list[Document]:
    """The usable documents in what a source or a tool handed over; see `coerce_documents`."""
    found = (_document(each, source) for each in coerce_documents(value))
    return [document for document in found if document]


def distinct(documents: Iterable[Document]) -> list[Document]:
    """Each once, in order: the same address or DOI anywhere, the same title among papers.

    What the first one lacks is taken from the others.
    """
    kept: list[Document] = []
    place: dict[str, int] = {}
    for document in documents:
        keys = _keys(document)
        at = next((place[key] for key in keys if key in place), len(kept))
        if at == len(kept):
            kept.append(document)
        else:
            kept[at] = _merged(kept[at], document)
        for key in (*keys, *_keys(kept[at])):
            place.setdefault(key, at)
    return kept


def sorted_by_kind(documents: Sequence[Document]) -> list[Document]:
    """Statements and filings first, pages last; within a kind as they are."""
    return sorted(documents, key=lambda document: _ORDER.index(document["kind"]))


def _document(value: Mapping[str, Any], source: str) -> Document | None:
    """A document of clean texts; None where there is nothing to show or to cite."""
    origin = _line(value.get("source"), 40) or source
    title = _line(value.get("title"), _TITLE)
    text = only_known(_lines(value.get("text") or value.get("abstract"), _TEXT), ())
    url = link_url(_line(value.get("url"), 2000))
    if not (title or text) or not (url or text):
        return None
    kind = value.get("kind")
    known = kind if kind in get_args(DocumentKind) else _KINDS.get(origin, "page")
    more: dict[str, Any] = {
        "published": _line(value.get("published"), 40),
        "authors": [_line(name, _SHORT) for name in _list(value.get("authors"))][:20],
        "year": value.get("year") if isinstance(value.get("year"), int) else None,
        "doi": _line(value.get("doi"), _SHORT),
        "pdf_url": link_url(_line(value.get("pdf_url"), 2000)),
        "cited_by": value.get("cited_by") if isinstance(value.get("cited_by"), int) else None,
        "figures": _figures(value.get("figures"), url),
    }
    required = {"source": origin, "kind": known, "title": title or text[:60], "url": url}
    optional = {name: given for name, given in more.items() if given not in (None, "", [])}
    return cast(Document, {**required, "text": text, **optional})


def _figures(value: Any, url: str) -> list[Figure]:
    """Those that say what, how much, in what and of when; by default at the document's URL."""
    found = []
    for each in _list(value)[:_MAX_FIGURES]:
        if not isinstance(each, Mapping):
            continue
        told = {name: _line(str(each.get(name) or ""), _SHORT) for name in _FIGURE}
        if all(told[name] for name in ("name", "value", "unit", "period")):
            told["url"] = link_url(told["url"]) or url
            found.append(cast(Figure, told))
    return found


def _keys(document: Document) -> list[str]:
    """What another record of the same document would have, too."""
    keys = []
    for named in (document.get("doi") or "", document["url"]):
        if (doi := _DOI.sub("", named).strip().casefold()).startswith("10."):
            keys.append(f"doi {doi}")
    if url := _plain_url(document["url"]):
        keys.append(f"url {url}")
    if document["kind"] == "paper" and (title := _plain_title(document["title"])):
        keys.append(f"title {title}")
    return keys


def _plain_url(url: str) -> str:
    parts = urlsplit(url)
    if not parts.hostname:
        return ""
    path = parts.path.rstrip("/")
    return f"{parts.hostname.removeprefix('www.')}{path}?{parts.query}"


def _plain_title(title: str) -> str:
    plain = _NOT_WORD.sub("", unicodedata.normalize("NFKC", title).casefold())
    weight = sum(1 if letter.isascii() else 3 for letter in plain)
    return plain if weight >= _LEAST_TITLE else ""


def _merged(first: Document, other: Document) -> Document:
    """The first one, with what only the other knows; the longer text."""
    merged: dict[str, Any] = {**other, **{k: v for k, v in first.items() if v}}
    if len(other["text"]) > len(first["text"]):
        merged["text"] = other["text"]
    return cast(Document, merged)


def _line(value: Any, limit: int) -> str:
    return clean_text(value, limit) if isinstance(value, str) else ""


def _lines(value: Any, limit: int) -> str:
    if not isinstance(value, str):
        return ""
    lines = (clean_text(line, limit) for line in value[: 2 * limit].splitlines())
    return "\n".join(line for line in lines if line)[:limit]


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
