"""Search Google through a Gemini model: grounded text, or its pages as hits."""

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from urllib.parse import urlsplit

from langchain_core.messages import HumanMessage, SystemMessage
from pydantic import BaseModel

from agent.core.budget import Meter
from agent.core.errors import AgentError, BudgetExceeded, ProviderError
from agent.core.hosts import Hosts
from agent.core.processor import read_in_turns
from agent.core.proxies import proxy_for
from agent.evidence.citations import MARKER
from agent.evidence.grounding import (
    Grounded,
    ground,
    not_found_remark,
    remarks_of,
    without_unsupported,
)
from agent.evidence.types import Gap, Source
from agent.models.catalogue import search_price
from agent.models.client import ModelClient
from agent.models.types import ModelAnswer
from agent.prompts import render
from agent.reading.guard import AddressGuard
from agent.search.hits import (
    MAX_QUERY,
    Hit,
    Hits,
    TurnSearches,
    WebResult,
    WebTask,
    make_hit,
    rule_gaps,
    search_gap,
)
from agent.search.http import SearchHttp
from agent.search.rules import ANY, SearchRules
from agent.texts import detect_language, say

REDIRECTS = "https://vertexaisearch.cloud.google.com/grounding-api-redirect/"
MAX_LINKS = 12
log = logging.getLogger(__name__)
_CHARGED = "google_search"
"""What its executed searches are charged as, beside the model's tokens."""


async def resolve_links(
    http: SearchHttp,
    urls: Iterable[str],
    *,
    hosts: Hosts,
    limit: int = MAX_LINKS,
    timeout: float = 5.0,
    base: str = REDIRECTS,
) -> dict[str, str | None]:
    """Return each link under `base` with its target, None where that is unknown.

    At most `limit` (12) of them are followed, all within `timeout` seconds; no failure is raised.
    A host of `base` that does not answer then is left alone for a while.
    """
    targets: dict[str, str | None] = {url: None for url in urls if _under(url, base)}
    followed, host = list(targets)[: min(limit, MAX_LINKS)], urlsplit(base).hostname or ""
    if not followed or hosts.is_silent(host):
        return targets
    tasks = {url: asyncio.create_task(_target(http, url, hosts)) for url in followed}
    try:
        await asyncio.wait(tasks.values(), timeout=timeout)
    finally:
        for task in tasks.values():
            task.cancel()
        outcomes = await asyncio.gather(*tasks.values(), return_exceptions=True)
    if all(isinstance(outcome, BaseException) for outcome in outcomes):
        hosts.silent(host, len(outcomes))
    else:
        hosts.answered(host)
    targets.update({url: o for url, o in zip(tasks, outcomes, strict=True) if isinstance(o, str)})
    return targets


async def _target(http: SearchHttp, url: str, hosts: Hosts) -> str | None:
    """Return a link's target; None where it has none that may be shown. Raises if none answers."""
    address = urlsplit(url)
    if proxy_for(url) is None:
        # Where nobody answers, the client would wait in threads that others need.
        await hosts.resolve(address.hostname or "", address.port or 443)
    target = await http.redirect_target("google", url)
    try:
        if target:
            AddressGuard().parse(target)
    except AgentError:
        return None
    return target


def is_redirect(url: str) -> bool:
    """Return whether an address is a link of Google's that leads on to a page."""
    return _under(url, REDIRECTS)


def _under(url: str, base: str) -> bool:
    """Return True for the scheme, host and port of `base` and a path below its own."""
    try:
        link, own = urlsplit(url), urlsplit(base)
        same = (link.scheme, link.hostname, link.port, link.username) == (
            own.scheme,
            own.hostname,
            own.port,
            None,
        )
    except ValueError:
        return False
    return same and link.path.startswith(own.path) and len(link.path) > len(own.path)


class GoogleSearch:
    """Research one query by a model that searches itself."""

    name = "google"

    def __init__(self, models: ModelClient) -> None:
        self._models = models
        self.searches = TurnSearches()

    async def research(self, task: WebTask, *, meter: Meter) -> WebResult:
        """Return marked text; text that no source supports is a gap, never a finding.

        Raises ProviderError or BudgetExceeded where not even a first answer came.
        """
        answers = await self.ask(task, meter=meter)
        return await read_in_turns(partial(self._result, answers, task), _size(answers))

    def _result(self, answers: Sequence[Grounded], task: WebTask) -> WebResult:
        """Return the better answer without what no source supports."""
        best, dropped = _allowed(max(answers, key=_worth), task.rules)
        marked = _has_markers(best)
        gaps = [search_gap(task, self.name, "search_sites")] if dropped else []
        if not marked:
            ruled = rule_gaps(task.query, self.name, _ruled(best, task.rules), task.language)
            gaps = ruled or [self._gap(task, best)]
        return WebResult(
            text=without_unsupported(best.text, best.sources) if marked else "",
            sources=best.sources if marked else [],
            gaps=gaps,
            executed=[query for answer in answers for query in _executed_queries(answer, task)],
            search_entry_points=[a.search_entry_point for a in answers if a.search_entry_point],
        )

    def _gap(self, task: WebTask, answer: Grounded) -> Gap:
        """Return what is missing, in the search's own words where it marks what it did not find."""
        if not answer.searched:
            return search_gap(task, self.name, "ungrounded")
        text = "unsupported" if answer.sources else ""
        gap = search_gap(task, self.name, "no_results", text=text)
        remark = not_found_remark(answer.text)
        return Gap(**{**gap, "message": remark}) if remark else gap

    async def ask(self, task: WebTask, *, meter: Meter) -> list[Grounded]:
        """Return one answer, or two where the first came without a search: models skip it."""
        first = await self._once(task, meter)
        if first.searched:
            return [first]
        try:
            return [first, await self._once(task, meter, nudge=say("search.nudge", task.language))]
        except (ProviderError, BudgetExceeded) as error:
            log.warning("turn=%s google: not asked again: %s", meter.turn_id, error)
            return [first]

    async def _once(self, task: WebTask, meter: Meter, nudge: str = "") -> Grounded:
        """Send one request; one search is booked before, as their number shows only afterwards."""
        query = " ".join(filter(None, [task.query, task.rules.operators()]))
        prompt = render("web_research", task.written_in, today=task.day, query=query)
        first = task.rules.first_day(task.today)
        searched = (f"{first}T00:00:00Z", f"{task.today}T23:59:59Z") if first else None
        messages = [
            SystemMessage(render("web_research_system")),
            HumanMessage(f"{prompt}\n{nudge}".strip()),
        ]
        meter.reserve("searches")
        executed = 0
        try:
            reply: ModelAnswer[BaseModel] = await self._models.ask(
                task.model, messages, meter=meter, search=True, search_range=searched
            )
            parts = reply.parts or (reply.text,)
            read = partial(ground, parts, reply.grounding, prefix=task.prefix, provider=self.name)
            grounded = await read_in_turns(read, len(reply.text))
            executed = len(_executed_queries(grounded, task))
        finally:
            cost = search_price(task.model, executed) if executed else 0.0
            meter.record(searches=executed - 1, cost_usd=cost, model=_CHARGED if executed else "")
        return grounded


