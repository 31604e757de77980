"""Search SEC EDGAR: filings by full text or by company, and a company's XBRL figures.

`{host}` in the base URL stands for efts (full text), www (list of companies) and data (the rest).
"""

import asyncio
import json
import re
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, TypeVar

from agent.core.budget import Meter
from agent.core.calls import Calls, Policy
from agent.core.concurrency import SingleFlight
from agent.core.errors import AgentError, MalformedReply, ProviderError, ProviderRefused
from agent.core.faults import contained
from agent.core.strings import split_at, without_mark, word_set
from agent.evidence.queries import clean_text
from agent.search.documents import (
    Document,
    FiledFigure,
    SourceEndpoint,
    distinct_documents,
    make_document,
)
from agent.search.hits import MAX_QUERY, fields, plain_line, rows_of
from agent.search.http import Json, SearchHttp
from agent.search.sec_facts import IFRS, US_GAAP, as_text, filing_url, read_figures, still_reported

_WORD = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9&'’-]|\.(?=[A-Z](?![A-Za-z])))*")
_OPENS, _EXCHANGES = ("(", "（"), ("NASDAQ:", "NYSE:", "AMEX:")
"""What stands before a ticker: $AAPL, NASDAQ: AAPL, Apple (AAPL)."""
_LONGEST_CIK, _LONGEST_TICKER = 10, 7
_LEGAL = word_set(
    "inc corp corporation co company companies ltd limited plc llc lp sa nv ag se the trust "
    "holding holdings group international class new de adr ads com"
)
# Written in capitals, and none of them the company that trades under it.
_NO_TICKERS = word_set(
    "AI AR CEO CFO CN DNA EBIT EPS ESG EU EV EVS FCF FY GAAP GDP GPU IFRS IP IPO IT LFP LNG ML "
    "PE PV QA RD RNA ROE SEC UK US USA USD VR"
)
_FILLER = word_set(
    "a about all an and annual any are as at by compare company company's current did do does "
    "edgar filed filing filings financial figures fiscal for form from give has have how in is "
    "it its last latest me most of on or over quarterly recent report reports results revenue "
    "revenues sec show statement statements tell than that the their this to was were what "
    "when where which who why with year 8-k 10-k 10-q 20-f 6-k"
)
_FEW = 3
"""Words of a query up to which a small letter says nothing about a name."""


@dataclass(frozen=True)
class Registrant:
    """Hold a company as the SEC lists it."""

    cik: int
    ticker: str
    title: str

    @property
    def cik_path(self) -> str:
        return f"{self.cik:010d}"


class Registrants:
    """Find companies in the SEC's list by number, ticker and name."""

    def __init__(self, listed: Iterable[Registrant]) -> None:
        self._by_cik: dict[int, Registrant] = {}
        self._by_ticker: dict[str, Registrant] = {}
        self._by_first: dict[str, list[tuple[tuple[str, ...], Registrant]]] = defaultdict(list)
        # The list is in the order of size: the first of a name is the one that is meant.
        for company in listed:
            self._by_cik.setdefault(company.cik, company)
            self._by_ticker.setdefault(company.ticker.upper(), company)
            if name := _name(company.title):
                self._by_first[name[0]].append((name, company))

    def __len__(self) -> int:
        return len(self._by_cik)

    def find(self, query: str) -> Registrant | None:
        """Return a query's company: by its CIK, a marked ticker, its name, a bare ticker."""
        spoken = [(query[: word.start()].rstrip(), word[0]) for word in _WORD.finditer(query)]
        for before, word in spoken:
            is_cik = word.isdecimal() and before.rstrip("#: ").upper().endswith("CIK")
            number = int(word) if is_cik and len(word) <= _LONGEST_CIK else 0
            if company := self._by_cik.get(number):
                return company
        marked = [word for before, word in spoken if before.endswith(("$", *_EXCHANGES))]
        bracketed = [
            word for before, word in spoken if before.endswith(_OPENS) and _is_ticker(word)
        ]
        for ticker in (*marked, *bracketed):
            if company := self._by_ticker.get(ticker.upper().replace(".", "-")):
                return company
        return self._by_name(query) or self._by_bare_ticker(query)

    def _by_name(self, query: str) -> Registrant | None:
        spoken = _WORD.findall(query)
        words = [_plain_word(word) for word in spoken]
        best: tuple[int, Registrant] | None = None
        for at, word in enumerate(words):
            for name, company in self._by_first.get(word, ()):
                length = sum(map(len, name))
                fits = tuple(words[at : at + len(name)]) == name
                # "visa" and "target" are words, too.
                meant = len(name) > 1 or spoken[at][:1].isupper() or len(words) <= _FEW
                if fits and meant and (best is None or length > best[0]):
                    best = length, company
        return best[1] if best else None

    def _by_bare_ticker(self, query: str) -> Registrant | None:
        words = _WORD.findall(query)
        if len(words) == 1 and (company := self._by_ticker.get(words[0].upper())):
            return company
        capitals = [word for word in words if len(word) > 1 and _is_ticker(word)]
        companies = (self._by_ticker.get(word) for word in capitals)
        return next((company for company in companies if company), None)


