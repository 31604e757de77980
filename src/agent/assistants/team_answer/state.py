"""State of `team_answer`: the analysis, one shared transcript, the evidence, the answer.

A speaker's turn may take several steps (it calls tools and goes on): its messages stand in
`pending` until it has spoken, then the turn enters the `transcript`.
"""

from typing import Annotated, Any, ClassVar, Literal, NotRequired, cast

from langchain_core.messages import (
    AnyMessage,
)
from langgraph.channels import EphemeralValue
from langgraph.runtime import Runtime
from pydantic import Field
from typing_extensions import TypedDict

from agent.assistants.common.toolbox import ToolKind
from agent.configuration import (
    Configuration,
    MapCalls,
    ModelCalls,
    RunSeconds,
    RunTokens,
    Searches,
    at_nodes,
)
from agent.state import (
    NOTHING_GATHERED,
    AgentInput,
    Gathered,
    QuestionInput,
    extend,
)

Speaker = Literal["researcher", "analyst", "verifier"]


SPEAKERS: tuple[Speaker, ...] = ("researcher", "analyst", "verifier")


TeamVerdict = Literal["agree", "disagree", "unsure"]
AnswerOutcome = Literal["answer", "premise_false", "not_found"]


class TeamConfiguration(Configuration):
    """Hold the same knobs with the limits that a discussion needs."""

    NODES: ClassVar = at_nodes(
        {
            "query_generator_model": ("analyze", "group_chat", "format_answer"),
            "research_model": ("analyze", "group_chat", "use_tools"),
            "reflection_model": ("group_chat", "synthesize"),
            "answer_model": ("group_chat", "synthesize", "format_answer"),
            "max_group_chat_rounds": ("group_chat",),
            "max_tool_rounds": ("group_chat",),
            "chat_engine": ("group_chat",),
            "chair": ("group_chat",),
            "max_page_reads": ("use_tools",),
            "max_parallel_reads": ("use_tools",),
        },
        begin="analyze",
        search=("use_tools",),
        maps=("use_tools",),
        write="format_answer",
    )
    max_searches: Searches = 60
    max_model_calls: ModelCalls = 120
    max_map_calls: MapCalls = 40
    max_run_tokens: RunTokens = 2_000_000
    max_run_seconds: RunSeconds = 900


def configuration_of(runtime: Runtime[Configuration]) -> Configuration:
    """Return this run's configuration; without one, this assistant's defaults."""
    return runtime.context or TeamConfiguration()


class TeamInput(QuestionInput, total=False):
    """The input of a client: a question, and optionally the form its answer must have."""

    format_requirement: Annotated[
        str | None,
        Field(description="The form of the answer, such as “a year” or “like: Alibaba Group”."),
        EphemeralValue,
    ]


class FirstLook(TypedDict):
    """A look-up that the researcher begins with, named with the analysis."""

    tool: str
    text: str
    """The query, or the program."""


class Analysis(TypedDict):
    """The question as it is understood before anybody searches."""

    asked: str
    """The question in one sentence that stands alone."""
    format_requirement: str
    """The caller's, else the one the question states, else empty."""
    needs_map: bool
    """True where places, distances, routes or weather are asked for."""
    steps: list[str]
    """The questions that lead to the answer, in order; `decompose` passes them on."""
    first: NotRequired[list[FirstLook]]
    """What is looked up before anybody speaks."""


class ToolEvidence(TypedDict):
    """The whole result of one tool call."""

    id: str
    """`s3` search, `r0` page, `d0` documents, `a1` map, `c0` code; numbered within the turn."""
    kind: ToolKind
    tool: str
    asked: str
    """The query, the map call or the program."""
    text: str
    """The whole result; the transcript holds it cut to 6,000 characters."""
    source_ids: list[str]
    """Ids of its sources that can be cited (`s3-0`)."""
    speaker: Speaker
    round: int
    cached: bool
    """True where an earlier result answered, so that nothing was asked."""
    failed: bool
    links: NotRequired[list[str]]
    """Of a page: the addresses it links to, as far as they were shown."""


class ToolNote(TypedDict):
    """A tool call as the transcript keeps it."""

    tool: str
    asked: str
    evidence: str
    """`id` of the Evidence."""
    text: str
    """The result, cut to 6,000 characters."""


