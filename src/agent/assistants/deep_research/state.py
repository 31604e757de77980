"""State of `deep_research`: exploration in topics, what each left, and the report.

`topic_messages` holds the present topic's calls and answers while it is explored; `switch_topic`
takes them out and leaves an entry in `search_results`. `messages` is the conversation alone.
"""

from typing import Annotated, Any, ClassVar, Literal, NotRequired, cast
from urllib.parse import urlsplit

from langchain_core.messages import AnyMessage, ToolCall
from langgraph.runtime import Runtime
from pydantic import Field
from typing_extensions import TypedDict

from agent.configuration import (
    Configuration,
    ContextTokens,
    MapCalls,
    ModelCalls,
    PageReads,
    ParallelReads,
    RunDollars,
    RunSeconds,
    RunTokens,
    Searches,
    at_nodes,
)
from agent.core.budget import Usage
from agent.state import (
    NOTHING_GATHERED,
    AgentInput,
    Gathered,
    QuestionInput,
    Turn,
    extend,
)


class DeepConfiguration(Configuration):
    """Hold the same knobs with the limits that long research needs."""

    MAP_CALLS_KEPT: ClassVar = 6
    NODES: ClassVar = at_nodes(
        {
            "query_generator_model": ("begin",),
            "research_model": ("explore", "act", "compress_topic", "write_report"),
            "reflection_model": ("review_notes", "write_report"),
            "answer_model": ("explore", "write_report"),
            "lead_model": ("explore",),
            "max_topics": ("begin", "explore"),
            "max_exploration_rounds": ("explore",),
            "small_topic_tokens": ("compress_topic",),
            "max_page_reads": ("act",),
            "max_parallel_reads": ("act", "compress_topic"),
        },
        begin="begin",
        search=("act",),
        maps=("act",),
        write="write_report",
    )
    context_token_limit: ContextTokens = 80_000
    max_page_reads: PageReads = 90
    max_parallel_reads: ParallelReads = 12
    max_searches: Searches = 120
    max_model_calls: ModelCalls = 160
    max_map_calls: MapCalls = 60
    max_run_tokens: RunTokens = 3_000_000
    max_run_dollars: RunDollars = 1
    max_run_seconds: Annotated[
        RunSeconds, Field(description="Wall clock seconds per run, the report included.")
    ] = 1800


def configuration_of(runtime: Runtime[Configuration]) -> Configuration:
    """Return this run's configuration; without one, this assistant's defaults."""
    return runtime.context or DeepConfiguration()


class DeepInput(QuestionInput, total=False):
    """The input of a client."""


TopicStatus = Literal["planned", "active", "done", "dropped"]


class PlannedTopic(TypedDict):
    """One topic of the plan."""

    id: str
    """`T1`."""
    name: str
    what_to_find: str
    status: TopicStatus


class ShownPage(TypedDict):
    """A page that the model was shown."""

    id: str
    """As the workspace keeps it; it is cited by this. Runs of an earlier version have none."""
    url: str
    title: str
    opened: NotRequired[bool]
    """The model has opened it while it explored."""


class FoundPage(ShownPage):
    """A page a search of the present topic returned."""

    site: str
    snippet: str
    published: str | None
    provider: str
    topic: NotRequired[str]
    """For which explorers have found it, side by side with others."""


class UsefulPage(FoundPage):
    """Hold a page that is kept for its topic."""

    partial: NotRequired[bool]
    """Whether only an excerpt of it could be had; absent until it was read."""


class TopicResult(TypedDict):
    """The result of exploring one topic."""

    topic: str
    reason: str
    """Why it was left, and the last thought; the record later prompts show."""
    useful_webpages: list[UsefulPage]
    compressed_content: str | None
    """Marked text (`[^t0-1]`); None until it is written."""
    open: NotRequired[str]
    """Questions that its pages leave open or contradict each other on."""
    whole: NotRequired[bool]
    """Whether the writer gets its pages, or their passages that bear on it, as they are."""
    found: NotRequired[str]
    """What explorers have found on it, as marked lines with the words of the pages."""


class Intent(TypedDict):
    """The decision of `act` or a limit that `switch_topic` carries out."""

    kind: Literal["change", "end", "clear"]
    """`clear` archives and goes on with the same topic."""
    new_topic: str
    reason: str
    urls: list[str] | None
    """What the model names as useful; None where a limit decided."""
    calls: NotRequired[list[ToolCall]]
    """Calls behind a change in the same reply: the next topic begins with them."""


class Counts(TypedDict, total=False):
    """Corrections made on the way, by name; shown in `checks`."""

    thoughts: int
    refused_calls: int
    invented_urls: int
    forced_archives: int
    unknown_notes: int
    pages_opened: int


