"""Serve the sample's web pages under their own host names, and its papers as PDF."""

import os
from collections.abc import Iterable
from functools import cache
from html import escape
from pathlib import Path
from urllib.parse import urlsplit

from aiohttp import web

from agent.sample.records import DATA, SamplePage, load_sample
from agent.sample.services.loopback import Service

_HTML = """<!doctype html>
<html lang="{language}"><head><meta charset="utf-8"><title>{title}</title></head>
<body><nav><a href="/">{site}</a></nav>
<main><article><h1>{title}</h1>
<p>{text}</p>
</article></main>
<footer>{site} · {published}</footer></body></html>
"""


def sample_hosts() -> frozenset[str]:
    """Return the hosts of the sample's pages, which no name server knows."""
    return frozenset(urlsplit(page.url).netloc for page in load_sample().pages)


class PagesService(Service):
    """Serve any page by its Host header and path; `robots` is the text of robots.txt, if any."""

    def __init__(
        self, pages: Iterable[SamplePage] | None = None, *, robots: str | None = None
    ) -> None:
        super().__init__("pages")
        self.robots = robots
        all_pages = load_sample().pages if pages is None else pages
        # Before requests come: they are answered on an event loop, which must not read files.
        for name in paper_names() if pages is None else ():
            paper_pdf(name)
        self._pages = {(urlsplit(p.url).netloc, urlsplit(p.url).path): p for p in all_pages}
        self.app.router.add_get("/robots.txt", self._robots)
        self.add_routes()
        self.app.router.add_get("/papers/{name}.pdf", self._paper)
        self.app.router.add_get("/{path:.*}", self._page)

    def add_routes(self) -> None:
        """Add routes that come before the pages."""

    async def _robots(self, request: web.Request) -> web.Response:
        if self.robots is None:
            raise web.HTTPNotFound
        return web.Response(text=self.robots)

    async def _paper(self, request: web.Request) -> web.Response:
        name = request.match_info["name"]
        if name not in paper_names():
            return await self._page(request)
        return web.Response(body=paper_pdf(name), content_type="application/pdf")

    async def _page(self, request: web.Request) -> web.Response:
        page = self._pages.get((request.host, request.path))
        if page is None:
            raise web.HTTPNotFound
        return web.Response(text=page_html(page), content_type="text/html")


def page_html(page: SamplePage) -> str:
    """Return a sample page as a site would show it, with what surrounds a text."""
    return _HTML.format(
        language=escape(page.language),
        title=escape(page.title),
        site=escape(page.site),
        text=escape(page.text),
        published=escape(page.published),
    )


def sample_documents() -> Path:
    """Return the folder of the bundled own documents: Markdown, CSV and text to read in."""
    return Path(str(DATA / "documents"))


@cache
def paper_names() -> tuple[str, ...]:
    """Return the names of the papers, without ending."""
    files = os.listdir(str(DATA / "papers"))
    return tuple(sorted(name.removesuffix(".pdf") for name in files if name.endswith(".pdf")))


@cache
def paper_pdf(name: str) -> bytes:
    """Return the PDF of a paper (`tools/sample_papers.py` makes it); KeyError for another name."""
    if name not in paper_names():
        raise KeyError(name)
    return (DATA / "papers" / f"{name}.pdf").read_bytes()
