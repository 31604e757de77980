"""Documents that sources brought: made distinct, put in order, and shortened for a model.

BM25 counts words: it cannot judge across languages, and among texts that all have the query's main
words it sees little of them. So with it the best few are kept even below the threshold. The best
web pages of every task are read, and cut into passages like the knowledge base's.
"""

import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from math import log as logarithm
from typing import Any, cast, get_args
from urllib.parse import urlsplit

from agent.assistants.common.workspace import Item
from agent.assistants.plan_execute.state import ExecutorResult, Task
from agent.assistants.plan_execute.subject import bearing, task_queries
from agent.core.budget import Meter
from agent.core.strings import cut_to_tokens, estimated_tokens, letters_of
from agent.evidence.constraints import as_list
from agent.evidence.markdown import canonical, link_url
from agent.evidence.queries import clean_text
from agent.evidence.types import SourceKind
from agent.knowledge.rerank import BUILT_IN, RerankClient
from agent.knowledge.terms import query_terms, shared_terms
from agent.knowledge.types import Ranked
from agent.search.documents import Document, DocumentKind, FiledFigure, coerce_documents, doi_of
from agent.search.hits import only_known
from agent.texts import Language, has_text, say

log = logging.getLogger(__name__)

WEB_OFF = "WEB_SEARCH=off"
_KINDS: dict[str, DocumentKind] = {
    "wikipedia": "encyclopedia",
    "openalex": "paper",
    "semantic_scholar": "paper",
    "sec_edgar": "filing",
    "akshare": "statement",
}
_SOURCE_KINDS: Mapping[DocumentKind, SourceKind] = {
    "encyclopedia": "page",
    "paper": "paper",
    "filing": "filing",
    "statement": "filing",
    "page": "page",
}
_ORDER = ("statement", "filing", "encyclopedia", "paper", "page")
_TITLE, _TEXT, _SHORT = 300, 6000, 200
_FIGURE = ("name", "value", "unit", "period", "url")
_MAX_FIGURES = 60
_STEPS = 3
"""Differences in shared words that outweigh the order of a search: thirds of a query."""
_LEAST_TITLE = 12
"""Characters (Chinese ones count three) of a title that names one paper only."""


def documents_of(value: Any, source: str) -> list[Document]:
    """Return the usable documents of a source or a tool; see `coerce_documents`."""
    documents = (_document(each, source) for each in coerce_documents(value))
    return [document for document in documents if document]


def merged_documents(documents: Iterable[Document]) -> list[Document]:
    """Return each once, in order: the same address or DOI anywhere, the same title among papers.

    What the first one lacks is taken from the others.
    """
    merged: list[Document] = []
    place: dict[str, int] = {}
    for document in documents:
        keys = _keys(document)
        at = next((place[key] for key in keys if key in place), len(merged))
        if at == len(merged):
            merged.append(document)
        else:
            merged[at] = _merge(merged[at], document)
        for key in (*keys, *_keys(merged[at])):
            place.setdefault(key, at)
    return merged


def nearest_first(documents: Iterable[Document], task: Task) -> list[Document]:
    """Return the documents, those first that have most of a query's words; none is left out.

    Where about as many stand, the order of the search is kept.
    """
    queries = _queries(task)
    return sorted(documents, key=lambda each: -round(_STEPS * bearing(queries, whole_text(each))))


