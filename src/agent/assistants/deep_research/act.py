"""Does what the model asked for, in the order the graph allows; only records a change or an end."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, cast

from langchain_core.messages import AIMessage, ToolCall, ToolMessage
from langgraph.runtime import Runtime

from agent.assistants.common.own_documents import (
    own_scope,
)
from agent.assistants.common.reading import PAGE_TOKENS, OpenedPage
from agent.assistants.common.search import (
    located,
    providers_of,
)
from agent.assistants.common.services import GetServices, Services
from agent.assistants.common.toolbox import (
    MAP_PREFIX,
    Known,
    Toolbox,
    ToolOutcome,
    ToolPolicy,
    next_numbers,
    shown_result,
)
from agent.assistants.common.turn import meter_of
from agent.assistants.deep_research.compress_topic import Compression
from agent.assistants.deep_research.explore import room
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
    MAX_QUERIES,
    MAX_THOUGHT,
    MOVED,
    OWN,
    SEARCH,
    THINK,
    Ruling,
    TopicHistory,
    new_topic_of,
    offers_maps,
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
from agent.core.strings import cut_to_tokens
from agent.evidence.markdown import link_url
from agent.evidence.queries import clean_text
from agent.evidence.types import Gap
from agent.knowledge.types import Scope
from agent.search.hits import MAX_SNIPPET, Hit, SearchProvider, WebChoice
from agent.search.web import WebSearch
from agent.state import PlannedQuery, inner
from agent.texts import say

NODE = "act"


def search_providers(web: WebSearch, configuration: Configuration) -> list[SearchProvider]:
    """Return what a query is sent to, the second where the first one fails.

    Raises ConfigurationError where there is none. Tavily comes first: it also reads pages.
    """
    choice = configuration.web_search
    choices: tuple[WebChoice, ...] = ("tavily", "auto") if choice == "auto" else (choice,)
    providers = providers_of(web, choices, configuration)
    return list({provider.name: provider for provider in providers.values()}.values())


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

    async def run(self) -> DeepUpdate:
        calls, history = self.message.tool_calls, self._history()
        rulings = ruled(calls, history)
        asks = {id(call) for call in thoughtless(calls, history)}
        allowed = [call for call, ruling in zip(calls, rulings, strict=True) if ruling is None]
        moved = [call for call, ruling in zip(calls, rulings, strict=True) if ruling == MOVED]
        for thought in self._thoughts(allowed):
            self.emit(event("thought", NODE, text=thought))
        looking = [call for call in allowed if call["name"] not in (THINK, CHANGE, END)]
        box = self._toolbox(len(looking))
        outcomes = box.planned(looking)
        await box.do(outcomes)
        for gap in [gap for each in outcomes for result in each.results for gap in result.gaps]:
            self.emit(event("gap", NODE, text=gap["message"]))
        texts = self._texts(outcomes, asks)
        answers = [
            texts.get(id(call)) or self._answer(call, ruling)
            for call, ruling in zip(calls, rulings, strict=True)
        ]
        refused = len(calls) - len(allowed) - len(moved)
        return self._update(allowed, answers, outcomes, moved=moved, refused=refused)

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
        return [name for name in names if name.startswith(MAP_PREFIX)]

    def _toolbox(self, calls: int) -> Toolbox:
        """Return what makes the calls of this step, with what the turn has shown."""
        state, configuration = self.state, self.configuration
        previous, places = state["previous"], state.get("places", [])
        policy = ToolPolicy(
            NODE,
            searches={SEARCH: _searches(self.services.web, configuration)},
            queries=MAX_QUERIES,
            reads=reads_left(state, configuration),
            page_tokens=min(PAGE_TOKENS, self._share(calls)),
            scope=self.scope,
            maps=bool(self._map_names()),
        )
        known = Known(
            sources=previous["sources"],
            pages={page["url"]: page["title"] for page in _pages(state)}
            | dict.fromkeys(state.get("links_found", []), ""),
            # A place that is known can be named by its id, and is not looked up again.
            places=[*previous["places"], *places],
            names={**previous.get("names", {}), **located(topic_messages(state))},
        )
        numbers = next_numbers([source["id"] for source in state.get("sources_gathered", [])])
        numbers["search"] = len(state.get("queries", []))
        return Toolbox(
            self.services, configuration, state["turn"], self.meter, self.emit, policy, known,
            numbers,
        )  # fmt: skip

    def _texts(self, outcomes: Sequence[ToolOutcome], asks: set[int]) -> dict[int, ToolMessage]:
        """Return the answers by the identity of the call; ask for a thought that is missing."""
        language, share = self.state["turn"]["language"], self._share(_count(outcomes))
        earlier = {page["url"]: page["snippet"] for page in self.state.get("pages_found", [])}
        messages: dict[int, ToolMessage] = {}
        for each in outcomes:
            parts = [each.hint] if each.hint else []
            for result in each.results:
                parts.append(shown_result(result, share, language, earlier=earlier))
                earlier |= {link_url(hit.url): hit.snippet for hit in result.hits}
            if each.text and not each.results:
                parts.append(each.text if each.page else cut_to_tokens(each.text, share))
            if id(each.call) in asks:
                parts.append(say("deep_research.think_next", language))
            messages[id(each.call)] = each.message("\n".join(parts))
        return messages

    def _answer(self, call: ToolCall, ruling: Ruling) -> ToolMessage:
        """Return the answer to a call that looks nothing up, or is refused."""
        key = "noted" if call["name"] == THINK else "recorded"
        language = self.state["turn"]["language"]
        planned = say("punctuation.comma", language).join(self._planned())
        values = {"planned": planned, "limit": str(MAX_CALLS)}
        return ToolMessage(
            content=say(f"deep_research.{ruling or key}", language, **values),
            tool_call_id=call["id"] or "",
            name=call["name"],
            status="error" if ruling else "success",
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
        outcomes: Sequence[ToolOutcome],
        *,
        moved: list[ToolCall],
        refused: int,
    ) -> DeepUpdate:
        state = self.state
        results = [result for each in outcomes for result in each.results]
        opened = [each.page for each in outcomes if each.page and not each.failed]
        mapped = [each.map_result for each in outcomes if each.map_result]
        intent = _intent_of(calls, moved, opened)
        queries = list(dict.fromkeys(
            query for each in outcomes if each.kind in ("search", "documents")
            for query in each.queries
        ))  # fmt: skip
        asked = {query["query"] for query in state.get("queries", [])}
        # The same search again looks nothing up.
        looked_up = bool(set(queries) - asked or opened or intent or mapped)
        passages = [s for each in outcomes if each.documents for s in each.documents.sources]
        round_ = len(state.get("search_results", [])) + 1
        return DeepUpdate(
            topic_messages=inner(answers),
            intent=intent,
            fruitless=0 if looked_up else state["fruitless"] + 1,
            searched=state["searched"] or bool(results or opened),
            pages_found=[
                *(_page(hit, result.service) for result in results for hit in result.hits),
                *map(_opened_page, opened),
            ],
            links_found=[url for page in opened for url in page.links],
            queries=[PlannedQuery(query=query, map=None, round=round_) for query in queries],
            sources_gathered=[*(s for each in mapped for s in each.sources), *passages],
            places=[place for each in mapped for place in each.places],
            routes=[route for each in mapped for route in each.routes],
            weather=[weather for each in mapped for weather in each.weather],
            places_rejected=[name for each in mapped for name in each.rejected],
            gaps=_gaps(outcomes),
            counts=self._counts(calls, opened, refused),
            usage=self.meter.usage,
        )

    def _counts(
        self, calls: Sequence[ToolCall], opened: Sequence[OpenedPage], refused: int
    ) -> Counts:
        thoughts = len(self._thoughts(calls))
        return Counts(thoughts=thoughts, refused_calls=refused, pages_opened=len(opened))


def _searches(
    web: WebSearch, configuration: Configuration
) -> Sequence[SearchProvider] | AgentError:
    """Return what a query is sent to, or why there is nothing."""
    try:
        return search_providers(web, configuration)
    except AgentError as error:
        return error


def _count(outcomes: Sequence[ToolOutcome]) -> int:
    """Return how many results share the room in the next prompt."""
    return sum(max(1, len(each.results)) for each in outcomes)


def _gaps(outcomes: Sequence[ToolOutcome]) -> list[Gap]:
    """Return the gaps, that of own documents or of the map once."""
    gaps = {(gap["query"], gap["code"], gap["message"]): gap
            for each in outcomes for gap in each.gaps}  # fmt: skip
    kept, told = list[Gap](), set[str]()
    for gap in gaps.values():
        if gap["code"] == "knowledge_failed" and gap["code"] in told:
            continue
        told.add(gap["code"])
        kept.append(gap)
    return kept


def _page(hit: Hit, provider: str) -> FoundPage:
    return FoundPage(
        url=link_url(hit.url),
        title=hit.title,
        site=hit.site,
        snippet=hit.snippet,
        published=hit.published,
        provider=provider,
    )


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
