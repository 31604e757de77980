"""Run what a model calls: searches, pages, own documents, the map and programs, all side by side.

An assistant says by its `ToolPolicy` which tools there are and how far they go, and by `Known` what
its turn has shown already; ids, pace, budget, errors and progress are the same for all. Nothing
here raises for a call: a failure is an answer to the model, and a gap for the reader.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from langchain_core.messages import AIMessage, ToolCall, ToolMessage
from langchain_core.tools import BaseTool, tool

from agent.assistants.common.assumed import AssumptionFinder
from agent.assistants.common.document_tools import (
    LIST_DOCUMENTS,
    OPEN_DOCUMENT,
    document_named,
    listed_documents,
    open_own,
)
from agent.assistants.common.gaps import gap_of
from agent.assistants.common.inside_words import KeptInside
from agent.assistants.common.own_documents import (
    SEARCH_DOCUMENTS,
    OwnPassages,
    PassageKey,
    search_own,
)
from agent.assistants.common.page_opener import PageOpener
from agent.assistants.common.reading import (
    PAGE_TOKENS,
    READ,
    OpenedPage,
    PageReading,
    wanted_page,
)
from agent.assistants.common.search import (
    PlaceLookup,
    SearchResult,
    ask_providers,
)
from agent.assistants.common.services import Services
from agent.assistants.common.tool_results import code_text, short
from agent.assistants.common.workspace import Item, Workspace, item_of_hit
from agent.configuration import Configuration
from agent.core.budget import Meter
from agent.core.errors import AgentError
from agent.core.progress import Emit, EventType, event
from agent.evidence.markdown import link_url
from agent.evidence.numbering import is_kept
from agent.evidence.queries import clean_text, normalised_query
from agent.evidence.types import Gap, Place, Source
from agent.knowledge.types import Scope
from agent.mcp.records import MapOptions, MapResult, map_gap
from agent.sandbox.programs import CodeRunner
from agent.search.hits import MAX_QUERY, SearchProvider
from agent.state import Turn, reader_language
from agent.texts import Language, reason_of, say

ToolKind = Literal["search", "page", "documents", "map", "code"]
CODE = "run_code"
MAP_PREFIXES = ("maps_", "osm_")
"""Begins the name of every map's tool."""
MAX_CALLS = 12
"""Calls of one message that are done."""
MAX_PROGRAM = 20_000
"""Characters of a program."""
LETTERS: Mapping[ToolKind, str] = {
    "search": "s", "page": "r", "documents": "d", "map": "a", "code": "c"
}  # fmt: skip
_QUERY_NAMES = ("queries", "query", "q", "search_query", "keywords")
_CODE_NAMES = ("code", "program", "source", "python", "script")
_NUMBERS = 8


@tool(CODE)
def run_code(code: str) -> str:
    """Run a short Python program for exact arithmetic, dates, counting or comparison; never
    compute in your head. Print one result a line, its name, terms, value and unit (tickets: 3 × 40
    + 15 = 135 yuan), no headings: each line is cited by itself. Or end with an expression. math,
    re, json, datetime, statistics, Decimal, Fraction and Counter are there; no files, no network,
    no other imports.
    """
    return ""


CODING: BaseTool = run_code


@dataclass(frozen=True)
class ToolPolicy:
    """Say which tools an assistant's models have, and how far they go."""

    node: str
    """As progress events name it."""
    searches: Mapping[str, Sequence[SearchProvider] | AgentError] = field(default_factory=dict)
    """The services behind each tool that searches, or why there is none.

    The next is asked where one fails.
    """
    queries: int = 1
    """Of one call; a tool that takes one refuses a list of several."""
    reads: int = 0
    """Pages that may still be opened."""
    page_tokens: int = PAGE_TOKENS
    scope: Scope | None = None
    """Own documents that may be searched."""
    names_of_own: Mapping[PassageKey, str] = field(default_factory=dict)
    """The ids of passages of own documents that are shown whole."""
    maps: bool = False
    runner: CodeRunner | None = None
    unfounded: Callable[[str], Awaitable[list[str]]] | None = None
    """Returns the numbers of a program that stand nowhere: what rests on them is told as assumed.

    Without it no result can be cited.
    """
    inside: KeptInside | None = None
    """What no query may take outside."""
    told: Mapping[str, Any] = field(default_factory=dict)
    """What every progress event carries besides, such as who speaks."""

    @property
    def names(self) -> list[str]:
        """Return the tools there are, but the map's."""
        opens = [READ] if self.searches else []
        own = [SEARCH_DOCUMENTS, LIST_DOCUMENTS, OPEN_DOCUMENT] if self.scope else []
        return [*self.searches, *opens, *own, *([CODE] if self.runner else [])]