class Hypothesis(TypedDict):
    """One branch of the analyst's tree, as last scored."""

    text: str
    score: float
    """0 to 1."""
    pruned: bool


class ChatTurn(TypedDict):
    """A speaker's words, after the tools it used."""

    round: int
    """From 1."""
    speaker: Speaker
    text: str
    tools: list[ToolNote]
    verdict: TeamVerdict | None
    """The verifier's, where it gave one."""
    agreed: NotRequired[str]
    """The answer that the verifier agrees to, NOT FOUND or PREMISE FALSE, as it wrote it."""
    given: NotRequired[dict[str, Any]]
    """The verifier's whole verdict (a `GivenVerdict`), where it gave one by the tool."""
    ends: bool
    """True where this turn ends the discussion: the verifier agreed."""


class TraceEntry(TypedDict):
    """One step of the reasoning, for people and for `--trace-dir`."""

    step: str
    """The node."""
    text: str
    speaker: NotRequired[Speaker]
    round: NotRequired[int]
    tools: NotRequired[list[str]]


class TeamState(AgentInput, Gathered, total=False):
    """Everything the nodes share. `evidence_pool`, `reasoning_trace`, `final_answer` are the
    original design's."""

    format_requirement: Annotated[str | None, EphemeralValue]
    conversation: str
    analysis: Analysis
    sub_questions: list[str]
    differences: list[str]
    """Where own documents contradict each other, as marked lines."""
    transcript: Annotated[list[ChatTurn], extend]
    hypotheses: list[Hypothesis]
    speaker: Speaker | None
    """The present speaker; None where one is to be picked."""
    pending: Annotated[list[AnyMessage], extend]
    """The present turn's calls and their results."""
    pending_tools: list[ToolNote]
    tool_rounds: int
    """Rounds of tools in the present turn."""
    pages_opened: int
    """Pages that were read, by a search or by a call."""
    failures: int
    """Model calls that failed in a row."""
    instruction: str
    """The chair's instruction to the next speaker, where a model chose it."""
    ended: str | None
    """The reason the discussion ended: terminated (the verifier agreed), rounds, stalled (nothing
    new in two rounds), failures, budget; None while it goes on."""
    evidence_pool: Annotated[list[ToolEvidence], extend]
    reasoning_trace: Annotated[list[TraceEntry], extend]
    outcome: AnswerOutcome | None
    """None until the answer is settled."""
    contested: bool
    """True where sources give different answers."""
    objected: bool
    """True once the judge has sent an answer back to the discussion."""
    raw_answer: str
    """The bare answer as it was settled; empty where none was found."""
    explanation: str
    """Marked text: why, in a few sentences."""
    answer_evidence: list[str]
    """Ids of the sources and calculations the answer rests on."""
    unknown_ids: int
    """Ids the settled answer named that nobody issued."""
    unsettled: bool
    """True where no model could settle the answer."""
    verified: bool
    """True only if the verifier agreed to this very answer, with proof and a look for the
    opposite, and no judge found its reasons wanting."""
    unverified_reason: str
    """A key of `team_answer.answer` for why the answer is not verified; empty where it is."""
    final_answer: str
    """Empty where no answer was found."""


class TeamUpdate(TeamState, total=False):
    """The update that a node returns."""


def new_discussion() -> TeamUpdate:
    """Empty everything that belongs to the previous question."""
    own = ("transcript", "evidence_pool", "reasoning_trace", "speaker", "ended")
    empty: dict[str, Any] = {
        **NOTHING_GATHERED,
        **dict.fromkeys(own),
        "sub_questions": [],
        "differences": [],
        "hypotheses": [],
        "pending": None,
        "pending_tools": [],
        "tool_rounds": 0,
        "pages_opened": 0,
        "failures": 0,
        "instruction": "",
        "outcome": None,
        "contested": False,
        "objected": False,
        "raw_answer": "",
        "explanation": "",
        "answer_evidence": [],
        "unknown_ids": 0,
        "unsettled": False,
        "verified": False,
        "unverified_reason": "",
        "final_answer": "",
    }
    return cast(TeamUpdate, empty)
