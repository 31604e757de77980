"""`langgraph dev` whose data folder's disk is full; needs the right to mount one."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient

from tests.support.dev_server import REPOSITORY, DevServer, dev_server
from tests.support.probe_graph import CALLS_PER_RUN
from tests.support.recovery_lab import At, probe_and_url, question, until

__all__ = ["probe_and_url"]
pytestmark = [pytest.mark.server, pytest.mark.slow]


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 700 kB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=700k", "tanlu-tests", str(folder)]
    if sys.platform != "linux" or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("no disk can be mounted here")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.fixture
def server(tmp_path: Path, disk: Path, probe_and_url: At) -> Iterator[DevServer]:
    environment = {
        "PROBE_URL": probe_and_url[1],
        "PYTHONPATH": str(REPOSITORY),
        "TANLU_DATA_DIR": str(disk / "data"),
    }
    graphs = {"graphs": {"probe": "tests.support.probe_graph:graph"}}
    with dev_server(tmp_path / "server", env=environment, config=graphs) as started:
        yield started


def fill(disk: Path) -> None:
    """Leave no byte free."""
    with (disk / "ballast").open("ab", buffering=0) as ballast:
        try:
            while ballast.write(bytes(4096)):
                pass
        except OSError:
            return


async def failure(client: LangGraphClient, thread: str, **run: Any) -> dict[str, Any]:
    """What the events of a run say of its end."""
    events = client.runs.stream(thread, "probe", stream_mode=["values"], **run)
    (error,) = [part.data async for part in events if part.event == "error"]
    return dict(error)


async def test_a_run_ends_typed_pays_for_nothing_more_and_goes_on_when_there_is_room(
    server: DevServer, disk: Path, probe_and_url: At
) -> None:
    probe = probe_and_url[0]
    probe.held = {f"full/work-{number}" for number in range(3)}
    async with get_client(url=server.url) as client:
        thread = (await client.threads.create())["thread_id"]
        ending = asyncio.create_task(failure(client, thread, input=question("full")))
        await until(lambda: sum(probe.arrived.values()) == 4)
        fill(disk)
        probe.held = set()
        error = await ending
        assert error["error"] == "StoreFailed", server.output()
        assert error["message"].startswith(f"TANLU_DATA_DIR: {disk}")
        before = dict(probe.arrived)
        for given in ({"input": None}, {"input": question("another")}):
            assert (await failure(client, thread, **given))["error"] == "StoreFailed"
        fresh = (await client.threads.create())["thread_id"]
        assert (await failure(client, fresh, input=question("new")))["error"] == "StoreFailed"
        assert dict(probe.arrived) == before
        assert not [name for name in before if "again" in name]
        (disk / "ballast").unlink()
        await client.runs.wait(thread, "probe", input=None)
        values = (await client.threads.get_state(thread))["values"]
    assert values["messages"][-1]["content"] == f"{CALLS_PER_RUN} calls"
    repeated = {name: count for name, count in probe.arrived.items() if count > 1}
    assert set(repeated) <= {f"full/work-{number}" for number in range(3)}
    assert "Traceback" not in server.output()
