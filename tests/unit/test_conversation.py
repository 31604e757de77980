"""What a model is shown of earlier turns: whole lines, whole tables, everything that was listed."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from agent.assistants.common.conversation import conversation, known_words
from agent.evidence.types import Source
from tests.support.rows import by_examples

TABLE = "| 店 | 人均 |\n|---|---|\n| 甲 | ¥40 |\n| 乙 | ¥60 |\n| 丙 | ¥80 |"


def shown(answer: str, *, longest: int) -> str:
    """Return what is shown of an answer to the question before this one."""
    messages = [HumanMessage("问"), AIMessage(answer), HumanMessage("再问")]
    return conversation(messages, [], longest=longest).partition("assistant: ")[2]


def test_an_earlier_answer_ends_with_a_whole_line() -> None:
    answer = "第一处是甲，离地铁站近。\n第二处是乙，晚上也开门。\n第三处是丙，要提前预约。"
    assert shown(answer, longest=30) == "第一处是甲，离地铁站近。 / 第二处是乙，晚上也开门。 …"
    assert shown(answer, longest=100).endswith("要提前预约。")
    assert shown("第一句。第二句很长很长很长。", longest=8) == "第一句。 …"


def test_a_table_is_not_cut_in_its_middle() -> None:
    begin = "附近有三家，都在步行范围之内，先看人均。"
    assert shown(f"{begin}\n{TABLE}", longest=40) == f"{begin} …"
    assert shown(TABLE, longest=40).endswith("| 甲 | ¥40 | …")


def test_how_many_messages_are_left_out_is_said_before_the_others() -> None:
    earlier = [each for n in range(5) for each in (HumanMessage(f"q{n}"), AIMessage(f"a{n}"))]
    lines = conversation([*earlier, HumanMessage("What did I ask first?")], []).splitlines()
    assert lines[0] == "(4 messages before these are not shown)"
    assert lines[1:3] == ["user: q2", "assistant: a2"]
    assert len(conversation([*earlier[4:], HumanMessage("?")], []).splitlines()) == 6


def source(name: str, url: str, **more: Any) -> Source:
    row = {"id": name, "kind": "place", "title": "t", "url": url, "provider": "p", "quotes": []}
    return Source(**{**row, **more})  # type: ignore[typeddict-item]


def test_only_older_answers_are_cut_short_and_the_last_is_kept_as_far_as_it_decides() -> None:
    old, last = "旧。" * 800, "新。" * 1900
    brief = "要求。" * 500
    messages = [HumanMessage(brief), AIMessage(old), HumanMessage("问"), AIMessage(last)]
    first, earlier, _, newest = conversation([*messages, HumanMessage("再问")], []).splitlines()
    assert first == f"user: {brief}"
    assert 500 < len(earlier) < 700
    assert newest == f"assistant: {last}"


@by_examples
def test_what_no_source_bears_is_remembered_as_such(
    question: str, answer: str, remembered: str
) -> None:
    messages = [HumanMessage(question), AIMessage(answer), HumanMessage(question)]
    assert conversation(messages, []).partition("assistant: ")[2] == remembered
    assert not any("9" in words or "300" in words for words in known_words(messages))


def test_only_what_the_last_answer_has_shown_is_known_to_the_next_one() -> None:
    text = (
        "Our estimate: 2,000,000 ÷ 2,592,000 = 0.77 steps a second.\n\n"
        "It has 4,711 users [1](https://a). "
        "Six weeks end on 5 January [1](https://a). It costs $1,188†."
    )
    rows = [
        {"start": text.index(begin), "end": text.index(begin) + len(begin), "verdict": verdict}
        for begin, verdict in [("Our", "computed"), ("It has", "supported"), ("It costs", "marked")]
    ]
    answer = AIMessage(text, additional_kwargs={"checks": {"statements": rows}})
    words = " ".join(known_words([HumanMessage("q"), answer, HumanMessage("q2")]))
    assert "0.77" in words
    assert "4,711" in words
    assert not any(told in words for told in ("5 January", "1,188"))


@pytest.mark.parametrize(
    "checks", [None, [], {}, {"statements": [1, {"verdict": "supported", "start": []}]}]
)
def test_an_answer_that_nobody_checked_proves_nothing(checks: object) -> None:
    answer = AIMessage("It has 4,711 users [1](https://a).", additional_kwargs={"checks": checks})
    assert known_words([HumanMessage("q"), answer, HumanMessage("q2")]) == ["q", "q2"]


def test_a_document_without_an_address_is_cited_under_its_new_id() -> None:
    own = source("d0-0", "", kind="document", title="合同 第3页", number=2)
    answer = AIMessage(
        "甲[1](https://a)。乙[2]。见[3]。", additional_kwargs={"sources": [own, None]}
    )
    carried = [source("p0-0", "https://a"), source("p0-4", "", title="合同 第3页")]
    said = conversation([HumanMessage("问"), answer, HumanMessage("再问")], carried)
    assert said.endswith("assistant: 甲[^p0-0]。乙[^p0-4]。见[3]。")
