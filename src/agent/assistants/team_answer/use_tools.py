"""Does what a speaker asked for: all calls of its message at once, each with its own outcome."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, cast

from langchain_core.messages import AIMessage, AnyMessage
from langgraph.runtime import Runtime

from agent.assistants.common.conversation import prompt_tokens
from agent.assistants.common.inside_words import KeptInside, public_texts
from agent.assistants.common.page_opener import PageOpener
from agent.assistants.common.reading import PAGE_TOKENS, OpenedPage, partly_read_gap
from agent.assistants.common.search import SearchResult, offers_map
from agent.assistants.common.services import GetServices, Services
from agent.assistants.common.tool_results import HIT_TOKENS, short, shown_result
from agent.assistants.common.toolbox import (
    EarlierSearch,
    Known,
    Toolbox,
    ToolOutcome,
    ToolPolicy,
    next_numbers,
)
from agent.assistants.common.turn import context_limit, meter_of, room_of
from agent.assistants.common.whole_documents import WholeDocuments
from agent.assistants.common.workspace import Item, choose, item_of_hit, runs
from agent.assistants.team_answer.documents import searched_scope, with_documents
from agent.assistants.team_answer.evidence_view import known_sources
from agent.assistants.team_answer.state import (
    Speaker,
    TeamState,
    TeamUpdate,
    ToolEvidence,
    ToolNote,
    TraceEntry,
    configuration_of,
)
from agent.assistants.team_answer.tools import (
    engines_of,
    known_positions,
    reads_left,
    searched_before,
    shortened,
)
from agent.configuration import Configuration
from agent.core.processor import compute
from agent.core.progress import event
from agent.evidence.markdown import canonical, link_url
from agent.evidence.types import Gap, Source
from agent.mcp.records import MapResult
from agent.prompts import element
from agent.search.hits import Hit
from agent.state import PlannedQuery, inner, replaced
from agent.texts import Language, say


class SourceRegister:
    """Register sources by their page; begin with the turn's sources so far."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self.sources = [Source(**{**each, "quotes": [*each["quotes"]]}) for each in sources]
        self._known = {_key(each): each for each in self.sources}

    def add_hits(self, name: str, result: SearchResult) -> list[str]:
        """Return the id of each hit's source: `name-0`, …, or that of its known page.

        A known page gains the new excerpt, so that what is cited from it can be checked.
        """
        ids = []
        for number, hit in enumerate(result.hits):
            source = self._register(
                Source(
                    id=f"{name}-{number}",
                    kind="page",
                    title=hit.title,
                    url=link_url(hit.url),
                    provider=result.service,
                    quotes=[],
                    published=hit.published,
                )
            )
            if hit.snippet and hit.snippet not in source["quotes"]:
                source["quotes"].append(hit.snippet)
            ids.append(source["id"])
        return ids

    def add_page(self, name: str, page: OpenedPage) -> str:
        """Return the id of a page that was opened; its nearest passage comes first to be cited."""
        source = self._register(
            Source(
                id=f"{name}-0", kind="page", title=page.title or page.url, url=link_url(page.url),
                provider="web", quotes=[], published=page.published or None,
            )
        )  # fmt: skip
        others = [quote for quote in source["quotes"] if quote not in (page.best, *page.passages)]
        passages = [passage for passage in page.passages if passage != page.best]
        source["quotes"] = [page.best, *passages, *others]
        return source["id"]

    def add_passages(self, passages: Sequence[Source]) -> list[str]:
        """Return the id of each passage's source; a known page of a document gains its words."""
        ids = []
        for passage in passages:
            source = self._register(passage)
            source["quotes"] = list(dict.fromkeys([*source["quotes"], *passage["quotes"]]))
            ids.append(source["id"])
        return ids

    def add_map_result(self, map_result: MapResult) -> dict[str, str]:
        """Register the sources of a map result; return their ids here by its ids."""
        return {each["id"]: self._register(each)["id"] for each in map_result.sources}

    def _register(self, source: Source) -> Source:
        registered = self._known.setdefault(_key(source), source)
        if registered is source:
            self.sources.append(source)
        return registered


