"""The discussion of a team: who speaks, what of it is carried on, what the stream tells."""

from typing import Any

import pytest

from agent.core.errors import ConfigurationError
from agent.core.strings import estimated_tokens
from agent.sample.model.request import ModelReply, ModelTurn
from agent.sample.model.text import block, lines
from tests.integration.team_lab import (
    EN,
    ENGINES,
    ZH,
    Team,
    google,
    says,
    speaks_now,
    team_laboratory,
)
from tests.support.lab import told
from tests.support.long_lab import Web

pytestmark = pytest.mark.parametrize("engine", ENGINES)
LIMIT = 8000


def speakers(state: dict[str, Any]) -> list[str]:
    return [turn["speaker"] for turn in state["transcript"]]


async def test_a_claim_is_verified_until_the_verifier_agrees(engine: str) -> None:
    async with team_laboratory(engine=engine) as lab:
        state = await lab.ask()
    assert speakers(state) == ["researcher", "verifier"]
    assert [turn["round"] for turn in state["transcript"]] == [1, 2]
    assert state["transcript"][1]["agreed"] == "1987年"
    assert state["ended"] == "terminated"
    assert state["verified"] is True
    assert state["final_answer"] == "1987年"
    assert "TERMINATE" not in str(state["transcript"])
    assert state["pending"] == state["pending_tools"] == []
    # Rules choose who speaks, and bring the answer into its form.
    assert not lab.llm.asked("team_select")
    assert not lab.llm.asked("team_format")


async def test_an_objection_goes_back_to_the_researcher_and_the_second_to_the_analyst(
    engine: str,
) -> None:
    doubts = "证据不足。\nVERDICT: DISAGREE 查通车日期"
    llm = Team(team_verifier=says(doubts, doubts, doubts, "查过了。\nVERDICT: AGREE 1987年"))
    async with team_laboratory(llm, engine=engine) as lab:
        state = await lab.ask()
    assert speakers(state)[:6] == ["researcher", "verifier"] * 2 + ["analyst", "verifier"]
    assert state["ended"] == "stalled"


async def test_every_turn_shows_in_the_stream_with_its_speaker(engine: str) -> None:
    async with team_laboratory(engine=engine) as lab:
        events = await lab.events()
    shown = [(e["type"], e["speaker"], e["id"]) for e in events if e["type"].startswith("turn")]
    assert shown == [
        (kind, speaker, str(number))
        for number, speaker in enumerate(("researcher", "verifier"), 1)
        for kind in ("turn_started", "turn")
    ]
    texts = [e["text"] for e in events if e["type"] == "turn"]
    assert texts[0] == "答案是1987年。"
    assert texts[1] == "资料写明1987年。"
    searches = [e["speaker"] for e in events if e["type"] == "search_done"]
    assert searches == ["researcher"]


async def test_every_turn_is_a_step_with_a_checkpoint(engine: str) -> None:
    async with team_laboratory(engine=engine) as lab:
        await lab.ask()
        kept = [s async for s in lab.graph.aget_state_history(lab.where())]
    said = [len(state.values.get("transcript") or []) for state in reversed(kept)]
    assert sorted(said) == said
    assert set(said) == {0, 1, 2}
    waiting = [state.next for state in reversed(kept) if state.values.get("pending")]
    assert waiting == [("use_tools",), ("group_chat",)]


async def test_the_chair_chooses_who_speaks_next(engine: str) -> None:
    llm = Team(team_select=says("下一位请核查员", "verifier", "分析员（analyst）"),
                 team_verifier=says("不对。\nVERDICT: DISAGREE"),
                 team_analyst=says("就这样。\nTERMINATE"))  # fmt: skip
    async with team_laboratory(llm, engine=engine) as lab:
        state = await lab.ask(chair="model", max_group_chat_rounds=4)
    assert speakers(state) == ["researcher", "verifier", "verifier", "analyst"]
    assert state["verified"] is False
    assert told(state)["verified"] is False
    first, *_, last = llm.asked("team_select")
    assert lines(first.user, "candidates") == ["analyst", "verifier", "researcher"]
    assert lines(last.user, "candidates") == ["analyst", "researcher"]
    assert lines(last.user, "transcript")[1] == "2 verifier: (disagree) 不对。"


async def test_each_role_has_its_model(engine: str) -> None:
    models = {
        "query_generator_model": "gemini-3.5-flash-lite",
        "research_model": "gemini-3.8-flash",
        "reflection_model": "gemini-3.1-pro-preview",
    }
    async with team_laboratory(engine=engine) as lab:
        await lab.ask(chair="model", **models)
    used = {
        task: {turn.model for turn in lab.llm.asked(f"team_{task}")}
        for task in ("select", "researcher", "analyst", "verifier")
    }
    assert used == {
        "select": {models["query_generator_model"]},
        "researcher": {models["research_model"]},
        "analyst": {models["reflection_model"]},
        "verifier": {models["reflection_model"]},
    }


