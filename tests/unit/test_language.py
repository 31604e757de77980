"""One splitter of sentences, one fold and one set of words for all languages."""

import re

import pytest

from agent.evidence.language import LONGEST, fold, sentence_spans, words
from agent.evidence.notation import LINKED
from tests.support.rows import by_examples

MARKERS = re.compile(r"\[\^[\w-]+\]")


def split(text: str) -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text, MARKERS)]


@by_examples
def test_sentences_end_where_a_reader_ends_them(text: str, sentences: list[str]) -> None:
    assert split(text) == sentences


@pytest.mark.parametrize("text", ["a" * 5000, "长" * 5000, "a. " * 3000, "。" * 3000, "1. " * 3000])
def test_no_piece_is_longer_than_the_bound_and_nothing_is_lost(text: str) -> None:
    pieces = split(text)
    assert max(map(len, pieces)) <= LONGEST
    assert "".join(pieces).replace(" ", "") == text.replace(" ", "")


def test_width_script_and_case_are_no_difference() -> None:
    assert fold("臺灣門票３０元 ABC") == fold("台湾门票30元 abc")
    assert fold("Children’s “Town” «Ost» ‚West‘") == fold('Children\'s "Town" "Ost" \'West\'')
    assert words("國立故宮博物院") == words("国立故宫博物院")


def test_a_text_without_han_needs_no_dictionary() -> None:
    assert fold("Ｆull Width") == "full width"


def test_a_sentence_is_not_cut_within_a_citation_with_a_long_address() -> None:
    """What stood behind the cut was no citation any more: it kept its number of before."""
    cited = f"[28](https://a.example/{'%E6%95%B0' * 50})"
    text = f"插件不随迁{cited}；序列要先查最大值{cited}；停写几分钟后再切{cited}（2021年文档）。"
    assert [*sentence_spans(text, LINKED.pattern)] == [(0, len(text))]
    long = "字" * (LONGEST - 2) + cited + "字" * 10
    (_, end), (begin, _) = sentence_spans(long, LINKED.pattern)
    assert end == begin == LONGEST + len(cited)
