"""The file of answers: what is acknowledged is there, whatever happens to the process."""

import asyncio
import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agent.batch.disk import FileLock, replace_file
from agent.batch.rows import Row, RowFile, config_key
from agent.errors import AgentError, InputError


def row(id: str, config: str = "c", **changes: Any) -> Row:
    made = {
        "id": id,
        "question": "who?",
        "answer": "北京",
        "status": "answered",
        "error": None,
        "sources": [{"number": 1, "title": "t", "url": "https://a.example"}],
        "usage": {"cost_usd": 0.5},
        "models": {"answer": "m"},
        "seconds": 1.5,
        "config": config,
        "attempt": 0,
    }
    return Row(**{**made, **changes})  # type: ignore[typeddict-item]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "answers.jsonl"


async def written(path: Path, *rows: Row) -> None:
    async with await RowFile.open(path) as file:
        for one in rows:
            await file.append(one)


def content_of(path: Path) -> bytes:
    return path.read_bytes()


def put(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


async def test_a_row_is_read_back_as_it_was_written(path: Path) -> None:
    await written(path, row("1"), row("2", answer="a\u2028b\n c", error="x"))
    assert content_of(path).count(b"\n") == 2
    async with await RowFile.open(path) as file:
        assert await file.rows() == [row("1"), row("2", answer="a\u2028b\n c", error="x")]
        assert (file.broken, file.repaired, file.path) == (0, False, path)


async def test_half_a_character_in_an_answer_does_not_lose_the_row(path: Path) -> None:
    await written(path, row("1", answer="a \ud83d b"))
    async with await RowFile.open(path) as file:
        assert (await file.rows())[0]["answer"] == "a ? b"


async def test_the_last_row_of_an_id_and_configuration_wins(path: Path) -> None:
    rows = [row("1", status="failed"), row("1", "d"), row("2"), row("1", attempt=1, answer="x")]
    await written(path, *rows)
    async with await RowFile.open(path) as file:
        found = await file.rows("c")
        assert [(r["id"], r["answer"]) for r in found] == [("1", "x"), ("2", "北京")]
        assert [r["id"] for r in await file.rows(order=["2", "1"])] == ["2", "1", "1"]
        entry = file.entry("1", "c")
        assert entry is not None
        assert (entry.status, entry.attempts, entry.cost_usd) == ("answered", 2, 1.0)
        assert file.entry("1", "other") is None
        assert file.cost_usd == 2.0


async def test_rows_written_at_the_same_time_are_all_whole(path: Path) -> None:
    async with await RowFile.open(path) as file:
        await asyncio.gather(*(file.append(row(str(n), answer="x" * n * 50)) for n in range(60)))
        assert [r["id"] for r in await file.rows()] == [str(n) for n in range(60)]
    assert len(lines_of(path)) == 60


async def test_a_row_whose_writer_is_cancelled_is_whole_or_absent(path: Path) -> None:
    async with await RowFile.open(path) as file:
        writers = [asyncio.create_task(file.append(row(str(n)))) for n in range(20)]
        await writers[0]
        for writer in writers:
            writer.cancel()
        await asyncio.gather(*writers, return_exceptions=True)
        await file.append(row("last"))
        ids = [r["id"] for r in await file.rows()]
    assert [line["id"] for line in lines_of(path)] == ids
    assert {"0", "last"} <= set(ids)


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
            assert (file.broken, file.repaired) == (0, not clean)
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
from agent.batch.rows import RowFile

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
    for turn in range(8):
        told = await asyncio.to_thread(killed, path, turn * 10_000, chance.randint(1, 12))
        acknowledged += told
        async with await RowFile.open(path) as file:
            found = [r["id"] for r in await file.rows()]
        assert file.broken == 0
        assert set(acknowledged) <= set(found)
        assert len(found) - len(set(acknowledged)) <= turn + 1
        assert len(lines_of(path)) == len(found)


# what others wrote


async def test_foreign_lines_are_counted_left_alone_and_dropped_by_compact(path: Path) -> None:
    await written(path, row("1"))
    with path.open("ab") as file:
        file.write(b'not json\n{"id": "x"}\n\n\xff\xfe\n{"id": 1, "status": "answered"}')
    before = content_of(path)
    async with await RowFile.open(path) as rows:
        assert (rows.broken, rows.repaired) == (4, True)
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
        with pytest.raises(InputError, match="another batch is writing"):
            await RowFile.open(path)
        link = path.with_name("link.jsonl")
        os.symlink(path, link)
        with pytest.raises(InputError, match="another batch is writing"):
            await RowFile.open(link)
    await written(path, row("1"))
    assert sorted(os.listdir(path.parent)) == ["answers.jsonl", "link.jsonl"]


async def test_a_lock_file_left_behind_locks_nobody_out(path: Path) -> None:
    path.with_name("answers.jsonl.lock").write_text("")
    await written(path, row("1"))
    assert os.listdir(path.parent) == [path.name]


async def test_the_lock_holds_through_compact(path: Path) -> None:
    async with await RowFile.open(path) as file:
        await file.append(row("1"))
        await file.compact()
        with pytest.raises(InputError, match="another batch is writing"):
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


# compact


async def test_compact_leaves_each_id_once_and_other_configurations(path: Path) -> None:
    rows = [row("1", status="failed"), row("2"), row("1", attempt=1), row("1", "d"), row("0")]
    await written(path, *rows)
    os.chmod(path, 0o640)
    async with await RowFile.open(path) as file:
        await file.compact(["0", "1", "2", "never"])
        entry = file.entry("1", "c")
        assert entry is not None
        assert (entry.attempts, entry.cost_usd, file.cost_usd) == (2, 1.0, 2.5)
        await file.append(row("3"))
        assert [r["id"] for r in await file.rows()] == ["0", "1", "1", "2", "3"]
    found = [(line["id"], line["config"]) for line in lines_of(path)]
    assert found == [("0", "c"), ("1", "c"), ("1", "d"), ("2", "c"), ("3", "c")]
    assert os.stat(path).st_mode & 0o777 == 0o640
    assert os.listdir(path.parent) == [path.name]


async def test_what_earlier_attempts_cost_is_counted_once_however_often_compacted(
    path: Path,
) -> None:
    async with await RowFile.open(path) as file:
        for attempt in range(6):
            await file.append(row("1", attempt=attempt, usage={"cost_usd": 0.25}))
            await file.compact()
            assert file.cost_usd == pytest.approx(0.25 * (attempt + 1))
    async with await RowFile.open(path) as file:
        entry = file.entry("1", "c")
        assert entry is not None
        assert entry.attempts == 6
        assert file.cost_usd == pytest.approx(1.5)


async def test_a_compact_that_fails_leaves_the_file_and_goes_on(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await written(path, row("1"), row("1"))
    before = content_of(path)
    async with await RowFile.open(path) as file:

        def refuse(self: Path, target: Path) -> None:
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as disk:
            disk.setattr(Path, "replace", refuse)
            with pytest.raises(AgentError, match="No space left"):
                await file.compact()
        assert content_of(path) == before
        await file.append(row("2"))
        assert [r["id"] for r in await file.rows()] == ["1", "2"]


def test_a_replacement_that_breaks_off_leaves_the_old_file(tmp_path: Path) -> None:
    def parts() -> Any:
        yield b"new"
        raise RuntimeError("broke off")

    target = tmp_path / "file"
    target.write_bytes(b"old")
    with pytest.raises(RuntimeError):
        replace_file(target, parts())
    assert target.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


# configuration


def test_the_key_of_a_configuration_depends_on_its_values_and_not_on_their_order() -> None:
    key = config_key("team_answer", {"a": 1, "b": "北"})
    assert key == config_key("team_answer", {"b": "北", "a": 1})
    assert len(key) == 12
    others = [("deep_research", {"a": 1, "b": "北"}), ("team_answer", {"a": 2, "b": "北"})]
    assert len({key, *(config_key(name, context) for name, context in others)}) == 3
