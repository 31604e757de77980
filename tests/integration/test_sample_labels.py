"""Every document of the sample says in its title that it is one, and links to nobody's site."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent.assistants.common.services import Services
from agent.search.documents import Document
from agent.services import build_services
from agent.settings import read_settings
from tests.support.meters import meter

QUERIES = {
    "wikipedia": ["宁德时代", "sodium-ion battery", "杭州西湖"],
    "openalex": ["宁德时代 钠离子电池", "sodium-ion battery", "West Lake"],
    "semantic_scholar": ["sodium-ion battery", "西湖"],
    "sec_edgar": ["Tanlu Sample Energy", "Tanlu Sample Motors", "sodium-ion battery cells"],
    "akshare": ["宁德时代 营收", "比亚迪"],
    "tavily": ["王府井 遛娃", "sodium-ion battery"],
}
SITE = "https://sample.tanlu.invalid/"


@pytest.fixture
async def sample(tmp_path: Path) -> AsyncIterator[Services]:
    services = build_services(read_settings(tanlu_mode="offline", tanlu_data_dir=tmp_path))
    try:
        yield services
    finally:
        await services.aclose()


@pytest.mark.parametrize("source", QUERIES)
async def test_every_document_is_labelled_and_leads_nowhere(sample: Services, source: str) -> None:
    found: list[Document] = []
    for query in QUERIES[source]:
        found += await sample.library().search(source, query, meter=meter())
    assert found
    assert [d["title"] for d in found if not d["title"].startswith(("[示例]", "[Sample]"))] == []
    links = [d["url"] for d in found] + [f["url"] for d in found for f in d.get("figures", [])]
    assert [link for link in links if not link.startswith(SITE)] == []
