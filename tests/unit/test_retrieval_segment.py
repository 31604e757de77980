"""Texts as terms: what a question and a document must have in common to find each other."""

import pytest

from agent.knowledge.terms import query_terms, terms
from tests.support.rows import by_examples
from tests.unit.cpu_time import takes_less


def test_chinese_is_cut_in_pairs_and_a_lone_character_is_kept() -> None:
    assert terms("钠离子电池") == ["钠离", "离子", "子电", "电池"]
    assert terms("锂, 钠") == ["锂", "钠"]


@by_examples
def test_spellings_of_one_word_are_one_term(one: str, other: str) -> None:
    assert terms(one) == terms(other)


@pytest.mark.parametrize("word", ["analysis", "status", "glass", "gas", "bus"])
def test_words_that_only_look_like_plurals_are_left_alone(word: str) -> None:
    assert terms(word) == [word]


def test_a_model_is_found_whole_and_in_parts() -> None:
    assert terms("LFP-280") == ["lfp", "280", "lfp280"]
    assert set(terms("LFP 280")) < set(terms("LFP-280"))
    assert terms("GPT-4.1") == ["gpt", "4.1", "gpt4.1"]


def test_an_identifier_is_kept_whole_only() -> None:
    assert terms("a1b2c3d4e5f6") == ["a1b2c3d4e5f6"]


def test_numbers_are_whole_and_a_unit_does_not_hide_them() -> None:
    assert terms("3.75 与 2024年") == ["3.75", "与", "2024", "年"]
    assert "160" in terms("160Wh/kg")
    assert terms("2024-11-21") == ["2024", "11", "21"]


def test_commas_of_a_list_do_not_join_its_numbers() -> None:
    assert terms("2023,2024") == ["2023", "2024"]
    assert terms("100，200") == ["100", "200"]
    assert terms("12,34") == ["12", "34"]


def test_a_missing_space_after_a_full_stop_does_not_join_words() -> None:
    assert terms("the end.Next") == ["the", "end", "next"]


def test_a_question_is_asked_by_what_it_tells() -> None:
    assert query_terms("What is the capacity of LFP-280?") == ("capacity", "lfp", "280", "lfp280")
    assert "如何" not in query_terms("钠离子电池的成本如何")
    assert "池的" not in query_terms("钠离子电池的成本如何")


def test_a_question_of_asking_words_alone_keeps_them() -> None:
    assert query_terms("what is this") == ("what", "is", "this")


@pytest.mark.parametrize("text", ["", "  \n", "—…!?。，", "\u200b\ufeff", "_"])
def test_nothing_to_find_gives_no_terms(text: str) -> None:
    assert terms(text) == []


@pytest.mark.parametrize("text", ["a" * 300_000, "a-" * 300_000, "1," * 300_000, "９" * 300_000])
def test_a_hostile_text_costs_no_more_than_another(text: str) -> None:
    assert max(map(len, terms(text))) <= 8 * 65
    assert takes_less(lambda: terms(text), 2)


@pytest.mark.parametrize(
    "sentence",
    [
        "宁德时代于2021年发布第一代钠离子电池，单体能量密度达160Wh/kg，快充15分钟。",
        "Sodium-ion batteries are a lower-cost alternative to cells such as LFP-280 of 2021. ",
    ],
)
def test_five_megabytes_are_segmented_in_a_second_of_cpu(sentence: str) -> None:
    text = sentence * (1_000_000 // len(sentence.encode()))
    # A third of the speed measured on an idle machine; the tests share theirs.
    assert takes_less(lambda: terms(text), len(text.encode()) / 3_000_000)
