"""Does what a speaker asked for: all calls of its message at once, each with its own outcome."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from langchain_core.messages import AIMessage, AnyMessage
from langgraph.runtime import Runtime

from agent.assistants.common.conversation import prompt_tokens
from agent.assistants.common.own_documents import SEARCH_DOCUMENTS, Documents, search_own
from agent.assistants.common.reading import (
    PAGE_TOKENS,
    READ,
    OpenedPage,
    PageReading,
    partly_read,
    wanted_page,
)
from agent.assistants.common.search import SearchResult, ask_providers, offers_map
from agent.assistants.common.services import GetServices, Services
from agent.assistants.common.turn import context_limit, meter_of
from agent.assistants.team_answer.documents import searched_scope, with_documents
from agent.assistants.team_answer.evidence_view import known_sources
from agent.assistants.team_answer.jobs import Job, Planner
from agent.assistants.team_answer.state import (
    Speaker,
    TeamState,
    TeamUpdate,
    TraceEntry,
    configuration_of,
)
from agent.assistants.team_answer.tools import (
    CODE,
    Engines,
    engines_of,
    known_positions,
    reads_left,
    results_text,
    shortened,
)
from agent.configuration import Configuration
from agent.core.budget import Meter
from agent.core.errors import AgentError
from agent.core.progress import Emit, EventType, event
from agent.core.strings import valid_text
from agent.evidence.markdown import link_url
from agent.evidence.types import Gap, Source
from agent.knowledge.types import Scope
from agent.mcp.records import MapOptions, MapResult, map_gap
from agent.prompts import element
from agent.sandbox.programs import CodeResult, CodeRunner
from agent.state import PlannedQuery, Turn, inner, replaced
from agent.texts import Language, reason_of, say


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
                provider="web", quotes=[],
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
_LINE = 80


@dataclass
class ToolExecutor:
    """Execute jobs concurrently; keep their results by the job's id until they are recorded."""

    services: Services
    configuration: Configuration
    turn: Turn
    speaker: Speaker
    meter: Meter
    emit: Emit
    engines: Engines
    runner: CodeRunner | None
    planner: Planner
    gaps: list[Gap] = field(default_factory=list)
    search_results: dict[str, SearchResult] = field(default_factory=dict)
    map_results: dict[str, MapResult] = field(default_factory=dict)
    reading: PageReading | None = None
    reads_left: int = 0
    pages: dict[str, OpenedPage] = field(default_factory=dict)
    scope: Scope | None = None
    documents: dict[str, Documents] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    """Names of positions that calls of the map located before."""

    async def do(self, job: Job) -> None:
        if job.kind == "search":
            await self._search(job)
        elif job.kind == "map":
            await self._ask_map(job)
        elif job.kind == "page":
            await self._open_page(job)
        elif job.kind == "documents":
            self.documents[job.id] = await search_own(
                job.asked, self.scope, self.services, self.meter,
                prefix=job.id, language=self.turn["language"],
            )  # fmt: skip
        else:
            await self._run_code(job)

    async def _search(self, job: Job) -> None:
        began = time.monotonic()
        self.tell("search_started", job, job.asked)
        service = self.engines.providers[job.call["name"]]
        model = self.configuration.research_model
        result = await ask_providers(
            job.asked, [service], turn=self.turn, model=model, meter=self.meter
        )
        self.search_results[job.id] = result
        seconds = time.monotonic() - began
        self.tell("search_done", job, job.asked, count=len(result.hits), seconds=seconds)

    async def _open_page(self, job: Job) -> None:
        assert self.reading is not None
        left, self.reads_left = self.reads_left, self.reads_left - 1
        self.tell("reading", job, job.asked, count=1)
        [self.pages[job.id]] = await self.reading.open_all(
            [wanted_page(job.call)], left=max(0, left), tokens=PAGE_TOKENS * 3 // 4
        )

    async def _ask_map(self, job: Job) -> None:
        # A line between two points is told to the metre, which a route's record rounds.
        exact = job.call["name"] == "maps_distance"
        turn, map_result = self.turn, MapResult(names={} if exact else {**self.names})
        options = MapOptions(
            prefix=job.id,
            language=turn["language"],
            near=turn["near"],
            on_found=lambda spots: self.tell("map_found", job, "", spots=spots),
        )
        self.map_results[job.id] = map_result
        try:
            maps = await self.services.maps.tools(
                map_result,
                turn["question"],
                options=options,
                meter=self.meter,
                on_call=lambda asked: self.tell("map_call", job, asked),
            )
        except AgentError as error:
            gap = map_gap(error, job.asked, turn["language"])
            map_result.gaps.append(gap)
            job.fail(gap["message"])
            return
        names = [tool.name for tool in maps.tools]
        if job.call["name"] not in names:
            job.refuse(self.planner.no_such_tool(job.call["name"], names))
            return
        answer = await maps.call(job.call)
        job.text, job.failed = str(answer.text), answer.status == "error"

    async def _run_code(self, job: Job) -> None:
        began = time.monotonic()
        assert self.runner is not None
        try:
            result = await self.runner.run(job.asked)
        except AgentError as error:
            gap = _sandbox_gap(error, self.turn["language"])
            self.gaps.append(gap)
            job.fail(gap["message"])
        else:
            job.text, job.failed = outcome_text(result, self.turn["language"]), bool(result.error)
        line = f"{short(job.asked)} ⇒ {short(job.text)}"
        self.tell("code", job, line, seconds=time.monotonic() - began)

    def tell(self, kind: EventType, job: Job, text: str, **more: Any) -> None:
        self.emit(event(kind, NODE, id=job.id, text=text, speaker=self.speaker, **more))


