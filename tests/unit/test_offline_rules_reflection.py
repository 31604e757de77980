"""The offline brain reflects: what is missing is asked for once, and then no more."""

import pytest

from agent.evidence.queries import near_duplicate
from agent.language import Language
from agent.offline.rules import SampleBrain
from tests.support.offline_turns import FINDINGS, FINDINGS_EN, ask


def verdict(question: str, asked: str, findings: str, language: Language = "zh") -> dict:
    turn = ask("reflection", language, question=question, asked=asked, findings=findings, limit="2")
    reflected = SampleBrain().respond(turn).json
    assert list(reflected) == ["is_sufficient", "knowledge_gap", "follow_up_queries"]
    return reflected


def test_findings_that_speak_of_every_word_are_enough() -> None:
    said = verdict("王府井附近的停车场", "王府井附近的停车场", FINDINGS)
    assert said == {"is_sufficient": True, "knowledge_gap": "", "follow_up_queries": []}


@pytest.mark.parametrize(
    ("question", "findings", "language", "word"),
    [
        ("王府井附近有无障碍电梯的商场", FINDINGS, "zh", "障碍电梯"),
        ("Is the Bund wheelchair accessible?", FINDINGS_EN, "en", "wheelchair"),
    ],
)
def test_a_word_nothing_was_found_on_brings_one_new_query(
    question: str, findings: str, language: Language, word: str
) -> None:
    said = verdict(question, question, findings, language)
    assert said["is_sufficient"] is False
    assert word in said["knowledge_gap"]
    (follow_up,) = said["follow_up_queries"]
    assert word in follow_up["query"]
    assert not near_duplicate(follow_up["query"], question)


def test_reflection_ends_when_the_follow_up_found_nothing_either() -> None:
    question = "王府井附近有无障碍电梯的商场"
    asked = question
    for _ in range(4):
        said = verdict(question, asked, FINDINGS)
        if said["is_sufficient"]:
            break
        asked += "".join(f"\n{query['query']}" for query in said["follow_up_queries"])
    assert said["is_sufficient"] is True
    assert asked.count("\n") <= 1


def test_where_nothing_at_all_was_found_no_round_is_wasted() -> None:
    said = verdict("冰岛的温泉", "冰岛的温泉", "示例数据里没有关于“冰岛的温泉”的资料。")
    assert said["is_sufficient"] is False
    assert said["knowledge_gap"]
    assert said["follow_up_queries"] == []
