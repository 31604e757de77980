"""Carries out the plan: an executor for each task, so many at once, each as soon as it can.

llm_decision ⇄ optional_tools
     └─ search ─ clean_and_rerank ─ download

Nothing is kept between its beginning and its end: after a crash the node runs again, and every
outside call that was finished comes from the reply cache.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Any, TypeVar, cast

from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from agent.assistants.common.gaps import TASK_GAPS, gap_of, run_gap
from agent.assistants.common.inside_words import KeptInside, public_texts
from agent.assistants.common.own_documents import own_scope
from agent.assistants.common.services import GetServices, Services
from agent.assistants.common.steering import dropped, new_wishes
from agent.assistants.common.toolbox import Known
from agent.assistants.common.turn import meter_of, own_limit, room_of
from agent.assistants.common.whole_documents import read_documents_whole
from agent.assistants.common.workspace import Workspace
from agent.assistants.plan_execute.decide import (
    SEARCHES,
    after_decision,
    llm_decision,
    optional_tools,
)
from agent.assistants.plan_execute.documents import (
    documents_of,
    is_scored,
    item_of,
    merged_documents,
    merged_over_tasks,
    nearest_first,
    rank_texts,
    sorted_by_kind,
    source_name,
    whole_text,
)
from agent.assistants.plan_execute.papers import download
from agent.assistants.plan_execute.plan import depth_of, further_tasks, tell_tasks
from agent.assistants.plan_execute.state import (
    ExecutorResult,
    ExecutorState,
    PlanState,
    PlanUpdate,
    Task,
    TaskStatus,
    configuration_of,
)
from agent.assistants.plan_execute.subject import queries_for, task_queries
from agent.assistants.plan_execute.task_run import (
    NODE,
    REQUIRED,
    ExecutorRun,
    Shared,
    ask_source,
    sources_off,
)
from agent.configuration import Configuration
from agent.core.budget import Meter
from agent.core.concurrency import together
from agent.core.errors import AgentError, ConfigurationError
from agent.core.progress import Emit, event
from agent.evidence.types import Gap, Source
from agent.runs.run_log import Wish
from agent.search.documents import Document
from agent.search.hits import beginning
from agent.state import PlannedQuery, reader_language
from agent.texts import Language

R = TypeVar("R")
Work = Callable[[Task, list[R]], Awaitable[R]]
"""A task with the results of those it depends on."""


async def carry_out(tasks: Sequence[Task], width: int, work: Work[R]) -> list[R]:
    """Return the results in the order of the tasks, whose dependencies make no circle.

    What one task raises ends the others and is raised; so does cancelling this.
    """
    places = asyncio.Semaphore(width)
    results: dict[str, R] = {}
    finished = {task["id"]: asyncio.Event() for task in tasks}

    async def one(task: Task) -> None:
        for dep in task["dep"]:
            await finished[dep].wait()
        async with places:
            results[task["id"]] = await work(task, [results[dep] for dep in task["dep"]])
        finished[task["id"]].set()

    await together([one(task) for task in tasks])
    return [results[task["id"]] for task in tasks]


CompiledExecutor = CompiledStateGraph[ExecutorState, ExecutorRun, ExecutorState, ExecutorState]


def build_executor() -> CompiledExecutor:
    """Compile the graph; without a checkpointer, as outside calls are in the reply cache."""
    graph = StateGraph(ExecutorState, context_schema=ExecutorRun)
    for node in (llm_decision, optional_tools, search, clean_and_rerank, download):
        graph.add_node(node.__name__, node)
    graph.add_edge(START, "llm_decision")
    graph.add_conditional_edges("llm_decision", after_decision, ["optional_tools", "search"])
    graph.add_edge("optional_tools", "llm_decision")
    graph.add_edge("search", "clean_and_rerank")
    graph.add_edge("clean_and_rerank", "download")
    graph.add_edge("download", END)
    return graph.compile(checkpointer=False, name="executor")


log = logging.getLogger(__name__)
_STEPS_PER_ROUND = 2
_LEFT_ALONE = "breaker_open"
# Durability "sync" is handed on to graphs within, where it fails without a checkpointer.
_NOT_SYNC = {"__pregel_durability": "async"}


async def execute(
    state: PlanState,
    runtime: Runtime[Configuration],
    *,
    get_services: GetServices,
    executor: CompiledExecutor,
) -> PlanUpdate:
    """Return every task's result, in the order of the plan; a failing source or task is a gap."""
    services, configuration = get_services(), configuration_of(runtime)
    if state["turn"].get("own_only"):
        return _untouched(state["tasks"])
    meter = meter_of(state, configuration, services)
    off = sources_off(services, configuration)
    workspace = services.workspace(room_of(state["turn"], runtime))
    working = _Working(
        state, configuration, services, meter, runtime.stream_writer, workspace=workspace,
        executor=executor, off=off,
        shared=Shared(inside=await _inside(state, services, configuration, runtime)),
    )  # fmt: skip
    language = state["turn"]["language"]
    tasks, ended = await working.all_tasks(state["tasks"])
    found_by_task = [end["executor_result"] for end in ended]
    results = merged_over_tasks(found_by_task, tasks)
    every_gap = [*_off_gaps(off, language), *working.gaps, *_all(ended, "gaps")]
    gaps = _distinct(every_gap, state.get("gaps") or [])
    for gap in gaps:
        runtime.stream_writer(event("gap", NODE, text=gap["message"]))
    return PlanUpdate(
        tasks=tasks,
        executor_result=[_in_brief(result) for result in results],
        downloaded_papers=[paper for result in results for paper in result["papers"]],
        queries=_planned_queries(tasks),
        sources_gathered=[
            *(source for result in results for source in task_sources(result, language)),
            *_all(ended, "sources_gathered"),
        ],
        places=_all(ended, "places"),
        routes=_all(ended, "routes"),
        weather=_all(ended, "weather"),
        places_rejected=_all(ended, "places_rejected"),
        gaps=gaps,
        wishes=working.wishes,
        usage=meter.usage,
    )


