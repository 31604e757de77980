"""Serve the page at `/app` and what it asks besides LangGraph's own API.

`index.html` is served with a line for every module, so that a browser loads all of them at once
instead of learning of each from the one before. A module is any script below `js` or `vendor`.
All it loads has an address with the hash of the page's files, and is kept by browsers for good.

Who may ask is decided before: what needs a key and what does not, `security.access` lists.
"""

import gzip
import json
import logging
import posixpath
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from agent import __version__
from agent.assistants.common.conversation import MAX_QUESTION
from agent.assistants.common.services import LOOKED_FOR
from agent.core.concurrency import SlidingWindow
from agent.core.errors import ConfigurationError
from agent.core.outside import parse_json
from agent.core.redaction import scrub
from agent.core.strings import one_line, split_at
from agent.export.outing import qr_svg
from agent.sample.server import sample_notice
from agent.server.auth.api_keys import access, identify
from agent.server.auth.guard import RateLimit
from agent.server.base_map import BASEMAP, base_map, basemap_file
from agent.server.connect import can_connect, connect
from agent.server.documents import document_routes
from agent.server.exports import EXPORTS, changes, export, suggestions
from agent.server.health import readyz, settings_or_problem
from agent.server.http import (
    NotRead,
    limited_body,
    page_policy,
    private,
    private_json,
    security_headers,
)
from agent.server.person import memory_form
from agent.server.sign_in import SignIn
from agent.server.steering import steer
from agent.settings import Settings
from agent.texts import LANGUAGES, problem_text, table

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
TEXTS: Final = "js/texts.js"
ENTRY: Final = "js/main.js"
"""The module that the page starts with; `INDEX` names it itself."""
ICON: Final = "favicon.svg"
FOLDERS: Final = ("style", "js", "vendor")
"""What of the page is served, besides `INDEX` and `ICON`."""
FILES: Final = "/app/files/"
"""Where they are, each below the hash of all; `INDEX` names them without it."""
_RELATIVE: Final = FILES.removeprefix("/")
"""As `INDEX` names them: the page may lie below a prefix that a proxy takes off."""
_PRELOAD = f'<link rel="modulepreload" href="{_RELATIVE}{{}}">\n    '
_FIRST_MODULES, _OTHER_MODULES = "<!-- first modules -->", "<!-- other modules -->"
"""Where `INDEX` has the lines of the modules that the first view needs, and of all others."""
_STATIC_IMPORT = re.compile(rb'^import [^;]*?"([./][^"]+)";', re.MULTILINE)
LATER: Final = frozenset({"js/map/vector_tiles.js", "vendor/protomaps-leaflet.js"})
"""Modules that are only loaded where streets are drawn from vector tiles."""
_CODED, _LONGEST_CODED = "https://uri.amap.com/", 500
_KEPT = "public, max-age=31536000, immutable"
_Version = tuple[tuple[str, int, int], ...]
"""Of each file its address, when it was changed (ns) and its size in bytes."""


@dataclass(frozen=True)
class PageFile:
    """Hold one file of the page, as it is and compressed.

    One weak `etag` stands for both forms.
    """

    body: bytes
    compressed: bytes
    etag: str
    media_type: str

    def respond(
        self, request: Request, headers: dict[str, str], *, immutable: bool = False
    ) -> Response:
        """Return the file, or that the copy the browser has is still right.

        A file that is `immutable` is not asked for again; any other is, at each visit.
        """
        headers = {
            **headers,
            "ETag": self.etag,
            "Cache-Control": _KEPT if immutable else "no-cache",
            "Vary": "Accept-Encoding",
        }
        if _knows(request.headers.get("if-none-match", ""), self.etag):
            return Response(status_code=304, headers=headers)
        if _takes_gzip(request.headers.get("accept-encoding", "")):
            headers["Content-Encoding"] = "gzip"
            return Response(self.compressed, headers=headers, media_type=self.media_type)
        return Response(self.body, headers=headers, media_type=self.media_type)


