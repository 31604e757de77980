"""Translate third-party failures into our errors, without keys or a library's own text."""

import contextlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import httpx

from agent.core.calls import retry_after
from agent.core.errors import (
    AgentError,
    MalformedReply,
    ProviderError,
    ProviderRefused,
    ProviderUnavailable,
    RateLimited,
)
from agent.core.outside import parse_json
from agent.models.catalogue import retirement
from agent.models.refusals import Failure, error_in, failure_of, is_page

PROVIDER_GOOGLE = "model:google"
PROVIDER_OPENAI = "model:openai"
_CLIP = 200
_TRANSPORT_MODULES = ("aiohttp", "httpx", "httpcore", "httpx2", "httpcore2", "socksio", "anyio")
_DROPPED = ("RemoteProtocol", "Disconnected", "Payload", "ReadError", "Reset", "OSError", "Closed")
_TIMED_OUT = ("Timeout",)
_NO_ADDRESS = ("InvalidURL", "InvalidUrl", "UnsupportedProtocol")
_NOT_CONNECTED = ("ConnectorError", "ConnectError", "ConnectTimeout", "ConnectionTimeoutError",
                  "ConnectionRefused", "gaierror")  # fmt: skip


_OUTSIDE_PROTOCOL = (
    ValueError, TypeError, AttributeError, LookupError, ArithmeticError, RecursionError,
)  # fmt: skip
"""What libraries raise on a reply that is none, such as one nested thousands deep."""


class PromptTooLong(ProviderRefused):
    """Report a prompt beyond the model's window; the tokens of both where the service says so."""

    def __init__(self, provider: str, message: str, *, window: int | None, sent: int | None):
        self.window, self.sent = window, sent
        super().__init__(provider, message, code="model_context")


@contextmanager
def translate_errors(provider: str, model: str) -> Iterator[None]:
    """Translate errors inside; cancellation and our own errors pass."""
    try:
        yield
    except AgentError:
        raise
    except Exception as error:
        raise translate(error, provider, model) from error


def translate(error: Exception, provider: str, model: str) -> ProviderError:
    """Return the one of our errors that says what to do about `error`."""
    for cause in _chain(error):
        if isinstance(cause, ProviderError):
            return cause
        if (failure := _failure(cause)) is not None:
            return _refusal(failure, provider, model)
    if any(_is(type(cause).__name__, _NO_ADDRESS) for cause in _chain(error)):
        message = f"{model}: {_SAID['model_address']}"
        return ProviderRefused(provider, message, code="model_address")
    if any(_is(type(cause).__name__, _NOT_CONNECTED) for cause in _chain(error)):
        message = f"{model}: the service cannot be reached"
        return ProviderUnavailable(provider, message, code="unreachable")
    for cause in _chain(error):
        if (transport_error := _transport(cause, provider, model)) is not None:
            return transport_error
    if isinstance(error, _OUTSIDE_PROTOCOL):
        return MalformedReply(
            provider, f"{model}: a reply outside its protocol ({type(error).__name__})"
        )
    return ProviderUnavailable(provider, f"{model}: the call failed ({type(error).__name__})")


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield the error and its causes, nearest first."""
    chain: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and current not in chain and len(chain) < 8:
        chain.append(current)
        yield current
        current = current.__cause__ or current.__context__


def _failure(error: BaseException) -> Failure | None:
    """Return Google's APIError or openai's APIStatusError as one shape; None for anything else."""
    module = type(error).__module__.partition(".")[0]
    if module not in ("google", "langchain_google_genai", "openai", "langchain_openai"):
        return None
    body = getattr(error, "details", None) or getattr(error, "body", None)
    status = getattr(error, "status_code", None) or getattr(error, "code", None)
    response = getattr(error, "response", None)
    headers = getattr(response, "headers", None) or {}
    return failure_of(body, status if isinstance(status, int) else None, headers)


async def refuse_false_success(response: httpx.Response) -> None:
    """Raise the ProviderError of a reply that is none, though its status says success.

    Gateways put their errors, and captive portals their pages, into HTTP 200. To be called when
    the headers of a reply have come.
    """
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if not response.is_success or kind == "text/event-stream":
        return
    body = await response.aread()
    if is_page(head := body[:64].decode("utf-8", "replace")):
        raise _refusal(Failure(response.status_code, head), PROVIDER_OPENAI, "")
    if b'"error"' not in body and (b'"choices"' in body or b'"data"' in body):
        return
    with contextlib.suppress(ValueError):
        refuse_error_object(parse_json(body), PROVIDER_OPENAI, "")


def refuse_error_object(reply: Any, provider: str, model: str) -> None:
    """Raise the ProviderError that stands in a reply instead of what was asked for."""
    if failure := error_in(reply):
        raise _refusal(failure, provider, model)


_SAID = {
    "model_key_invalid": "the API key is not valid",
    "model_region": "the service is not available from this location",
    "model_quota": "the account has no balance or quota left",
    "model_forbidden": "this key may not use the model",
    "model_blocked": "the request was blocked by the service",
    "model_context": "the request is too long for the model",
    "model_address": "nothing at this address answers as a model service",
    "web_page": "a web page answered instead of the model service",
    "proxy": "the proxy does not let us through",
}


def _refusal(failure: Failure, provider: str, model: str) -> ProviderError:
    """Return the error of a cause, with the service's own words for the operator."""
    code, status = failure.code, failure.status
    words = "" if failure.is_page else " ".join(failure.message.split())[:_CLIP]
    about = f"{model}: " if model else ""
    ending = f" ({words})" if words else f" (HTTP {status})"
    match code:
        case "rate_limited":
            return _rate_limit(failure, provider, model)
        case "unavailable":
            return ProviderUnavailable(provider, f"{about}the service failed{ending}")
        case "model_loading":
            return ProviderUnavailable(provider, f"{about}it is still loading", code=code)
        case "model_context":
            text = f"{about}{_SAID[code]}{ending}"
            return PromptTooLong(provider, text, window=failure.window, sent=failure.sent)
        case "model_missing":
            text = _missing(model)
        case "model_redirect":
            text = f"the address redirects to {_target(failure.headers)}"
        case "model_bad_request":
            text = f"the request was refused: {words or f'HTTP {status}'}"
        case _:
            text = f"{_SAID[code]}{ending}"
    return ProviderRefused(provider, f"{about}{text}", code=code)


