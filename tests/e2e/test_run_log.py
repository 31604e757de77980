"""After kill -9 the run log says what is begun again: what was accepted and has not ended."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph_sdk.errors import APIStatusError

from tests.e2e.test_server_recovery import (
    OPEN_RUNS,
    At,
    Clients,
    answered,
    clients,
    probe,
    probe_and_url,
    question,
    stored,
    until,
)
from tests.support.dev_server import REPOSITORY, DevServer, dev_server
from tests.support.probe_graph import CALLS_PER_RUN
from tests.support.probe_service import Probe

__all__ = ["clients", "probe", "probe_and_url"]
pytestmark = [pytest.mark.server, pytest.mark.slow]
GRAPHS = {
    "probe": "tests.support.probe_graph:graph",
    "pausing": "tests.support.pausing_graph:graph",
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, probe_and_url: At) -> Iterator[DevServer]:
    folder: Path = tmp_path_factory.mktemp("server")
    environment = {"PROBE_URL": probe_and_url[1], "PYTHONPATH": str(REPOSITORY)}
    options: Any = {"env": environment, "config": {"graphs": GRAPHS}, "forgetful": True}
    with dev_server(folder, **options) as started:
        yield started


async def test_refused_questions_and_ended_ones_before_them_are_not_asked_again(
    clients: Clients, server: DevServer, probe: Probe
) -> None:
    """Two questions wait on one thread; the first has ended, a third was refused with 409."""
    probe.held = {"second/work-1"}
    client = await clients.open()
    thread_id = (await client.threads.create())["thread_id"]
    first = await client.runs.create(thread_id, "probe", input=question("first"))
    await client.runs.create(thread_id, "probe", input=question("second"))
    with pytest.raises(APIStatusError) as refused:
        await client.runs.create(
            thread_id, "probe", input=question("third"), multitask_strategy="reject"
        )
    assert refused.value.response.status_code == 409
    await client.runs.join(thread_id, first["run_id"])
    await asyncio.to_thread(probe.wait_for, "second/work-1")
    assert stored(server, OPEN_RUNS) == 1
    probe.held = set()
    client = await clients.after_kill_9()
    state = await answered(client, thread_id)
    texts = [message["content"] for message in state["values"]["messages"]]
    answers = [f"{CALLS_PER_RUN} calls", f"{2 * CALLS_PER_RUN} calls"]
    assert texts == ["first", answers[0], "second", answers[1]]
    await until(lambda: stored(server, OPEN_RUNS) == 0)
    assert probe.arrived["first/plan"] == probe.arrived["second/plan"] == 1
    assert "third/plan" not in probe.arrived


async def test_a_run_that_waits_behind_one_that_was_cancelled_is_not_forgotten(
    clients: Clients, server: DevServer, probe: Probe
) -> None:
    """The server calls a thread idle as soon as one of its waiting runs is cancelled."""
    probe.held = {"working/work-1"}
    client = await clients.open()
    thread_id = (await client.threads.create())["thread_id"]
    await client.runs.create(thread_id, "probe", input=question("working"))
    waiting = await client.runs.create(thread_id, "probe", input=question("waiting"))
    await asyncio.to_thread(probe.wait_for, "working/work-1")
    await client.runs.cancel(thread_id, waiting["run_id"])
    await until(lambda: stored(server, OPEN_RUNS) < 2)
    assert stored(server, OPEN_RUNS) == 1
    probe.held = set()
    client = await clients.after_kill_9()
    state = await answered(client, thread_id)
    assert state["values"]["messages"][-1]["content"] == f"{CALLS_PER_RUN} calls"
    assert "waiting/plan" not in probe.arrived


async def test_an_answer_to_a_pause_by_the_event_protocol_outlives_kill_9(
    clients: Clients, server: DevServer, probe: Probe
) -> None:
    probe.held = {"paused/after"}
    client = await clients.open()
    thread_id = (await client.threads.create())["thread_id"]
    await client.runs.wait(thread_id, "pausing", input=question("paused"))
    assert stored(server, OPEN_RUNS) == 0
    (pause,) = (await client.threads.get_state(thread_id))["interrupts"]
    params = {"interrupt_id": pause["id"], "namespace": [], "response": "yes"}
    command = {"id": 1, "method": "input.respond", "params": params}
    reply = await client.http.post(f"/threads/{thread_id}/commands", json=command)
    assert reply["type"] == "success", reply
    await asyncio.to_thread(probe.wait_for, "paused/after")
    assert stored(server, OPEN_RUNS) == 1
    probe.held = set()
    client = await clients.after_kill_9()
    state = await answered(client, thread_id)
    assert state["values"]["messages"][-1]["content"] == "answered: yes"
