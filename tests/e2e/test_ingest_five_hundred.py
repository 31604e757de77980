"""500 mixed files: killed, run again, all good ones found, bad ones listed, memory bounded."""

import json
import os
import random
import signal
import sys
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from reportlab.pdfgen.canvas import Canvas

from agent.knowledge.types import Scope
from tests.support import mixed_files
from tests.support.command_line import Cli, cli_fixture
from tests.support.knowledge_bench import Bench
from tests.support.mixed_files import marker
from tests.support.process_memory import MemorySampler
from tests.support.programs import Program

__all__ = ["cli_fixture"]
_GOOD = {"pdf": 150, "md": 130, "html": 70, "txt": 100, "csv": 23}
_BROKEN, _PAGES, _MEGABYTES = 25, 5000, 600


def long_pdf(path: Path, pages: int) -> None:
    """A short line on each page, with the page's own word."""
    canvas = Canvas(str(path), pageCompression=0)
    for page in range(1, pages + 1):
        canvas.drawString(60, 780, f"Leaf {page} says {marker(90_000 + page % 10_000)}.")
        canvas.showPage()
    canvas.save()


def broken_files(folder: Path, count: int) -> list[Path]:
    """Empty, cut, random and mistaken files."""
    chance = random.Random(5)
    noise = [bytes(chance.choices(range(1, 256), k=600)) for _ in range(count)]
    kinds: list[tuple[str, Callable[[int], bytes]]] = [
        ("pdf", lambda n: b"%PDF-1.7\n" + noise[n]),
        ("pdf", lambda n: b"<html>not found %d</html>" % n),
        ("txt", lambda n: b"\x00\x01" + zlib.compress(noise[n]) + noise[n]),
        ("md", lambda n: b""),
        ("pdf", lambda n: b"%%PDF-1.4\n1 0 obj <<>> endobj trailer <</Root %d 0 R>>" % (n + 7)),
        ("html", lambda n: b"<!-- %d -->" % n),
    ]
    made = []
    for number in range(count):
        ending, content = kinds[number % len(kinds)]
        path = folder / "broken" / f"broken{number}.{ending}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content(number))
        made.append(path)
    return made


def made_files(folder: Path) -> dict[int, Path]:
    made = mixed_files.good_files(folder, _GOOD)
    broken_files(folder, _BROKEN)
    mixed_files.pdf(folder / "locked.pdf", 1, password="secret")
    long_pdf(folder / "long.pdf", _PAGES)
    return made


def killed_on_the_way(process: Program) -> None:
    """kill -9 when a hundred files are done."""
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("[100/"):
            break
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
async def test_five_hundred_files_killed_and_run_again_are_all_there_once(
    cli: Cli, tmp_path: Path
) -> None:
    bench = Bench(tmp_path)
    made = made_files(bench.docs)
    killed_on_the_way(cli.start("ingest", "docs", "--json"))
    process = cli.start("ingest", "docs", "--json", cold=True)
    memory = MemorySampler(process.pid)
    out, err = process.communicate(timeout=240)
    megabytes = memory.stop()
    assert process.returncode == 1, err
    report = json.loads(out)
    print(f"{report['seconds']} s, {megabytes:.0f} MB, {report['passages']} passages")
    assert report["total"] == len(made) + _BROKEN + 2 == 500
    assert report["failed"] == _BROKEN + 1
    # A busy machine hears of the hundredth file late; those that failed are told again.
    assert 50 <= report["unchanged"] < len(made)
    assert 50 < megabytes < _MEGABYTES
    failed = {file["path"]: file["code"] for file in report["files"] if file["outcome"] == "failed"}
    assert failed.pop("docs/locked.pdf") == "page_encrypted"
    assert all(path.startswith("docs/broken/") for path in failed)
    await all_are_there_once(bench, made)
    await bench.aclose()


async def all_are_there_once(bench: Bench, made: dict[int, Path]) -> None:
    known = await bench.base.documents(Scope())
    assert Counter(document["id"] for document in known).most_common(1)[0][1] == 1
    assert len(known) == len(made) - _GOOD["csv"] + 3 * _GOOD["csv"] + 1
    for number, path in made.items():
        (hit,) = await bench.found(marker(number))
        assert hit.document["path"] == f"docs/{path.relative_to(bench.docs).as_posix()}"
    for page in (1, 2500, _PAGES):
        (hit,) = await bench.found(marker(90_000 + page))
        assert (hit.document["path"], hit.chunk["page"]) == ("docs/long.pdf", page)
