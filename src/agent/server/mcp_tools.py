"""Offer each assistant as a tool, with a small input made from its graph's schemas."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from string import ascii_letters, digits
from typing import Any, Final, cast

from langgraph_sdk.client import LangGraphClient
from mcp.types import CallToolResult, TextContent, Tool, ToolAnnotations
from pydantic import BaseModel, Field

from agent.assistants.common.conversation import MAX_QUESTION
from agent.assistants.registry import ASSISTANTS, schemas_of
from agent.client.follow import max_run_seconds
from agent.client.run_result import RunResult
from agent.core.redaction import scrub
from agent.core.strings import one_line
from agent.evidence.records import maps_of, owners
from agent.evidence.types import Outing, Place
from agent.export.finished import by_mention
from agent.texts import say


class AnswerSource(BaseModel):
    number: int = Field(description="As cited in the answer: [number](url).")
    title: str
    url: str
    quotes: list[str] = Field(description="The sentences it supports.")


class AnswerPoint(BaseModel):
    lng: float
    lat: float


class AnswerVerdict(BaseModel):
    constraint: str = Field(description="What the question demands: max_cost, open_at, indoor, …")
    verdict: str = Field(description="satisfied, violated or unknown.")
    field: str = Field(description="The field of the record that says so, or that would.")
    text: str = Field(description="The same for a reader, in the answer's language.")


class AnswerPlace(BaseModel):
    name: str
    address: str | None = None
    category: str | None = None
    gcj02: AnswerPoint | None = Field(
        None, description="Degrees, as Chinese maps draw them; of places in China only."
    )
    wgs84: AnswerPoint = Field(description="Degrees, as GPS and GeoJSON have them.")
    distance_m: int | None = Field(None, description="Straight line, metres, from distance_from.")
    distance_from: str | None = None
    rating: float | None = None
    cost: float | None = Field(None, description="Per person, in currency.")
    currency: str | None = Field(None, description="Of cost, ISO 4217.")
    open_time: str | None = None
    zone: str | None = Field(None, description="Time zone of open_time.")
    attribution: str = Field("", description="Whose data it is; to be shown with it.")
    url: str
    mentioned: bool = Field(description="Whether the answer names it.")
    verdicts: list[AnswerVerdict] = Field(
        default_factory=list, description="Whether it meets what the question demands."
    )


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
    """Hold the structured content of a result."""

    answer: str = Field(description="Markdown with citations [number](url), sources and gaps.")
    final_answer: str | None = Field(
        None, description="The bare answer, of assistants that find one; empty where none holds."
    )
    answered: bool | None = Field(None, description="Whether final_answer was found.")
    verified: bool | None = Field(None, description="Whether the verifier agreed with it.")
    sources: list[AnswerSource] = Field(description="What the answer cites.")
    places: list[AnswerPlace] = Field(description="What the map knows; those named come first.")
    outing: Outing | None = Field(
        None, description="The planned day: its stops in order, the ways, what has no room."
    )
    gaps: list[AnswerGap] = Field(description="What could not be found out, and why.")
    usage: AnswerUsage
    thread_id: str = Field(description="Send it with a follow-up question.")
    degraded: bool = Field(description="Whether no model could write the answer as it should be.")
    needs: str | None = Field(
        None, description="'place': ask again and say where; 'origin': from where."
    )
    sample: bool = Field(description="Whether it rests on bundled sample data, not on the world.")


@cache
def output_schema() -> dict[str, Any]:
    """Return the JSON Schema of a result's structured content."""
    return Answer.model_json_schema()