def outcome_text(result: CodeResult, language: Language) -> str:
    """Return the output or value of a program, then its error."""
    parts = [result.output.rstrip("\n")]
    if result.truncated:
        parts.append(say("team_answer.tools.truncated", language))
    parts.append(result.error)
    return valid_text("\n".join(part for part in parts if part)) or say(
        "team_answer.tools.no_output", language
    )


def short(text: str) -> str:
    """Return one line of at most 80 characters."""
    line = " ".join(text.split())
    return line if len(line) <= _LINE else line[: _LINE - 1] + "…"


_LEAST_TOKENS = 200


async def use_tools(
    state: TeamState, runtime: Runtime[Configuration], *, get_services: GetServices
) -> TeamUpdate:
    """Answer every call of the last pending message; a failure is an answer, never raised."""
    services, configuration = get_services(), configuration_of(runtime)
    engines = engines_of(services.web, configuration, state["turn"])
    runner = await services.code_runner()
    _, whole = await with_documents(state, services, configuration, runtime)
    scope = searched_scope(state, runtime, whole)
    planner = Planner(
        pool=state.get("evidence_pool", []),
        offered=[
            *engines.providers,
            *([READ] if engines.providers else []),
            *([SEARCH_DOCUMENTS] if scope else []),
            *([CODE] if runner else []),
        ],
        maps=offers_map(state, configuration),
        language=state["turn"]["language"],
    )
    meter = meter_of(state, configuration, services)
    executor = ToolExecutor(
        services=services,
        configuration=configuration,
        turn=state["turn"],
        speaker=state["speaker"] or "researcher",
        meter=meter,
        emit=runtime.stream_writer,
        engines=engines,
        runner=runner,
        planner=planner,
        reading=_reading(state, services, meter, configuration),
        reads_left=reads_left(state, configuration),
        scope=scope,
        names=known_positions(state),
    )
    jobs = planner.jobs(cast(AIMessage, state["pending"][-1]))
    await asyncio.gather(*(executor.do(job) for job in jobs if job.is_open))
    return _ResultRecorder(
        state, executor, SourceRegister(state.get("sources_gathered", []))
    ).update(jobs)