class GoogleHits:
    """Serve the same search as hits: its pages, with what each alone bears of its model's text.

    A snippet says that it is a summary: its sentences are the model's, and no page's words. What
    several pages bear together each of them has, with the names of all.
    """

    name = "google"

    def __init__(
        self,
        google: GoogleSearch,
        model: str,
        *,
        today: str,
        default_count: int = 8,
        rules: SearchRules = ANY,
    ) -> None:
        self._rules = rules
        self._google = google
        self._model = model
        self._today = today
        self._default_count = default_count

    async def search(self, query: str, *, meter: Meter, count: int | None = None) -> list[Hit]:
        """Return the pages behind the model's text, those with sentences first."""
        cleaned = query[:MAX_QUERY]
        task = WebTask(
            query=cleaned,
            prefix="g0",
            language=detect_language(cleaned),
            today=self._today,
            model=self._model,
            choice="google",
            rules=self._rules,
            answer_language="the language of <query>",
        )

        async def ask(words: str) -> list[Grounded]:
            return await self._google.ask(replace(task, query=words), meter=meter)

        answers = await self._google.searches.do(cleaned, 0, meter, ask)
        return await read_in_turns(partial(self._hits, answers, count), _size(answers))

    def _hits(self, answers: Sequence[Grounded], count: int | None) -> Hits:
        best, _ = _allowed(max(answers, key=_worth), self._rules)
        ordered = sorted(best.sources, key=lambda source: not source["quotes"])
        bearers: dict[str, list[str]] = {}
        for source in ordered:
            for quote in source["quotes"]:
                bearers.setdefault(quote, []).append(_site(source))
        hits = [hit for source in ordered if (hit := _hit(source, bearers))]
        found = Hits(hits[: count or self._default_count])
        found.remarks = (*remarks_of(best.text, best.sources),)
        found.ruled_out = _ruled(best, self._rules).ruled_out
        return found


def _allowed(answer: Grounded, rules: SearchRules) -> tuple[Grounded, bool]:
    """Return the answer with sources of allowed sites only, and whether others were dropped.

    Google takes no rule on sites; what rests on other sites alone goes with its sources.
    """
    kept = [source for source in answer.sources if rules.allows(_site(source))]
    if len(kept) == len(answer.sources):
        return answer, False
    gone = {source["id"] for source in answer.sources} - {source["id"] for source in kept}
    text = MARKER.sub(lambda m: "" if m[1] in gone else m[0], answer.text)
    return replace(answer, text=text, sources=kept), True


def _ruled(answer: Grounded, rules: SearchRules) -> Hits:
    """Return no hits, with the rules where these leave an answer's search without any page."""
    none = Hits()
    none.ruled_out = rules if answer.searched and not answer.sources else ANY
    return none


def _site(source: Source) -> str:
    """Return the host of a page: Google's titles are bare domains, its links redirects."""
    title = source["title"]
    return title if "." in title and " " not in title else urlsplit(source["url"]).hostname or ""


def _hit(source: Source, bearers: Mapping[str, Sequence[str]]) -> Hit | None:
    language = detect_language(" ".join(source["quotes"]))
    own = " ".join(
        f"{quote} ({' + '.join(dict.fromkeys(sites))})" if len(sites) > 1 else quote
        for quote in source["quotes"]
        for sites in [bearers[quote]]
    )
    told = say("search.summary", language, text=own) if own else ""
    return make_hit(source["title"], source["url"], told, site=_site(source))


def _size(answers: Iterable[Grounded]) -> int:
    return sum(len(answer.text) for answer in answers)


def _has_markers(answer: Grounded) -> bool:
    return any(f"[^{source['id']}]" in answer.text for source in answer.sources)


def _worth(answer: Grounded) -> tuple[bool, bool, bool]:
    return _has_markers(answer), answer.searched, bool(answer.text.strip())


def _executed_queries(answer: Grounded, task: WebTask) -> list[str]:
    """Return the searches that ran; one that shows without its words counts as the query."""
    return answer.queries or ([task.query] if answer.searched else [])
