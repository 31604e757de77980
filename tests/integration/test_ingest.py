"""Files into the knowledge base: what is read, what is not read again, what is reported."""

import os
import sys
from collections import Counter
from pathlib import Path

import pytest
from pypdf import PdfWriter

from agent.core.errors import InputError
from agent.knowledge.files import Destination
from agent.knowledge.ingest import IngestListener
from agent.knowledge.types import Scope
from tests.support import mixed_files
from tests.support.knowledge_bench import Bench, bench_fixture
from tests.support.mixed_files import marker

__all__ = ["bench_fixture"]


def reasons(report: object) -> dict[str, str]:
    return {Path(result.path).name: result.code for result in report.failed}  # type: ignore[attr-defined]


async def test_every_kind_of_file_is_read_and_found_where_it_says_it(bench: Bench) -> None:
    made = mixed_files.good_files(bench.docs, {"pdf": 1, "md": 1, "html": 1, "txt": 4, "csv": 1})
    report = await bench.ingest()
    assert report.counts == Counter(read=8)
    assert report.documents == 10
    for number, path in made.items():
        (hit,) = await bench.found(marker(number))
        assert hit.document["path"] == f"docs/{path.relative_to(bench.docs).as_posix()}"
        assert hit.chunk["page"] == (2 if path.suffix == ".pdf" else None)
    (hit,) = await bench.found(marker(1))
    assert (hit.document["title"], hit.chunk["headings"]) == ("Notes 1", ["Notes 1", "路线"])
    assert len(await bench.found("钠离子电池 正极")) > 5


async def test_a_row_on_a_company_has_its_fields_and_stands_below_markdown(bench: Bench) -> None:
    mixed_files.companies(bench.docs / "crunchbase.csv", 3)
    bench.write("firm.md", "# Firm 3B\n\nFirm 3B was founded by two engineers.\n")
    await bench.ingest()
    hits = await bench.found("Firm 3B founded")
    assert [hit.document["layer"] for hit in hits][:2] == ["upper", "base"]
    (record,) = [d for d in await bench.base.documents(Scope()) if d["id"].endswith("-2")]
    assert record["title"] == "Firm 3B"
    assert record["url"] == "https://firm3.example"
    assert record["metadata"]["Founded Date"] == "2013"


async def test_any_other_table_becomes_rows_with_their_columns(bench: Bench) -> None:
    bench.write("cells.csv", "电芯;能量密度\nLFP-280;160\n钠离子;150\n".encode("gb18030"))
    await bench.ingest()
    (hit,) = await bench.found("LFP-280")
    assert hit.chunk[
        "text"
    ] == "电芯: LFP-280; 能量密度: 160\n\n电芯: 钠离子; 能量密度: 150".replace("\n\n", "\n")


async def test_an_unchanged_file_is_not_opened_again(bench: Bench) -> None:
    path = bench.write("a.md", "# A\n\nalpha")
    await bench.ingest()
    times = path.stat()
    # The same size and time with another content: had it been opened, that would be found.
    path.write_text("# A\n\nomega")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    report = await bench.ingest()
    assert report.counts == Counter(unchanged=1)
    assert await bench.found("omega") == []


async def test_a_file_with_a_new_time_but_the_same_content_is_not_split_again(bench: Bench) -> None:
    path = bench.write("a.md", "# A\n\nalpha")
    await bench.ingest()
    os.utime(path, (1, 1))
    assert (await bench.ingest()).counts == Counter(unchanged=1)


async def test_a_changed_file_replaces_what_it_said(bench: Bench) -> None:
    bench.write("a.md", "# A\n\nalpha")
    await bench.ingest()
    bench.write("a.md", "# A\n\nomega beta")
    assert (await bench.ingest()).counts == Counter(read=1)
    assert await bench.found("alpha") == []
    assert len(await bench.found("omega")) == 1


async def test_a_table_that_lost_rows_loses_their_documents(bench: Bench) -> None:
    path = bench.docs / "c.csv"
    mixed_files.companies(path, 1)
    await bench.ingest()
    path.write_text("\n".join(path.read_text().splitlines()[:2]))
    await bench.ingest()
    assert await bench.kept() == Counter({"docs/c.csv": 1})
    path.write_text("a,b\n1,2\n")
    await bench.ingest()
    (known,) = await bench.base.documents(Scope())
    assert known["title"] == "c"


