"""Connect to a running assistant server: its key, assistants, settings and refusals."""

import asyncio
import contextlib
import math
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import NotFoundError

from agent import __version__
from agent.core.errors import AgentError, ConfigurationError, InputError, StoreFailed
from agent.core.outside import parse_json
from agent.core.proxies import proxy_for
from agent.core.redaction import hide
from agent.models.connections import tls

KEY_NAME = "TANLU_API_KEY"
TOO_MANY = 429
_NOT_AS_IT_IS = (400, 409, 413, 422)


class LimitReached(AgentError):
    """Report a limit of the server for its caller; there is room in `retry_after` seconds."""

    code = "server_limit"

    def __init__(self, message: str, retry_after: float) -> None:
        self.retry_after = retry_after
        super().__init__(message)


class NotAccepted(AgentError):
    """Report a request that a server cannot take as it is, in its own words."""

    code = "not_accepted"


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
        verify=await asyncio.to_thread(tls),
        trust_env=False,
        timeout=httpx.Timeout(connect=10, read=300, write=60, pool=10),
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=100),
    ) as http:
        yield LangGraphClient(http)


def server_refusal(url: str, error: httpx.HTTPError) -> AgentError:
    """Return a server's refusal as an error of one line that says what to do."""
    if isinstance(error, httpx.HTTPStatusError):
        status = status_of(error)
        if status in (401, 403):
            word = "not accepted" if os.environ.get(KEY_NAME) else "needed"
            return ConfigurationError(KEY_NAME, f"is {word} by {url} ({status})")
        if status == TOO_MANY:
            return LimitReached(f"{url}: {words_of(error)}", retry_after(error))
        if status == 404:
            return AgentError(f"{url} is not an assistant server (404)")
        if status in _NOT_AS_IT_IS:
            return NotAccepted(f"{url} answered {status}: {words_of(error)}")
        return AgentError(f"{url} answered {status}: {error}")
    if isinstance(error, httpx.TimeoutException):
        return AgentError(f"{url} did not answer in time")
    return AgentError(f"{url} cannot be reached: {str(error) or type(error).__name__}")


def words_of(error: httpx.HTTPError) -> str:
    """Return a server's own words."""
    with contextlib.suppress(ValueError, KeyError, TypeError):
        if isinstance(error, httpx.HTTPStatusError):
            return str(parse_json(error.response.content)["detail"])
    return str(error)


def retry_after(error: httpx.HTTPError) -> float:
    """Return the seconds that a server wants to be left alone for; 0 where it does not say."""
    response = error.response if isinstance(error, httpx.HTTPStatusError) else None
    text = response.headers.get("retry-after", "") if response is not None else ""
    return float(text) if text.isascii() and text.isdigit() else 0.0


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
    raise InputError("--assistant", f"The server has no {name!r}; known: {names}")


def run_error(failure: Any) -> AgentError:
    """Return a run's failure as ours; servers send {error, message}.

    A wrong setting of the server is a ConfigurationError, a full disk has the code `store_failed`:
    every other run there would meet them, too. An input that cannot be used has the code `input`.
    """
    kind = failure.get("error") if isinstance(failure, Mapping) else None
    if isinstance(failure, Mapping):
        failure = failure.get("message") or kind
    message = str(failure or "The run failed; ask again.")
    if kind == ConfigurationError.__name__:
        name, _, problem = message.partition(" ")
        return ConfigurationError(name.removesuffix(":"), problem or "cannot be used")
    coded = {error.__name__: error.code for error in (InputError, StoreFailed)}
    return AgentError(message, code=coded.get(str(kind)))


def checked_settings(
    texts: Mapping[str, str], schema: Mapping[str, Any], *, saves: bool = False
) -> dict[str, Any]:
    """The values in the schema's types; raises ConfigurationError naming the key.

    With `saves` (an answer that is kept in a file) links are resolved where the server can.
    """
    properties = schema.get("properties") or {}
    checked: dict[str, Any] = {}
    for key, text in texts.items():
        if key not in properties:
            names = ", ".join(properties) or "none"
            raise ConfigurationError(
                f"--set {key}", f"The server has no such setting; known: {names}"
            )
        checked[key] = _parse_value(key, text, _resolve_reference(properties[key], schema))
    if saves and "resolve_links" in properties:
        checked.setdefault("resolve_links", True)
    return checked


def _resolve_reference(rule: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The rule behind a `$ref`, or the one of a union that is not null."""
    if reference := rule.get("$ref"):
        name = str(reference).rsplit("/", 1)[-1]
        return _resolve_reference((schema.get("$defs") or {}).get(name, {}), schema)
    for choice in rule.get("anyOf", []):
        if choice.get("type") != "null":
            return _resolve_reference(choice, schema)
    return rule


def _parse_value(key: str, text: str, rule: Mapping[str, Any]) -> Any:
    value = _typed(key, text, rule.get("type"))
    options = rule.get("enum")
    if options is not None and value not in options:
        raise ConfigurationError(f"--set {key}", f"must be one of {', '.join(map(str, options))}")
    low, high = rule.get("minimum"), rule.get("maximum")
    if low is not None and value < low:
        raise ConfigurationError(f"--set {key}", f"must be at least {low}")
    if high is not None and value > high:
        raise ConfigurationError(f"--set {key}", f"must be at most {high}")
    return value


def _finite(number: float) -> float:
    """Return the number; raise ValueError for what JSON has no word for."""
    if not math.isfinite(number):
        raise ValueError
    return number


def _typed(key: str, text: str, kind: Any) -> Any:
    try:
        if kind == "integer":
            return int(text)
        if kind == "number":
            return _finite(float(text))
    except ValueError:
        raise ConfigurationError(f"--set {key}", f"must be a number, not {text!r}") from None
    if kind != "boolean":
        return text
    if text.lower() not in ("true", "false", "1", "0", "yes", "no", "on", "off"):
        raise ConfigurationError(f"--set {key}", f"must be true or false, not {text!r}")
    return text.lower() in ("true", "1", "yes", "on")
