"""Members and services that misbehave: each discussion ends within its limits, with an answer or
an honest none, and says what happened.
"""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from agent.core.errors import NothingFound
from agent.sample.model.request import ModelReply, ModelTurn
from agent.sample.model.text import block
from agent.texts import say
from tests.integration.faults import at, refuse_tools
from tests.integration.team_lab import (
    ENGINES,
    ZH,
    Team,
    agrees,
    bocha,
    gives,
    google,
    looks_then,
    offers,
    says,
    shown_ids,
    team_laboratory,
)
from tests.support.lab import answer_of, told
from tests.support.long_lab import Rule

pytestmark = pytest.mark.parametrize("engine", ENGINES)
DISAGREES = "证据不足。\nVERDICT: DISAGREE"


def keeps_looking() -> Rule:
    """Look for something new at each turn, then disagree."""
    count = iter(range(1000))

    def rule(turn: ModelTurn) -> ModelReply:
        if not turn.tool_results and turn.tools:
            return ModelReply(calls=(google(f"青岚大桥 通车 第{next(count)}种说法"),))
        return ModelReply(text=DISAGREES)

    return rule


async def discussed(llm: Team, engine: str, **context: Any) -> dict[str, Any]:
    async with team_laboratory(llm, engine=engine) as lab:
        return await lab.ask(**context)


def codes(state: dict[str, Any]) -> list[str]:
    return [gap["code"] for gap in told(state)["gaps"]]


def speakers(state: dict[str, Any]) -> list[str]:
    return [turn["speaker"] for turn in state["transcript"]]


def honest_none(state: dict[str, Any]) -> bool:
    return state["final_answer"] == "" and told(state)["answered"] is False


@pytest.mark.parametrize(
    ("text", "told_so"),
    [
        ("大家继续讨论。", "没有点出"),
        ("analyst 或 verifier 都可以", "不止一位：analyst, verifier"),
        ("the user", "没有点出"),
    ],
)
async def test_a_choice_of_nobody_or_two_is_asked_again_twice_then_the_next_in_turn_speaks(
    engine: str, text: str, told_so: str
) -> None:
    llm = Team(team_select=says(text))
    state = await discussed(llm, engine, chair="model")
    assert speakers(state) == ["researcher", "analyst", "verifier"]
    asked = llm.asked("team_select")
    assert len(asked) == 2 * 3
    assert block(asked[0].user, "candidates")
    assert told_so in asked[1].user
    assert "analyst, verifier, researcher" in asked[1].user
    assert [past.text for past in asked[2].history if past.role == "model"] == [text] * 2
    assert state["final_answer"] == "1987年"


async def test_a_choice_put_right_when_asked_again_counts(engine: str) -> None:
    llm = Team(team_select=says("随便", "verifier"))
    state = await discussed(llm, engine, chair="model")
    assert speakers(state) == ["researcher", "verifier"]
    assert len(llm.asked("team_select")) == 2


async def test_a_speaker_named_for_ever_has_two_turns_in_a_row_and_everybody_speaks(
    engine: str,
) -> None:
    llm = Team(team_select=says("researcher"), team_verifier=keeps_looking())
    state = await discussed(llm, engine, chair="model", max_group_chat_rounds=9)
    spoke = speakers(state)
    assert spoke[:3] == ["researcher", "researcher", "analyst"]
    assert not [n for n in range(7) if len(set(spoke[n : n + 3])) == 1]
    assert set(spoke) == {"researcher", "analyst", "verifier"}
    not_now = [turn for turn in llm.asked("team_select") if "轮不到 researcher" in turn.user]
    assert not_now
    assert state["ended"] == "rounds"


def always_calls(*, then: str = "") -> Rule:
    """Calls a tool as long as it is offered any; then says something, or calls on."""
    count = iter(range(1000))

    def rule(turn: ModelTurn) -> ModelReply:
        if turn.tools or not then:
            return ModelReply(calls=(google(f"青岚大桥 第{next(count)}种说法"),))
        return ModelReply(text=then)

    return rule


async def test_a_speaker_that_always_calls_tools_is_asked_without_them(engine: str) -> None:
    llm = Team(team_researcher=always_calls(then="青岚大桥1987年通车[^s0-0]。"))
    state = await discussed(llm, engine, max_tool_rounds=3)
    assert len(state["transcript"][0]["tools"]) == 3
    offered = [bool(turn.tools) for turn in llm.asked("team_researcher")]
    assert offered == [True, True, True, False]
    last = llm.asked("team_researcher")[-1]
    assert "不能再用工具" in block(last.user, "reminder")
    assert state["final_answer"] == "1987年"


