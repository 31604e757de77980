"""Search hits, and make them safe to pass on."""

import html
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import urlsplit

from pydantic import SecretStr

from agent.core.budget import Meter
from agent.core.calls import Calls, Policy
from agent.evidence.citations import id_letters, read_marker
from agent.evidence.queries import clean_text
from agent.search.http import SearchHttp
from agent.search.types import Hit

MAX_QUERY = 400
MAX_SNIPPET = 700
_TAG = re.compile(r"</?(?:b|em|strong|mark|i|br|p|span)\b[^<>]{0,200}>", re.IGNORECASE)
_BRACKETED = re.compile(r"[ \t]*[\[【［]([^\[\]【】［］\n]{1,200})[\]】］]")


@dataclass(frozen=True)
class Endpoint:
    """Hold the address and key of a service; without a key only a keyless one works."""

    base_url: str
    key: SecretStr | None
    default_count: int
    timeout: float

    def url(self, path: str) -> str:
        return self.base_url.rstrip("/") + path

    def secret(self) -> str:
        return self.key.get_secret_value() if self.key else ""


class HitSearch(ABC):
    """Search hits, paid for once in a turn; a subclass sends the request."""

    name: str
    max_count: int = 20

    def __init__(self, http: SearchHttp, calls: Calls, endpoint: Endpoint) -> None:
        self._http = http
        self._calls = calls
        self._endpoint = endpoint
        self._policy = Policy(
            self.name, spends="searches", timeout=endpoint.timeout, attempts=3, breaker=True
        )

    async def search(self, query: str, *, meter: Meter, count: int | None = None) -> list[Hit]:
        """Return at most `count` hits, paid for once in a turn; raise ProviderError."""
        cleaned = clean_text(query, MAX_QUERY)
        if not cleaned:
            return []
        most = max(1, min(count or self._endpoint.default_count, self.max_count))

        async def send() -> str:
            hits = _distinct(await self.fetch(cleaned, most))[:most]
            return json.dumps([asdict(hit) for hit in hits], ensure_ascii=False)

        request = {"query": cleaned, "count": most}
        reply = await self._calls.once(self._policy, send, meter=meter, request=request)
        return [Hit(**row) for row in json.loads(reply)]

    @abstractmethod
    async def fetch(self, query: str, count: int) -> list[Hit | None]:
        """Send one request; return hits (None: unusable) or raise ProviderError."""


def make_hit(
    title: Any, url: Any, snippet: Any, *, site: Any = None, published: Any = None
) -> Hit | None:
    """Return a hit of one-line plain texts, or None without an http(s) link."""
    link = url.strip() if isinstance(url, str) else ""
    try:
        split = urlsplit(link)
        host = split.hostname or ""
    except ValueError:
        return None
    if split.scheme not in ("http", "https") or not host or re.search(r"\s", link):
        return None
    return Hit(
        title=plain(title, 200) or host,
        url=link,
        snippet=plain(snippet, MAX_SNIPPET),
        site=plain(site, 80) or host.removeprefix("www."),
        published=plain(published, 40) or None,
    )


def plain(text: Any, limit: int) -> str:
    """Return one line without emphasis tags, entities, hidden characters or citation markers.

    A page could write our markers to have itself cited under another source's name.
    """
    if not isinstance(text, str):
        return ""
    visible = clean_text(html.unescape(_TAG.sub("", text)), 4 * limit)
    return only_known(visible, ())[:limit].strip()


def only_known(text: str, ids: Collection[str]) -> str:
    """Keep only markers of known ids, in one spelling: `[w0-1, w9-9]` is `[^w0-1]`."""
    letters = id_letters(ids)

    def known_markers(bracket: re.Match[str]) -> str:
        names = read_marker(bracket[1], letters)
        if names is None:
            return bracket[0]
        return "".join(f"[^{name}]" for name in dict.fromkeys(names) if name in ids)

    return _BRACKETED.sub(known_markers, text)


def rows(value: Any) -> list[Mapping[str, Any]]:
    """Return the objects of a list that may be null, missing or hold anything."""
    return [row for row in value if isinstance(row, Mapping)] if isinstance(value, list) else []


def fields(value: Any) -> Mapping[str, Any]:
    """Return an object that may be null or missing."""
    return value if isinstance(value, Mapping) else {}


def _distinct(hits: Iterable[Hit | None]) -> list[Hit]:
    by_url: dict[str, Hit] = {}
    for hit in hits:
        if hit:
            by_url.setdefault(hit.url, hit)
    return list(by_url.values())
