"""Does what the model asked for, in the order the graph allows; only records a change or an end."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, cast

from langchain_core.messages import AIMessage, ToolCall, ToolMessage
from langgraph.runtime import Runtime

from agent.assistants.common.gaps import gap_of
from agent.assistants.common.own_documents import (
    SEARCH_DOCUMENTS,
    Documents,
    next_prefix,
    own_scope,
    search_own,
)
from agent.assistants.common.reading import PAGE_TOKENS, READ, OpenedPage, PageReading, wanted_page
from agent.assistants.common.search import (
    PlaceLookup,
    ask_providers,
    located,
    page_row,
    providers_of,
    remark_row,
    result_element,
    told_once,
)
from agent.assistants.common.services import GetServices, Services
from agent.assistants.common.turn import meter_of
from agent.assistants.deep_research.compress_topic import Compression
from agent.assistants.deep_research.explore import room, topic_name
from agent.assistants.deep_research.state import (
    Counts,
    DeepState,
    DeepUpdate,
    FoundPage,
    Intent,
    ShownPage,
    configuration_of,
    found_page,
    kept_pages,
    topic_messages,
)
from agent.assistants.deep_research.tools import (
    CHANGE,
    END,
    MAX_CALLS,
    MAX_THOUGHT,
    MOVED,
    OWN,
    SEARCH,
    THINK,
    Ruling,
    TopicHistory,
    new_topic_of,
    offers_maps,
    queries_of,
    reads_left,
    reason_of,
    ruled,
    thought_of,
    thought_since_search,
    thoughtless,
    urls_of,
    was_reminded,
    were_moved,
)
from agent.configuration import Configuration
from agent.core.budget import Meter
from agent.core.errors import AgentError
from agent.core.progress import Emit, event
from agent.core.strings import cut_to_tokens, estimated_tokens
from agent.evidence.markdown import link_url
from agent.evidence.queries import clean_text
from agent.evidence.types import Gap
from agent.knowledge.types import Scope
from agent.mcp.records import MapOptions, MapResult, map_gap
from agent.search.hits import MAX_SNIPPET, Hit, SearchProvider, WebChoice
from agent.search.web import WebSearch
from agent.state import PlannedQuery, Turn, inner
from agent.texts import Language, say

NODE = "act"
_SNIPPET_TOKENS = 220


def search_providers(web: WebSearch, configuration: Configuration) -> list[SearchProvider]:
    """Return what a query is sent to, the second where the first one fails.

    Raises ConfigurationError where there is none. Tavily comes first: it also reads pages.
    """
    choice = configuration.web_search
    choices: tuple[WebChoice, ...] = ("tavily", "auto") if choice == "auto" else (choice,)
    providers = providers_of(web, choices, configuration)
    return list({provider.name: provider for provider in providers.values()}.values())


@dataclass
class Found:
    """Hold the results of one query."""

    query: str
    pages: list[FoundPage] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    failure: str = ""
    remarks: Sequence[str] = ()

    def shown(self, turn: Turn, tokens: int, earlier: dict[str, str]) -> str:
        """Return the results as the model reads them, cut to about that many tokens.

        `earlier` are the snippets by address that the topic has shown; these are added.
        """
        language, rows, left = turn["language"], list[str](), tokens
        if self.failure:
            return result_element(
                self.query, [say("deep_research.failed", language, reason=self.failure)]
            )
        names, texts = [page["url"] for page in self.pages], self._snippets(earlier, language)
        for page, (text, also) in zip(self.pages, told_once(names, texts, language), strict=True):
            snippet = cut_to_tokens(text, min(_SNIPPET_TOKENS, max(left // 2, 40)))
            about = {"title": page["title"], "site": page["site"], "date": page["published"]}
            row = page_row(snippet, url=page["url"], **about, also=also)
            if (left := left - estimated_tokens(row)) < 0:
                break
            rows.append(row)
        rows = rows or [say("tools.nothing", language)]
        return result_element(self.query, [*rows, *map(remark_row, self.remarks)])

    def _snippets(self, earlier: dict[str, str], language: Language) -> list[str]:
        """Return each page's excerpt, or that the topic has shown the same before."""
        texts = list[str]()
        for page in self.pages:
            is_known = bool(page["snippet"]) and earlier.get(page["url"]) == page["snippet"]
            texts.append(say("tools.above", language) if is_known else page["snippet"])
            earlier[page["url"]] = page["snippet"]
        return texts


