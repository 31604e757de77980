"""Whether the server's tools are the ones this code was written for."""

import functools
import hashlib
import json
from importlib.resources import files
from typing import Any

from mcp.types import Tool


def _read() -> tuple[dict[str, Any], ...]:
    text = files("agent.mcp").joinpath("amap", "tools.json").read_text("utf-8")
    return tuple(json.loads(text))


# Read when imported: later there may be an event loop, which must not wait for files.
_EXPECTED = _read()


def expected_tools() -> tuple[dict[str, Any], ...]:
    """Name, description and input schema of each tool of the pinned server."""
    return _EXPECTED


def schema_hash(schema: dict[str, Any]) -> str:
    """The same for equal schemas; descriptions do not count, for a model reads only ours."""
    plain = {
        "type": schema.get("type"),
        "required": sorted(schema.get("required") or ()),
        "properties": {
            name: field.get("type") for name, field in (schema.get("properties") or {}).items()
        },
    }
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()[:16]


@functools.cache
def expected_hashes() -> dict[str, str]:
    return {tool["name"]: schema_hash(tool["inputSchema"]) for tool in expected_tools()}


def contract_problem(tools: list[Tool]) -> str | None:
    """What differs from the expected catalogue, in one line; None if nothing does."""
    expected = expected_hashes()
    # A promised form of replies would be checked by the library, whose errors have no type.
    found = {tool.name: tool.outputSchema or schema_hash(tool.inputSchema) for tool in tools}
    differences = {
        "missing": sorted(expected.keys() - found.keys()),
        "unknown": sorted(found.keys() - expected.keys()),
        "changed": sorted(n for n in expected if n in found and found[n] != expected[n]),
    }
    named = [f"{kind} {', '.join(names)[:200]}" for kind, names in differences.items() if names]
    if not named:
        return None
    return f"the map server's tools are not the expected ones: {'; '.join(named)}"
