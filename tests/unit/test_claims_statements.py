"""What an answer states: sentences, items, and the cells of tables, whichever way they lie."""

from dataclasses import replace

import pytest

from agent.evidence.citations import NOT_FOUND
from agent.evidence.claims.judging import batches
from agent.evidence.claims.statements import Splitter, Statement, statements
from agent.evidence.notation import MARKED
from tests.support.rows import by_examples


def plain(text: str) -> list[str]:
    return [one.plain for one in statements(text, MARKED)]


def test_markers_belong_to_the_sentence_before_them_and_are_no_words_of_it() -> None:
    first, second = statements("门票60元。[^w0-0] 周一闭馆[^w1-0]。", MARKED)
    assert (first.plain, first.cited) == ("门票60元。", ("w0-0",))
    assert (second.plain, second.cited) == ("周一闭馆。", ("w1-0",))


@by_examples
def test_headings_and_code_state_nothing(text: str, sentences: list[str]) -> None:
    assert plain(text) == sentences


TABLE = """| | 故宫 | 颐和园 |
|---|---|---|
| 门票 | 60元[^w0-0] | 30元 |
| 评分[^a0-0] | 4.8 | 4.7 |
"""


def test_a_cell_states_its_row_and_its_column_and_cites_what_their_heads_cite() -> None:
    ticket, other, rating, last = statements(TABLE, MARKED)
    assert (ticket.said, ticket.cited, ticket.name) == ("门票 故宫 60元", ("w0-0",), "1a")
    assert (other.said, other.cited) == ("门票 颐和园 30元", ())
    assert (rating.cited, last.name) == (("a0-0",), "2b")
    for cell in (ticket, other, rating, last):
        assert TABLE[cell.start : cell.end] == cell.text


@by_examples
def test_a_cell_is_lent_what_its_row_s_label_or_end_and_its_column_s_head_cite_and_no_rival_s(
    table: str, cited: dict[str, list[str]]
) -> None:
    cells = {one.plain: [*one.cited] for one in statements(table, MARKED)}
    assert {word: cells[word] for word in cited} == cited


def test_a_label_with_a_source_and_a_fact_of_its_own_is_a_statement() -> None:
    table = "| Offer | Price |\n|---|---|\n| Cover of 1.9 million euros [^o6-0] | 40 [^o6-1] |\n"
    label, price = statements(table, MARKED)
    assert (label.said, label.cited, label.name) == (
        "Offer Cover of 1.9 million euros",
        ("o6-0",),
        "1a",
    )
    assert (price.cited, price.name) == (("o6-1",), "1b")


def test_a_head_within_a_line_states_nothing_and_a_bold_sentence_does() -> None:
    assert plain("- **Beetle.** One hole is active.") == ["One hole is active."]
    assert plain("**Do not lend it.**") == ["Do not lend it."]
    assert plain("**Costs 40 euros.** It is dear.") == ["Costs 40 euros.", "It is dear."]


def test_what_is_split_while_it_streams_is_what_the_whole_text_states() -> None:
    blocks = ["# Head\n\n", "One is 3 yuan [^w0-0]. It is cheap.\n\n", f"{TABLE}\n", "Last."]
    splitter, at, found = Splitter(MARKED), 0, list[Statement]()
    for block in blocks:
        found += splitter.split(block, at)
        at += len(block)
    whole = statements("".join(blocks), MARKED)
    assert [(one.key, one.start, one.name) for one in found] == [
        (one.key, one.start, one.name) for one in whole
    ]


def test_the_words_before_a_statement_tell_what_it_is_about() -> None:
    *_, second = statements("## Tower\n\nIt opened in 1889. It is 330 m tall.", MARKED)
    assert second.context == "Tower / It opened in 1889."


@by_examples
def test_what_a_statement_is_read_with_begins_with_a_sentence_and_says_nothing_twice(
    text: str, words: str, context: str
) -> None:
    [one] = [each for each in statements(text, MARKED) if each.plain.startswith(words)]
    assert one.context == context


