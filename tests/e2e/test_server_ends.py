"""What ended or was stopped stays so, whatever the server's own files say after kill -9."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.test_server_recovery import (
    OPEN_RUNS,
    Clients,
    clients,
    probe,
    probe_and_url,
    probe_server,
    question,
    stored,
    until,
)
from tests.support.dev_server import DevServer
from tests.support.probe_service import Probe

__all__ = ["clients", "probe", "probe_and_url"]
pytestmark = [pytest.mark.server, pytest.mark.slow]
WORDS = "done", "stopped"


@pytest.fixture
def server(tmp_path: Path, probe_and_url: tuple[Probe, str]) -> Iterator[DevServer]:
    with probe_server(tmp_path / "server", probe_and_url[1], hurried=True) as started:
        yield started


def is_on_disk(server: DevServer, run_id: str) -> bool:
    """Whether a run is in the server's own files, which it writes now and then."""
    files = (server.folder / ".langgraph_api").glob("*ops.pckl")
    return any(run_id.encode() in path.read_bytes() for path in files)


async def test_runs_that_were_written_down_while_they_ran_are_not_begun_again(
    clients: Clients, server: DevServer, probe: Probe
) -> None:
    probe.held = {f"{word}/work-1" for word in WORDS}
    client = await clients.open()
    threads = [(await client.threads.create())["thread_id"] for _ in WORDS]
    asked = zip(threads, WORDS, strict=True)
    done, stopped = [await client.runs.create(t, "probe", input=question(w)) for t, w in asked]
    await until(lambda: all(is_on_disk(server, run["run_id"]) for run in (done, stopped)))
    await client.runs.cancel(stopped["thread_id"], stopped["run_id"], wait=True)
    probe.held = {"stopped/work-1"}
    await client.runs.join(done["thread_id"], done["run_id"])
    await until(lambda: stored(server, OPEN_RUNS) == 0)
    before, probe.held = dict(probe.arrived), set()
    client = await clients.after_kill_9()
    fresh = await client.threads.create()
    await client.runs.wait(fresh["thread_id"], "probe", input=question("fresh"))
    assert {n: c for n, c in probe.arrived.items() if not n.startswith("fresh/")} == before
    assert "busy" not in [(await client.threads.get(thread))["status"] for thread in threads]
