"""State of `plan_execute`: the tasks, what their executors brought, what the knowledge base says.

`ExecutorState` is the inner graph's, one per task; its keys are the original design's.
"""

from typing import Annotated, Any, ClassVar, Literal, NotRequired, cast

from langchain_core.messages import AnyMessage, ToolMessage
from langgraph.runtime import Runtime
from pydantic import Field
from typing_extensions import TypedDict

from agent.configuration import (
    Configuration,
    MapCalls,
    ModelCalls,
    RunSeconds,
    RunTokens,
    Searches,
    at_nodes,
)
from agent.search.documents import Document
from agent.state import (
    NOTHING_GATHERED,
    AgentInput,
    Gathered,
    QuestionInput,
    Records,
    Turn,
    extend,
)

SpecialSource = Literal["filings", "akshare", "map", "documents"]
"""What a task may want besides the sources that are always searched."""
TaskStatus = Literal["done", "empty", "failed", "skipped"]


class PlanConfiguration(Configuration):
    """Hold the same knobs with the limits that a dossier needs."""

    MAP_CALLS_KEPT: ClassVar = 6
    NODES: ClassVar = at_nodes(
        {
            "query_generator_model": ("plan", "execute", "search_info"),
            "research_model": ("execute", "search_info"),
            "reflection_model": ("write_dossier",),
            "plan_mode": ("plan",),
            "max_tasks": ("plan",),
            "max_executors": ("execute",),
            "max_executor_rounds": ("execute",),
            "max_downloads": ("execute",),
            "max_task_pages": ("search_info",),
            "rerank_sources": ("execute",),
            "rerank_top_n": ("execute",),
            "rerank_threshold": ("execute", "search_info"),
            "max_passages": ("search_info",),
            "max_parallel_reads": ("search_info",),
        },
        begin="plan",
        search=("execute",),
        maps=("execute",),
        write="write_dossier",
    )
    max_searches: Annotated[Searches, Field(description="Executed searches per run.")] = 150
    max_model_calls: ModelCalls = 120
    max_map_calls: MapCalls = 30
    max_run_tokens: RunTokens = 2_000_000
    max_run_seconds: RunSeconds = 1200


def configuration_of(runtime: Runtime[Configuration]) -> Configuration:
    """Return this run's configuration; without one, this assistant's defaults."""
    return runtime.context or PlanConfiguration()


class PlanInput(QuestionInput, total=False):
    """The input of a client; without `collections` all that one may read are read."""


class Task(TypedDict):
    """A part of the question; `dep` are ids of tasks whose results it needs."""

    id: str
    """`T1`…"""
    query: str
    dep: list[str]
    sources: NotRequired[list[SpecialSource]]
    """Absent where the plan does not say: then a model decides."""
    company: NotRequired[str]
    """Its names, `宁德时代 / CATL / 300750`; several companies are parted by semicolons."""
    queries: NotRequired[list[str]]
    """Up to three, each in its source's language; the query where absent."""


class DownloadedPaper(TypedDict):
    """A paper's PDF, or why it could not be had."""

    title: str
    url: str
    """Of the PDF."""
    page_url: str
    """Of the paper."""
    path: str | None
    sha256: str | None
    document: str | None
    """Its id in the knowledge base."""
    error: str | None


class ExecutorResult(TypedDict):
    """The result of one task; its documents are cited by the ids of the workspace."""

    task: str
    query: str
    status: TaskStatus
    documents: list[Document]
    """Reranked where its source is scored, untouched where not; in the order of their ids."""
    rerank: str
    """The back-end that scored, with the note where another one had to serve."""
    papers: list[DownloadedPaper]
    decisions: list[str]
    """What the model decided to look up, one line each."""
    elsewhere: NotRequired[list[str]]
    """The ids of documents that it found and that stand with another task."""


class ExecutorState(Records, total=False):
    """Hold one executor's, from its decision to its result."""

    executor_messages: Annotated[list[AnyMessage], extend]
    current_query: str
    optional_search_results: Annotated[list[ToolMessage], extend]
    search_results: Annotated[list[Document], extend]
    reranked_results: list[Document]
    downloaded_papers: list[DownloadedPaper]
    executor_result: ExecutorResult
    task: Task
    """With the queries and the company that its dependencies led to."""
    turn: Turn
    earlier: list[ExecutorResult]
    """Results of the tasks it depends on."""
    decisions: Annotated[list[str], extend]
    rounds: int
    rerank_note: str


class KnowledgePassage(TypedDict):
    """A passage of the knowledge base that bears on the question; its Source has the same id."""

    id: str
    """`d3-2`: the third target's second passage."""
    target: str
    title: str
    path: str
    page: int | None
    headings: list[str]
    text: str
    score: float


class PlanState(AgentInput, Gathered, total=False):
    """Everything the nodes share."""

    conversation: str
    plan_note: str
    """Why the plan is not as the model wrote it; empty where it is."""
    documents_wanted: bool
    """Whether the question wants its own documents: then all of them are read."""
    whole_documents: list[str]
    """Ids of the own documents that the writer reads whole."""
    documents_read: str
    """How many of the own documents were read, and which were not, as the reader is told."""
    differences: list[str]
    """Where own documents say different things, as marked lines; both words of each are quotes."""
    tasks: list[Task]
    executor_result: list[ExecutorResult]
    downloaded_papers: list[DownloadedPaper]
    question_pool: list[str]
    """The planner's tasks and the rewritten headings of the documents."""
    pre_questions: list[str]
    """The targets of the search in the knowledge base."""
    passages: list[KnowledgePassage]
    dossier: NotRequired[str]


class PlanUpdate(PlanState, total=False):
    """The update a node returns."""


def new_plan() -> PlanUpdate:
    """Empty everything that belongs to the previous question."""
    empty: dict[str, Any] = {
        **NOTHING_GATHERED,
        "plan_note": "",
        "tasks": [],
        "executor_result": [],
        "downloaded_papers": [],
        "question_pool": [],
        "pre_questions": [],
        "passages": [],
        "documents_wanted": False,
        "whole_documents": [],
        "documents_read": "",
        "differences": [],
        "dossier": "",
    }
    return cast(PlanUpdate, empty)
