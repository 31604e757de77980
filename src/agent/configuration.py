"""Define what may differ from run to run: the context schema of every assistant."""

import os
import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta, timezone
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError

from agent.core.errors import ConfigurationError
from agent.texts.languages import TAG

MODEL_FIELDS = ("query_generator_model", "research_model", "reflection_model", "answer_model")

# The limits of a run; every assistant has its own defaults for them.
Searches = Annotated[int, Field(ge=0, le=1000, description="Executed web searches per run.")]
ModelCalls = Annotated[int, Field(ge=1, le=1000, description="Model calls per run.")]
MapCalls = Annotated[int, Field(ge=0, le=500, description="Map calls per run.")]
RunTokens = Annotated[
    int, Field(ge=1000, le=100_000_000, description="Prompt and output tokens per run.")
]
ContextTokens = Annotated[
    int,
    Field(
        ge=8000,
        le=1_000_000,
        description="Estimated tokens of a prompt, in deep research, a team and a dossier; fewer"
        " where a model's window holds fewer.",
    ),
]
PageReads = Annotated[
    int,
    Field(
        ge=0,
        le=200,
        description="Pages read in a run: those of hits that searches open, and by read_page.",
    ),
]
ParallelReads = Annotated[int, Field(ge=1, le=30, description="Topics or pages read at once.")]
RunDollars = Annotated[
    float,
    Field(
        ge=0,
        le=10_000,
        description="US dollars per run by list prices, the answer besides; 0 is no limit.",
    ),
]
RunSeconds = Annotated[
    float, Field(ge=1, le=86_400, description="Wall clock seconds per run, the answer included.")
]

_SINCE = ("", "day", "week", "month", "year")
_FIRST_ZONE = timezone(timedelta(hours=14))
"""Where each day begins first."""
_SITE = r"-?(?:\*\.|[\w-]+\.)(?:[\w-]+\.)*[\w-]{2,}"
_SITES = re.compile(rf"(?:{_SITE}(?:,\s*{_SITE}){{0,19}})?")
_SCORABLE = "(?:wikipedia|openalex|semantic_scholar|tavily|sec_edgar|akshare)"