def _is_ticker(word: str) -> bool:
    """Return whether a word is written as tickers are, and does not mean another thing."""
    letters = "".join(split_at(word, ".-"))
    is_written_so = letters.isalpha() and letters.isupper() and len(word) <= _LONGEST_TICKER
    return is_written_so and word not in _NO_TICKERS


def read_registrants(reply: Mapping[str, Any]) -> Registrants:
    """Read `company_tickers.json`: {"0": {cik_str, ticker, title}, …}."""
    listed = []
    for value in reply.values():
        row = fields(value)
        cik, title = row.get("cik_str"), plain_line(row.get("title"), 120)
        if isinstance(cik, int) and 0 < cik < 10**10 and title:
            listed.append(Registrant(cik, plain_line(row.get("ticker"), 12), title))
    return Registrants(listed)


_MOST_WORDS = 3


def search_words(query: str, company: Registrant | None) -> list[str]:
    """Return the longest words that are neither filler nor the company's name, in order.

    Full-text search wants all the words it is given, so few of them find more.
    """
    own = {company.ticker.lower(), *_name(company.title)} if company else set()
    words = dict.fromkeys(_WORD.findall(query))
    specific = [
        word
        for word in words
        if (small := _plain_word(word)) not in own | _FILLER | _LEGAL
        and len(small) > 1
        and not small.isdigit()
    ]
    longest = sorted(specific, key=len, reverse=True)[:_MOST_WORDS]
    return [word for word in specific if word in longest]


def _name(title: str) -> tuple[str, ...]:
    """Return the words of a company's usual name, without its legal form if others are left."""
    bare = without_mark(title.partition("/")[0])
    words = [_plain_word(word) for word in _WORD.findall(bare)]
    short = [word for word in words if word not in _LEGAL]
    return tuple(short or words)


def _plain_word(word: str) -> str:
    return word.lower().replace("’", "'").removesuffix("'s")


DATA = "sec_edgar_data"
"""What the host of the figures is called where calls are paced."""
_LIST = "sec_edgar_list"
FORMS = ("10-K", "10-Q", "8-K", "20-F", "40-F", "6-K")
_MAX_COUNT = 20
_LIST_SECONDS = 24 * 3600.0
T = TypeVar("T")


