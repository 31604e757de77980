"""What sources hand over, made into distinct documents, and what models are shown of them."""

import json
from typing import Any

import pytest

from agent.assistants.plan_execute.documents import (
    crop_observation,
    documents_of,
    kind_and_date,
    merged_documents,
    merged_over_tasks,
    nearest_first,
    sorted_by_kind,
)
from agent.assistants.plan_execute.state import ExecutorResult, Task
from agent.core.strings import estimated_tokens
from agent.search.documents import Document

ROW = {"title": "Sodium-ion cells", "url": "https://a.example/1", "text": "An abstract."}


def paper(title: str, url: str, source: str = "openalex", **more: Any) -> Document:
    row = {"title": title, "url": url, "text": "An abstract.", "kind": "paper", **more}
    (found,) = documents_of([{**row, "source": source}], source)
    return found


@pytest.mark.parametrize(
    "value", [json.dumps([ROW]), [ROW], ROW, json.dumps(ROW)], ids=["text", "list", "dict", "json"]
)
def test_every_shape_of_a_tools_result_is_read(value: Any) -> None:
    (found,) = documents_of(value, "openalex")
    assert (found["source"], found["kind"], found["title"]) == ("openalex", "paper", ROW["title"])


@pytest.mark.parametrize(
    "value",
    [None, "", "no JSON", 7, [None, 3, "x"], {}, [{"title": "nothing to cite"}], [{"text": " "}]],
)
def test_what_holds_nothing_citable_is_dropped(value: Any) -> None:
    assert documents_of(value, "tavily") == []


def test_fields_of_the_wrong_type_are_left_out() -> None:
    wrong = {"authors": "A", "year": "2024", "pdf_url": "javascript:x", "cited_by": [], "doi": 5}
    figures = [{"name": "Revenue", "value": "3"}, None]
    odd = {**ROW, **wrong, "figures": figures, "kind": "poem"}
    (found,) = documents_of([odd], "wikipedia")
    assert set(found) == {"source", "kind", "title", "url", "text"}
    assert found["kind"] == "encyclopedia"


def test_a_document_cannot_cite_for_us() -> None:
    (found,) = documents_of([{**ROW, "text": "See [^e1-0] and [e2-1].\u200b"}], "tavily")
    assert "e1-0" not in found["text"]
    assert "\u200b" not in found["text"]


def test_a_figure_needs_unit_and_period_and_gets_the_documents_address() -> None:
    full = {"name": "Revenue", "value": "362", "unit": "bn CNY", "period": "FY2024"}
    (found,) = documents_of([{**ROW, "figures": [full, {**full, "unit": ""}]}], "akshare")
    assert found["figures"] == [{**full, "url": ROW["url"]}]


def test_the_same_paper_of_two_catalogues_is_one_by_doi() -> None:
    one = paper("Layered oxides", "https://openalex.org/W1", doi="10.1/AB")
    more = {"doi": "https://doi.org/10.1/ab", "pdf_url": "https://p.example/x.pdf", "year": 2024}
    other = paper("Layered cells", "https://s2.example/x", "semantic_scholar", **more)
    (merged,) = merged_documents([one, other])
    assert (merged["source"], merged["url"]) == ("openalex", "https://openalex.org/W1")
    assert (merged.get("pdf_url"), merged.get("year")) == ("https://p.example/x.pdf", 2024)


def test_the_same_paper_is_one_by_its_title_or_its_address() -> None:
    one = paper("Hard carbon anodes: a review", "https://a.example/1")
    titled = paper("Hard Carbon Anodes — A Review", "https://b.example/2", "semantic_scholar")
    linked = paper("Another name for it", "https://b.example/2/")
    assert len(merged_documents([one, titled, linked])) == 1


def test_a_doi_in_an_address_counts() -> None:
    one = paper("Paper number one here", "https://doi.org/10.5/XY")
    other = paper("Its other name is this", "https://s2.example/9", doi="10.5/xy")
    assert len(merged_documents([one, other])) == 1


def test_short_titles_and_other_kinds_are_not_taken_for_the_same() -> None:
    short = [paper("Erratum", "https://a.example/1"), paper("Erratum", "https://a.example/2")]
    title = "Sodium-ion battery technology"
    page = {"title": title, "text": "A page.", "url": "https://w.example/1", "kind": "page"}
    kinds = [paper(title, "https://a.example/3"), *documents_of([page], "tavily")]
    assert len(merged_documents(short)) == 2
    assert len(merged_documents(kinds)) == 2


def test_the_longer_text_is_kept() -> None:
    one = paper("Hard carbon anodes: a review", "https://a.example/1", text="Short.")
    other = paper("Hard carbon anodes: a review", "https://a.example/2", text="Much longer.")
    assert merged_documents([one, other])[0]["text"] == "Much longer."