async def test_bad_files_are_told_with_their_reasons_and_not_tried_again(bench: Bench) -> None:
    bench.write("empty.md", "")
    bench.write("broken.pdf", b"%PDF-1.7 nothing")
    bench.write("page.pdf", b"<html>not found</html>")
    bench.write("binary.txt", bytes(range(256)) * 9)
    mixed_files.pdf(bench.docs / "locked.pdf", 1, password="secret")
    bench.write("good.txt", "good words")
    expected = {
        "empty.md": "page_empty", "broken.pdf": "page_unreadable", "page.pdf": "page_is_html",
        "binary.txt": "page_encoding", "locked.pdf": "page_encrypted",
    }  # fmt: skip
    first = await bench.ingest()
    assert reasons(first) == expected
    assert len(await bench.found("good")) == 1
    second = await bench.ingest()
    assert reasons(second) == expected
    assert {result.note for result in second.failed} == {"as before"}
    third = await bench.ingest(retry=True)
    assert {result.note for result in third.failed} == {""}
    bench.write("empty.md", "not empty any more")
    assert "empty.md" not in reasons(await bench.ingest())


async def test_what_can_be_done_about_a_bad_file_is_told(bench: Bench) -> None:
    with (bench.docs / "long.txt").open("wb") as file:
        file.truncate(33 << 20)
    scan = PdfWriter()
    scan.add_blank_page(200, 200)
    scan.write(bench.docs / "scan.pdf")
    told = {Path(result.path).name: result.reason for result in (await bench.ingest()).failed}
    assert told["long.txt"].endswith("(over 32 MiB)")
    assert told["scan.pdf"].endswith("only MinerU reads scans (MINERU_URL)")


async def test_a_file_that_breaks_takes_its_old_words_out(bench: Bench) -> None:
    path = bench.write("a.md", "alpha words")
    await bench.ingest()
    path.write_bytes(b"\x00\x01\x02" * 400)
    assert len((await bench.ingest()).failed) == 1
    assert await bench.found("alpha") == []


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root may open any file")
async def test_a_file_that_may_not_be_opened_keeps_its_words(bench: Bench) -> None:
    path = bench.write("a.md", "alpha words")
    await bench.ingest()
    os.utime(path, (1, 1))
    path.chmod(0)
    assert reasons(await bench.ingest()) == {"a.md": "file_unreadable"}
    assert len(await bench.found("alpha")) == 1


async def test_a_file_that_is_removed_before_it_is_read_is_told_so(bench: Bench) -> None:
    bench.write("a.md", "alpha words")
    path = bench.write("b.md", "beta words")
    (failed,) = (await bench.ingest(listener=_Removes(path))).failed
    assert (failed.path, failed.reason) == ("docs/b.md", "it was removed meanwhile")


async def test_types_that_are_not_read_are_left_out_of_folders_but_fail_when_named(
    bench: Bench,
) -> None:
    path = bench.write("photo.png", b"\x89PNG")
    bench.write("a.txt", "words")
    report = await bench.ingest()
    assert report.counts == Counter(read=1, left_out=1)
    assert report.failed == []
    named = await bench.ingest(path)
    assert reasons(named) == {"photo.png": "page_kind"}
    assert "save it as PDF" in named.failed[0].reason


async def test_hidden_files_links_in_a_circle_and_second_links_are_passed_over(
    bench: Bench,
) -> None:
    path = bench.write("sub/a.txt", "alpha words")
    bench.write(".hidden.txt", "secret words")
    bench.write(".git/config.txt", "secret words")
    (bench.docs / "circle").symlink_to(bench.docs, target_is_directory=True)
    (bench.docs / "sub/again").symlink_to(bench.docs / "sub", target_is_directory=True)
    (bench.docs / "same.txt").symlink_to(path)
    (bench.docs / "nowhere.txt").symlink_to(bench.docs / "missing")
    report = await bench.ingest()
    assert report.counts == Counter(read=1, failed=1)
    assert report.total == report.done == 2
    assert reasons(report) == {"nowhere.txt": "file_unreadable"}
    assert await bench.found("secret") == []


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
async def test_a_name_that_is_not_utf8_is_read_and_shown(bench: Bench) -> None:
    bench.write(os.fsdecode(b"n\xff\xfe.txt"), "strange words")
    assert (await bench.ingest()).counts == Counter(read=1)
    assert await bench.paths("strange") == ["docs/n\ufffd\ufffd.txt"]
    assert (await bench.ingest()).counts == Counter(unchanged=1)


