"""The page's files as they lie in the package, compressed once, with what tells them apart.

`index.html` is served with a line for every module, so that a browser loads all of them at once
instead of learning of each from the one before. A module is any script below `js` or `vendor`.
"""

import gzip
import re
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
"""What the page may consist of; anything else in its folder is not served."""
INDEX: Final = "index.html"
ENTRY: Final = "js/main.js"
"""The module that the page starts with; `INDEX` names it itself."""
_START = f'<script type="module" src="/app/{ENTRY}">'
_PRELOAD = '<link rel="modulepreload" fetchpriority="low" href="/app/{}">\n    '
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_Version = tuple[int, int, tuple[str, ...]]
"""When the file was changed (ns), its size in bytes, the modules it preloads."""
_NO_GZIP = re.compile(r"gzip\s*;\s*q=0(\.0*)?\s*(,|$)")


@dataclass(frozen=True)
class PageFile:
    """Hold one file; `etag` is weak, for it stands for the compressed bytes, too."""

    body: bytes
    packed: bytes
    etag: str
    media_type: str

    def respond(self, request: Request, headers: dict[str, str]) -> Response:
        """Return the file, or that the copy the browser has is still right."""
        headers = {
            **headers,
            "ETag": self.etag,
            "Cache-Control": "no-cache",
            "Vary": "Accept-Encoding",
        }
        if _knows(request.headers.get("if-none-match", ""), self.etag):
            return Response(status_code=304, headers=headers)
        if _takes_gzip(request.headers.get("accept-encoding", "")):
            headers["Content-Encoding"] = "gzip"
            return Response(self.packed, headers=headers, media_type=self.media_type)
        return Response(self.body, headers=headers, media_type=self.media_type)


class PageFiles:
    """Files of one folder; each is read again only when it has changed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._cache: dict[Path, tuple[_Version, PageFile]] = {}

    def find(self, *names: str) -> PageFile | None:
        """Return the file by the names of its folders and its own, None if the page has no such.

        Reads the disk.
        """
        if not all(_NAME.fullmatch(name) for name in names):
            return None
        path = self._folder.joinpath(*names)
        media_type = TYPES.get(path.suffix)
        if media_type is None or not path.is_file():
            return None
        modules = self._modules() if names == (INDEX,) else ()
        status = path.stat()
        version = (status.st_mtime_ns, status.st_size, modules)
        cached = self._cache.get(path)
        if cached is None or cached[0] != version:
            body = _preloading(path.read_bytes(), modules)
            self._cache[path] = cached = version, _packed(body, media_type)
        return cached[1]

    def _modules(self) -> tuple[str, ...]:
        """Return the addresses of all modules but the first, those of the libraries before ours."""
        paths = (
            path
            for part in ("vendor", "js")
            for path in sorted((self._folder / part).rglob("*.js"))
        )
        names = (path.relative_to(self._folder).as_posix() for path in paths)
        return tuple(name for name in names if name != ENTRY)


def _preloading(body: bytes, modules: tuple[str, ...]) -> bytes:
    """Return the page with a line for each module before the one that starts it."""
    lines = "".join(_PRELOAD.format(name) for name in modules)
    return body.replace(_START.encode(), (lines + _START).encode())


def _packed(body: bytes, media_type: str) -> PageFile:
    etag = f'W/"{sha256(body).hexdigest()[:24]}"'
    return PageFile(body, gzip.compress(body, mtime=0), etag, media_type)


def _knows(if_none_match: str, etag: str) -> bool:
    given = (tag.strip().removeprefix("W/") for tag in if_none_match.split(","))
    return any(tag in ("*", etag.removeprefix("W/")) for tag in given)


def _takes_gzip(accept_encoding: str) -> bool:
    accepted = accept_encoding.lower()
    return "gzip" in accepted and not _NO_GZIP.search(accepted)