async def test_after_a_tool_the_same_speaker_goes_on_with_its_own_calls(engine: str) -> None:
    async with team_laboratory(engine=engine) as lab:
        state = await lab.ask()
    before, after = lab.llm.asked("team_researcher")
    assert before.tool_results == ()
    assert [call.name for past in after.history for call in past.calls] == ["search_google"]
    assert [result.name for result in after.tool_results] == ["search_google"]
    assert [len(turn["tools"]) for turn in state["transcript"]] == [1, 0]
    note = state["transcript"][0]["tools"][0]
    assert (note["tool"], note["asked"], note["evidence"]) == ("search_google", ZH, "s0")


async def test_what_others_said_is_text_in_one_human_message(engine: str) -> None:
    async with team_laboratory(engine=engine) as lab:
        await lab.ask(chair="model")
    for task in ("team_researcher", "team_analyst", "team_verifier"):
        for turn in lab.llm.asked(task):
            assert not [past for past in turn.history if past.text]
            assert len([past for past in turn.history if past.calls]) == bool(turn.tool_results)
    asked = lab.llm.asked("team_verifier")[0]
    assert speaks_now(asked) == [(1, "researcher"), (2, "analyst")]
    assert "1987年" in block(asked.user, "transcript")
    assert 'evidence="s0"' in block(asked.user, "transcript")


async def test_hypotheses_are_carried_on_and_kept_where_the_analyst_writes_none(
    engine: str,
) -> None:
    llm = Team(
        team_select=says("analyst", "analyst", "verifier"),
        team_analyst=says("H1 [0.5] 1987年\nH2 [0.5] 1990年", "H2 [0.1] （剪枝）", "没有新的。"),
    )
    async with team_laboratory(llm, engine=engine) as lab:
        state = await lab.ask(chair="model")
    shown = [block(turn.user, "hypotheses") for turn in llm.asked("team_analyst")]
    assert shown == ["", "H1 [0.5] 1987年\nH2 [0.5] 1990年"]
    left = "H1 [0.5] 1987年\nH2 [0.1] 1990年 (pruned)"
    assert block(llm.asked("team_verifier")[0].user, "hypotheses") == left
    assert [branch["pruned"] for branch in state["hypotheses"]] == [False, True]


async def test_terminate_in_the_question_ends_nothing(engine: str) -> None:
    async with team_laboratory(engine=engine) as lab:
        state = await lab.ask(f"{ZH}\nTERMINATE")
    assert speakers(state) == ["researcher", "verifier"]
    assert state["final_answer"] == "1987年"


async def test_an_english_question_is_discussed_in_english(engine: str) -> None:
    llm = Team("1987")
    web = Web(text=lambda query, number: f"The Qinglan bridge opened in 1987. Page {number}.")
    async with team_laboratory(llm, web=web, engine=engine) as lab:
        state = await lab.ask(EN, chair="model")
    members = ("team_select", "team_researcher", "team_analyst", "team_verifier")
    for turn in (turn for task in members for turn in llm.asked(task)):
        assert f"<answer_language>the language of “{EN}”</answer_language>" in turn.user
    assert state["verified"] is True


async def test_a_second_question_on_the_thread_begins_a_new_discussion(engine: str) -> None:
    async with team_laboratory(engine=engine) as lab:
        await lab.ask()
        state = await lab.ask("青岚大桥有多长？")
    assert speakers(state) == ["researcher", "verifier"]
    assert speaks_now(lab.llm.asked("team_researcher")[-1]) == []


async def test_an_engine_that_is_not_installed_is_named_with_its_extra(
    engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(
        __import__("sys").modules, "agent.assistants.team_answer.engine_autogen", None
    )
    async with team_laboratory(engine=engine) as lab:
        with pytest.raises(ConfigurationError, match=r"chat_engine needs .*tanlu\[autogen\]"):
            await lab.ask(chat_engine="autogen")


def measured(turn: ModelTurn) -> int:
    """What a model was sent, counted anew from what arrived."""
    past = "".join(p.text + str([(c.name, c.args) for c in p.calls]) for p in turn.history)
    return estimated_tokens(
        turn.system + turn.user + past + "".join(r.text for r in turn.tool_results)
    )


async def test_twenty_rounds_of_long_results_stay_within_the_limit(engine: str) -> None:
    count = iter(range(1000))

    def searches(turn: ModelTurn) -> ModelReply:
        if not turn.tool_results:
            return ModelReply(calls=tuple(google(f"青岚大桥资料{next(count)}") for _ in range(3)))
        text = f"第{next(count)}次说法[^s0-0]。" + "还要再查。" * 300
        return ModelReply(text=f"{text}\nVERDICT: UNSURE")

    llm = Team(team_researcher=searches, team_analyst=searches, team_verifier=searches)
    web = Web(
        text=lambda query, number: f"{query}第{number}页：" + "大桥通车于1987年" * 20, count=8
    )
    async with team_laboratory(llm, web=web, engine=engine) as lab:
        state = await lab.ask(context_token_limit=LIMIT, max_searches=500, max_model_calls=500)
    assert len(state["transcript"]) == 20
    assert state["ended"] == "rounds"
    assert LIMIT * 0.7 < max(measured(turn) for turn in llm.turns) <= LIMIT
    # The newest turn is still there for whoever speaks last.
    assert speaks_now([turn for turn in llm.turns if turn.tool_results][-1])[-1][0] == 19
    assert all(len(note["text"]) <= 6000 for turn in state["transcript"] for note in turn["tools"])
