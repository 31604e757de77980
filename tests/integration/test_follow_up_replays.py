"""Two chains of questions, replayed with replies as a language model wrote them to our prompts.

Ids and names are mapped to those of the prompt at hand; the plans are what was played by hand.
"""

import re
from collections.abc import AsyncIterator

import pytest

from agent.sample.model.request import ModelReply, ModelTurn
from agent.sample.model.text import block, record_lines, task_of
from tests.integration.test_question_kept import Spoken, nearby, plan
from tests.support.lab import Lab, laboratory, told

pytestmark = pytest.mark.node
_SECOND = re.compile(r"/ 2\. \*\*(.+?)\*\*")


class Playing(Spoken):
    """Lists the places it is shown from the last to the first, and reads “the second” off that."""

    def respond(self, turn: ModelTurn) -> ModelReply:
        reply = super().respond(turn)
        shown = record_lines(block(turn.user, "places"))
        if task_of(turn) == "answer" and shown:
            rows = [f"{n}. **{p.name}** [^{p.id}]" for n, p in enumerate(reversed(shown), 1)]
            return ModelReply(text="\n".join(["可以这样安排：", *rows]))
        second = _SECOND.search(block(turn.user, "conversation"))
        if second and task_of(turn) == "generate_query" and "第二个" in turn.user:
            question = f"{second[1]}附近有停车场吗"
            return plan(nearby(second[1], "停车场", city="杭州"), question=question)
        return reply


@pytest.fixture
async def lab() -> AsyncIterator[Lab]:
    async with laboratory() as built:
        yield built


async def test_the_second_sight_is_the_second_that_the_last_answer_lists(lab: Lab) -> None:
    """雷峰塔, the second line of the records, was answered about; the list had another one."""
    written = plan(nearby("西湖", "景点", "公园", city="杭州", radius_m=5000))
    llm = Playing(generate_query=[written])
    lab.gemini.llm = llm
    state = await lab.ask("西湖有哪些值得去的景点")
    shown = [place.name for place in record_lines(block(llm.prompts("answer")[0], "places"))]
    listed = shown[::-1]
    assert listed[1] != shown[1], "or this proves nothing"
    assert [place["name"] for place in told(state)["places"][:4]] == listed[:4]

    state = await lab.ask("第二个景点附近有停车场吗")
    prompt = llm.prompts("generate_query")[1]
    assert [place.name for place in record_lines(block(prompt, "previous_places"))][:4] == listed[
        :4
    ]
    assert state["turn"]["question"] == f"{listed[1]}附近有停车场吗"
    assert state["queries"][0]["map"]["place"] == listed[1]
    asked = llm.prompts("answer")[1]
    assert block(asked, "question") == f"{listed[1]}附近有停车场吗"
    assert block(asked, "asked_as") == "第二个景点附近有停车场吗"
    assert all(listed[1] in (place["distance_from"] or "") for place in state["places"])


async def test_a_budget_that_a_cheaper_follow_up_does_not_repeat_carries_on(lab: Lab) -> None:
    demands = {"max_cost": 100, "kind": "restaurant"}
    llm = Playing(
        generate_query=[
            plan(
                nearby("上海迪士尼度假区", "餐厅", "小吃", "美食", city="上海", radius_m=3000),
                constraints=demands,
            ),
            plan(
                nearby("上海迪士尼乐园", "快餐", "便利店", "小吃", city="上海", radius_m=1000),
                question="上海迪士尼乐园大门附近有什么更便宜的吃的",
                constraints=demands,
            ),
        ]
    )
    lab.gemini.llm = llm
    await lab.ask("上海迪士尼附近有什么好吃的，人均100以内")
    state = await lab.ask("再便宜一点的呢，要离园区大门近")
    assert state["turn"]["constraints"] == demands
    asked = llm.prompts("answer")[1]
    marks = ["不符合" in line for line in block(asked, "places").splitlines()]
    assert True in marks
    assert False in marks
    assert marks == sorted(marks)
    verdicts = {place["name"]: place["verdicts"] for place in told(state)["places"]}
    assert all(verdicts.values())
