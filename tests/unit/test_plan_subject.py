"""Whom a task is about, and how each source is asked for it."""

from agent.assistants.plan_execute.subject import (
    companies_of,
    latin_name,
    listed_name,
    queries_for,
)


def test_a_company_has_several_names_and_there_may_be_several_companies() -> None:
    first, second = companies_of("宁德时代 / CATL / 300750；比亚迪（BYD）")
    assert (first, second) == (("宁德时代", "CATL", "300750"), ("比亚迪", "BYD"))
    assert [latin_name(names) for names in (first, second, ("青岚",))] == ["CATL", "BYD", ""]
    assert listed_name(first) == "宁德时代"
    assert listed_name(("CATL", "300750")) == "300750"
    assert listed_name(("CATL",)) == "CATL"
    assert companies_of(" / ;") == []


def test_a_source_is_asked_in_its_language() -> None:
    queries = ["钠离子电池 成本", "钠离子电池 价格 2026", "sodium-ion battery cost"]
    assert queries_for("wikipedia", queries) == [queries[0], queries[2]]
    assert queries_for("openalex", queries) == [queries[2]]
    assert queries_for("semantic_scholar", queries[:2]) == [queries[0]]
    assert queries_for("tavily", queries) == queries
