"""Exploring models that misbehave: each run ends within its limits, and says what happened."""

from collections.abc import Callable
from typing import Any

import pytest

from agent.assistants.deep_research.explore import MAX_FRUITLESS
from agent.sample.model.request import FunctionCall, ModelReply, ModelTurn
from agent.texts import say
from tests.integration.faults import refuse_tools
from tests.support.deep_lab import (
    ZH,
    DeepLab,
    Researcher,
    change,
    deep_laboratory,
    done_calls,
    end,
    search,
    shown_urls,
    think,
)
from tests.support.lab import answer_of, told
from tests.support.long_lab import Web

Rule = Callable[[ModelTurn], ModelReply]


async def explored(rule: Rule, *topics: str, **context: Any) -> tuple[DeepLab, dict[str, Any]]:
    """The lab and the state after a run whose exploring model follows the rule."""
    async with deep_laboratory(Researcher(*topics, deep_explore=rule)) as lab:
        return lab, await lab.ask(ZH, **context)


def codes(state: dict[str, Any]) -> list[str]:
    return [gap["code"] for gap in told(state)["gaps"]]


def cited(state: dict[str, Any]) -> int:
    return int(told(state)["checks"]["cited"])


async def test_a_model_that_never_thinks_is_asked_to_and_ended_where_it_finds_nothing_new() -> None:
    lab, state = await explored(lambda turn: ModelReply(calls=(search("成本"),)))
    assert [body["query"] for body in lab.calls("/search")] == ["成本"]
    (result,) = lab.llm.asked("deep_explore")[1].tool_results
    assert result.text.endswith(say("deep_research.think_next", "zh"))
    assert codes(state) == ["model_stuck"]
    assert len(lab.llm.asked("deep_explore")) == 1 + MAX_FRUITLESS
    assert cited(state) > 0


async def test_a_model_that_only_thinks_is_ended() -> None:
    _, state = await explored(lambda turn: ModelReply(calls=(think(),)))
    assert codes(state) == ["model_stuck"]
    assert cited(state) > 0


async def test_a_model_that_only_talks_is_told_to_call_a_tool_and_then_ended() -> None:
    lab, state = await explored(lambda turn: ModelReply(text="我想想。"))
    assert codes(state) == ["model_stuck"]
    assert "请调用工具继续" in lab.llm.asked("deep_explore")[1].user
    assert cited(state) > 0
    assert len(state["messages"]) == 2


async def test_where_the_service_calls_no_tools_code_searches_each_topic_and_says_so() -> None:
    async with deep_laboratory(Researcher("成本", "安全")) as lab:
        refuse_tools(lab.gemini)
        state = await lab.ask(ZH)
    queries = [body["query"] for body in lab.calls("/search")]
    assert queries == ["成本", ZH, "安全"]
    assert codes(state).count("model_no_tools") == 1
    assert "model_stuck" not in codes(state)
    assert cited(state) > 0
    assert len(lab.llm.asked("deep_explore")) <= 2, "a model that calls none is not asked on"


async def test_a_model_that_never_ends_is_ended_by_its_rounds() -> None:
    count = iter(range(1000))
    _, state = await explored(
        lambda turn: ModelReply(calls=(think(), search(f"成本 {next(count)}"))),
        max_exploration_rounds=30,
    )
    checks = told(state)["checks"]
    assert codes(state) == ["rounds_spent"]
    assert checks["rounds"] == 30
    assert checks["forced_archives"] >= 2
    assert cited(state) > 0


async def test_a_change_to_the_same_topic_is_answered_and_not_done() -> None:
    def rule(turn: ModelTurn) -> ModelReply:
        if "tavily_search" not in done_calls(turn):
            return ModelReply(calls=(think(), search("成本")))
        return ModelReply(calls=(think(), change(f" {ZH} ", shown_urls(turn))))

    lab, state = await explored(rule)
    texts = [r.text for turn in lab.llm.turns for r in turn.tool_results]
    assert any("这就是当前子题" in text for text in texts)
    assert len(state["search_results"]) == 1
    assert "model_stuck" in codes(state)


async def test_of_two_changes_at_once_the_first_counts() -> None:
    def rule(turn: ModelTurn) -> ModelReply:
        if "<topic>安全</topic>" in turn.user:
            if "tavily_search" not in done_calls(turn):
                return ModelReply(calls=(think(), search("安全")))
            return ModelReply(calls=(think(), end(shown_urls(turn))))
        return ModelReply(calls=(think(), change("安全"), change("应用")))

    lab, state = await explored(rule)
    assert [entry["topic"] for entry in state["search_results"]] == ["安全"]
    assert told(state)["checks"]["refused_calls"] == 1
    shown = [r.text for turn in lab.llm.turns for r in turn.tool_results]
    assert any("以第一个为准" in text for text in shown)


def answers_shown(turn: ModelTurn) -> list[str]:
    """The answers a topic's calls have; none is without one."""
    answered = {result.id for result in turn.tool_results}
    assert {call.id for past in turn.history for call in past.calls} <= answered
    return [result.text for result in turn.tool_results]


