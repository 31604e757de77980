"""`langgraph dev` writes its lists of threads and runs itself: only its user can read them."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from langgraph_sdk import get_client

from tests.e2e.test_server import EN, question, until
from tests.support.dev_server import DevServer, dev_server
from tests.support.file_modes import POSIX, open_to_all, open_to_others, usual_umask_fixture

__all__ = ["usual_umask_fixture"]
pytestmark = [POSIX, pytest.mark.server, pytest.mark.slow]
MINE = (".langgraph_api", "threads")


@pytest.fixture(name="server")
def own_server_fixture(tmp_path: Path, usual_umask: None) -> Iterator[DevServer]:
    with dev_server(tmp_path / "server", hurried=True) as started:
        yield started


def readable(server: DevServer) -> dict[str, dict[str, str]]:
    found = {name: open_to_others(server.folder / name) for name in MINE}
    return {name: modes for name, modes in found.items() if modes}


async def test_neither_its_lists_nor_the_conversations_can_be_read_by_others(
    server: DevServer,
) -> None:
    async with get_client(url=server.url) as client:
        thread = await client.threads.create()
        await client.runs.wait(thread["thread_id"], "agent", input=question(EN))
    lists = server.folder / ".langgraph_api" / ".langgraph_ops.pckl"
    await until(lists.exists)
    assert readable(server) == {}
    await asyncio.to_thread(server.stop)
    assert readable(server) == {}

    # As an older version left them, which is corrected at the start and after each flush.
    for name in MINE:
        open_to_all(server.folder / name)
    await asyncio.to_thread(server.start)
    assert readable(server) == {}
    flushed = os.stat(lists).st_mtime_ns
    await until(lambda: os.stat(lists).st_mtime_ns != flushed)
    assert readable(server) == {}
