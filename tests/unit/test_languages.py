"""Any language can be answered in: as a setting names it, or as the question is written."""

import re

import pytest

from agent.configuration import configure
from agent.core.errors import ConfigurationError
from agent.texts import Language, is_written_in, say, table
from agent.texts.languages import (
    language_name,
    language_of_answer,
    language_of_setting,
    may_be,
    named_language,
)
from tests.support.rows import by_examples


@by_examples
def test_a_question_names_its_language_by_its_script_or_by_itself(
    question: str, named: str
) -> None:
    assert named_language(question) == named


def test_a_long_question_is_named_by_its_beginning() -> None:
    assert len(named_language("many words " * 2000)) < 160
    assert named_language("many words " * 2000).endswith(("many…”", "words…”")), "no half of a word"


@by_examples
def test_a_setting_takes_any_tag_and_code_says_its_own_in_the_nearest(
    tag: str, own: str, named: str
) -> None:
    assert configure({"answer_language": tag}).answer_language == tag
    assert language_of_setting(tag, "任何问题") == own
    assert language_name(tag) == named


@by_examples
def test_an_answer_is_framed_in_its_own_language_where_there_are_texts(
    tag: str, question: str, own: Language
) -> None:
    assert language_of_answer(tag, question) == own
    assert say("answer.extractive", own)


@pytest.mark.parametrize("tag", ["German", "z", "en_US", "zh-<b>", "en us", "autos-x"])
def test_what_is_no_tag_is_refused(tag: str) -> None:
    with pytest.raises(ConfigurationError, match="answer_language"):
        configure({"answer_language": tag})


@pytest.mark.parametrize(
    ("question", "own"),
    [
        ("我附近哪裡有停車場？", "zh-Hant"),
        ("我附近哪里有停车场？", "zh"),
        ("駅の近くの駐車場は無料ですか", "en"),
        ("Where is the street 王府井?", "en"),
    ],
)
def test_code_says_its_own_in_the_script_of_the_question(question: str, own: Language) -> None:
    assert language_of_setting("auto", question) == own


def test_traditional_sentences_are_the_simplified_ones_in_other_characters() -> None:
    plain, traditional = table("answer", "zh"), table("answer", "zh-Hant")
    assert traditional["sources"] == "**來源**"
    assert traditional.keys() == plain.keys()
    for key, text in plain.items():
        assert re.findall(r"[{]\w+[}]", traditional[key]) == re.findall(r"[{]\w+[}]", text)


def test_what_fills_a_traditional_sentence_stays_as_it_is_written() -> None:
    text = say("answer.extractive", "zh-Hant", reason="后台")
    assert "后台" in text
    assert "沒有" in text or "沒能" in text or "無法" in text


@pytest.mark.parametrize(
    ("text", "language", "written"),
    [
        ("週一是否開門", "zh-Hant", True),
        ("週一是否開門", "zh", True),
        ("whether it opens", "zh-Hant", False),
        ("whether it opens", "en", True),
    ],
)
def test_a_text_is_in_a_language_in_whichever_characters(
    text: str, language: Language, written: bool
) -> None:
    assert is_written_in(text, language) is written


@by_examples
def test_a_language_is_one_that_the_question_can_be_written_in(
    tag: str, text: str, fits: bool
) -> None:
    assert may_be(tag, text) is fits
