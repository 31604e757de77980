"""Made-up sources that have something on anything: articles, papers with full texts, a company."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from aiohttp import web

from agent.sample.corpus import SamplePage
from agent.sample.services.filings import Company, Filing
from agent.sample.services.scholar import SampleArticle, SamplePaper
from tests.support.reading import simple_pdf
from tests.support.strange_pages import StrangePages

HOST, PAGES = "papers.tanlu-lab.com", "pages.example"


def articles(query: str, language: str, limit: int) -> list[SampleArticle]:
    """Two articles on anything."""
    return [
        SampleArticle(n, language, f"{query} {n}", f"https://{language}.wikipedia.org/wiki/{_slug(query)}{n}",
                (), f"{query}是第{n}条百科。")
        for n in range(min(2, limit))
    ]  # fmt: skip


def papers(catalogue: str, count: int = 3) -> Callable[[str, int], Sequence[SamplePaper]]:
    """So many papers on anything; the first one is in both catalogues, with its full text."""

    def found(query: str, limit: int) -> list[SamplePaper]:
        return [_paper(catalogue, query, n) for n in range(min(count, limit))]

    return found


def _paper(catalogue: str, query: str, number: int) -> SamplePaper:
    name = f"{_slug(query)}-{number if number == 0 else f'{catalogue}-{number}'}"
    return SamplePaper(
        id=f"W{name}", title=f"{query}研究 {name}", year=2020 + number, doi=f"10.5555/{name}",
        authors=("A. Author",), venue="", abstract=f"{query}的研究，密度{150 + number} Wh/kg。",
        subjects=(), topics=(), cited_by=number, url=f"https://papers.example.org/{name}",
        pdf=f"https://{HOST}/{name}.pdf",
    )  # fmt: skip


def companies() -> tuple[Company, ...]:
    """One company that files in the US."""
    filing = Filing("0000000042-25-000001", "10-K", "2025-02-01", "2024-12-31", "f.htm",
                    "sodium battery cells")  # fmt: skip
    value = {"start": "2024-01-01", "end": "2024-12-31", "val": 362_000_000, "adsh": filing.adsh,
             "fy": 2024, "fp": "FY", "form": "10-K", "filed": "2025-02-01"}  # fmt: skip
    facts = {"Revenues": {"unit": "USD", "values": [value]}}
    return (Company(42, "QLAN", "Qinglan Inc.", (), "Batteries", (filing,), facts),)


def _slug(text: str) -> str:
    return "-".join(f"{ord(letter):x}" for letter in text[-6:])


class PaperPages(StrangePages):
    """A site of papers and of the web's pages.

    Every address that ends in .pdf is a paper, unless a test puts another body.
    """

    def __init__(self, known: Mapping[str, SamplePage]) -> None:
        super().__init__()
        self.name = "site"
        self.known = known
        """The pages that searches found, by their addresses."""

    async def _page(self, request: Any) -> Any:
        if request.path not in self.bodies and request.path.endswith(".pdf"):
            name = request.path.strip("/").removesuffix(".pdf")
            text = f"Measured energy density is 160 Wh/kg in {name}"
            self.bodies[request.path] = ("application/pdf", simple_pdf(3, text=text, title=name))
        if (page := self.known.get(f"https://{PAGES}{request.path}")) and not self.bodies.get(
            request.path
        ):
            return web.Response(text=page.text)
        return await super()._page(request)
