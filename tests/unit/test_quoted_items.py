"""A sentence of a source in a list: a table that stands on one line has its rows again."""

import pytest
from markdown_it import MarkdownIt

from agent.assistants.common.excerpts import excerpt_lines
from agent.evidence.quotes import quoted_item

TABLE = "| Cell | Yuan | |:---|---:| | LFP | 310 | | NMC | |"


def blocks(text: str) -> list[str]:
    tokens = MarkdownIt().enable("table").parse(text)
    return [token.type for token in tokens if token.type in ("table_open", "bullet_list_open")]


def rows(text: str) -> list[list[str]]:
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_a_table_has_its_rows_again_and_its_citation_in_its_head() -> None:
    item = quoted_item(f"Prices. {TABLE} Since May.", "o0-0")
    assert rows(item) == [["Cell [^o0-0]", "Yuan"], ["---", "---"], ["LFP", "310"], ["NMC", ""]]
    assert item.splitlines()[0] == "- Prices. [^o0-0]"
    assert item.splitlines()[-1] == "- Since May. [^o0-0]"


def test_a_table_is_one_between_the_items_of_a_list() -> None:
    items = [quoted_item(text, "o0-0") for text in ("One.", TABLE, f"Two. {TABLE}", "Three.")]
    told = "\n".join(items)
    assert blocks(told).count("table_open") == 2
    assert told.count("[^o0-0]") == 5


@pytest.mark.parametrize(
    "text", ["a | b | c", "- | -", "|---|---|", "a -- b | - | c", "", "| --- |"]
)
def test_what_is_no_table_stays_as_it_is(text: str) -> None:
    assert quoted_item(text, "o0-0") == f"- {text} [^o0-0]"


def test_a_row_that_was_cut_is_told_as_words() -> None:
    item = quoted_item(f"{TABLE[:-6]} NMC…", "o0-0")
    assert rows(item)[2:] == [["LFP", "310"]]
    assert item.endswith("NMC… [^o0-0]")


def test_where_no_model_has_written_a_table_is_one_too() -> None:
    (line,) = excerpt_lines({"o0-0": [f"Prices {TABLE}"]}, "LFP prices", "en")
    assert ["LFP", "310"] in rows(line)