class PageFiles:
    """Serve the files of the page's folder; all are read again when one has changed."""

    def __init__(self, folder: Path, generated: Mapping[str, bytes] | None = None) -> None:
        """Serve besides `generated`: modules that are no files, by their addresses."""
        self._folder = folder
        self._generated = generated or {}
        self._release: _Release | None = None

    def find(self, name: str, hash: str = "") -> tuple[PageFile | None, bool]:
        """Return the file by its address, None if there is none, and whether the hash is its own.

        Reads the disk.
        """
        release = self._current()
        return release.files.get(name), hash == release.hash

    def _current(self) -> "_Release":
        paths = [
            self._folder / INDEX,
            self._folder / ICON,
            *(path for part in FOLDERS for path in sorted((self._folder / part).rglob("*"))),
        ]
        found = {
            path.relative_to(self._folder).as_posix(): path
            for path in paths
            if path.suffix in TYPES and _is_plain(path.name) and path.is_file()
        }
        status = {name: path.stat() for name, path in found.items()}
        version = tuple((name, each.st_mtime_ns, each.st_size) for name, each in status.items())
        if self._release is None or self._release.version != version:
            bodies = {name: path.read_bytes() for name, path in found.items()}
            self._release = _release(version, {**bodies, **self._generated})
        return self._release


@dataclass(frozen=True)
class _Release:
    """Hold all files of the page as they belong together, by their addresses below the hash."""

    version: _Version
    hash: str
    files: Mapping[str, PageFile]


def _release(version: _Version, bodies: Mapping[str, bytes]) -> _Release:
    told = "".join(f"{name} {sha256(body).hexdigest()}\n" for name, body in sorted(bodies.items()))
    hash = sha256(told.encode()).hexdigest()[:16]
    files = {name: _page_file(body, TYPES[Path(name).suffix]) for name, body in bodies.items()}
    if INDEX in bodies:
        index = _index(bodies[INDEX], bodies, hash)
        files[INDEX] = _page_file(index, TYPES[".html"])
    return _Release(version, hash, files)


def _modules(names: Iterable[str]) -> list[str]:
    """Return the addresses of all modules but the entry, those of the libraries before ours."""
    at_once = (name for name in names if name != ENTRY and name not in LATER)
    modules = sorted(name for name in at_once if name.endswith(".js"))
    return sorted(modules, key=lambda name: not name.startswith("vendor/"))


def _needed(bodies: Mapping[str, bytes]) -> set[str]:
    """Return the modules that the entry imports, and those that they import, by its first view."""
    needed, open_ = set[str](), [ENTRY]
    while open_:
        name = open_.pop()
        for match in _STATIC_IMPORT.finditer(bodies.get(name, b"")):
            other = posixpath.normpath(posixpath.join(posixpath.dirname(name), match[1].decode()))
            if other not in needed:
                needed.add(other)
                open_.append(other)
    return needed


def _index(body: bytes, bodies: Mapping[str, bytes], hash: str) -> bytes:
    """Return the page with a line for each module, those of the first view apart."""
    needed, modules = _needed(bodies), _modules(bodies)
    first = "".join(_PRELOAD.format(name) for name in modules if name in needed)
    others = "".join(_PRELOAD.format(name) for name in modules if name not in needed)
    page = body.replace(_FIRST_MODULES.encode(), first.strip().encode())
    page = page.replace(_OTHER_MODULES.encode(), others.strip().encode())
    return page.replace(_RELATIVE.encode(), f"{_RELATIVE}{hash}/".encode())


_TABLES = (
    "page",
    "examples",
    "progress",
    "export",
    "records",
    "punctuation",
    "review",
    "changes",
    "preferred",
)


def texts_module() -> bytes:
    """Return the module that holds, in both languages, what the page says in its own words."""
    texts = {
        language: {
            f"{name}.{key}": text for name in _TABLES for key, text in table(name, language).items()
        }
        for language in LANGUAGES
    }
    return f"export const TEXTS = {json.dumps(texts, ensure_ascii=False)};\n".encode()


