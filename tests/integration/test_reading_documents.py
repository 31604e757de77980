"""Reading whole documents: HTML and PDF are read by processes with limits."""

import asyncio
import io
import os
import subprocess
import sys
import time
import zlib
from collections import defaultdict
from collections.abc import Iterator
from contextvars import copy_context
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pypdf import PdfWriter

from agent.assistants.common.reading import OpenedPage, read_side_by_side
from agent.assistants.common.services import Services
from agent.core.calls import Calls
from agent.core.errors import AgentError, UnsafeUrl
from agent.core.telemetry import STEP, NodeStep
from agent.reading.confined import environment
from agent.reading.reader import Article
from agent.runs.reply_cache import ReplyCache
from agent.sample.records import load_sample
from agent.services import build_services
from agent.settings import read_settings
from tests.support import office_files as files
from tests.support import started_once
from tests.support.meters import meter
from tests.support.reading import Outside, assembled, outside_fixture, simple_pdf  # noqa: F401

PDF = "application/pdf"
GUIDE = "<title>Guide</title><main><h1>Guide</h1><p>{}</p></main>"


@pytest.fixture(autouse=True)
def own_readers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No test here begins with a process that another one has started."""
    own: started_once.Idle = defaultdict(list)
    monkeypatch.setattr(started_once, "IDLE", own)
    yield
    started_once.end_readers(own)


async def refusal(outside: Outside, body: bytes, kind: str = PDF, **limits: Any) -> str:
    with pytest.raises(AgentError) as caught:
        await outside.reader(**limits).read(outside.put("/a", body, kind), meter=meter())
    return caught.value.code


def readers() -> set[str]:
    """Return the processes that read for this one and have not ended."""
    found = subprocess.run(
        ["ps", "--ppid", str(os.getpid()), "-o", "pid=,args="], capture_output=True, text=True
    )
    lines = found.stdout.splitlines()
    return {line.split()[0] for line in lines if "agent.reading.worker" in line}


async def test_an_article_says_where_it_is_from(outside: Outside) -> None:
    outside.put("/a", GUIDE.format("西湖门票免费，灵隐寺 75 元。" * 20).encode())
    asked = outside.url("/to/302?url=/a")
    article = await outside.reader().read(asked, meter=meter())
    assert (article.url, article.final_url) == (asked, outside.url("/a"))
    assert (article.title, article.kind, article.partial) == ("Guide", "html", False)
    assert "灵隐寺 75 元" in article.text


LEASE, BUDGET, DECK = map(files.kept, ("lease.docx", "budget.xlsx", "deck.pptx"))
OFFICE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"


@pytest.mark.parametrize(
    ("body", "kind", "title", "words"),
    [
        (LEASE, OFFICE, "Lease wordtitle", "| 研发部 worddept | 101 |"),
        (
            BUDGET,
            "application/octet-stream",
            "",
            "| 研发部 worddept | ¥1,234.50 |",
        ),
        (DECK, "application/zip-compressed", "", None),
        (b"{\\rtf1 wordrtf}", "application/msword", "", "wordrtf"),
        ('[{"站": "一"}, {"站": "二"}]'.encode(), "application/json", "", "站: 一\n站: 二"),
    ],
)
async def test_a_document_of_office_behind_an_address_is_read(
    outside: Outside, body: bytes, kind: str, title: str, words: str | None
) -> None:
    if words is None:
        assert await refusal(outside, body, kind) == "page_kind"
        return
    article = await outside.reader().read(outside.put("/a", body, kind), meter=meter())
    assert article.title == title
    assert words in article.text


@pytest.mark.parametrize(
    ("body", "kind", "code"),
    [
        (files.OLE + "WordDocument".encode("utf-16-le"), "application/msword", "page_kind"),
        (files.package({"a.txt": "words"}), "application/octet-stream", "page_kind"),
        (LEASE[:9_000], OFFICE, "page_kind"),
        (files.open_document("text", "", "<manifest:encryption-data/>"), OFFICE, "page_encrypted"),
    ],
)
async def test_a_document_of_office_that_cannot_be_read_says_why(
    outside: Outside, body: bytes, kind: str, code: str
) -> None:
    assert await refusal(outside, body, kind) == code


async def test_a_large_page_is_read_up_to_what_is_kept(outside: Outside) -> None:
    body = GUIDE.format("</p><p>".join(f"Sentence number {n} of many." for n in range(20_000)))
    article = await outside.reader().read(outside.put("/a", body.encode()), meter=meter())
    assert (article.title, article.partial, len(article.text)) == ("Guide", True, 200_000)
    assert "Sentence number 999 of many." in article.text


async def test_a_page_that_keeps_its_parser_busy_is_ended(outside: Outside) -> None:
    attributes = " ".join(f"a{n}='x'" for n in range(90_000))
    before, started = readers(), time.monotonic()
    code = await refusal(outside, f"<p {attributes}>x</p>".encode(), "text/html", seconds=1)
    assert code == "timeout"
    assert time.monotonic() - started < 60
    assert readers() <= before


async def test_a_small_page_that_keeps_its_parser_busy_is_ended_too(outside: Outside) -> None:
    table = f"<table><tr>{'<td colspan=1000>x' * 8000}</table>"
    assert await refusal(outside, table.encode(), "text/html", seconds=1) == "timeout"


async def test_a_page_gives_no_more_text_than_twice_its_own_length(outside: Outside) -> None:
    table = f"<table><tr>{'<td colspan=1000>x' * 100}</table>"
    article = await outside.reader().read(outside.put("/a", table.encode()), meter=meter())
    assert (len(article.text) <= 2 * len(table), article.partial) == (True, True)


async def test_pages_are_read_by_processes_that_are_used_again(outside: Outside) -> None:
    before, reader = readers(), outside.reader()
    for number in range(6):
        url = outside.put(f"/{number}", GUIDE.format(f"Page {number}.").encode())
        assert f"Page {number}." in (await reader.read(url, meter=meter())).text
    assert len(readers() - before) == 1


async def test_pages_of_one_owner_leave_a_process_to_another(outside: Outside) -> None:
    busy = f"<table><tr>{'<td colspan=1000>x' * 8000}</table>".encode()
    urls = [outside.put(f"/{n}", busy) for n in range(4)]
    reader, context = outside.reader(), copy_context()
    context.run(STEP.set, NodeStep("agent", "web_research", owner="anna"))
    reading = [
        asyncio.create_task(reader.read(url, meter=meter()), context=context) for url in urls
    ]
    url = outside.put("/b", GUIDE.format("Words of the guide.").encode())
    async with asyncio.timeout(60):
        await asyncio.wait(reading, return_when=asyncio.FIRST_COMPLETED, timeout=0)
        article = await reader.read(url, meter=meter())
    assert "Words of the guide." in article.text
    assert not any(task.done() for task in reading)
    for task in reading:
        task.cancel()
    await asyncio.gather(*reading, return_exceptions=True)


async def test_a_cancelled_reading_leaves_no_process(outside: Outside) -> None:
    attributes = " ".join(f"a{n}='x'" for n in range(90_000))
    url, before = outside.put("/a", f"<p {attributes}>x</p>".encode()), readers()
    task = asyncio.create_task(outside.reader().read(url, meter=meter()))
    async with asyncio.timeout(120):
        while not await asyncio.to_thread(readers) - before:
            pass
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert readers() <= before


async def test_a_pdf_is_read_with_its_title(outside: Outside) -> None:
    article = await outside.reader().read(outside.put("/a", simple_pdf(3), PDF), meter=meter())
    assert (article.kind, article.title, article.partial) == ("pdf", "A guide", False)
    assert article.text.count("Ticket price 40 yuan") == 3


async def test_of_five_thousand_pages_the_first_two_hundred_are_read(outside: Outside) -> None:
    url = outside.put("/a", simple_pdf(5000), PDF)
    article = await outside.reader().read(url, meter=meter())
    assert article.partial
    assert article.text.count("Ticket price") == 200


async def test_a_locked_pdf_is_told(outside: Outside) -> None:
    writer, written = PdfWriter(), io.BytesIO()
    writer.add_blank_page(100, 100)
    writer.encrypt("a word", algorithm="RC4-128")
    writer.write(written)
    assert await refusal(outside, written.getvalue()) == "page_encrypted"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"%PDF-1.7\nnothing that follows", "page_unreadable"),
        (simple_pdf(2)[:300], "page_unreadable"),
        (b"<html>an error page</html>", "page_unreadable"),
        (simple_pdf(2, text=""), "page_empty"),
    ],
)
async def test_a_pdf_that_cannot_be_read_is_told(outside: Outside, body: bytes, code: str) -> None:
    assert await refusal(outside, body) == code


async def test_a_pdf_that_unpacks_to_gigabytes_costs_little(outside: Outside) -> None:
    packer = zlib.compressobj(9)
    zeros = b" " * (1 << 20)
    stream = b"".join([*(packer.compress(zeros) for _ in range(1024)), packer.flush()])
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [4 0 R] /Count 1 >>",
        b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 3 0 R /Resources << >> >>",
        b"<< /Title (Bomb) >>",
    ]
    before, started = readers(), time.monotonic()
    code = await refusal(outside, assembled(objects), seconds=5)
    assert code in {"page_too_complex", "page_unreadable", "page_empty", "timeout"}
    assert time.monotonic() - started < 60
    assert len(readers() - before) <= 1


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited on Linux only")
async def test_a_reader_without_memory_ends_alone(outside: Outside) -> None:
    body = GUIDE.format("</p><p>".join(["words"] * 200_000)).encode()
    code = await refusal(outside, body, "text/html", megabytes=90)
    assert code in {"page_too_complex", "page_unreadable"}


async def test_a_page_without_text_is_told(outside: Outside) -> None:
    assert await refusal(outside, b"<html><script>1</script></html>", "text/html") == "page_empty"


async def test_plain_text_is_read_in_its_own_encoding(outside: Outside) -> None:
    url = outside.put("/a", "只是文字".encode("gbk"), "text/plain; charset=gbk")
    article = await outside.reader().read(url, meter=meter())
    assert (article.text, article.kind) == ("只是文字", "text")


async def test_the_process_that_reads_gets_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "CANARY-gemini")
    assert "CANARY" not in str(environment())


async def test_the_links_of_a_page_come_in_full_without_menus_scripts_and_itself(
    outside: Outside,
) -> None:
    body = (
        '<nav><a href="/home">Home page</a></nav><p><a href="terms?x=1#fees">The <b>terms</b></a>'
        ' <a href="javascript:alert(1)">a script</a> <a href="#top">top of page</a>'
        ' <a href="https://elsewhere.example/a">elsewhere</a> <a href="http://[">broken</a></p>'
    )
    url = outside.put("/docs/a", GUIDE.format(body).encode())
    article = await outside.reader().read(url, meter=meter())
    assert article.links == {
        outside.url("/docs/terms?x=1"): "The terms",
        "https://elsewhere.example/a": "elsewhere",
    }


async def test_one_failure_does_not_stop_the_others(outside: Outside) -> None:
    good = [outside.put(f"/{n}", GUIDE.format(f"Page {n} has words.").encode()) for n in range(5)]
    gone, wrong = outside.url("/gone"), "http://127.0.0.1/"
    web = SimpleNamespace(can_extract=False)
    services: Any = SimpleNamespace(reader=outside.reader, web=web)
    read = await read_side_by_side([*good, gone, wrong, good[0]], services, meter(), parallel=3)
    assert [url for url, page in read.items() if isinstance(page, OpenedPage)] == good
    assert {url: page.code for url, page in read.items() if isinstance(page, AgentError)} == {
        gone: "page_gone",
        wrong: "unsafe_url",
    }


async def test_what_was_read_in_a_turn_is_read_once_also_after_a_crash(
    outside: Outside, tmp_path: Path
) -> None:
    url = outside.put("/a", GUIDE.format("Words of the guide.").encode())
    read: list[Article] = []
    for _ in range(2):
        reply_cache = ReplyCache(tmp_path)
        reader = outside.reader(calls=Calls(reply_cache=reply_cache))
        read.append(await reader.read(url, meter=meter()))
        await reply_cache.aclose()
    assert read[0] == read[1]
    assert outside.asked() == ["/a"]


@pytest.fixture(scope="module")
def offline(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    folder = tmp_path_factory.mktemp("offline")
    services = build_services(read_settings(tanlu_mode="offline", tanlu_data_dir=folder))
    yield services
    assert services.sample is not None
    services.sample.stop()


async def test_offline_every_sample_page_is_read_whole(offline: Services) -> None:
    pages = load_sample().pages
    articles = [await offline.reader().read(page.url, meter=meter()) for page in pages]
    assert [(a.url, a.title) for a in articles] == [(p.url, p.title) for p in pages]
    texts = zip(articles, pages, strict=True)
    assert [page.url for article, page in texts if page.text not in article.text] == []


async def test_offline_the_sample_opens_no_other_way_inside(offline: Services) -> None:
    assert offline.sample is not None
    for url in (*offline.sample.origins.values(), "http://x.sample.tanlu.invalid/"):
        with pytest.raises(UnsafeUrl):
            await offline.reader().read(url, meter=meter())