@dataclass(frozen=True)
class EarlierSearch:
    """Hold an earlier search: its tool, its query, its result as shown, and the sources' ids."""

    tool: str
    query: str
    text: str
    source_ids: Sequence[str] = ()


@dataclass(frozen=True)
class Known:
    """Hold what a turn and those before it have shown."""

    sources: Sequence[Source] = ()
    """Each can be opened by its id; what is found again keeps it."""
    pages: Mapping[str, str] = field(default_factory=dict)
    """Titles of further addresses that may be opened."""
    read: Collection[str] = ()
    """Canonical addresses of the pages that were read already."""
    places: Sequence[Place] = ()
    """Each can be named by its id in every call of the map."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Names of positions ("lng,lat") that calls of the map have located."""
    recall: Callable[[str, str], EarlierSearch | None] = lambda tool, query: None
    """Returns the earlier search, by tool and query, that answers this one too."""


@dataclass
class ToolOutcome:
    """Hold one call and what came of it; `kind` is None where it was refused."""

    call: ToolCall
    kind: ToolKind | None = None
    id: str = ""
    queries: list[str] = field(default_factory=list)
    """Of a search; else what is asked, in one line."""
    text: str = ""
    """The result as a model reads it, but of a search."""
    hint: str = ""
    """A line before the result, for the model only."""
    failed: bool = False
    cached: bool = False
    twin: "ToolOutcome | None" = None
    """An equal search of the same message, which alone is asked."""
    source_ids: list[str] = field(default_factory=list)
    results: list[SearchResult] = field(default_factory=list)
    """Of a search, one for each query."""
    items: list[list[Item]] = field(default_factory=list)
    """The hits of each query as the workspace keeps them; nothing where there is none."""
    page: OpenedPage | None = None
    documents: OwnPassages | None = None
    map_result: MapResult | None = None
    """What the call alone has brought."""
    calculation: Source | None = None
    """What a program's result is cited as."""
    is_assumed: bool = False
    """Whether all of it rests on numbers from nowhere."""
    gaps: list[Gap] = field(default_factory=list)

    @property
    def asked(self) -> str:
        return "; ".join(self.queries)

    @property
    def is_open(self) -> bool:
        """Return whether the call still has to be made."""
        return self.kind is not None and not self.cached

    def refuse(self, text: str) -> None:
        self.kind, self.failed, self.text = None, True, text

    def fail(self, text: str) -> None:
        self.failed, self.text = True, text

    def message(self, text: str) -> ToolMessage:
        """Return the answer to the call."""
        call, status = self.call, "error" if self.failed else "success"
        return ToolMessage(
            text, tool_call_id=call["id"] or "", name=call["name"], status=cast(Any, status)
        )


def queries_of(call: ToolCall, most: int) -> list[str]:
    """Return the distinct queries of a search; models also write one text, or lines, for a list."""
    value = next((call["args"][name] for name in _QUERY_NAMES if call["args"].get(name)), None)
    lines = value.splitlines() if isinstance(value, str) and most > 1 else [value]
    texts = value if isinstance(value, list) else lines
    cleaned = (clean_text(text, MAX_QUERY) for text in texts if isinstance(text, str))
    return list(dict.fromkeys(filter(None, cleaned)))[: max(2, most)]


