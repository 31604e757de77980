"""The server is killed; started again, it brings to their end the runs it had accepted.

The run log says which: what was accepted, by whichever way, and has neither ended nor been stopped.
"""

import asyncio
import json
import random
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from langgraph_sdk.errors import APIStatusError
from websockets.asyncio.client import connect

from tests.support.dev_server import DevServer
from tests.support.probe_graph import CALLS_PER_RUN
from tests.support.probe_service import Probe
from tests.support.recovery_lab import (
    OPEN_RUNS,
    At,
    Clients,
    answered,
    clients,
    listed,
    probe,
    probe_and_url,
    probe_server,
    question,
    stored,
    until,
)

__all__ = ["clients", "probe", "probe_and_url"]
pytestmark = [pytest.mark.server, pytest.mark.slow]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, probe_and_url: At) -> Iterator[DevServer]:
    """One for all tests: each asks of turns of its own. Only what we wrote down outlives it."""
    folder = tmp_path_factory.mktemp("server")
    with probe_server(folder, probe_and_url[1], forgetful=True) as started:
        yield started


async def test_a_run_accepted_seconds_before_kill_9_ends_by_itself_and_repeats_nothing(
    clients: Clients, server: DevServer, probe: Probe
) -> None:
    probe.held = {"accepted/work-1"}
    client = await clients.open()
    thread = await client.threads.create()
    await client.runs.create(thread["thread_id"], "probe", input=question("accepted"))
    for name in ("work-1", "work-0-again", "work-2-again"):
        await asyncio.to_thread(probe.wait_for, f"accepted/{name}", answered=name != "work-1")
    kept = "SELECT count(*) FROM replies WHERE turn_id = 'accepted'"
    await until(lambda: stored(server, kept) == 5)
    probe.held = set()
    client = await clients.after_kill_9()
    state = await answered(client, thread["thread_id"])
    assert state["values"]["messages"][-1]["content"] == f"{CALLS_PER_RUN} calls"
    assert len([m for m in state["values"]["messages"] if m["type"] == "human"]) == 1
    assert probe.arrived.pop("accepted/work-1") == 2
    assert set(probe.arrived.values()) == {1}


async def test_who_listens_to_a_continued_run_is_told_what_they_asked_for(
    clients: Clients, probe: Probe
) -> None:
    probe.held = {"heard/work-1"}
    client = await clients.open()
    thread_id = (await client.threads.create())["thread_id"]
    heard: Any = {"stream_mode": ["tasks"], "stream_resumable": True}
    heard |= {"metadata": {"title": "heard"}, "input": question("heard")}
    await client.runs.create(thread_id, "probe", **heard)
    await asyncio.to_thread(probe.wait_for, "heard/work-1")
    client = await clients.after_kill_9()
    probe.held, (run,) = set(), await listed(client, thread_id)
    parts = client.runs.join_stream(thread_id, run["run_id"], last_event_id="-1")
    assert {part.event async for part in parts} == {"metadata", "tasks"}
    (thread,) = await client.threads.search(metadata={"title": "heard"})
    assert thread["thread_id"] == thread_id


async def test_runs_that_wait_in_the_queue_are_not_lost(clients: Clients, probe: Probe) -> None:
    probe.held = {f"turn-{n}/plan" for n in range(3)}
    client = await clients.open()
    thread = await client.threads.create()
    other = str(uuid4())
    for number in range(2):
        await client.runs.create(thread["thread_id"], "probe", input=question(f"turn-{number}"))
    await client.runs.create(other, "probe", input=question("turn-2"), if_not_exists="create")
    await asyncio.to_thread(probe.wait_for, "turn-0/plan")
    await asyncio.to_thread(probe.wait_for, "turn-2/plan")
    probe.held = set()
    client = await clients.after_kill_9()
    await answered(client, other)
    await asyncio.to_thread(probe.wait_for, "turn-1/answer", answered=True)
    await asyncio.to_thread(probe.wait_for, "turn-0/answer", answered=True)
    state = await answered(client, thread["thread_id"])
    asked = [m["content"] for m in state["values"]["messages"] if m["type"] == "human"]
    assert asked == ["turn-0", "turn-1"]


async def test_a_finished_or_cancelled_run_is_not_begun_again(
    clients: Clients, server: DevServer, probe: Probe
) -> None:
    client = await clients.open()
    done, stopped = await client.threads.create(), await client.threads.create()
    await client.runs.wait(done["thread_id"], "probe", input=question("done"))
    probe.held = {"stopped/work-1"}
    run = await client.runs.create(stopped["thread_id"], "probe", input=question("stopped"))
    await asyncio.to_thread(probe.wait_for, "stopped/work-1")
    for name in ("work-0-again", "work-2-again"):
        await asyncio.to_thread(probe.wait_for, f"stopped/{name}", answered=True)
    await client.runs.cancel(stopped["thread_id"], run["run_id"], wait=True)
    await until(lambda: stored(server, OPEN_RUNS) == 0)
    before = dict(probe.arrived)
    probe.held = set()
    client = await clients.after_kill_9()
    fresh = await client.threads.create()
    await client.runs.wait(fresh["thread_id"], "probe", input=question("fresh"))
    after = {name: n for name, n in probe.arrived.items() if not name.startswith("fresh/")}
    assert after == before


