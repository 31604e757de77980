"""Tell why a model service refused, by its status and by its own words.

The vendors word a dozen causes in some hundred ways, and send them with whatever status. A new
wording is a phrase in `refusals.toml`. Phrases are compared without case, blanks and signs, so that
`data_inspection_failed` and `DataInspectionFailed` are one.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

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
    r"(?:context (?:length|size|window)|model length|max_model_len|tokens allowed|input length"
    r"|max_new_tokens)[^0-9]{0,40}(?:1, ?)?([0-9]{3,8})"
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
        message=str(inner.get("message") or inner.get("msg") or inner.get("detail") or ""),
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
    return failure_of(body) if is_error else None


def _inner(body: Any) -> Mapping[str, Any]:
    if isinstance(body, list) and body:
        body = body[0]
    if isinstance(body, str):
        return {"message": body}
    if not isinstance(body, Mapping):
        return {}
    inner = body.get("error") or body
    return inner if isinstance(inner, Mapping) else {**body, "message": str(inner)}


def _number(word: Any) -> int | None:
    """Return an HTTP status that stands in a body, as a number or its digits."""
    text = str(word)
    return int(text) if len(text) == 3 and text.isdecimal() and text[0] in "345" else None