def program_of(call: ToolCall) -> str:
    """Return the program as the model wrote it; empty where there is none or it is far too long."""
    value = next((call["args"][name] for name in _CODE_NAMES if call["args"].get(name)), None)
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    is_usable = isinstance(value, str) and value.strip() and len(value) <= MAX_PROGRAM
    return cast(str, value) if is_usable else ""


def map_call_text(call: ToolCall) -> str:
    """Return a map's call in one line: `maps_geo address=王府井, city=北京`."""
    arguments = ((n, v) for n, v in call["args"].items() if v not in (None, ""))
    listed = ", ".join(f"{name}={value}" for name, value in arguments)
    return f"{call['name']} {listed}".strip()[:400]


def next_numbers(ids: Collection[str]) -> dict[ToolKind, int]:
    """Return of each kind of call the first number that no id such as `s3` or `a2-0` has.

    Those of a workspace do not count.
    """
    numbers: dict[str, int] = {}
    for name in ids:
        if is_kept(name):
            continue
        head = name.partition("-")[0]
        if head[1:].isdigit():
            numbers[head[0]] = max(numbers.get(head[0], -1), int(head[1:]))
    return {kind: numbers.get(letter, -1) + 1 for kind, letter in LETTERS.items()}


@dataclass
class Toolbox:
    """Run the calls of one message."""

    services: Services
    configuration: Configuration
    turn: Turn
    meter: Meter
    emit: Emit
    policy: ToolPolicy
    known: Known = field(default_factory=Known)
    workspace: Workspace | None = None
    """Keeps the pages that searches have found and calls have opened, under ids that stay."""
    opener: PageOpener | None = None
    """Opens the pages that searches find, side by side."""
    numbers: dict[ToolKind, int] = field(default_factory=dict)
    """Of each kind the number of its next call, which its ids begin with: `s3`, `a0`."""

    @property
    def language(self) -> Language:
        return self.turn["language"]

    async def run(self, message: AIMessage) -> list[ToolOutcome]:
        """Return the outcome of each call, in their order, also of those nobody can read."""
        outcomes = self.planned(message.tool_calls)
        await self.do(outcomes)
        return outcomes + [self._unreadable(call) for call in message.invalid_tool_calls]

    async def do(self, outcomes: Sequence[ToolOutcome]) -> None:
        """Make the calls that are open."""
        open_ = [each for each in outcomes if each.is_open]
        await asyncio.gather(
            self._open_pages([each for each in open_ if each.kind == "page"]),
            self._ask_map([each for each in open_ if each.kind == "map"]),
            *(self._search(each) for each in open_ if each.kind == "search"),
            *(self._search_own(each) for each in open_ if each.kind == "documents"),
            *(self._run_code(each) for each in open_ if each.kind == "code"),
        )
        for each in outcomes:
            if each.twin is not None and each.twin.failed:
                each.fail(each.twin.text)
                each.hint = ""

    def planned(self, calls: Sequence[ToolCall]) -> list[ToolOutcome]:
        """Return an outcome for each call: refused, answered already, or open, with its id."""
        outcomes = list[ToolOutcome]()
        for number, call in enumerate(calls):
            outcome = ToolOutcome(call)
            if number >= MAX_CALLS:
                outcome.refuse(say("tools.too_many", self.language, limit=str(MAX_CALLS)))
            else:
                self._read(outcome)
            if outcome.kind is not None:
                number = self.numbers.get(outcome.kind, 0)
                outcome.id = f"{LETTERS[outcome.kind]}{number}"
                self.numbers[outcome.kind] = number + max(1, len(outcome.queries))
            if outcome.kind == "search":
                self._recall(outcome, outcomes)
            outcomes.append(outcome)
        return outcomes

    def _read(self, outcome: ToolOutcome) -> None:
        """Note what a call asks for; refuse a tool that is not there, and a call without words."""
        call, policy, name = outcome.call, self.policy, outcome.call["name"]
        if name.startswith(MAP_PREFIXES) and policy.maps:
            outcome.kind, asked = "map", [map_call_text(call)]
        elif name not in policy.names:
            outcome.refuse(self.no_such_tool(name))
            return
        elif name in policy.searches:
            outcome.kind, asked = "search", queries_of(call, policy.queries)
            asked = asked if len(asked) <= policy.queries or policy.queries > 1 else []
            asked = asked[: policy.queries]
        elif name == READ:
            page = wanted_page(call)
            outcome.kind, asked = "page", [f"{page.page} {page.looking_for}".strip()]
        elif name == SEARCH_DOCUMENTS:
            outcome.kind, asked = "documents", [" ".join(queries_of(call, MAX_CALLS))]
        elif name == LIST_DOCUMENTS:
            outcome.kind, asked = "documents", [name]
        elif name == OPEN_DOCUMENT:
            outcome.kind, asked = "documents", [" ".join(filter(None, document_named(call)))]
        else:
            outcome.kind, asked = "code", [program_of(call)]
        outcome.queries = list(filter(None, asked))
        if not outcome.queries:
            key = "tools.bad_code" if outcome.kind == "code" else "tools.bad_query"
            outcome.refuse(say(key, self.language, name=name, limit=str(MAX_PROGRAM)))

    def no_such_tool(self, name: str, names: Sequence[str] = ()) -> str:
        """Return the answer to a call of an unknown tool; `names` are the map's where known."""
        mapped = names or ([f"{prefix}…" for prefix in MAP_PREFIXES] if self.policy.maps else [])
        there = [*self.policy.names, *mapped]
        if not there:
            return say("tools.no_tool_at_all", self.language)
        return say("tools.unknown_tool", self.language, name=name[:60], tools=", ".join(there))

    def _unreadable(self, call: object) -> ToolOutcome:
        """Return the refusal of an unreadable call: services refuse one without an answer."""
        read = call if isinstance(call, dict) else {}
        name = str(read.get("name") or "")
        outcome = ToolOutcome(ToolCall(name=name, args={}, id=read.get("id")))
        outcome.refuse(say("tools.bad_arguments", self.language, name=name[:60]))
        return outcome

    def _recall(self, outcome: ToolOutcome, before: Sequence[ToolOutcome]) -> None:
        """Answer a search of one query from an earlier one, or by one of the same message."""
        tool_name = outcome.call["name"]
        if earlier := self.known.recall(tool_name, outcome.asked):
            outcome.cached, outcome.text = True, earlier.text
            outcome.source_ids = list(earlier.source_ids)
            outcome.hint = say("tools.cached", self.language)
            return
        same = (o for o in before if o.kind == "search" and o.is_open)
        outcome.twin = next(
            (
                o
                for o in same
                if o.call["name"] == tool_name
                and normalised_query(o.asked) == normalised_query(outcome.asked)
            ),
            None,
        )
        if outcome.twin is not None:
            outcome.cached = True
            outcome.hint = say("tools.same_step", self.language, id=outcome.twin.id)

    def tell(self, kind: EventType, id: str, text: str, **more: Any) -> None:
        """Send a progress event of one call."""
        self.emit(event(kind, self.policy.node, id=id, text=text, **self.policy.told, **more))

    async def _search(self, outcome: ToolOutcome) -> None:
        letter, first = outcome.id[0], int(outcome.id[1:])
        outcome.results = await asyncio.gather(
            *(
                self._ask(query, f"{letter}{first + n}", outcome.call["name"])
                for n, query in enumerate(outcome.queries)
            )
        )
        if self.workspace is not None:
            outcome.items = [await self._kept(result) for result in outcome.results]
        outcome.gaps += [gap for result in outcome.results for gap in result.gaps]
        if all(result.failure for result in outcome.results):
            outcome.fail(outcome.results[0].failure)

    async def _ask(self, query: str, name: str, tool_name: str) -> SearchResult:
        began, services = time.monotonic(), self.policy.searches[tool_name]
        if isinstance(services, AgentError):
            gap = gap_of(query, services, "web", self.language)
            return SearchResult(query, gaps=[gap], failure=gap["message"])
        inside = self.policy.inside
        if inside is not None and (refusal := await inside.refusal(query, self.language)):
            return SearchResult(query, failure=refusal, is_refused=True)
        self.tell("search_started", name, query)
        result = await ask_providers(
            query, services, turn=self.turn, model=self.configuration.research_model,
            meter=self.meter, pages=self.opener,
        )  # fmt: skip
        seconds = time.monotonic() - began
        self.tell("search_done", name, query, count=len(result.hits), seconds=seconds)
        return result

    async def _kept(self, result: SearchResult) -> list[Item]:
        """Keep the hits of a query; a store that fails ends the run, as the reply cache does."""
        assert self.workspace is not None
        items = [item_of_hit(hit, result.query, result.service) for hit in result.hits]
        return await self.workspace.keep(items)

    async def _open_pages(self, outcomes: Sequence[ToolOutcome]) -> None:
        if not outcomes:
            return
        sources = {s["id"]: s for s in self.known.sources if s["kind"] == "page" and s["url"]}
        titles = {**{s["url"]: s["title"] for s in sources.values()}, **self.known.pages}
        reading = PageReading(
            self.services, self.meter, self.language, list(titles),
            ids={name: source["url"] for name, source in sources.items()},
            titles=titles, parallel=self.configuration.max_parallel_reads, free=self.known.read,
        )  # fmt: skip
        wanted = [wanted_page(outcome.call) for outcome in outcomes]
        for outcome, each in zip(outcomes, wanted, strict=True):
            name = sources[each.page]["title"] if each.page in sources else each.page
            self.tell("reading", outcome.id, each.looking_for or name, count=1)
        pages = await reading.open_all(
            wanted, left=self.policy.reads, tokens=self.policy.page_tokens
        )
        for outcome, page in zip(outcomes, pages, strict=True):
            outcome.page, outcome.text = page, page.shown(self.language)
            outcome.failed = bool(page.failure)
            outcome.gaps += [page.gap] if page.gap else []
            if not page.failure and self.workspace is not None:
                item = Item("page", page.title or page.url, link_url(page.url), page.text,
                            date=page.published, provider="web", query=outcome.asked)  # fmt: skip
                outcome.items = [await self.workspace.keep([item])]
                outcome.text = page.shown(self.language, id=outcome.items[0][0].id)

    async def _search_own(self, outcome: ToolOutcome) -> None:
        name, scope, services = outcome.call["name"], self.policy.scope, self.services
        if name == LIST_DOCUMENTS:
            outcome.text = await listed_documents(scope, services, self.language)
            return
        prefix, language = outcome.id, self.language
        if name == OPEN_DOCUMENT:
            found = await open_own(
                *document_named(outcome.call), scope, services,
                prefix=prefix, language=language, tokens=self.policy.page_tokens,
                names=self.policy.names_of_own,
            )  # fmt: skip
        else:
            found = await search_own(
                outcome.asked, scope, services, self.meter,
                prefix=prefix, language=language, names=self.policy.names_of_own,
            )  # fmt: skip
        outcome.documents = found
        outcome.source_ids = [source["id"] for source in found.sources]
        outcome.text = found.shown(outcome.source_ids, language)
        if found.gap:
            outcome.gaps.append(found.gap)
            outcome.fail(found.gap["message"])

    async def _ask_map(self, outcomes: Sequence[ToolOutcome]) -> None:
        """Ask each call with a result of its own, which begins with the places that are known.

        What two calls of one message have found stays with the first.
        """
        await asyncio.gather(*(self._ask_map_once(outcome) for outcome in outcomes))
        known = {place["id"]: place["source"] for place in self.known.places}
        for outcome in outcomes:
            if outcome.map_result is not None:
                _keep_new(outcome, known)

    async def _ask_map_once(self, outcome: ToolOutcome) -> None:
        options = MapOptions(
            prefix=outcome.id,
            language=self.language,
            near=self.turn["near"],
            on_found=lambda spots: self.tell("map_found", outcome.id, "", spots=spots),
        )
        places = [cast(Place, {**place}) for place in self.known.places]
        outcome.map_result = result = MapResult(places=places, names={**self.known.names})
        try:
            maps = await self.services.maps.tools(
                result, self.turn["question"], options=options, meter=self.meter,
                on_call=lambda asked: self.tell("map_call", outcome.id, asked),
            )  # fmt: skip
        except AgentError as error:
            result.gaps.append(map_gap(error, outcome.asked, self.language))
            outcome.fail(result.gaps[-1]["message"])
            return
        names = [each.name for each in maps.tools]
        if outcome.call["name"] not in names:
            outcome.refuse(self.no_such_tool(outcome.call["name"], names))
            return
        answer = await maps.call(outcome.call)
        most = self.configuration.map_details + self.configuration.map_more_details
        lookup = PlaceLookup(maps, result, self.meter, self.language, most)
        [lines] = await lookup.lines([outcome.call], [answer])
        outcome.text = "\n".join([*lines, str(answer.text)])
        outcome.failed = answer.status == "error"

    async def _run_code(self, outcome: ToolOutcome) -> None:
        began = time.monotonic()
        assert self.policy.runner is not None
        try:
            result = await self.policy.runner.run(outcome.asked)
        except AgentError as error:
            reason = reason_of(error, self.language)
            message = say("tools.code_failed", self.language, reason=reason)
            outcome.gaps.append(Gap(query="", provider="sandbox", code=error.code, message=message))
            outcome.fail(message)
        else:
            outcome.text, outcome.failed = code_text(result, self.language), bool(result.error)
            await self._cite_code(outcome)
        line = f"{short(outcome.asked)} ⇒ {short(outcome.text)}"
        self.tell("code", outcome.id, line, seconds=time.monotonic() - began)

    async def _cite_code(self, outcome: ToolOutcome) -> None:
        """Make the result of a program citable; numbers from nowhere are told as assumed."""
        if self.policy.unfounded is None or outcome.failed:
            return
        assert self.policy.runner is not None
        reader = reader_language(self.turn)
        finder = AssumptionFinder(self.policy.runner, self.policy.unfounded, self.language, reader)
        found = await finder.in_result(outcome.asked, outcome.text)
        outcome.text = found.text
        if found.numbers:
            numbers, outcome.is_assumed = ", ".join(found.numbers[:_NUMBERS]), found.is_all
            outcome.hint = say("tools.unfounded", self.language, numbers=numbers)
        outcome.calculation = calculation(f"{outcome.id}-0", found.text, reader)
        if found.lines:
            outcome.calculation["assumed"] = [*found.lines]
        outcome.source_ids = [outcome.calculation["id"]]


