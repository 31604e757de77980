"""The file of answers: written, read back, compacted."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from agent.batch.answers import RowFile, config_key
from agent.batch.disk import replace_file
from agent.core.errors import AgentError
from tests.unit.batch_samples import content_of, lines_of, row, written


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "answers.jsonl"


async def test_a_row_is_read_back_as_it_was_written(path: Path) -> None:
    await written(path, row("1"), row("2", answer="a\u2028b\n c", error="x"))
    assert content_of(path).count(b"\n") == 2
    async with await RowFile.open(path) as file:
        assert await file.rows() == [row("1"), row("2", answer="a\u2028b\n c", error="x")]
        assert (file.broken, file.was_repaired, file.path) == (0, False, path)


async def test_what_a_row_tells_of_its_question_is_read_back_unless_it_is_of_another_type(
    path: Path,
) -> None:
    about = {"assistant": "agent", "settings": {"max_searches": "3"}, "benchmark": "gaia",
             "expected": "", "claims": {"total": 2}}  # fmt: skip
    await written(path, row("1", **about), row("2", **{**about, "claims": 2, "expected": None}))
    async with await RowFile.open(path) as file:
        first, second = await file.rows()
    assert first == row("1", **about)
    assert second.keys() == first.keys() - {"claims", "expected"}


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
