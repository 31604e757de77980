"""Tell what a task is about, how each source is asked for it, and how near a text is to it."""

from collections.abc import Iterable, Sequence

from agent.assistants.plan_execute.state import Task
from agent.core.strings import has_han, split_at
from agent.evidence.queries import clean_text, drop_seen
from agent.evidence.types import Query
from agent.knowledge.terms import query_terms, shared_terms
from agent.texts import detect_language

MAX_QUERY, MAX_QUERIES, MAX_COMPANY = 300, 3, 200


def companies_of(company: str) -> list[tuple[str, ...]]:
    """Return the names of each company: `宁德时代 / CATL / 300750; 比亚迪` are two companies."""
    named = [
        tuple(filter(None, (clean_text(name, 80) for name in split_at(part, "/／|｜()（）"))))
        for part in split_at(company, ";；、\n")
    ]
    return [names for names in named if names]


def latin_name(names: Sequence[str]) -> str:
    """Return the name by which the SEC knows a company; empty where there is none."""
    return next((name for name in names if not has_han(name) and not name.isdigit()), "")


def listed_name(names: Sequence[str]) -> str:
    """Return the name by which a Chinese exchange knows a company: Chinese, else its code."""
    chinese = (name for name in names if has_han(name))
    return next(chinese, next((name for name in names if name.isdigit()), names[0]))


def task_queries(task: Task) -> list[str]:
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


def bearing(queries: Sequence[str], text: str) -> float:
    """Return the largest share of a query's terms that stand in the text."""
    counts = [(len(shared_terms(query, text)), len(query_terms(query))) for query in queries]
    return max((shared / count for shared, count in counts if count), default=0.0)
