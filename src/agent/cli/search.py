"""Run `tanlu search`: print the passages of the knowledge base that match a query."""

import asyncio
from argparse import Namespace
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from agent.cli.console import ANSWERED, FAILED, USAGE, fail, print_result, printable
from agent.cli.environment import open_environment
from agent.core.calls import Calls
from agent.core.errors import AgentError, ConfigurationError, InputError
from agent.core.strings import one_line
from agent.knowledge.base import KnowledgeBase, open_knowledge_base, own_meter
from agent.knowledge.rerank import RerankClient
from agent.knowledge.terms import query_terms
from agent.knowledge.types import KnowledgeHit, Scope
from agent.settings import read_settings

_BUILT_IN = "bm25"
_SNIPPET = 240
_STEP = 20


def run_command(arguments: Namespace) -> int:
    """Run the command; return 0 with hits, 1 without, 2 bad usage."""
    try:
        open_environment(arguments)
        check_owner(arguments.owner)
    except AgentError as error:
        return fail(error, code=USAGE)
    query, scope = " ".join(arguments.query), Scope(tuple(arguments.collections), arguments.owner)
    try:
        hits, collections = asyncio.run(_search(query, scope, arguments.limit))
    except ConfigurationError as error:
        return fail(error, code=USAGE)
    except AgentError as error:
        return fail(error)
    told = {"query": query, "hits": [_as_json(hit) for hit in hits]}
    words = "\n".join(_hit_text(number, hit, query) for number, hit in enumerate(hits, 1))
    print_result(told, words, as_json=arguments.json)
    if hits:
        return ANSWERED
    empty = " The knowledge base is empty: `tanlu ingest PATH` reads documents in."
    return fail("Nothing was found." + ("" if collections else empty), code=FAILED)


async def _search(query: str, scope: Scope, limit: int) -> tuple[list[KnowledgeHit], list[str]]:
    """Return the hits and the names of the collections that the owner may read."""
    async with open_knowledge() as (base, reranker):
        meter = own_meter()
        collections = [collection["name"] for collection in await base.collections(scope.owner)]
        if missing := [name for name in scope.collections if name not in collections]:
            there = ", ".join(collections) or "none yet"
            raise InputError("--collection", f"There is no {missing[0]}; there are: {there}")
        by_server = reranker.name != _BUILT_IN
        count = 3 * limit if by_server else limit
        hits = await base.search(query, scope, limit=count, meter=meter)
        if by_server and hits:
            texts = ["\n".join([*hit.chunk["headings"], hit.chunk["text"]]) for hit in hits]
            ranked = await reranker.rerank(query, texts, meter=meter, top_n=limit)
            if ranked.note:
                fail(f"The results are not reranked: {ranked.note}")
            else:
                hits = [hits[place] for place, _ in ranked.order]
        return hits[:limit], collections


def _hit_text(number: int, hit: KnowledgeHit, query: str) -> str:
    """Format a hit: title, file and page, headings, snippet."""
    chunk, document = hit.chunk, hit.document
    page = f", p. {chunk['page']}" if chunk["page"] else ""
    lines = [f"{number}. {document['title']} ({document['path']}{page})"]
    headings = [heading for heading in chunk["headings"] if heading != document["title"]]
    if headings:
        lines.append(f"   {' › '.join(headings)}")
    lines.append(f"   {snippet(chunk['text'], query)}")
    return "\n".join(one_line(printable(line)) if line[0] != " " else
                     "   " + one_line(printable(line)) for line in lines)  # fmt: skip


def snippet(text: str, query: str) -> str:
    """Return the part of a passage with the most of the query's terms."""
    flat = " ".join(text.split())
    if len(flat) <= _SNIPPET:
        return flat
    folded, terms = flat.casefold(), query_terms(query)

    def worth(at: int) -> tuple[int, int]:
        return sum(term in folded[at : at + _SNIPPET] for term in terms), -at

    start = max(range(0, len(flat) - _SNIPPET + _STEP, _STEP), key=worth)
    part = flat[start : start + _SNIPPET]
    before, after = "…" if start else "", "…" if start + _SNIPPET < len(flat) else ""
    return f"{before}{part.strip()}{after}"


def _as_json(hit: KnowledgeHit) -> dict[str, Any]:
    chunk, document = hit.chunk, hit.document
    return {
        "title": document["title"],
        "path": document["path"],
        "url": document["url"],
        "page": chunk["page"],
        "headings": chunk["headings"],
        "text": chunk["text"],
        "score": round(hit.score, 4),
        "collection": document["collection"],
        "kind": document["kind"],
        "layer": document["layer"],
        "document": document["id"],
        "metadata": document.get("metadata", {}),
    }


@asynccontextmanager
async def open_knowledge() -> AsyncIterator[tuple[KnowledgeBase, RerankClient]]:
    """Open the operator's knowledge base, or the sample's with `--offline`.

    Raises ConfigurationError.
    """
    settings = read_settings()
    sample = None
    if settings.tanlu_mode == "offline":
        from agent.sample.server import start_sample_services

        sample = await asyncio.to_thread(start_sample_services, settings)
    used, calls = sample.settings if sample else settings, Calls()
    base, reranker = open_knowledge_base(used, calls), RerankClient(used, calls)
    try:
        yield base, reranker
    finally:
        await base.aclose()
        await reranker.aclose()
        if sample:
            await asyncio.to_thread(sample.stop)


def check_owner(name: str) -> None:
    """Raise InputError for an owner whose name no configured key has; without keys any will do."""
    if not name:
        return
    # What the server checks requests with is not needed for anything else here.
    from agent.server.auth.api_keys import access

    owners = sorted(access().keys.values())
    if owners and name not in owners:
        raise InputError("--owner", f"No key has the name {name}; there are: {', '.join(owners)}")
