"""Lines of an MCP client over stdio: each request is a message to the server, or has an answer."""

import json
from io import BytesIO
from typing import Any

import anyio
import pytest

from agent.server.mcp_endpoint import LONGEST_LINE, AnsweredLines


class Written:
    """What the client hears."""

    def __init__(self) -> None:
        self.text = ""

    async def write(self, text: str) -> None:
        self.text += text

    async def flush(self) -> None:
        pass

    @property
    def answers(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.text.splitlines()]


async def heard(*lines: bytes) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The messages that reach the server, and the answers to the other lines."""
    written: Any = Written()
    messages = AnsweredLines(BytesIO(b"\n".join(lines)), written)
    passed = [json.loads(message) async for message in messages]
    return passed, written.answers


def request(**fields: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 7, "method": "tools/call", **fields}).encode()


@pytest.mark.parametrize("params", [[], [1], 0, 5, "x", True, False])
async def test_params_that_are_no_object_are_answered_by_the_request_s_id(params: Any) -> None:
    passed, answers = await heard(request(params=params))
    assert passed == []
    assert [(each["id"], each["error"]["code"]) for each in answers] == [(7, -32602)]


@pytest.mark.parametrize("id", [None, 1.5, True, [], {}])
async def test_an_id_of_another_kind_is_answered_without_one(id: Any) -> None:
    passed, answers = await heard(request(id=id))
    assert (passed, [each["id"] for each in answers]) == ([], [None])


@pytest.mark.parametrize(
    "line",
    [b"{", b"[]", b"1", b'"x"', b"null", b"[" * 5000, b'{"a":' * 2000 + b"1" + b"}" * 2000,
     b"\xff\xfe", b"{" + b"x" * (LONGEST_LINE + 3), b"[" + request() + b"]"],
)  # fmt: skip
async def test_a_line_that_is_no_message_is_answered(line: bytes) -> None:
    passed, answers = await heard(line, request(id="next"))
    assert [each["id"] for each in passed] == ["next"]
    assert [each["id"] for each in answers] == [None]


async def test_another_version_of_the_protocol_is_answered_by_the_request_s_id() -> None:
    _, answers = await heard(request(jsonrpc="1.0"), request(id="a", method=5))
    assert [each["id"] for each in answers] == [7, "a"]


async def test_half_a_character_is_replaced_and_the_request_passes() -> None:
    line = rb'{"jsonrpc": "2.0", "id": 1, "method": "m", "params": {"question": "a\ud83d"}}'
    passed, answers = await heard(line, request(params=None), b"", request(params={}))
    assert passed[0]["params"] == {"question": "a\ufffd"}
    assert (len(passed), answers) == (3, [])


async def test_the_rest_of_a_line_that_is_too_long_is_no_line() -> None:
    async with anyio.create_task_group():
        passed, answers = await heard(b"x" * (3 * LONGEST_LINE + 1), request())
    assert (len(passed), len(answers)) == (1, 1)
