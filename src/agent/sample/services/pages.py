"""Serve the sample's web pages under their own host names, and its papers as PDF."""

import os
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
    """Serve any page by its Host header and path."""

    def __init__(self) -> None:
        super().__init__("pages")
        # Before requests come: they are answered on an event loop, which must not read files.
        self._papers = {f"/papers/{name}.pdf": body for name, body in paper_files().items()}
        addresses = ((urlsplit(page.url), page) for page in load_sample().pages)
        self._pages = {(url.netloc, url.path): page for url, page in addresses}
        self.app.router.add_get("/{path:.*}", self._page)

    async def _page(self, request: web.Request) -> web.Response:
        if paper := self._papers.get(request.path):
            return web.Response(body=paper, content_type="application/pdf")
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
def paper_files() -> dict[str, bytes]:
    """Return the PDFs of `tools/sample_papers.py` by their names without ending."""
    names = [name for name in sorted(os.listdir(str(DATA / "papers"))) if name.endswith(".pdf")]
    return {name.removesuffix(".pdf"): (DATA / "papers" / name).read_bytes() for name in names}