async def test_the_same_content_twice_is_kept_once_as_long_as_one_is_there(bench: Bench) -> None:
    bench.write("a.md", "# A\n\nalpha")
    bench.write("b.md", "# A\n\nalpha")
    assert (await bench.ingest()).counts == Counter(read=1, same=1)
    (path,) = await bench.paths("alpha")
    assert (await bench.ingest()).counts == Counter(unchanged=2)
    (bench.docs.parent / path).unlink()
    assert (await bench.ingest(prune=True)).counts == Counter(read=1, removed=1)
    (left,) = await bench.paths("alpha")
    assert left != path


async def test_what_is_gone_is_told_and_taken_out_when_asked(bench: Bench) -> None:
    path = bench.write("sub/a.md", "alpha words")
    bench.write("b.md", "beta words")
    await bench.ingest()
    path.unlink()
    assert [r.path for r in (await bench.ingest()).of("gone")] == ["docs/sub/a.md"]
    assert len(await bench.found("alpha")) == 1
    assert (await bench.ingest(bench.docs / "b.md", prune=True)).counts == Counter(unchanged=1)
    assert (await bench.ingest(prune=True)).counts == Counter(unchanged=1, removed=1)
    assert await bench.found("alpha") == []
    assert (await bench.ingest()).counts == Counter(unchanged=1)


async def test_of_a_renamed_file_the_old_name_is_told_with_the_new_one(bench: Bench) -> None:
    path = bench.write("old.md", "alpha words")
    await bench.ingest()
    path.rename(bench.docs / "new.md")
    (gone,) = (await bench.ingest()).of("gone")
    assert (gone.path, gone.reason) == ("docs/old.md", "its content is docs/new.md now")
    assert (await bench.ingest(prune=True)).counts == Counter(unchanged=1, removed=1)
    assert await bench.paths("alpha") == ["docs/new.md"]


async def test_collections_and_owners_are_kept_apart(bench: Bench) -> None:
    path = bench.write("a.md", "alpha words")
    await bench.ingest(path, target=Destination("one", "ann"))
    await bench.ingest(path, target=Destination("two", "bob", shared=True))
    assert await bench.found("alpha", Scope(owner="eve", collections=("one",))) == []
    seen = await bench.found("alpha", Scope(owner="eve"))
    assert [hit.document["collection"] for hit in seen] == ["two"]
    assert len(await bench.found("alpha", Scope(owner="ann"))) == 2


async def test_a_path_that_is_not_there_is_refused(bench: Bench) -> None:
    with pytest.raises(InputError, match="nowhere"):
        await bench.ingest(bench.docs / "nowhere")


async def test_a_lost_store_is_filled_again_and_a_lost_register_doubles_nothing(
    bench: Bench,
) -> None:
    made = mixed_files.good_files(bench.docs, {"md": 3, "csv": 1})
    await bench.ingest()
    before = await bench.kept()
    for name in ("knowledge-files.sqlite", "knowledge.sqlite"):
        await bench.aclose()
        for file in bench.settings.tanlu_data_dir.glob(f"{name}*"):
            file.unlink()
        await bench.again()
        assert (await bench.ingest()).counts == Counter(read=len(made))
        assert await bench.kept() == before


async def test_interrupted_it_finishes_what_is_in_flight_and_goes_on_later(bench: Bench) -> None:
    mixed_files.good_files(bench.docs, {"md": 40})
    run = await bench.started()
    run.stop()
    stopped = await run.run()
    assert stopped.stopped
    assert stopped.done == 0
    run = await bench.started(listener=_StopAt(5))
    run._listener.run = run  # type: ignore[attr-defined]
    stopped = await run.run()
    assert stopped.stopped
    assert 5 <= stopped.done < 12
    rest = await bench.ingest()
    assert (rest.counts["unchanged"], rest.counts["read"]) == (stopped.done, 40 - stopped.done)


class _Removes(IngestListener):
    """Removes a file that was listed."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def begin(self, total: int) -> None:
        self.path.unlink()


class _StopAt:
    """Interrupts a run after so many files."""

    def __init__(self, count: int) -> None:
        self.count, self.run = count, None

    def begin(self, total: int) -> None: ...

    def notice(self, line: str) -> None: ...

    def file_done(self, result: object, report: object) -> None:
        if report.done >= self.count:  # type: ignore[attr-defined]
            self.run.stop()  # type: ignore[attr-defined]