class Configuration(BaseModel):
    """Hold the per-run knobs; each field's environment name is the field in capitals.

    No secrets.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    NODES: ClassVar[Mapping[str, Sequence[str]]] = {}
    """The nodes of an assistant that read a setting, where Studio shows it.

    Those that every node reads (`OF_A_RUN`) hang on none.
    """
    MAP_CALLS_KEPT: ClassVar[int] = 0
    """Of the map's calls, those for what the review of a long text looks up."""

    # Models.
    query_generator_model: str = Field(
        "gemini-3.5-flash-lite", description="Writes the search queries. provider:model or model."
    )
    research_model: str = Field(
        "gemini-3.5-flash-lite", description="Searches the web and works with the map's tools."
    )
    reflection_model: str = Field(
        "gemini-3.8-flash", description="Judges the findings and asks follow-up queries."
    )
    answer_model: str = Field("gemini-3.8-flash", description="Writes the answer.")
    lead_model: str = Field(
        "", description="Leads a deep research; the answer's model where that is empty."
    )
    judge_model: str = Field(
        "", description="Judges the answer's statements; the answer's model where that is empty."
    )

    # What is read.
    collections: str = Field(
        "",
        max_length=2000,
        description="Own documents to read where the question names none: names parted by commas.",
    )
    sources: Literal["all", "own"] = Field(
        "all", description="own: nothing is searched but your own documents."
    )
    own_token_limit: int = Field(
        100_000,
        ge=2000,
        le=1_000_000,
        description="Estimated tokens of own documents that the writer is given whole.",
    )
    web_search: Literal["auto", "google", "tavily", "serper", "bocha", "off"] = Field(
        "auto", description="Which web search serves; auto picks what is configured."
    )
    search_since: str = Field(
        "",
        description="How new web pages have to be: day, week, month, year or an ISO date.",
    )
    search_sites: str = Field(
        "",
        max_length=1000,
        description="Web sites to search alone, or with a minus not at all: a.org,*.gov,-b.com.",
    )

    # The map.
    geo_routing: Literal["llm", "rules", "always", "never"] = Field(
        "llm", description="Who decides that a query needs the map."
    )
    map_keywords: int = Field(3, ge=1, le=3, description="Keywords searched around a place.")
    map_details: int = Field(
        2, ge=0, le=10, description="Places looked up before a model sees them."
    )
    map_more_details: int = Field(
        2, ge=0, le=20, description="Further places looked up once the model has what it asked for."
    )
    map_rounds: int = Field(3, ge=0, le=10, description="Rounds of map tools a model may call.")

    # How it is researched.
    review_plan: bool = Field(False, description="Pause before searching to review the plan.")
    number_of_initial_queries: int = Field(
        3, ge=1, le=10, description="Queries written for the question."
    )
    max_research_loops: int = Field(2, ge=1, le=10, description="Rounds of searching at most.")
    max_follow_up_queries: int = Field(
        3, ge=0, le=10, description="Follow-up queries a reflection may ask for."
    )
    max_topics: int = Field(10, ge=1, le=30, description="Topics of a deep research.")
    max_exploration_rounds: int = Field(
        40, ge=2, le=200, description="Model calls that explore, in deep research."
    )
    small_topic_tokens: int = Field(
        6000,
        ge=0,
        le=20_000,
        description="A topic whose pages have fewer tokens, or fewer pages than one for each 300 of"
        " them, gets no notes by a model: the report is written from their passages.",
    )
    max_group_chat_rounds: int = Field(
        20, ge=1, le=100, description="Turns of a team's discussion."
    )
    max_tool_rounds: int = Field(
        4, ge=0, le=20, description="Rounds of tools within one turn of a discussion."
    )
    chat_engine: Literal["native", "autogen"] = Field(
        "native", description="What runs a team's turns; autogen needs the extra tanlu[autogen]."
    )
    chair: Literal["rules", "model"] = Field(
        "rules", description="Who chooses a team's next speaker: rules in code, or a model."
    )
    plan_mode: Literal["flat", "dag"] = Field(
        "flat", description="Whether a plan's tasks may depend on each other (dag)."
    )
    max_tasks: int = Field(6, ge=1, le=30, description="Tasks of a plan.")
    max_executors: int = Field(4, ge=1, le=30, description="Tasks worked on at once.")
    max_executor_rounds: int = Field(
        3, ge=0, le=20, description="Rounds of optional tools within one task."
    )
    max_downloads: int = Field(3, ge=0, le=30, description="Papers downloaded for one task.")
    max_task_pages: int = Field(
        5, ge=0, le=10, description="Web pages of one task that are read whole, in a dossier."
    )
    rerank_sources: str = Field(
        "openalex,semantic_scholar",
        pattern=rf"^(?:none|{_SCORABLE}(?:, ?{_SCORABLE})*)$",
        description="Sources whose documents are scored and cut in a dossier: wikipedia, openalex,"
        " semantic_scholar, tavily (the web), sec_edgar, akshare; or none.",
    )
    rerank_top_n: int = Field(8, ge=1, le=100, description="Papers kept of one task, best first.")
    rerank_threshold: float = Field(
        0.1, ge=0, le=1, description="Papers scored below are dropped; 1 is the best possible."
    )
    max_passages: int = Field(
        40,
        ge=0,
        le=200,
        description="Passages of documents shown to the writer, and as many of web pages.",
    )

    # The answer.
    answer_language: str = Field(
        "auto",
        pattern=rf"^(auto|{TAG.pattern})$",
        description="Language of the answer, such as zh, zh-Hant, en or ja; auto: the question's.",
    )
    outing: Literal["auto", "on", "off"] = Field(
        "auto",
        description="Order the places into a day: auto where the question asks for one, on, off.",
    )
    early_answer: bool = Field(
        True, description="Begin the answer while the findings are judged; else only after that."
    )
    claim_check: bool = Field(
        True, description="Have a model compare what the answer states with its sources."
    )
    claim_seconds: float = Field(
        0,
        ge=0,
        le=600,
        description="Seconds a reader waits for the judge after the text; 0: 6, of a model that"
        " thinks 15, on a server of one's own 60.",
    )
    resolve_links: bool = Field(
        True, description="Resolve Google's redirect links of cited sources after the answer."
    )

    # Limits.
    answer_now: bool = Field(
        False, description="Answer from what was found so far; nothing more is looked up."
    )
    max_searches: Searches = 30
    max_model_calls: ModelCalls = 40
    max_map_calls: MapCalls = 30
    max_page_reads: PageReads = 20
    max_parallel_reads: ParallelReads = 5
    max_run_tokens: RunTokens = 400_000
    max_run_dollars: RunDollars = 0
    max_run_seconds: RunSeconds = 300
    context_token_limit: ContextTokens = 48_000
    max_previous_bytes: int = Field(
        30_000,
        ge=0,
        le=200_000,
        description="Of evidence and notes that a thread keeps for the next question on it.",
    )

    def __init__(self, **values: Any) -> None:
        """Raise ConfigurationError, so that a client of a server, too, reads one line."""
        try:
            super().__init__(**values)
        except ValidationError as error:
            # What nobody gave comes from the environment.
            raise ConfigurationError.of(
                error, lambda name: name if name in values else name.upper()
            ) from None

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Show an assistant's own settings alone; the others are taken, and nobody reads them."""
        schema = handler(core_schema)
        told = handler.resolve_ref_schema(schema)
        if cls.NODES:
            shown = told["properties"].items()
            told["properties"] = {k: v for k, v in shown if k in cls.NODES or k not in OF_SOME}
        for name, nodes in cls.NODES.items():
            told["properties"][name]["langgraph_nodes"] = list(nodes)
        return schema

    @model_validator(mode="before")
    @classmethod
    def _fill_from_environment(cls, data: Any) -> Any:
        if not isinstance(data, Mapping):
            return data
        values = {k: v for k, v in data.items() if v is not None and v != ""}
        for name in cls.model_fields:
            if name not in values and (value := _from_environment(name)):
                values[name] = value
        return values

    @field_validator("search_since")
    @classmethod
    def _check_since(cls, value: str) -> str:
        if value[:1].isdigit():
            _check_day(value)
        elif value not in _SINCE:
            raise PydanticCustomError(
                "search_since", "must be day, week, month, year or a date such as 2026-01-31"
            )
        return value

    @field_validator("search_sites")
    @classmethod
    def _check_sites(cls, value: str) -> str:
        if not _SITES.fullmatch(value):
            raise PydanticCustomError(
                "search_sites", "must be domains such as a.org, *.gov or -b.com, 20 at most"
            )
        return value

    @field_validator("*", mode="before")
    @classmethod
    def _refuse_booleans_as_numbers(cls, value: Any, info: ValidationInfo) -> Any:
        kind = cls.model_fields[info.field_name or ""].annotation
        if isinstance(value, bool) and kind in (int, float):
            raise ValueError("must be a number, not true or false")
        return value


