"""Connect to a running assistant server: its key, its assistants, its refusals."""

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
from agent.core.errors import AgentError, ConfigurationError, InputError, StoreFailed
from agent.core.redaction import hide
from agent.models.connections import is_loopback, proxy_for

KEY_NAME = "TANLU_API_KEY"


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[LangGraphClient]:
    """Open a client with our key; loopback never goes through a proxy.

    Raises ConfigurationError.
    """
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
    """Return a server's refusal as an error of one line that says what to do."""
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
    """Return the status a server answered with; 0 where there was no answer."""
    response = error.response if isinstance(error, httpx.HTTPStatusError) else None
    return response.status_code if response is not None else 0


async def find_assistant(client: LangGraphClient, name: str) -> Mapping[str, Any]:
    """Return the assistant by graph, id or name; raise InputError naming those that exist."""
    with contextlib.suppress(NotFoundError):  # what the server says to an unknown graph
        for assistant in await client.assistants.search(graph_id=name, limit=1):
            return assistant
    assistants = await client.assistants.search(limit=100)
    for assistant in assistants:
        if name in (assistant["assistant_id"], assistant["name"]):
            return assistant
    names = ", ".join(sorted({a["graph_id"] for a in assistants})) or "none"
    raise InputError("--assistant", f"the server has no {name!r}; known: {names}")


def run_error(failure: Any) -> AgentError:
    """Return a run's failure as ours; servers send {error, message}.

    A wrong setting of the server is a ConfigurationError, a full disk has the code `store_failed`:
    every other run there would meet them, too.
    """
    kind = failure.get("error") if isinstance(failure, Mapping) else None
    if isinstance(failure, Mapping):
        failure = failure.get("message") or kind
    message = str(failure or "the run failed")
    if kind == ConfigurationError.__name__:
        name, _, problem = message.partition(": ")
        return ConfigurationError(name, problem or "cannot be used")
    return AgentError(message, code=StoreFailed.code if kind == StoreFailed.__name__ else None)
