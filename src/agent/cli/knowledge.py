"""Open the knowledge base for commands: it needs no model, so no other services are built."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from agent.core.calls import Calls
from agent.core.errors import InputError
from agent.knowledge.base import KnowledgeBase, build_knowledge
from agent.knowledge.rerank import RerankClient
from agent.settings import read_settings


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
    base, reranker = build_knowledge(used, calls), RerankClient(used, calls)
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
        raise InputError("--owner", f"no key has the name {name}; there are: {', '.join(owners)}")