async def test_one_that_calls_tools_even_then_ends_the_discussion(
    engine: str, tmp_path: Path
) -> None:
    llm = Team(team_researcher=always_calls())
    async with team_laboratory(llm, engine=engine, reply_cache=tmp_path) as lab:
        state = await lab.ask(max_tool_rounds=2)
    assert state["ended"] == "failures"
    assert speakers(state) == []
    # The reply cache's reply is not taken for the next one.
    assert len(llm.asked("team_researcher")) == 2 + 3
    assert codes(state).count("chat_model_failed") == codes(state).count("chat_failures") == 1
    assert len(state["evidence_pool"]) == 2
    # What the searches brought is still there to answer from.
    assert state["final_answer"] == "1987年"
    assert (told(state)["verified"], told(state)["degraded"]) == (False, True)


async def test_one_that_comes_round_after_a_reminder_goes_on(engine: str, tmp_path: Path) -> None:
    def rule(turn: ModelTurn) -> ModelReply:
        if turn.tools or "第 1 次" not in block(turn.user, "reminder"):
            return ModelReply(calls=(google("青岚大桥"),))
        return ModelReply(text="青岚大桥1987年通车[^s0-0]。")

    llm = Team(team_researcher=rule)
    async with team_laboratory(llm, engine=engine, reply_cache=tmp_path) as lab:
        state = await lab.ask(max_tool_rounds=1)
    assert state["ended"] == "terminated"
    assert state["final_answer"] == "1987年"


async def test_without_any_round_of_tools_nobody_is_offered_one(engine: str) -> None:
    llm = Team()
    state = await discussed(llm, engine, max_tool_rounds=0)
    assert {tool.name for turn in llm.turns for tool in turn.tools} == {"verdict"}
    assert speakers(state) == ["researcher", "verifier"]
    assert honest_none(state)


async def test_a_speaker_that_says_nothing_ends_the_discussion(engine: str) -> None:
    state = await discussed(Team(team_verifier=says("")), engine)
    assert state["ended"] == "failures"
    assert speakers(state) == ["researcher"]
    assert codes(state) == ["chat_model_failed", "chat_failures"]


@pytest.mark.parametrize("where", ["question", "sentence", "quoted"])
async def test_terminate_that_no_speaker_means_ends_nothing(engine: str, where: str) -> None:
    text = {"quoted": "页面写着：\nTERMINATE\n这是页面的话。", "sentence": "不要 TERMINATE 讨论。"}
    llm = Team(team_researcher=looks_then(text.get(where, "再查[^s0-0]。")))
    async with team_laboratory(llm, engine=engine) as lab:
        state = await lab.ask(f"{ZH}\nTERMINATE" if where == "question" else ZH)
    assert speakers(state) == ["researcher", "verifier"]
    assert state["ended"] == "terminated"


async def test_terminate_of_another_than_the_verifier_ends_nothing(engine: str) -> None:
    llm = Team(team_researcher=looks_then("查不到。\nTERMINATE"))
    state = await discussed(llm, engine)
    assert speakers(state) == ["researcher", "verifier"]


AGREES = says("看来对。\nVERDICT: AGREE 1987年\nTERMINATE")


@pytest.mark.parametrize(
    ("rule", "lacks"),
    [
        (AGREES, "refutation"),
        (gives(refuted_by=""), "refutation"),
        (gives(looked_at=["somewhere"]), "refutation"),
        (gives(quotes=[]), "quotes"),
        (gives(quotes=["通车于1987年9月"]), "quotes"),
        (gives(answer="1988年"), "figures"),
        (gives(answer="1200", quotes=["1987年"], evidence=["s0-0"]), "quotes"),
    ],
)
async def test_an_agreement_without_its_proof_is_asked_for_it_once_and_verifies_nothing(
    engine: str, rule: Rule, lacks: str
) -> None:
    answer = {"outcome": "answer", "answer": "1987年", "evidence": ["s0-0"]}
    llm = Team(team_verifier=rule, team_synthesize=lambda turn: ModelReply(json=answer))
    state = await discussed(llm, engine)
    assert len(llm.asked("team_verifier")) == 2
    assert speakers(state) == ["researcher", "verifier"]
    assert told(state)["verified"] is False
    assert state["unverified_reason"] == (
        "unverified_" + (lacks if lacks != "figures" else "other")
    )


async def test_a_verdict_whose_proof_is_given_when_asked_verifies(engine: str) -> None:
    given = iter([gives(quotes=["通车于1986年"]), gives()])
    state = await discussed(Team(team_verifier=lambda turn: next(given)(turn)), engine)
    assert speakers(state) == ["researcher", "verifier"]
    assert told(state)["verified"] is True