def calculation(name: str, lines: str, reader: Language) -> Source:
    """Return lines that were worked out as a source: all of a text's are one in its list."""
    title = say("tools.calculation", reader)
    return Source(
        id=name, kind="document", url="", quotes=[lines],
        title=title[:1].upper() + title[1:], provider=title,
    )  # fmt: skip


def is_calculation(source: Source) -> bool:
    """Return whether a source is the result of a program of ours."""
    return source["id"].startswith(LETTERS["code"])


def _keep_new(outcome: ToolOutcome, known: dict[str, str]) -> None:
    """Leave in a map's result what it alone has brought, and in its text the ids that stay.

    `known` are the sources of known records by the records' ids; new ones are added.
    """
    result = cast(MapResult, outcome.map_result)
    names: dict[str, str] = {}
    for records in (result.places, result.routes, result.weather):
        rows = cast(list[Any], records)
        for row in rows:
            names[row["source"]] = known.setdefault(row["id"], row["source"])
        rows[:] = [row for row in rows if names[row["source"]] == row["source"]
                   and row["source"].startswith(f"{outcome.id}-")]  # fmt: skip
    for new, first in names.items():
        outcome.text = outcome.text.replace(f"[^{new}]", f"[^{first}]")
    gone = {new for new, first in names.items() if new != first}
    result.sources[:] = [source for source in result.sources if source["id"] not in gone]
    outcome.source_ids = list(dict.fromkeys(names.values()))
    outcome.gaps += result.gaps