def _reading(
    state: TeamState, services: Services, meter: Meter, configuration: Configuration
) -> PageReading:
    """Return what opens the pages that this turn's results and opened pages have shown.

    Pages of the last turn are shown by their ids.
    """
    pages = [each for each in known_sources(state) if each["kind"] == "page" and each["url"]]
    linked = [url for each in state.get("evidence_pool", []) for url in each.get("links", [])]
    return PageReading(
        services,
        meter,
        state["turn"]["language"],
        [*(page["url"] for page in pages), *linked],
        ids={page["id"]: page["url"] for page in pages},
        titles={page["url"]: page["title"] for page in pages},
        parallel=configuration.max_parallel_reads,
    )


@dataclass
class _ResultRecorder:
    """Record the results of jobs in the order of the calls, so that ids are reproducible."""

    state: TeamState
    executor: ToolExecutor
    register: SourceRegister
    gaps: list[Gap] = field(default_factory=list)

    @property
    def language(self) -> Language:
        return self.state["turn"]["language"]

    def _settle(self, job: Job) -> None:
        if job.twin is not None:
            job.text, job.source_ids = job.twin.text, list(job.twin.source_ids)
            if job.twin.failed:
                job.failed, job.hint = True, ""
        elif job.id in self.executor.search_results:
            self._settle_search(job, self.executor.search_results[job.id])
        elif job.id in self.executor.pages:
            self._settle_page(job, self.executor.pages[job.id])
        elif job.id in self.executor.documents:
            self._settle_documents(job, self.executor.documents[job.id])
        elif job.id in self.executor.map_results:
            self._settle_map(job, self.executor.map_results[job.id])
        if job.kind == "search" and job.cached:
            self.executor.tell(
                "search_done", job, job.asked, count=len(job.source_ids), seconds=0.0
            )

    def _settle_search(self, job: Job, result: SearchResult) -> None:
        self.gaps += result.gaps
        if result.failure:
            job.fail(self._failure(job, result))
            return
        ids = self.register.add_hits(job.id, result)
        job.source_ids = list(dict.fromkeys(ids))
        job.text = results_text(job.id, job.call["name"], result, ids, self.language)

    def _settle_page(self, job: Job, page: OpenedPage) -> None:
        if page.gap:
            self.gaps.append(page.gap)
        if page.failure:
            job.fail(page.shown(self.language))
            return
        self.gaps += partly_read(page, self.language)
        job.source_ids, job.links = [self.register.add_page(job.id, page)], list(page.links)
        job.text = page.shown(self.language, id=job.source_ids[0])

    def _settle_documents(self, job: Job, documents: Documents) -> None:
        if documents.gap:
            self.gaps.append(documents.gap)
            job.fail(documents.gap["message"])
            return
        ids = self.register.add_passages(documents.sources)
        job.source_ids = list(dict.fromkeys(ids))
        job.text = documents.shown(ids, self.language)

    def _failure(self, job: Job, result: SearchResult) -> str:
        """Return why there is no result, and what else the model can do."""
        failing = {gap["provider"] for gap in (*self.state.get("gaps", []), *result.gaps)}
        spent = any(gap["code"].startswith("budget_") for gap in result.gaps)
        others = [
            name
            for name, service in self.executor.engines.providers.items()
            if name != job.call["name"] and service.name not in failing and not spent
        ]
        reason = result.failure.rstrip("。.")
        if not others:
            return say("team_answer.tools.no_tools", self.language, reason=reason)
        return say(
            "team_answer.tools.other_tools", self.language, reason=reason, tools=", ".join(others)
        )

    def _settle_map(self, job: Job, map_result: MapResult) -> None:
        self.gaps += map_result.gaps
        ids = self.register.add_map_result(map_result)
        for new, registered in ids.items():
            job.text = job.text.replace(f"[^{new}]", f"[^{registered}]")
        job.source_ids = list(dict.fromkeys(ids.values()))
        for records in (map_result.places, map_result.routes, map_result.weather):
            rows = cast(list[Any], records)
            rows[:] = [each for each in rows if ids.get(each["source"]) == each["source"]]

    def update(self, jobs: Sequence[Job]) -> TeamUpdate:
        """Return the update of the step."""
        for job in jobs:
            self._settle(job)
        state, round_ = self.state, len(self.state.get("transcript", [])) + 1
        accepted = [job for job in jobs if job.kind is not None]
        texts = self._speaker_texts(jobs)
        notes = [job.note(texts[id(job)]) for job in accepted]
        answers: list[AnyMessage] = [job.message(texts[id(job)]) for job in jobs]
        queries = [job.asked for job in accepted if job.kind == "search" and not job.cached]
        map_results = self.executor.map_results.values()
        return TeamUpdate(
            pending=inner(answers),
            pending_tools=[*state.get("pending_tools", []), *notes],
            tool_rounds=state.get("tool_rounds", 0) + 1,
            evidence_pool=[job.evidence(self.executor.speaker, round_) for job in accepted],
            reasoning_trace=[self._trace(jobs, round_)],
            queries=[PlannedQuery(query=query, map=None, round=round_) for query in queries],
            sources_gathered=replaced(self.register.sources),
            places=[place for map_result in map_results for place in map_result.places],
            routes=[route for map_result in map_results for route in map_result.routes],
            weather=[weather for map_result in map_results for weather in map_result.weather],
            places_rejected=[name for map_result in map_results for name in map_result.rejected],
            gaps=self._new_gaps(),
            usage=self.executor.meter.usage,
        )

    def _speaker_texts(self, jobs: Sequence[Job]) -> dict[int, str]:
        """Return the text of each job for the speaker; results share the room in its prompt."""
        limit = context_limit(self.state["turn"], self.executor.configuration)
        free = (limit - prompt_tokens(self.state["pending"])) // 2
        share = max(_LEAST_TOKENS, free // max(len(jobs), 1))
        texts = {}
        for job in jobs:
            text = job.text
            if job.kind == "code":
                text = element("output", text, id=job.id)
            elif job.kind == "map" and not job.source_ids and not job.failed:
                text = element("measurement", text, id=job.id)
            parts = [job.hint] if job.twin and job.hint else [job.hint, text]
            whole = "\n".join(part for part in parts if part)
            texts[id(job)] = shortened(whole, share, self.language)
        return texts

    def _new_gaps(self) -> list[Gap]:
        """Return each reason of each provider once in a turn; a spent budget is nobody's own."""
        reasons, fresh = {_reason(gap) for gap in self.state.get("gaps", [])}, []
        for gap in (*self.gaps, *self.executor.gaps):
            if _reason(gap) not in reasons:
                reasons.add(_reason(gap))
                fresh.append(gap)
                self.executor.emit(
                    event("gap", NODE, text=gap["message"], speaker=self.executor.speaker)
                )
        return fresh

    def _trace(self, jobs: Sequence[Job], round_: int) -> TraceEntry:
        lines = [f"{job.id or '-'} {job.call['name']}: {short(job.asked)}" for job in jobs]
        return TraceEntry(
            step=NODE,
            text="\n".join(lines),
            speaker=self.executor.speaker,
            round=round_,
            tools=[job.call["name"] for job in jobs],
        )


def _reason(gap: Gap) -> tuple[str, str]:
    budget = gap["code"].startswith("budget_")
    return "" if budget else gap["provider"], gap["code"]


def _sandbox_gap(error: AgentError, language: Language) -> Gap:
    """Return the gap of programs that could not be run."""
    message = say("team_answer.tools.code_failed", language, reason=reason_of(error, language))
    return Gap(query="", provider="sandbox", code=error.code, message=message)