async def test_a_search_behind_a_change_is_the_first_of_the_new_topic() -> None:
    def rule(turn: ModelTurn) -> ModelReply:
        if "<topic>安全</topic>" not in turn.user:
            return ModelReply(calls=(think(), change("安全"), search("安全")))
        assert "安全 0" in str(answers_shown(turn))
        return ModelReply(calls=(think(), end(shown_urls(turn))))

    lab, state = await explored(rule)
    assert [body["query"] for body in lab.calls("/search")] == ["安全"]
    assert [entry["topic"] for entry in state["search_results"]] == ["安全"]
    assert told(state)["checks"]["refused_calls"] == 0
    assert codes(state) == []


async def test_a_change_behind_a_search_is_answered_and_done_when_its_results_were_seen() -> None:
    def rule(turn: ModelTurn) -> ModelReply:
        texts = answers_shown(turn)
        if "<topic>安全</topic>" in turn.user:
            names = done_calls(turn)
            done = (think(), end(shown_urls(turn)))
            return ModelReply(calls=done if "tavily_search" in names else (think(), search("安全")))
        if texts:
            assert "没有执行" in texts[-1]
            return ModelReply(calls=(think(), change("安全", shown_urls(turn))))
        return ModelReply(calls=(think(), search("成本"), change("安全")))

    _, state = await explored(rule)
    assert [len(entry["useful_webpages"]) for entry in state["search_results"]] == [4, 4]
    assert told(state)["checks"]["refused_calls"] == 1


async def test_an_end_beside_a_search_waits_for_its_results() -> None:
    def rule(turn: ModelTurn) -> ModelReply:
        texts = answers_shown(turn)
        if not texts:
            return ModelReply(calls=(think(), search("成本")))
        if "成本 低温" not in str(texts):
            return ModelReply(calls=(think(), end(shown_urls(turn)), search("成本 低温")))
        assert any("没有执行" in text for text in texts)
        return ModelReply(calls=(think(), end(shown_urls(turn))))

    lab, state = await explored(rule)
    assert [body["query"] for body in lab.calls("/search")] == ["成本", "成本 低温"]
    assert len(state["search_results"][0]["useful_webpages"]) == 8


async def test_calls_behind_a_change_that_no_topic_is_left_for_are_told_as_a_gap() -> None:
    def rule(turn: ModelTurn) -> ModelReply:
        if "tavily_search" not in done_calls(turn):
            return ModelReply(calls=(think(), search("成本")))
        return ModelReply(calls=(think(), change("安全", shown_urls(turn)), search("安全")))

    lab, state = await explored(rule, max_topics=1)
    assert [body["query"] for body in lab.calls("/search")] == ["成本"]
    assert codes(state) == ["topics_spent"]


async def test_invented_urls_are_dropped_and_counted() -> None:
    def rule(turn: ModelTurn) -> ModelReply:
        if "tavily_search" not in done_calls(turn):
            return ModelReply(calls=(think(), search("成本")))
        return ModelReply(calls=(think(), end(["https://evil.example/q", *shown_urls(turn)[:1]])))

    lab, state = await explored(rule)
    assert told(state)["checks"]["invented_urls"] == 1
    assert [len(body["urls"]) for body in lab.calls("/extract")] == [1]
    assert "evil.example" not in str(state)


async def test_a_page_that_an_earlier_topic_found_and_left_can_be_named_by_a_later_one() -> None:
    def rule(turn: ModelTurn) -> ModelReply:
        if "tavily_search" not in done_calls(turn) and "<topics_done>" not in turn.user:
            return ModelReply(calls=(think(), search("成本")))
        if "<topics_done>" not in turn.user:
            found.extend(shown_urls(turn))
            return ModelReply(calls=(think(), change("安全", found[:1])))
        return ModelReply(calls=(think(), end(found[:2])))

    found: list[str] = []
    _, state = await explored(rule)
    kept = [[page["url"] for page in entry["useful_webpages"]] for entry in state["search_results"]]
    assert kept == [found[:1], found[1:2]]
    assert told(state)["checks"]["invented_urls"] == 0
    assert state["pages_left"] == []


async def test_where_only_invented_urls_are_named_the_first_results_are_kept() -> None:
    def rule(turn: ModelTurn) -> ModelReply:
        if "tavily_search" not in done_calls(turn):
            return ModelReply(calls=(think(), search("成本")))
        return ModelReply(calls=(think(), end(["https://evil.example/q"])))

    _, state = await explored(rule)
    assert len(state["search_results"][0]["useful_webpages"]) == 4
    assert cited(state) == 4


async def test_an_end_before_any_search_is_refused() -> None:
    _, state = await explored(lambda turn: ModelReply(calls=(think(), end())))
    assert told(state)["checks"]["refused_calls"] >= 1
    assert cited(state) > 0


async def test_more_topics_than_allowed_are_told_as_a_gap() -> None:
    async with deep_laboratory(Researcher("成本", "安全", "应用")) as lab:
        state = await lab.ask(ZH, max_topics=2)
    assert [entry["topic"] for entry in state["search_results"]] == ["成本", "安全"]
    assert codes(state) == ["topics_spent"]


