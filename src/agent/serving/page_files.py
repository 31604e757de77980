"""The page's files as they lie in the package, compressed once, with what tells them apart."""

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
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_NO_GZIP = re.compile(r"gzip\s*;\s*q=0(\.0*)?\s*(,|$)")


@dataclass(frozen=True)
class PageFile:
    """One file; `etag` is weak, for it stands for the compressed bytes, too."""

    body: bytes
    packed: bytes
    etag: str
    media_type: str

    def respond(self, request: Request, headers: dict[str, str]) -> Response:
        """The file, or that the copy the browser has is still right."""
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
        self._kept: dict[Path, tuple[tuple[int, int], PageFile]] = {}

    def find(self, *names: str) -> PageFile | None:
        """The file by the names of its folders and its own; None where the page has none such.

        Reads the disk.
        """
        if not all(_NAME.fullmatch(name) for name in names):
            return None
        path = self._folder.joinpath(*names)
        media_type = TYPES.get(path.suffix)
        if media_type is None or not path.is_file():
            return None
        found = path.stat()
        version = (found.st_mtime_ns, found.st_size)
        kept = self._kept.get(path)
        if kept is None or kept[0] != version:
            self._kept[path] = kept = version, _read(path, media_type)
        return kept[1]


def _read(path: Path, media_type: str) -> PageFile:
    body = path.read_bytes()
    etag = f'W/"{sha256(body).hexdigest()[:24]}"'
    return PageFile(body, gzip.compress(body, mtime=0), etag, media_type)


def _knows(if_none_match: str, etag: str) -> bool:
    given = (tag.strip().removeprefix("W/") for tag in if_none_match.split(","))
    return any(tag in ("*", etag.removeprefix("W/")) for tag in given)


def _takes_gzip(accept_encoding: str) -> bool:
    accepted = accept_encoding.lower()
    return "gzip" in accepted and not _NO_GZIP.search(accepted)
