"""The file of answers after a crash, among other programs, and under two batches."""

import asyncio
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from agent.batch.answers import RowFile
from agent.batch.disk import FileLock
from agent.core.errors import AgentError, InputError
from tests.support.command_line import until
from tests.unit.batch_samples import content_of, lines_of, put, row, written

pytestmark = pytest.mark.slow


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "answers.jsonl"


# after a crash


async def test_cut_anywhere_the_file_keeps_exactly_its_whole_rows(path: Path) -> None:
    await written(path, row("1"), row("2", answer='a "quoted" {x}'), row("3"))
    whole = content_of(path)
    ends = [at for at in range(len(whole)) if whole[at : at + 1] == b"\n"]
    near_an_end = {end + step for end in ends for step in (-2, -1, 0, 1)}
    for cut in sorted({*range(0, len(whole), 7), *range(8), *near_an_end}):
        put(path, whole[:cut])
        async with await RowFile.open(path) as file:
            found = [r["id"] for r in await file.rows()]
            assert found == ["1", "2", "3"][: sum(end <= cut for end in ends)]
            clean = cut == 0 or whole[cut - 1 : cut] == b"\n"
            assert (file.broken, file.was_repaired) == (0, not clean)
            await file.append(row("4"))
        assert [line["id"] for line in lines_of(path)] == [*found, "4"]


async def test_a_block_that_was_never_filled_is_cut_off(path: Path) -> None:
    await written(path, row("1"))
    put(path, content_of(path) + b"\0" * 4096)
    await written(path, row("2"))
    assert [line["id"] for line in lines_of(path)] == ["1", "2"]


CHILD = """
import asyncio, random, sys
from pathlib import Path
from agent.batch.answers import RowFile

async def main(path, first):
    chance = random.Random(first)
    async with await RowFile.open(Path(path)) as file:
        for number in range(first, first + 10_000):
            await file.append({
                "id": str(number), "question": "", "answer": "x" * chance.choice([5, 300_000]),
                "status": "answered", "error": None, "sources": [], "usage": {}, "models": {},
                "seconds": 0.0, "config": "c", "attempt": 0,
            })
            print(number, flush=True)
            if number % 4 == 0:
                await file.compact()

asyncio.run(main(sys.argv[1], int(sys.argv[2])))
"""