def _key(source: Source) -> tuple[str, str, str]:
    """Map links of different things can be equal; pages are their address."""
    title = "" if source["kind"] == "page" else source["title"]
    return source["kind"], source["url"].rstrip("/"), title


NODE = "use_tools"
_LEAST_TOKENS = 200
_SEARCH_TOKENS = 12_000
"""Of all that a search has found; prompts show less of it."""


async def use_tools(
    state: TeamState, runtime: Runtime[Configuration], *, get_services: GetServices
) -> TeamUpdate:
    """Answer every call of the last pending message; a failure is an answer, never raised."""
    services, configuration = get_services(), configuration_of(runtime)
    box = await _toolbox(state, services, configuration, runtime)
    outcomes = await box.run(cast(AIMessage, state["pending"][-1]))
    for outcome in outcomes:
        outcome.results = [await _with_passages(result) for result in outcome.results]
    register = SourceRegister(state.get("sources_gathered", []))
    return _Recorder(state, box, register).update(outcomes)


async def _toolbox(
    state: TeamState,
    services: Services,
    configuration: Configuration,
    runtime: Runtime[Configuration],
) -> Toolbox:
    """Return what makes the calls, with what this turn and the last one have shown."""
    meter, pool = meter_of(state, configuration, services), state.get("evidence_pool", [])
    _, whole = await with_documents(state, services, configuration, runtime)
    workspace = services.workspace(room_of(state["turn"], runtime))
    read, left = await workspace.items(), reads_left(state, configuration)
    policy = ToolPolicy(
        NODE,
        searches={
            name: [service]
            for name, service in engines_of(
                services.web, configuration, state["turn"]
            ).providers.items()
        },
        reads=left,
        page_tokens=PAGE_TOKENS * 3 // 4,
        inside=_inside(state, whole, read),
        scope=searched_scope(state, runtime, whole),
        maps=offers_map(state, configuration),
        runner=await services.code_runner(),
        told={"speaker": _speaker(state)},
    )
    calls = cast(AIMessage, state["pending"][-1]).tool_calls
    # A line between two points is told to the metre, which a record with names rounds.
    exact = any(call["name"] == "maps_distance" for call in calls)
    previous = state.get("previous")
    known = Known(
        sources=known_sources(state),
        read={canonical(item.url) for item in read if item.text},
        pages=dict.fromkeys((url for each in pool for url in each.get("links", [])), ""),
        places=[*(previous["places"] if previous else []), *state.get("places", [])],
        names={} if exact else known_positions(state),
        recall=partial(_recalled, pool),
    )
    opener = PageOpener(
        services, meter, left, parallel=configuration.max_parallel_reads, known=read
    )
    return Toolbox(
        services, configuration, state["turn"], meter, runtime.stream_writer, policy, known,
        workspace, opener, next_numbers([each["id"] for each in pool]),
    )  # fmt: skip


def _inside(state: TeamState, whole: WholeDocuments, read: Sequence[Item]) -> KeptInside | None:
    """Return what no query may take outside; None without own documents."""
    sources = [s for s in known_sources(state) if s["kind"] == "document"]
    own = [*whole.texts.values(), *(quote for source in sources for quote in source["quotes"])]
    return KeptInside(own, public_texts(state, read), state["pending"]) if own else None


def _speaker(state: TeamState) -> Speaker:
    return state["speaker"] or "researcher"


def _recalled(pool: Sequence[ToolEvidence], tool: str, query: str) -> EarlierSearch | None:
    found = searched_before(tool, query, pool)
    return EarlierSearch(tool, query, found["text"], found["source_ids"]) if found else None


