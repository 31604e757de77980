"""A running assistant server as its clients see it: connection, key, assistants, refusals."""

import contextlib
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import httpx
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import NotFoundError

from agent import __version__
from agent.core.errors import AgentError, ConfigurationError, InputError
from agent.core.redaction import hide
from agent.models.connections import is_loopback, proxy_for

KEY_NAME = "TANLU_API_KEY"


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[LangGraphClient]:
    """A client with our key; loopback never goes through a proxy. Raises ConfigurationError."""
    key = os.environ.get(KEY_NAME) or None
    hide(key)
    if key is not None and not (key.isascii() and key.isprintable()):
        raise ConfigurationError(KEY_NAME, "holds characters that no key can have")
    headers = {"User-Agent": f"tanlu/{__version__}"} | ({"x-api-key": key} if key else {})
    async with httpx.AsyncClient(
        base_url=url,
        headers=headers,
        proxy=proxy_for(url),
        trust_env=not is_loopback(urlsplit(url).hostname or ""),
        timeout=httpx.Timeout(connect=10, read=300, write=60, pool=10),
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=100),
    ) as http:
        yield LangGraphClient(http)


def refusal(url: str, error: httpx.HTTPError) -> AgentError:
    """What went wrong with a server, in one line that says what to do."""
    if isinstance(error, httpx.HTTPStatusError):
        status = status_of(error)
        if status in (401, 403):
            problem = "does not accept it" if os.environ.get(KEY_NAME) else "wants a key"
            return ConfigurationError(KEY_NAME, f"{url} {problem} ({status})")
        if status == 404:
            return AgentError(f"{url} is not an assistant server (404)")
        return AgentError(f"{url} answered {status}: {error}")
    if isinstance(error, httpx.TimeoutException):
        return AgentError(f"{url} did not answer in time")
    return AgentError(f"{url} cannot be reached: {str(error) or type(error).__name__}")


def status_of(error: httpx.HTTPError) -> int:
    """The status a server answered with; 0 where there was no answer."""
    response = error.response if isinstance(error, httpx.HTTPStatusError) else None
    return response.status_code if response is not None else 0


async def find_assistant(client: LangGraphClient, wanted: str) -> Mapping[str, Any]:
    """The assistant by graph, id or name; raises InputError naming those that exist."""
    with contextlib.suppress(NotFoundError):  # what the server says to an unknown graph
        for assistant in await client.assistants.search(graph_id=wanted, limit=1):
            return assistant
    all_of_them = await client.assistants.search(limit=100)
    for assistant in all_of_them:
        if wanted in (assistant["assistant_id"], assistant["name"]):
            return assistant
    known = ", ".join(sorted({a["graph_id"] for a in all_of_them})) or "none"
    raise InputError("--assistant", f"the server has no {wanted!r}; known: {known}")


def message_of(failure: Any) -> str:
    """What a run's error says; servers send {error, message}."""
    if isinstance(failure, Mapping):
        return str(failure.get("message") or failure.get("error") or "the run failed")
    return str(failure or "the run failed")
