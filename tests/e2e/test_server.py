"""`langgraph dev` with the assistant itself, driven as clients drive it; never --allow-blocking."""

import asyncio
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import ConflictError, NotFoundError, UnprocessableEntityError

from tests.e2e.server_fixtures import client_fixture, server_fixture
from tests.support.command_line import CANARY, gemini_fixture
from tests.support.dev_server import DevServer, dev_server
from tests.support.lab import tasks
from tests.support.map_fixtures import is_running
from tests.support.standin import Recorded
from tests.support.standins import GeminiService

__all__ = ["client_fixture", "gemini_fixture", "server_fixture"]
pytestmark = [pytest.mark.server, pytest.mark.slow]
ZH, EN = "王府井附近适合遛娃的好去处", "How do sodium-ion batteries work?"
ASPECTS_EN = "What do sodium-ion batteries cost?"
WISH = "also what they weigh"


def question(text: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}]}


async def until(true: Callable[[], bool], *, seconds: float = 120) -> None:
    async with asyncio.timeout(seconds):
        while not true():  # noqa: ASYNC110 - another process changes it
            await asyncio.sleep(0.05)


async def test_without_a_key_it_starts_and_says_that_it_is_sample_data(server: DevServer) -> None:
    async with httpx.AsyncClient(base_url=server.url, trust_env=False, timeout=60) as http:
        assert (await http.get("/healthz")).json() == {"ok": True, "mode": "offline"}
    assert "sample data" in server.output()
    assert "GEMINI_API_KEY" in server.output()


async def test_a_second_server_in_the_folder_ends_and_says_why(server: DevServer) -> None:
    """It would begin the first one's runs once more, and each would undo the other's files."""
    with pytest.raises(RuntimeError, match="Another server is running in this folder: stop that"):
        DevServer(server.folder).start()
    async with httpx.AsyncClient(base_url=server.url, trust_env=False, timeout=60) as http:
        assert (await http.get("/healthz")).status_code == 200


async def test_two_runs_at_once_answer_and_nothing_blocks(
    client: LangGraphClient, server: DevServer
) -> None:
    states = await asyncio.gather(
        *(client.runs.wait(None, "agent", input=question(text)) for text in (ZH, EN))
    )
    for state in states:
        assert isinstance(state, dict)
        assert state["messages"][-1]["type"] == "ai"
        assert state["messages"][-1]["content"]
    assert "Blocking" not in server.output()


async def test_two_questions_on_one_thread_keep_to_themselves(client: LangGraphClient) -> None:
    thread = await client.threads.create()
    first = await client.runs.wait(thread["thread_id"], "agent", input=question(EN))
    second = await client.runs.wait(thread["thread_id"], "agent", input=question("What is WebRTC?"))
    assert isinstance(first, dict)
    assert isinstance(second, dict)
    assert len([m for m in second["messages"] if m["type"] == "human"]) == 2
    assert all(EN not in str(query) for query in second["query_list"])


async def resumed(client: LangGraphClient, thread_id: str, answer: dict[str, Any]) -> Any:
    return await client.runs.wait(
        thread_id, "agent", command={"resume": answer}, context={"review_plan": True}
    )


async def test_a_plan_is_reviewed_over_the_wire_and_survives_kill_9(server: DevServer) -> None:
    async with get_client(url=server.url) as client:
        thread_id = (await client.threads.create())["thread_id"]
        review: dict[str, Any] = {"context": {"review_plan": True}, "input": question(EN)}
        state: Any = await client.runs.wait(thread_id, "agent", **review)
        (shown,) = state["__interrupt__"]
        forms = {"action_requests", "review_configs"}
        assert {"queries", "estimate", "most", "shares", "words", *forms} == set(shown["value"])
        answers = {"queries", "cancel", "decisions"}
        assert shown["response_schema"]["properties"].keys() == answers
        assert (await client.threads.get(thread_id))["status"] == "interrupted"
        state = await resumed(client, thread_id, {"queries": [{"query": ""}]})
        assert "queries[0].query" in state["__interrupt__"][0]["value"]["problem"]
    await asyncio.to_thread(server.kill)
    await asyncio.to_thread(server.start)
    async with get_client(url=server.url) as client:
        waiting = await client.threads.get_state(thread_id)
        assert waiting["next"] == ["review_plan"], "nobody began it again"
        state = await resumed(
            client, thread_id, {"queries": [{"query": "sodium battery cathodes"}]}
        )
        first = [query["query"] for query in state["queries"] if query["round"] == 1]
        assert first == state["search_query"][:1] == ["sodium battery cathodes"]
        assert state["messages"][-1]["additional_kwargs"]["sources"]
        assert len(await client.runs.list(thread_id)) >= 1
        with closing(sqlite3.connect(server.folder / "threads" / "runs.sqlite")) as db:
            ended = {row[0] for row in db.execute("SELECT status FROM runs")}
        assert "failed" not in ended


