"""Search OpenAlex (papers of all fields): GET {base}/works"""

from typing import Any

from agent.search.documents import (
    Document,
    DocumentSearch,
    doi_of,
    link_of,
    make_document,
    whole_number,
)
from agent.search.hits import fields, object_rows, plain_line, rows_of

_MAX_WORDS = 2000
_MAX_AUTHORS, _NEW_YEAR = 12, "-01-01"
_FIELDS = (
    "id,doi,display_name,publication_year,publication_date,authorships,abstract_inverted_index,"
    "best_oa_location,open_access,cited_by_count"
)


class OpenAlex(DocumentSearch):
    """Search works with their abstracts, and the PDF's address where it is open access."""

    name = "openalex"
    max_count = 50

    async def fetch(self, query: str, count: int, since: str) -> list[Document | None]:
        reply = await self._http.get(
            self.name,
            self._endpoint.url("/works"),
            params={
                "search": query,
                "per_page": str(count),
                "select": _FIELDS,
                **({"filter": f"from_publication_date:{since}"} if since else {}),
            },
            headers={
                "User-Agent": self._endpoint.user_agent,
                "Authorization": f"Bearer {self._endpoint.secret()}",
            },
        )
        return [_paper(work) for work in rows_of(self.name, reply, "results")]


def _paper(work: Any) -> Document | None:
    doi = doi_of(work.get("doi"))
    published = plain_line(work.get("publication_date"), 10)
    if published.endswith(_NEW_YEAR):
        # What it gives of a work of which it knows the year alone.
        published = ""
    return make_document(
        "openalex",
        "paper",
        work.get("display_name"),
        f"https://doi.org/{doi}" if doi else work.get("id"),
        abstract_of(work.get("abstract_inverted_index")),
        published=published,
        authors=_authors(work),
        year=whole_number(work.get("publication_year")),
        doi=doi,
        pdf_url=link_of(fields(work.get("best_oa_location")).get("pdf_url")),
        cited_by=whole_number(work.get("cited_by_count")),
    )


def abstract_of(index: Any) -> str:
    """Return the text of an inverted index `{word: [positions]}`.

    A word at a thousand places, or at the billionth, must not cost memory.
    """
    placed = [
        (place, word)
        for word, places in fields(index).items()
        if isinstance(places, list)
        for place in places[:_MAX_WORDS]
        if whole_number(place) is not None
    ]
    return " ".join(word for _, word in sorted(placed)[:_MAX_WORDS])


def _authors(work: Any) -> list[str]:
    names = [
        plain_line(fields(row.get("author")).get("display_name"), 80)
        for row in object_rows(work.get("authorships"))[:_MAX_AUTHORS]
    ]
    return [name for name in names if name]
