"""Offer `search` and `fetch` as MCP clients expect them that do research of their own.

ChatGPT's connectors and deep research know these two by their names and shapes, and ask nothing
else of a server. They look in the caller's own documents and on the web; no model answers.
"""

import asyncio
import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from mcp.types import CallToolResult, TextContent, Tool, ToolAnnotations
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agent.assistants.common.own_documents import read_by_default, shown_path
from agent.assistants.common.services import Services
from agent.configuration import Configuration
from agent.core.budget import Budget, Limits, Meter
from agent.core.errors import AgentError, InputError
from agent.core.telemetry import STEP, NodeStep
from agent.evidence.queries import clean_text
from agent.knowledge.types import KnowledgeHit, Scope
from agent.search.hits import Hit
from agent.search.rules import rules_of

SEARCH, FETCH = "search", "fetch"
_LONGEST_QUERY = 500
_MOST_RESULTS = 10
_MOST_DOCUMENTS = 4
_PASSAGES = 20
"""Looked at, of which several are of one document."""
_LONGEST_TEXT = 100_000
_WHOLE = 10_000_000
_DOCUMENT: Final = "document:"
_SECONDS = 120.0
_LIMITS = Limits(
    max_searches=4,
    max_model_calls=4,
    max_map_calls=0,
    max_run_tokens=100_000,
    max_run_seconds=_SECONDS,
    answer_seconds=0,
)
"""Of one call."""


A = TypeVar("A", bound=BaseModel)


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid")


class SearchArguments(_Arguments):
    query: str = Field(min_length=1, max_length=_LONGEST_QUERY, description="What to look for.")


class FetchArguments(_Arguments):
    id: str = Field(min_length=1, max_length=4_000, description="Of a result of search.")


class FoundItem(BaseModel):
    id: str = Field(description="What fetch takes.")
    title: str
    url: str
    text: str = Field(description="A few words of it.")


class FoundItems(BaseModel):
    """Hold the structured content of a search."""

    results: list[FoundItem]


class FetchedItem(BaseModel):
    """Hold the structured content of a fetch."""

    id: str
    title: str
    text: str
    url: str
    metadata: dict[str, str]


def search_tools() -> list[Tool]:
    """Return the two tools."""
    return [
        _tool(
            SEARCH,
            "Search the caller's own documents and the web; returns ids, titles and addresses. "
            "For an answer with checked sources, or for places on the map, ask `agent`.",
            SearchArguments,
            FoundItems,
        ),
        _tool(
            FETCH,
            "Read a result of `search` whole: a page of the web or one of the caller's documents.",
            FetchArguments,
            FetchedItem,
        ),
    ]


def _tool(name: str, description: str, taken: type[BaseModel], given: type[BaseModel]) -> Tool:
    return Tool(
        name=name,
        title=name.capitalize(),
        description=description,
        inputSchema=taken.model_json_schema(),
        outputSchema=given.model_json_schema(),
        annotations=ToolAnnotations(
            readOnlyHint=True, destructiveHint=False, idempotentHint=True, openWorldHint=True
        ),
    )


async def answer_search(
    name: str, arguments: Mapping[str, Any], services: Services, owner: str
) -> CallToolResult:
    """Return the result of one of the two tools; raise AgentError where there is none."""
    meter = Budget(f"{name}-{uuid.uuid4().hex}", _LIMITS).meter()
    with _on_account_of(owner, name):
        result: BaseModel
        if name == SEARCH:
            query = clean_text(_read(SearchArguments, arguments).query, _LONGEST_QUERY)
            if not query:
                raise InputError("query", "is empty")
            result = FoundItems(results=await _search(query, services, owner, meter))
        else:
            id = _read(FetchArguments, arguments).id
            result = await _fetch(id, services, owner, meter)
    content = result.model_dump(mode="json")
    text = json.dumps(content, ensure_ascii=False)
    return CallToolResult(content=[TextContent(type="text", text=text)], structuredContent=content)


def _read(kind: type[A], arguments: Mapping[str, Any]) -> A:
    try:
        return kind.model_validate(dict(arguments))
    except ValidationError as error:
        raise InputError.of(error) from None


