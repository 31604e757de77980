"""A run that was started over a web socket outlives its server's kill -9, like any other."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from langgraph_sdk import get_sync_client
from langgraph_sdk.errors import NotFoundError
from websockets.sync.client import connect

from tests.e2e.test_server_recovery import probe_server
from tests.support.command_line import until
from tests.support.dev_server import DevServer
from tests.support.probe_graph import CALLS_PER_RUN
from tests.support.probe_service import Probe, probe_service

pytestmark = [pytest.mark.server, pytest.mark.slow]
QUESTION = {"messages": [{"role": "user", "content": "turn"}]}


@pytest.fixture(name="probe_and_server")
def probe_and_server_fixture(tmp_path: Path) -> Iterator[tuple[Probe, DevServer]]:
    with probe_service() as (probe, url), probe_server(tmp_path / "server", url) as server:
        yield probe, server


def test_a_run_started_over_a_web_socket_is_continued_too(
    probe_and_server: tuple[Probe, DevServer],
) -> None:
    probe, server = probe_and_server
    probe.held = {"turn/work-1"}
    thread_id = str(uuid4())
    params = {"assistant_id": "probe", "input": QUESTION}
    address = f"{server.url.replace('http', 'ws')}/threads/{thread_id}/stream/events"
    with connect(address, proxy=None) as socket:
        for nonsense in (
            "?",
            "[]",
            '{"id": [1], "method": ["run.start"]}',
            '{"id": 1, "method": []}',
        ):
            socket.send(nonsense)
            assert json.loads(socket.recv())["error"] == "invalid_argument"
        socket.send(json.dumps({"id": 1, "method": "run.start", "params": params}))
        reply = json.loads(socket.recv())
    assert reply["type"] == "success", reply
    probe.wait_for("turn/work-1")
    server.kill()
    probe.held = set()
    server.start()
    until(lambda: last_said(server, thread_id) == f"{CALLS_PER_RUN} calls")
    assert probe.arrived["turn/plan"] == 1


def last_said(server: DevServer, thread_id: str) -> str:
    with get_sync_client(url=server.url) as client:
        try:
            values: Any = client.threads.get_state(thread_id)["values"]
        except NotFoundError:
            return ""
    return str(values["messages"][-1]["content"]) if values else ""
