"""The processes that read files: pages, headings, broken and hostile files."""

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from reportlab.pdfgen.canvas import Canvas

from agent.knowledge.file_events import ReadEvent
from agent.knowledge.formats import decoded_text, read_events
from agent.knowledge.readers import FileReaders, ReadLimits
from agent.knowledge.tables import read_table
from agent.reading.parts import CannotRead, note_text
from tests.support import mixed_files, started_once


def chunks(events: list[ReadEvent]) -> list[tuple[str, tuple[str, ...], int | None]]:
    return [chunk for event in events for chunk in event.get("chunks", [])]


async def events_of(path: Path, kind: str, limits: ReadLimits | None = None) -> list[ReadEvent]:
    async with FileReaders(1, limits) as readers:
        return [event async for event in readers.read(str(path), kind)]


def test_bookmarks_are_the_headings_of_a_pdf(tmp_path: Path) -> None:
    canvas = Canvas(str(tmp_path / "a.pdf"))
    for page, heading in enumerate(["Cells", "Packs"], 1):
        canvas.bookmarkPage(heading)
        canvas.addOutlineEntry(heading, heading, level=page - 1)
        canvas.drawString(60, 780, f"{page} {heading}")
        canvas.drawString(60, 760, f"2 kilograms are the weight of number {page}.")
        canvas.showPage()
    canvas.save()
    found = chunks(list(read_events(str(tmp_path / "a.pdf"), "pdf")))
    assert [(headings, page) for _, headings, page in found] == [
        (("a", "1 Cells"), 1),
        (("a", "1 Cells", "2 Packs"), 2),
    ]


def test_without_bookmarks_numbered_lines_are_headings_over_the_pages(tmp_path: Path) -> None:
    canvas = Canvas(str(tmp_path / "a.pdf"))
    canvas.setTitle("Microsoft Word - draft.docx")
    for lines in (["1 Introduction", "We made cells."], ["They last.", "2 Methods", "By hand."]):
        for at, line in enumerate(lines):
            canvas.drawString(60, 780 - 20 * at, line)
        canvas.showPage()
    canvas.save()
    events = list(read_events(str(tmp_path / "a.pdf"), "pdf"))
    assert events[0]["document"]["title"] == "a"
    assert [(headings[1:], text, page) for text, headings, page in chunks(events)] == [
        (("1 Introduction",), "We made cells.", 1),
        (("1 Introduction",), "They last.", 2),
        (("2 Methods",), "By hand.", 2),
    ]


async def test_a_process_reads_many_files_and_survives_broken_ones(tmp_path: Path) -> None:
    broken = tmp_path / "b.pdf"
    broken.write_bytes(b"%PDF-1.7 nothing")
    mixed_files.markdown(tmp_path / "a.md", 1)
    async with FileReaders(1) as readers:
        for _ in range(3):
            with pytest.raises(CannotRead, match="page_unreadable"):
                _ = [event async for event in readers.read(str(broken), "pdf")]
            assert [event async for event in readers.read(str(tmp_path / "a.md"), "markdown")]
        (reader,) = readers._idle
        assert reader._files == 6


async def test_a_large_parent_does_not_make_its_readers_look_tired(tmp_path: Path) -> None:
    held = b"x" * (260 << 20)
    mixed_files.markdown(tmp_path / "a.md", 1)
    async with FileReaders(1) as readers:
        for _ in range(2):
            assert [event async for event in readers.read(str(tmp_path / "a.md"), "markdown")]
        assert len(readers._idle) == 1
    assert len(held) == 260 << 20


_SLOW = """
import time
from agent.knowledge import {module}
real = {module}.{name}
def slow(*given):
    if {when}:
        time.sleep(60)
    return real(*given)
{module}.{name} = slow
"""


def patched(folder: Path, monkeypatch: pytest.MonkeyPatch, **filled: str) -> None:
    """Have the processes that are started do something else, by way of `sitecustomize`."""
    monkeypatch.setattr(started_once, "FORKED", [])
    (folder / "sitecustomize.py").write_text(_SLOW.format(**filled))
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])


