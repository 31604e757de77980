"""Search a service that returns hits under the rules of a run, and turn hits into marked text."""

import html
import json
import logging
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, Protocol, TypeVar
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from pydantic import SecretStr

from agent.core.budget import Budget, Meter
from agent.core.calls import Calls, Policy
from agent.core.concurrency import SingleFlight
from agent.core.errors import (
    AgentError,
    MalformedReply,
)
from agent.evidence.citations import id_letters, read_marker
from agent.evidence.language import SENTENCE_END, whole_sentences
from agent.evidence.markdown import canonical, link_url
from agent.evidence.queries import clean_text, same_search
from agent.evidence.quotes import marked_stretches
from agent.evidence.records import with_weekday
from agent.evidence.types import Gap, Source
from agent.search.http import SearchHttp
from agent.search.rules import ANY, DAYS, SearchRules, published_as, today_here
from agent.texts import Language, in_every_language, reason_of, say
from agent.texts.languages import language_name

log = logging.getLogger(__name__)

WebChoice = Literal["auto", "google", "tavily", "serper", "bocha", "off"]


@dataclass(frozen=True)
class Hit:
    """Hold one search result; `published` is an ISO day where a search has read it, or None."""

    title: str
    url: str
    snippet: str
    site: str = ""
    published: str | None = None
    text: str = ""
    """All that the page says, where it was opened."""


class Hits(list[Hit]):
    """Hold hits with what the search said beside them."""

    remarks: tuple[str, ...] = ()
    """Sentences without a source, such as what was not found; nobody can cite them."""
    older_than: str = ""
    """The rule on their age that others were left out by; empty where none were."""
    ruled_out: SearchRules = ANY
    """The rules under which nothing is left; the empty ones where something is, or none rule."""


@dataclass(frozen=True)
class PageContent:
    """Hold the text of a page that a service has read; `url` as requested."""

    url: str
    text: str


class SearchProvider(Protocol):
    """Search hits by a query."""

    name: str

    async def search(self, query: str, *, meter: Meter, count: int | None = None) -> list[Hit]:
        """Return at most `count` hits (default: the service's setting); raise ProviderError."""
        ...


@dataclass(frozen=True)
class WebTask:
    """Hold one query of a branch; source ids begin with `prefix` ("w0")."""

    query: str
    prefix: str
    language: Language
    today: str
    model: str
    """The research model, which searches or writes the hits up."""
    choice: WebChoice = "auto"
    rules: SearchRules = ANY
    answer_language: str = ""
    """As prompts name it; without it that of code's own sentences."""

    @property
    def day(self) -> str:
        """Return `2026-11-28 Sat`: a page that says "open on Sundays" is read by the weekday."""
        return with_weekday(self.today, "en")

    @property
    def written_in(self) -> str:
        """Return the language that a write-up is in, as prompts name it."""
        return self.answer_language or language_name(self.language)


@dataclass(frozen=True)
class WebResult:
    """Hold marked text (`[^w0-2]`) with its sources and gaps."""

    text: str
    sources: list[Source] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    executed: list[str] = field(default_factory=list)
    """The searches that really ran (what Google bills)."""
    search_entry_points: list[str] = field(default_factory=list)
    """Google's search suggestions (HTML), to be shown unmodified with the answer."""


LABELS = {"google": "Google", "tavily": "Tavily", "serper": "Serper", "bocha": "Bocha"}


def search_gap(task: WebTask, provider: str, code: str, *, text: str = "", **values: str) -> Gap:
    """Return a gap in the user's language; `text` names the wording, default the code."""
    values = {"service": LABELS.get(provider, provider), **values}
    message = say(f"search.{text or code}", task.language, **values)
    return Gap(query=task.query, provider=provider, code=code, message=message)


RULED_OUT = "search_ruled_out"
"""Code of a search that found nothing within its reader's own rules."""


class Ruled(Protocol):
    """What a search under rules leaves."""

    older_than: str
    ruled_out: SearchRules