async def _inside(
    state: PlanState,
    services: Services,
    configuration: Configuration,
    runtime: Runtime[Configuration],
) -> KeptInside | None:
    """Return what no query may take outside; None where the planner read no own documents."""
    scope = own_scope(state.get("readable", []), state["owner"], runtime)
    if scope is None or not state.get("documents_wanted"):
        return None
    turn = state["turn"]
    limit = own_limit(turn, configuration)
    whole = await read_documents_whole(scope, services, turn["language"], tokens=limit)
    return KeptInside([*whole.texts.values()], public_texts(state, ()))


def _untouched(tasks: Sequence[Task]) -> PlanUpdate:
    """Return the tasks of a question that nothing outside may hear of."""
    return PlanUpdate(
        executor_result=[_empty_result(task, "skipped") for task in tasks],
        queries=_planned_queries(tasks),
    )


def _planned_queries(tasks: Sequence[Task]) -> list[PlannedQuery]:
    depths = depth_of(tasks)
    return [
        PlannedQuery(query=task["query"], map=None, round=depths[task["id"]] + 1) for task in tasks
    ]


def task_sources(result: ExecutorResult, language: Language) -> list[Source]:
    """Return a task's documents as they are cited."""
    return [
        replace(item_of(document, result["query"], language), id=document["id"]).source(
            _quotes(document)
        )
        for document in result["documents"]
    ]


def _in_brief(result: ExecutorResult) -> ExecutorResult:
    """Return the result as the state keeps it: the workspace has what its documents say."""
    documents = [
        cast(Document, {**each, "text": beginning(each["text"])}) for each in result["documents"]
    ]
    return cast(ExecutorResult, {**result, "documents": documents})