def killed(path: Path, first: int, after: int) -> list[str]:
    """The rows that a writer had acknowledged when it was killed."""
    command = [sys.executable, "-c", CHILD, str(path), str(first)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        told = [child.stdout.readline().strip() for _ in range(after)]
        child.kill()
        return [*told, *child.stdout.read().split()]


async def test_every_acknowledged_row_survives_kill_9_and_the_next_batch_gets_the_lock(
    path: Path,
) -> None:
    chance = random.Random(9)
    acknowledged: list[str] = []
    for turn in range(5):
        told = await asyncio.to_thread(killed, path, turn * 10_000, chance.randint(1, 12))
        acknowledged += told
        async with await RowFile.open(path) as file:
            found = [r["id"] for r in await file.rows()]
        assert file.broken == 0
        assert set(acknowledged) <= set(found)
        assert len(found) - len(set(acknowledged)) <= turn + 1
        assert len(lines_of(path)) == len(found)
        assert os.listdir(path.parent) == [path.name]


# what others wrote


async def test_foreign_lines_are_counted_left_alone_and_dropped_by_compact(path: Path) -> None:
    await written(path, row("1"))
    with path.open("ab") as file:
        file.write(b'not json\n{"id": "x"}\n\n\xff\xfe\n{"id": 1, "status": "answered"}')
    before = content_of(path)
    async with await RowFile.open(path) as rows:
        assert (rows.broken, rows.was_repaired) == (4, True)
        assert content_of(path) == before + b"\n"
        await rows.append(row("2"))
        await rows.compact()
        assert rows.broken == 0
    assert [line["id"] for line in lines_of(path)] == ["1", "2"]


async def test_a_row_with_missing_or_wrong_fields_is_completed(path: Path) -> None:
    put(
        path,
        b'{"id": "1", "config": "c", "status": "failed"}\n'
        b'{"id": "2", "config": "c", "status": "paused", "answer": null, "usage": 3, '
        b'"attempt": "x", "earlier_cost_usd": "y"}\n',
    )
    async with await RowFile.open(path) as file:
        for found in await file.rows():
            assert (found["answer"], found["usage"], found["attempt"]) == ("", {}, 0)
            assert found["error"] is None


@pytest.mark.parametrize(
    "content",
    [
        b'{"id": "1", "question": "who?"}\n{"id": "2", "question": "when?"}\n',
        b'{"id": "1", "question": "who?"}',
        b"\x89PNG\r\n\x1a\n" + bytes(range(256)),
        b"id,question\n1,who?",
        b'{\n  "id": "1"\n}',
    ],
    ids=["questions", "one question", "picture", "table", "object"],
)
async def test_a_file_of_something_else_is_refused_and_not_touched(
    path: Path, content: bytes
) -> None:
    put(path, content)
    with pytest.raises(InputError, match="not a file of answers") as refused:
        await RowFile.open(path)
    assert refused.value.name == "ANSWERS"
    assert content_of(path) == content
    assert os.listdir(path.parent) == [path.name]


async def test_a_file_changed_under_a_running_batch_is_not_written_into(path: Path) -> None:
    async with await RowFile.open(path) as file:
        await file.append(row("1"))
        with path.open("ab") as other:
            other.write(b"something\n")
        with pytest.raises(AgentError, match="changed or removed"):
            await file.append(row("2"))


@pytest.mark.skipif(sys.platform == "win32", reason="an open file cannot be removed there")
async def test_a_file_removed_under_a_running_batch_is_noticed(path: Path) -> None:
    async with await RowFile.open(path) as file:
        os.remove(path)
        with pytest.raises(AgentError, match="changed or removed"):
            await file.append(row("1"))


async def test_a_full_disk_is_one_clear_error(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with await RowFile.open(path) as file:
        await file.append(row("1"))

        def full(_: int) -> None:
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as disk:
            disk.setattr(os, "fsync", full)
            with pytest.raises(AgentError, match="No space left") as failed:
                await file.append(row("2"))
        assert failed.value.code == "answers_unwritable"
        await file.append(row("3"))
    assert [line["id"] for line in lines_of(path)] == ["1", "3"]


async def test_a_folder_and_an_unwritable_place_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a file"):
        await RowFile.open(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="ANSWERS"):
        await RowFile.open(tmp_path / "file" / "answers.jsonl")


# one writer


async def test_a_second_batch_on_the_same_file_gets_one_clear_line(path: Path) -> None:
    async with await RowFile.open(path):
        with pytest.raises(InputError, match="Another batch is writing"):
            await RowFile.open(path)
        link = path.with_name("link.jsonl")
        os.symlink(path, link)
        with pytest.raises(InputError, match="Another batch is writing"):
            await RowFile.open(link)
    await written(path, row("1"))
    assert sorted(os.listdir(path.parent)) == ["answers.jsonl", "link.jsonl"]


async def test_a_lock_file_left_behind_locks_nobody_out(path: Path) -> None:
    path.with_name("answers.jsonl.lock").write_text("")
    await written(path, row("1"))
    assert os.listdir(path.parent) == [path.name]


async def test_a_close_that_is_cancelled_gives_the_lock_back_all_the_same(path: Path) -> None:
    file = await RowFile.open(path)
    writing = [asyncio.ensure_future(file.append(row(str(n)))) for n in range(3)]
    closing = asyncio.ensure_future(file.close())
    await asyncio.sleep(0)
    closing.cancel()
    await asyncio.gather(*writing)
    with pytest.raises(asyncio.CancelledError):
        await closing
    await asyncio.to_thread(until, lambda: os.listdir(path.parent) == [path.name], 10)


async def test_the_lock_holds_through_compact(path: Path) -> None:
    async with await RowFile.open(path) as file:
        await file.append(row("1"))
        await file.compact()
        with pytest.raises(InputError, match="Another batch is writing"):
            await RowFile.open(path)


def test_of_many_who_want_the_lock_one_at_a_time_has_it(tmp_path: Path) -> None:
    chance = random.Random(1)
    locks = [FileLock(tmp_path / "lock") for _ in range(6)]
    holder: FileLock | None = None
    for _ in range(400):
        lock = chance.choice(locks)
        if lock is holder:
            lock.release()
            holder = None
        elif holder is None:
            lock.acquire()
            holder = lock
        else:
            with pytest.raises(BlockingIOError):
                lock.acquire()
    for lock in locks:
        lock.release()
