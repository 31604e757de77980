"""Translate third-party failures into our errors, without keys or a library's own text.

Why a model service refused is told by its status and by its own words. The vendors word a dozen
causes in some hundred ways, and send them with whatever status. A new wording is a phrase in
`refusals.toml`. Phrases are compared without case, blanks and signs, so that
`data_inspection_failed` and `DataInspectionFailed` are one.
"""

import contextlib
import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any
from urllib.parse import urlsplit

import httpx

from agent.core.calls import retry_after_seconds
from agent.core.errors import (
    AgentError,
    MalformedReply,
    ProviderError,
    ProviderRefused,
    ProviderUnavailable,
    RateLimited,
)
from agent.core.outside import parse_json
from agent.core.strings import has_any
from agent.models.catalogue import retirement

_LONGEST = 2000
"""Characters of a message that are looked at."""


def _bare(text: str) -> str:
    return "".join(filter(str.isalnum, text.lower()))


_PHRASES: Mapping[str, Sequence[str]] = tomllib.loads(
    files(__package__).joinpath("refusals.toml").read_text(encoding="utf-8")
)
_KINDS = {code: tuple(map(_bare, phrases)) for code, phrases in _PHRASES.items()}
_STATUS: Mapping[int, str] = {
    401: "model_key_invalid",
    402: "model_quota",
    403: "model_forbidden",
    405: "model_address",
    407: "proxy",
    413: "model_context",
    429: "rate_limited",
}
_PASSING = (408, 409, 425, 499)
_WINDOW = re.compile(
    r"(?:context (?:length|size|window)|(?:model|allowed) length|max_model_len|max_input_len"
    r"|max_seq_len|n_ctx|tokens allowed|range of input length|max_new_tokens|have less than"
    r"|exceeds the limit)[^0-9]{0,40}(?:1, ?)?([0-9]{3,8})"
    r"|([0-9]{3,8}) maximum"
)
_SENT = re.compile(r"([0-9]{3,8})\)? (?:input )?tokens")