def task(query: str) -> Task:
    return Task(id="T1", query=query, dep=[])


def document(title: str, text: str, kind: str = "page") -> Document:
    row = {"title": title, "text": text, "url": f"https://x.example/{title}", "kind": kind}
    (found,) = documents_of([row], "wikipedia" if kind == "encyclopedia" else "tavily")
    return found


def titles(documents: list[Document]) -> list[str]:
    return [each["title"] for each in documents]


def test_pages_come_in_the_order_of_the_words_they_share_and_none_is_left_out() -> None:
    found = [
        document("博物馆", "杭州的博物馆周一闭馆。"),
        document("钠电", "钠离子电池在降价。"),
        document("成本", "钠离子电池的成本与价格。"),
    ]
    assert titles(nearest_first(found, task("钠离子电池 成本 价格"))) == ["成本", "钠电", "博物馆"]


def test_pages_with_about_as_many_words_keep_the_order_of_the_search() -> None:
    found = [
        document("降价", "钠离子电池成本。"),
        document("全部", "钠离子电池成本与价格。"),
        document("旁及", "钠离子电池。"),
    ]
    query = "钠离子电池 成本 价格 2026 储能系统"
    assert titles(nearest_first(found, task(query))) == ["降价", "全部", "旁及"]


def test_what_several_tasks_found_stays_where_it_bears_most() -> None:
    cost, safety = document("成本", "钠离子电池成本。"), document("安全", "钠离子电池安全。")
    cost["id"], safety["id"] = "w1-0", "w2-0"
    results = [
        ExecutorResult(task=f"T{n}", query="", status="done", documents=[cost, safety], rerank="",
                       papers=[], decisions=[])
        for n in (1, 2)
    ]  # fmt: skip
    merged = merged_over_tasks(results, [task("钠离子电池 安全"), task("钠离子电池 成本")])
    assert [titles(result["documents"]) for result in merged] == [["安全"], ["成本"]]
    # What the other task answers is named, so that nobody takes the question for unanswered.
    assert [result.get("elsewhere") for result in merged] == [["w1-0"], ["w2-0"]]


def test_a_paper_belongs_to_the_narrow_task_and_not_to_the_broad_one_that_has_fewer_words() -> None:
    found = document("正极", "钠离子电池的层状氧化物正极。")
    results = [
        ExecutorResult(task=f"T{n}", query="", status="done", documents=[found], rerank="",
                       papers=[], decisions=[])
        for n in (1, 2)
    ]  # fmt: skip
    tasks = [task("钠离子电池"), task("钠离子电池 正极 材料 2026 供应商")]
    assert [titles(r["documents"]) for r in merged_over_tasks(results, tasks)] == [[], ["正极"]]


def test_documents_are_sorted_by_kind_and_keep_their_order_within_one() -> None:
    kinds = ("page", "paper", "filing", "encyclopedia", "statement")
    rows = [
        documents_of([{**ROW, "kind": kind, "title": f"{kind}{n}"}], "x")[0]
        for n in range(2)
        for kind in kinds
    ]
    titles = [document["title"] for document in sorted_by_kind(rows)]
    assert titles[:4] == ["statement0", "statement1", "filing0", "filing1"]
    assert titles[-2:] == ["page0", "page1"]


def test_a_page_is_told_with_its_site_and_day() -> None:
    page = document("RDS", "RCU")
    page["published"] = "2023-09-12T00:00"
    assert (
        kind_and_date(page, "en", site="help.aliyun.com") == "web page, help.aliyun.com, 2023-09-12"
    )
    assert kind_and_date(page, "en") == "web page, 2023-09-12"


def test_an_observation_says_what_matters_of_each_kind() -> None:
    figure = {"name": "Revenue", "value": "362", "unit": "bn CNY", "period": "FY2024"}
    filing = documents_of([{**ROW, "kind": "filing", "figures": [figure]}], "sec_edgar")
    study = [paper("Hard carbon", "https://a.example/1", year=2024, cited_by=31)]
    shown = crop_observation([*filing, *study], "en", tokens=500)
    assert "SEC EDGAR; filing" in shown
    assert "Revenue: 362 bn CNY (FY2024)" in shown
    assert "paper, 2024; ×31" in shown


def test_an_observation_is_cropped_to_its_tokens() -> None:
    many = [
        paper(f"Paper number {n}", f"https://a.example/{n}", text="长" * 5000) for n in range(40)
    ]
    shown = crop_observation(many, "zh", tokens=300)
    assert estimated_tokens(shown) <= 300
    assert 1 < shown.count("Paper number") < 10
    assert estimated_tokens(crop_observation(many, "zh", tokens=20)) <= 20


def test_an_observation_without_documents_says_so() -> None:
    assert crop_observation([], "en", tokens=100) == "Nothing was found."
