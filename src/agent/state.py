"""Define the state of the assistant `agent`: its input, what nodes share, its branches.

What accumulates during a turn is emptied by the turn's first node (`new_turn`), so that a second
question on a thread starts clean; only `messages` and `previous` live on.
"""

from collections import deque
from collections.abc import Sequence
from typing import Annotated, Any, Literal, NotRequired, cast

from langchain_core.messages import AnyMessage
from langgraph.channels import EphemeralValue
from langgraph.graph.message import add_messages
from pydantic import Field
from typing_extensions import TypedDict

from agent.core.budget import Usage, add_usage
from agent.evidence.types import (
    Anchor,
    Constraints,
    Gap,
    MapTask,
    Outing,
    OutingWish,
    Place,
    Point,
    Query,
    Route,
    Source,
    Weather,
)
from agent.runs.run_log import Wish
from agent.texts import Language
from agent.texts.languages import language_name


def extend(old: list[Any] | None, new: Any) -> list[Any]:
    """Reduce what accumulates in a turn: append; None empties, a deque replaces."""
    if isinstance(new, dict):
        new = new["inner"]
    if new is None or isinstance(new, deque):
        return list(new or ())
    return [*(old or []), *new]


def replaced(values: Sequence[Any]) -> Any:
    """Return an update that replaces what `extend` has gathered, instead of adding to it.

    A deque is a list to clients, and survives in a checkpoint's pending writes.
    """
    return deque(values)


def inner(messages: Sequence[AnyMessage]) -> Any:
    """Return an update of messages between a model and its tools, for `extend`.

    Streams of messages show every list of messages that a node returns as if it were a reply;
    they do not look into an object.
    """
    return {"inner": messages}


class QuestionInput(TypedDict, total=False):
    """The input of any assistant: a question, and the options of this run."""

    messages: Annotated[
        list[AnyMessage],
        Field(description="The conversation; its last human message is the question."),
        add_messages,
    ]
    reasoning_model: Annotated[
        str | None,
        Field(description="Replaces the models that judge and write in this run."),
        EphemeralValue,
    ]
    user_location: Annotated[
        Point | None,
        Field(description="Where the user is: {lng, lat} in degrees, WGS-84; kept on the thread."),
        EphemeralValue,
    ]
    utc_offset: Annotated[
        int | None,
        Field(ge=-840, le=840, description="The user's clock: minutes ahead of UTC."),
        EphemeralValue,
    ]
    collections: Annotated[
        list[str] | None,
        Field(description="Collections of own documents to read; plan_execute reads all it may."),
        EphemeralValue,
    ]


class AgentInput(QuestionInput, total=False):
    """The main assistant's input, with how much it searches in this run."""

    initial_search_query_count: Annotated[
        int | None,
        Field(ge=1, le=10, description="Queries written for the question, this run only."),
        EphemeralValue,
    ]
    max_research_loops: Annotated[
        int | None,
        Field(ge=1, le=10, description="Rounds of searching at most, this run only."),
        EphemeralValue,
    ]


