"""Tell what a task is about, how each source is asked for it, and which texts concern it."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from agent.assistants.plan_execute.state import Task
from agent.core.patterns import Linear
from agent.evidence.queries import clean_text, drop_seen
from agent.evidence.types import Query
from agent.knowledge.terms import bears_on, query_terms, shared_terms
from agent.texts import detect_language

MAX_QUERY, MAX_QUERIES, MAX_COMPANY = 300, 3, 200
_BETWEEN_COMPANIES = re.compile("[;；、\n]")
_BETWEEN_NAMES = re.compile(r"[/／|｜()（）]")
_HAN = re.compile(r"[\u3400-\u9fff]")
_LEGAL = Linear(
    r"(?:股份|有限责任|有限)*公司$|集团$"
    r"|[\s,]+(?:inc|corp|corporation|co|company|ltd|limited|plc|llc|ag|se|sa|nv|gmbh|group)\.?$",
    ignore_case=True,
)
_ENDS = "(?=[^\u3400-\u9fff]|$|[的在是和与及有将为于已称对把被从向也宣])"
"""Behind a Chinese name without its legal form: neither 青岚物流 nor 青岚湖 is 青岚公司."""
_COMPANY_TITLE = re.compile(
    r"有限公司|股份公司|集团公司|年度报告|年报|季报|招股"
    r"|\b(?:inc|corp|ltd|plc|llc|gmbh)\b|\bannual report\b|\b10-[kq]\b",
    re.IGNORECASE,
)
"""In a title: the page is a company's own, or on one."""
_LEAST_SHARED = 2
"""Terms of a query that a page on a company's market has in common with it."""
Origin = Literal["page", "background", "own"]
"""Web pages; encyclopedias and papers; own documents, and papers of earlier questions."""
_LONG_NAME = 4
"""Characters of a Chinese name that nothing else begins with."""


def companies_of(company: str) -> list[tuple[str, ...]]:
    """Return the names of each company: `宁德时代 / CATL / 300750; 比亚迪` are two companies."""
    named = [
        tuple(filter(None, (clean_text(name, 80) for name in _BETWEEN_NAMES.split(part))))
        for part in _BETWEEN_COMPANIES.split(company)
    ]
    return [names for names in named if names]


def latin_name(names: Sequence[str]) -> str:
    """Return the name by which the SEC knows a company; empty where there is none."""
    return next((name for name in names if not _HAN.search(name) and not name.isdigit()), "")


def listed_name(names: Sequence[str]) -> str:
    """Return the name by which a Chinese exchange knows a company: Chinese, else its code."""
    chinese = (name for name in names if _HAN.search(name))
    return next(chinese, next((name for name in names if name.isdigit()), names[0]))


def queries_of(task: Task) -> list[str]:
    """Return the task's queries, as planned; its own words where there are none."""
    return task.get("queries") or [task["query"]]


def cleaned_queries(queries: Iterable[str]) -> list[str]:
    """Return the first three queries that ask something different, each one clean line."""
    searches = [Query(query=clean_text(query, MAX_QUERY), map=None) for query in queries]
    return [query["query"] for query in drop_seen(searches, [])][:MAX_QUERIES]


def queries_for(source: str, queries: Sequence[str]) -> list[str]:
    """Return those queries a source is asked.

    The web gets all, Wikipedia one for each of its languages, the libraries of papers, whose
    texts are mostly English, the first English one.
    """
    first = {detect_language(query): query for query in reversed(queries)}
    if source == "wikipedia":
        return [query for query in queries if query in first.values()]
    if source in ("openalex", "semantic_scholar"):
        return [first.get("en") or queries[0]]
    return list(queries)


@dataclass(frozen=True)
class Subject:
    """Hold what a text must concern: one of these companies, else some words of the queries."""

    companies: tuple[tuple[str, ...], ...]
    queries: tuple[str, ...]

    @property
    def names(self) -> list[str]:
        return [name for names in self.companies for name in names]

    def concerns(self, text: str, *, origin: Origin = "page") -> bool:
        """Return True for a text, its title in the first line, that is about this.

        An own document must name one of the companies; without one, words say what it bears on.
        Pages and background need not name it: they may bear on what is asked about it, as long as
        a page is not about another company instead. Words
        cannot judge a text in a language that no query is written in.
        """
        if self.companies and any(names_company(name, text) for name in self.names):
            return True
        if self.companies and (origin == "own" or (origin == "page" and self._about_another(text))):
            return False
        language = detect_language(text)
        comparable = [query for query in self.aspects if detect_language(query) == language]
        if self.companies and origin == "page":
            return any(len(shared_terms(query, text)) >= _LEAST_SHARED for query in comparable)
        if origin == "own":
            return not comparable or any(bears_on(query, text) for query in comparable)
        return not comparable or any(bears_on(query, text, coverage=0) for query in comparable)

    def _about_another(self, text: str) -> bool:
        """Return True for a text, which names none of the companies, on one like it or a report."""
        title = text.partition("\n")[0]
        return _COMPANY_TITLE.search(title) is not None or any(
            _names_namesake(name, title, text) for name in self.names
        )

    @property
    def aspects(self) -> list[str]:
        """Return what the queries ask besides the companies' names."""
        pattern = "|".join(re.escape(name) for name in sorted(self.names, key=len, reverse=True))
        if not pattern:
            return list(self.queries)
        rest = (re.sub(pattern, " ", query, flags=re.IGNORECASE) for query in self.queries)
        return [query for query in rest if query.strip()]

    def bearing(self, text: str) -> float:
        """Return the largest share of a query's terms that stand in the text."""
        counts = [(len(shared_terms(q, text)), len(query_terms(q))) for q in self.queries]
        return max((shared / count for shared, count in counts if count), default=0.0)


def subject_of(task: Task) -> Subject:
    """Return what the documents of a task must concern."""
    companies = companies_of(task.get("company", ""))
    queries = dict.fromkeys([task["query"], *queries_of(task)])
    return Subject(tuple(companies), tuple(queries))


def names_company(name: str, text: str) -> bool:
    """Return True if the text names the company: in full, with or without its legal form."""
    plain = unicodedata.normalize("NFKC", " ".join(text.split())).casefold()
    whole = unicodedata.normalize("NFKC", name).casefold().strip()
    core = _LEGAL.sub("", whole).strip()
    if _HAN.search(whole):
        pattern = re.escape(core) + ("" if len(core) >= _LONG_NAME else _ENDS)
        return whole in plain or (bool(core) and re.search(pattern, plain) is not None)
    pattern = rf"(?<![a-z0-9]){re.escape(core or whole)}(?![a-z0-9])"
    return bool(core or whole) and re.search(pattern, plain) is not None


def _names_namesake(name: str, title: str, text: str) -> bool:
    """Return True if another company shares the name: 青岚物流 for 青岚, Nordvik Shipping."""
    core = _LEGAL.sub("", name.strip()).strip()
    if _HAN.search(core):
        return len(core) < _LONG_NAME and core in text
    first, _, others = core.partition(" ")
    return bool(others) and re.search(rf"\b{re.escape(first)}\b", title, re.IGNORECASE) is not None
