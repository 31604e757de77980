"""What goes out to Gemini: what its own library would send, spelled as the service's reference."""

import re
from collections.abc import Mapping
from typing import Any

import pytest
from google.genai import Client, _common, models, types
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from agent.models.google import Gemini
from agent.models.google_wire import body_of

PARAMETERS = {
    "type": "object",
    "properties": {
        "where": {"type": "string", "enum": ["here", "there"]},
        "often": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
    },
    "required": ["where"],
}
TOOL = {"name": "look", "description": "Look.", "parameters": PARAMETERS}
SEARCH = {"time_range_filter": {"start_time": "2026-01-01T00:00:00Z"}}
CALL = {"name": "look", "args": {"where": "here", "often": None}, "id": "1"}
MESSAGES = [
    SystemMessage("Be brief."),
    HumanMessage("Look here."),
    AIMessage("", tool_calls=[CALL]),
    ToolMessage("Nothing.", tool_call_id="1", name="look"),
    HumanMessage("And there?"),
]  # fmt: skip


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"tools": [TOOL]},
        {"tools": [{"google_search": SEARCH}]},
        {
            "response_mime_type": "application/json",
            "response_json_schema": {"type": "object", "properties": {"a_b": {"default": None}}},
            "max_output_tokens": 50,
        },
    ],
)
def test_a_body_says_what_the_library_would_send(options: dict[str, Any]) -> None:
    client = Client(api_key="x")
    model = Gemini(model="gemini-3.5-flash", client=client, google_api_key="x", vertexai=False,
                   thinking_level="low", longest_body=10)  # fmt: skip
    request = model._prepare_request(MESSAGES, **options)
    asked = types._GenerateContentParameters(**request)
    api: Any = client._api_client
    sent = models._GenerateContentParameters_to_mldev(api, asked, None, asked)
    theirs = _common.encode_unserializable_types(_common.convert_to_dict(sent))
    for own in ("_url", "config"):
        theirs.pop(own, None)
    assert spelled(body_of(request["contents"], request["config"])) == spelled(theirs)


def spelled(value: Any) -> Any:
    """Return a value with names and times in one of the spellings that the service takes."""
    if isinstance(value, Mapping):
        return {re.sub(r"_(\w)", lambda m: m[1].upper(), k): spelled(v) for k, v in value.items()}
    if isinstance(value, list):
        return [spelled(each) for each in value]
    return value.replace("+00:00", "Z") if isinstance(value, str) else value
