"""Translate third-party failures into our errors, without keys or a library's own text."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from agent.core.errors import (
    AgentError,
    MalformedReply,
    ProviderError,
    ProviderRefused,
    ProviderUnavailable,
    RateLimited,
)
from agent.models.catalogue import retirement

PROVIDER_GOOGLE = "model:google"
PROVIDER_OPENAI = "model:openai"
_CLIP = 200
_TRANSPORT_MODULES = ("aiohttp", "httpx", "httpcore", "httpx2", "httpcore2", "socksio", "anyio")
_DROPPED = ("RemoteProtocol", "Disconnected", "Payload", "ReadError", "Reset", "OSError", "Closed")
_TIMED_OUT = ("Timeout",)
_NOT_CONNECTED = ("ConnectorError", "ConnectError", "ConnectTimeout", "ConnectionTimeoutError",
                  "ConnectionRefused", "gaierror")  # fmt: skip
_CONTEXT = (
    "exceeds the maximum number of tokens",
    "token limit",
    "maximum context length",
    "context_length_exceeded",
    "context window",
    "prompt is too long",
)


@dataclass(frozen=True)
class Failure:
    """Hold an HTTP answer that is no success, whoever sent it."""

    status: int
    message: str = ""
    words: str = ""
    """Every status, reason and type word of the body, lower case."""
    details: tuple[Mapping[str, Any], ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)


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
        if (failure := _failure(cause)) is not None:
            return _refusal(failure, provider, model)
    if any(_is(type(cause).__name__, _NOT_CONNECTED) for cause in _chain(error)):
        message = f"{model}: the service cannot be reached"
        return ProviderUnavailable(provider, message, code="unreachable")
    for cause in _chain(error):
        if (transport_error := _transport(cause, provider, model)) is not None:
            return transport_error
    if isinstance(error, ValueError | TypeError | KeyError | AttributeError | LookupError):
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
    body = getattr(error, "details", None) or getattr(error, "body", None)
    status = getattr(error, "status_code", None) or getattr(error, "code", None)
    module = type(error).__module__.partition(".")[0]
    if module not in ("google", "langchain_google_genai", "openai", "langchain_openai"):
        return None
    inner = _inner(body)
    if not isinstance(status, int):
        status = inner.get("code") if isinstance(inner.get("code"), int) else None
    if status is None and not inner:
        return None
    words = (inner.get("status"), inner.get("code"), inner.get("type"), inner.get("param"))
    details = tuple(d for d in inner.get("details") or () if isinstance(d, Mapping))
    response = getattr(error, "response", None)
    return Failure(
        # An error object inside a stream has no status; it is the service's own failure.
        status=int(status or 500),
        message=str(inner.get("message") or ""),
        words=" ".join(str(w) for w in (*words, *(d.get("reason") for d in details)) if w).lower(),
        details=details,
        headers=getattr(response, "headers", None) or {},
    )


def _inner(body: Any) -> Mapping[str, Any]:
    if isinstance(body, list) and body:
        body = body[0]
    if not isinstance(body, Mapping):
        return {}
    inner = body.get("error", body)
    return inner if isinstance(inner, Mapping) else {"message": str(inner)}


def _refusal(failure: Failure, provider: str, model: str) -> ProviderError:
    status, text = failure.status, failure.message.lower()

    def refused(code: str, message: str) -> ProviderRefused:
        return ProviderRefused(provider, f"{model}: {message}", code=code)

    if status == 401 or "api_key_invalid" in failure.words or "invalid_api_key" in failure.words:
        return refused("model_key_invalid", "the API key is not valid")
    if "unsupported_country" in failure.words or ("location" in text and status in (400, 403)):
        return refused("model_region", "the service is not available from this location")
    if status == 402:
        return refused("model_quota", "the account has no balance left")
    if status == 403:
        return refused("model_forbidden", "this key may not use the model")
    if status == 404:
        return refused("model_missing", _missing(model))
    if status == 429:
        return _rate_limit(failure, provider, model)
    if status == 413 or any(word in text or word in failure.words for word in _CONTEXT):
        return refused("model_context", "the request is too long for the model")
    if status >= 500 or status in (408, 409, 425, 499):
        return ProviderUnavailable(provider, f"{model}: the service failed (HTTP {status})")
    if "content_filter" in failure.words or "inappropriate" in text:
        return refused("model_blocked", "the request was blocked by the service")
    message = " ".join(failure.message.split())[:_CLIP] or f"HTTP {status}"
    return refused("model_bad_request", f"the request was refused: {message}")


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
    if "insufficient_quota" in failure.words or "limit: 0," in failure.message:
        return ProviderRefused(provider, f"{model}: the key has no quota", code="model_quota")
    return RateLimited(provider, f"{model}: too many requests", retry_after=_retry_after(failure))


def _retry_after(failure: Failure) -> float | None:
    """Return seconds, from Google's RetryInfo or the Retry-After header."""
    waits = [str(detail["retryDelay"]) for detail in failure.details if detail.get("retryDelay")]
    waits.append(
        str(failure.headers.get("retry-after") or failure.headers.get("Retry-After") or "")
    )
    for text in waits:
        try:
            return max(0.0, float(text.removesuffix("s")))
        except ValueError:
            continue
    return None


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
