"""What processes that were killed leave in the folder of owners must never stop the next one."""

import logging
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agent.runs import lease as owners
from agent.runs.lease import FileOwner, claim
from agent.runs.run_log import RunLog
from tests.support.run_fixtures import a_run


def killed_long_ago(folder: Path, owner: str) -> None:
    """An owner's files as kill -9 leaves them: the lock is gone, SQLite's journal stays."""
    living = FileOwner(folder / "elsewhere")
    living.open(_NoTables())
    (folder / "owners").mkdir(exist_ok=True)
    then = time.time() - 3600
    for left in (folder / "elsewhere").iterdir():
        copy = folder / "owners" / left.name.replace(living.id, owner)
        shutil.copyfile(left, copy)
        os.utime(copy, (then, then))
    living.close()
    assert (folder / "owners" / f"{owner}-journal").stat().st_size


class _NoTables:
    """Owners by file need no tables."""

    def execute(self, sql: str, parameters: object = (), /) -> None:  # type: ignore[override]
        raise AssertionError(sql)


async def left_by_a_dead_process(folder: Path) -> str:
    """The id of a run whose process is gone."""
    before = RunLog(folder, "server")
    await before.accept(run := a_run())
    await before.aclose()
    return run.run_id


async def test_a_process_that_was_killed_long_ago_does_not_stop_the_recovery(
    tmp_path: Path,
) -> None:
    run_id = await left_by_a_dead_process(tmp_path)
    for number in range(4):
        killed_long_ago(tmp_path, f"{number}-0123456789ab")
    run_log = RunLog(tmp_path, "server")
    assert [run.run_id for run in await run_log.unfinished()] == [run_id]
    (own,) = {path.name.removesuffix("-journal") for path in (tmp_path / "owners").iterdir()}
    assert own.startswith(f"{os.getpid()}-")
    await run_log.aclose()
    assert list((tmp_path / "owners").iterdir()) == []


async def test_a_journal_without_its_owner_is_removed_and_strange_files_are_left_alone(
    tmp_path: Path,
) -> None:
    killed_long_ago(tmp_path, "1-0123456789ab")
    (tmp_path / "owners" / "1-0123456789ab").unlink()
    strange = tmp_path / "owners" / "notes.txt"
    strange.write_text("not a database, but long enough to be read as one" * 20)
    os.utime(strange, (0, 0))
    run_log = RunLog(tmp_path, "server")
    assert await run_log.unfinished() == []
    assert not (tmp_path / "owners" / "1-0123456789ab-journal").exists()
    assert strange.exists()
    await run_log.aclose()


async def test_an_owner_stays_itself_when_its_tables_are_opened_again(tmp_path: Path) -> None:
    owner, other = FileOwner(tmp_path), FileOwner(tmp_path)
    owner.open(_NoTables())
    began = time.monotonic()
    owner.open(_NoTables())
    assert time.monotonic() - began < 4, "it waited for itself"
    assert other.dead(_NoTables(), [owner.id]) == set()
    owner.close()
    assert other.dead(_NoTables(), [owner.id]) == {owner.id}


async def test_an_owner_that_cannot_lock_its_file_can_try_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = FileOwner(tmp_path / "taken")
    (tmp_path / "taken").write_text("a file where the folder should be")
    with pytest.raises(OSError, match="taken"):
        owner.open(_NoTables())
    (tmp_path / "taken").unlink()
    owner.open(_NoTables())
    assert FileOwner(tmp_path / "taken").dead(_NoTables(), [owner.id]) == set()
    owner.close()


CLAIMS = """
import sys, pathlib
from agent.runs.lease import claim
print(claim(pathlib.Path(sys.argv[1])), flush=True)
sys.stdin.read()
"""


def test_a_folder_is_one_process_s_until_that_is_killed(tmp_path: Path) -> None:
    other = subprocess.Popen(
        [sys.executable, "-c", CLAIMS, str(tmp_path)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    with other:
        assert other.stdout is not None
        assert other.stdout.readline() == "True\n"
        assert not claim(tmp_path)
        other.kill()
    try:
        assert claim(tmp_path)
        assert claim(tmp_path), "a second time it is ours still"
    finally:
        release(tmp_path)


def release(folder: Path) -> None:
    """Otherwise only the end of this process does."""
    for path in [path for path in owners._claims if path.parent == folder.resolve()]:
        owners._claims.pop(path).close()


def test_a_folder_that_cannot_be_locked_stops_nobody(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "tanlu-server.lock").mkdir()
    with caplog.at_level(logging.WARNING):
        assert claim(tmp_path)
    assert "cannot be told" in caplog.text
