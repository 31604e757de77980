"""Two owners with keys on one server: nothing of the one's is the other's, whatever is tried."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import httpx
import pytest
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosedError

from tests.support.dev_server import REPOSITORY, DevServer, dev_server
from tests.support.mcp_client import connected, said
from tests.support.probe_graph import CALLS_PER_RUN
from tests.support.probe_service import Probe, probe_service
from tests.support.recovery_lab import question
from tests.support.two_owners import (
    ALICE,
    ATTEMPTS,
    BOB,
    BY_OWN_THREAD,
    KEYS,
    LISTS,
    SECRET,
    Attempt,
    answer_to,
)

pytestmark = [pytest.mark.server]

HELD = "held/work-1"


@dataclass
class Belongings:
    """What one owner has on a server."""

    client: LangGraphClient
    ids: dict[str, str] = field(default_factory=dict)

    async def make(self) -> None:
        """A thread with words on it, one where a run is held, an assistant, an item, a cron."""
        client, metadata = self.client, {"note": SECRET}
        ask = question(SECRET)
        thread = await client.threads.create(metadata=metadata)
        run = await client.runs.create(thread["thread_id"], "probe", input=ask)
        await client.runs.join(thread["thread_id"], run["run_id"])
        assistant = await client.assistants.create("probe", name=SECRET, metadata=metadata)
        await client.store.put_item(["notes"], "k", {"v": SECRET})
        ours = await client.assistants.create("agent", name=SECRET, metadata=metadata)
        variant = ours["assistant_id"]
        cron: Any = await client.crons.create(variant, schedule="0 0 1 1 *", input=ask)
        self.ids.update(
            thread=thread["thread_id"],
            run=run["run_id"],
            assistant=assistant["assistant_id"],
            variant=variant,
            cron=cron["cron_id"],
        )

    async def hold(self, words: str) -> None:
        """A run that the probe service holds."""
        ask = question(words)
        busy = await self.client.threads.create()
        live = await self.client.runs.create(busy["thread_id"], "probe", input=ask)
        self.ids.update(busy=busy["thread_id"], live=live["run_id"])

    async def all(self) -> dict[str, Any]:
        """Everything of it, as its owner sees it."""
        client, ids = self.client, self.ids
        threads = [ids["thread"], ids["busy"]]
        return {
            "threads": await client.threads.search(limit=100, sort_by="thread_id"),
            "states": [await client.threads.get_state(thread) for thread in threads],
            "history": [await client.threads.get_history(thread, limit=50) for thread in threads],
            "runs": [await client.runs.list(thread, limit=50) for thread in threads],
            "versions": await client.assistants.get_versions(ids["assistant"]),
            "items": await client.store.search_items(["notes"]),
            "crons": await client.crons.search(),
        }


@dataclass
class House:
    """A server with what Alice has there; one of her runs is held in the middle."""

    server: DevServer
    probe: Probe
    ids: dict[str, str]
    before: dict[str, Any]

    @property
    def unknown(self) -> dict[str, str]:
        """Ids that nobody has."""
        return {name: str(uuid4()) for name in self.ids}


async def _settled(alice: Belongings) -> dict[str, Any]:
    """What she has, once the server has stopped writing to it."""
    async with asyncio.timeout(120):
        last = await alice.all()
        while (now := await alice.all()) != last or not _held(now):
            last = now
            await asyncio.sleep(0.2)
    return last


def _held(seen: dict[str, Any]) -> bool:
    return bool(seen["runs"][1][0]["status"] == "running" and seen["states"][1]["next"])


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    async def furnish(server: DevServer, probe: Probe) -> House:
        async with get_client(url=server.url, api_key=ALICE) as client:
            alice = Belongings(client)
            await alice.make()
            await alice.hold("held")
            await asyncio.to_thread(probe.wait_for, HELD)
            return House(server, probe, alice.ids, await _settled(alice))

    with probe_service() as (probe, url):
        probe.held = {HELD}
        environment = {"PROBE_URL": url, "PYTHONPATH": str(REPOSITORY), **KEYS}
        graphs = {"probe": "tests.support.probe_graph:graph", "agent": "agent.graph:graph"}
        config = {"graphs": graphs}
        folder = tmp_path_factory.mktemp("house")
        with dev_server(folder, env=environment, config=config) as server:
            yield asyncio.run(furnish(server, probe))


@pytest.fixture
async def bob(house: House) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(
        base_url=house.server.url, headers={"x-api-key": BOB}, trust_env=False, timeout=60
    ) as client:
        yield client


@pytest.mark.parametrize("attempt", ATTEMPTS, ids=lambda attempt: attempt.name)
async def test_what_is_another_s_answers_as_if_it_were_not_there(
    house: House, bob: httpx.AsyncClient, attempt: Attempt
) -> None:
    foreign = await answer_to(bob, attempt, house.ids)
    assert SECRET not in foreign.text
    if attempt.makes:
        refused = foreign.status in (404, 409) or '"type":"error"' in foreign.text
        assert refused, foreign
    else:
        assert foreign == await answer_to(bob, attempt, house.unknown)
        assert foreign.status >= 400 or foreign.text == "" or "error" in foreign.text


@pytest.mark.parametrize("attempt", LISTS, ids=lambda attempt: attempt.name)
async def test_no_list_shows_or_touches_what_is_another_s(
    house: House, bob: httpx.AsyncClient, attempt: Attempt
) -> None:
    answer = await answer_to(bob, attempt, house.ids)
    assert SECRET not in answer.text
    assert not any(f"<{name}>" in answer.text for name in house.ids)


async def test_no_tool_goes_on_with_another_s_thread(house: House) -> None:
    async def answer(thread_id: str) -> str:
        async with connected(house.server.url, key=BOB) as session:
            (tool, *_) = (await session.list_tools()).tools
            given = {"question": "bob", "thread_id": thread_id}
            return said(await session.call_tool(tool.name, given))

    assert await answer(house.ids["thread"]) == await answer(str(uuid4()))


@pytest.mark.parametrize("attempt", BY_OWN_THREAD, ids=lambda attempt: attempt.name)
async def test_another_s_run_cannot_be_reached_by_one_s_own_thread(
    house: House, bob: httpx.AsyncClient, attempt: Attempt
) -> None:
    thread = (await bob.post("/threads", json={})).json()["thread_id"]
    foreign = await answer_to(bob, attempt, {**house.ids, "busy": thread})
    unknown = await answer_to(bob, attempt, {**house.unknown, "busy": thread})
    assert foreign == unknown
    assert SECRET not in foreign.text


async def test_another_s_checkpoints_are_not_one_s_own_run_s_start(
    house: House, bob: httpx.AsyncClient
) -> None:
    thread = (await bob.post("/threads", json={})).json()["thread_id"]
    (latest, *_) = house.before["history"][0]
    ask = {"assistant_id": "probe", "input": {"messages": "bob"}}
    for given in (latest["checkpoint"], {"thread_id": house.ids["thread"], "checkpoint_ns": ""}):
        reply = await bob.post(f"/threads/{thread}/runs/wait", json={**ask, "checkpoint": given})
        assert SECRET not in reply.text
        reply = await bob.post(f"/threads/{thread}/state/checkpoint", json={"checkpoint": given})
        assert SECRET not in reply.text
    assert SECRET not in (await bob.get(f"/threads/{thread}/history?limit=50")).text


async def test_a_cron_runs_as_nobody_but_its_maker(house: House, bob: httpx.AsyncClient) -> None:
    user = {"langgraph_auth_user": {"identity": "alice"}, "langgraph_auth_user_id": "alice"}
    ask = {"assistant_id": "probe", "schedule": "0 0 1 1 *", "config": {"configurable": user}}
    made = (await bob.post("/runs/crons", json=ask)).json()
    assert (made["user_id"], made["metadata"]["tanlu_owner"]) == ("bob", "bob")
    assert "alice" not in str(made)


async def test_the_protocol_s_socket_says_nothing_of_another_s_thread(house: House) -> None:
    where = house.server.url.replace("http", "ws")
    path = f"/threads/{house.ids['busy']}/stream/events"
    heard = []
    command = {"id": 1, "method": "run.start", "params": {"assistant_id": "probe", "input": {}}}
    # The server closes it: at once, or when it has told that there is no such thread.
    with contextlib.suppress(ConnectionClosedError):
        async with (
            asyncio.timeout(120),
            connect(f"{where}{path}", additional_headers={"x-api-key": BOB}) as socket,
        ):
            await socket.send(json.dumps(command))
            async for message in socket:
                heard.append(str(message))
    assert not any("held" in message or '"type":"success"' in message for message in heard)


async def test_after_all_that_the_owner_s_things_are_as_they_were_and_her_run_ends(
    house: House,
) -> None:
    async with get_client(url=house.server.url, api_key=ALICE) as client:
        alice = Belongings(client, house.ids)
        after = await alice.all()
        for name, value in house.before.items():
            assert after[name] == value, name
        house.probe.held = set()
        await client.runs.join(house.ids["busy"], house.ids["live"])
        state = await client.threads.get_state(house.ids["busy"])
        assert state["values"]["messages"][-1]["content"] == f"{CALLS_PER_RUN} calls"  # type: ignore[call-overload]
    held = {name: times for name, times in house.probe.arrived.items() if "held/" in name}
    assert (len(held), set(held.values())) == (CALLS_PER_RUN, {1})


def test_the_log_of_all_that_holds_no_key(house: House) -> None:
    log = house.server.output()
    assert ALICE not in log
    assert BOB not in log
