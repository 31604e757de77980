"""Answers and reports of models that think aloud, wrap their text, or repeat their prompt."""

from dataclasses import replace
from typing import Any

import pytest

from agent.sample.model.request import Model, ModelReply, ModelTurn
from agent.sample.model.text import task_of
from agent.texts import say
from tests.support.deep_lab import ZH as DEEP_ZH
from tests.support.deep_lab import Researcher, deep_laboratory, report
from tests.support.lab import EN, Lab, answer_of, laboratory, told

THOUGHT = "Let me see what [^w0-0] says. It is plain. " + "I shall write it down. " * 9


class Habit:
    """A model whose texts are changed on their way."""

    def __init__(self, model: Model, change: Any, task: str = "") -> None:
        self._model, self._change, self._task = model, change, task

    def respond(self, turn: ModelTurn) -> ModelReply:
        answer = self._model.respond(turn)
        if answer.text is None or (self._task and task_of(turn) != self._task):
            return answer
        return replace(answer, text=self._change(answer.text, turn))


async def streamed(lab: Lab) -> tuple[str, dict[str, Any]]:
    """Return the text as it was streamed, and the state after the run."""
    text, state = "", dict[str, Any]()
    config: Any = {"configurable": {"thread_id": "t"}}
    question: Any = {"messages": EN}
    async for mode, part in lab.graph.astream(question, config, stream_mode=["messages", "values"]):
        if mode == "values":
            state = part
        else:
            text += str(part[0].text)
    return text, state


@pytest.mark.parametrize(
    "change",
    [
        lambda text, turn: f"<think>{THOUGHT}</think>\n\n{text}",
        lambda text, turn: f"{THOUGHT}\n</think>\n\n{text}",
        lambda text, turn: f"```markdown\n{text}\n```",
        lambda text, turn: f"<question>\n{EN}\n</question>\n{text}",
    ],
    ids=["tags", "closing tag only", "fence", "echo"],
)
async def test_an_answer_is_the_same_whatever_a_model_puts_around_it(change: Any) -> None:
    async with laboratory() as lab:
        plain = await lab.ask(EN)
    async with laboratory() as lab:
        lab.gemini.model = Habit(lab.gemini.model, change)
        state = await lab.ask(EN)
    assert answer_of(state).text == answer_of(plain).text
    assert told(state)["checks"]["claims"] == told(plain)["checks"]["claims"]
    assert told(state)["sources"] == told(plain)["sources"]
    assert not told(state)["degraded"]
    assert "It is plain" not in str(state["web_research_result"]) + str(state["previous"])


async def test_a_thought_that_nobody_could_foresee_is_taken_back_where_it_was_streamed() -> None:
    async with laboratory() as lab:
        model = lab.gemini.model
        lab.gemini.model = Habit(model, lambda text, turn: f"{THOUGHT}\n</think>\n{text}", "answer")
        text, state = await streamed(lab)
        assert "It is plain" in text
        assert "It is plain" not in answer_of(state).text
        again, state = await streamed(lab)
    assert "It is plain" not in again, "once it is known, the text waits"
    assert told(state)["sources"]


async def test_a_model_that_repeats_its_prompt_twice_is_called_too_weak() -> None:
    def repeats(text: str, turn: ModelTurn) -> str:
        return "<question>\n<question>\n"

    async with laboratory() as lab:
        lab.gemini.model = Habit(lab.gemini.model, repeats)
        state = await lab.ask(EN)
    codes = [gap["code"] for gap in told(state)["gaps"]]
    assert codes.count("model_weak") == 1
    assert say("gaps.model_weak", "en") in answer_of(state).text
    assert "<question>" not in answer_of(state).text


async def test_a_report_in_a_fence_is_cited_as_one_without() -> None:
    def fenced(turn: ModelTurn) -> ModelReply:
        return ModelReply(text=f"```markdown\n{report(turn).text}\n```")

    async with deep_laboratory(Researcher("成本", deep_report=fenced)) as lab:
        state = await lab.ask(DEEP_ZH)
    assert told(state)["checks"]["cited"] > 0
    assert not told(state)["degraded"]
    assert "[^" not in answer_of(state).text
