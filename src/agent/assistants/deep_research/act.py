"""Does what the model asked for, in the order the graph allows; only records a change or an end."""

import asyncio
from collections.abc import Collection, Container, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, cast

from langchain_core.messages import AIMessage, ToolCall, ToolMessage
from langgraph.runtime import Runtime

from agent.assistants.common.document_tools import OPEN_DOCUMENT
from agent.assistants.common.gaps import brought_by_map, run_gap
from agent.assistants.common.inside_words import KeptInside, public_texts
from agent.assistants.common.literals import unfounded
from agent.assistants.common.own_documents import SEARCH_DOCUMENTS, own_scope
from agent.assistants.common.page_opener import PageOpener
from agent.assistants.common.reading import PAGE_TOKENS, OpenedPage
from agent.assistants.common.search import located, search_providers
from agent.assistants.common.services import GetServices, Services
from agent.assistants.common.tool_results import shown_result
from agent.assistants.common.toolbox import (
    CODE,
    MAP_PREFIXES,
    Known,
    Toolbox,
    ToolOutcome,
    ToolPolicy,
    is_calculation,
    next_numbers,
    queries_of,
)
from agent.assistants.common.turn import meter_of, own_limit, room_of
from agent.assistants.common.whole_documents import WholeDocuments, read_documents_whole
from agent.assistants.common.workspace import Item, Workspace
from agent.assistants.deep_research.compress_topic import Compression
from agent.assistants.deep_research.explore import room
from agent.assistants.deep_research.explorers import Explored, explore_side_by_side, explored_topic
from agent.assistants.deep_research.plan import topic_named, with_status
from agent.assistants.deep_research.state import (
    Counts,
    DeepState,
    DeepUpdate,
    FoundPage,
    Intent,
    PlannedTopic,
    TopicResult,
    UsefulPage,
    configuration_of,
    found_page,
    topic_messages,
)
from agent.assistants.deep_research.tools import (
    CHANGE,
    END,
    EXPLORE,
    MAX_CALLS,
    MAX_QUERIES,
    MAX_THOUGHT,
    MOVED,
    SEARCH,
    THINK,
    Ruling,
    ToExplore,
    TopicHistory,
    explored_topics,
    new_topic_of,
    offers_maps,
    own_tools,
    reads_left,
    reads_of_searches,
    ruled,
    stated_reason,
    thought_of,
    thought_since_search,
    thoughtless,
    useful_of,
    was_reminded,
    were_moved,
)
from agent.configuration import Configuration
from agent.core.budget import Meter
from agent.core.errors import AgentError
from agent.core.processor import compute
from agent.core.progress import Emit, event
from agent.core.strings import cut_to_tokens
from agent.evidence.citations import MARKER
from agent.evidence.markdown import canonical, link_url
from agent.evidence.queries import clean_text
from agent.evidence.types import Gap
from agent.knowledge.types import Scope
from agent.sandbox.programs import CodeRunner
from agent.search.hits import MAX_SNIPPET, Hit, SearchProvider
from agent.search.web import WebSearch
from agent.state import PlannedQuery, inner, reader_language
from agent.texts import say

NODE = "act"