class SecEdgar:
    """Search filings, and the figures of a company that the query names."""

    name = "sec_edgar"

    def __init__(self, http: SearchHttp, calls: Calls, endpoint: SourceEndpoint) -> None:
        self._http = http
        self._calls = calls
        self._endpoint = endpoint
        self._policy = Policy(self.name, spends=None, timeout=endpoint.timeout, breaker=True)
        self._data_policy = replace(self._policy, provider=DATA)
        self._list_policy = replace(self._policy, provider=_LIST)
        self._flights = SingleFlight()
        self._listed: Registrants | None = None
        self._listed_at = 0.0

    async def search(
        self, query: str, *, meter: Meter, count: int | None = None, since: str = ""
    ) -> list[Document]:
        """Return at most `count` documents; the first one names the part that failed.

        Raises ProviderError where nothing came, BudgetExceeded.
        """
        cleaned = clean_text(query, MAX_QUERY)
        if not cleaned:
            return []
        most = max(1, min(count or self._endpoint.default_count, _MAX_COUNT))
        company = await self._company(cleaned, meter)
        statement, filings = await asyncio.gather(
            _outcome(self._statement(company, meter)),
            _outcome(self._filings(cleaned, company, most, meter)),
        )
        return _together(statement, filings)[:most]

    async def _company(self, query: str, meter: Meter) -> Registrant | None:
        async def send() -> Any:
            company = (await self._registrants()).find(query)
            return asdict(company) if company else None

        row = await self._paid({"company": query}, send, meter=meter, policy=self._list_policy)
        return Registrant(**row) if row else None

    async def _registrants(self) -> Registrants:
        """Return the SEC's list, cached for a day; it is a megabyte."""
        if self._listed is None or time.monotonic() - self._listed_at > _LIST_SECONDS:
            self._listed = await self._flights.do("list", self._load)
            self._listed_at = time.monotonic()
        return self._listed

    async def _load(self) -> Registrants:
        listed = read_registrants(await self._get("www", "/files/company_tickers.json"))
        if not len(listed):
            raise MalformedReply(self.name, "the list of companies is empty")
        return listed

    async def _filings(
        self, query: str, company: Registrant | None, count: int, meter: Meter
    ) -> list[Document]:
        """Return filings by the words of the query, else the company's newest."""
        words = search_words(query, company)
        documents: list[Document] = []
        if words:
            request = {"text": words, "cik": company.cik if company else None, "count": count}
            ask = self._by_text(words, company, count)
            documents = await self._paid(request, ask, meter=meter, policy=_spending(self._policy))
        if not documents and company:
            request = {"newest": company.cik, "count": count}
            ask = self._newest(company, count)
            policy = self._data_policy if words else _spending(self._data_policy)
            documents = await self._paid(request, ask, meter=meter, policy=policy)
        return documents

    def _by_text(
        self, words: Sequence[str], company: Registrant | None, count: int
    ) -> Callable[[], Awaitable[list[Document]]]:
        async def ask() -> list[Document]:
            params = {"q": " ".join(words), "forms": ",".join(FORMS)}
            if company:
                params["ciks"] = company.cik_path
            reply = await self._get("efts", "/LATEST/search-index", params)
            hits = rows_of(self.name, fields(reply.get("hits")), "hits")
            return distinct_documents(_hit_document(hit, company) for hit in hits)[:count]

        return ask

    def _newest(self, company: Registrant, count: int) -> Callable[[], Awaitable[list[Document]]]:
        async def ask() -> list[Document]:
            reply = await self._get("data", f"/submissions/CIK{company.cik_path}.json")
            if "filings" not in reply:
                raise MalformedReply(self.name, "the reply has no `filings`")
            recent = fields(fields(reply["filings"]).get("recent"))
            return distinct_documents(_recent(recent, company))[:count]

        return ask

    async def _statement(self, company: Registrant | None, meter: Meter) -> Document | None:
        """Return the company's figures by US-GAAP, else by IFRS."""
        if company is None:
            return None
        figures, failed = await self._figures("us-gaap", US_GAAP, company, meter)
        if not figures and not failed:
            figures, failed = await self._figures("ifrs-full", IFRS, company, meter)
        if not figures:
            if failed:
                raise failed
            return None
        text = as_text(figures)
        if failed:
            text += f"\nSome figures could not be had: {failed}"
        title = f"{company.title}: figures from its filings"
        document = make_document(self.name, "statement", title, figures[0]["url"], text)
        return Document(**{**document, "figures": figures}) if document else None

    async def _figures(
        self, taxonomy: str, concepts: Mapping[str, str], company: Registrant, meter: Meter
    ) -> tuple[list[FiledFigure], AgentError | None]:
        """Return the figures of the concepts, and the error of those that failed.

        The first is requested alone, to see if the host answers at all.
        """
        requests = [
            partial(self._concept, f"{taxonomy}/{concept}", label, company, meter)
            for concept, label in concepts.items()
        ]
        first = await requests[0]()
        others = await asyncio.gather(*(_outcome(ask()) for ask in requests[1:]))
        outcomes = [first, *others]
        failures = [outcome for outcome in outcomes if isinstance(outcome, AgentError)]
        figures = still_reported(outcome for outcome in outcomes if isinstance(outcome, list))
        return figures, failures[0] if failures else None

    async def _concept(
        self, concept: str, label: str, company: Registrant, meter: Meter
    ) -> list[FiledFigure]:
        async def ask() -> list[FiledFigure]:
            path = f"/api/xbrl/companyconcept/CIK{company.cik_path}/{concept}.json"
            try:
                reply = await self._get("data", path)
            except ProviderRefused as error:
                if error.code == "not_found":  # the company does not report it
                    return []
                raise
            return read_figures(label, reply, company.cik)

        request = {"concept": concept, "cik": company.cik}
        return await self._paid(request, ask, meter=meter, policy=self._data_policy)

    async def _paid(
        self, request: Any, ask: Callable[[], Awaitable[T]], *, meter: Meter, policy: Policy
    ) -> T:
        """Return the result of `ask` (JSON-like), paid for once in a turn.

        Each host has a policy, and so a breaker, of its own: it may be down alone.
        """

        async def send() -> str:
            return json.dumps(await ask(), ensure_ascii=False)

        reply = await self._calls.once(policy, send, meter=meter, request=request)
        result: T = json.loads(reply)
        return result

    async def _get(self, host: str, path: str, params: Mapping[str, str] | None = None) -> Json:
        return await self._http.get(
            self.name,
            self._endpoint.url(path).replace("{host}", host),
            params=params,
            headers={"User-Agent": self._endpoint.user_agent},
            refine=_error_of,
        )


