"""After kill -9, what a server goes on with belongs to whom it belonged to."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import NotFoundError

from tests.support.dev_server import REPOSITORY, DevServer, dev_server
from tests.support.probe_service import Probe, probe_service
from tests.support.two_owners import ALICE, BOB, KEYS

pytestmark = [pytest.mark.server]

Open = tuple[DevServer, Probe]


@pytest.fixture(params=[KEYS, {}], ids=["keys", "open"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Open]:
    with probe_service() as (probe, url):
        environment = {"PROBE_URL": url, "PYTHONPATH": str(REPOSITORY), **request.param}
        config = {"graphs": {"owner": "tests.e2e.owner_graph:graph"}}
        with dev_server(tmp_path / "server", env=environment, config=config) as server:
            yield server, probe


async def answer(client: LangGraphClient, thread_id: str) -> str:
    """What the thread's last message says, once it is an answer."""
    async with asyncio.timeout(120):
        while True:
            try:
                state: Any = await client.threads.get_state(thread_id)
            except NotFoundError:
                state = {"values": {}}
            messages = (state["values"] or {}).get("messages", [])
            if messages and messages[-1]["type"] == "ai":
                return str(messages[-1]["content"])
            await asyncio.sleep(0.2)


async def ask(client: LangGraphClient, words: str) -> tuple[str, str]:
    thread_id = (await client.threads.create())["thread_id"]
    given = {"messages": words}
    run = await client.runs.create(thread_id, "owner", input=given, context={"unused": words})
    return thread_id, run["run_id"]


async def test_a_run_goes_on_as_its_owner_s(opened: Open) -> None:
    server, probe = opened
    probe.held = {"held/whose"}
    async with get_client(url=server.url, api_key=ALICE) as alice:
        done, run = await ask(alice, "done")
        await alice.runs.join(done, run)
        held, _ = await ask(alice, "held")
        await asyncio.to_thread(probe.wait_for, "held/whose")
    await asyncio.to_thread(server.kill)
    probe.held = set()
    await asyncio.to_thread(server.start)
    keyed = "TANLU_API_KEYS" in server.env
    owner = "alice" if keyed else ""
    async with get_client(url=server.url, api_key=ALICE) as alice:
        for thread_id in (held, done):
            assert await answer(alice, thread_id) == f"owner: {owner!r}"
            metadata = (await alice.threads.get(thread_id))["metadata"] or {}
            assert metadata.get("tanlu_owner", "") == owner
    async with get_client(url=server.url, api_key=BOB) as bob:
        for thread_id in (held, done):
            if not keyed:
                assert await answer(bob, thread_id) == "owner: ''"
                continue
            with pytest.raises(NotFoundError):
                await bob.threads.get(thread_id)
            given: Any = {"thread_id": thread_id, "if_exists": "do_nothing"}
            assert (await bob.http.client.post("/threads", json=given)).status_code == 409


async def test_another_server_of_the_same_memory_gives_a_thread_to_its_owner_only(
    tmp_path: Path,
) -> None:
    config = {"graphs": {"owner": "tests.e2e.owner_graph:graph"}}
    with probe_service() as (_, url):
        memory = str(tmp_path / "memory")
        environment = {"PROBE_URL": url, "PYTHONPATH": str(REPOSITORY), **KEYS}
        environment["TANLU_DATA_DIR"] = memory
        with dev_server(tmp_path / "first", env=environment, config=config) as first:
            async with get_client(url=first.url, api_key=ALICE) as alice:
                thread_id, run = await ask(alice, "done")
                await alice.runs.join(thread_id, run)
        with dev_server(tmp_path / "second", env=environment, config=config) as second:
            async with get_client(url=second.url, api_key=BOB) as bob:
                await nothing_of(bob, thread_id)
            async with get_client(url=second.url, api_key=ALICE) as alice:
                # Stopped before it wrote down the run's end, the first has left it to the second.
                await alice.threads.create(
                    thread_id=thread_id, graph_id="owner", if_exists="do_nothing"
                )
                assert await answer(alice, thread_id) == "owner: 'alice'"
            async with get_client(url=second.url, api_key=BOB) as bob:
                await nothing_of(bob, thread_id)


async def nothing_of(bob: LangGraphClient, thread_id: str) -> None:
    """Neither a thread nor a run may come to be under another's id."""
    http = bob.http.client
    given: Any = {"thread_id": thread_id, "if_exists": "do_nothing", "metadata": {"graph_id": "x"}}
    assert (await http.post("/threads", json=given)).status_code == 409
    run: Any = {"assistant_id": "owner", "input": {"messages": "bob"}}
    reply = await http.post(
        f"/threads/{thread_id}/runs/wait", json={**run, "if_not_exists": "create"}
    )
    assert reply.status_code == 404
    command = {"id": 1, "method": "run.start", "params": run}
    reply = await http.post(f"/threads/{thread_id}/commands", json=command)
    assert reply.json()["type"] == "error"
    assert (await http.get(f"/threads/{thread_id}/state")).status_code == 404