def test_an_item_is_told_what_its_list_stands_below_and_not_the_item_before() -> None:
    text = (
        "For lunch:\n\n- Noodles. Warm.\n- Tea:\n  - green\n  - black\n    - old\n- Rice.\n\nAll."
    )
    found = {one.plain: one.context for one in statements(text, MARKED)}
    assert found == {
        "For lunch:": "", "Noodles.": "For lunch:", "Warm.": "Noodles.", "Tea:": "For lunch:",
        "green": "Tea:", "black": "Tea:", "old": "black", "Rice.": "For lunch:", "All.": "",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("above", "context"),
    [
        ("The best walk leads over the causeway: 550 m.", "Lake"),
        ("月曜に開いている博物館は見つかりません。", "Lake"),
        ("Also open on Sunday:", "Lake / Also open on Sunday:"),
        ("还可以去的", "Lake / 还可以去的"),
    ],
)
def test_a_whole_sentence_above_a_list_does_not_tell_what_its_items_are(
    above: str, context: str
) -> None:
    text = f"## Lake\n\n{above}\n\n- **Bridge**: free\n- **Isle**: 55 yuan"
    assert {one.context for one in statements(text, MARKED) if one.kind == "item"} == {context}


def test_what_follows_a_list_or_a_table_is_not_said_in_its_words() -> None:
    text = (
        "## Visit\n\n**Lunch**\n\n- Noodles.\n\n- Tea at 30 yuan.\n\nIt opens at nine.\n\n" + TABLE
    )
    found = {one.plain: one.context for one in statements(f"{text}\n\nIt is free.", MARKED)}
    assert found["Tea at 30 yuan."] == "Lunch"
    assert found["It opens at nine."] == "Visit"
    assert found["It is free."] == "Visit"


@pytest.mark.parametrize("unit", ["a. ", "|", "| a ", "1. ", "**", "[^w0-0]", "# ", "`"])
def test_every_text_is_split_in_bounded_pieces(unit: str) -> None:
    for one in statements(unit * 3000, MARKED):
        assert len(one.text) <= 1000


def test_a_cell_without_a_source_is_judged_by_those_that_it_is_lent_and_few() -> None:
    ids = tuple(f"o1-{n}" for n in range(40))
    [cell] = [replace(one, cited=ids) for one in statements(ROW, MARKED) if not one.citations]
    assert len(cell.sources) < 5
    assert replace(cell, exact=("o1-30", "w9-9")).sources == ("o1-30",)
    assert replace(cell, exact=(NOT_FOUND,)).sources == ()


ROW = "| Bid | Price | Close |\n|---|---|---|\n| A | 40 [^o1-0] | none named |\n"


def test_a_short_form_before_a_number_ends_no_statement() -> None:
    text = "Room 2 needs inv. 1931.204 (see vols. 2 and 3, pp. 14 and 15)[^w0-0]. It hangs alone."
    assert [one.plain[:6] for one in statements(text, MARKED)] == ["Room 2", "It han"]


@by_examples
def test_a_word_with_an_apostrophe_ends_a_statement_and_an_initial_does_not(
    text: str, begin: list[str]
) -> None:
    assert [one.plain[:8] for one in statements(text, MARKED)] == begin


def test_the_cells_of_a_table_count_half_in_the_calls_that_judge_them() -> None:
    cells = " | ".join(f"{n} yuan" for n in range(1, 16))
    heads = " | ".join(f"h{n}" for n in range(1, 16))
    table = f"| x | {heads} |\n|{'---|' * 16}\n| a | {cells} |\n"
    text = "One fact.\n\n" * 11 + table
    groups = batches(statements(text, MARKED))
    assert sum(map(len, groups)) == 26
    assert all(len(group) <= 24 for group in groups)

    short = (
        "One fact.\n\n| x | a | b | c | d |\n|---|---|---|---|---|\n"
        + "| p | 1 m | 2 | 3 | 4 |\n" * 11
    )
    assert [len(group) for group in batches(statements(short, MARKED))] == [22, 23]


def test_a_bold_head_of_a_paragraph_is_context_of_all_its_sentences() -> None:
    text = "## 设备\n\n**风险。** 交货要 20 周。到期不能退。\n\n另一段。"
    contexts = [one.context for one in statements(text, MARKED)]
    assert contexts == ["设备 / 风险", "设备 / 风险 / 交货要 20 周。", "设备 / 到期不能退。"]