@dataclass(frozen=True)
class Failure:
    """Hold an answer that is no success, whoever sent it."""

    status: int
    message: str = ""
    words: str = ""
    """Every status, reason and type word of the body, lower case."""
    details: tuple[Mapping[str, Any], ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    fields: Mapping[str, Any] = field(default_factory=dict)
    """The error object of the body."""

    @property
    def is_page(self) -> bool:
        """Tell a web page (a proxy's, a firewall's, a sign-in's) from a service's own words."""
        return is_page(self.message)

    @property
    def code(self) -> str:
        """Return the cause: by the service's words where they are known, else by the status."""
        if self.is_page:
            return self._page_code
        bare = _bare(f"{self.words} {self.message[:_LONGEST]}")
        for code, phrases in _KINDS.items():
            # "Too large, tokens a minute" is a limit of the minute, whatever else it says.
            if (code, self.status) != ("model_context", 429) and any(p in bare for p in phrases):
                return code
        if 300 <= self.status < 400:
            return "model_redirect"
        if self.status == 404:
            return "model_missing" if "model" in bare else "model_address"
        if self.status >= 500 or self.status in _PASSING:
            return "unavailable"
        return _STATUS.get(self.status, "model_bad_request")

    @property
    def _page_code(self) -> str:
        if self.status in (404, 405):
            return "model_address"
        if 300 <= self.status < 400:
            return "model_redirect"
        return "unavailable" if self.status >= 500 else _STATUS_OF_PAGE.get(self.status, _PAGE)

    @property
    def window(self) -> int | None:
        """Return the tokens that the model takes, where the service says so."""
        if isinstance(size := self.fields.get("n_ctx"), int):
            return size
        match = _WINDOW.search(self.message[:_LONGEST].lower())
        return int(match[1] or match[2]) if match else None

    @property
    def sent(self) -> int | None:
        """Return the tokens that the prompt had, where the service says so."""
        if isinstance(size := self.fields.get("n_prompt_tokens"), int):
            return size
        sizes = [int(size) for size in _SENT.findall(self.message[:_LONGEST].lower())]
        return max((size for size in sizes if size > (self.window or 0)), default=None)


_PAGE = "web_page"
_STATUS_OF_PAGE = {401: "model_key_invalid", 407: "proxy", 429: "rate_limited"}


def is_page(text: str) -> bool:
    """Tell HTML by its first sign."""
    return text.lstrip("\ufeff \t\r\n")[:1] == "<"


_MESSAGES = ("message", "msg", "detail", "status_msg")


def failure_of(
    body: Any, status: int | None = None, headers: Mapping[str, str] | None = None
) -> Failure | None:
    """Return a failure as one shape; None where neither status nor body tells of one.

    A status within the body counts more than that of the reply, which gateways make up.
    """
    inner = _inner(body)
    if status is None and not inner:
        return None
    words = (inner.get("status"), inner.get("code"), inner.get("type"), inner.get("param"))
    details = inner.get("details")
    details = details if isinstance(details, list) else ()
    details = tuple(each for each in details if isinstance(each, Mapping))
    within = _number(inner.get("code")) or _number(inner.get("status"))
    return Failure(
        # An error object inside a stream has no status; it is the service's own failure.
        status=status if status and status >= 300 else within or 500,
        message=next((str(inner[name]) for name in _MESSAGES if inner.get(name)), ""),
        words=" ".join(str(w) for w in (*words, *(d.get("reason") for d in details)) if w).lower(),
        details=details,
        headers=headers or {},
        fields=inner,
    )


def error_in(body: Any) -> Failure | None:
    """Return the failure that a reply with HTTP 200 holds instead of what was asked for."""
    if not isinstance(body, Mapping) or body.get("choices") or body.get("candidates"):
        return None
    is_error = any(body.get(name) for name in ("error", "detail", "message", "msg"))
    return failure_of(body) if is_error or _base(body) else None


def _base(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return how a reply of MiniMax failed: it tells of each in a field of its own."""
    base = body.get("base_resp")
    return base if isinstance(base, Mapping) and base.get("status_code") else None


def _inner(body: Any) -> Mapping[str, Any]:
    if isinstance(body, list) and body:
        body = body[0]
    if isinstance(body, str):
        return {"message": body}
    if not isinstance(body, Mapping):
        return {}
    inner = body.get("error") or _base(body) or body
    return inner if isinstance(inner, Mapping) else {**body, "message": str(inner)}


def _number(word: Any) -> int | None:
    """Return an HTTP status that stands in a body, as a number or its digits."""
    text = str(word)
    return int(text) if len(text) == 3 and text.isdecimal() and text[0] in "345" else None


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
def translate_errors(provider: str, model: str, *, is_own: bool = False) -> Iterator[None]:
    """Translate errors inside; cancellation and our own errors pass.

    `is_own` is for a server in one's own network: one that takes no connection was not started.
    """
    try:
        yield
    except AgentError:
        raise
    except Exception as error:
        translated = translate(error, provider, model)
        if is_own and translated.code == "unreachable":
            translated.code = "model_not_running"
        raise translated from error


def translate(error: Exception, provider: str, model: str) -> ProviderError:
    """Return the one of our errors that says what to do about `error`."""
    for cause in _chain(error):
        if isinstance(cause, ProviderError):
            return cause
        if (failure := _failure(cause)) is not None:
            return _refusal(failure, provider, model)
    if any(has_any(type(cause).__name__, _NO_ADDRESS) for cause in _chain(error)):
        message = f"{model}: {_SAID['model_address']}"
        return ProviderRefused(provider, message, code="model_address")
    if any(has_any(type(cause).__name__, _NOT_CONNECTED) for cause in _chain(error)):
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
    may_fail = any(name in body for name in (b'"error"', b'"base_resp"'))
    if not may_fail and (b'"choices"' in body or b'"data"' in body):
        return
    with contextlib.suppress(ValueError):
        refuse_error_object(parse_json(body), PROVIDER_OPENAI)


def refuse_error_object(reply: Any, provider: str) -> None:
    """Raise the ProviderError that stands in a reply instead of what was asked for."""
    if failure := error_in(reply):
        raise _refusal(failure, provider, "")


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
    wait = next(
        (seconds for text in waits if (seconds := retry_after_seconds(text)) is not None), None
    )
    return RateLimited(provider, f"{model}: too many requests", retry_after=wait)


def _transport(error: BaseException, provider: str, model: str) -> ProviderError | None:
    name, module = type(error).__name__, type(error).__module__.partition(".")[0]
    if isinstance(error, json.JSONDecodeError | UnicodeDecodeError) or "ApiResponse" in name:
        return MalformedReply(provider, f"{model}: the reply is not JSON")
    if isinstance(error, TimeoutError) or (
        module in _TRANSPORT_MODULES and has_any(name, _TIMED_OUT)
    ):
        return ProviderUnavailable(provider, f"{model}: no answer in time", code="timeout")
    if name == "ContentTypeError":
        return MalformedReply(provider, f"{model}: the reply is not JSON")
    if isinstance(error, ConnectionResetError) or (
        module in _TRANSPORT_MODULES and has_any(name, _DROPPED) and "Connector" not in name
    ):
        return ProviderUnavailable(provider, f"{model}: the connection was dropped")
    if isinstance(error, OSError) or module in (*_TRANSPORT_MODULES, "openai"):
        return ProviderUnavailable(provider, f"{model}: the service cannot be reached")
    return None
