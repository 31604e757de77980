"""What no run may ask is refused by every way there is to ask for one, and nothing of it is kept.

The server is open: who may ask for nothing else may not ask for this either.
"""

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any
from uuid import uuid4

import httpx
import pytest
from websockets.asyncio.client import connect

from tests.support.dev_server import REPOSITORY, DevServer, dev_server
from tests.support.run_fixtures import whole_folder

pytestmark = [pytest.mark.server]

CANARY = "CANARY-sent-by-a-client"
ASK: dict[str, Any] = {"assistant_id": "owner", "input": {"messages": "x"}}
DAILY = {"schedule": "0 0 1 1 *"}
REFUSED: dict[str, dict[str, Any]] = {
    "context.api_key": {"context": {"api_key": CANARY}},
    "config.configurable.nested.token": {"config": {"configurable": {"nested": {"token": CANARY}}}},
    "metadata.password": {"metadata": {"password": CANARY}},
    "metadata.tanlu_owner": {"metadata": {"tanlu_owner": "alice"}},
    "config.recursion_limit": {"config": {"recursion_limit": 10**9}},
    "input": {"input": {"messages": CANARY * 2000}},
}
WEBHOOK = {"webhook": f"http://127.0.0.1:9/{CANARY}"}
WAYS: dict[str, tuple[str, dict[str, Any]]] = {
    "a run": ("/threads/{thread}/runs", {}),
    "a run and its stream": ("/threads/{thread}/runs/stream", {}),
    "a run and its end": ("/threads/{thread}/runs/wait", {}),
    "a run on a new thread": ("/threads/{unknown}/runs", {"if_not_exists": "create"}),
    "a run alone": ("/runs", {}),
    "a run alone and its stream": ("/runs/stream", {}),
    "a run alone and its end": ("/runs/wait", {}),
    "a run at times": ("/runs/crons", DAILY),
    "a run at times on a thread": ("/threads/{thread}/runs/crons", DAILY),
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevServer]:
    environment = {"PYTHONPATH": str(REPOSITORY), "PROBE_URL": "http://127.0.0.1:9"}
    config = {"graphs": {"owner": "tests.support.owner_graph:graph"}}
    folder = tmp_path_factory.mktemp("server")
    with dev_server(folder, env=environment, config=config) as started:
        yield started


@pytest.fixture
async def http(server: DevServer) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=server.url, trust_env=False, timeout=60) as client:
        yield client


async def a_thread(http: httpx.AsyncClient) -> str:
    return str((await http.post("/threads", json={})).json()["thread_id"])


@pytest.mark.parametrize("field", REFUSED)
@pytest.mark.parametrize("way", WAYS)
async def test_the_field_is_named_whatever_the_way(
    http: httpx.AsyncClient, way: str, field: str
) -> None:
    path, more = WAYS[way]
    thread, unknown = await a_thread(http), str(uuid4())
    path = path.replace("{thread}", thread).replace("{unknown}", unknown)
    reply = await http.post(path, json={**ASK, **more, **REFUSED[field]})
    assert reply.status_code == 422, reply.text
    assert reply.json()["detail"].startswith(f"{field}: ")
    assert CANARY not in reply.text
    assert (await http.get(f"/threads/{thread}/runs")).json() == []
    assert (await http.get(f"/threads/{unknown}")).status_code == 404
    assert (await http.post("/runs/crons/search", json={})).json() == []


@pytest.mark.parametrize("way", WAYS)
async def test_a_webhook_is_refused_whatever_the_way(http: httpx.AsyncClient, way: str) -> None:
    path, more = WAYS[way]
    path = path.replace("{thread}", await a_thread(http)).replace("{unknown}", str(uuid4()))
    reply = await http.post(path, json={**ASK, **more, **WEBHOOK})
    assert reply.status_code == 422, reply.text
    assert CANARY not in reply.text


async def test_one_bad_run_of_a_batch_is_refused(http: httpx.AsyncClient) -> None:
    reply = await http.post("/runs/batch", json=[{**ASK, **REFUSED["metadata.password"]}])
    assert (reply.status_code, CANARY in reply.text) == (422, False)


@pytest.mark.parametrize("field", sorted(REFUSED.keys() - {"context.api_key"}))
async def test_the_event_protocol_refuses_it_too(http: httpx.AsyncClient, field: str) -> None:
    thread = str(uuid4())
    command = {"id": 1, "method": "run.start", "params": {**ASK, **REFUSED[field]}}
    said = (await http.post(f"/threads/{thread}/commands", json=command)).text
    where = f"ws://{http.base_url.netloc.decode()}/threads/{thread}/stream/events"
    async with connect(where) as socket:
        await socket.send(json.dumps(command))
        heard = str(await socket.recv())
    for answer in (said, heard):
        assert '"type":"error"' in answer
        assert f"422: {field}: " in answer
        assert CANARY not in answer
    assert (await http.get(f"/threads/{thread}")).status_code == 404


@pytest.mark.parametrize("field", ["context.api_key", "metadata.password", "metadata.tanlu_owner"])
async def test_no_assistant_and_no_thread_keeps_it(http: httpx.AsyncClient, field: str) -> None:
    given = {"graph_id": "owner", **REFUSED[field]}
    reply = await http.post("/assistants", json=given)
    assert reply.status_code == 422
    assert reply.json()["detail"].startswith(f"{field}: ")
    if "metadata" in given:
        assert (await http.post("/threads", json=given)).status_code == 422
        thread = await a_thread(http)
        change = await http.patch(f"/threads/{thread}", json=given)
        assert change.status_code == 422


def test_nothing_of_all_that_is_on_disk_or_in_the_log(server: DevServer) -> None:
    server.stop()
    assert CANARY.encode() not in whole_folder(server.folder)