class Turn(TypedDict):
    """The options of the present question, validated; written by the first node."""

    id: str
    question: str
    """As it reads alone; the user's own words where no model rewrote them."""
    asked_as: NotRequired[str]
    """The user's own words."""
    constraints: NotRequired[Constraints]
    """What a place has to meet."""
    reply: NotRequired[str]
    """All there is to say to thanks or a greeting; nothing is searched or written then."""
    language: Language
    """Of code's own sentences."""
    answer_language: NotRequired[str]
    """The language to write in, as prompts name it: any."""
    tag: NotRequired[str]
    """That of the language to write in; absent where only a model that writes will know it."""
    reader: NotRequired[Language]
    """Of code's sentences in the answer, where that is not `language`."""
    today: str
    """ISO date where the place is that it is about; where none is known, where the user is."""
    now: NotRequired[str]
    """The date with weekday, hour and time zone at the beginning, as a model is told it."""
    started_at: float
    """Seconds since the epoch."""
    count: int
    """Queries to write for the first round."""
    loops: int
    room: NotRequired[int]
    """Tokens that a prompt may have by the windows of the run's models, where those are told."""
    reasoning_model: str | None
    near: Point | None
    """Where the user is, of this question or of an earlier one on the thread."""
    day: NotRequired[str]
    """ISO date of the day that is meant, in a model's word."""
    collections: NotRequired[list[str]]
    """Own documents that this question or an earlier one on the thread named."""
    own_only: NotRequired[bool]
    """Only the user's own documents are read: nothing is sent to the web or the map."""
    stays_inside: NotRequired[bool]
    """Words asked for that: it holds on the thread until a question asks for other sources, too."""
    utc_offset: NotRequired[int | None]
    """The user's clock, of this question or of an earlier one on the thread."""
    zone: NotRequired[str]
    """Of the place that the question is about, by name; absent where none is known."""
    preferred: NotRequired[dict[str, Any]]
    """What was used of what the person prefers, by the names of a Person's fields."""
    outing: NotRequired[OutingWish]
    """What is wanted of a day over the places; absent where none is to be planned."""
    replans: NotRequired[list[str]]
    """The ids of the earlier places that the day is made of; only what comes in is searched."""
    map_helps: NotRequired[bool]
    """Whether the map is needed, in a model's word; absent where none has read the question."""
    paused_at: NotRequired[float]
    """Since when the plan waits for its review, as `started_at`; that time is not the run's."""
    paused_by: NotRequired[str]
    """The assistant whose plan waits."""


def answer_language(turn: Turn) -> str:
    """Return how prompts name the language that this turn's reader is written to in."""
    return turn.get("answer_language") or language_name(turn["language"])


def answer_tag(turn: Turn) -> str:
    """Return the tag of the language that this turn's reader is written to in."""
    return turn.get("tag") or reader_language(turn)


def reader_language(turn: Turn) -> Language:
    """Return the language of code's sentences in this turn's answer."""
    return turn.get("reader", turn["language"])


class PlannedQuery(Query):
    """A query that was sent out, with the round it ran in (from 1)."""

    round: int


class ShownPlace(TypedDict):
    """A place of an earlier answer, as its reader saw it."""

    id: str
    name: str
    number: int
    """On the map; 0 where it had none. In the list it has that of its place there."""
    listed: NotRequired[int]
    """Its number in the answer's own list, 0 if it is in none; absent where that has no numbers."""
    heading: NotRequired[str]
    """Above that list, where the answer has several."""


class EarlierTurn(TypedDict):
    """Hold what an answer before this turn showed."""

    question: str
    places: list[ShownPlace]
    """In its order."""
    cited: list[str]
    """Ids of `Previous.sources`."""
    zone: str
    """Of its places, by name; empty where it was about none."""


class Previous(TypedDict):
    """Hold what the last turns on this thread knew, under ids of this turn (`p0-0`).

    The last one leaves what it found, those before it what they showed.
    """

    sources: list[Source]
    places: list[Place]
    """Each once, those of the last answer first."""
    turns: NotRequired[list[EarlierTurn]]
    """The last three that showed anything, the newest first."""
    notes: NotRequired[list[str]]
    """Marked texts that cite `sources`: findings of a search, notes on a topic."""
    answer: NotRequired[str]
    """The id of the message that closed the turn; another one's evidence is read off itself."""
    near: NotRequired[Point | None]
    """Where its question was asked from."""
    utc_offset: NotRequired[int | None]
    """Of the user's clock, as the client told it last."""
    constraints: NotRequired[Constraints]
    """What its question demanded of a place."""
    outing: NotRequired[Outing]
    """The day that was planned last, as long as one of its places is known."""
    names: NotRequired[dict[str, str]]
    """Names of positions ("lng,lat", GCJ-02) that its calls of the map located."""


