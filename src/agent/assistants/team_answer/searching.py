"""Searches of a discussion: which engines it has, what was searched before, results as shown."""

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from agent.assistants.team_answer.state import Evidence
from agent.assistants.team_answer.tool_wording import say
from agent.assistants.team_answer.toolbox import TeamSearch
from agent.configuration import Configuration
from agent.errors import ConfigurationError
from agent.evidence.lengths import cut_to_tokens, estimated_tokens
from agent.evidence.query_match import normalised_query, same_search
from agent.evidence.types import Gap
from agent.language import Language
from agent.nodes.gaps import gap_of
from agent.nodes.searching import Brought, page_row, result_element, services_of
from agent.search.gaps import search_gap
from agent.search.types import SearchProvider, WebChoice, WebTask
from agent.state import Turn

GOOGLE, BOCHA, TAVILY = "search_google", "search_bocha", "search_tavily"
MAX_SHOWN = 6000
"""Characters of a result that enter the transcript."""
_CHOICES: dict[WebChoice, str] = {
    "serper": GOOGLE,
    "google": GOOGLE,
    "bocha": BOCHA,
    "tavily": TAVILY,
}
"""The tool that a service serves, Google by Serper before Google by a model."""
_AUTO: tuple[tuple[WebChoice, ...], ...] = (("serper", "google", "bocha"), ("tavily",))
"""The second of them where nothing of the first can be had."""
_ROW = re.compile(r"(<result [^<>]*>)([^<>]*)(</result>)")
_SNIPPETS = (700, 500, 350, 220, 120)
_NOTE = 40
"""Characters kept for the remark that results were left out."""


@dataclass(frozen=True)
class Engines:
    """The services by the tools they serve; or none of them, with the reason as a gap."""

    services: dict[str, SearchProvider] = field(default_factory=dict)
    gaps: list[Gap] = field(default_factory=list)


def engines_of(web: TeamSearch, configuration: Configuration, turn: Turn) -> Engines:
    """What `web_search` allows of what is configured; Tavily only where there is nothing else."""
    model, choice = configuration.research_model, configuration.web_search
    if choice == "off":
        task = WebTask("", "", turn["language"], turn["today"], model)
        return Engines(gaps=[search_gap(task, "web", "search_off")])
    found: dict[WebChoice, SearchProvider] = {}
    for tier in _AUTO if choice == "auto" else ((choice,),):
        with suppress(ConfigurationError):
            found = found or services_of(web, tier, model=model)
    services: dict[str, SearchProvider] = {}
    for chosen, service in found.items():
        services.setdefault(_CHOICES[chosen], service)
    return Engines(services, [] if services else _missing(web, configuration, turn["language"]))


def _missing(web: TeamSearch, configuration: Configuration, language: Language) -> list[Gap]:
    """What could be set, in the search desk's words."""
    try:
        web.provider(configuration.web_search, model=configuration.research_model)
    except ConfigurationError as error:
        return [gap_of("", error, "web", language)]
    return []


def searched_before(tool: str, query: str, pool: Iterable[Evidence]) -> Evidence | None:
    """The evidence that answers this query too: the same one's, else a near-duplicate's.

    Only what this engine really found in this turn counts.
    """
    operators = tool == GOOGLE
    asked = [e for e in pool if e["kind"] == "search" and e["tool"] == tool]
    found = [e for e in asked if not (e["failed"] or e["cached"])]
    exact = normalised_query(query, operators=operators)
    for evidence in found:
        if normalised_query(evidence["asked"], operators=operators) == exact:
            return evidence
    return next((e for e in found if same_search(e["asked"], query, operators=operators)), None)


def searches_saved(pool: Iterable[Evidence]) -> int:
    """How many searches an earlier result answered."""
    return sum(e["kind"] == "search" and e["cached"] for e in pool)


def results_text(
    name: str, tool: str, brought: Brought, ids: Sequence[str], language: Language
) -> str:
    """All results of a search as the models read them, one line each; `ids` are the sources'."""
    rows = [
        page_row(hit.snippet, id=source, title=hit.title, site=hit.site, date=hit.published)
        for source, hit in zip(ids, brought.hits, strict=True)
    ]
    return result_element(brought.query, rows or [say("nothing", language)], id=name, tool=tool)


def shortened(text: str, tokens: int, language: Language) -> str:
    """A result of at most 6,000 characters and about so many tokens.

    Of a search every snippet is shortened before results are left out, the last ones first.
    """
    lines = text.split("\n")
    rows = [at for at, line in enumerate(lines) if _ROW.fullmatch(line)]
    for length in _SNIPPETS if rows else ():
        if _fits(lines, tokens):
            break
        lines = [_cut_row(line, length) for line in lines]
    left = 0
    while len(rows) > 1 and not _fits(lines, tokens):
        del lines[rows.pop()]
        left += 1
    if left:
        lines.insert(len(lines) - 1, say("left_out", language, count=str(left)))
    whole = "\n".join(lines)
    whole = whole if len(whole) <= MAX_SHOWN else whole[: MAX_SHOWN - 1] + "…"
    return cut_to_tokens(whole, tokens)


def _fits(lines: Sequence[str], tokens: int) -> bool:
    text = "\n".join(lines)
    return len(text) <= MAX_SHOWN - _NOTE and estimated_tokens(text) <= tokens - _NOTE // 2


def _cut_row(line: str, length: int) -> str:
    row = _ROW.fullmatch(line)
    if row is None or len(row[2]) <= length:
        return line
    return f"{row[1]}{row[2][: length - 1].rstrip()}…{row[3]}"
