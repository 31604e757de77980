"""Which company of the SEC's list a query means, and the words that are left to search by."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from agent.search.hits import fields, plain

_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9&'’-]*")
_CIK = re.compile(r"\bCIK[\s:#]*0*(\d{1,10})\b", re.IGNORECASE)
_MARKED = re.compile(r"(?:\$|\b(?:NASDAQ|NYSE|AMEX)\s*:\s*)([A-Za-z]{1,5}(?:[.-][A-Za-z])?)\b")
_BRACKETED = re.compile(r"[(（]([A-Z]{1,5}(?:[.-][A-Z])?)[)）]")
_CAPITALS = re.compile(r"[A-Z]{2,5}(?:-[A-Z])?")
_LEGAL = frozenset(
    re.findall(
        r"\S+",
        "inc corp corporation co company companies ltd limited plc llc lp sa nv ag se the trust "
        "holding holdings group international class new de adr ads com",
    )
)
# Written in capitals, and none of them the company that trades under it.
_NO_TICKERS = frozenset(
    re.findall(
        r"\S+",
        "AI AR CEO CFO CN DNA EBIT EPS ESG EU EV EVS FCF FY GAAP GDP GPU IFRS IP IPO IT LFP LNG ML "
        "PE PV QA RD RNA ROE SEC UK US USA USD VR",
    )
)
_FILLER = frozenset(
    re.findall(
        r"\S+",
        "a about all an and annual any are as at by compare company company's current did do does "
        "edgar filed filing filings financial figures fiscal for form from give has have how in is "
        "it its last latest me most of on or over quarterly recent report reports results revenue "
        "revenues sec show statement statements tell than that the their this to was were what "
        "when where which who why with year 8-k 10-k 10-q 20-f 6-k",
    )
)
_FEW = 3
"""Words of a query up to which a small letter says nothing about a name."""


@dataclass(frozen=True)
class Registrant:
    """A company as the SEC lists it."""

    cik: int
    ticker: str
    title: str

    @property
    def padded(self) -> str:
        return f"{self.cik:010d}"


class Registrants:
    """The SEC's list, looked up by number, ticker and name."""

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
        """The company a query means: by its CIK, a marked ticker, its name, a bare ticker."""
        if (numbered := _CIK.search(query)) and (known := self._by_cik.get(int(numbered[1]))):
            return known
        bracketed = [ticker for ticker in _BRACKETED.findall(query) if ticker not in _NO_TICKERS]
        for ticker in (*_MARKED.findall(query), *bracketed):
            if known := self._by_ticker.get(ticker.upper().replace(".", "-")):
                return known
        return self._named(query) or self._traded(query)

    def _named(self, query: str) -> Registrant | None:
        spoken = _WORD.findall(query)
        words = [_plain_word(word) for word in spoken]
        best: tuple[int, Registrant] | None = None
        for at, word in enumerate(words):
            for name, company in self._by_first.get(word, ()):
                length = sum(map(len, name))
                said = tuple(words[at : at + len(name)]) == name
                # "visa" and "target" are words, too.
                meant = len(name) > 1 or spoken[at][:1].isupper() or len(words) <= _FEW
                if said and meant and (best is None or length > best[0]):
                    best = length, company
        return best[1] if best else None

    def _traded(self, query: str) -> Registrant | None:
        words = _WORD.findall(query)
        if len(words) == 1 and (known := self._by_ticker.get(words[0].upper())):
            return known
        capitals = [w for w in words if _CAPITALS.fullmatch(w) and w not in _NO_TICKERS]
        found = (self._by_ticker.get(word) for word in capitals)
        return next((company for company in found if company), None)


def read_registrants(reply: Mapping[str, Any]) -> Registrants:
    """The list as `company_tickers.json` has it: {"0": {cik_str, ticker, title}, …}."""
    listed = []
    for value in reply.values():
        row = fields(value)
        cik, title = row.get("cik_str"), plain(row.get("title"), 120)
        if isinstance(cik, int) and 0 < cik < 10**10 and title:
            listed.append(Registrant(cik, plain(row.get("ticker"), 12), title))
    return Registrants(listed)


def search_words(query: str, company: Registrant | None, *, most: int = 3) -> list[str]:
    """The longest words of a query that are neither filler nor the company's name, in order.

    Full-text search wants all the words it is given, so few of them find more.
    """
    known = {company.ticker.lower(), *_name(company.title)} if company else set()
    words = dict.fromkeys(_WORD.findall(query))
    telling = [
        word
        for word in words
        if (small := _plain_word(word)) not in known | _FILLER | _LEGAL
        and len(small) > 1
        and not small.isdigit()
    ]
    kept = sorted(telling, key=len, reverse=True)[:most]
    return [word for word in telling if word in kept]


def _name(title: str) -> tuple[str, ...]:
    """The words by which people call a company; all of them where nothing else is left."""
    bare = re.sub(r"^\[[^\]]*\]", "", title.partition("/")[0])
    words = [_plain_word(word) for word in _WORD.findall(bare)]
    short = [word for word in words if word not in _LEGAL]
    return tuple(short or words)


def _plain_word(word: str) -> str:
    return word.lower().replace("’", "'").removesuffix("'s")