class Records(TypedDict, total=False):
    """Records that a turn or a part of it has looked up, and their cost."""

    sources_gathered: Annotated[list[Source], extend]
    places: Annotated[list[Place], extend]
    routes: Annotated[list[Route], extend]
    weather: Annotated[list[Weather], extend]
    places_rejected: Annotated[list[str], extend]
    """Names of places that were left out: outside the radius, or the city that was named."""
    gaps: Annotated[list[Gap], extend]
    usage: Annotated[Usage, add_usage]


class Gathered(Records, total=False):
    """The keys of a turn in all four assistants."""

    turn: Turn
    previous: Previous
    owner: str
    """Whose documents are read; settled at its start, as who continues a run may be another."""
    readable: list[str]
    """The collections this run may read, settled at its start; empty where it reads none."""
    queries: Annotated[list[PlannedQuery], extend]
    geojson: dict[str, Any] | None
    progress: Annotated[list[dict[str, Any]], extend]
    """The events of the turn so far, with their time; its answer's message keeps them."""
    cancelled: bool
    """The plan was reviewed and not wanted: nothing was searched."""
    wishes: Annotated[list[Wish], extend]
    """What the person asked for while the run went on, as far as it was taken up."""


NOTHING_GATHERED: dict[str, Any] = {
    **dict.fromkeys((*Records.__annotations__, "queries", "geojson", "progress", "wishes")),
    "cancelled": False,
}
"""An update that empties what the previous question gathered."""


Needs = Literal["place", "origin"]
"""What the user has to say first: where to search, or where a route begins."""


class OverallState(AgentInput, Gathered, total=False):
    """Everything the nodes share. The keys the original design names keep their names."""

    needs: Needs | None
    query_list: list[Query]
    search_query: Annotated[list[str], extend]
    web_research_result: Annotated[list[str], extend]
    amap_research_result: Annotated[list[str], extend]
    anchors: Annotated[list[Anchor], extend]
    """What was searched around on the map."""
    map_searched: Annotated[list[MapTask], extend]
    """What the map has answered, also by nothing: tasks, with the keywords that were searched."""
    search_entry_points: Annotated[list[str], extend]
    outing: Outing | None
    """The planned day, where one was wanted."""
    research_loop_count: int
    is_sufficient: bool | None
    knowledge_gap: str
    follow_up_queries: list[Query]
    number_of_ran_queries: int
    next_questions: list[str]
    """What the reader could ask next, in the language of the answer."""
    chosen_stops: list[str]
    """The ids of sources of the places that a model has chosen for the day, once all was found."""


class Update(OverallState, total=False):
    """The update a node returns."""


class CostRange(TypedDict):
    """USD: with no follow-up and short texts, to with every follow-up and long ones."""

    low: float
    high: float


class TimeRange(TypedDict):
    """Seconds: with short texts side by side, to with long ones one after the other."""

    low: float
    high: float


class Estimate(TypedDict):
    """A rough estimate of a plan; the counts are of the plan itself, without follow-ups."""

    searches: int
    """Web searches asked for; Google may execute more for one, which only the cost includes."""
    map_calls: int
    model_calls: int
    """The answer included."""
    cost_usd: CostRange | None
    """None where a price is unknown."""
    models_usd: NotRequired[CostRange]
    """What the models take of it, where that alone is known: a search's price is not."""
    seconds: NotRequired[TimeRange]
    limit_usd: NotRequired[float]
    """What the run spends at most before its answer is written, where that is limited."""
    own_only: NotRequired[bool]
    """Only the user's own documents are read; nothing outside is searched."""


class PlanShares(TypedDict):
    """Hold what the lines of a plan add to its estimate; a client renews it by them after edits."""

    lines: list[Estimate]
    own: Estimate
    """Of a line that a person adds."""


