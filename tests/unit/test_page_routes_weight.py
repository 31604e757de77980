"""What the page loads: only its own files, all of them there, and not too much."""

import gzip
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath

import httpx

from agent.server.page_routes import ENTRY, FILES, FOLDER, LATER, TEXTS, texts_module
from tests.unit.page_client import page_client

SETTINGS = "/app/config.json"
"""Asked for while the page loads; its answer is the server's, no file."""
MOST = 300_000
"""Bytes, compressed: on a phone's network, before anything is seen."""
_IMPORT = re.compile(r"""(?:\bfrom\s*|\bimport\s*\(?\s*)(["'])(?P<name>[^"'\n]+)\1""")
_STYLE = re.compile(r"""(?:@import\s+(?:url\()?|url\()\s*["']?(?P<name>[^"')]+)""")
_COMMENT = re.compile(r"/\*.*?\*/|^\s*//[^\n]*", re.DOTALL | re.MULTILINE)


class _Loaded(HTMLParser):
    """The addresses a browser fetches for a page by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        address = named.get("href") if tag == "link" else named.get("src")
        if address and not address.startswith("data:"):
            self.found.append(address)


def named_in(path: str, text: str) -> Iterator[str]:
    """What a script or a style sheet loads, as it writes it."""
    if path.endswith(".html"):
        loaded = _Loaded()
        loaded.feed(text)
        yield from loaded.found
    elif path.endswith((".js", ".css")) and "/vendor/" not in path:
        pattern = _IMPORT if path.endswith(".js") else _STYLE
        for found in pattern.finditer(_COMMENT.sub("", text)):
            if not found["name"].startswith("data:"):
                yield found["name"]


def absolute(name: str, of: str) -> str:
    """The address as a browser resolves it."""
    return str(httpx.URL(f"http://page{of}").join(name)).removeprefix("http://page")


def body_of(name: str) -> bytes:
    if name == TEXTS:
        return texts_module()
    file = FOLDER / PurePosixPath(name)
    assert file.is_file(), f"{name} is loaded but not there"
    return file.read_bytes()


def loaded_files() -> dict[str, bytes]:
    """Everything the page loads at once, by address; a missing file is an assertion's."""
    found: dict[str, bytes] = {}
    waiting = [f"{FILES}index.html"]
    while waiting:
        path = waiting.pop()
        if path in found or path == SETTINGS or path.removeprefix(FILES) in LATER:
            continue
        assert path.startswith(FILES), f"{path} is loaded from elsewhere"
        found[path] = body_of(path.removeprefix(FILES))
        seen_from = "/app" if path.endswith("index.html") else path
        waiting += [absolute(name, seen_from) for name in named_in(path, found[path].decode())]
    return found


def test_the_whole_page_is_light_enough_for_a_phone() -> None:
    sizes = {path: len(gzip.compress(body)) for path, body in loaded_files().items()}
    assert sum(sizes.values()) < MOST, sorted(sizes.items(), key=lambda size: -size[1])[:5]


OF_QUESTION_BOX = {"js/map/location.js", "js/map/place_facts.js", "js/run/turns.js"}
"""Modules beside the shell's that the question box needs, which is typed into at once."""


async def test_every_module_is_named_once_those_of_the_first_view_before_it_starts() -> None:
    async with page_client() as http:
        page = (await http.get("/app")).text
    line = r'<link rel="modulepreload" href="app/files/[0-9a-f]+/([^"]+)">'
    head, body = page.split(f'/{ENTRY}"></script>')
    first, others = re.findall(line, head), re.findall(line, body)
    modules = {path.removeprefix(FILES) for path in loaded_files() if path.endswith(".js")}
    assert sorted([*first, *others, ENTRY]) == sorted(modules)
    shell = {path for path in modules if "/" not in path.removeprefix("js/").removeprefix("shell/")}
    assert {"js/shell/welcome.js", "js/i18n.js", TEXTS} <= set(first) <= shell | OF_QUESTION_BOX
    assert re.search(r'<template data-part="modules">\s*<link', body)
    libraries = [path.startswith("vendor/") for path in others]
    assert libraries == sorted(libraries, reverse=True)


async def test_everything_it_loads_is_served_as_what_it_is() -> None:
    kinds = {".html": "text/html", ".css": "text/css", ".js": "text/javascript",
             ".svg": "image/svg+xml"}  # fmt: skip
    async with page_client() as http:
        for path in loaded_files():
            response = await http.get(path.replace(FILES, f"{FILES}0/"))
            assert response.status_code == 200, path
            assert response.headers["content-type"].startswith(kinds[Path(path).suffix]), path


def test_vendored_scripts_load_nothing_more() -> None:
    for file in (FOLDER / "vendor").glob("*.js"):
        text = file.read_text("utf-8")
        statements = re.findall(r"""(?:^|[;}\n])\s*import\s*(?:["'{*]|[\w$]+\s+from)""", text)
        assert statements == [], file.name
    for file in (FOLDER / "vendor").glob("*.css"):
        assert "@import" not in file.read_text("utf-8")