async def test_a_page_that_keeps_its_reader_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mixed_files.pdf(tmp_path / "a.pdf", 1, pages=4)
    patched(tmp_path, monkeypatch, module="formats", name="_text", when="given[1] == 2")
    found = await events_of(tmp_path / "a.pdf", "pdf", ReadLimits(seconds=6))
    assert [event["page"] for event in found if "page" in event] == [1, 3, 4]
    notes = [event["note"] for event in found if "note" in event]
    assert note_text(notes, "en") == "page 2 could not be read"
    assert len([event for event in found if "document" in event]) == 1


async def test_a_file_that_keeps_its_reader_fails_and_the_process_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.txt").write_text("words")
    patched(tmp_path, monkeypatch, module="formats", name="plain_blocks", when="True")
    async with FileReaders(1, ReadLimits(seconds=2)) as readers:
        with pytest.raises(CannotRead, match="timeout"):
            _ = [event async for event in readers.read(str(tmp_path / "a.txt"), "text")]
        assert readers._idle == []


async def test_a_cancelled_read_ends_its_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.txt").write_text("words")
    patched(tmp_path, monkeypatch, module="formats", name="plain_blocks", when="True")
    started: asyncio.Queue[asyncio.subprocess.Process] = asyncio.Queue()
    real = asyncio.create_subprocess_exec

    async def starting(*given: Any, **options: Any) -> Any:
        process = await real(*given, **options)
        await started.put(process)
        return process

    monkeypatch.setattr(asyncio, "create_subprocess_exec", starting)
    reading = asyncio.ensure_future(events_of(tmp_path / "a.txt", "text"))
    process = await started.get()
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert process.returncode is not None


async def test_no_key_of_ours_reaches_the_process_that_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "canary-key")
    asked: list[dict[str, str]] = []
    real = asyncio.create_subprocess_exec

    async def starting(*given: Any, **options: Any) -> Any:
        asked.append(options["env"])
        return await real(*given, **options)

    monkeypatch.setattr(asyncio, "create_subprocess_exec", starting)
    (tmp_path / "a.txt").write_text("words")
    await events_of(tmp_path / "a.txt", "text")
    assert "canary-key" not in str(asked)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("钠电池".encode(), "钠电池"),
        ("\ufeff钠电池".encode(), "钠电池"),
        ("钠电池的正极".encode("gb18030"), "钠电池的正极"),
        ("钠 cells".encode("utf-16"), "钠 cells"),
        ("plain words".encode("utf-16-le"), "plain words"),
        ("plain words".encode("utf-16-be"), "plain words"),
        ("a cell made by hand in Orléans, twice as good".encode("cp1252"),
         "a cell made by hand in Orléans, twice as good"),
    ],
)  # fmt: skip
def test_a_text_is_decoded_by_what_it_is(body: bytes, text: str) -> None:
    assert decoded_text(body)[0] == text


@pytest.mark.parametrize("body", [b"", b" \n\t ", b"\x00" * 50])
def test_nothing_is_no_text(body: bytes) -> None:
    with pytest.raises(CannotRead, match="page_empty"):
        decoded_text(body)


def test_a_device_is_not_opened(tmp_path: Path) -> None:
    from agent.knowledge.ingest import walk

    os.mkfifo(tmp_path / "pipe.txt")
    found = walk([tmp_path])
    assert found.files == []
    assert [problem.outcome for problem in found.problems] == ["left_out"]


@pytest.mark.parametrize("head", ["a,b", "name,website,industries"])
def test_what_an_open_quotation_mark_swallows_is_told(tmp_path: Path, head: str) -> None:
    path = tmp_path / "open.csv"
    path.write_text(f'{head}\nAcme,"never closed\n' + "Next,row\n" * 3000)
    notes = [event["note"] for event in read_table(str(path)) if "note" in event]
    assert notes == [{"key": "cut_row", "row": 2}]
    path.write_text(f'{head}\nAcme,"closed"\n' + "Next,row\n" * 3000)
    assert not any("note" in event for event in read_table(str(path)))