def _page_file(body: bytes, media_type: str) -> PageFile:
    etag = f'W/"{sha256(body).hexdigest()[:24]}"'
    return PageFile(body, gzip.compress(body, mtime=0), etag, media_type)


def _is_plain(name: str) -> bool:
    """Return whether a file's name is letters, digits and . _ -, which it does not begin with."""
    letters = "".join(split_at(name, "._-"))
    return name[0].isalnum() and name.isascii() and letters.isalnum()


def _knows(if_none_match: str, etag: str) -> bool:
    tags = (tag.strip().removeprefix("W/") for tag in if_none_match.split(","))
    return any(tag in ("*", etag.removeprefix("W/")) for tag in tags)


def _takes_gzip(accept_encoding: str) -> bool:
    codings = (coding.partition(";") for coding in accept_encoding.lower().split(","))
    weights = [weight.strip() for name, _, weight in codings if name.strip() == "gzip"]
    return any(not weight or weight.removeprefix("q=").strip("0.") for weight in weights)


log = logging.getLogger(__name__)
MOST_A_MINUTE = 20
_LONGEST_BODY = 16 * 1024
_FIELDS = ("effective-directive", "violated-directive", "blocked-uri", "source-file", "line-number")
_LONGEST_FIELD = 120


class PolicyReports:
    """Log reports of policy violations; anybody may send them, so they are limited."""

    def __init__(self) -> None:
        self._lines = SlidingWindow(MOST_A_MINUTE, 60)

    async def take(self, request: Request) -> Response:
        """Answer 204, whatever came: the sender can do nothing about it."""
        try:
            report = _report(await limited_body(request, _LONGEST_BODY))
        except (NotRead, ValueError, ClientDisconnect):
            report = {}
        if report and self._lines.admit():
            fields = [f"{name}={_field_text(report[name])}" for name in _FIELDS if report.get(name)]
            log.warning("the page's policy stopped something: %s", " ".join(fields) or "unnamed")
        return Response(status_code=204, headers=private(security_headers()))


def _report(body: bytes) -> Mapping[str, Any]:
    parsed = parse_json(body)
    report = parsed.get("csp-report") if isinstance(parsed, dict) else None
    return report if isinstance(report, dict) else {}


def _field_text(value: Any) -> str:
    return scrub(one_line(str(value), longest=_LONGEST_FIELD)).replace(" ", "_")


async def config_json(request: Request) -> JSONResponse:
    """Answer the configuration, as far as this caller may know it."""
    settings, problem = settings_or_problem()
    config = public_config(settings)
    user = identify(request.headers, access())
    if user is not None:
        config |= {"user": user or None, **caller_config(settings, problem)}
    return private_json(config)


def public_config(settings: Settings | None) -> dict[str, Any]:
    """Return what anybody sees: enough for the sign-in, and that data are samples if so."""
    return {
        "version": __version__,
        "keys": not access().open,
        "user": None,
        "mode": settings.mode if settings else "broken",
        "notice": _notice(settings),
    }


def caller_config(settings: Settings | None, problem: ConfigurationError | None) -> dict[str, Any]:
    """Return what the page needs to work; `problem` is why nothing can be answered."""
    tiles, why_not = base_map(settings) if settings else (None, "")
    _warn_once(why_not)
    # The policy's part of it is told in the policy.
    public_tiles = {key: value for key, value in tiles.items() if key != "hosts"} if tiles else None
    return {
        "reason": problem and {one: problem_text(problem, one) for one in LANGUAGES},
        "tiles": public_tiles,
        "photos": bool(settings and settings.place_photos),
        "max_question": MAX_QUESTION,
        "pdf": find_spec("reportlab") is not None,
        "sharing": access().sharing,
        "memory": memory_form(),
        "uploads": access().upload_bytes > 0,
        "connect": can_connect(settings),
    }


def _notice(settings: Settings | None) -> dict[str, str] | None:
    if settings is None or settings.mode != "offline":
        return None
    forced = settings.model_configured
    return {one: sample_notice(one, LOOKED_FOR, forced=forced) for one in LANGUAGES}