async def _with_passages(result: SearchResult) -> SearchResult:
    """Return a result whose hits show the passages of their pages, where these were opened."""

    def shown(hit: Hit) -> Hit:
        item = item_of_hit(hit, result.query, result.service)
        passages = runs(choose([item], [result.query], HIT_TOKENS))
        return replace(hit, snippet=" … ".join(passages))

    def every() -> SearchResult:
        return replace(result, hits=[shown(hit) if hit.text else hit for hit in result.hits])

    return await compute(every, otherwise=lambda: result)


@dataclass
class _Recorder:
    """Record the outcomes in the order of the calls, so that ids are reproducible."""

    state: TeamState
    box: Toolbox
    register: SourceRegister
    gaps: list[Gap] = field(default_factory=list)

    @property
    def language(self) -> Language:
        return self.state["turn"]["language"]

    def _settle(self, outcome: ToolOutcome) -> None:
        """Register the sources of an outcome, and write its result as a model reads it."""
        self.gaps += outcome.gaps
        if outcome.twin is not None:
            outcome.text, outcome.source_ids = outcome.twin.text, list(outcome.twin.source_ids)
        elif outcome.results:
            self._settle_search(outcome, outcome.results[0])
        elif outcome.page and not outcome.failed:
            self.gaps += partly_read_gap(outcome.page, self.language)
            outcome.source_ids = [self.register.add_page(outcome.id, outcome.page)]
            outcome.text = outcome.page.shown(self.language, id=outcome.source_ids[0])
        elif outcome.documents and not outcome.failed:
            ids = self.register.add_passages(outcome.documents.sources)
            outcome.source_ids = list(dict.fromkeys(ids))
            outcome.text = outcome.documents.shown(ids, self.language)
        elif outcome.map_result:
            self._settle_map(outcome)
        if outcome.kind == "search" and outcome.cached:
            count = len(outcome.source_ids)
            self.box.tell("search_done", outcome.id, outcome.asked, count=count, seconds=0.0)

    def _settle_search(self, outcome: ToolOutcome, result: SearchResult) -> None:
        if result.failure:
            outcome.fail(result.failure if result.is_refused else self._failure(outcome, result))
            return
        ids = self.register.add_hits(outcome.id, result)
        outcome.source_ids = list(dict.fromkeys(ids))
        outcome.text = shown_result(
            result, _SEARCH_TOKENS, self.language, ids=ids, id=outcome.id, tool=outcome.call["name"]
        )

    def _failure(self, outcome: ToolOutcome, result: SearchResult) -> str:
        """Return why there is no result, and what else the model can do."""
        failing = {gap["provider"] for gap in (*self.state.get("gaps", []), *result.gaps)}
        spent = any(gap["code"].startswith("budget_") for gap in result.gaps)
        others = [
            name
            for name, services in self.box.policy.searches.items()
            if not isinstance(services, Exception)
            and name != outcome.call["name"]
            and not spent
            and failing.isdisjoint(service.name for service in services)
        ]
        reason = result.failure.rstrip("。.")
        if not others:
            return say("team_answer.tools.no_tools", self.language, reason=reason)
        return say(
            "team_answer.tools.other_tools", self.language, reason=reason, tools=", ".join(others)
        )

    def _settle_map(self, outcome: ToolOutcome) -> None:
        assert outcome.map_result is not None
        ids = self.register.add_map_result(outcome.map_result)
        for new, registered in ids.items():
            outcome.text = outcome.text.replace(f"[^{new}]", f"[^{registered}]")
        outcome.source_ids = list(dict.fromkeys(ids.get(name, name) for name in outcome.source_ids))
        result = outcome.map_result
        for records in (result.places, result.routes, result.weather):
            rows = cast(list[Any], records)
            rows[:] = [row for row in rows if ids.get(row["source"], "") == row["source"]]

    def update(self, outcomes: Sequence[ToolOutcome]) -> TeamUpdate:
        """Return the update of the step."""
        for outcome in outcomes:
            self._settle(outcome)
        state, round_ = self.state, len(self.state.get("transcript", [])) + 1
        accepted = [outcome for outcome in outcomes if outcome.kind is not None]
        texts = self._speaker_texts(outcomes)
        notes = [_note(outcome, texts[id(outcome)]) for outcome in accepted]
        answers: list[AnyMessage] = [each.message(texts[id(each)]) for each in outcomes]
        queries = [each.asked for each in accepted if each.kind == "search" and not each.cached]
        mapped = [each.map_result for each in outcomes if each.map_result]
        pages = [each.page for each in accepted if each.page and not each.failed]
        opened = sum(canonical(page.url) not in self.box.known.read for page in pages)
        opened += self.box.opener.opened if self.box.opener else 0
        return TeamUpdate(
            pending=inner(answers),
            pending_tools=[*state.get("pending_tools", []), *notes],
            tool_rounds=state.get("tool_rounds", 0) + 1,
            pages_opened=state.get("pages_opened", 0) + opened,
            evidence_pool=[_evidence(each, _speaker(state), round_) for each in accepted],
            reasoning_trace=[self._trace(outcomes, round_)],
            queries=[PlannedQuery(query=query, map=None, round=round_) for query in queries],
            sources_gathered=replaced(self.register.sources),
            places=[place for each in mapped for place in each.places],
            routes=[route for each in mapped for route in each.routes],
            weather=[weather for each in mapped for weather in each.weather],
            places_rejected=[name for each in mapped for name in each.rejected],
            gaps=self._new_gaps(),
            usage=self.box.meter.usage,
        )

    def _speaker_texts(self, outcomes: Sequence[ToolOutcome]) -> Mapping[int, str]:
        """Return the text of each outcome for the speaker; results share the room in its prompt."""
        limit = context_limit(self.state["turn"], self.box.configuration)
        free = (limit - prompt_tokens(self.state["pending"])) // 2
        share = max(_LEAST_TOKENS, free // max(len(outcomes), 1))
        texts = {}
        for each in outcomes:
            text = each.text
            if each.kind == "code":
                text = element("output", text, id=each.id)
            elif each.kind == "map" and not each.source_ids and not each.failed:
                text = element("measurement", text, id=each.id)
            parts = [each.hint] if each.twin and each.hint else [each.hint, text]
            whole = "\n".join(part for part in parts if part)
            texts[id(each)] = shortened(whole, share, self.language)
        return texts

    def _new_gaps(self) -> list[Gap]:
        """Return each reason of each provider once in a turn; a spent budget is nobody's own."""
        reasons, fresh = {_reason(gap) for gap in self.state.get("gaps", [])}, []
        for gap in self.gaps:
            if _reason(gap) not in reasons:
                reasons.add(_reason(gap))
                fresh.append(gap)
                told = event("gap", NODE, text=gap["message"], speaker=_speaker(self.state))
                self.box.emit(told)
        return fresh

    def _trace(self, outcomes: Sequence[ToolOutcome], round_: int) -> TraceEntry:
        lines = [f"{o.id or '-'} {o.call['name']}: {short(o.asked)}" for o in outcomes]
        return TraceEntry(
            step=NODE,
            text="\n".join(lines),
            speaker=_speaker(self.state),
            round=round_,
            tools=[outcome.call["name"] for outcome in outcomes],
        )


def _evidence(outcome: ToolOutcome, speaker: Speaker, round_: int) -> ToolEvidence:
    assert outcome.kind is not None
    evidence = ToolEvidence(
        id=outcome.id,
        kind=outcome.kind,
        tool=outcome.call["name"],
        asked=outcome.asked,
        text=outcome.text,
        source_ids=outcome.source_ids,
        speaker=speaker,
        round=round_,
        cached=outcome.cached,
        failed=outcome.failed,
    )
    if outcome.page and outcome.page.links:
        evidence["links"] = list(outcome.page.links)
    return evidence


def _note(outcome: ToolOutcome, text: str) -> ToolNote:
    return ToolNote(tool=outcome.call["name"], asked=outcome.asked, evidence=outcome.id, text=text)


def _reason(gap: Gap) -> tuple[str, str]:
    budget = gap["code"].startswith("budget_")
    return "" if budget else gap["provider"], gap["code"]