@dataclass(frozen=True)
class Searching:
    """Run the searches of a step, and report their progress."""

    web: WebSearch
    configuration: Configuration
    turn: Turn
    meter: Meter
    emit: Emit

    async def all(self, queries: list[str], first: int) -> list[Found]:
        """Search every query at once; `first` numbers them in the progress. Never raise for one."""
        try:
            providers = search_providers(self.web, self.configuration)
        except AgentError as error:
            failed = [gap_of(query, error, "web", self.turn["language"]) for query in queries]
            return [self._failure(gap) for gap in failed]
        return await asyncio.gather(
            *(self._one(query, providers, f"s{first + n}") for n, query in enumerate(queries))
        )

    async def _one(self, query: str, providers: list[SearchProvider], name: str) -> Found:
        began = time.monotonic()
        self.emit(event("search_started", NODE, id=name, text=query))
        result = await self._ask(query, providers)
        for gap in result.gaps:
            self.emit(event("gap", NODE, id=name, text=gap["message"]))
        seconds = time.monotonic() - began
        self.emit(
            event(
                "search_done", NODE, id=name, text=query, count=len(result.pages), seconds=seconds
            )
        )
        return result

    async def _ask(self, query: str, providers: list[SearchProvider]) -> Found:
        model = self.configuration.research_model
        result = await ask_providers(
            query, providers, turn=self.turn, model=model, meter=self.meter
        )
        pages = [_page(hit, result.service) for hit in result.hits]
        return Found(query, pages, result.gaps, result.failure, result.remarks)

    def _failure(self, gap: Gap) -> Found:
        return Found(gap["query"], gaps=[gap], failure=gap["message"])


def _page(hit: Hit, provider: str) -> FoundPage:
    return FoundPage(
        url=link_url(hit.url),
        title=hit.title,
        site=hit.site,
        snippet=hit.snippet,
        published=hit.published,
        provider=provider,
    )


_LEAST_TOKENS = 200
_MAX_TOKENS = 6000


async def act(
    state: DeepState,
    runtime: Runtime[Configuration],
    *,
    get_services: GetServices,
    compression: Compression,
) -> DeepUpdate:
    """Answer every call of the last message; a failure is an answer, never raised."""
    services, configuration = get_services(), configuration_of(runtime)
    step = _Step(
        state,
        configuration,
        services,
        meter_of(state, configuration, services),
        runtime.stream_writer,
        own_scope(state.get("readable", []), state.get("owner", ""), runtime),
    )
    with compression.tasks.ending_with(state["turn"]["id"]):
        return await step.run()