def _target(headers: Mapping[str, str]) -> str:
    """Return where a redirect leads, without what may be secret in it."""
    parts = urlsplit(headers.get("location") or headers.get("Location") or "")
    return f"{parts.scheme}://{parts.hostname}{parts.path}" if parts.hostname else parts.path


def _missing(model: str) -> str:
    if successor := retirement(model):
        return f"the model is retired; use {successor}"
    return "the service does not know this model"


def _rate_limit(failure: Failure, provider: str, model: str) -> ProviderError:
    quotas = " ".join(
        f"{violation.get('quotaId', '')} {violation.get('quotaMetric', '')}"
        for detail in failure.details
        for violation in detail.get("violations") or ()
        if isinstance(violation, Mapping)
    ).lower()
    if "perday" in quotas or "per_day" in quotas:
        return ProviderRefused(
            provider, f"{model}: the quota of the day is spent", code="model_quota_day"
        )
    if "limit: 0," in failure.message:
        return ProviderRefused(provider, f"{model}: the key has no quota", code="model_quota")
    # Google's RetryInfo comes in the body.
    waits = [str(d["retryDelay"]).removesuffix("s") for d in failure.details if d.get("retryDelay")]
    waits.append(failure.headers.get("retry-after") or failure.headers.get("Retry-After") or "")
    wait = next((seconds for text in waits if (seconds := retry_after(text)) is not None), None)
    return RateLimited(provider, f"{model}: too many requests", retry_after=wait)


def _transport(error: BaseException, provider: str, model: str) -> ProviderError | None:
    name, module = type(error).__name__, type(error).__module__.partition(".")[0]
    if isinstance(error, json.JSONDecodeError | UnicodeDecodeError) or "ApiResponse" in name:
        return MalformedReply(provider, f"{model}: the reply is not JSON")
    if isinstance(error, TimeoutError) or (module in _TRANSPORT_MODULES and _is(name, _TIMED_OUT)):
        return ProviderUnavailable(provider, f"{model}: no answer in time", code="timeout")
    if name == "ContentTypeError":
        return MalformedReply(provider, f"{model}: the reply is not JSON")
    if isinstance(error, ConnectionResetError) or (
        module in _TRANSPORT_MODULES and _is(name, _DROPPED) and "Connector" not in name
    ):
        return ProviderUnavailable(provider, f"{model}: the connection was dropped")
    if isinstance(error, OSError) or module in (*_TRANSPORT_MODULES, "openai"):
        return ProviderUnavailable(provider, f"{model}: the service cannot be reached")
    return None


def _is(name: str, words: tuple[str, ...]) -> bool:
    return any(word in name for word in words)
