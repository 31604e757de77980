"""What a tool of `/mcp` answers: the Markdown for people, and the same as checked structure."""

from collections.abc import Mapping, Sequence
from typing import Any

from mcp.types import CallToolResult, TextContent
from pydantic import BaseModel, Field

from agent.export.finished import by_mention
from agent.lines import one_line
from agent.outcome import Outcome
from agent.redaction import scrub


class AnswerSource(BaseModel):
    number: int = Field(description="As cited in the answer: [number](url).")
    title: str
    url: str
    quotes: list[str] = Field(description="The sentences it supports.")


class AnswerPoint(BaseModel):
    lng: float
    lat: float


class AnswerPlace(BaseModel):
    name: str
    address: str | None = None
    category: str | None = None
    gcj02: AnswerPoint = Field(description="Degrees, as Chinese maps draw them.")
    wgs84: AnswerPoint = Field(description="Degrees, as GPS and GeoJSON have them.")
    distance_m: int | None = Field(None, description="Straight line, metres, from distance_from.")
    distance_from: str | None = None
    rating: float | None = None
    cost: float | None = Field(None, description="Yuan per person.")
    open_time: str | None = None
    url: str
    mentioned: bool = Field(description="Whether the answer names it.")


class AnswerGap(BaseModel):
    query: str
    provider: str
    code: str
    message: str


class AnswerUsage(BaseModel):
    model_calls: int
    input_tokens: int
    output_tokens: int
    searches: int
    map_calls: int
    seconds: float
    cost_usd: float | None = None


class Answer(BaseModel):
    """The structured content of a result."""

    answer: str = Field(description="Markdown with citations [number](url), sources and gaps.")
    final_answer: str | None = Field(
        None, description="The bare answer, of assistants that find one; empty where none holds."
    )
    answered: bool | None = Field(None, description="Whether final_answer was found.")
    verified: bool | None = Field(None, description="Whether the verifier agreed with it.")
    sources: list[AnswerSource] = Field(description="What the answer cites.")
    places: list[AnswerPlace] = Field(description="What the map knows; those named come first.")
    gaps: list[AnswerGap] = Field(description="What could not be found out, and why.")
    usage: AnswerUsage
    thread_id: str = Field(description="Send it with a follow-up question.")
    degraded: bool = Field(description="Whether no model could write the answer as it should be.")
    needs: str | None = Field(None, description="'place': ask again and say where.")
    sample: bool = Field(description="Whether it rests on bundled sample data, not on the world.")


def output_schema() -> dict[str, Any]:
    """The JSON Schema of a result's structured content."""
    return Answer.model_json_schema()


def result_of(outcome: Outcome) -> CallToolResult:
    """The result of a tool call that has an answer."""
    answer = Answer(
        answer=outcome.answer,
        final_answer=outcome.final_answer,
        answered=outcome.answered,
        verified=outcome.verified,
        sources=_sources(outcome.sources),
        places=[_place(place) for place in by_mention(outcome.places)],
        gaps=[AnswerGap.model_validate(gap) for gap in outcome.gaps],
        usage=AnswerUsage.model_validate(outcome.usage),
        thread_id=outcome.thread_id,
        degraded=outcome.degraded,
        needs=outcome.needs,
        sample=outcome.mode == "offline",
    )
    return CallToolResult(
        content=[TextContent(type="text", text=outcome.answer)],
        structuredContent=answer.model_dump(mode="json", exclude_none=True),
    )


def refused(reason: str) -> CallToolResult:
    """The result of a call that has none: one line that says why, without any key."""
    line = one_line(scrub(reason))
    return CallToolResult(content=[TextContent(type="text", text=line)], isError=True)


def _sources(sources: Sequence[Mapping[str, Any]]) -> list[AnswerSource]:
    cited = [source for source in sources if source.get("number")]
    ordered = sorted(cited, key=lambda source: int(source["number"]))
    return [AnswerSource.model_validate(source) for source in ordered]


def _place(place: Mapping[str, Any]) -> AnswerPlace:
    return AnswerPlace.model_validate({**place, "gcj02": place["location"]})
