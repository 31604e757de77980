"""One splitter of sentences, one fold and one set of words for all languages."""

import re

import pytest

from agent.evidence.language import LONGEST, fold, sentence_spans, words

MARKERS = re.compile(r"\[\^[\w-]+\]")


def split(text: str) -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text, MARKERS)]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("一句。[^w0] 两句！[^w1][^w2]三句", ["一句。[^w0]", "两句！[^w1][^w2]", "三句"]),
        ("The first. [^w0] The second.", ["The first. [^w0]", "The second."]),
        ("Open at no. 3 Main St. today. Closed on Monday.",
         ["Open at no. 3 Main St. today.", "Closed on Monday."]),
        ("他说：“去吧。”她没有去。", ["他说：“去吧。”", "她没有去。"]),
        ("It costs 3.5 yuan. It is e.g. cheap.", ["It costs 3.5 yuan.", "It is e.g. cheap."]),
        ("one line\nanother line", ["one line", "another line"]),
        ("地址在 no. 3 号楼。下一句。", ["地址在 no. 3 号楼。", "下一句。"]),
        ("Offen bis 31. August[^w0]. Danach zu.", ["Offen bis 31. August[^w0].", "Danach zu."]),
        ("Im 2. Stock, seit dem 19. Jahrhundert.", ["Im 2. Stock, seit dem 19. Jahrhundert."]),
        ("Otwarte do 31. sierpnia. Wstęp wolny.", ["Otwarte do 31. sierpnia.", "Wstęp wolny."]),
        ("Ludwig XIV. regierte lange.", ["Ludwig XIV. regierte lange."]),
        ("It opens at 10. The lift is closed.", ["It opens at 10.", "The lift is closed."]),
        ("Built in 1890.[^w0] august halls.", ["Built in 1890.[^w0]", "august halls."]),
        ("**粗体。**后文", ["**粗体。**", "后文"]),
        ("", []),
    ],
)  # fmt: skip
def test_sentences_end_where_a_reader_ends_them(text: str, sentences: list[str]) -> None:
    assert split(text) == sentences


@pytest.mark.parametrize("text", ["a" * 5000, "长" * 5000, "a. " * 3000, "。" * 3000, "1. " * 3000])
def test_no_piece_is_longer_than_the_bound_and_nothing_is_lost(text: str) -> None:
    pieces = split(text)
    assert max(map(len, pieces)) <= LONGEST
    assert "".join(pieces).replace(" ", "") == text.replace(" ", "")


def test_width_script_and_case_are_no_difference() -> None:
    assert fold("臺灣門票３０元 ABC") == fold("台湾门票30元 abc")
    assert words("國立故宮博物院") == words("国立故宫博物院")


def test_a_text_without_han_needs_no_dictionary() -> None:
    assert fold("Ｆull Width") == "full width"
