"""PDF by a MinerU server: its text with pypdf's pages, and pypdf where the server fails."""

import asyncio
import io
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from pydantic import SecretStr
from pypdf import PdfReader
from pypdf.errors import PyPdfError

from agent.core.budget import Meter
from agent.core.calls import Calls
from agent.core.errors import MalformedReply, ProviderError, ProviderRefused, ProviderUnavailable
from agent.knowledge.base import own_meter
from agent.knowledge.markup import heading_level
from agent.knowledge.mineru import MinerU, place_on_pages
from agent.knowledge.split import Stretch
from agent.knowledge.types import Scope
from agent.sample.services.loopback import BODY, RefusedRequest, Service, check_bearer
from tests.support import mixed_files
from tests.support.knowledge_bench import Bench
from tests.support.served import serve_in_thread
from tests.support.standin import Standin

KEY = "canary-mineru-key"
MAX_BYTES = 200 << 20


class MineruService(Standin, Service):
    """Speak MinerU's protocol on loopback with its limits and errors; the texts are pypdf's.

    Answer after `polls` questions for the task's state, and read a scan as `scanned`.
    """

    def __init__(self, *, key: str | None = None, polls: int = 0, scanned: str = "") -> None:
        super().__init__("mineru")
        self.key, self.polls, self.scanned = key, polls, scanned
        self._tasks: dict[str, tuple[int, dict[str, Any]]] = {}
        self.app.router.add_post("/v1/file_parse", self._parse)
        self.app.router.add_get("/v1/tasks/{id}", self._state)
        self.app.router.add_get("/v1/tasks/{id}/result", self._result)

    async def _parse(self, request: web.Request) -> web.Response:
        self._check_key(request)
        if request.content_type != "application/octet-stream":
            raise RefusedRequest("Unsupported media type", 415)
        if request.content_length is None:
            raise RefusedRequest("Content-Length is required", 411)
        if request.content_length > MAX_BYTES:
            raise RefusedRequest("The file is too large", 413)
        task = uuid.uuid4().hex
        text = await asyncio.to_thread(_markdown, request[BODY]) or self.scanned
        result = _reply(task, request.query.get("filename", "file.pdf"), text)
        if not self.polls:
            return web.json_response(result)
        self._tasks[task] = (self.polls, result)
        urls = {"status_url": f"/v1/tasks/{task}", "result_url": f"/v1/tasks/{task}/result"}
        return web.json_response({"task_id": task, "status": "pending", **urls}, status=202)

    def _check_key(self, request: web.Request) -> None:
        check_bearer(request, self.key, "Invalid API key")

    async def _state(self, request: web.Request) -> web.Response:
        self._check_key(request)
        task = request.match_info["id"]
        if task not in self._tasks:
            return web.json_response({"detail": "No such task"}, status=404)
        left, reply = self._tasks[task]
        self._tasks[task] = (left - 1, reply)
        status = "processing" if left > 1 else reply["status"]
        return web.json_response({"task_id": task, "status": status})

    async def _result(self, request: web.Request) -> web.Response:
        self._check_key(request)
        _, reply = self._tasks.pop(request.match_info["id"], (0, None))
        if reply is None:
            return web.json_response({"detail": "No such task"}, status=404)
        return web.json_response(reply)


def _reply(task: str, name: str, text: str) -> dict[str, Any]:
    file: dict[str, Any] = {"name": name, "status": "completed", "error": None}
    file["content"] = {"markdown": text}
    if not text:
        file |= {"status": "failed", "content": None, "error": "the file could not be parsed"}
    status = "completed" if text else "failed"
    return {"task_id": task, "status": status, "tier": "basic", "files": [file]}


def _markdown(body: Any) -> str:
    """Return the pages as Markdown, headings marked; empty for what is no PDF."""
    if not isinstance(body, bytes):
        return ""
    try:
        pages = [page.extract_text() for page in PdfReader(io.BytesIO(body)).pages]
    except (PyPdfError, ValueError, KeyError, TypeError, AttributeError, IndexError):
        return ""
    lines = [line.strip() for page in pages for line in page.splitlines()]
    marked = [f"{'#' * heading_level(line)} {line}".strip() for line in lines]
    return "\n".join(line for line in marked if line)


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
