"""Threads on SQLite, without any process but this one."""

import sys
from pathlib import Path

import pytest

from agent.core.errors import ConfigurationError
from agent.engines.langgraph import checkpoints as checkpointer
from agent.runs.sql import connect_sqlite
from agent.runs.threads import open_saver, open_threads
from agent.settings import Settings
from tests.support.run_fixtures import whole_folder


@pytest.fixture(autouse=True)
def elsewhere(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """`make` would claim the folder for this process, or find a developer's server in it."""
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))


async def test_a_folder_that_cannot_be_made_names_its_variable(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    settings = Settings(tanlu_data_dir=tmp_path / "file" / "below")
    with pytest.raises(ConfigurationError, match="TANLU_DATA_DIR") as caught:
        async with open_threads(settings):
            pass
    assert "\n" not in str(caught.value)


async def test_a_file_that_is_no_database_names_its_variable(tmp_path: Path) -> None:
    (tmp_path / "threads.sqlite").write_text("this is certainly not an SQLite file" * 50)
    with pytest.raises(ConfigurationError, match="TANLU_DATA_DIR"):
        async with open_saver(tmp_path):
            pass


@pytest.mark.skipif(sys.platform != "linux", reason="looks at open files as Linux shows them")
def test_a_file_that_is_no_database_is_not_left_open(tmp_path: Path) -> None:
    path = tmp_path / "threads.sqlite"
    path.write_text("this is certainly not an SQLite file" * 50)
    # The error is kept: its traceback would keep an unclosed connection alive.
    with pytest.raises(ConfigurationError) as kept:
        connect_sqlite(path)
    still_open = [link for link in Path("/proc/self/fd").iterdir() if link.exists()]
    assert path not in [link.resolve() for link in still_open]
    assert str(path) in str(kept.value)


async def test_the_server_s_threads_ignore_mistakes_in_other_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TANLU_DATA_DIR", str(tmp_path / "threads"))
    monkeypatch.setenv("AMAP_MCP_COMMAND", "not json")
    monkeypatch.delenv("LANGGRAPH_RUNTIME_EDITION", raising=False)
    async with checkpointer.make():
        assert (tmp_path / "threads" / "threads.sqlite").exists()


async def test_on_the_platform_its_own_threads_are_never_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TANLU_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("LANGGRAPH_RUNTIME_EDITION", "postgres")
    with pytest.raises(ConfigurationError, match="LANGGRAPH_CHECKPOINTER"):
        async with checkpointer.make():
            pass
    assert whole_folder(tmp_path) == b""


async def test_services_are_closed_after_the_last_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TANLU_DATA_DIR", str(tmp_path))
    monkeypatch.delenv("LANGGRAPH_RUNTIME_EDITION", raising=False)
    closed: list[str] = []

    async def close() -> None:
        closed.append("services")

    assert not checkpointer.close_after_runs(close)
    async with checkpointer.make():
        assert checkpointer.close_after_runs(close)
        assert closed == []
    assert closed == ["services"]