def merge_topics(old: list[TopicResult] | None, new: list[TopicResult] | None) -> list[TopicResult]:
    """Reduce: an entry of a known topic replaces it, others are appended; None empties."""
    if new is None:
        return []
    merged = {entry["topic"]: entry for entry in old or []}
    merged.update({entry["topic"]: entry for entry in new})
    return list(merged.values())


def add_counts(old: Counts | None, new: Counts | None) -> Counts:
    """Reduce: add by name; None empties."""
    if new is None:
        return Counts()
    total: dict[str, Any] = dict(old or {})
    for name, count in new.items():
        total[name] = total.get(name, 0) + count
    return cast(Counts, total)


class DeepState(AgentInput, Gathered, total=False):
    """Everything the nodes share."""

    plan: list[PlannedTopic]
    """The topics to look into; empty where no model planned them."""
    conversation: str
    own_whole: bool
    """Whether nothing but own documents is to be read, and the writer has room for all of them."""
    base: int
    """How many messages the thread had when the question was asked."""
    topic_messages: Annotated[list[AnyMessage], extend]
    """Calls and answers of the present topic."""
    topic: str
    rounds: int
    """Model calls of the exploration, in this turn."""
    notes: Annotated[list[str], extend]
    """What the lead thought in the topics that are closed."""
    positions: dict[str, str]
    """The names of positions ("lng,lat") that closed topics have located."""
    topic_rounds: int
    fruitless: int
    """Rounds in a row that neither searched nor asked the map."""
    searched: bool
    """Whether any search of this turn was sent, or a page opened."""
    exploring: bool
    reviewed: bool
    """Whether the notes were judged as a whole; they are once in a turn."""
    intent: Intent | None
    pages_found: Annotated[list[FoundPage], extend]
    pages_left: Annotated[list[ShownPage], extend]
    """What earlier topics found and did not keep; a later one may name or open it."""
    links_found: Annotated[list[str], extend]
    """What the pages opened in the present topic link to, as far as the model was shown it."""
    search_results: Annotated[list[TopicResult], merge_topics]
    report: str
    counts: Annotated[Counts, add_counts]


class DeepUpdate(DeepState, total=False):
    """The update a node returns."""


def topic_messages(state: DeepState) -> list[AnyMessage]:
    """Return the messages of the present topic.

    Runs that an earlier version began have them behind the thread's.
    """
    return [*state["messages"][state["base"] :], *state.get("topic_messages", [])]


def site_name(url: str) -> str:
    return (urlsplit(url).hostname or "").removeprefix("www.")


def found_page(
    id: str, url: str, title: str, excerpt: str = "", *, published: str = "", opened: bool = False
) -> FoundPage:
    """Return a page that is known without a search's result like one that a search returned."""
    page = FoundPage(
        id=id,
        url=url,
        title=title,
        site=site_name(url),
        snippet=excerpt,
        published=published or None,
        provider="web",
    )
    return FoundPage(**page, opened=True) if opened else page


def kept_pages(state: DeepState) -> list[UsefulPage]:
    """Return the pages that topics keep."""
    return [page for entry in state.get("search_results", []) for page in entry["useful_webpages"]]


def pages_read(state: DeepState) -> set[str]:
    """Return the ids of the pages of closed topics whose own words the lead has read.

    Those it has opened, kept or not, and those it kept of topics that have no notes by a model.
    """
    kept = {
        page["id"]
        for entry in state.get("search_results", [])
        for page in entry["useful_webpages"]
        if page.get("opened") or (entry.get("whole") and not page.get("topic"))
    }
    return kept | {page["id"] for page in state.get("pages_left", []) if page.get("opened")}


class TopicBranch(TypedDict):
    """The input of one branch of reading and compressing."""

    number: int
    result: TopicResult
    turn: Turn
    spent: Usage


_OF_A_QUESTION = (
    "pages_found", "pages_left", "links_found", "search_results", "counts", "intent",
    "topic_messages", "notes",
)  # fmt: skip


def new_research() -> DeepUpdate:
    """Empty everything that belongs to the previous question."""
    empty: dict[str, Any] = {
        **NOTHING_GATHERED,
        **dict.fromkeys(_OF_A_QUESTION),
        "plan": [],
        "positions": {},
        "own_whole": False,
        "rounds": 0,
        "topic_rounds": 0,
        "fruitless": 0,
        "searched": False,
        "exploring": True,
        "reviewed": False,
        "report": "",
    }
    return cast(DeepUpdate, empty)