async def test_a_verdict_beside_other_calls_waits_for_their_results(engine: str) -> None:
    def hasty(turn: ModelTurn) -> ModelReply:
        own = agrees(turn, "1987年")
        return ModelReply(calls=(own,) if turn.tool_results else (google("青岚大桥 改建"), own))

    llm = Team(team_verifier=hasty)
    state = await discussed(llm, engine)
    assert len(llm.asked("team_verifier")) == 2
    assert [note["asked"] for note in state["transcript"][1]["tools"]] == ["青岚大桥 改建"]
    assert told(state)["verified"] is True


async def test_what_both_only_remember_goes_back_to_be_looked_up_once(engine: str) -> None:
    def careless(turn: ModelTurn) -> ModelReply:
        if "凭记忆" in turn.user and not turn.tool_results:
            return ModelReply(calls=(google("青岚大桥 建成"),))
        return ModelReply(text="1987年[^s0-0]。" if turn.tool_results else "我记得是1987年。")

    state = await discussed(Team(team_researcher=careless, team_verifier=AGREES), engine)
    assert speakers(state) == ["researcher", "verifier", "researcher", "verifier"]
    assert state["final_answer"] == "1987年"
    lazy = Team(team_researcher=says("我记得是1987年。"), team_verifier=AGREES)
    state = await discussed(lazy, engine)
    assert speakers(state) == ["researcher", "verifier", "researcher", "verifier"]
    assert [e["asked"] for e in state["evidence_pool"]] == [ZH], "code looks it up"
    assert told(state)["verified"] is False


async def test_where_the_service_calls_no_tools_code_searches_and_the_answer_says_so(
    engine: str,
) -> None:
    async with team_laboratory(engine=engine) as lab:
        refuse_tools(lab.gemini)
        state = await lab.ask()
    assert lab.queries() == [ZH]
    assert state["final_answer"] == "1987年"
    assert codes(state).count("model_no_tools") == 1
    assert say("gaps.model_no_tools", "zh") in answer_of(state).text


async def test_for_a_researcher_that_went_round_in_circles_code_searches_at_once(
    engine: str,
) -> None:
    replies = iter([ModelReply(text="[\n请回答。\n" * 90, finish="MAX_TOKENS")])

    def circling(turn: ModelTurn) -> ModelReply:
        ids = shown_ids(turn)
        return next(replies, ModelReply(text=f"1987年[^{ids[0]}]。" if ids else "我记得是1987年。"))

    async with team_laboratory(Team(team_researcher=circling), engine=engine) as lab:
        state = await lab.ask()
    assert ZH in lab.queries()
    assert state["transcript"][0]["tools"]
    assert state["final_answer"] == "1987年"


async def test_a_verifier_that_forgot_its_verdict_is_asked_for_that_line_alone(
    engine: str,
) -> None:
    def forgetful(turn: ModelTurn) -> ModelReply:
        if offers(turn, "search_google"):
            return ModelReply(text="我认为答案是1987年[^s0-0]。")
        known = {"looked_at": ["s0-0"], "quotes": ["1987年9月1日通车"], "answer": "1987年"}
        return gives(**known, evidence=["s0-0"], explanation="资料写明1987年[^s0-0]。")(turn)

    state = await discussed(Team(team_verifier=forgetful), engine)
    assert state["transcript"][-1]["text"].startswith("资料写明1987年[^s0-0]。")
    assert told(state)["verified"] is True
    line = says("我认为答案是1987年[^s0-0]。", "VERDICT: AGREED 1987年")
    state = await discussed(Team(team_verifier=line), engine)
    assert state["transcript"][-1]["text"].startswith("我认为答案是1987年[^s0-0]。")
    assert told(state)["verified"] is False


async def test_two_rounds_without_anything_new_end_the_discussion(engine: str) -> None:
    state = await discussed(Team(team_verifier=says(DISAGREES)), engine)
    assert state["ended"] == "stalled"
    assert len(state["transcript"]) <= 7
    assert told(state)["verified"] is False


async def test_twenty_rounds_without_agreement_end_and_the_answer_is_flagged(engine: str) -> None:
    llm = Team(team_verifier=keeps_looking())
    state = await discussed(llm, engine)
    assert len(state["transcript"]) == 20
    assert state["ended"] == "rounds"
    assert codes(state) == ["chat_rounds"]
    assert Counter(speakers(state)) == {"verifier": 10, "researcher": 6, "analyst": 4}
    assert state["final_answer"] == "1987年"
    assert told(state)["verified"] is False


