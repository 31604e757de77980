"""What we write by ourselves only its user can read; what the user names keeps his umask."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from agent.batch.answers import RowFile
from agent.knowledge.base import build_store
from agent.mcp.amap.install import installed_server
from agent.mcp.amap.tools import QUOTA
from agent.mcp.map_server import DailySearches
from agent.reading.papers import Paper, PaperStore
from agent.runs.lease import claim
from agent.runs.threads import open_threads
from agent.settings import Settings, read_settings
from tests.integration.test_map_install import cache_fixture, npm
from tests.support import mixed_files
from tests.support.batch_lab import write_questions
from tests.support.command_line import EN, NO_MAP, Cli, cli_fixture
from tests.support.file_modes import POSIX, mode, open_to_all, open_to_others, usual_umask_fixture
from tests.support.knowledge_texts import keep

__all__ = ["cache_fixture", "cli_fixture", "usual_umask_fixture"]
pytestmark = [POSIX, pytest.mark.usefixtures("usual_umask")]


def test_the_command_line_leaves_nothing_that_others_can_read(cli: Cli) -> None:
    data, page = cli.folder / "data", cli.folder / "answer.html"
    cli.ask(EN, *NO_MAP, "--offline", "--html", str(page))
    mixed_files.good_files(cli.folder / "docs", {"md": 2})
    done = cli.run("ingest", "docs")
    assert done.returncode == 0, done.stderr
    assert {"threads.sqlite", "runs.sqlite", "owners", "knowledge.sqlite"} <= set(os.listdir(data))
    assert open_to_others(data) == {}
    assert mode(page) == 0o644


def test_an_older_installation_is_corrected_at_the_start(cli: Cli) -> None:
    data = cli.folder / "data"
    cli.ask(EN, *NO_MAP, "--offline")
    mixed_files.good_files(cli.folder / "docs", {"md": 1})
    cli.run("ingest", "docs")
    (data / "papers").mkdir()
    (data / "papers" / "a.pdf").write_bytes(b"%PDF-")
    open_to_all(data)
    cli.ask(EN, *NO_MAP, "--offline")
    assert open_to_others(data) == {}


async def test_a_folder_with_files_of_others_is_corrected_in_ours_alone(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs.txt"
    await asyncio.to_thread(theirs.write_text, "not ours")
    await asyncio.to_thread(open_to_all, tmp_path)
    async with open_threads(Settings(tanlu_data_dir=tmp_path)) as threads:
        await threads.runs.working()
        assert set(open_to_others(tmp_path)) == {".", theirs.name}


def test_a_batch_s_answers_and_traces_keep_the_umask(cli: Cli) -> None:
    write_questions(cli.folder / "questions.jsonl", [{"id": "a", "question": EN}])
    to = ("-o", "answers.jsonl", "--trace-dir", "traces", "--assistant", "agent", "--offline")
    done = cli.run("batch", "questions.jsonl", *to, "--set", "geo_routing=never")
    assert done.returncode == 0, done.stderr
    assert open_to_others(cli.folder / "data") == {}
    named = ("answers.jsonl", "traces/a.json")
    assert [mode(cli.folder / name) for name in named] == [0o644, 0o644]
    assert mode(cli.folder / "traces") == 0o755


async def test_a_batch_s_file_that_is_written_anew_keeps_the_user_s_mode(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    path.touch(0o640)
    async with await RowFile.open(path) as file:
        await file.compact([])
    assert mode(path) == 0o640


def test_the_installed_map_server_is_its_user_s(cache: Path) -> None:
    script = installed_server(npm(cache))
    assert open_to_others(script.parents[len(script.relative_to(cache / "cache").parts) - 2]) == {}


async def test_papers_and_the_map_s_daily_count_are_their_user_s(tmp_path: Path) -> None:
    data = tmp_path / "new" / "data"
    body = b"%PDF-1.7"
    papers: Any = PaperStore(None, None, data / "papers")  # type: ignore[arg-type]
    papers._keep(Paper("https://a.example", "0" * 64, len(body)), body)
    await DailySearches(9, QUOTA, file=data / "map-usage.sqlite").spend("maps_text_search")
    assert open_to_others(data) == {}


async def test_chroma_s_folder_is_its_user_s(tmp_path: Path) -> None:
    pytest.importorskip("chromadb", reason="no Chroma: uv sync --group stores")
    data = tmp_path / "data"
    more: Any = {"tanlu_data_dir": data, "knowledge_store": "chroma"}
    for text in ("lithium", "sodium"):
        store = build_store(read_settings(**more), embedder="small")
        await keep(store, text, text, vectors=[[1, 0]])
        assert mode(data / "chroma") == 0o700
        await store.aclose()
        assert open_to_others(data) == {}
        open_to_all(data)


def test_the_lock_of_a_server_is_its_user_s(tmp_path: Path) -> None:
    folder = tmp_path / "server"
    folder.mkdir(0o700)
    assert claim(folder)
    assert open_to_others(folder) == {}
