"""Texts in stretches: sizes, overlaps, headings, tables, Chinese."""

import random
from itertools import pairwise

import pytest

from agent.knowledge.markup import heading_level, markdown_blocks, plain_blocks, unwrap
from agent.knowledge.split import (
    OVERLAP,
    SIZE,
    Block,
    Sections,
    Stretch,
    pack_units,
    sentence_texts,
    split,
    tail,
)

ZH = "宁德时代发布了第二代钠离子电池。能量密度达到每公斤二百瓦时！低温下的容量如何？报告没有说。"
EN = "The cell was tested at 25 °C. It kept 91.5% of its capacity over 3,000 cycles. Why? Unknown. "


def pieces(text: str, title: str = "") -> list[Stretch]:
    return list(split(markdown_blocks(text), Sections(title)))


def test_a_short_text_is_one_stretch_under_its_headings() -> None:
    found = pieces("# Report\n\n## Cells\n\nThey work.\n\nWell.", "Report")
    assert found == [Stretch("They work.\n\nWell.", ("Report", "Cells"))]


def test_a_deeper_heading_stands_under_the_one_above_and_an_equal_one_ends_it() -> None:
    text = "# A\n\none\n\n## B\n\ntwo\n\n### C\n\nthree\n\n## D\n\nfour"
    assert [piece.headings for piece in pieces(text, "T")] == [
        ("T", "A"), ("T", "A", "B"), ("T", "A", "B", "C"), ("T", "A", "D"),
    ]  # fmt: skip


def test_a_heading_without_text_is_kept_as_text() -> None:
    assert [piece.text for piece in pieces("# A\n\n## Alone\n\n## B\n\nbody")] == ["Alone", "body"]


def test_underlined_headings_and_front_matter_rules_are_told_apart() -> None:
    found = pieces("Title\n=====\n\ntext\n\nPart\n----\n\nmore\n\n---\n\nend")
    assert [(p.headings, p.text) for p in found] == [
        (("Title",), "text"),
        (("Title", "Part"), "more\n\nend"),
    ]


def test_signs_within_fenced_code_are_no_headings() -> None:
    (found,) = pieces("```sh\n# a comment\nls | wc\n```")
    assert found.text == "# a comment\nls | wc"


@pytest.mark.parametrize("sentence", [ZH, EN])
def test_a_long_text_is_cut_between_sentences_with_an_overlap(sentence: str) -> None:
    found = list(pack_units([Block(sentence * 60)]))
    assert len(found) > 2
    assert all(len(text) <= SIZE for text in found)
    assert all(text.rstrip()[-1] in "。！？.?!" for text in found)
    for before, after in pairwise(found):
        shared = tail(before)
        assert 0 < len(shared) <= OVERLAP
        assert after.startswith(shared)


def test_nothing_is_lost_whatever_the_text() -> None:
    chance = random.Random(7)
    alphabet = "钠离子电池。，！ abc def. Ghi, 12.5\n"
    for _ in range(200):
        blocks = [
            Block("".join(chance.choices(alphabet, k=chance.randrange(3000))))
            for _ in range(chance.randrange(1, 5))
        ]
        found = list(pack_units(blocks))
        assert all(0 < len(text) <= SIZE for text in found)
        held = "".join("".join(found).split())
        parts = [part for block in blocks for part in sentence_texts(block.text)]
        assert all("".join(part.split()) in held for part in parts if len(part) < SIZE)


def test_a_word_longer_than_a_stretch_is_cut_anywhere() -> None:
    found = list(pack_units([Block("x" * 2000)]))
    assert [len(text) for text in found] == [800, 800, 400]


def test_a_sentence_ends_after_its_closing_quote_and_not_within_a_number() -> None:
    assert sentence_texts("他说：“好。”然后走了。") == ["他说：“好。”", "然后走了。"]
    assert sentence_texts("It is 3.75 V. So what?") == ["It is 3.75 V. ", "So what?"]


def table(rows: int) -> str:
    head = "| cell | Wh/kg |\n| --- | --- |\n"
    return head + "\n".join(f"| type {n} | {n * 10} |" for n in range(rows))


def test_a_table_that_fits_stays_whole_and_is_not_begun_in_the_middle() -> None:
    text = f"{EN * 7}\n\n{table(12)}\n\nAfter it."
    found = [piece.text for piece in pieces(text)]
    assert any(table(12) in text for text in found)


def test_a_large_table_is_cut_between_rows_under_its_head() -> None:
    found = [piece.text for piece in pieces(table(200))]
    assert len(found) > 3
    assert all(text.startswith("| cell | Wh/kg |\n| --- | --- |\n| type") for text in found)
    rows = [line for text in found for line in text.splitlines() if line.startswith("| type")]
    assert rows == [f"| type {n} | {n * 10} |" for n in range(200)]
    assert all(len(text) <= SIZE for text in found)


def test_a_table_in_html_becomes_rows() -> None:
    text = "<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>钠</td></tr></table>"
    assert [piece.text for piece in pieces(text)] == ["| a | b |\n| --- | --- |\n| 1 | 钠 |"]


def test_links_and_pictures_are_their_texts() -> None:
    text = "See [the page](https://example.org/a_(b)) and ![a cell](data:image/png;base64,AAAA)."
    assert [piece.text for piece in pieces(text)] == ["See the page and a cell."]


@pytest.mark.parametrize(
    ("line", "level"),
    [
        ("1 Introduction", 1), ("2.1 Cells and packs", 2), ("第三章 储能", 1), ("第二节 正极", 2),
        ("一、市场概况", 1), ("（二）竞争格局", 2), ("Abstract", 1), ("参考文献", 1), ("摘 要", 1),
        ("1 25 37.5 90", 0), ("3 of the cells failed", 0), ("2024 was a good year", 0),
        ("This is a sentence.", 0), ("", 0), ("12.5 Wh", 0),
    ],
)  # fmt: skip
def test_a_heading_is_known_by_its_form(line: str, level: int) -> None:
    assert heading_level(line) == level


def test_numbered_lines_in_a_row_are_a_list() -> None:
    (block,) = plain_blocks("1 Mix the powder\n2 Press the sheet\n3 Dry the film\nThen rest.")
    assert block.level == 0
    assert block.text.startswith("1 Mix the powder")


def test_a_numbered_heading_may_follow_the_one_it_belongs_to() -> None:
    found = list(plain_blocks("2 Methods\n2.1 Cells\nThey were made by hand."))
    assert [block.level for block in found] == [1, 2, 0]


def test_lines_broken_for_the_page_are_joined_without_a_gap_in_chinese() -> None:
    assert unwrap(["宁德时代的钠离", "子电池已经量产"]) == "宁德时代的钠离子电池已经量产"
    assert unwrap(["the capa-", "city of cells", "is high."]) == "the capacity of cells is high."
    assert unwrap(["a long line of a paragraph", "short", "cells 1 2"]).count("\n") == 1


def test_lines_of_korean_keep_the_blank_between_their_words() -> None:
    first, second = "서울의 겨울은 길고 매우 춥다고 사람들이", "이야기하지만 눈이 오면 아름답다"
    assert unwrap([first, second]) == f"{first} {second}"
    assert unwrap(["北京的冬天很长也很冷但是下雪的时候", "故宫非常漂亮"]).count(" ") == 0
