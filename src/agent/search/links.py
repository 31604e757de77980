"""Where Google's redirect links lead: asked once, not followed, capped in number and time."""

import asyncio
from collections.abc import Iterable
from urllib.parse import urlsplit

from agent.errors import AgentError
from agent.reading.guard import Guard
from agent.search.http import SearchHttp

REDIRECTS = "https://vertexaisearch.cloud.google.com/grounding-api-redirect/"
MAX_LINKS = 12


async def resolve_links(
    http: SearchHttp,
    urls: Iterable[str],
    *,
    limit: int = MAX_LINKS,
    timeout: float = 5.0,
    base: str = REDIRECTS,
) -> dict[str, str]:
    """Each URL with where it leads, itself where that is unknown; never raises ProviderError.

    Only links under `base` are asked, at most `limit` (12) of them, all within `timeout` seconds.
    """
    resolved = {url: url for url in urls}
    asked = [url for url in resolved if _under(url, base)][: min(limit, MAX_LINKS)]
    tasks = {url: asyncio.create_task(_target(http, url)) for url in asked}
    if not tasks:
        return resolved
    try:
        await asyncio.wait(tasks.values(), timeout=timeout)
    finally:
        for task in tasks.values():
            task.cancel()
        outcomes = await asyncio.gather(*tasks.values(), return_exceptions=True)
    for url, outcome in zip(tasks, outcomes, strict=True):
        if isinstance(outcome, str):
            resolved[url] = outcome
    return resolved


async def _target(http: SearchHttp, url: str) -> str | None:
    try:
        target = await http.redirect_target("google", url)
        if target:
            Guard().parse(target)
    except AgentError:
        return None
    return target


def _under(url: str, base: str) -> bool:
    """Same scheme, host and port, and a path below that of `base`."""
    try:
        given, wanted = urlsplit(url), urlsplit(base)
        same = (given.scheme, given.hostname, given.port, given.username) == (
            wanted.scheme,
            wanted.hostname,
            wanted.port,
            None,
        )
    except ValueError:
        return False
    return same and given.path.startswith(wanted.path) and len(given.path) > len(wanted.path)