def rule_gaps(query: str, service: str, found: Ruled, language: Language) -> list[Gap]:
    """Return the gap of what a reader's rules left out: everything, or pages for their age."""
    if found.ruled_out:
        rules = rules_text(found.ruled_out, language)
        code, message = RULED_OUT, say("search.ruled_out", language, rules=rules)
    elif found.older_than:
        values = {"service": LABELS.get(service, service),
                  "since": since_text(found.older_than, language)}  # fmt: skip
        code, message = "search_since", say("search.search_since", language, **values)
    else:
        return []
    return [Gap(query=query, provider=service, code=code, message=message)]


def rules_text(rules: SearchRules, language: Language) -> str:
    """Return the rules as a reader sets them: "*.gov, -b.com, of the last week"."""
    ruled = [*rules.sites, *(f"-{site}" for site in rules.without)]
    since = [since_text(rules.since, language)] if rules.since else []
    return say("punctuation.comma", language).join([*map(_pattern, ruled), *since])


def _pattern(site: str) -> str:
    """Return a site as it is asked for; an ending of many has a star."""
    bare = site.removeprefix("-")
    return site if "." in bare else site.replace(bare, f"*.{bare}")


def since_text(since: str, language: Language) -> str:
    """Return how new pages have to be, in words: "of the last week", "since 2026-01-31"."""
    if since in DAYS:
        return say(f"search.since.{since}", language)
    return say("search.since.date", language, day=since)


def failure_gap(task: WebTask, provider: str, error: AgentError, *, text: str, **more: str) -> Gap:
    """Return the gap of an error, with its code."""
    reason = reason_of(error, task.language)
    log.info("%s search failed: %s (%s)", provider, error, error.code)
    return search_gap(task, provider, error.code, text=text, reason=reason, **more)


MAX_QUERY = 400
MAX_SNIPPET = 700
_TAG = re.compile(
    r"</?(?:b|em|strong|mark|i|br|p|span|jats:[a-z-]{1,30})\b[^<>]{0,200}>", re.IGNORECASE
)
_BRACKETED = re.compile(r"(?<![ \t])[ \t]*+[\[【［]([^\[\]【】［］\n]{1,200})[\]】］]")


@dataclass(frozen=True)
class Endpoint:
    """Hold the address and key of a service; without a key only a keyless one works."""

    base_url: str
    key: SecretStr | None
    default_count: int
    timeout: float

    def url(self, path: str) -> str:
        return self.base_url.rstrip("/") + path

    def secret(self) -> str:
        return self.key.get_secret_value() if self.key else ""


class HitSearch(ABC):
    """Search hits, paid for once in a turn; a subclass sends the request."""

    name: str
    max_count: int = 20
    operators: bool = False
    """Whether quoted words are others than bare ones there."""

    def __init__(self, http: SearchHttp, calls: Calls, endpoint: Endpoint) -> None:
        self._http = http
        self._calls = calls
        self._endpoint = endpoint
        self._policy = Policy(
            self.name, spends="searches", timeout=endpoint.timeout, attempts=3, breaker=True
        )
        self._searches = TurnSearches(operators=self.operators)

    async def search(
        self,
        query: str,
        *,
        meter: Meter,
        count: int | None = None,
        rules: SearchRules = ANY,
        today: str = "",
    ) -> Hits:
        """Return at most `count` hits, paid for once in a turn; raise ProviderError.

        `rules` are those of the run; what a service lets through against them is dropped. How old
        a page is, is counted back from `today`, the asker's day; without it from this machine's.
        """
        cleaned = clean_text(query, MAX_QUERY)
        if not cleaned:
            return Hits()
        most = max(1, min(count or self._endpoint.default_count, self.max_count))

        async def paid(words: str) -> str:
            async def send() -> str:
                hits = _distinct(await self.fetch(words, most, rules))
                return json.dumps([asdict(hit) for hit in hits], ensure_ascii=False)

            request = {"query": words, "count": most}
            request |= {"rules": asdict(rules)} if rules else {}
            return await self._calls.once(self._policy, send, meter=meter, request=request)

        reply = await self._searches.do(cleaned, most, meter, paid)
        return _allowed([Hit(**row) for row in json.loads(reply)], rules, most, today)

    @abstractmethod
    async def fetch(self, query: str, count: int, rules: SearchRules) -> list[Hit | None]:
        """Send one request under the rules; return hits (None: unusable) or raise ProviderError."""


