"""Whom a task is about, and which texts concern it."""

import pytest

from agent.assistants.plan_execute.state import Task
from agent.assistants.plan_execute.subject import (
    companies_of,
    latin_name,
    listed_name,
    names_company,
    queries_for,
    subject_of,
)


def test_a_company_has_several_names_and_there_may_be_several_companies() -> None:
    first, second = companies_of("宁德时代 / CATL / 300750；比亚迪（BYD）")
    assert (first, second) == (("宁德时代", "CATL", "300750"), ("比亚迪", "BYD"))
    assert [latin_name(names) for names in (first, second, ("青岚",))] == ["CATL", "BYD", ""]
    assert listed_name(first) == "宁德时代"
    assert listed_name(("CATL", "300750")) == "300750"
    assert listed_name(("CATL",)) == "CATL"
    assert companies_of(" / ;") == []


@pytest.mark.parametrize(
    ("name", "text", "named"),
    [
        ("青岚公司", "青岚的钠离子电池", True),
        ("青岚公司", "青岚公司2025年年报", True),
        ("青岚公司", "青岚物流有限公司的仓库", False),
        ("青岚公司", "青云公司的钠离子电池", False),
        ("宁德时代新能源科技股份有限公司", "宁德时代新能源科技今年扩产", True),
        ("Nordvik Logistics", "Incident review (NORDVIK\nLogistics)", True),
        ("Nordvik Logistics", "Nordvik Shipping and its logistics", False),
        ("Qinglan Inc.", "Qinglan reported revenues.", True),
        ("Qinglan Inc.", "Qinglanese cooking", False),
        ("300750", "代码 300750。", True),
    ],
)
def test_a_company_is_named_in_full(name: str, text: str, named: bool) -> None:
    assert names_company(name, text) is named


def test_a_source_is_asked_in_its_language() -> None:
    queries = ["钠离子电池 成本", "钠离子电池 价格 2026", "sodium-ion battery cost"]
    assert queries_for("wikipedia", queries) == [queries[0], queries[2]]
    assert queries_for("openalex", queries) == [queries[2]]
    assert queries_for("semantic_scholar", queries[:2]) == [queries[0]]
    assert queries_for("tavily", queries) == queries


def test_without_a_company_a_text_must_bear_on_a_query_of_its_language() -> None:
    task = Task(id="T1", query="钠离子电池 成本", dep=[])
    assert subject_of(task).concerns("钠离子电池的成本在下降。")
    assert not subject_of(task).concerns("杭州博物馆周一闭馆。")
    assert subject_of(task).concerns("Sodium-ion cells and their price")
    task["queries"] = ["sodium-ion cell price"]
    assert not subject_of(task).concerns("Museums in Hangzhou are closed on Mondays.")


def test_a_page_on_the_market_of_a_company_need_not_name_it() -> None:
    price = "2026年 钠离子储能系统 中标价 元/Wh 磷酸铁锂 储能系统 均价"
    task = Task(id="T2", query="澄远储能 成本", dep=[], company="澄远储能", queries=[price])
    market = "钠电储能中标价回落\n多个项目的钠离子储能系统中标均价为 0.672 元/Wh。"
    assert subject_of(task).concerns(market)
    assert not subject_of(task).concerns(market, origin="own")
    assert not subject_of(task).concerns(f"青岚储能股份有限公司年报\n{market}")
    assert not subject_of(task).concerns("杭州博物馆\n周一闭馆。")


def test_a_page_of_the_rules_passes_where_products_were_named_as_companies() -> None:
    query = "exactly-once submission idempotency customs declaration external API workflow retry"
    task = Task(id="T4", query=query, dep=[], company="Temporal / DBOS")
    assert subject_of(task).concerns(
        "CDS declaration guide\nA declaration with a used LRN is rejected by customs as duplicate."
    )
    assert subject_of(task).concerns("Idempotent requests\nThe API lets clients retry safely.")
    assert not subject_of(task).concerns("Museums\nClosed on Mondays.")


@pytest.mark.parametrize(
    ("company", "text"),
    [
        ("青岚公司", "叉车\n青岚物流用钠离子电池的叉车降低成本。"),
        ("Nordvik Logistics", "Nordvik Shipping\nSodium battery cost of its fleet."),
        ("Qinglan", "Natron Energy Inc. profile\nSodium battery cost."),
        ("Qinglan", "Northvolt annual report 2025\nSodium battery cost."),
    ],
)
def test_a_page_on_another_company_instead_does_not_pass(company: str, text: str) -> None:
    queries = ["钠离子电池 成本", "sodium battery cost"]
    task = Task(id="T1", query=company, dep=[], company=company, queries=queries)
    assert not subject_of(task).concerns(text)


def test_what_a_search_found_passes_by_two_words_of_a_long_query() -> None:
    query = "Temporal self-hosted production requirements Python SDK determinism"
    task = Task(id="T2", query=query, dep=[])
    readme = "temporalio/sdk-python\nWorkflows must be deterministic and run in a sandbox."
    assert subject_of(task).concerns(readme)
    assert not subject_of(task).concerns("A recipe\nA production of apple cider at home.")
