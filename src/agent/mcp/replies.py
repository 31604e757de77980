"""What a call of the map server says: one text block of JSON, `[]` where a value is empty."""

from typing import Any

from mcp.types import CallToolResult, TextContent

from agent.errors import MalformedReply
from agent.strings import parse_json

LARGEST = 1 << 20
"""Characters of one reply."""
_LISTS = frozenset(
    {
        "return", "pois", "forecasts", "results", "paths", "steps", "transits", "segments",
        "buslines", "via_stops", "keywords", "ciytes", "photos",
    }
)  # fmt: skip


def text_of(result: CallToolResult) -> str:
    """All text blocks together."""
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


def parsed(text: str) -> dict[str, Any]:
    """The reply without empties; raises MalformedReply (`map_malformed`, `map_too_large`)."""
    if len(text) > LARGEST:
        raise MalformedReply(
            "amap", f"a reply of {len(text)} characters is too large", code="map_too_large"
        )
    try:
        reply = parse_json(text)
    except ValueError:
        reply = None
    if not isinstance(reply, dict):
        raise MalformedReply("amap", "the reply is no JSON object", code="map_malformed")
    cleaned: dict[str, Any] = without_empties(reply)
    return cleaned


def without_empties(value: Any, key: str = "") -> Any:
    """`[]` and blank text become None, except where the field is a list."""
    if isinstance(value, dict):
        return {name: without_empties(inner, name) for name, inner in value.items()}
    if isinstance(value, list):
        if not value:
            return [] if key in _LISTS else None
        return [without_empties(inner) for inner in value]
    if isinstance(value, str) and not value.strip():
        return None
    return value


def records(reply: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """The objects of a list field; [] where it is missing or something else."""
    found = reply.get(name)
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []
