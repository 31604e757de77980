"""Figures mean the same whatever way they are said; a text of any kind is read in linear time."""

import json
from itertools import pairwise

import pytest
from evals.figures.__main__ import load, stands

from agent.evidence.figures import figures
from agent.evidence.numerals import chinese_number, english_number


@pytest.mark.parametrize(
    "row", [pytest.param(row, id=f"{row['sentence']} | {row['source']}") for row in load()]
)
def test_a_figure_is_the_source_s_exactly_where_a_person_says_so(row: dict[str, object]) -> None:
    assert stands(str(row["sentence"]), str(row["source"])) is row["same"], json.dumps(row)


@pytest.mark.parametrize(
    "text",
    [
        "三里屯、五道口和九寨沟",
        "统一、万一、十分漂亮、百货",
        "one of the best in May",
        "二、三线城市的第一名",
        "once upon a time, la une du journal, las dos, juntas",
        "vor Jahren halb fertig, sept, elf and dix",
    ],
)
def test_numerals_that_are_part_of_a_name_or_a_word_are_no_figures(text: str) -> None:
    assert [figure for figure in figures(text) if figure.telling] == []


@pytest.mark.parametrize(
    "text",
    [
        "门票 一百二十元/人",
        "约 ５,０００ 人",
        "It opens at half past eight.",
        "臺北-5度，三萬元",
        "um halb drei, à neuf heures, a las ocho y media",
        "1,6 км и 1 600 м",
    ],
)
def test_a_figure_says_where_it_stands_in_the_text_as_it_was_written(text: str) -> None:
    for figure in figures(text):
        assert text[figure.start : figure.end] == figure.text
        assert figure.text.strip() == figure.text


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("三百二十", 320),
        ("两千四百五", 2450),
        ("二〇〇三", 2003),
        ("一万零五", 10005),
        ("十五", 15),
        ("三亿五千万", 350_000_000),
    ],
)
def test_a_chinese_numeral_has_its_value(written: str, value: int) -> None:
    assert chinese_number(written) == value


def test_words_that_are_no_numeral_have_no_value() -> None:
    assert chinese_number("三三百") is None
    assert english_number("nineteen eighty") is None
    assert english_number("forty cats") is None


@pytest.mark.parametrize(
    "unit",
    [
        "1",
        "1,",
        "1/2 ",
        "1-1-",
        "one and ",
        "三点",
        "5万",
        "half past ",
        "May 1 ",
        "分之三",
        "ten to ",
        "1:1",
    ],
)
def test_as_many_figures_are_read_of_a_text_as_it_is_long(unit: str) -> None:
    """Each character belongs to at most one figure, so the work grows as the text does."""
    text = unit * 2000
    spans = [(figure.start, figure.end) for figure in figures(text)]
    assert spans == sorted(spans)
    assert all(end <= begin for (_, end), (begin, _) in pairwise(spans))