def _spending(policy: Policy) -> Policy:
    """Return the policy of the one call of a query that counts as a search."""
    return replace(policy, spends="searches")


async def _outcome(work: Coroutine[Any, Any, T]) -> T | AgentError:
    """Return the result, or our error, so that one failing part leaves the others."""
    try:
        with contained("sec_edgar"):
            return await work
    except AgentError as error:
        return error


def _together(
    statement: Document | AgentError | None, filings: list[Document] | AgentError
) -> list[Document]:
    """Join both parts, noting a missing one in the other; raise where both are missing."""
    if isinstance(filings, AgentError):
        if statement is None or isinstance(statement, AgentError):
            raise filings
        return [_noting(statement, f"Filings could not be searched: {filings}")]
    if isinstance(statement, AgentError):
        if not filings:
            raise statement
        return [_noting(filings[0], f"Figures could not be had: {statement}"), *filings[1:]]
    return [statement, *filings] if statement else filings


def _noting(document: Document, note: str) -> Document:
    return Document(**{**document, "text": f"{document['text']}\n{note}"})


def _hit_document(hit: Mapping[str, Any], company: Registrant | None) -> Document | None:
    """Return a hit of the full-text search as a document; `_id` is `accession:file`."""
    source = fields(hit.get("_source"))
    adsh, _, file = plain_line(hit.get("_id"), 200).partition(":")
    ciks, names = source.get("ciks"), source.get("display_names")
    first = ciks[0] if isinstance(ciks, list) and ciks else None
    if not adsh or not isinstance(first, str) or not first.isdigit():
        return None
    named = plain_line(names[0] if isinstance(names, list) and names else "", 120)
    owner = company.title if company else named.partition("  (CIK")[0].partition(" (CIK")[0]
    kind = plain_line(source.get("file_type") or source.get("form"), 20)
    return _filing(
        owner or f"CIK {first}",
        kind,
        filing_url(int(first), adsh, file),
        filed=plain_line(source.get("file_date"), 10),
        period=plain_line(source.get("period_ending"), 10),
    )


def _recent(recent: Mapping[str, Any], company: Registrant) -> list[Document | None]:
    """Return the newest filings of FORMS from a table of columns."""
    names = ("accessionNumber", "form", "filingDate", "reportDate", "primaryDocument")
    columns = [value if isinstance(value := recent.get(name), list) else [] for name in names]
    filings = []
    for adsh, form, filed, period, document in zip(*columns, strict=False):
        if isinstance(adsh, str) and form in FORMS:
            url = filing_url(company.cik, adsh, plain_line(document, 200))
            dates = {"filed": plain_line(filed, 10), "period": plain_line(period, 10)}
            filings.append(_filing(company.title, form, url, **dates))
    return filings


def _filing(owner: str, kind: str, url: str, *, filed: str, period: str) -> Document | None:
    text = f"{kind} of {owner}, filed {filed or 'on an unknown day'}"
    if period:
        text += f", for the period to {period}"
    title = f"{owner}: {kind} {period or filed}".strip()
    return make_document("sec_edgar", "filing", title, url, text, published=filed)


def _error_of(status: int, body: Any) -> ProviderError | None:
    """Return the error of a refusal: 403 for an unknown User-Agent or too many requests."""
    if status == 404:
        return ProviderRefused("sec_edgar", "HTTP 404", code="not_found")
    if status != 403:
        return None
    message = (
        'HTTP 403: SEC_USER_AGENT must read "Company name name@example.org"; or too many calls'
    )
    return ProviderRefused("sec_edgar", message, code="search_refused")