OF_SOME = frozenset({
    "lead_model", "map_keywords", "map_rounds", "number_of_initial_queries", "max_research_loops",
    "max_follow_up_queries", "max_topics", "max_exploration_rounds", "small_topic_tokens",
    "max_group_chat_rounds", "max_tool_rounds", "chat_engine", "chair", "plan_mode", "max_tasks",
    "max_executors", "max_executor_rounds", "max_downloads", "max_task_pages", "rerank_sources",
    "rerank_top_n", "rerank_threshold", "max_passages", "outing", "early_answer",
    "max_page_reads", "max_parallel_reads",
})  # fmt: skip
"""The settings that not every assistant reads."""
OF_A_RUN = frozenset({
    "answer_language", "context_token_limit", "max_searches", "max_model_calls", "max_map_calls",
    "max_run_tokens", "max_run_dollars", "max_run_seconds", "answer_now",
})  # fmt: skip
"""The settings that no node of its own reads: they are those of a whole run."""


def at_nodes(
    own: Mapping[str, Sequence[str]],
    *,
    begin: str,
    search: Sequence[str],
    maps: Sequence[str],
    write: str,
) -> Mapping[str, Sequence[str]]:
    """Return an assistant's settings with the nodes of those that all assistants read alike."""
    at_begin = ("collections", "sources")
    of_search = ("web_search", "search_since", "search_sites")
    of_maps = ("geo_routing", "map_details", "map_more_details")
    at_end = (
        "answer_model", "judge_model", "claim_check", "claim_seconds", "resolve_links",
        "own_token_limit", "max_previous_bytes",
    )  # fmt: skip
    return {
        "review_plan": ("review_plan",),
        **dict.fromkeys(at_begin, (begin,)),
        **dict.fromkeys(of_search, search),
        **dict.fromkeys(of_maps, maps),
        **dict.fromkeys(at_end, (write,)),
        **own,
    }


def _check_day(value: str) -> None:
    """Raise ValueError for what is no day of the calendar, or still to come everywhere."""
    try:
        day = date.fromisoformat(value)
    except ValueError:
        day = None
    if day is None or day.isoformat() != value:
        raise PydanticCustomError("no_day", "must be a day of the calendar, such as 2026-01-31")
    if day > datetime.now(_FIRST_ZONE).date():
        raise PydanticCustomError("in_the_future", "must not be in the future")


def _from_environment(name: str) -> str | None:
    value = os.environ.get(name.upper())
    if not value and name in MODEL_FIELDS:
        value = os.environ.get("TANLU_MODEL")
    return value or None


def configure(values: Mapping[str, Any]) -> Configuration:
    """Return a Configuration, or a ConfigurationError whose one line names the field."""
    return Configuration(**values)
