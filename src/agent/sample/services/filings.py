"""SEC EDGAR on loopback: full-text search, list of companies, submissions and XBRL concepts.

One service for three hosts: /efts, /www and /data stand for them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from aiohttp import web

from agent.knowledge.terms import query_terms, terms
from agent.sample.records import frozen, read_sheets
from agent.sample.services.loopback import Service


@dataclass(frozen=True)
class Filing:
    adsh: str
    form: str
    filed: str
    period: str
    document: str
    text: str


@dataclass(frozen=True)
class Company:
    cik: int
    ticker: str
    title: str
    aliases: tuple[str, ...]
    industry: str
    filings: tuple[Filing, ...]
    facts: dict[str, dict[str, Any]]


@cache
def sample_companies() -> tuple[Company, ...]:
    """Return the companies of all files, in the order of the files' names."""
    return tuple(
        Company(**frozen(row) | {"filings": tuple(Filing(**filing) for filing in row["filings"])})
        for sheet in read_sheets("filings_")
        for row in sheet["companies"]
    )


Companies = Callable[[], Sequence[Company]]


class SecService(Service):
    """Speak EDGAR's protocol.

    Answer 403 in HTML where no mail address is named, as the real hosts do.
    """

    SEARCH = "/efts/LATEST/search-index"

    def __init__(self, *, companies: Companies = sample_companies) -> None:
        super().__init__("sec")
        # Before requests come: they are answered on an event loop, which must not read files.
        sample_companies()
        self._companies = companies
        for path, answer in {
            self.SEARCH: self._full_text,
            "/www/files/company_tickers.json": self._tickers,
            "/data/submissions/CIK{cik}.json": self._submissions,
            "/data/api/xbrl/companyconcept/CIK{cik}/{taxonomy}/{concept}.json": self._concept,
        }.items():
            self.app.router.add_get(path, _with_contact(answer))

    async def _full_text(self, request: web.Request) -> web.Response:
        wanted = set(query_terms(request.query.get("q", "")))
        forms = set(filter(None, request.query.get("forms", "").split(",")))
        ciks = {int(cik) for cik in request.query.get("ciks", "").split(",") if cik.isdigit()}
        hits = [
            _hit(company, filing)
            for company in self._companies()
            if not ciks or company.cik in ciks
            for filing in company.filings
            if (not forms or filing.form in forms)
            and wanted.issubset(terms(_search_text(company, filing)))
        ]
        found = {"total": {"value": len(hits), "relation": "eq"}, "hits": hits}
        return web.json_response({"took": 1, "timed_out": False, "hits": found})

    async def _tickers(self, request: web.Request) -> web.Response:
        rows = {
            str(number): {"cik_str": row.cik, "ticker": row.ticker, "title": row.title}
            for number, row in enumerate(self._companies())
        }
        return web.json_response(rows)

    async def _submissions(self, request: web.Request) -> web.Response:
        company = self._company(request)
        filings = sorted(company.filings, key=lambda filing: filing.filed, reverse=True)
        columns = {
            "accessionNumber": "adsh",
            "filingDate": "filed",
            "reportDate": "period",
            "form": "form",
            "primaryDocument": "document",
            "primaryDocDescription": "form",
        }
        recent = {
            title: [getattr(filing, name) for filing in filings] for title, name in columns.items()
        }
        reply = {"cik": f"{company.cik:010d}", "name": company.title, "tickers": [company.ticker]}
        listed = {"recent": recent, "files": []}
        return web.json_response(reply | {"sicDescription": company.industry, "filings": listed})

    async def _concept(self, request: web.Request) -> web.Response:
        company, concept = self._company(request), request.match_info["concept"]
        fact = company.facts.get(concept)
        if fact is None or request.match_info["taxonomy"] != "us-gaap":
            raise _not_found()
        values = [
            {**{n: v for n, v in row.items() if n != "adsh"}, "accn": row["adsh"]}
            for row in fact["values"]
        ]
        reply = {"cik": company.cik, "taxonomy": "us-gaap", "tag": concept, "label": concept}
        return web.json_response(
            reply | {"entityName": company.title, "units": {fact["unit"]: values}}
        )

    def _company(self, request: web.Request) -> Company:
        cik = request.match_info["cik"]
        number = int(cik) if cik.isdigit() and len(cik) == 10 else -1
        company = next((row for row in self._companies() if row.cik == number), None)
        if company is None:
            raise _not_found()
        return company


RequestHandler = Callable[[web.Request], Any]


def _with_contact(answer: RequestHandler) -> RequestHandler:
    async def checked(request: web.Request) -> web.StreamResponse:
        if "@" not in request.headers.get("User-Agent", ""):
            text = "<html><body>Undeclared Automated Tool</body></html>"
            return web.Response(text=text, status=403, content_type="text/html")
        response: web.StreamResponse = await answer(request)
        return response

    return checked


def _not_found() -> web.HTTPNotFound:
    text = '<?xml version="1.0"?><Error><Code>NoSuchKey</Code></Error>'
    return web.HTTPNotFound(text=text, content_type="application/xml")


def _search_text(company: Company, filing: Filing) -> str:
    return " ".join((company.title, *company.aliases, filing.text))


def _hit(company: Company, filing: Filing) -> dict[str, Any]:
    cik = f"{company.cik:010d}"
    return {
        "_index": "edgar_file",
        "_id": f"{filing.adsh}:{filing.document}",
        "_score": 1.0,
        "_source": {
            "adsh": filing.adsh,
            "ciks": [cik],
            "display_names": [f"{company.title}  ({company.ticker})  (CIK {cik})"],
            "form": filing.form,
            "root_forms": [filing.form],
            "file_date": filing.filed,
            "period_ending": filing.period,
            "file_type": filing.form,
            "items": [],
        },
    }