async def test_the_schemas_tell_a_client_everything_it_may_send(client: LangGraphClient) -> None:
    (assistant,) = await client.assistants.search(graph_id="agent")
    schemas = await client.assistants.get_schemas(assistant["assistant_id"])
    given = schemas["input_schema"]["properties"]
    assert {"messages", "max_research_loops", "reasoning_model", "user_location"} <= set(given)
    assert "query_list" not in given
    assert all(given[name].get("description") for name in given)
    context = schemas["context_schema"]["properties"]
    assert all(context[name].get("description") for name in context)
    loops = context["max_research_loops"]
    assert (loops["minimum"], loops["maximum"], loops["default"]) == (1, 10, 2)
    assert "messages" in schemas["output_schema"]["properties"]


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"input": question("")}, "question"),
        ({"input": {**question(EN), "max_research_loops": 99}}, "max_research_loops"),
        ({"input": question(EN), "context": {"answer_model": "nobody:x"}}, "answer_model"),
    ],
)
async def test_bad_input_is_one_line_that_names_the_field(
    client: LangGraphClient, given: dict[str, Any], name: str
) -> None:
    reply = await client.runs.wait(None, "agent", raise_error=False, **given)
    assert isinstance(reply, dict)
    assert name in reply["__error__"]["message"]
    assert "Traceback" not in str(reply)


def children(pid: int) -> list[int]:
    """Processes below a process; Linux only."""
    listing = subprocess.run(
        ["ps", "-e", "-o", "pid=,ppid="], capture_output=True, text=True, check=True
    ).stdout
    pairs = [tuple(map(int, line.split())) for line in listing.splitlines()]
    found, waiting = [], [pid]
    while waiting:
        parent = waiting.pop()
        below = [child for child, its_parent in pairs if its_parent == parent]
        found += below
        waiting += below
    return found


@pytest.mark.node
@pytest.mark.skipif(sys.platform != "linux", reason="looks at processes as Linux shows them")
@pytest.mark.parametrize("end", ["stop", "kill"])
async def test_after_the_server_ends_no_process_of_it_is_left(tmp_path: Path, end: str) -> None:
    with dev_server(tmp_path / "server", cold=end == "stop") as server:
        async with get_client(url=server.url) as client:
            await client.runs.wait(None, "agent", input=question(ZH))
        assert server.process is not None
        below = children(server.process.pid)
        assert below, "the map server was not started"
        getattr(server, end)()
        await until(lambda: not any(map(is_running, below)))


@pytest.mark.parametrize(
    ("name", "value"), [("AMAP_MCP_COMMAND", "npx something"), ("TANLU_MODE", "online")]
)
async def test_a_bad_setting_is_an_error_of_the_run_not_of_the_start(
    tmp_path: Path, name: str, value: str
) -> None:
    with dev_server(tmp_path / "server", env={name: value}) as server:
        async with get_client(url=server.url) as client:
            reply = await client.runs.wait(None, "agent", input=question(EN), raise_error=False)
    assert isinstance(reply, dict)
    named = "GEMINI_API_KEY" if name == "TANLU_MODE" else name
    assert named in reply["__error__"]["message"]
    assert named in server.output()


@pytest.fixture
def keyed(tmp_path: Path, gemini: GeminiService) -> Iterator[DevServer]:
    """Online, as with a real key, against a stand-in that counts."""
    environment = {**gemini.environment, "GEO_ROUTING": "never", "MAX_RESEARCH_LOOPS": "1"}
    with dev_server(tmp_path / "server", env=environment) as started:
        yield started


def of_task(gemini: GeminiService, name: str) -> list[Recorded]:
    return [request for request in gemini.requests if tasks([request]) == [name]]