@dataclass
class _Working:
    """Runs executors; one account for all."""

    state: PlanState
    configuration: Configuration
    services: Services
    meter: Meter
    emit: Emit
    workspace: Workspace
    executor: CompiledExecutor
    off: dict[str, str]
    shared: Shared = field(default_factory=Shared)
    gaps: list[Gap] = field(default_factory=list)
    wishes: list[Wish] = field(default_factory=list)
    """Taken up by this step."""
    looking: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def all_tasks(self, planned: Sequence[Task]) -> tuple[list[Task], list[ExecutorState]]:
        """Return the tasks with their results, also of those that a wish adds on the way."""
        tasks, ended, waiting = list(planned), list[ExecutorState](), list(planned)
        while waiting:
            considered = len(self.wishes)
            ended += await carry_out(waiting, self.configuration.max_executors, self.take)
            await self._look()
            waiting = await self._further(tasks, self.wishes[considered:])
            tasks += waiting
        return [end.get("task", task) for end, task in zip(ended, tasks, strict=True)], ended

    async def take(self, task: Task, earlier: list[ExecutorState]) -> ExecutorState:
        """Return the result of a task; of one that is not wanted any more, an empty one."""
        await self._look()
        if dropped(self.wishes, task["query"], task["id"], task["id"].removeprefix("T")):
            return ExecutorState(executor_result=_empty_result(task, "skipped"))
        return await self.on(task, earlier)

    async def _look(self) -> None:
        async with self.looking:
            self.wishes += await new_wishes(
                self.state, self.services, self.emit, NODE, known=self.wishes
            )

    async def _further(self, tasks: Sequence[Task], wishes: Sequence[Wish]) -> list[Task]:
        """Return the tasks that wishes ask for besides."""
        asking = [wish for wish in wishes if wish["kind"] == "wish"]
        if not asking:
            return []
        more, gaps = await further_tasks(
            self.state["turn"], tasks, asking, self.configuration, self.services, meter=self.meter
        )
        self.gaps += gaps
        if more:
            tell_tasks(more, self.emit, NODE)
        return more

    async def on(self, task: Task, earlier: list[ExecutorState]) -> ExecutorState:
        """Return the result of an executor; a failure is a failed task, but for bad settings."""
        turn, began = self.state["turn"], time.monotonic()
        self.emit(event("task_started", NODE, id=task["id"], text=task["query"]))
        run = ExecutorRun(
            task=task,
            turn=turn,
            configuration=self.configuration,
            services=self.services,
            meter=self.meter,
            emit=self.emit,
            workspace=self.workspace,
            off=self.off,
            shared=self.shared,
            known=self._known(earlier),
        )
        try:
            ended = await self._run(task, run, [end["executor_result"] for end in earlier])
        except ConfigurationError:
            raise
        except AgentError as error:
            log.warning("turn=%s %s failed: %s", turn["id"], task["id"], error)
            ended = _failed_result(task, error, turn["language"])
        result, seconds = ended["executor_result"], time.monotonic() - began
        if result["status"] == "empty":
            query = ended.get("task", task)["query"]
            language = reader_language(turn)
            gap = run_gap("plan_execute.task_empty", language, query=query, task=query)
            ended["gaps"] = [*(ended.get("gaps") or []), gap]
        count = len(result["documents"])
        log.info("turn=%s %s %s: %s, %d documents, %d papers, %.1f s", turn["id"], NODE,
                 task["id"], result["status"], count, len(result["papers"]), seconds)  # fmt: skip
        self.emit(
            event("task_done", NODE, id=task["id"], text=task["query"], count=count,
                  seconds=seconds)
        )  # fmt: skip
        return ended

    def _known(self, earlier: Sequence[ExecutorState]) -> Known:
        """Return the places that the calls of a task may name by their ids."""
        previous = self.state["previous"]
        return Known(
            places=[*previous["places"], *_all(list(earlier), "places")],
            names=previous.get("names", {}),
        )

    async def _run(
        self, task: Task, run: ExecutorRun, earlier: list[ExecutorResult]
    ) -> ExecutorState:
        opened = ExecutorState(
            task=task,
            turn=self.state["turn"],
            current_query=task["query"],
            earlier=earlier,
            rounds=0,
        )
        rounds = _STEPS_PER_ROUND * self.configuration.max_executor_rounds + 10
        config: RunnableConfig = {"recursion_limit": rounds, "configurable": dict(_NOT_SYNC)}
        ended: Any = await self.executor.ainvoke(opened, config, context=run)
        result: ExecutorState = ended
        return result


def _empty_result(task: Task, status: TaskStatus) -> ExecutorResult:
    return ExecutorResult(
        task=task["id"],
        query=task["query"],
        status=status,
        documents=[],
        rerank="",
        papers=[],
        decisions=[],
    )


def _failed_result(task: Task, error: AgentError, language: Language) -> ExecutorState:
    result = _empty_result(task, "failed")
    gap = gap_of(task["query"], error, NODE, language)
    return ExecutorState(executor_result=result, gaps=[gap])


def _off_gaps(off: dict[str, str], language: Language) -> Iterable[Gap]:
    """Yield a gap for each source that is off and that every task should search."""
    for name in REQUIRED:
        if name in off:
            source = source_name(name, language)
            yield run_gap("plan_execute.source_off", language, provider=name, source=source)


