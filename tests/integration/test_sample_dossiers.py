"""The bundled subjects through the real graph, in both languages: a company, a technology, a place.

All dossiers are asked of one deployment, into whose knowledge base the bundled documents were read.
"""

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from agent.assistants.common.services import Services
from agent.assistants.plan_execute.graph import build_graph
from agent.assistants.plan_execute.state import PlanConfiguration
from agent.knowledge.files import Destination
from agent.sample.services.pages import sample_documents
from agent.services import build_services
from agent.settings import read_settings
from tests.support.meters import meter

COMPANY = "宁德时代钠离子电池的技术路线与同行相比如何"
TECHNOLOGY_EN = "Sodium-ion batteries: chemistry, cost and uses"
PLACE = "杭州西湖的历史、保护与游览"
SUBJECTS = (COMPANY, TECHNOLOGY_EN, PLACE)
UNKNOWN = "克莱因瓶的拓扑性质与证明"
Dossiers = dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("dossiers")


@pytest.fixture(scope="module")
def dossiers(folder: Path) -> Dossiers:
    """The last message of each subject."""
    return asyncio.run(_ask_all(folder))


async def _ask_all(folder: Path) -> Dossiers:
    services = _services(folder)
    try:
        ingest = await services.knowledge().ingest([sample_documents()], target=Destination("own"))
        assert not (await ingest.run()).failed
        states = await asyncio.gather(*(_ask(services, question) for question in SUBJECTS))
        nothing = await _ask(services, UNKNOWN)
        return {**dict(zip(SUBJECTS, states, strict=True)), UNKNOWN: nothing}
    finally:
        await services.aclose()


def _services(folder: Path) -> Services:
    return build_services(read_settings(tanlu_mode="offline", tanlu_data_dir=folder))


async def _ask(services: Services, question: str, **more: Any) -> dict[str, Any]:
    graph = build_graph(lambda: services).compile()
    given: Any = {"messages": [HumanMessage(question)], **more}
    # The map's server needs Node; its tests are those of the command line.
    state = await graph.ainvoke(given, context=PlanConfiguration(geo_routing="never"))
    answer = state["messages"][-1]
    return {"text": str(answer.text), **answer.additional_kwargs}


def kinds(dossier: dict[str, Any]) -> set[str]:
    """As a reader tells them apart: the encyclopedia and the web are two."""
    encyclopedias = {"维基百科", "Wikipedia"}
    return {
        "encyclopedia" if source["provider"] in encyclopedias else source["kind"]
        for source in dossier["sources"]
    }


@pytest.mark.parametrize("question", SUBJECTS)
def test_a_dossier_cites_the_encyclopedia_documents_and_more(
    dossiers: Dossiers, question: str
) -> None:
    found = dossiers[question]
    assert {"encyclopedia", "document"} <= kinds(found)
    assert len(kinds(found)) >= 3
    assert found["gaps"] == []
    assert not found["degraded"]


@pytest.mark.parametrize("question", SUBJECTS)
def test_downloaded_papers_are_cited_by_their_page(dossiers: Dossiers, question: str) -> None:
    found = dossiers[question]
    papers = [s for s in found["sources"] if s["url"].startswith("https://sample.tanlu.invalid/pa")]
    assert any(re.search(r"\.pdf#page=\d$", source["url"]) for source in papers)
    assert all(re.search(r"(，第 \d 页|, p\. \d)$", s["title"]) for s in papers if "#" in s["url"])
    assert found["checks"]["papers"] >= 1


@pytest.mark.parametrize("question", SUBJECTS)
def test_own_documents_are_cited_by_their_file(dossiers: Dossiers, question: str) -> None:
    titles = [source["title"] for source in dossiers[question]["sources"]]
    assert any(re.search(r"\(documents/[\w-]+\.(md|txt|csv)\)$", title) for title in titles)


@pytest.mark.parametrize("question", SUBJECTS)
def test_no_figure_is_one_that_its_source_lacks(dossiers: Dossiers, question: str) -> None:
    found = dossiers[question]
    assert found["checks"]["unverified_figures"] == 0
    assert found["checks"]["unknown_ids_removed"] == 0
    assert "[^" not in found["text"]


@pytest.mark.parametrize("question", SUBJECTS)
def test_each_statement_of_a_dossier_is_judged_and_headings_state_nothing(
    dossiers: Dossiers, question: str
) -> None:
    assert dossiers[question]["checks"]["claims"]["unchecked"] == 0


@pytest.mark.parametrize("question", [TECHNOLOGY_EN])
def test_an_english_dossier_is_in_english(dossiers: Dossiers, question: str) -> None:
    body = dossiers[question]["text"].partition("\n\n**")[0]
    assert not re.search("[一-鿿]", body)


def test_a_company_has_its_figures_with_unit_and_period(dossiers: Dossiers) -> None:
    text = dossiers[COMPANY]["text"]
    assert "| 营业总收入（示例值） | 3620.13 | 亿元 | 2024-12-31 |" in text
    assert "filing" in kinds(dossiers[COMPANY])


def test_own_documents_on_other_subjects_do_not_answer_a_question(dossiers: Dossiers) -> None:
    found = dossiers[UNKNOWN]
    assert found["sources"] == []
    assert "没有" in found["text"]


def test_sample_papers_and_documents_stay_out_of_the_operators_own_knowledge(
    dossiers: Dossiers, folder: Path
) -> None:
    assert dossiers
    assert list(folder.glob("*/papers/*.pdf"))
    assert {path.parent.name for path in folder.rglob("*") if path.is_file()} == {
        "sample",
        "papers",
    }


async def test_statements_of_chinese_companies_need_no_library_offline(folder: Path) -> None:
    services = _services(folder)
    try:
        assert "akshare" in services.library().offered()
        found = await services.library().search("akshare", "比亚迪 营收", meter=meter())
        assert [document["kind"] for document in found] == ["statement", "page"]
        assert found[0]["figures"][0]["unit"] == "亿元"
        assert await services.library().search("akshare", "无名公司", meter=meter()) == []
    finally:
        await services.aclose()