def merged_over_tasks(
    results: Sequence[ExecutorResult], tasks: Sequence[Task]
) -> list[ExecutorResult]:
    """Return the results with each document in the task alone that it bears on most.

    What all tasks ask for tells nothing: a paper on the matter has every word of a broad task, and
    belongs to the narrow one of whose own words it has some. The other tasks that found it name it:
    what one of them asks is answered there.
    """
    every = [_queries(task) for task in tasks]
    asking = Counter(term for queries in every for term in {*chain(*map(query_terms, queries))})
    best: dict[str, tuple[float, float, int]] = {}
    for at, (result, queries) in enumerate(zip(results, every, strict=True)):
        for document in result["documents"]:
            text = whole_text(document)
            own = max(
                sum(logarithm(len(tasks) / asking[term]) for term in shared_terms(query, text))
                for query in queries
            )
            for key in _keys(document):
                near = (round(own, 6), bearing(queries, text), -at)
                best[key] = max(best.get(key, (-1.0, 0.0, 0)), near)
    merged, names = list[ExecutorResult](), dict[str, str]()
    for at, result in enumerate(results):
        here = [d for d in result["documents"] if all(best[key][-1] == -at for key in _keys(d))]
        names |= {key: each["id"] for each in here for key in _keys(each) if "id" in each}
        merged.append(cast(ExecutorResult, {**result, "documents": here}))
    for result, alone in zip(results, merged, strict=True):
        kept = {each["id"] for each in alone["documents"] if "id" in each}
        found = dict.fromkeys(names.get(key, "") for d in result["documents"] for key in _keys(d))
        if elsewhere := [name for name in found if name and name not in kept]:
            alone["elsewhere"] = elsewhere
    return merged


def _queries(task: Task) -> list[str]:
    return list(dict.fromkeys([task["query"], *task_queries(task)]))


def whole_text(document: Document) -> str:
    """Return the title and the text, as they are compared."""
    return f"{document['title']}\n{document['text']}"


def is_scored(document: Document, scored: str) -> bool:
    """Return True if its source is among those named; `tavily` is whatever searched the web."""
    source = document["source"]
    return (source if source in _KINDS else "tavily") in scored.replace(" ", "").split(",")


def sorted_by_kind(documents: Sequence[Document]) -> list[Document]:
    """Return statements and filings first, pages last; within a kind as they are."""
    return sorted(documents, key=lambda document: _ORDER.index(document["kind"]))


def _document(value: Mapping[str, Any], source: str) -> Document | None:
    """Return a document of clean texts; None where there is nothing to show or to cite."""
    origin = _line(value.get("source"), 40) or source
    title = _line(value.get("title"), _TITLE)
    text = only_known(_lines(value.get("text") or value.get("abstract"), _TEXT), ())
    url = link_url(_line(value.get("url"), 2000))
    if not (title or text) or not (url or text):
        return None
    kind = value.get("kind")
    document_kind = kind if kind in get_args(DocumentKind) else _KINDS.get(origin, "page")
    more: dict[str, Any] = {
        "published": _line(value.get("published"), 40),
        "authors": [_line(name, _SHORT) for name in as_list(value.get("authors"))][:20],
        "year": value.get("year") if isinstance(value.get("year"), int) else None,
        "doi": _line(value.get("doi"), _SHORT),
        "pdf_url": link_url(_line(value.get("pdf_url"), 2000)),
        "cited_by": value.get("cited_by") if isinstance(value.get("cited_by"), int) else None,
        "figures": _figures(value.get("figures"), url),
    }
    required = {"source": origin, "kind": document_kind, "title": title or text[:60], "url": url}
    optional = {name: field for name, field in more.items() if field not in (None, "", [])}
    return cast(Document, {**required, "text": text, **optional})


def _figures(value: Any, url: str) -> list[FiledFigure]:
    """Return figures with name, value, unit and period; by default at the document's URL."""
    figures = []
    for each in as_list(value)[:_MAX_FIGURES]:
        if not isinstance(each, Mapping):
            continue
        texts = {name: _line(str(each.get(name) or ""), _SHORT) for name in _FIGURE}
        if all(texts[name] for name in ("name", "value", "unit", "period")):
            texts["url"] = link_url(texts["url"]) or url
            figures.append(cast(FiledFigure, texts))
    return figures


def _keys(document: Document) -> list[str]:
    """Return the keys that another record of the same document would have, too."""
    keys = []
    for named in (document.get("doi") or "", document["url"]):
        if doi := doi_of(named):
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
    plain = letters_of(title)
    weight = sum(1 if letter.isascii() else 3 for letter in plain)
    return plain if weight >= _LEAST_TITLE else ""