def make_hit(
    title: Any, url: Any, snippet: Any, *, site: Any = None, published: Any = None
) -> Hit | None:
    """Return a hit of one-line plain texts, or None without an http(s) link."""
    link = link_url(_with_scheme(url.strip())) if isinstance(url, str) else ""
    host = urlsplit(link).hostname or ""
    if not link or "%" in host:  # a blank or the like in a host's name
        return None
    return Hit(
        title=plain_line(title, 200) or host,
        url=link,
        snippet=plain_line(snippet, MAX_SNIPPET),
        site=plain_line(site, 80) or host.removeprefix("www."),
        published=plain_line(published, 40) or None,
    )


def _with_scheme(url: str) -> str:
    """Return an address as a browser would complete it: `www.…`, `//…`."""
    if url.startswith("//"):
        return f"https:{url}"
    return f"https://{url}" if url.lower().startswith("www.") else url


def summary_label(snippet: str) -> str:
    """Return what a snippet begins with that is a summary by a search's model; else nothing."""
    labels = (text.partition("{")[0] for text in in_every_language("search.summary"))
    return next((label for label in labels if snippet.startswith(label)), "")


def plain_line(text: Any, limit: int) -> str:
    """Return one line without emphasis tags, entities, hidden characters or citation markers.

    A page could write our markers to have itself cited under another source's name.
    """
    if not isinstance(text, str):
        return ""
    visible = clean_text(html.unescape(_TAG.sub("", text)), 4 * limit)
    return only_known(visible, ())[:limit].strip()


def only_known(text: str, ids: Collection[str]) -> str:
    """Keep only markers of known ids, in one spelling: `[w0-1, w9-9]` is `[^w0-1]`."""
    letters = id_letters(ids)

    def known_markers(bracket: re.Match[str]) -> str:
        names = read_marker(bracket[1], letters)
        if names is None:
            return bracket[0]
        return "".join(f"[^{name}]" for name in dict.fromkeys(names) if name in ids)

    return _BRACKETED.sub(known_markers, text)


def object_rows(value: Any) -> list[Mapping[str, Any]]:
    """Return the objects of a list that may be null, missing or hold anything."""
    return [row for row in value if isinstance(row, Mapping)] if isinstance(value, list) else []


def rows_of(
    provider: str, reply: Mapping[str, Any], name: str, *others: str
) -> list[Mapping[str, Any]]:
    """Return the objects of a reply's list, which may be null where nothing was found.

    A service that leaves an empty list out sends one of the `others` then. A reply with none of
    them answers no search: raise MalformedReply, lest a reader be told that nothing is to be found.
    """
    if not isinstance(reply.get(name), list | None) or not {name, *others} & reply.keys():
        raise MalformedReply(provider, f"the reply has no list `{name}`")
    return object_rows(reply.get(name))


def fields(value: Any) -> Mapping[str, Any]:
    """Return an object that may be null or missing."""
    return value if isinstance(value, Mapping) else {}


def _distinct(hits: Iterable[Hit | None]) -> list[Hit]:
    by_url: dict[str, Hit] = {}
    for hit in hits:
        if hit:
            by_url.setdefault(canonical(hit.url), hit)
    return list(by_url.values())