_LEAST_TOKENS = 200
_MAX_TOKENS = 6000
_NEED_OWN = {SEARCH_DOCUMENTS, OPEN_DOCUMENT, CODE, EXPLORE, SEARCH}
_NOT_LOOKING = (THINK, EXPLORE, CHANGE, END)


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
        services.workspace(room_of(state["turn"], runtime)),
        await services.code_runner() if _programs(state) else None,
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
    workspace: Workspace
    runner: CodeRunner | None
    opener: PageOpener | None = None
    read: Collection[str] = ()
    """Canonical addresses of the pages that earlier steps have read."""

    async def run(self) -> DeepUpdate:
        calls, history = self.message.tool_calls, self._history()
        rulings = ruled(calls, history)
        asks = {id(call) for call in thoughtless(calls, history)}
        allowed = [call for call, ruling in zip(calls, rulings, strict=True) if ruling is None]
        moved = [call for call, ruling in zip(calls, rulings, strict=True) if ruling == MOVED]
        for thought in self._thoughts(allowed):
            self.emit(event("thought", NODE, text=MARKER.sub("", thought)))
        looking = [call for call in allowed if call["name"] not in _NOT_LOOKING]
        box = await self._toolbox(len(looking))
        outcomes = box.planned(looking)
        exploring = [call for call in allowed if call["name"] == EXPLORE]
        explored, _ = await asyncio.gather(
            asyncio.gather(*(explore_side_by_side(box, self._matters(c)) for c in exploring)),
            box.do(outcomes),
        )
        found = {id(call): each for call, each in zip(exploring, explored, strict=True)}
        every = [*outcomes, *(o for each in explored for one in each for o in one.outcomes)]
        for gap in [gap for o in every for result in o.results for gap in result.gaps]:
            self.emit(event("gap", NODE, text=gap["message"]))
        programs = [each for each in outcomes if each.kind == "code"]
        if any(each.failed or each.is_assumed for each in programs):
            # A change or end beside a program that failed, or assumes all, would leave it unread.
            rulings = ["code_first" if r == MOVED or (c["name"] in (CHANGE, END) and r is None)
                       else r for c, r in zip(calls, rulings, strict=True)]  # fmt: skip
            allowed, moved = [c for c in allowed if c["name"] not in (CHANGE, END)], []
        texts = self._texts(outcomes, found, asks)
        answers = [
            texts.get(id(call)) or self._answer(call, ruling)
            for call, ruling in zip(calls, rulings, strict=True)
        ]
        refused = len(calls) - len(allowed) - len(moved)
        update = self._update(allowed, answers, every, moved=moved, refused=refused)
        update["pages_found"] = _pages(outcomes)
        return self._with_topics(update, [one for each in explored for one in each])

    @property
    def message(self) -> AIMessage:
        """Return the message whose calls these are."""
        return cast(AIMessage, topic_messages(self.state)[-1])

    def _history(self) -> TopicHistory:
        state = self.state
        before = topic_messages(state)[:-1]
        own = own_tools(state, self.configuration, code=self.runner is not None)
        return TopicHistory(
            topic=state["topic"],
            done=[entry["topic"] for entry in state.get("search_results", [])],
            thought=bool(self._aside()) or thought_since_search(before),
            searched=bool(state.get("queries")) or state["searched"] or brought_by_map(state),
            answered=bool(state["previous"]["sources"]) or state.get("own_whole", False),
            planned=self._planned(),
            reminded=was_reminded(before),
            tools=[*(each.name for each in own), *self._map_names()],
            moved=were_moved(self.message),
        )

    def _aside(self) -> list[str]:
        """Return what the model wrote beside its calls: a thought, if it is anything."""
        text = str(self.message.text)
        return [thought] if (thought := clean_text(text, MAX_THOUGHT)) else []

    def _thoughts(self, calls: Sequence[ToolCall]) -> list[str]:
        return [*self._aside(), *filter(None, map(thought_of, calls))]

    def _planned(self) -> dict[str, str]:
        """Return the topics that are to be looked into; none where all there is was read."""
        if self.state.get("own_whole"):
            return {}
        plan = self.state.get("plan", [])
        return {topic["id"]: topic["name"] for topic in plan if topic["status"] == "planned"}

    def _map_names(self) -> list[str]:
        """Return the names of the map's tools that a call has; the server knows which exist."""
        if not offers_maps(self.state, self.configuration):
            return []
        names = [call["name"] for call in self.message.tool_calls]
        return [name for name in names if name.startswith(MAP_PREFIXES)]

    def _matters(self, call: ToolCall) -> list[ToExplore]:
        """Return what a call gives to explorers, planned topics by their names."""
        plan = self.state.get("plan", [])
        matters = explored_topics(call, {topic["id"]: topic["name"] for topic in plan})
        named = [(topic_named(plan, each.topic), each) for each in matters]
        return [
            replace(each, topic=topic["name"], wanted=topic["what_to_find"]) if topic else each
            for topic, each in named
        ]

    def _with_topics(self, update: DeepUpdate, explored: Sequence[Explored]) -> DeepUpdate:
        """Return the update with a topic for each matter that explorers have looked into.

        One that the person dropped is none.
        """
        state, language = self.state, reader_language(self.state["turn"])
        topics = {entry["topic"]: entry for entry in state.get("search_results", [])}
        plan, changed = state.get("plan", []), list[TopicResult]()
        for each in explored:
            pages = _pages(each.outcomes, topic=each.topic)
            update["pages_found"] = [*update["pages_found"], *pages]
            update["gaps"] = [*update["gaps"], *each.gaps]
            planned = topic_named(plan, each.topic)
            if planned and planned["status"] == "dropped":
                continue
            entry = explored_topic(each, pages, topics.get(each.topic))
            topics[each.topic] = entry
            changed.append(entry)
            count = len(entry["useful_webpages"])
            self.emit(event("topic_done", NODE, text=each.topic, count=count))
            if not count:
                update["gaps"].append(run_gap("deep_research.no_pages", language, query=each.topic))
        if explored:
            update["plan"] = self._plan([entry["topic"] for entry in changed])
            if state["topic"] in {entry["topic"] for entry in changed}:
                # The next planned one begins; without any, what follows is of the whole question.
                update["topic"] = ""
        opened = {page["id"] for page in update["pages_found"] if page.get("opened")}
        changed += filter(None, (_with_opened(each, opened) for each in topics.values()))
        if changed:
            update["search_results"] = changed
        return update

    def _plan(self, explored: Sequence[str]) -> list[PlannedTopic]:
        """Return the plan; what explorers have looked into is done, the present topic too."""
        plan = self.state.get("plan", [])
        for name in explored:
            topic = topic_named(plan, name)
            if topic and topic["status"] in ("planned", "active"):
                plan = with_status(plan, name, "done")
        return plan

    async def _toolbox(self, calls: int) -> Toolbox:
        """Return what makes the calls of this step, with what the thread has shown."""
        state, configuration = self.state, self.configuration
        previous, items = state["previous"], await self.workspace.items()
        own = await self._own()
        self.read = {canonical(item.url) for item in items if item.text}
        pages, searches = self._pages_of_step()
        self.opener = PageOpener(
            self.services, self.meter, pages, max(1, pages // max(1, searches)),
            configuration.max_parallel_reads, items,
        )  # fmt: skip
        policy = ToolPolicy(
            NODE,
            searches={SEARCH: _searches(self.services.web, configuration, state["turn"]["today"])},
            queries=MAX_QUERIES,
            reads=reads_left(state, configuration),
            page_tokens=min(PAGE_TOKENS, self._share(calls)),
            scope=self.scope,
            names_of_own=own.names,
            inside=self._inside(own, items),
            maps=bool(self._map_names()),
            runner=self.runner,
            unfounded=self._unfounded,
        )
        known = Known(
            sources=[*previous["sources"], *(item.source() for item in items)],
            pages=dict.fromkeys(state.get("links_found", []), ""),
            read=self.read,
            # A place that is known can be named by its id, and is not looked up again.
            places=[*previous["places"], *state.get("places", [])],
            names={
                **previous.get("names", {}),
                **state.get("positions", {}),
                **located(topic_messages(state)),
            },
        )
        numbers = next_numbers([source["id"] for source in state.get("sources_gathered", [])])
        numbers["search"] = len(state.get("queries", []))
        return Toolbox(
            self.services, configuration, state["turn"], self.meter, self.emit, policy, known,
            self.workspace, self.opener, numbers,
        )  # fmt: skip

    def _pages_of_step(self) -> tuple[int, int]:
        """Return how many pages the searches of this step may open, and how many these are.

        The topics that nobody has looked into yet have their share as well.
        """
        calls = self.message.tool_calls
        explored = [
            each for call in calls if call["name"] == EXPLORE for each in self._matters(call)
        ]
        own = [query for call in calls if call["name"] == SEARCH
               for query in queries_of(call, MAX_QUERIES)]  # fmt: skip
        searches = len(own) + sum(len(each.queries) for each in explored)
        topics = len(explored) + bool(own)
        left = reads_of_searches(self.state, self.configuration)
        unopened = sum(
            each["status"] in ("planned", "active") for each in self.state.get("plan", [])
        )
        return left * topics // max(1, topics, unopened), searches

    async def _own(self) -> WholeDocuments:
        """Return own documents as the model has them before it, where this step needs them."""
        called = {call["name"] for call in self.message.tool_calls}
        if self.scope is None or called.isdisjoint(_NEED_OWN):
            return WholeDocuments()
        turn = self.state["turn"]
        tokens = own_limit(turn, self.configuration)
        return await read_documents_whole(
            self.scope, self.services, turn["language"], tokens=tokens
        )

    def _inside(self, own: WholeDocuments, items: Sequence[Item]) -> KeptInside | None:
        """Return what no query may take outside; None without own documents."""
        sources = [s for s in self.state.get("sources_gathered", []) if s["kind"] == "document"]
        found = (q for s in sources if not is_calculation(s) for q in s["quotes"])
        texts = [*own.texts.values(), *found]
        public, before = public_texts(self.state, items), topic_messages(self.state)
        return KeptInside(texts, public, before) if texts else None

    async def _unfounded(self, program: str) -> list[str]:
        """Return the numbers of a program that neither sources nor question have.

        A thought is no source: what was put there first would be proved by itself. Results of
        earlier programs are known, but for what rests on numbers from nowhere.
        """
        state, turn = self.state, self.state["turn"]
        texts = [turn["question"], turn["today"], state["conversation"]]
        texts += [
            str(message.text)
            for message in topic_messages(state)
            if isinstance(message, ToolMessage) and message.name != CODE
        ]
        sources = [*state["previous"]["sources"], *state.get("sources_gathered", [])]
        texts += [
            line
            for source in sources
            for quote in source["quotes"]
            for line in quote.splitlines()
            if line not in source.get("assumed", ())
        ]
        texts += (await self._own()).texts.values()
        texts += [item.words for item in await self.workspace.items()]
        return await compute(lambda: unfounded(program, texts), otherwise=list)

    def _texts(
        self,
        outcomes: Sequence[ToolOutcome],
        explored: Mapping[int, Sequence[Explored]],
        asks: set[int],
    ) -> dict[int, ToolMessage]:
        """Return the answers by the identity of the call; ask for a thought that is missing."""
        language, share = self.state["turn"]["language"], self._share(_count(outcomes))
        before = [str(message.text) for message in topic_messages(self.state)]
        messages: dict[int, ToolMessage] = {}
        for call in self.message.tool_calls:
            asked = [say("deep_research.think_next", language)] if id(call) in asks else []
            if found := explored.get(id(call)):
                text = "\n".join([*(each.shown() for each in found), *asked])
                messages[id(call)] = ToolOutcome(call).message(text)
            for each in outcomes:
                if each.call is call:
                    shown = self._shown(each, share, before)
                    messages[id(call)] = each.message("\n".join([*shown, *asked]))
        return messages

    def _shown(self, outcome: ToolOutcome, tokens: int, before: list[str]) -> list[str]:
        """Return an outcome as the model reads it, which has these texts before it."""
        language = self.state["turn"]["language"]
        parts = [outcome.hint] if outcome.hint else []
        for n, result in enumerate(outcome.results):
            items = outcome.items[n] if outcome.items else ()
            parts.append(shown_result(result, tokens, language, items=items, before=before))
            before.append(parts[-1])
        if outcome.page and outcome.items:
            parts.append(outcome.page.shown(language, before, id=outcome.items[0][0].id))
        elif outcome.text and not outcome.results:
            text = outcome.text if outcome.page else cut_to_tokens(outcome.text, tokens)
            name = f" [^{outcome.calculation['id']}]" if outcome.calculation else ""
            parts.append(f"{text}{name}")
        return parts

    def _answer(self, call: ToolCall, ruling: Ruling) -> ToolMessage:
        """Return the answer to a call that looks nothing up, or is refused."""
        key = "noted" if call["name"] == THINK else "recorded"
        language = self.state["turn"]["language"]
        planned = say("punctuation.comma", language).join(self._planned().values())
        values = {"planned": planned, "limit": str(MAX_CALLS)}
        return ToolMessage(
            content=say(f"deep_research.{ruling or key}", language, **values),
            tool_call_id=call["id"] or "",
            name=call["name"],
            status="error" if ruling else "success",
            artifact=ruling,
        )

    def _share(self, results: int) -> int:
        """Return the tokens of one result, so that the next prompt stays within its limit."""
        free = room(self.state, self.configuration) * 9 // 10 - 1000
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
        coded = any(each.kind == "code" for each in outcomes)
        looked_up = bool(set(queries) - asked or opened or intent or mapped or coded)
        sources = [s for each in mapped for s in each.sources]
        sources += [s for each in outcomes if each.documents for s in each.documents.sources]
        sources += [each.calculation for each in outcomes if each.calculation]
        round_ = len(state.get("search_results", [])) + 1
        return DeepUpdate(
            topic_messages=inner(answers),
            intent=intent,
            fruitless=0 if looked_up else state["fruitless"] + 1,
            searched=state["searched"] or bool(results or opened),
            links_found=[url for page in opened for url in page.links],
            queries=[PlannedQuery(query=query, map=None, round=round_) for query in queries],
            sources_gathered=sources,
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
        read = sum(canonical(page.url) not in self.read for page in opened)
        read += self.opener.opened if self.opener else 0
        return Counts(thoughts=thoughts, refused_calls=refused, pages_opened=read)


def _searches(
    web: WebSearch, configuration: Configuration, today: str
) -> Sequence[SearchProvider] | AgentError:
    """Return what a query is sent to, or why there is nothing."""
    try:
        return search_providers(web, configuration, today)
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


def _programs(state: DeepState) -> bool:
    """Return whether the last message runs a program."""
    message = cast(AIMessage, topic_messages(state)[-1])
    return any(call["name"] == CODE for call in message.tool_calls)


def _pages(outcomes: Sequence[ToolOutcome], *, topic: str = "") -> list[FoundPage]:
    """Return the pages that were found and opened, by their ids in the workspace.

    `topic` is what explorers have found them for.
    """
    found = [
        _page(hit, result.service, item, topic)
        for each in outcomes
        for result, items in zip(each.results, each.items, strict=False)
        for hit, item in zip(result.hits, items, strict=False)
    ]
    opened = [
        found_page(each.items[0][0].id, page.url, page.title or page.url,
                   " ".join(page.best.split())[:MAX_SNIPPET], published=page.published, opened=True)
        for each in outcomes
        if (page := each.page) and each.items
    ]  # fmt: skip
    return [*found, *opened]


def _with_opened(entry: TopicResult, opened: Container[str]) -> TopicResult | None:
    """Return a topic that keeps pages which the lead has opened by now; None where it has none."""
    pages = [
        UsefulPage(**{**page, "opened": True}) if page["id"] in opened else page
        for page in entry["useful_webpages"]
    ]
    is_new = pages != entry["useful_webpages"]
    return TopicResult(**{**entry, "useful_webpages": pages}) if is_new else None


def _page(hit: Hit, provider: str, item: Item, topic: str) -> FoundPage:
    page = FoundPage(
        id=item.id,
        url=link_url(hit.url),
        title=hit.title,
        site=hit.site,
        snippet=hit.snippet,
        published=hit.published,
        provider=provider,
    )
    return FoundPage(**page, topic=topic) if topic else page


def _intent_of(
    calls: Sequence[ToolCall], moved: list[ToolCall], opened: Sequence[OpenedPage]
) -> Intent | None:
    """Return the change or end among the allowed calls: at most one.

    A page that was opened beside it is useful as well: the model asked for it.
    """
    for call in calls:
        if call["name"] in (CHANGE, END):
            named = useful_of(call)
            return Intent(
                kind="change" if call["name"] == CHANGE else "end",
                new_topic=new_topic_of(call) if call["name"] == CHANGE else "",
                reason=stated_reason(call),
                urls=[*named, *(page.url for page in opened)] if named else named,
                calls=moved,
            )
    return None


def after_act(state: DeepState) -> Literal["switch_topic", "explore"]:
    """Route to a recorded change or end; else back to the model."""
    return "switch_topic" if state.get("intent") else "explore"
