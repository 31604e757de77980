"""Texts, addresses and figures that sources bring, made safe to pass on."""

from typing import Any

import pytest

from agent.search.akshare import company_documents, newest_figures
from agent.search.akshare_worker import find_company
from agent.search.documents import doi_of, make_document, plain_passage
from agent.search.openalex import abstract_of
from tests.support.rows import by_examples

NAMES = [["300750", "宁德时代"], ["600519", "贵州茅台"], ["000002", "万  科Ａ"], ["600104", "上汽"]]


@by_examples
def test_a_doi_is_bare_and_small(given: Any, doi: str | None) -> None:
    assert doi_of(given) == doi


def test_a_passage_keeps_paragraphs_and_drops_tags_markers_and_hidden_text() -> None:
    text = "<jats:p>First\u200b &amp; <b>bold</b>.[^w0-1]</jats:p>\n\n  \nSecond\x00 [note]."
    assert plain_passage(text) == "First & bold.\nSecond [note]."
    assert plain_passage(None) == plain_passage(3) == ""
    assert len(plain_passage("x" * 100_000)) == 6000


@pytest.mark.parametrize("url", ["javascript:alert(1)", "file:///etc/passwd", "", None, 3, "x y"])
def test_a_document_needs_an_address(url: Any) -> None:
    assert make_document("wikipedia", "encyclopedia", "T", url, "text") is None


def test_what_a_source_does_not_say_is_left_out() -> None:
    document = make_document("openalex", "paper", "T", "https://a.org", "", year=None, authors=[])
    assert document == {
        "source": "openalex", "kind": "paper", "title": "T", "url": "https://a.org", "text": "",
    }  # fmt: skip


@pytest.mark.parametrize("index", [None, [], "x", {"a": None}, {"a": [None, "1", True]}])
def test_an_abstract_without_places_is_empty(index: Any) -> None:
    assert abstract_of(index) == ""


@by_examples
def test_a_query_means_the_listed_company_it_names(query: str, code: str | None) -> None:
    found = find_company(query, NAMES)
    assert (found[0] if found else None) == code


def test_a_code_is_a_company_where_the_list_could_not_be_had() -> None:
    assert find_company("300750 现金流", []) == ["300750", "300750"]


@pytest.mark.parametrize(
    ("column", "value", "figure"),
    [
        ("营业总收入", "3620.13亿", ("营业总收入", "3620.13", "亿元")),
        ("净利润", "-1.5万", ("净利润", "-1.5", "万元")),
        ("市值", "1.2万亿", ("市值", "1.2", "万亿元")),
        ("资产负债率", "65.24%", ("资产负债率", "65.24", "%")),
        ("基本每股收益", "11.58", ("基本每股收益", "11.58", "元/股")),
        ("摊薄每股收益(元)", 11.5, ("摊薄每股收益", "11.5", "元/股")),
        ("净资产收益率(%)", 24, ("净资产收益率", "24", "%")),
        ("总资产(元)", "1,234", ("总资产", "1,234", "元")),
        ("流动比率", "1.61", None),
        ("净利润", False, None),
        ("净利润", None, None),
        ("净利润", "--", None),
        ("净利润", float("nan"), None),
    ],
)
def test_a_number_is_a_figure_only_with_its_unit(
    column: str, value: Any, figure: tuple[str, str, str] | None
) -> None:
    found = newest_figures([{"报告期": "2024-12-31", column: value}], "报告期", "https://a.cn", ())
    assert [(f["name"], f["value"], f["unit"]) for f in found] == ([figure] if figure else [])
    assert all(f["period"] == "2024-12-31" for f in found)


def test_the_newest_two_periods_and_the_last_full_year_are_told() -> None:
    days = ["2025-09-30", "2025-06-30", "2025-03-31", "2024-12-31", "2024-09-30", ""]
    rows = [{"报告期": day, "净利润": "1亿"} for day in days]
    found = newest_figures(rows, "报告期", "https://a.cn", ())
    assert [figure["period"] for figure in found] == ["2025-09-30", "2025-06-30", "2024-12-31"]


def test_nothing_is_made_of_empty_tables() -> None:
    assert company_documents(["300750", "宁德时代"], {}, {"stock_news_em": "not in time"}) == []
