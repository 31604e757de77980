"""Keep keys out of text: every configured secret is registered here and replaced in print."""

import json
import logging
import re
import threading
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, quote_plus

HIDDEN = "[hidden]"
_KEY_IN_URL = re.compile(r"(?i)\b((?:api_?key|key|ak|access_token|token)=)[^&\s\"'<>]{6,}")
_SECRET = re.compile(
    r"(^|_)(api_?keys?|keys?|token|secrets?|pass(word|wd|phrase)s?|credentials?|authorization"
    r"|cookies?|bearer)$"
)
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+")
_secrets: set[str] = set()
_lock = threading.Lock()


def hide(secret: str | None) -> None:
    """Remember a secret (and its URL-encoded forms) for the rest of the process."""
    if not secret or len(secret) < 4:
        return
    with _lock:
        _secrets.update({secret, quote(secret, safe=""), quote_plus(secret)})


def scrub(text: str) -> str:
    """Return the text without any registered secret and without `key=…` in URLs."""
    for secret in sorted(_secrets, key=len, reverse=True):
        if secret in text:
            text = text.replace(secret, HIDDEN)
    return _KEY_IN_URL.sub(rf"\1{HIDDEN}", text)


def is_secret(name: str) -> bool:
    """Return whether a value of this name is probably a key: `apiKey`, `x-api-key`, `PASSWORD`."""
    return bool(_SECRET.search(_HUMP.sub("_", name).lower()))


class ScrubbingFilter(logging.Filter):
    """Scrub the finished message and the traceback of every record that passes a log writer."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg = scrub(record.getMessage())
        record.args = ()
        if record.exc_info and not record.exc_text:
            record.exc_text = logging.Formatter().formatException(record.exc_info)
        if record.exc_text:
            record.exc_text = scrub(record.exc_text)
        return True


def scrub_values(value: Any) -> Any:
    """Return plain JSON values without any key in any text."""
    if isinstance(value, str):
        return scrub(value)
    if isinstance(value, Mapping):
        return {str(name): scrub_values(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [scrub_values(inner) for inner in value]
    if value is None or isinstance(value, bool | int | float):
        return value
    return scrub(json.dumps(value, ensure_ascii=False, default=str))