async def test_unknown_tools_and_wrong_arguments_are_answered() -> None:
    def rule(turn: ModelTurn) -> ModelReply:
        if len(turn.tool_results) < 3:
            wrong = FunctionCall("tavily_search", {"queries": 7})
            return ModelReply(
                calls=(FunctionCall("fetch", {"url": "http://evil/"}), think(), wrong)
            )
        if "https://" not in str(turn.tool_results):
            return ModelReply(calls=(FunctionCall("tavily_search", {"query": "成本"}),))
        return ModelReply(calls=(think(), end(shown_urls(turn))))

    _, state = await explored(rule)
    assert told(state)["checks"]["refused_calls"] == 2
    assert cited(state) > 0


async def test_a_compression_that_cites_nothing_is_replaced_by_excerpts() -> None:
    llm = Researcher("成本", deep_compress=lambda turn: ModelReply(text="成本下降了。"))
    async with deep_laboratory(llm) as lab:
        state = await lab.ask(ZH)
    assert codes(state) == ["compress_unmarked"]
    assert cited(state) == 3


async def test_invented_notes_are_removed_and_counted() -> None:
    llm = Researcher(
        "成本",
        deep_compress=lambda turn: ModelReply(text="成本下降[^t0-0]。另一说[^t7-7]。"),
        deep_report=lambda turn: ModelReply(text="成本下降[^t0-0]。安全[^t9-9]。"),
    )
    async with deep_laboratory(llm) as lab:
        state = await lab.ask(ZH)
    checks = told(state)["checks"]
    assert (checks["unknown_notes"], checks["unknown_ids_removed"], checks["cited"]) == (1, 1, 1)


async def test_where_nothing_is_found_the_question_itself_is_searched_once_and_all_is_told() -> (
    None
):
    async with deep_laboratory(Researcher("成本"), web=Web(count=0)) as lab:
        state = await lab.ask(ZH)
        searched = [body["query"] for body in lab.calls("/search")]
    assert searched == ["成本 0", ZH]
    assert say("answer.looked_for", "zh", what="成本 0") in str(answer_of(state).text)


async def test_what_the_question_itself_finds_is_kept_though_the_topics_found_nothing() -> None:
    class OnlyTheQuestion(Web):
        def __call__(self, query: str, limit: int) -> Any:
            found = super().__call__(query, limit)
            return found if query == ZH or limit == 50 else []

    async with deep_laboratory(Researcher("成本"), web=OnlyTheQuestion()) as lab:
        state = await lab.ask(ZH)
    assert cited(state) > 0


async def test_a_report_that_cites_nothing_says_so_and_appends_the_notes() -> None:
    llm = Researcher("成本", deep_report=lambda turn: ModelReply(text="# 报告\n\n成本下降。"))
    async with deep_laboratory(llm) as lab:
        state = await lab.ask(ZH)
    assert codes(state) == ["report_uncited"]
    assert str(answer_of(state).text).count(say("answer.uncited", "zh")) == 1
    assert told(state)["degraded"]
    assert cited(state) == 3
    assert str(answer_of(state).text).startswith("# 报告")


async def test_a_report_that_says_in_any_language_that_nothing_was_found_is_kept_as_it_is() -> None:
    refusal = "# Итог\n\nВ заметках нет данных о цене [^none]."
    llm = Researcher("成本", deep_report=lambda turn: ModelReply(text=refusal))
    async with deep_laboratory(llm) as lab:
        state = await lab.ask(ZH)
    assert codes(state) == []
    assert not told(state)["degraded"]
    assert str(answer_of(state).text).strip() == refusal.replace(" [^none]", "")


@pytest.mark.parametrize(
    "task", ["deep_plan", "deep_explore", "deep_compress", "deep_review", "deep_report"]
)
async def test_a_model_that_is_down_for_a_task_still_leaves_a_report(task: str) -> None:
    async with deep_laboratory() as lab:
        lab.gemini.fail(
            "status", status=400, times=None,
            match=lambda request, body: f"<task>{task}</task>" in str(body),
        )  # fmt: skip
        state = await lab.ask(ZH)
    assert cited(state) > 0
    assert codes(state)


@pytest.mark.parametrize(
    "limits",
    [
        {"max_searches": 1},
        {"max_searches": 0},
        {"max_model_calls": 1},
        {"max_model_calls": 6},
        {"max_run_tokens": 1000},
        {"max_run_seconds": 3},
    ],
    ids=str,
)
async def test_a_spent_budget_ends_with_a_report_that_says_so(limits: dict[str, Any]) -> None:
    async with deep_laboratory() as lab:
        if "max_run_seconds" in limits:
            # Something is found at once, however slow the machine is; the rest comes too late.
            lab.tavily.latency = lambda *_: 0 if len(lab.tavily.requests) == 1 else 3600
        state = await lab.ask(ZH, **limits)
    usage = told(state)["usage"]
    assert codes(state)
    assert usage["searches"] <= limits.get("max_searches", 1000)
    assert usage["model_calls"] <= limits.get("max_model_calls", 1000)
    assert str(answer_of(state).text).strip()
