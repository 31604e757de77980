"""Pictures and files that come with a question: nobody reads them, and that is said."""

from typing import Any

import pytest

from agent.core.errors import InputError
from agent.texts import say
from tests.integration.team_lab import Team, team_laboratory
from tests.support.deep_lab import Researcher, deep_laboratory
from tests.support.lab import answer_of, laboratory, told
from tests.support.plan_lab import Planner, plan_laboratory

pytestmark = pytest.mark.node
PIXEL = "iVBORw0KGgo="
BLOCKS: dict[str, dict[str, Any]] = {
    "image_url": {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}},
    "image": {"type": "image", "source_type": "base64", "mime_type": "image/png", "data": PIXEL},
    "file": {"type": "file", "mime_type": "application/pdf", "base64": PIXEL, "name": "a.pdf"},
}
SAID = say("documents.gaps.attachments_unread", "zh", count=1)


def question(text: str, *blocks: str) -> list[dict[str, Any]]:
    words = [{"type": "text", "text": text}] if text else []
    return [{"role": "user", "content": [*words, *(BLOCKS[name] for name in blocks)]}]


@pytest.mark.parametrize("name", list(BLOCKS))
async def test_what_comes_with_a_question_and_is_not_read_is_said(name: str) -> None:
    async with laboratory() as lab:
        state = await lab.ask(question("王府井附近适合遛娃的好去处", name))
    assert [gap["code"] for gap in told(state)["gaps"]][:1] == ["attachments_unread"]
    assert SAID in str(answer_of(state).text)


@pytest.mark.parametrize(
    "laboratory_of",
    [
        lambda: team_laboratory(Team()),
        lambda: deep_laboratory(Researcher("成本")),
        lambda: plan_laboratory(Planner({"query": "钠离子电池 正极"})),
    ],
    ids=["team_answer", "deep_research", "plan_execute"],
)
async def test_the_long_assistants_say_it_too(laboratory_of: Any) -> None:
    async with laboratory_of() as lab:
        state = await lab.ask(question("钠离子电池的正极材料有哪些？", "file"))
    assert SAID in [gap["message"] for gap in told(state)["gaps"]]
    assert SAID in str(answer_of(state).text)


async def test_words_alone_have_no_such_gap() -> None:
    async with laboratory() as lab:
        state = await lab.ask(question("王府井附近适合遛娃的好去处"))
    assert SAID not in str(answer_of(state).text)


@pytest.mark.parametrize("name", list(BLOCKS))
async def test_a_picture_alone_is_answered_with_what_to_do(name: str) -> None:
    async with laboratory() as lab:
        with pytest.raises(InputError, match="Attachments are not read") as refused:
            await lab.ask(question("", name))
    assert refused.value.fault == "attachments_only"
