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
    "input.messages": {"input": {"messages": [{"role": "user", "content": [None]}]}},
    "after_seconds": {"after_seconds": 10**12},
}
CHOICE = {"context": {"max_research_loops": 99, "nothing_of_ours": [1]}}
"""A value that the assistant `agent` does not take, and a name that no assistant has."""
TOLD = "max_research_loops: Input should be less than or equal to 10."
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
    graphs = {"owner": "tests.e2e.owner_graph:graph", "agent": "agent.graph:graph"}
    config = {"graphs": graphs}
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
    assert reply.json()["detail"].startswith((f"{field} ", f"{field}: "))
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


@pytest.mark.parametrize("place", ["context", "config"])
@pytest.mark.parametrize("way", WAYS)
async def test_a_value_that_the_assistant_does_not_take_is_told_before_there_is_a_run(
    http: httpx.AsyncClient, way: str, place: str
) -> None:
    path, more = WAYS[way]
    thread, unknown = await a_thread(http), str(uuid4())
    path = path.replace("{thread}", thread).replace("{unknown}", unknown)
    chosen = CHOICE if place == "context" else {"config": {"configurable": CHOICE["context"]}}
    reply = await http.post(path, json={**ASK, **more, "assistant_id": "agent", **chosen})
    assert (reply.status_code, reply.json()) == (422, {"detail": TOLD})
    assert (await http.get(f"/threads/{thread}/runs")).json() == []
    assert (await http.get(f"/threads/{unknown}")).status_code == 404
    assert (await http.post("/runs/crons/search", json={})).json() == []


async def test_so_it_is_in_a_batch_and_by_the_event_protocol(http: httpx.AsyncClient) -> None:
    reply = await http.post("/runs/batch", json=[{**ASK, "assistant_id": "agent", **CHOICE}])
    assert (reply.status_code, reply.json()) == (422, {"detail": TOLD})
    thread = await a_thread(http)
    config = {"configurable": CHOICE["context"]}
    params = {**ASK, "assistant_id": "agent", "config": config}
    command = {"id": 1, "method": "run.start", "params": params}
    said = (await http.post(f"/threads/{thread}/commands", json=command)).text
    assert f"422: {TOLD}" in said
    assert (await http.get(f"/threads/{thread}/runs")).json() == []


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ({"goto": {"node": "web_research", "input": {}}}, "command.goto must be a node's name"),
        ({"goto": "reflection"}, "command.goto: There is no earlier run on this thread"),
        ({"update": {"turn": 5}, "goto": "__end__"}, "command.update.turn: "),
        ({"update": {"messages": "Why?"}}, "command: There is no earlier run on this thread"),
    ],
)
@pytest.mark.parametrize("way", [way for way in WAYS if "at times" not in way])
async def test_a_command_that_the_graph_would_fail_on_is_told_before_there_is_a_run(
    http: httpx.AsyncClient, way: str, command: dict[str, Any], told: str
) -> None:
    path, more = WAYS[way]
    thread, unknown = await a_thread(http), str(uuid4())
    path = path.replace("{thread}", thread).replace("{unknown}", unknown)
    reply = await http.post(path, json={"assistant_id": "agent", **more, "command": command})
    assert reply.status_code == 422, reply.text
    assert reply.json()["detail"].startswith(told)
    assert (await http.get(f"/threads/{thread}/runs")).json() == []


@pytest.mark.parametrize("way", [way for way in WAYS if WAYS[way][0].startswith("/threads/{")
                                 and "at times" not in way])  # fmt: skip
async def test_there_is_nothing_to_resume_on_a_new_thread(
    http: httpx.AsyncClient, way: str
) -> None:
    path, more = WAYS[way]
    path = path.replace("{thread}", await a_thread(http)).replace("{unknown}", str(uuid4()))
    command = {"resume": {"cancel": True}}
    reply = await http.post(path, json={"assistant_id": "agent", **more, "command": command})
    told = "command: There is no earlier run on this thread; send an input."
    assert (reply.status_code, reply.json()) == (422, {"detail": told})