def tool_result(outcome: RunResult) -> CallToolResult:
    """Return the result of a tool call that has an answer."""
    answer = Answer(
        answer=outcome.answer,
        final_answer=outcome.final_answer,
        answered=outcome.answered,
        verified=outcome.verified,
        sources=_sources(outcome.sources),
        places=[_place(place) for place in by_mention(outcome.places)],
        outing=outcome.further.get("outing"),
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


def error_result(reason: str) -> CallToolResult:
    """Return the result of a call without one: one line that says why, without any key."""
    line = one_line(scrub(reason))
    return CallToolResult(content=[TextContent(type="text", text=line)], isError=True)


def _sources(sources: Sequence[Mapping[str, Any]]) -> list[AnswerSource]:
    cited = [source for source in sources if source.get("number")]
    ordered = sorted(cited, key=lambda source: int(source["number"]))
    return [AnswerSource.model_validate(source) for source in ordered]


def _place(place: Mapping[str, Any]) -> AnswerPlace:
    known = cast(Place, place)
    in_china, priced = known["location"]["crs"] == "GCJ-02", known["cost"] is not None
    own = {
        "gcj02": known["location"] if in_china else None,
        "currency": known.get("currency", "CNY") if priced else None,
        "zone": known.get("zone", "Asia/Shanghai"),
        "attribution": say("records.attribution", "en", maps=owners(maps_of([known]), "en")),
    }
    return AnswerPlace.model_validate({**place, **own})


_INPUT = (
    *("user_location", "format_requirement", "collections"),
    *("initial_search_query_count", "max_research_loops"),
)
_CONTEXT = ("answer_language", "search_since", "search_sites")
"""What a caller may send besides the question, where the assistant's graph takes it."""
_PLANS_DAYS = "agent"
"""The graph that puts places in the order of a day; the others' settings name that, too."""
_MOST_TOOLS = 100
NOT_ASSISTANTS: Final = frozenset({"search", "fetch"})
"""Names of tools besides, by which some clients know what they ask for."""
_LONGEST_DESCRIPTION = 1000
_IN_NAMES = frozenset(f"{ascii_letters}{digits}_-")
_OWN: Final[dict[str, dict[str, Any]]] = {
    "question": {
        "type": "string",
        "minLength": 1,
        "maxLength": MAX_QUESTION,
        "description": "What is to be found out, in any language, in full sentences.",
    },
    "thread_id": {
        "type": "string",
        "format": "uuid",
        "description": "Of an earlier result: the question follows up on it. Left out: a new one.",
    },
}


@dataclass(frozen=True)
class AssistantTool:
    """Hold an assistant as a tool; `context` are the arguments that are settings of the run."""

    tool: Tool
    assistant_id: str
    graph_id: str
    context: frozenset[str]
    run_seconds: float
    """How long a run may take there."""


class ToolList:
    """List the tools; another graph's schemas are asked for once, until its assistant changes."""

    def __init__(self) -> None:
        self._asking = asyncio.Lock()
        self._schemas: dict[tuple[str, str], Mapping[str, Any]] = {}

    async def tools(self, client: LangGraphClient) -> dict[str, AssistantTool]:
        """Return tools by name; the server's own assistants come first and keep their names."""
        assistants: Sequence[Mapping[str, Any]] = await client.assistants.search(limit=_MOST_TOOLS)
        tools: dict[str, AssistantTool] = {}
        for assistant in sorted(assistants, key=_order):
            name = "".join(filter(_IN_NAMES.__contains__, assistant["name"]))[:64]
            if not name or name in tools or name in NOT_ASSISTANTS:
                name = f"{assistant['graph_id']}-{assistant['assistant_id'][:8]}"
            tools[name] = assistant_tool(name, assistant, await self._of(client, assistant))
        return tools

    async def _of(self, client: LangGraphClient, assistant: Mapping[str, Any]) -> Mapping[str, Any]:
        # The server makes those of the whole state too, a quarter of a second on its event loop.
        if assistant["graph_id"] in ASSISTANTS:
            return schemas_of(assistant["graph_id"])
        key = (assistant["assistant_id"], str(assistant["updated_at"]))
        async with self._asking:  # once, however many come first
            if key not in self._schemas:
                schemas = await client.assistants.get_schemas(assistant["assistant_id"])
                self._schemas = {k: v for k, v in self._schemas.items() if k[0] != key[0]}
                self._schemas[key] = schemas
            return self._schemas[key]


def load_own() -> None:
    """Make the schemas of the server's own assistants, which every first call needs."""
    output_schema()
    for assistant in ASSISTANTS:
        schemas_of(assistant)


def _order(assistant: Mapping[str, Any]) -> tuple[bool, int, str]:
    """Sort the server's own first, as they are registered: the quick and cheap one leads."""
    own = (assistant.get("metadata") or {}).get("created_by") == "system"
    names = list(ASSISTANTS)
    graph = assistant["graph_id"]
    place = names.index(graph) if own and graph in names else len(names)
    return not own, place, str(assistant["created_at"])


def assistant_tool(
    name: str, assistant: Mapping[str, Any], schemas: Mapping[str, Any]
) -> AssistantTool:
    """Return an assistant as a tool; `schemas` are its graph's of input and context."""
    taken = _taken(schemas.get("input_schema"), _INPUT)
    plans_days = assistant["graph_id"] == _PLANS_DAYS
    settings = _taken(
        schemas.get("context_schema"), (*_CONTEXT, "outing") if plans_days else _CONTEXT
    )
    tool = Tool(
        name=name,
        title=name.replace("_", " ").capitalize(),
        description=_description(assistant),
        inputSchema={
            "type": "object",
            "properties": {**_OWN, **taken, **settings},
            "required": ["question"],
            "additionalProperties": False,
        },
        outputSchema=output_schema(),
        annotations=ToolAnnotations(
            readOnlyHint=True, destructiveHint=False, idempotentHint=False, openWorldHint=True
        ),
    )
    seconds = max_run_seconds({}, schemas.get("context_schema") or {})
    return AssistantTool(
        tool, assistant["assistant_id"], assistant["graph_id"], frozenset(settings), seconds
    )


def _description(assistant: Mapping[str, Any]) -> str:
    """Describe in a tool's words: here the question is an argument, not a message."""
    text = str(assistant.get("description") or f"Asks the assistant {assistant['graph_id']}.")
    text = text.replace("the question as the last message", "the question as `question`")
    return one_line(text, longest=_LONGEST_DESCRIPTION)


def _taken(schema: Mapping[str, Any] | None, names: Sequence[str]) -> dict[str, Any]:
    properties = (schema or {}).get("properties") or {}
    return {name: _plain(properties[name], schema or {}) for name in names if name in properties}


def _plain(rule: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the rule without references, null and titles, as every client understands it."""
    if reference := rule.get("$ref"):
        definition = (schema.get("$defs") or {}).get(str(reference).rsplit("/", 1)[-1], {})
        rule = {**definition, **{key: value for key, value in rule.items() if key != "$ref"}}
    plain = {k: v for k, v in rule.items() if k not in ("title", "default", "anyOf", "$defs")}
    for choice in rule.get("anyOf", []):
        if choice.get("type") != "null":
            plain = {**_plain(choice, schema), **plain}
    if isinstance(items := plain.get("items"), Mapping):
        plain["items"] = _plain(items, schema)
    if isinstance(inner := plain.get("properties"), Mapping):
        plain["properties"] = {name: _plain(part, schema) for name, part in inner.items()}
    return plain