async def test_cancel_stops_spending_at_once(clients: Clients, probe: Probe) -> None:
    probe.held = {"cancelled/work-0", "cancelled/work-1", "cancelled/work-2"}
    client = await clients.open()
    thread = await client.threads.create()
    run = await client.runs.create(thread["thread_id"], "probe", input=question("cancelled"))
    for name in probe.held:
        await asyncio.to_thread(probe.wait_for, name)
    await client.runs.cancel(thread["thread_id"], run["run_id"], wait=True)
    spent = sum(probe.arrived.values())
    probe.held = set()
    await client.runs.wait(thread["thread_id"], "probe", input=question("next"))
    assert sum(n for name, n in probe.arrived.items() if name.startswith("cancelled/")) == spent


async def test_every_run_writes_its_steps_before_it_goes_on_and_keeps_the_last(
    clients: Clients, probe: Probe
) -> None:
    probe.held = {"written/work-1"}
    client = await clients.open()
    thread = await client.threads.create()
    run = await client.runs.create(
        thread["thread_id"], "probe", input=question("written"), durability="exit"
    )
    stored = await client.runs.get(thread["thread_id"], run["run_id"])
    assert stored["kwargs"]["durability"] == "sync"  # type: ignore[typeddict-item]
    await asyncio.to_thread(probe.wait_for, "written/work-1")
    assert len(await client.threads.get_history(thread["thread_id"], limit=20)) > 1
    probe.held = set()
    await client.runs.join(thread["thread_id"], run["run_id"])
    (last,) = await client.threads.get_history(thread["thread_id"], limit=20)
    assert last["next"] == []


async def test_a_protocol_v2_run_is_continued_too(clients: Clients, probe: Probe) -> None:
    probe.held = {"protocol/work-1"}
    client = await clients.open()
    thread_id = str(uuid4())
    params = {"assistant_id": "probe", "input": question("protocol")}
    command = {"id": 1, "method": "run.start", "params": params}
    reply = await client.http.post(f"/threads/{thread_id}/commands", json=command)
    assert reply["type"] == "success", reply
    await asyncio.to_thread(probe.wait_for, "protocol/work-1")
    probe.held = set()
    client = await clients.after_kill_9()
    state = await answered(client, thread_id)
    assert state["values"]["messages"][-1]["content"] == f"{CALLS_PER_RUN} calls"
    assert probe.arrived["protocol/plan"] == 1


async def test_a_run_started_over_a_web_socket_is_continued_too(
    clients: Clients, server: DevServer, probe: Probe
) -> None:
    probe.held = {"socket/work-1"}
    thread_id = str(uuid4())
    params = {"assistant_id": "probe", "input": question("socket")}
    address = f"{server.url.replace('http', 'ws')}/threads/{thread_id}/stream/events"
    async with connect(address, proxy=None) as socket:
        for nonsense in (
            "?",
            "[]",
            '{"id": [1], "method": ["run.start"]}',
            '{"id": 1, "method": []}',
        ):
            await socket.send(nonsense)
            assert json.loads(await socket.recv())["error"] == "invalid_argument"
        await socket.send(json.dumps({"id": 1, "method": "run.start", "params": params}))
        reply = json.loads(await socket.recv())
    assert reply["type"] == "success", reply
    await asyncio.to_thread(probe.wait_for, "socket/work-1")
    probe.held = set()
    client = await clients.after_kill_9()
    state = await answered(client, thread_id)
    assert state["values"]["messages"][-1]["content"] == f"{CALLS_PER_RUN} calls"
    assert probe.arrived["socket/plan"] == 1


async def test_killed_again_and_again_a_run_still_ends(clients: Clients, probe: Probe) -> None:
    probe.seconds = 0.3
    chance = random.Random(3)
    client = await clients.open()
    thread = await client.threads.create()
    await client.runs.create(thread["thread_id"], "probe", input=question("killed"))
    for _ in range(2):
        await asyncio.sleep(chance.uniform(0.5, 1.5))
        client = await clients.after_kill_9()
    state = await answered(client, thread["thread_id"])
    assert state["values"]["messages"][-1]["content"] == f"{CALLS_PER_RUN} calls"
    assert sum(probe.answered.values()) - CALLS_PER_RUN <= 2 * 3
    assert state["next"] == []


async def test_an_answer_given_just_before_kill_9_is_still_there(
    clients: Clients, server: DevServer, probe: Probe
) -> None:
    client = await clients.open()
    thread = await client.threads.create()
    await client.runs.wait(thread["thread_id"], "probe", input=question("given"))
    await until(lambda: stored(server, OPEN_RUNS) == 0)
    client = await clients.after_kill_9()
    await answered(client, thread["thread_id"])
    assert probe.arrived["given/plan"] == 1


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
