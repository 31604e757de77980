"""A follow-up starts from what the last turn knew, in every assistant."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from agent.evidence.types import Source
from agent.sample.model.request import FunctionCall, ModelReply, ModelTurn
from agent.sample.model.text import block
from tests.integration.team_lab import Team, gives, team_laboratory
from tests.integration.test_question_kept import Spoken, plan
from tests.support.deep_lab import Researcher, deep_laboratory
from tests.support.lab import Lab, answer_of, laboratory, told

pytestmark = pytest.mark.node
WRITTEN = plan({"query": "sodium-ion batteries"}, question="How do sodium-ion batteries work?")
NOTHING_TO_SEARCH = ModelReply(json={"question": "And how cold?", "query": []})


@pytest.fixture
async def lab() -> AsyncIterator[Lab]:
    async with laboratory() as built:
        yield built


def opens(page: str) -> FunctionCall:
    return FunctionCall("read_page", {"url": page, "looking_for": "成本"})


def uncited(state: dict[str, Any]) -> Source:
    """A page of a turn, with its words, that the answer did not cite."""
    cited = {source["url"] for source in told(state)["sources"]}
    pages = [s for s in state["sources_gathered"] if s["url"] not in cited and s["quotes"]]
    source: Source = pages[0]
    return source


async def test_what_the_first_answer_left_out_is_cited_by_the_second_without_a_search(
    lab: Lab,
) -> None:
    answers = [ModelReply(text="Nothing was found on this.")]
    llm = Spoken(generate_query=[WRITTEN, NOTHING_TO_SEARCH], answer=answers)
    lab.gemini.llm = llm
    first = await lab.ask("How do sodium-ion batteries work?")
    page = uncited(first)
    left: dict[str, Any] = first["previous"]
    assert len(json.dumps(left, ensure_ascii=False).encode()) <= 30_000
    (name,) = [s["id"] for s in left["sources"] if s["url"] == page["url"]]
    answers[:] = [ModelReply(text=f"{page['quotes'][0]}[^{name}]")]
    second = await lab.ask("And how cold?")
    assert f"[^{name}]" in block(llm.prompts("answer")[1], "previous_sources")
    assert [s["url"] for s in told(second)["sources"]] == [page["url"]]
    assert second["queries"] == []


async def test_an_answer_that_found_nothing_leaves_the_places_of_the_one_before(lab: Lab) -> None:
    first = await lab.ask("西湖附近的酒店")
    nothing = plan({"query": "qqq"}, question="没有人知道的事是什么")
    lab.gemini.llm = Spoken(generate_query=[nothing], answer=[ModelReply(text="没有查到。")])
    second = await lab.ask("没有人知道的事是什么")
    assert not told(second)["sources"]
    places = [place["id"] for place in second["previous"]["places"]]
    assert places == [place["id"] for place in first["previous"]["places"]] != []
    shown = {source["id"] for source in second["previous"]["sources"]}
    assert {place["source"] for place in second["previous"]["places"]} <= shown


async def test_nothing_is_carried_where_the_setting_says_so(lab: Lab) -> None:
    lab.gemini.llm = Spoken(generate_query=[WRITTEN])
    state = await lab.ask("How do sodium-ion batteries work?", context={"max_previous_bytes": 0})
    assert (state["previous"]["sources"], state["previous"]["notes"]) == ([], [])


async def test_a_report_s_notes_are_known_to_the_next_exploration_and_its_report() -> None:
    async with deep_laboratory(Researcher("成本")) as lab:
        first = await lab.ask()
        note = first["previous"]["notes"][0]
        assert note.startswith("## 成本")
        await lab.ask("那么安全呢？")
        # The second turn finds the same pages again: one id a page.
        for task, marker in (("deep_explore", "[^w"), ("deep_report", "[^w")):
            shown = block(lab.llm.asked(task)[-1].user, "previous")
            assert "## 成本" in shown
            assert marker in shown
        assert "[^p" not in shown


async def test_a_team_opens_a_page_of_its_last_answer_by_id_and_by_address() -> None:
    async with team_laboratory(Team()) as lab:
        first = await lab.ask()
        page = next(s for s in first["previous"]["sources"] if s["kind"] == "page")

        def researcher(turn: ModelTurn) -> ModelReply:
            if turn.tool_results:
                return ModelReply(text="答案是1987年[^p0-0]。")
            return ModelReply(calls=(opens(page["id"]), opens(page["url"])))

        lab.llm.rules["team_researcher"] = researcher
        lab.llm.rules["team_verifier"] = gives(evidence=["p0-0"], explanation="见[^p0-0]。")
        await lab.ask("那一页还说了什么？")
        results = [t.tool_results for t in lab.llm.asked("team_researcher") if t.tool_results][-1]
    assert ["没有出现过这个地址" in result.text for result in results] == [False, False]


async def test_a_team_is_shown_what_it_read_before_and_may_settle_on_it() -> None:
    settle = gives(
        evidence=["p0-0"],
        looked_at=["p0-0"],
        quotes=["1987年9月1日通车"],
        explanation="大桥于1987年9月1日通车[^p0-0]。",
    )
    async with team_laboratory(Team()) as lab:
        first = await lab.ask()
        assert len(first["previous"]["sources"]) > len(told(first)["sources"])
        lab.llm.rules["team_verifier"] = settle
        second = await lab.ask("再确认一下是哪一年？")
        shown = block(lab.llm.asked("team_researcher")[-1].user, "previous")
        assert "通车" in shown
        assert "[^p0-0]" in shown
        assert (second["final_answer"], second["verified"]) == ("1987年", True)
        assert "1987年9月1日通车[1]" in str(answer_of(second).text)
