"""Pages of the sample are found by what they are about, and by nothing else."""

import pytest

from agent.sample.corpus import search_pages
from agent.sample.records import load_sample


@pytest.mark.parametrize(
    "query",
    [
        "量子色动力学晶格计算",
        "sourdough hydration in Patagonia",
        "best coffee in Patagonia",
        "东京 亲子 餐厅",
        "巴黎 门票 预约 开放时间",
        "London metro tickets",
        "北京天气",
        "who won the 1998 world cup",
        "",
        "的了吗",
    ],
)
def test_a_query_outside_the_sample_finds_no_page(query: str) -> None:
    assert search_pages(query) == []


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("王府井附近适合遛娃的好去处", "wangfujing-kids"),
        ("杭州西湖 门票", "westlake-tickets"),
        ("杭州西湖 避坑", "westlake-pitfalls"),
        ("杭州西湖怎么停车", "westlake-transport"),
        ("上海迪士尼 停车", "disney-transport"),
        ("coffee near the Bund", "bund-coffee-en"),
        ("成都带孩子玩", "kuanzhai-kids"),
        ("What is LangGraph?", "general-langgraph-en"),
        ("LangGraph 是什么", "general-langgraph-zh"),
        ("sodium-ion batteries cost vs lithium 2026", "general-sodium-en"),
        ("钠离子电池 产业化 宁德时代", "general-sodium-zh"),
        ("how do vaccines work", "general-vaccines"),
        ("茶的历史", "general-tea-zh"),
    ],
)
def test_a_query_finds_the_page_on_it_first(query: str, first: str) -> None:
    assert search_pages(query)[0].id == first


def test_every_page_is_found_by_its_own_title() -> None:
    for page in load_sample().pages:
        found = search_pages(page.title.split("] ", 1)[1], language=page.language, limit=3)
        assert page.id in {other.id for other in found}, page.id


def test_pages_of_another_city_are_left_out() -> None:
    found = search_pages("上海亲子游")
    assert found
    assert {page.id.split("-")[0] for page in found} <= {"bund", "disney"}


def test_a_search_keeps_to_its_language_and_limit() -> None:
    found = search_pages("西湖", language="zh", limit=3)
    assert len(found) == 3
    assert {page.language for page in found} == {"zh"}


def test_a_search_of_a_very_long_text_ends() -> None:
    assert search_pages("王府井 " * 50_000)