async def test_a_thread_goes_on_at_a_node_and_is_edited_as_studio_does(
    http: httpx.AsyncClient,
) -> None:
    thread, asked = await a_thread(http), {"messages": "How do sodium-ion batteries work?"}
    run = {"assistant_id": "agent", "context": {"geo_routing": "never"}}
    await http.post(f"/threads/{thread}/runs/wait", json={**run, "input": asked})
    again = {**run, "command": {"goto": "finalize_answer"}}
    values = (await http.post(f"/threads/{thread}/runs/wait", json=again)).json()
    assert [message["type"] for message in values["messages"]] == ["human", "ai", "ai"]
    ended = await http.post(f"/threads/{thread}/runs/wait",
                            json={**run, "command": {"goto": "__end__"}})  # fmt: skip
    assert ended.status_code == 200
    edit = {"values": {"knowledge_gap": "none"}, "as_node": "finalize_answer"}
    assert (await http.post(f"/threads/{thread}/state", json=edit)).status_code == 200


async def test_no_assistant_and_no_run_at_times_is_given_it_later(http: httpx.AsyncClient) -> None:
    assert (await http.post("/assistants", json={"graph_id": "agent", **CHOICE})).text == (
        f'{{"detail":"{TOLD}"}}'
    )
    mine = (await http.post("/assistants", json={"graph_id": "agent"})).json()["assistant_id"]
    cron = (await http.post("/runs/crons", json={**ASK, **DAILY, "assistant_id": mine})).json()
    for path in (f"/assistants/{mine}", f"/runs/crons/{cron['cron_id']}"):
        change = await http.patch(path, json=CHOICE)
        assert (change.status_code, change.json()) == (422, {"detail": TOLD})
    asked = {**ASK, "assistant_id": mine, **CHOICE}
    assert (await http.post("/runs/wait", json=asked)).json() == {"detail": TOLD}
    await http.delete(f"/runs/crons/{cron['cron_id']}")


async def test_an_assistant_of_another_graph_takes_what_it_likes(http: httpx.AsyncClient) -> None:
    mine = await http.post("/assistants", json={"graph_id": "owner", **CHOICE})
    assert mine.status_code == 200


async def test_one_bad_run_of_a_batch_is_refused(http: httpx.AsyncClient) -> None:
    reply = await http.post("/runs/batch", json=[{**ASK, **REFUSED["metadata.password"]}])
    assert (reply.status_code, CANARY in reply.text) == (422, False)


@pytest.mark.parametrize("field", sorted(REFUSED.keys() - {"context.api_key", "after_seconds"}))
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
        assert f"422: {field} " in answer
        assert CANARY not in answer
    assert (await http.get(f"/threads/{thread}")).status_code == 404


@pytest.mark.parametrize("field", ["context.api_key", "metadata.password", "metadata.tanlu_owner"])
async def test_no_assistant_and_no_thread_keeps_it(http: httpx.AsyncClient, field: str) -> None:
    given = {"graph_id": "owner", **REFUSED[field]}
    reply = await http.post("/assistants", json=given)
    assert reply.status_code == 422
    assert reply.json()["detail"].startswith((f"{field} ", f"{field}: "))
    if "metadata" in given:
        assert (await http.post("/threads", json=given)).status_code == 422
        thread = await a_thread(http)
        change = await http.patch(f"/threads/{thread}", json=given)
        assert change.status_code == 422


STATES: dict[str, Any] = {
    "values.turn": {"turn": {"id": "../../x", "language": "xx"}},
    "values.messages": {"messages": [{"role": "nobody"}]},
    "values": {"no_key_of_it": 1},
    "values.places": {"places": 7},
}


@pytest.mark.parametrize("field", STATES)
async def test_no_thread_is_given_a_state_that_its_graph_cannot_go_on_from(
    http: httpx.AsyncClient, field: str
) -> None:
    thread = (await http.post("/threads", json={"metadata": {"graph_id": "agent"}})).json()
    values = STATES[field]
    steps = [{"updates": [{"values": values, "as_node": "__start__"}]}]
    for path, body in (
        (f"/threads/{thread['thread_id']}/state", {"values": values}),
        (f"/threads/{thread['thread_id']}/state", {"values": [{}, values]}),
        ("/threads", {"metadata": {"graph_id": "agent"}, "supersteps": steps}),
    ):
        answer = await http.post(path, json=body)
        assert (answer.status_code, answer.json()["detail"].split()[0].rstrip(":")) == (422, field)
    deep = b'{"values": {"gaps": ' + b"[" * 200 + b"]" * 200 + b"}}"
    answer = await http.post(f"/threads/{thread['thread_id']}/state", content=deep)
    assert answer.status_code == 422


def test_nothing_of_all_that_is_on_disk_or_in_the_log(server: DevServer) -> None:
    server.stop()
    assert CANARY.encode() not in whole_folder(server.folder)
