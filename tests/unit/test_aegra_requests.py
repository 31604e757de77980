"""What Aegra shows of a request, and what it is shown of one, without Aegra."""

import json
from typing import Any

import httpx
import pytest
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from agent.engines.aegra.requests import (
    AsLangGraphTakesThem,
    adapted,
    read_run_request,
    strategy_of,
)
from agent.engines.aegra.transport import InProcessTransport
from agent.server.auth.admission import check_run

BAD = {"context": {"api_key": "x"}}


def changed(path: str, **body: Any) -> dict[str, Any]:
    return dict(json.loads(adapted(path, json.dumps(body).encode())))


@pytest.mark.parametrize(
    "value",
    [
        {"assistant_id": "agent", "thread_id": "t", **BAD},
        {"id": 1, "method": "run.start", "params": {"assistant_id": "agent", **BAD}},
        {"id": 1, "method": "input.respond", "params": {"response": 1, **BAD}},
    ],
)
def test_what_no_run_may_ask_is_seen_whatever_the_shape(value: dict[str, Any]) -> None:
    with pytest.raises(Exception, match=r"context\.api_key"):
        check_run(read_run_request(value).fields)


async def test_a_rule_is_shown_a_webhook_that_aegra_drops_and_nothing_of_other_requests() -> None:
    """Aegra shows the rule its own model of the request, which has no such field."""
    seen: list[Any] = []

    async def aegra(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(read_run_request({"assistant_id": "agent"}).fields["webhook"])
        await StreamingResponse(iter(()))(scope, receive, send)

    transport = httpx.ASGITransport(AsLangGraphTakesThem(aegra))
    async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:
        await client.post("/threads/t/runs", json={"webhook": "http://10.0.0.1/"})
        await client.post("/threads/t/runs", json={"input": {}})
        await client.post("/threads/t/commands", json={"webhook": "http://10.0.0.1/"})
    assert seen == ["http://10.0.0.1/", None, None]


def test_a_reply_to_a_pause_is_a_command() -> None:
    params = {"response": "yes", "goto": "reflection"}
    request = read_run_request({"method": "input.respond", "params": params})
    assert request.command == {"resume": "yes", "update": None, "goto": "reflection"}


def test_a_request_says_what_it_wants_on_a_busy_thread() -> None:
    command = {"method": "run.start", "params": {"multitaskStrategy": "reject"}}
    assert strategy_of({}) == "enqueue"
    assert strategy_of({"multitask_strategy": "reject"}) == strategy_of(command) == "reject"


def test_a_stream_s_disconnect_stops_a_run_only_where_its_client_says_so() -> None:
    for path in ("/runs/stream", "/threads/t/runs/stream", "/threads/t/runs"):
        assert changed(path, input={})["on_disconnect"] == "continue"
        assert changed(path, on_disconnect="cancel")["on_disconnect"] == "cancel"


def test_every_step_is_kept_whatever_a_client_asks() -> None:
    sent = {"input": {}, "durability": "exit", "checkpoint_during": False}
    for path in ("/runs/wait", "/threads/t/runs", "/runs/crons"):
        assert changed(path, **sent) == {"input": {}, "on_disconnect": "continue"}


def test_which_fields_of_threads_are_wanted_is_no_error() -> None:
    assert changed("/threads/search", select=["thread_id"], limit=3) == {"limit": 3}


@pytest.mark.parametrize("body", [b"", b"{", b"[1]", b"null"])
def test_what_is_no_object_stays_as_it_is(body: bytes) -> None:
    assert adapted("/runs", body) == body


async def test_an_answer_is_read_while_it_is_being_written() -> None:
    steps: list[str] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        async def parts() -> Any:
            for number in range(3):
                steps.append(f"written {number}")
                yield f"{number}"

        await StreamingResponse(parts())(scope, receive, send)

    async with (
        httpx.AsyncClient(transport=InProcessTransport(app), base_url="http://here") as http,
        http.stream("GET", "/x") as reply,
    ):
        assert reply.status_code == 200
        assert "".join([part async for part in reply.aiter_text()]) == "012"
    assert steps == ["written 0", "written 1", "written 2"]


async def test_an_application_that_fails_before_it_answers_is_an_error() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        raise ValueError("broken")

    async with httpx.AsyncClient(transport=InProcessTransport(app), base_url="http://x") as http:
        with pytest.raises(ValueError, match="broken"):
            await http.get("/")


async def test_who_reads_no_further_ends_the_application() -> None:
    seen: list[str] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"1", "more_body": True})
        seen.append((await receive())["type"])

    async with (
        httpx.AsyncClient(transport=InProcessTransport(app), base_url="http://here") as http,
        http.stream("GET", "/x") as reply,
    ):
        assert await anext(reply.aiter_bytes()) == b"1"
    assert seen == ["http.disconnect"]
