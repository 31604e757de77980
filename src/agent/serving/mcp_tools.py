"""The server's assistants as tools: one each, with a small input made from its graph's schemas."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from langgraph_sdk.client import LangGraphClient
from mcp.types import Tool, ToolAnnotations

from agent.lines import one_line
from agent.nodes.conversation import MAX_QUESTION
from agent.serving.mcp_answer import output_schema

_INPUT = (
    *("user_location", "format_requirement", "collections"),
    *("initial_search_query_count", "max_research_loops"),
)
_CONTEXT = ("answer_language",)
"""What a caller may send besides the question, where the assistant's graph takes it."""
_MOST_TOOLS = 100
_LONGEST_DESCRIPTION = 1000
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
_OWN: Final[dict[str, dict[str, Any]]] = {
    "question": {
        "type": "string",
        "minLength": 1,
        "maxLength": MAX_QUESTION,
        "description": "What is to be found out, in Chinese or English, in full sentences.",
    },
    "thread_id": {
        "type": "string",
        "format": "uuid",
        "description": "Of an earlier result: the question follows up on it. Left out: a new one.",
    },
}


@dataclass(frozen=True)
class Offered:
    """An assistant as a tool; `context` are the arguments that are settings of the run."""

    tool: Tool
    assistant_id: str
    graph_id: str
    context: frozenset[str]


class Catalogue:
    """The tools there are; an assistant's schemas are asked for once, until it changes."""

    def __init__(self) -> None:
        self._schemas: dict[tuple[str, str], Mapping[str, Any]] = {}

    async def offered(self, client: LangGraphClient) -> dict[str, Offered]:
        """By name; the server's own assistants come first and keep their names."""
        assistants: Sequence[Mapping[str, Any]] = await client.assistants.search(limit=_MOST_TOOLS)
        found: dict[str, Offered] = {}
        for assistant in sorted(assistants, key=_order):
            name = _NOT_IN_NAMES.sub("", assistant["name"])[:64]
            if not name or name in found:
                name = f"{assistant['graph_id']}-{assistant['assistant_id'][:8]}"
            found[name] = _offered(name, assistant, await self._of(client, assistant))
        return found

    async def _of(self, client: LangGraphClient, assistant: Mapping[str, Any]) -> Mapping[str, Any]:
        key = (assistant["assistant_id"], str(assistant["updated_at"]))
        if key not in self._schemas:
            schemas = await client.assistants.get_schemas(assistant["assistant_id"])
            self._schemas = {k: v for k, v in self._schemas.items() if k[0] != key[0]}
            self._schemas[key] = schemas
        return self._schemas[key]


def _order(assistant: Mapping[str, Any]) -> tuple[bool, str]:
    own = (assistant.get("metadata") or {}).get("created_by") == "system"
    return not own, str(assistant["created_at"])


def _offered(name: str, assistant: Mapping[str, Any], schemas: Mapping[str, Any]) -> Offered:
    taken = _taken(schemas.get("input_schema"), _INPUT)
    settings = _taken(schemas.get("context_schema"), _CONTEXT)
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
    return Offered(tool, assistant["assistant_id"], assistant["graph_id"], frozenset(settings))


def _description(assistant: Mapping[str, Any]) -> str:
    """In a tool's words: here the question is an argument, not a message."""
    said = str(assistant.get("description") or f"Asks the assistant {assistant['graph_id']}.")
    said = said.replace("the question as the last message", "the question as `question`")
    return one_line(said, longest=_LONGEST_DESCRIPTION)


def _taken(schema: Mapping[str, Any] | None, names: Sequence[str]) -> dict[str, Any]:
    given = (schema or {}).get("properties") or {}
    return {name: _plain(given[name], schema or {}) for name in names if name in given}


def _plain(rule: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """The rule without references, null and titles: what clients of every kind understand."""
    if reference := rule.get("$ref"):
        found = (schema.get("$defs") or {}).get(str(reference).rsplit("/", 1)[-1], {})
        rule = {**found, **{key: value for key, value in rule.items() if key != "$ref"}}
    plain = {k: v for k, v in rule.items() if k not in ("title", "default", "anyOf", "$defs")}
    for choice in rule.get("anyOf", []):
        if choice.get("type") != "null":
            plain = {**_plain(choice, schema), **plain}
    if isinstance(items := plain.get("items"), Mapping):
        plain["items"] = _plain(items, schema)
    if isinstance(inner := plain.get("properties"), Mapping):
        plain["properties"] = {name: _plain(part, schema) for name, part in inner.items()}
    return plain
