"""What clients of OpenAI's API send, in its own structure, with odd values in it."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agent.core.errors import InputError
from agent.server.openai_requests import ClientQuestion, read_chat, read_response
from tests.fuzz.odd import odd

_PARTS = [{"type": "text", "text": "What is"}, {"type": "input_text", "text": "WebRTC?"}]
_SAID = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Hello"},
    {"role": "assistant", "content": "<think>hm</think>Hello."},
    {"role": "user", "content": _PARTS},
]
_COMMON = {
    "model": "agent", "stream": True, "user": "anna", "tools": [{"type": "function"}],
    "tool_choice": "auto", "metadata": {"thread_id": "7b0e3fd3-6bbf-4b8e-9d3c-0f3a3f7f3b11"},
    "tanlu": {"answer_language": "en"},
}  # fmt: skip
CHAT = {
    **_COMMON, "messages": _SAID, "n": 1, "stream_options": {"include_usage": True},
    "reasoning_effort": "low", "response_format": {"type": "text"},
}  # fmt: skip
RESPONSE = {
    **_COMMON, "input": [*_SAID, {"type": "reasoning", "summary": []}], "background": False,
    "previous_response_id": "resp_1", "reasoning": {"effort": "high"}, "text": {"format": None},
}  # fmt: skip


def read(reader: Any, body: Any) -> ClientQuestion | None:
    """What is asked, or nothing: only an InputError of one line may be raised."""
    words = "one line"
    try:
        question: ClientQuestion = reader(body)
    except InputError as error:
        words, question = error.message, None  # type: ignore[assignment]
    assert "\n" not in words
    return question


@given(odd(CHAT))
def test_a_chat_is_read_or_refused_in_one_line(body: Any) -> None:
    if question := read(read_chat, body):
        assert all(isinstance(value, str) for value in question.metadata.values())
        assert {said.role for said in question.earlier} <= {"user", "assistant"}


@given(st.one_of(odd(RESPONSE), odd({**RESPONSE, "input": "What is WebRTC?"})))
def test_a_response_is_asked_for_or_refused_in_one_line(body: Any) -> None:
    if question := read(read_response, body):
        assert isinstance(question.question, str)