@dataclass
class _Step:
    state: DeepState
    configuration: Configuration
    services: Services
    meter: Meter
    emit: Emit
    scope: Scope | None
    """Own documents that may be read."""
    map_result: MapResult = field(default_factory=MapResult)
    thoughtless: set[int] = field(default_factory=set)
    """The identities of the searches that no thought came before."""
    snippets: dict[str, str] = field(default_factory=dict)
    """The excerpt of each address that the topic has shown."""

    def __post_init__(self) -> None:
        """Remember what earlier steps of the topic have shown."""
        self.snippets |= {
            page["url"]: page["snippet"] for page in self.state.get("pages_found", [])
        }
        # A place that is known can be named by its id, and is not looked up again.
        self.map_result.places += self.state.get("places", [])
        self.map_result.names |= located(topic_messages(self.state))

    async def run(self) -> DeepUpdate:
        calls, history = self.message.tool_calls, self._history()
        rulings = ruled(calls, history)
        self.thoughtless = {id(call) for call in thoughtless(calls, history)}
        allowed = [call for call, ruling in zip(calls, rulings, strict=True) if ruling is None]
        moved = [call for call, ruling in zip(calls, rulings, strict=True) if ruling == MOVED]
        for thought in self._thoughts(allowed):
            self.emit(event("thought", NODE, text=thought))
        hits, mapped, opened, own = await asyncio.gather(
            self._run_searches(allowed),
            self._ask_map(allowed),
            self._open_pages(allowed),
            self._search_own(allowed),
        )
        results = _Results(hits, mapped, opened, own)
        answers = [
            self._answer(call, ruling, results) for call, ruling in zip(calls, rulings, strict=True)
        ]
        refused = len(calls) - len(allowed) - len(moved)
        return self._update(allowed, answers, results, moved=moved, refused=refused)

    @property
    def message(self) -> AIMessage:
        """Return the message whose calls these are."""
        return cast(AIMessage, topic_messages(self.state)[-1])

    def _history(self) -> TopicHistory:
        state = self.state
        before = topic_messages(state)[:-1]
        return TopicHistory(
            topic=state["topic"],
            done=[entry["topic"] for entry in state.get("search_results", [])],
            thought=bool(self._aside()) or thought_since_search(before),
            searched=bool(state.get("queries")) or state["searched"],
            answered=bool(state["previous"]["sources"]),
            planned=self._planned(),
            reminded=was_reminded(before),
            maps=self._map_names(),
            documents=bool(state.get("readable")),
            inside=state["turn"].get("own_only", False),
            moved=were_moved(self.message),
        )

    def _aside(self) -> list[str]:
        """Return what the model wrote beside its calls: a thought, if it is anything."""
        text = str(self.message.text)
        return [thought] if (thought := clean_text(text, MAX_THOUGHT)) else []

    def _thoughts(self, calls: Sequence[ToolCall]) -> list[str]:
        own = [thought for call in calls if call["name"] in OWN and (thought := thought_of(call))]
        return [*self._aside(), *own]

    def _planned(self) -> list[str]:
        plan = self.state.get("plan", [])
        return [topic["name"] for topic in plan if topic["status"] == "planned"]

    def _map_names(self) -> list[str]:
        """Return the names of the map's tools that a call has; the server knows which exist."""
        if not offers_maps(self.state, self.configuration):
            return []
        names = [call["name"] for call in self.message.tool_calls]
        return [name for name in names if name.startswith("maps_")]

    async def _run_searches(self, calls: Sequence[ToolCall]) -> dict[str, Found]:
        """Search each distinct query."""
        queries = dict.fromkeys(
            query for call in calls if call["name"] == SEARCH for query in queries_of(call)
        )
        if not queries:
            return {}
        state = self.state
        searching = Searching(
            self.services.web, self.configuration, state["turn"], self.meter, self.emit
        )
        results = await searching.all(list(queries), first=len(state.get("queries", [])))
        return {each.query: each for each in results}

    async def _ask_map(self, calls: Sequence[ToolCall]) -> dict[int, str]:
        """Return the map's answers by the identity of the call."""
        map_calls = [call for call in calls if call["name"] not in OWN]
        if not map_calls:
            return {}
        turn, number = self.state["turn"], self.state["rounds"]
        options = MapOptions(
            prefix=f"a{number}",
            language=turn["language"],
            near=turn["near"],
            on_found=lambda spots: self.emit(event("map_found", NODE, spots=spots)),
        )
        try:
            tools = await self.services.maps.tools(
                self.map_result,
                turn["question"],
                options=options,
                meter=self.meter,
                on_call=self._report_call,
            )
        except AgentError as error:
            gap = map_gap(error, topic_name(self.state), turn["language"])
            self.map_result.gaps.append(gap)
            return {id(call): gap["message"] for call in map_calls}
        answers = await asyncio.gather(*(tools.call(call) for call in map_calls))
        most = self.configuration.map_details + self.configuration.map_more_details
        lookup = PlaceLookup(tools, self.map_result, self.meter, turn["language"], most)
        records = await lookup.lines(map_calls, answers)
        return {
            id(call): "\n".join([*lines, str(answer.text)])
            for call, answer, lines in zip(map_calls, answers, records, strict=True)
        }

    async def _open_pages(self, executed: Sequence[ToolCall]) -> dict[int, OpenedPage]:
        """Return the pages that were opened, by the identity of the call."""
        calls = [call for call in executed if call["name"] == READ]
        if not calls:
            return {}
        state, configuration = self.state, self.configuration
        earlier = {s["id"]: s["url"] for s in state["previous"]["sources"] if s["kind"] == "page"}
        addresses = [*(page["url"] for page in _pages(state)), *state.get("links_found", [])]
        reading = PageReading(
            self.services,
            self.meter,
            state["turn"]["language"],
            [*addresses, *earlier.values()],
            ids=earlier,
            titles={page["url"]: page["title"] for page in _pages(state)},
            parallel=configuration.max_parallel_reads,
        )
        requests = [wanted_page(call) for call in calls]
        self.emit(event("reading", NODE, text=requests[0].looking_for, count=len(requests)))
        left = reads_left(state, configuration)
        tokens = min(PAGE_TOKENS, self._share(len(executed)))
        pages = await reading.open_all(requests, left=left, tokens=tokens)
        return {id(call): page for call, page in zip(calls, pages, strict=True)}

    async def _search_own(self, executed: Sequence[ToolCall]) -> dict[int, Documents]:
        """Return what own documents say, by the identity of the call."""
        state, calls = self.state, [call for call in executed if call["name"] == SEARCH_DOCUMENTS]
        first = next_prefix([source["id"] for source in state.get("sources_gathered", [])])
        language = state["turn"]["language"]
        results = await asyncio.gather(
            *(
                search_own(
                    " ".join(queries_of(call)), self.scope, self.services, self.meter,
                    prefix=f"d{first + n}", language=language,
                )
                for n, call in enumerate(calls)
            )
        )  # fmt: skip
        return {id(call): result for call, result in zip(calls, results, strict=True)}

    def _report_call(self, text: str) -> None:
        self.emit(event("map_call", NODE, text=text))

    def _answer(
        self,
        call: ToolCall,
        ruling: Ruling,
        results: "_Results",
    ) -> ToolMessage:
        language, page = self.state["turn"]["language"], results.opened.get(id(call))
        if ruling is not None:
            planned = say("punctuation.comma", language).join(self._planned())
            values = {"planned": planned, "limit": str(MAX_CALLS)}
            text = say(f"deep_research.{ruling}", language, **values)
        elif call["name"] == THINK:
            text = say("deep_research.noted", language)
        elif call["name"] == SEARCH:
            results_of_call = [results.pages[query] for query in queries_of(call)]
            share = self._share(len(results))
            text = "\n".join(
                each.shown(self.state["turn"], share, self.snippets) for each in results_of_call
            )
            if id(call) in self.thoughtless:
                text = f"{text}\n{say('deep_research.think_next', language)}"
        elif id(call) in results.mapped:
            text = cut_to_tokens(results.mapped[id(call)], self._share(len(results)))
        elif page:
            text = page.shown(language)
        elif own := results.own.get(id(call)):
            shown = own.shown([source["id"] for source in own.sources], language)
            text = cut_to_tokens(shown, self._share(len(results)))
        else:
            text = say("deep_research.recorded", language)
        return ToolMessage(
            content=text,
            tool_call_id=call["id"] or "",
            name=call["name"],
            status="error" if ruling or (page and page.failure) else "success",
        )

    def _share(self, results: int) -> int:
        """Return the tokens of one result, so that the next prompt stays within its limit."""
        maps = offers_maps(self.state, self.configuration)
        free = room(self.state, self.configuration, maps=maps) * 9 // 10 - 1000
        return min(_MAX_TOKENS, max(_LEAST_TOKENS, free // max(results, 1)))

    def _update(
        self,
        calls: Sequence[ToolCall],
        answers: list[ToolMessage],
        results: "_Results",
        *,
        moved: list[ToolCall],
        refused: int,
    ) -> DeepUpdate:
        state, map_result, by_query = self.state, self.map_result, results.pages
        opened = [page for page in results.opened.values() if not page.failure]
        intent = _intent_of(calls, moved, opened)
        on_map = any(call["name"] not in OWN for call in calls)
        queries = [*by_query, *(own.query for own in results.own.values())]
        asked = {query["query"] for query in state.get("queries", [])}
        # The same search again looks nothing up.
        looked_up = bool(set(queries) - asked or opened or intent or on_map)
        passages = [source for own in results.own.values() for source in own.sources]
        round_ = len(state.get("search_results", [])) + 1
        return DeepUpdate(
            topic_messages=inner(answers),
            intent=intent,
            fruitless=0 if looked_up else state["fruitless"] + 1,
            searched=state["searched"] or bool(by_query or opened),
            pages_found=[
                *(page for each in by_query.values() for page in each.pages),
                *map(_opened_page, opened),
            ],
            links_found=[url for page in opened for url in page.links],
            queries=[PlannedQuery(query=query, map=None, round=round_) for query in queries],
            sources_gathered=[*map_result.sources, *passages],
            places=map_result.places[len(state.get("places", [])) :],
            routes=map_result.routes,
            weather=map_result.weather,
            places_rejected=map_result.rejected,
            gaps=[*results.gaps, *map_result.gaps],
            counts=self._counts(calls, opened, refused),
            usage=self.meter.usage,
        )

    def _counts(
        self, calls: Sequence[ToolCall], opened: Sequence[OpenedPage], refused: int
    ) -> Counts:
        thoughts = len(self._thoughts(calls))
        return Counts(thoughts=thoughts, refused_calls=refused, pages_opened=len(opened))


@dataclass(frozen=True)
class _Results:
    """Hold the results of one message's calls: by query, and by the identity of the call."""

    pages: dict[str, Found]
    mapped: dict[int, str]
    opened: dict[int, OpenedPage]
    own: dict[int, Documents]

    @property
    def gaps(self) -> list[Gap]:
        """Return what could not be searched or opened."""
        gaps = [gap for each in self.pages.values() for gap in each.gaps]
        gaps += [page.gap for page in self.opened.values() if page.gap]
        return gaps + [own.gap for own in self.own.values() if own.gap][:1]

    def __len__(self) -> int:
        return len(self.pages) + len(self.mapped) + len(self.opened) + len(self.own)


def _pages(state: DeepState) -> list[ShownPage]:
    """Return every page that this turn has shown."""
    return [*state.get("pages_found", []), *kept_pages(state), *state.get("pages_left", [])]


def _opened_page(page: OpenedPage) -> FoundPage:
    """Return a page that was opened like one that a search returned."""
    excerpt = " ".join(page.best.split())[:MAX_SNIPPET]
    return found_page(page.url, page.title or page.url, excerpt, opened=True)


def _intent_of(
    calls: Sequence[ToolCall], moved: list[ToolCall], opened: Sequence[OpenedPage]
) -> Intent | None:
    """Return the change or end among the allowed calls: at most one.

    A page that was opened beside it is useful as well: the model asked for it.
    """
    for call in calls:
        if call["name"] in (CHANGE, END):
            named = urls_of(call)
            return Intent(
                kind="change" if call["name"] == CHANGE else "end",
                new_topic=new_topic_of(call) if call["name"] == CHANGE else "",
                reason=reason_of(call),
                urls=[*named, *(page.url for page in opened)] if named else named,
                calls=moved,
            )
    return None


def after_act(state: DeepState) -> Literal["switch_topic", "explore"]:
    """Route to a recorded change or end; else back to the model."""
    return "switch_topic" if state.get("intent") else "explore"