@contextmanager
def _on_account_of(owner: str, name: str) -> Iterator[None]:
    """Count what a call costs for its owner, as it is counted for a run."""
    token = STEP.set(NodeStep(assistant=name, node=name, owner=owner))
    try:
        yield
    finally:
        STEP.reset(token)


async def _search(query: str, services: Services, owner: str, meter: Meter) -> list[FoundItem]:
    """Return what was found, own documents first; raise where nothing could be searched."""
    outcomes = await asyncio.gather(
        _own(query, services, owner, meter), _web(query, services, meter), return_exceptions=True
    )
    for outcome in outcomes:
        if isinstance(outcome, BaseException) and not isinstance(outcome, AgentError):
            raise outcome
    found = [outcome for outcome in outcomes if isinstance(outcome, list)]
    failures = [outcome for outcome in outcomes if isinstance(outcome, AgentError)]
    items = [item for part in found for item in part]
    if failures and not items:
        raise failures[-1]
    return items[:_MOST_RESULTS]


async def _own(query: str, services: Services, owner: str, meter: Meter) -> list[FoundItem]:
    knowledge = services.knowledge()
    names = read_by_default(each["name"] for each in await knowledge.collections(owner))
    if not names:
        return []
    scope = Scope(tuple(names), owner)
    hits = await knowledge.search(query, scope, limit=_PASSAGES, meter=meter)
    nearest: dict[str, KnowledgeHit] = {}
    for hit in hits:
        nearest.setdefault(hit.document["id"], hit)
    return [_document(hit) for hit in [*nearest.values()][:_MOST_DOCUMENTS]]


def _document(hit: KnowledgeHit) -> FoundItem:
    document = hit.document
    id = f"{_DOCUMENT}{document['id']}"
    return FoundItem(
        id=id,
        title=document["title"] or shown_path(document["path"]),
        url=document["url"] or id,
        text=clean_text(hit.chunk["text"], 300),
    )


async def _web(query: str, services: Services, meter: Meter) -> list[FoundItem]:
    configuration = Configuration()
    if configuration.web_search == "off" or configuration.sources == "own":
        return []
    provider = services.web.provider(
        configuration.web_search,
        model=configuration.research_model,
        rules=rules_of(configuration),
    )
    hits = await provider.search(query, meter=meter, count=_MOST_RESULTS)
    return [_page(hit) for hit in hits]


def _page(hit: Hit) -> FoundItem:
    return FoundItem(
        id=hit.url, title=hit.title or hit.url, url=hit.url, text=clean_text(hit.snippet, 300)
    )


async def _fetch(id: str, services: Services, owner: str, meter: Meter) -> FetchedItem:
    if id.startswith(_DOCUMENT):
        return await _fetch_document(id, services, owner)
    if not id.startswith(("https://", "http://")):
        raise InputError("id", "must be the id of a result of search")
    if Configuration().sources == "own":
        raise InputError("id", "Only own documents are read here (SOURCES=own)")
    article = await services.reader().read(id, meter=meter)
    metadata = {"kind": article.kind, **_cut(article.text, partial=article.partial)}
    return FetchedItem(
        id=id,
        title=article.title or id,
        text=article.text[:_LONGEST_TEXT],
        url=article.final_url,
        metadata=metadata,
    )


async def _fetch_document(id: str, services: Services, owner: str) -> FetchedItem:
    """Return a document that the caller may read; another's is none."""
    scope = Scope(owner=owner, documents=(id.removeprefix(_DOCUMENT),))
    hits: Sequence[KnowledgeHit] = await services.knowledge().texts(scope, most=_WHOLE)
    if not hits:
        raise InputError("id", "There is no such document")
    document = hits[0].document
    text = "\n\n".join(hit.chunk["text"] for hit in hits)
    kept = {"kind": document["kind"], "collection": document["collection"]}
    return FetchedItem(
        id=id,
        title=document["title"] or shown_path(document["path"]),
        text=text[:_LONGEST_TEXT],
        url=document["url"] or id,
        metadata={**kept, "file": shown_path(document["path"]), **_cut(text)},
    )


def _cut(text: str, *, partial: bool = False) -> dict[str, str]:
    """Say where a text is not whole."""
    return {"partial": "true"} if partial or len(text) > _LONGEST_TEXT else {}
