"""Our MCP endpoint without a server: what a call sends, what it answers, how it ends."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import httpx
import jsonschema
import pytest
from langgraph_sdk.client import LangGraphClient
from mcp.types import INVALID_PARAMS, PARSE_ERROR

from agent.assistants.registry import ASSISTANTS
from agent.server import assistant_call, mcp_endpoint
from agent.server.mcp_endpoint import CallProgress, McpEndpoint
from agent.server.mcp_tools import ToolList, output_schema
from tests.support.mcp_client import HEADERS, events, message
from tests.unit.server_api_samples import THREAD, Part, ServerApi, answered, assistant, use_stand_in

SESSION = {**HEADERS, "mcp-session-id": "s-1"}


@asynccontextmanager
async def serving(api: ServerApi, patch: pytest.MonkeyPatch) -> AsyncIterator[httpx.AsyncClient]:
    use_stand_in(patch)
    patch.setattr(mcp_endpoint, "client_for", lambda request: api)
    endpoint = McpEndpoint()
    transport = httpx.ASGITransport(endpoint)
    async with endpoint.running(), httpx.AsyncClient(transport=transport) as client:
        client.base_url = httpx.URL("http://test")
        yield client


def asking(number: int = 1, **arguments: Any) -> dict[str, Any]:
    arguments = {"question": "问题", **arguments}
    return message("tools/call", number, name="agent", arguments=arguments)


async def call(api: ServerApi, patch: pytest.MonkeyPatch, **arguments: Any) -> Any:
    async with serving(api, patch) as http:
        (reply,) = events(await http.post("/mcp", json=asking(**arguments), headers=HEADERS))
    return reply["result"]


async def test_an_answer_has_what_is_cited_in_order_and_named_places_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    result = await call(ServerApi(answered(mode="offline", final_answer="")), monkeypatch)
    answer = result["structuredContent"]
    jsonschema.validate(answer, output_schema())
    assert [source["number"] for source in answer["sources"]] == [1, 2]
    assert [place["mentioned"] for place in answer["places"]] == [True, False]
    assert (answer["thread_id"], answer["sample"], answer["final_answer"]) == (THREAD, True, "")
    assert "verified" not in answer


async def test_a_run_is_durable_resumable_and_gets_only_what_was_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    api = ServerApi(answered())
    await call(api, monkeypatch, question="问\u200b题\x00 ", user_location={"lng": 1, "lat": 2})
    assert api.sent["input"] == {
        "messages": [{"role": "user", "content": "问题"}],
        "user_location": {"lng": 1, "lat": 2},
    }
    assert (api.sent["durability"], api.sent["stream_resumable"]) == ("sync", True)


@pytest.mark.parametrize(
    ("ends", "said"),
    [
        (Part("error", {"message": "max_searches: is\ntoo large"}), "max_searches: is too large"),
        (Part("values", {"__interrupt__": [{}]}), f"go on with thread {THREAD}"),
        (Part("values", {"messages": []}), "without an answer"),
        (ZeroDivisionError("secret"), "inside the server"),
        (httpx.ReadTimeout("slow"), "did not answer in time"),
    ],
)
async def test_a_run_without_an_answer_is_one_line(
    monkeypatch: pytest.MonkeyPatch, ends: Part | Exception, said: str
) -> None:
    monkeypatch.setattr(assistant_call, "_AWAY_SECONDS", 0.0)
    result = await call(ServerApi(ends), monkeypatch)
    (block,) = result["content"]
    assert result["isError"]
    assert said in block["text"]
    assert "\n" not in block["text"]
    assert "secret" not in block["text"]


@pytest.mark.parametrize("how", ["notification", "delete"])
async def test_a_client_cancels_its_own_call_and_no_other(
    monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    api = ServerApi()
    api.hangs = True
    async with serving(api, monkeypatch) as http:
        ours = asyncio.create_task(http.post("/mcp", json=asking(7), headers=SESSION))
        while not api.sent:  # noqa: ASYNC110 - the call gets there by itself
            await asyncio.sleep(0)
        stop = message("notifications/cancelled", requestId=7)
        for headers, body in (
            ({**HEADERS, "mcp-session-id": "s-2"}, stop),
            (HEADERS, stop),
            (SESSION, message("notifications/cancelled", requestId="7")),
        ):
            assert (await http.post("/mcp", json=body, headers=headers)).status_code == 202
        assert not ours.done()
        if how == "delete":
            assert (await http.delete("/mcp", headers=SESSION)).status_code == 204
        else:
            await http.post("/mcp", json=stop, headers=SESSION)
        (reply,) = events(await ours)
    assert reply["error"]["message"] == "Request cancelled"
    assert api.cancelled == ["run-1"]


async def test_another_s_session_stops_nothing_even_where_its_id_is_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    alice, bob = "alice-0123456789abcdef", "bob-0123456789abcdefgh"
    monkeypatch.setenv("TANLU_API_KEYS", f"alice:{alice},bob:{bob}")
    api = ServerApi()
    api.hangs = True
    hers, his = ({**SESSION, "x-api-key": key} for key in (alice, bob))
    async with serving(api, monkeypatch) as http:
        ours = asyncio.create_task(http.post("/mcp", json=asking(7), headers=hers))
        while not api.sent:  # noqa: ASYNC110 - the call gets there by itself
            await asyncio.sleep(0)
        await http.delete("/mcp", headers=his)
        stop = message("notifications/cancelled", requestId=7)
        await http.post("/mcp", json=stop, headers=his)
        assert (ours.done(), api.cancelled) == (False, [])
        await http.delete("/mcp", headers={**SESSION, "authorization": f"Bearer {alice}"})
        await ours
    assert api.cancelled == ["run-1"]


async def test_a_server_that_ends_leaves_the_run_to_be_continued(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    api = ServerApi()
    api.hangs = True
    async with serving(api, monkeypatch) as http:
        ours = asyncio.create_task(http.post("/mcp", json=asking(), headers=SESSION))
        while not api.sent:  # noqa: ASYNC110 - the call gets there by itself
            await asyncio.sleep(0)
    await asyncio.wait([ours])
    assert api.cancelled == []


async def test_who_hangs_up_while_asking_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    came: list[Any] = [
        {"type": "http.request", "body": b"{", "more_body": True},
        {"type": "http.disconnect"},
    ]
    sent: list[Any] = []

    async def receive() -> Any:
        return came.pop(0)

    async def send(part: Any) -> None:
        sent.append(part)

    endpoint = McpEndpoint()
    async with endpoint.running():
        await endpoint({"type": "http", "method": "POST", "headers": []}, receive, send)
    assert sent == []


async def test_names_are_what_clients_allow_and_the_server_s_own_are_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    api = ServerApi()
    short = assistant("Short answers!", description=None, graph_id="short")
    mine = [assistant("agent"), assistant("地图"), short, assistant("search")]
    api.found = [*mine, *api.found]
    async with serving(api, monkeypatch) as http:
        (reply,) = events(await http.post("/mcp", json=message("tools/list", 1), headers=HEADERS))
    tools = {tool["name"]: tool for tool in reply["result"]["tools"]}
    ids = [f"agent-{one['assistant_id'][:8]}" for one in mine]
    assert set(tools) == {"agent", ids[0], ids[1], "Shortanswers", ids[3], "search", "fetch"}
    assert tools["search"]["inputSchema"]["required"] == ["query"]
    assert "the question as `question`" in tools["agent"]["description"]
    taken = tools["Shortanswers"]["inputSchema"]["properties"]
    assert set(taken) == {"question", "thread_id", "user_location"}
    assert taken["user_location"] == {"type": "object", "properties": {}}


async def test_a_silent_run_is_told_of_again_and_again_until_it_ends() -> None:
    told: list[tuple[float, str]] = []
    enough = asyncio.Event()

    async def notify(progress: float, words: str) -> None:
        told.append((progress, words))
        if len(told) == 4:
            enough.set()

    progress = CallProgress(notify, "en", quiet_seconds=0.01)
    async with progress.running():
        await progress.event({"type": "search_started", "text": "pandas"})
        await progress.event({"type": "done"})
        await enough.wait()
    assert [number for number, _ in told] == [1, 2, 3, 4]
    assert [words for _, words in told[:2]] == ["Starting", "Searching: pandas"]
    assert all(words.startswith("Searching: pandas · ") for _, words in told[2:])


async def test_who_asked_for_no_progress_costs_no_time_in_a_silence() -> None:
    progress = CallProgress(None, "en", quiet_seconds=0.01)
    async with progress.running(), asyncio.timeout(5):
        await asyncio.sleep(0.05)


@pytest.mark.parametrize(
    "body", [b"[" * 50_000, b'{"a":' * 20_000, b'{"id":' + b"9" * 5000 + b"}", b"{", b"\xff"]
)
async def test_what_cannot_be_read_is_the_client_s_mistake(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, body: bytes
) -> None:
    async with serving(ServerApi(answered()), monkeypatch) as http:
        kind = {**HEADERS, "content-type": "application/json"}
        reply = await http.post("/mcp", content=body, headers=kind)
    assert reply.status_code == 400
    assert reply.json()["error"]["code"] in (PARSE_ERROR, INVALID_PARAMS)
    assert not [record for record in caplog.records if record.exc_info]


async def test_before_the_start_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(McpEndpoint())) as http:
        reply = await http.post("http://test/mcp", json=asking(), headers=HEADERS)
    assert reply.status_code == 503


async def test_twenty_first_callers_have_no_schema_made_twice_and_none_of_our_own_assistants(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    use_stand_in(monkeypatch)
    api = ServerApi()
    other = assistant("other", graph_id="other")
    own = [assistant(name, "system", graph_id=name) for name in ASSISTANTS]
    api.found = [*own, other]
    catalogue = ToolList()
    calls = (catalogue.tools(cast(LangGraphClient, api)) for _ in range(20))
    first, *later = await asyncio.gather(*calls)
    assert all(each == first for each in later)
    assert set(first) == {*ASSISTANTS, "other"}
    assert api.schemas_asked == [other["assistant_id"]]