@lru_cache(maxsize=8)
def _warn_once(problem: str) -> None:
    if problem:
        log.warning("%s", problem)


FOLDER: Final = Path(__file__).parents[1] / "page"
_files = PageFiles(FOLDER, {TEXTS: texts_module()})


async def index(request: Request) -> Response:
    """Return the page, whose own script reads the thread and the question in its address.

    A question that another page's link brings must not cost anything before its reader says so.
    """
    if "q" in request.query_params and not _is_by_hand(request):
        query = urlencode({"draft": request.query_params["q"]})
        return RedirectResponse(f"app?{query}", headers=private(security_headers()))
    settings, _ = settings_or_problem()
    tiles = base_map(settings)[0] if settings else None
    policy = page_policy(tiles, photos=bool(settings and settings.place_photos))
    return await _serve(request, security_headers(policy), INDEX)


def _is_by_hand(request: Request) -> bool:
    """Tell whether the address was typed, a bookmark, or the page's own."""
    return request.headers.get("sec-fetch-site") in ("none", "same-origin")


async def root(request: Request) -> Response:
    """Send a browser to the page; tell anything else that the server is there."""
    if "text/html" in request.headers.get("accept", ""):
        return _sent_on("app", request)
    return private_json({"ok": True})


async def without_slash(request: Request) -> Response:
    """Send `/app/` on to `/app`, whose relative addresses are then right."""
    return _sent_on("../app", request)


def _sent_on(target: str, request: Request) -> Response:
    """Redirect to a relative address: below which prefix the page lies only the browser knows."""
    query = f"?{request.url.query}" if request.url.query else ""
    return RedirectResponse(f"{target}{query}", headers=private(security_headers()))


async def basemap(request: Request) -> Response:
    """Return the operator's own file of vector tiles."""
    return await basemap_file(settings_or_problem()[0], security_headers())


async def qr_code(request: Request) -> Response:
    """Return the QR code of a link to Amap as SVG; 400 for any other text."""
    url = request.query_params.get("url", "")
    if not url.startswith(_CODED) or len(url) > _LONGEST_CODED:
        return private_json({"detail": "no link to Amap"}, 400)
    headers = private(security_headers())
    return Response(qr_svg(url), headers=headers, media_type=TYPES[".svg"])


async def asset(request: Request) -> Response:
    """Return a file that the page loads: for good under the hash it has, else as it is now."""
    named = request.path_params
    return await _serve(request, security_headers(), named["name"], named["hash"])


async def _serve(request: Request, headers: dict[str, str], name: str, hash: str = "") -> Response:
    file, immutable = await run_in_threadpool(_files.find, name, hash)
    if file is None:
        return private_json({"detail": "not found"}, 404)
    return file.respond(request, headers, immutable=immutable)


def page_routes(rate_limit: RateLimit | None = None) -> list[Route]:
    """Return `/`, `/readyz` and all under `/app`; the sign-in counts wrong keys by the limit."""
    sign_in = SignIn(rate_limit)
    runs = "/app/runs/{thread_id}"
    return [
        Route("/", root),
        Route("/readyz", readyz),
        Route("/app", index),
        Route("/app/", without_slash),
        Route(BASEMAP, basemap),
        Route("/app/qr.svg", qr_code),
        Route("/app/config.json", config_json),
        Route("/app/sign-in", sign_in.sign_in, methods=["POST"]),
        Route("/app/sign-out", sign_in.sign_out, methods=["POST"]),
        Route("/app/csp-report", PolicyReports().take, methods=["POST"]),
        *(Route(f"{runs}/{name}", export(name)) for name in EXPORTS),
        Route(f"{runs}/changes", changes),
        Route(f"{runs}/suggestions/{{number:int}}", suggestions),
        *document_routes(),
        Route("/app/connect", connect, methods=["POST"]),
        Route("/threads/{thread_id}/steer", steer, methods=["POST"]),
        Route(f"{FILES}{{hash}}/{{name:path}}", asset),
    ]
