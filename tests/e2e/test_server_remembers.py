"""A server that wrote down its runs itself, as it does when it ends and now and then before."""

import asyncio
import time
from collections.abc import Iterator

import pytest

from tests.support.dev_server import DevServer
from tests.support.probe_graph import CALLS_PER_RUN
from tests.support.probe_service import Probe
from tests.support.recovery_lab import (
    OPEN_RUNS,
    At,
    Clients,
    answered,
    clients,
    probe,
    probe_and_url,
    probe_server,
    question,
    stored,
    until,
)

__all__ = ["clients", "probe", "probe_and_url"]
pytestmark = [pytest.mark.server, pytest.mark.slow]
WORDS = "done", "stopped"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, probe_and_url: At) -> Iterator[DevServer]:
    folder = tmp_path_factory.mktemp("server")
    with probe_server(folder, probe_and_url[1], hurried=True) as started:
        yield started


async def test_a_run_the_server_itself_remembers_is_continued_once(
    clients: Clients, server: DevServer, probe: Probe
) -> None:
    probe.held = {"remembered/work-1"}
    client = await clients.open()
    thread = await client.threads.create()
    await client.runs.create(thread["thread_id"], "probe", input=question("remembered"))
    await asyncio.to_thread(probe.wait_for, "remembered/work-1")
    written = server.folder / ".langgraph_api" / ".langgraph_ops.pckl"
    accepted = time.time()
    await until(lambda: written.exists() and written.stat().st_mtime > accepted)
    client = await clients.after_kill_9()
    probe.held = set()
    state = await answered(client, thread["thread_id"])
    assert state["values"]["messages"][-1]["content"] == f"{CALLS_PER_RUN} calls"
    assert len(await client.runs.list(thread["thread_id"])) == 1
    assert probe.arrived.pop("remembered/work-1") == 2
    assert set(probe.arrived.values()) == {1}


async def test_a_server_that_was_asked_to_stop_goes_on_when_it_starts_again(
    clients: Clients, server: DevServer, probe: Probe
) -> None:
    probe.held = {"asked/work-1"}
    client = await clients.open()
    thread = await client.threads.create()
    await client.runs.create(thread["thread_id"], "probe", input=question("asked"))
    await asyncio.to_thread(probe.wait_for, "asked/work-1")
    server.stop()
    assert not any(bad in server.output() for bad in ("BlockingError", "Traceback"))
    probe.held = set()
    await asyncio.to_thread(server.start)
    state = await answered(await clients.open(), thread["thread_id"])
    assert state["values"]["messages"][-1]["content"] == f"{CALLS_PER_RUN} calls"
    assert probe.arrived["asked/plan"] == 1


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
