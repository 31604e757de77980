"""PDFs of papers: fetched with care, checked, kept whole or not at all, each content once."""

import asyncio
from pathlib import Path

import pytest

from agent.core.calls import Calls
from agent.core.errors import BudgetExceeded, ProviderError, ProviderRefused, UnsafeUrl
from agent.reading.fetch import page_cache
from agent.reading.papers import PaperStore
from tests.support.map_fixtures import meter
from tests.support.memory_reply_cache import MemoryReplyCache
from tests.support.reading import (
    Outside,
    inside_fixture,
    names_fixture,
    outside_fixture,
    simple_pdf,
)

__all__ = ["inside_fixture", "names_fixture", "outside_fixture"]
PDF = simple_pdf(2)


def paper_store(
    outside: Outside,
    folder: Path,
    *,
    reply_cache: MemoryReplyCache | None = None,
    max_bytes: int = 1 << 20,
) -> PaperStore:
    calls = Calls(reply_cache=reply_cache)
    fetcher = outside.fetcher(calls=calls, max_bytes=max_bytes)
    vars(fetcher)["_cache"] = page_cache(0)
    return PaperStore(calls, fetcher, folder / "papers")


def kept(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "papers").iterdir())


async def test_a_paper_is_kept_under_the_name_of_its_content(
    outside: Outside, tmp_path: Path
) -> None:
    papers = paper_store(outside, tmp_path)
    one = await papers.get(outside.put("/a.pdf", PDF, "application/pdf"), meter=meter())
    same = await papers.get(outside.put("/b.pdf", PDF, "application/octet-stream"), meter=meter())
    assert one.sha256 == same.sha256
    assert kept(tmp_path) == [f"{one.sha256}.pdf"]
    assert papers.path(one).read_bytes() == PDF


async def test_a_pdf_may_begin_with_a_little_of_something_else(
    outside: Outside, tmp_path: Path
) -> None:
    url = outside.put("/a.pdf", b"\n\n junk " + PDF, "application/pdf")
    assert (await paper_store(outside, tmp_path).get(url, meter=meter())).size == len(PDF) + 8


@pytest.mark.parametrize(
    "body", [b"<html>log in</html>", b"", b"x" * 5000 + PDF, b"%PDX-1.7"], ids=range(4)
)
async def test_what_only_claims_to_be_a_pdf_is_not_kept(
    outside: Outside, tmp_path: Path, body: bytes
) -> None:
    url = outside.put("/a.pdf", body, "application/pdf")
    with pytest.raises(ProviderRefused) as caught:
        await paper_store(outside, tmp_path).get(url, meter=meter())
    assert caught.value.code == "paper_not_pdf"
    assert not (tmp_path / "papers").exists()


async def test_a_paper_that_is_too_large_is_not_read_to_its_end(
    outside: Outside, tmp_path: Path
) -> None:
    for path in ("/big", "/big?quiet"):
        with pytest.raises(ProviderRefused) as caught:
            await paper_store(outside, tmp_path).get(outside.url(path), meter=meter())
        assert caught.value.code == "too_large"
    assert outside.pages.sent < 100 << 20


async def test_no_paper_is_fetched_from_inside(
    outside: Outside, inside: Outside, tmp_path: Path
) -> None:
    hidden = inside.put("/secret.pdf", PDF, "application/pdf")
    for url in (hidden, outside.url(f"/to/302?url={hidden}"), "file:///etc/passwd"):
        with pytest.raises(UnsafeUrl):
            await paper_store(outside, tmp_path).get(url, meter=meter())
    assert inside.asked(robots=True) == []


async def test_equal_downloads_at_the_same_time_are_one(outside: Outside, tmp_path: Path) -> None:
    url, papers, own = (
        outside.put("/a.pdf", PDF, "application/pdf"),
        paper_store(outside, tmp_path),
        meter(),
    )
    await asyncio.gather(*(papers.get(url, meter=own) for _ in range(5)))
    assert outside.asked() == ["/a.pdf"]


async def test_after_a_crash_a_finished_download_is_not_repeated(
    outside: Outside, tmp_path: Path
) -> None:
    url, reply_cache = outside.put("/a.pdf", PDF, "application/pdf"), MemoryReplyCache()
    own = meter()
    first = await paper_store(outside, tmp_path, reply_cache=reply_cache).get(url, meter=own)
    again = await paper_store(outside, tmp_path, reply_cache=reply_cache).get(url, meter=own)
    assert first == again
    assert outside.asked() == ["/a.pdf"]


async def test_a_download_whose_file_is_gone_is_repeated(outside: Outside, tmp_path: Path) -> None:
    url, reply_cache = outside.put("/a.pdf", PDF, "application/pdf"), MemoryReplyCache()
    own = meter()
    papers = paper_store(outside, tmp_path, reply_cache=reply_cache)
    papers.path(await papers.get(url, meter=own)).unlink()
    assert papers.path(await papers.get(url, meter=own)).is_file()


async def test_a_cancelled_or_failed_download_leaves_no_half_file(
    outside: Outside, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = outside.put("/a.pdf", PDF, "application/pdf")
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left")))
    with pytest.raises(ProviderError, match="No space left"):
        await paper_store(outside, tmp_path).get(url, meter=meter())
    assert kept(tmp_path) == []


async def test_no_time_left_is_said_before_anything_is_fetched(
    outside: Outside, tmp_path: Path
) -> None:
    url = outside.put("/a.pdf", PDF, "application/pdf")
    with pytest.raises(BudgetExceeded):
        await paper_store(outside, tmp_path).get(url, meter=meter(seconds=0))
    assert outside.asked() == []