def _allowed(hits: Iterable[Hit], rules: SearchRules, most: int, today: str) -> Hits:
    """Return at most so many hits that the rules allow, which know whether others were too old."""
    today = today or today_here()
    of_sites = [hit for hit in hits if rules.allows_page(hit.url)]
    allowed = Hits(
        replace(hit, published=published_as(hit.published, today))
        for hit in of_sites
        if not rules.is_too_old(hit.published, today)
    )
    allowed.older_than = rules.since if len(allowed) < len(of_sites) else ""
    allowed.ruled_out = rules if not allowed else ANY
    del allowed[most:]
    return allowed


_EXCERPT = 300
_MAX_QUOTES = 12
_MAX_QUOTE = 500


def as_found(task: WebTask, hits: Hits, *, provider: str) -> WebResult:
    """Return the hits in their own words, each behind its title, site and date.

    No model writes them up: a summary loses the words by which the answer is checked, and costs a
    call a query.
    """
    gaps = rule_gaps(task.query, provider, hits, task.language)
    if not hits:
        return WebResult("", gaps=gaps or [search_gap(task, provider, "no_results")])
    hits_by_id = {f"{task.prefix}-{index}": hit for index, hit in enumerate(hits)}
    text = "\n\n".join(_line(name, hit) for name, hit in hits_by_id.items())
    return WebResult(text, sources=_sources(hits_by_id, provider), gaps=gaps)


def _line(name: str, hit: Hit) -> str:
    day = (hit.published or "").partition("T")[0]
    about = ", ".join(filter(None, [hit.site, day]))
    title = f"{hit.title} ({about})" if about else hit.title
    return f"{title}: {hit.snippet} [^{name}]" if hit.snippet else f"{title} [^{name}]"


def quotes_by_id(text: str) -> dict[str, list[str]]:
    """Return the sentences before each id's markers, before or behind their full stops."""
    quotes: dict[str, list[str]] = {}
    sentence = ""
    for stretch, names in marked_stretches(text):
        before = [part for part in SENTENCE_END.split(stretch) if part.strip()]
        if before and any(map(str.isalnum, before[-1])):
            sentence = before[-1].strip().lstrip("。！？.!?,，;；*-• ")[:_MAX_QUOTE]
        for name in names:
            of_source = quotes.setdefault(name, [])
            if sentence and sentence not in of_source and len(of_source) < _MAX_QUOTES:
                of_source.append(sentence)
    return quotes


def beginning(text: str) -> str:
    """Return whole sentences as far as they fit; one too long for that is cut visibly."""
    if len(text) <= _EXCERPT:
        return text
    return whole_sentences(text, _EXCERPT) or f"{text[:_EXCERPT].rstrip()}…"


def _sources(hits_by_id: dict[str, Hit], provider: str) -> list[Source]:
    return [
        Source(
            id=name,
            kind="page",
            title=hit.title,
            url=hit.url,
            provider=provider,
            quotes=[hit.snippet] if hit.snippet else [],
            site=hit.site,
            published=hit.published,
        )
        for name, hit in hits_by_id.items()
    ]


T = TypeVar("T")


class TurnSearches:
    """Send a search once in a turn: one that asks the same in other words gets its result.

    A failed search is none; whoever asks again sends the words of the first.
    """

    def __init__(self, *, operators: bool = True) -> None:
        self._operators = operators
        self._flights = SingleFlight()
        self._of_turns: WeakKeyDictionary[Budget, dict[str, dict[int, Any]]] = WeakKeyDictionary()

    async def do(
        self, query: str, count: int, meter: Meter, send: Callable[[str], Coroutine[Any, Any, T]]
    ) -> T:
        """Return what `send` brings for these words, or for those of an equal search before."""
        searches = self._of_turns.setdefault(meter.budget, {})
        words = next((each for each in searches if self._same(each, query)), query)
        results = searches.setdefault(words, {})
        if count not in results:
            key = f"{id(meter.budget)} {count} {words}"
            results[count] = await self._flights.do(key, lambda: send(words))
        result: T = results[count]
        return result

    def _same(self, one: str, other: str) -> bool:
        return one == other or same_search(one, other, operators=self._operators)