async def test_cancel_stops_spending_at_once(keyed: DevServer, gemini: GeminiService) -> None:
    gemini.latency = lambda request, body: 1.0
    async with get_client(url=keyed.url) as client:
        thread = await client.threads.create()
        run = await client.runs.create(thread["thread_id"], "agent", input=question(EN))
        await until(lambda: len(gemini.requests) >= 2)
        await client.runs.cancel(thread["thread_id"], run["run_id"], wait=True)
        spent = len(gemini.requests)
        gemini.latency = None
        await client.runs.wait(None, "agent", input=question("What is WebRTC?"))
        assert [r for r in gemini.requests[spent:] if "sodium" in str(r.body)] == []


async def test_killed_while_searching_the_answer_comes_and_no_finished_call_is_made_again(
    keyed: DevServer, gemini: GeminiService
) -> None:
    hang = gemini.fail("hang", match=lambda _, body: "<task>web_research<" in str(body))
    async with get_client(url=keyed.url) as client:
        thread = await client.threads.create()
        # A question that is searched in two ways.
        await client.runs.create(thread["thread_id"], "agent", input=question(ASPECTS_EN))
        await until(lambda: hang.times == 0 and replies(keyed) == len(gemini.requests) - 1 > 1)
        finished = len(gemini.requests) - 1
        await steered(client, thread["thread_id"])
        keyed.kill()
    await asyncio.to_thread(keyed.start)
    async with get_client(url=keyed.url) as client:
        await until(lambda: bool(of_task(gemini, "answer")))
        state = await at_rest(client, thread["thread_id"])
    assert state["values"]["messages"][-1]["type"] == "ai"
    assert state["values"]["gaps"] == []
    assert state["values"]["wishes"] == [{"kind": "wish", "text": WISH}]
    assert WISH in str(of_task(gemini, "answer")[0].body)
    again = [n for n in Counter(str(request.body) for request in gemini.requests).values() if n > 1]
    assert again == [2], f"{finished} calls were finished, only the hanging one may be repeated"


async def steered(client: LangGraphClient, thread_id: str) -> None:
    """Pass a wish on to the run under way, after what the server does not take."""
    with pytest.raises(ConflictError):
        await client.threads.update_state(thread_id, {"wishes": [{"kind": "wish", "text": WISH}]})
    for body, field in ({"wish": ""}, "wish"), ({"wish": "x" * 501}, "wish"), ({"a": 1}, "body"):
        with pytest.raises(UnprocessableEntityError, match=f"(?i){field}[: ]"):
            await client.http.post(f"/threads/{thread_id}/steer", json=body)
    idle = (await client.threads.create())["thread_id"]
    for other, error in (idle, ConflictError), (str(uuid4()), NotFoundError), ("x", NotFoundError):
        with pytest.raises(error):
            await client.http.post(f"/threads/{other}/steer", json={"wish": WISH})
    taken = await client.http.post(f"/threads/{thread_id}/steer", json={"wish": f" {WISH}\n"})
    assert taken == {"kind": "wish", "text": WISH, "left": 9}


async def at_rest(client: LangGraphClient, thread_id: str) -> Any:
    """The thread's state once nothing is left to do."""
    async with asyncio.timeout(120):
        while (state := await client.threads.get_state(thread_id))["next"]:  # noqa: ASYNC110
            await asyncio.sleep(0.1)
    return state


def replies(server: DevServer) -> int:
    """Paid replies that would survive a crash now."""
    path = server.folder / "threads" / "runs.sqlite"
    with closing(sqlite3.connect(path, timeout=10)) as db:
        try:
            return int(db.execute("SELECT count(*) FROM replies").fetchone()[0])
        except sqlite3.OperationalError:
            return 0


async def test_no_key_leaves_the_server(keyed: DevServer, gemini: GeminiService) -> None:
    async with get_client(url=keyed.url) as client:
        thread = await client.threads.create()
        gemini.fail("status", status=403, times=None)
        reply = await client.runs.wait(
            thread["thread_id"], "agent", input=question(EN), raise_error=False
        )
        history = await client.threads.get_history(thread["thread_id"])
    assert gemini.requests
    assert CANARY not in str(reply)
    assert CANARY not in str(history)
    keyed.stop()
    assert CANARY not in keyed.output()
    files = [path for path in keyed.folder.rglob("*") if path.is_file()]
    assert [path.name for path in files if CANARY.encode() in path.read_bytes()] == []