def _merge(first: Document, other: Document) -> Document:
    """Return the first one, with what only the other knows; the longer text."""
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


_PREVIEW = 60
_FIGURES = 8
_EARLIER = 30


def crop_observation(documents: Sequence[Document], language: Language, *, tokens: int) -> str:
    """Crop the results of a tool for the model; the whole results stay in the state."""
    if not documents:
        return say("tools.nothing", language)
    lines, left = list[str](), tokens
    for document in documents:
        line = _crop(document, language)
        if (left := left - estimated_tokens(line) - 1) < 0:
            break
        lines.append(line)
    return "\n".join(lines) or cut_to_tokens(_crop(documents[0], language), tokens)


def earlier_lines(results: Sequence[ExecutorResult]) -> str:
    """Return the results of tasks that another one depends on, each with its marker."""
    return "\n".join(
        f"[^{document['id']}] {document['title']} — {_preview(document)}"
        for result in results
        for document in result["documents"][:_EARLIER]
    )


def kind_and_date(document: Document, language: Language, *, site: str = "") -> str:
    """Return `paper, 2024`; of a page on a site `web page, sqlite.org, 2024-05-01`."""
    dated = document.get("year") or (document.get("published") or "")[:10]
    kind = say(f"plan_execute.kinds.{document['kind']}", language)
    return ", ".join(str(part) for part in (kind, site, dated) if part)


def figure_text(figure: FiledFigure) -> str:
    """Return `Revenue: 362 bn CNY (FY2024)`."""
    return f"{figure['name']}: {figure['value']} {figure['unit']} ({figure['period']})"


def _crop(document: Document, language: Language) -> str:
    source = source_name(document["source"], language)
    head = f"- {document['title']} ({source}; {kind_and_date(document, language)})"
    if document["kind"] in ("filing", "statement"):
        figures = "; ".join(map(figure_text, document.get("figures", [])[:_FIGURES]))
        return f"{head}: {figures or _preview(document)}"
    if document["kind"] == "paper" and (cited := document.get("cited_by")):
        head = f"{head[:-1]}; ×{cited})"
    return f"{head}: {_preview(document)}"


def _preview(document: Document) -> str:
    return cut_to_tokens(" ".join(document["text"].split()), _PREVIEW)


async def rank_texts(
    reranker: RerankClient,
    query: str,
    texts: Sequence[str],
    *,
    meter: Meter,
    threshold: float,
    top_n: int,
    least: int,
) -> Ranked:
    """Rank texts above the threshold, cut to `top_n`; by BM25 keep the `least` best."""
    reranked = await reranker.rerank(query, texts, meter=meter, top_n=top_n, threshold=threshold)
    count = min(least, len(texts), top_n)
    if reranked.backend != BUILT_IN or len(reranked.order) >= count:
        return reranked
    # Another server need not be asked again: it would have been named as the back-end.
    return await reranker.rerank(query, texts, meter=meter, top_n=count)


def source_name(source: str, language: Language) -> str:
    """Return a source as a reader knows it."""
    key = f"plan_execute.sources.{source}"
    return say(key, language) if has_text(key) else source


def pages_to_read(results: Sequence[ExecutorResult], per_task: int) -> list[Document]:
    """Return the first web pages of each task, each page once."""
    chosen: dict[str, Document] = {}
    for result in results:
        pages = [d for d in result["documents"] if d["url"] and is_scored(d, "tavily")]
        for document in pages[:per_task]:
            chosen.setdefault(canonical(document["url"]), document)
    return list(chosen.values())


def item_of(document: Document, query: str, language: Language) -> Item:
    """Return a document as a workspace keeps it."""
    is_page = is_scored(document, "tavily")
    return Item(
        kind=_SOURCE_KINDS[document["kind"]],
        title=document["title"],
        url=document["url"],
        text="" if is_page else document["text"],
        snippet=document["text"] if is_page else "",
        date=(document.get("published") or str(document.get("year") or ""))[:10],
        provider=source_name(document["source"], language),
        query=query,
    )