class PlanWords(TypedDict):
    """Say in the question's language what a plan holds beside its own texts."""

    maps: list[str]
    """The map task of each query; empty for one without."""
    estimate: str


class ActionRequest(TypedDict):
    """The action that a run asks leave for, in LangChain's human-in-the-loop form."""

    name: str
    args: dict[str, str]
    """The plan's part by its name, a line of text for each of its lines."""
    description: str


class ReviewConfig(TypedDict):
    """The decisions on an action that are taken, in LangChain's human-in-the-loop form."""

    action_name: str
    allowed_decisions: list[Literal["approve", "edit", "reject"]]


class PlanReview(TypedDict):
    """The plan that a run shows when it pauses for `review_plan`, under the key of its part."""

    queries: NotRequired[list[Query]]
    """Of `agent`."""
    topics: NotRequired[list[dict[str, Any]]]
    """Of `deep_research`: sections of the report."""
    tasks: NotRequired[list[dict[str, Any]]]
    """Of `plan_execute`."""
    steps: NotRequired[list[str]]
    """Of `team_answer`."""
    most: int
    """Lines at most."""
    estimate: Estimate
    shares: NotRequired[PlanShares]
    words: NotRequired[PlanWords]
    problem: NotRequired[str]
    """What was wrong with the answer before, in one line that names the field."""
    action_requests: NotRequired[list[ActionRequest]]
    review_configs: NotRequired[list[ReviewConfig]]
    """The same once more, for clients that speak LangChain's form."""


class ReviewedQuery(TypedDict):
    """A query as a person wants it; without a map task it goes to the web alone."""

    query: str
    map: NotRequired[MapTask | None]
    web: NotRequired[bool]
    """False: the map alone is asked, unless it finds nothing."""


class EditedAction(TypedDict):
    """A plan as it was edited, in LangChain's human-in-the-loop form."""

    name: str
    args: dict[str, Any]


class HumanDecision(TypedDict):
    """A person's decision, in LangChain's human-in-the-loop form."""

    type: Literal["approve", "edit", "reject"]
    edited_action: NotRequired[EditedAction]
    message: NotRequired[str]


class Reviewed(TypedDict, total=False):
    """The answer to a review: `cancel`, or LangChain's `decisions`, or the plan to go on with."""

    cancel: bool
    """Stop here; nothing is searched."""
    decisions: list[HumanDecision]


class ReviewedPlan(Reviewed, total=False):
    """The answer to a review of `agent`."""

    queries: list[ReviewedQuery]
    """1 to 10."""


class WebSearchState(TypedDict):
    """One web branch. `id` is the query's number within the turn."""

    search_query: str
    id: str
    turn: Turn
    spent: Usage


class DocumentSearchState(TypedDict):
    """The branch over own documents: one for all queries of a round."""

    queries: list[str]
    first: int
    """The number of the first query among those of the turn."""
    turn: Turn
    spent: Usage
    owner: str
    readable: list[str]


class AmapSearchState(TypedDict):
    """One map branch."""

    search_query: str
    id: str
    task: MapTask
    turn: Turn
    spent: Usage
    map_calls: int
    """This branch's share of the map calls that are left."""
    known: NotRequired[list[Place]]
    """Places of this turn's earlier rounds and of the answers before it."""


def new_turn() -> Update:
    """Empty everything that belongs to the previous question."""
    own = ("search_query", "web_research_result", "amap_research_result", "anchors",
           "map_searched", "search_entry_points", "is_sufficient", "needs", "outing")  # fmt: skip
    empty: dict[str, Any] = {**NOTHING_GATHERED, **dict.fromkeys(own), "knowledge_gap": ""}
    empty |= {"query_list": [], "follow_up_queries": [], "next_questions": []}
    empty |= {"chosen_stops": []}
    empty |= {"research_loop_count": 0, "number_of_ran_queries": 0}
    return cast(Update, empty)
