"""What was streamed and is no answer is taken back from who shows the stream, at once."""

from typing import Any

import pytest

from agent.sample.model.request import ModelReply
from tests.integration.test_question_kept import scripted
from tests.support.lab import Lab, answer_of, laboratory

pytestmark = pytest.mark.node
EN = "When was the Palace Museum in Beijing founded?"
THOUGHT = "The user wants the year. The findings have it, so I shall give it.\n" * 3
CIRCLES = "It was founded long ago, as everyone knows by now.\n"


async def shown(lab: Lab, model: str) -> tuple[str, list[dict[str, Any]], str]:
    """What a client has shown at the end, the events that took text back, and what is stored."""
    text, withdrawn = "", list[dict[str, Any]]()
    thread: Any = {"configurable": {"thread_id": "w"}}
    given: Any = {"messages": EN, "reasoning_model": model}
    async for mode, data in lab.graph.astream(given, thread, stream_mode=["custom", "messages"]):
        if mode == "messages" and isinstance(data, tuple):
            text += str(data[0].text)
        elif isinstance(data, dict) and data.get("type") == "withdrawn":
            withdrawn.append(data)
            text = data["text"]
    state = await lab.graph.aget_state(thread)
    return text, withdrawn, str(answer_of(state.values).text)


async def test_a_thought_without_its_opening_tag_is_taken_back_when_its_end_is_seen() -> None:
    answer = "It was founded in 1925[^w0-0]."
    async with laboratory() as lab:
        scripted(lab, answer=[ModelReply(text=f"{THOUGHT}</think>\n\n{answer}")])
        text, withdrawn, stored = await shown(lab, "gemini-3.5-flash")
    assert [event["node"] for event in withdrawn] == ["finalize_answer"]
    assert "The user wants" not in text
    assert "1925" in text
    assert "The user wants" not in stored
    assert text.startswith(withdrawn[0]["text"])


async def test_a_text_without_thoughts_is_never_taken_back() -> None:
    async with laboratory() as lab:
        scripted(lab, answer=[ModelReply(text="It was founded in 1925[^w0-0].")])
        text, withdrawn, stored = await shown(lab, "gemini-3.5-flash")
    assert withdrawn == []
    assert stored.startswith(text.split("\n\n")[0])


async def test_a_text_in_circles_is_taken_back_but_for_its_first_round() -> None:
    async with laboratory() as lab:
        scripted(lab, answer=[ModelReply(text=CIRCLES * 200)])
        text, withdrawn, stored = await shown(lab, "gemini-3.5-flash")
    assert withdrawn
    assert text.count(CIRCLES.strip()) == stored.count(CIRCLES.strip()) == 1