def _distinct(gaps: list[Gap], earlier: list[Gap]) -> list[Gap]:
    """Return each reason of each source once; that a failing one was left alone follows."""
    failed = {gap["provider"] for gap in gaps if gap["code"] != _LEFT_ALONE}
    reasons, fresh = {_reason(gap) for gap in earlier}, list[Gap]()
    for gap in gaps:
        follows = gap["code"] == _LEFT_ALONE and gap["provider"] in failed
        if _reason(gap) not in reasons and not follows:
            reasons.add(_reason(gap))
            fresh.append(gap)
    return fresh


def _reason(gap: Gap) -> tuple[str, str]:
    if gap["code"].startswith("budget_"):
        return "", gap["code"]
    return gap["provider"], gap["code"] + (gap["query"] if gap["code"] in TASK_GAPS else "")


def _quotes(document: Document) -> list[str]:
    text = beginning(" ".join(document["text"].split()))
    return [text] if text else []


def _all(ended: list[ExecutorState], key: str) -> list[Any]:
    states: list[Any] = list(ended)
    return [each for state in states for each in state.get(key) or []]


_OF_TOOL = {tool.name: source for source, tool in SEARCHES.items()}


async def search(state: ExecutorState, runtime: Runtime[ExecutorRun]) -> ExecutorState:
    """Return all that was found, also by optional tools; a source that fails is a gap.

    Sources that are off are not asked: the run says so once.
    """
    run, queries = runtime.context, task_queries(state["task"])
    names = [name for name in REQUIRED if name not in run.off]
    pairs = [(name, query) for name in names for query in queries_for(name, queries)]
    outcomes = await asyncio.gather(*(ask_source(run, *each) for each in pairs))
    documents = [
        document
        for message in state.get("optional_search_results") or []
        for document in documents_of(message.content, _OF_TOOL.get(str(message.name), ""))
        if message.name in _OF_TOOL
    ]
    for name in names:
        lists = [
            documents_of(value, name)
            for (source, _), (value, _) in zip(pairs, outcomes, strict=True)
            if source == name
        ]
        # The best of every query first.
        documents += [document for row in zip_longest(*lists) for document in row if document]
    return ExecutorState(
        search_results=documents,
        gaps=[gap for _, gaps in outcomes for gap in gaps],
    )


_LEAST = 3
"""Papers that are kept where only words can be counted."""


async def clean_and_rerank(state: ExecutorState, runtime: Runtime[ExecutorRun]) -> ExecutorState:
    """Put what was found in order; scored sources alone are cut, by threshold and top-n."""
    run, query = runtime.context, state["current_query"]
    documents = nearest_first(merged_documents(state.get("search_results") or []), state["task"])
    scored = run.configuration.rerank_sources
    papers = [document for document in documents if is_scored(document, scored)]
    others = [document for document in documents if not is_scored(document, scored)]
    ranked, note = list[Document](), ""
    if papers:
        ranking = await rank_texts(
            run.services.reranker(),
            query,
            [whole_text(paper) for paper in papers],
            meter=run.meter,
            top_n=run.configuration.rerank_top_n,
            threshold=run.configuration.rerank_threshold,
            least=_LEAST,
        )
        ranked = [
            cast(Document, {**papers[place], "score": round(score, 4)})
            for place, score in ranking.order
        ]
        note = f"{ranking.backend} ({ranking.note})" if ranking.note else ranking.backend
        if ranking.note:
            log.warning("turn=%s %s: ranking: %s", run.turn["id"], run.task["id"], ranking.note)
    log.info("turn=%s %s: %d found, %d distinct, %d of %d scored kept",
             run.turn["id"], run.task["id"], len(state.get("search_results") or []),
             len(documents), len(ranked), len(papers))  # fmt: skip
    documents = await _kept(sorted_by_kind([*ranked, *others]), run)
    return ExecutorState(reranked_results=documents, rerank_note=note)


async def _kept(documents: Sequence[Document], run: ExecutorRun) -> list[Document]:
    """Return the documents with the ids under which the workspace keeps them, each once."""
    items = [item_of(document, run.task["query"], run.language) for document in documents]
    names = {item.key: item.id for item in await run.workspace.keep(items)}
    kept: dict[str, Document] = {}
    for item, document in zip(items, documents, strict=True):
        if name := names.get(item.key):
            kept.setdefault(name, cast(Document, {**document, "id": name}))
    return list(kept.values())
