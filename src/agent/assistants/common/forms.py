"""Define what a model fills in where it reads a question, or judges what was found.

Each field costs tokens of every question: a description stands only where a name does not tell.
"""

from typing import Annotated, Literal, get_args

from pydantic import BaseModel, BeforeValidator, Field, ValidationInfo, field_validator
from pydantic.json_schema import SkipJsonSchema

from agent.evidence.types import PlaceKind, SortKey, Suits

Words = Annotated[str, BeforeValidator(lambda v: v if isinstance(v, str) else "")]
"""A text that a model may leave out, or give as something else: then it is empty."""


class PlannedMap(BaseModel):
    """The help of the map for a query, as `prompts/_map_task.md` tells it to all who write one."""

    intent: Literal["nearby", "area", "poi", "route", "distance", "weather", "regeo"]
    place: str | None = None
    city: str | None = None
    country: str | None = None
    keywords: list[str] = Field(default_factory=list)
    radius_m: int | None = None
    origin: str | None = None
    destination: str | None = None
    mode: Literal["walking", "driving", "no_motorway", "no_toll", "bicycling", "transit"] | None = (
        None
    )
    via: list[str] = Field(default_factory=list)
    any_order: bool = False
    wishes: list[str] = Field(default_factory=list)
    depart_at: str | None = None
    arrive_by: str | None = None
    open_at: str | None = None
    open_on: list[int] = Field(default_factory=list)
    suits: list[str] = Field(default_factory=list)
    max_cost: float | None = None


class WrittenQuery(BaseModel):
    query: str
    map: PlannedMap | None = None
    web: bool = True


class PlannedConstraints(BaseModel):
    """The demands of the question on a place, without what it does not demand."""

    max_cost: float | None = Field(None, description="Yuan a person or night")
    min_cost: float | None = None
    total_cost: float | None = None
    people: int | None = None
    min_rating: float | None = None
    free: bool | None = None
    open_at: str | None = None
    open_until: str | None = None
    open_on: list[int] = Field(default_factory=list, description="1 Monday")
    not_on: list[int] = Field(default_factory=list)
    max_distance_m: int | None = None
    max_walk_m: int | None = None
    max_walk_min: int | None = None
    suits: list[Suits] = Field(default_factory=list)
    kind: PlaceKind | None = None
    without: list[str] = Field(default_factory=list, description="ruled out")
    other: list[str] = Field(default_factory=list)
    wished: list[str] = Field(default_factory=list, description="only preferred")
    sort_by: SortKey | None = None

    @field_validator("suits", "kind", "sort_by", mode="before")
    @classmethod
    def _drop_unknown(cls, value: object, info: ValidationInfo) -> object:
        """Leave out words of a model's own: they are no reason to ask again."""
        if info.field_name != "suits":
            known = get_args(PlaceKind if info.field_name == "kind" else SortKey)
            return value if value in known else None
        words = value if isinstance(value, list) else []
        return [each for each in words if each in get_args(Suits)]


class PlannedChange(BaseModel):
    """What is to change of one stop."""

    stop: str = Field("", description="or lunch, dinner")
    change: str = Field("", description="earlier, later, leave_out, add, replace")
    time: str | None = None


class PlannedDay(BaseModel):
    """A day over several places that is to be planned, or the planned one changed."""

    begins: str | None = Field(None, description="HH:MM; part of a day: both")
    back_by: str | None = None
    stops: int | None = Field(None, description="meals apart")
    on_foot: bool = False
    little_walking: bool = False
    sets_out: bool = Field(False, description="leaving home")
    from_place: Words = ""
    to_place: Words = ""
    order: list[str] = Field([], description="keywords, names, lunch")
    any_order: bool = Field(False, description="none said")
    meals: list[str] = []
    changes: list[PlannedChange] = []


Names = Annotated[
    str, BeforeValidator(lambda v: " ".join(map(str, v)) if isinstance(v, list) else str(v or ""))
]


class NamesLanguage(BaseModel):
    """What a plan says of the language of its answer."""

    language: Names = Field(
        "", description="Tag, with the script, of what the answer is to be written in."
    )


class SearchQueryList(BaseModel):
    """The question as it stands alone, and the queries for it; none where none are needed."""

    question: str = ""
    language: str = ""
    constraints: PlannedConstraints | None = None
    day: str | None = Field(None, description="weekday, ISO date")
    outing: PlannedDay | None = None
    only_own_documents: Names = ""
    preferred: Names = ""
    needs: str = ""
    needs_search: bool = True
    reply: str = ""
    query: list[WrittenQuery]
    rationale: SkipJsonSchema[str] = ""  # taken where a model gives one, not asked for


class Reflection(BaseModel):
    """The verdict over what was found."""

    is_sufficient: bool
    knowledge_gap: str = ""
    follow_up_queries: list[WrittenQuery] = Field(default_factory=list)
    next_questions: list[str] = Field(default_factory=list)


class WebQuery(WrittenQuery):
    """A query where the map is not offered."""

    map: SkipJsonSchema[PlannedMap | None] = None
    web: SkipJsonSchema[bool] = True


class WebReflection(Reflection):
    """The same verdict where only the web can be asked for more."""

    follow_up_queries: list[WebQuery] = Field(default_factory=list)  # type: ignore[assignment]


class ReflectionOnDay(Reflection):
    """The same of a day that is to be planned: who reads all that was found chooses its stops."""

    stops: list[str] = Field(
        [], description="IDs (a0-1) of the best for each stop and meal, more where hours are left"
    )