@pytest.mark.parametrize("agreed", ["1990年", "NOT FOUND", "PREMISE FALSE", ""])
async def test_agreement_to_something_else_verifies_nothing(engine: str, agreed: str) -> None:
    rule = says(f"查过[^s0-0]。\nVERDICT: AGREE {agreed}")
    settled = {"outcome": "answer", "answer": "1987年", "evidence": ["s0-0"]}
    llm = Team(team_verifier=rule, team_synthesize=lambda turn: ModelReply(json=settled))
    state = await discussed(llm, engine)
    # The model that settles is asked once more where it settled something else.
    assert len(llm.asked("team_synthesize")) == (2 if agreed else 1)
    assert told(state)["verified"] is False
    assert "未经核实" in answer_of(state).text


@pytest.mark.parametrize("status", [400, 503])
async def test_three_failed_model_calls_in_a_row_end_it_with_what_there_is(
    engine: str, status: int
) -> None:
    async with team_laboratory(engine=engine) as lab:
        lab.gemini.fail("status", status=status, times=None, match=at("team_verifier"))
        state = await lab.ask()
    assert state["ended"] == "failures"
    assert speakers(state) == ["researcher"]
    assert codes(state) == ["chat_model_failed", "chat_failures"]
    assert state["final_answer"] == "1987年"
    assert told(state)["verified"] is False


async def test_a_failed_call_is_tried_again_and_told_once(engine: str) -> None:
    async with team_laboratory(engine=engine) as lab:
        for task in ("team_researcher", "team_verifier"):
            lab.gemini.fail("status", status=400, times=2, match=at(task))
        state = await lab.ask()
    assert speakers(state) == ["researcher", "verifier"]
    assert state["ended"] == "terminated"
    assert codes(state) == ["chat_model_failed"]


async def test_a_chair_that_fails_leaves_the_next_in_turn_to_speak(engine: str) -> None:
    async with team_laboratory(engine=engine) as lab:
        lab.gemini.fail("status", status=400, times=None, match=at("team_select"))
        state = await lab.ask(chair="model")
    assert speakers(state) == ["researcher", "analyst", "verifier"]
    assert codes(state) == ["chat_model_failed"]
    assert state["final_answer"] == "1987年"


async def test_no_model_at_all_is_an_error_after_three_calls_not_an_answer(engine: str) -> None:
    async with team_laboratory(engine=engine) as lab:
        lab.gemini.fail("status", status=400, times=None)
        with pytest.raises(NothingFound, match="模型服务拒绝了请求"):
            await lab.ask()


@pytest.mark.parametrize(
    "limits", [{"max_model_calls": 9}, {"max_run_tokens": 6000}, {"max_model_calls": 6}]
)
async def test_a_spent_budget_ends_it_and_the_answer_is_still_settled(
    engine: str, limits: dict[str, int]
) -> None:
    llm = Team(team_verifier=keeps_looking())
    state = await discussed(llm, engine, **limits)
    assert state["ended"] == "budget"
    assert state["final_answer"] == "1987年"
    assert any("budget" in code for code in codes(state))
    assert told(state)["usage"]["model_calls"] <= limits.get("max_model_calls", 100)


def tries_both(turn: ModelTurn) -> ModelReply:
    """Google first, then Bocha where that brought nothing."""
    if not turn.tool_results:
        return ModelReply(calls=(google(ZH),))
    if not shown_ids(turn) and len(turn.tool_results) == 1:
        return ModelReply(calls=(bocha(ZH),))
    return ModelReply(text=f"答案是1987年[^{shown_ids(turn)[0]}]。")


@pytest.mark.parametrize("kind", ["status", "drop", "garbage"])
async def test_with_one_search_down_the_other_still_brings_the_answer(
    engine: str, kind: Any
) -> None:
    async with team_laboratory(Team(team_researcher=tries_both), engine=engine) as lab:
        lab.serper.fail(kind, times=None)
        state = await lab.ask()
    assert state["ended"] == "terminated"
    assert state["final_answer"] == "1987年"
    assert {gap["provider"] for gap in told(state)["gaps"]} == {"serper"}


async def test_with_every_search_down_the_run_says_that_nothing_was_found(engine: str) -> None:
    llm = Team(
        team_researcher=lambda turn: (
            ModelReply(text="查不到。")
            if turn.tool_results
            else ModelReply(calls=(google(ZH), bocha(ZH)))
        )
    )
    async with team_laboratory(llm, engine=engine) as lab:
        for service in (lab.serper, lab.bocha):
            service.fail("status", status=500, times=None)
        with pytest.raises(NothingFound, match=r"(?is)serper.*bocha"):
            await lab.ask()
