"""PDF by a MinerU server: its text with pypdf's pages, and pypdf where the server fails."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from agent.core.budget import Meter
from agent.core.calls import Calls
from agent.core.errors import MalformedReply, ProviderError, ProviderRefused, ProviderUnavailable
from agent.knowledge.base import own_meter
from agent.knowledge.mineru import MinerU, place_on_pages
from agent.knowledge.split import Stretch
from agent.knowledge.types import Scope
from tests.support import mixed_files
from tests.support.knowledge_bench import Bench
from tests.support.served import serve_in_thread
from tests.support.standins import MineruService

KEY = "canary-mineru-key"


class Lab:
    """A server and a knowledge base that uses it."""

    def __init__(self, service: MineruService, url: str, folder: Path) -> None:
        self.service, self.url = service, url
        self.bench = Bench(folder, mineru_url=url, mineru_api_key=SecretStr(KEY))

    def client(self, key: str = KEY) -> MinerU:
        return MinerU(self.url, SecretStr(key), Calls(), poll_seconds=0.01)

    async def asked(self, path: Path, **options: Any) -> str:
        return await self.client(**options).markdown(path, meter=own_meter())


@pytest.fixture
async def lab(tmp_path: Path) -> AsyncIterator[Lab]:
    service = MineruService(key=KEY)
    with serve_in_thread(service.app) as running:
        found = Lab(service, running.url, tmp_path)
        mixed_files.pdf(found.bench.docs / "a.pdf", 1)
        yield found
        await found.bench.aclose()


async def test_the_servers_text_is_kept_with_the_pages_it_stands_on(lab: Lab) -> None:
    assert (await lab.bench.ingest()).chunks > 0
    (request,) = lab.service.requests
    assert request.headers["Content-Type"] == "application/octet-stream"
    assert int(request.headers["Content-Length"]) > 1000
    assert request.headers["Authorization"] == f"Bearer {KEY}"
    assert request.query["output_formats"] == "markdown"
    (hit, *_) = await lab.bench.found(mixed_files.marker(1))
    assert hit.chunk["page"] is not None
    assert "metadata" in hit.document
    assert "note" not in hit.document["metadata"]


async def test_a_task_is_asked_for_until_it_is_done(lab: Lab) -> None:
    lab.service.polls = 3
    text = await lab.asked(lab.bench.docs / "a.pdf")
    assert mixed_files.marker(1) in text
    assert [request.method for request in lab.service.requests] == ["POST"] + ["GET"] * 4


@pytest.mark.parametrize("fault", ["status", "drop", "garbage", "cut_json", "empty", "html"])
async def test_a_server_that_fails_leaves_the_file_to_pypdf_and_says_so(
    lab: Lab, fault: Any
) -> None:
    lab.service.fail(fault, times=None)
    report = await lab.bench.ingest()
    (result,) = report.results
    assert result.outcome == "read"
    assert "MinerU did not read it" in result.note
    assert KEY not in result.note
    (hit, *_) = await lab.bench.found(mixed_files.marker(1))
    assert hit.chunk["page"] == 2
    assert "pypdf did" in hit.document["metadata"]["note"]


async def test_a_scan_that_pypdf_finds_no_text_in_is_read_by_the_server(lab: Lab) -> None:
    from reportlab.pdfgen.canvas import Canvas

    canvas = Canvas(str(lab.bench.docs / "scan.pdf"))
    canvas.rect(10, 10, 100, 100)
    canvas.showPage()
    canvas.save()
    lab.service.scanned = "# Scanned\n\nThe words of a scan."
    assert (await lab.bench.ingest()).failed == []
    (hit,) = await lab.bench.found("scan words")
    assert (hit.document["title"], hit.chunk["page"]) == ("Scanned", None)


async def test_a_file_that_neither_reads_fails_for_its_own_reason(lab: Lab) -> None:
    lab.bench.write("b.pdf", b"%PDF-1.7 broken")
    report = await lab.bench.ingest()
    assert [result.code for result in report.failed] == ["page_unreadable"]
    assert len(await lab.bench.base.documents(Scope())) == 1


@pytest.mark.parametrize(
    ("fault", "details", "expected"),
    [
        ("status", {"status": 503}, ProviderUnavailable),
        ("status", {"status": 413}, ProviderRefused),
        ("status", {"status": 200, "body": {"files": [None]}}, MalformedReply),
        ("status", {"status": 200, "body": {"files": [{"error": "bad page"}]}}, ProviderRefused),
        ("garbage", {}, MalformedReply),
        ("drop_mid_body", {}, ProviderUnavailable),
    ],
)
async def test_an_answer_that_is_none_is_an_error_of_ours(
    lab: Lab, fault: Any, details: dict[str, Any], expected: type[ProviderError]
) -> None:
    lab.service.fail(fault, times=None, **details)
    with pytest.raises(expected):
        await lab.asked(lab.bench.docs / "a.pdf")


async def test_a_wrong_key_is_refused_without_being_shown(lab: Lab) -> None:
    with pytest.raises(ProviderRefused) as refused:
        await lab.asked(lab.bench.docs / "a.pdf", key="canary-other")
    assert "401" in refused.value.message
    assert "canary" not in refused.value.message


async def test_the_key_is_never_sent_to_an_address_a_reply_names(lab: Lab) -> None:
    other = MineruService()
    with serve_in_thread(other.app) as elsewhere:
        body = {"task_id": "x", "status_url": f"{elsewhere.url}/v1/tasks/x"}
        lab.service.fail("status", times=1, status=202, body=body)
        with pytest.raises(ProviderRefused):
            await lab.asked(lab.bench.docs / "a.pdf")
    assert other.requests == []
    assert lab.service.requests[-1].path == "/v1/tasks/x"


async def test_doctor_is_told_whether_the_server_answers(lab: Lab) -> None:
    store, server = await lab.bench.base.health()
    assert (store["works"], store["message"]) == (True, "0 documents in 0 collections")
    assert server == {"provider": "mineru", "configured": True, "works": True,
                      "message": f"answers at {lab.url}"}  # fmt: skip
    assert not (await lab.client("wrong").health())["works"]
    lab.service.fail("drop", times=None)
    report = await lab.client().health()
    assert not report["works"]
    assert "pypdf" in report["message"]


def test_a_passage_is_on_the_page_that_has_most_of_its_wording() -> None:
    own = [
        Stretch("the capacity of the cell is high", page=1),
        Stretch("正极材料分为层状氧化物和聚阴离子两类", page=2),
    ]
    pieces = [
        Stretch("# The **capacity** of the cell"),
        Stretch("正极材料分为层状氧化物 和聚阴离子两类。"),
        Stretch("words that stand nowhere else"),
    ]
    assert [piece.page for piece in place_on_pages(pieces, own)] == [1, 2, None]


def test_the_meter_of_the_owner_never_runs_out() -> None:
    meter: Meter = own_meter()
    assert meter.remaining() > 86_400
