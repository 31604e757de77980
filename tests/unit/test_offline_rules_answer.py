"""The offline brain answers: cited, within its length, and continued where it was cut off."""

import pytest

from agent.language import Language
from agent.offline.brain import Past, Turn
from agent.offline.rules import SampleBrain
from agent.prompts import render
from tests.support.offline_turns import (
    FINDINGS,
    MARKER,
    PLACES,
    PREVIOUS,
    SAID,
    ask,
    cited,
    text_of,
    whole_answer,
)


@pytest.mark.parametrize("language", ["zh", "en"])
def test_an_answer_cites_only_ids_it_was_shown_and_says_it_is_sample_data(
    language: Language,
) -> None:
    turn = whole_answer(language)
    text = text_of(SampleBrain().respond(turn))
    assert cited(text)
    assert cited(text) <= cited(turn.user)
    assert {"zh": "示例数据", "en": "sample data"}[language] in text.splitlines()[0]
    assert "http" not in text


def test_an_answer_names_places_exactly_and_quotes_the_web_with_markers() -> None:
    text = text_of(SampleBrain().respond(whole_answer("zh")))
    for name in ("北京市少年宫", "开心亲子乐园", "无名公园"):
        assert f"- {name} " in text
    assert "周末人多，建议上午去。[^w0-0][^w0-2]" in text


@pytest.mark.parametrize("language", ["zh", "en"])
def test_an_answer_keeps_within_its_length(language: Language) -> None:
    sentence = {
        "zh": "第{n}条说明讲的是第{n}件互不相同的事情。",
        "en": "Fact {n} is about topic{n}.",
    }
    findings = "".join(f"{sentence[language].format(n=n)}[^w0-{n}] " for n in range(300))
    values = {"question": "王府井", "findings": findings, "places": PLACES}
    text = MARKER.sub("", text_of(SampleBrain().respond(ask("answer", language, **values))))
    assert len(text) <= 900 if language == "zh" else len(text.split()) <= 350


@pytest.mark.parametrize("language", ["zh", "en"])
def test_an_answer_from_nothing_says_that_there_is_nothing(language: Language) -> None:
    turn = ask(
        "answer", language, question="冰岛的温泉", findings="示例数据里没有资料。", gaps="x: 没有"
    )
    text = text_of(SampleBrain().respond(turn))
    assert {"zh": "没有与", "en": "has nothing on"}[language] in text
    assert not cited(text)


def test_gaps_are_told_at_the_end() -> None:
    turn = ask("answer", question="q", findings=FINDINGS, gaps="王府井 天气: 次数用完")
    assert text_of(SampleBrain().respond(turn)).endswith("没有查到的：王府井 天气。")


def test_a_gap_that_concerns_no_query_is_left_to_the_list_of_gaps() -> None:
    turn = ask("answer", question="q", findings=FINDINGS, gaps=": 没能检查资料是否齐全")
    assert "没有查到的" not in text_of(SampleBrain().respond(turn))


def test_a_follow_up_is_answered_from_the_place_it_points_at() -> None:
    turn = ask("answer", question="第二个几点关门", conversation=SAID, previous_places=PREVIOUS)
    text = text_of(SampleBrain().respond(turn))
    assert "开心亲子乐园" in text
    assert "10:00-21:00" in text
    assert cited(text) == {"p0-2"}


def test_a_place_found_again_is_told_by_its_new_record() -> None:
    values = {"conversation": SAID, "previous_places": PREVIOUS, "places": PLACES}
    text = text_of(SampleBrain().respond(ask("answer", question="第二个几点关门", **values)))
    assert "10:00-21:00 · 王府井大街88号 [^a0-2]" in text


@pytest.mark.parametrize("language", ["zh", "en"])
@pytest.mark.parametrize("share", [0.1, 0.35, 0.5, 0.8])
def test_a_continued_answer_is_the_rest_of_the_same_answer(
    language: Language, share: float
) -> None:
    turn = whole_answer(language)
    whole = text_of(SampleBrain().respond(turn))
    cut = whole[: int(len(whole) * share)]
    again = Turn(
        system=turn.system,
        user=render("continue_answer", language, cut_off=cut[-600:]),
        history=(Past("user", turn.user), Past("model", cut)),
    )
    assert cut + text_of(SampleBrain().respond(again)) == whole


def test_what_cannot_be_continued_ends_in_one_sentence() -> None:
    turn = ask("answer", question="q")
    again = Turn(turn.system, render("continue_answer", "zh", cut_off="从没写过的话"))
    assert text_of(SampleBrain().respond(again)) == "以上就是示例数据里能查到的全部。"
