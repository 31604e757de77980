"""What clients of OpenAI's API get of a run, without a server: errors, silence, hanging up."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette

from agent.client.asked_again import Said, history
from agent.client.connection import LimitReached
from agent.server import assistant_call, openai_api
from agent.server.auth.guard import RequestGuard
from agent.server.auth.owner_limits import TooMany
from agent.server.openai_requests import conversation_key, read_chat
from agent.texts import say
from tests.unit.server_api_samples import THREAD, Part, ServerApi, answered, assistant, use_stand_in

CHAT = "/v1/chat/completions"
ASK: dict[str, Any] = {"model": "agent", "messages": [{"role": "user", "content": "问题"}]}


@asynccontextmanager
async def serving(api: ServerApi, patch: pytest.MonkeyPatch) -> AsyncIterator[httpx.AsyncClient]:
    use_stand_in(patch)
    patch.setattr(openai_api, "client_for", lambda request: api)
    patch.setattr(openai_api, "_catalogue", openai_api.ToolList())
    app = Starlette(routes=openai_api.openai_routes())
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app)) as client:
        client.base_url = httpx.URL("http://127.0.0.1")
        yield client


async def asked(api: ServerApi, patch: pytest.MonkeyPatch, **changed: Any) -> httpx.Response:
    async with serving(api, patch) as http:
        return await http.post(CHAT, json={**ASK, **changed})


def failed(words: str, kind: str = "RuntimeError") -> Part:
    return Part("error", {"error": kind, "message": words})


@pytest.mark.parametrize(
    ("ends", "status", "code", "words"),
    [
        (failed("the map\nbroke"), 500, "failed", "the map\nbroke"),
        (failed("messages: the question is empty", "InputError"), 400, "invalid_value", "empty"),
        (failed("GEMINI_API_KEY: is not valid", "ConfigurationError"), 500, "configuration", "KEY"),
        (Part("values", {"messages": []}), 500, "no_answer", "without an answer"),
        (Part("values", {"__interrupt__": [{}]}), 500, "failed", f"thread {THREAD}"),
        (ZeroDivisionError("secret"), 500, "failed", "its log says more"),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
async def test_a_run_without_an_answer_tells_the_true_cause(
    monkeypatch: pytest.MonkeyPatch,
    ends: Part | Exception,
    status: int,
    code: str,
    words: str,
    stream: bool,
) -> None:
    monkeypatch.setattr(assistant_call, "_AWAY_SECONDS", 0.0)
    reply = await asked(ServerApi(ends), monkeypatch, stream=stream)
    if stream:
        assert reply.status_code == 200
        *_, told, done = [line for line in reply.text.split("\n\n") if line]
        assert done == "data: [DONE]"
        error = json.loads(told.removeprefix("data: "))["error"]
    else:
        assert reply.status_code == status
        error = reply.json()["error"]
    assert error["code"] == code
    assert words.lower() in error["message"].lower()
    assert "secret" not in reply.text


async def test_a_limit_is_429_with_the_time_to_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    async def admit(self: Any, question: Any) -> None:
        raise LimitReached(TooMany("runs_per_minute", 1, 7.2).words("en"), 8)

    monkeypatch.setattr(assistant_call.Call, "begin", admit)
    reply = await asked(ServerApi(), monkeypatch, stream=True)
    assert (reply.status_code, reply.headers["retry-after"]) == (429, "8")
    assert reply.json()["error"]["type"] == "rate_limit_error"


async def test_no_plan_is_shown_for_review_and_effort_is_how_widely_is_searched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    api = ServerApi(answered())
    await asked(api, monkeypatch, reasoning_effort="high")
    assert api.sent["context"] == {"review_plan": False}
    assert (api.sent["durability"], api.sent["stream_resumable"]) == ("sync", True)
    effort = {"initial_search_query_count": 5, "max_research_loops": 10}
    assert api.sent["input"] == {"messages": [{"role": "user", "content": "问题"}], **effort}


async def test_effort_is_not_sent_to_a_graph_that_does_not_take_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    api = ServerApi(answered())
    api.found = [assistant("agent", graph_id="another")]
    await asked(api, monkeypatch, reasoning_effort="high")
    assert api.sent["input"] == {"messages": [{"role": "user", "content": "问题"}]}


async def test_a_silent_run_is_heard_of_until_the_client_hangs_up_which_cancels_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(openai_api, "QUIET_SECONDS", 0.01)
    api = ServerApi(Part("custom", {"type": "answering"}))
    api.hangs = True
    sent = await exchange(api, monkeypatch, lambda text: text.count(": at work\n\n") > 1)
    assert say("progress.events.answering", "zh") in sent
    assert api.cancelled == ["run-1"]


async def test_a_whole_answer_that_nobody_waits_for_is_cancelled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    api = ServerApi()
    api.hangs = True
    heard = await exchange(api, monkeypatch, lambda text: bool(api.sent), stream=False)
    assert heard == ""
    assert api.cancelled == ["run-1"]


async def test_a_run_goes_on_where_the_server_ends_while_its_client_still_listens(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    api = ServerApi(Part("custom", {"type": "answering"}))
    api.hangs = True
    asking = asyncio.create_task(exchange(api, monkeypatch, lambda text: False))
    while not api.sent:  # noqa: ASYNC110 - the run is begun by itself
        await asyncio.sleep(0)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert api.cancelled == []


async def exchange(
    api: ServerApi, patch: pytest.MonkeyPatch, heard: Callable[[str], bool], stream: bool = True
) -> str:
    """Ask, hang up once enough was heard, and return what was sent."""
    use_stand_in(patch)
    patch.setattr(openai_api, "client_for", lambda request: api)
    patch.setattr(openai_api, "_catalogue", openai_api.ToolList())
    unread, said = [json.dumps({**ASK, "stream": stream}).encode()], [""]

    async def receive() -> dict[str, Any]:
        if unread:
            return {"type": "http.request", "body": unread.pop(), "more_body": False}
        while not heard(said[0]):  # noqa: ASYNC110 - another task changes it
            await asyncio.sleep(0)
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        said[0] += message.get("body", b"").decode()

    scope = {"type": "http", "method": "POST", "path": CHAT, "headers": [], "query_string": b""}
    endpoint = openai_api.OpenAIEndpoint(read_chat, responses=False)
    async with asyncio.timeout(60):
        await endpoint(scope, receive, send)
    return said[0]


async def test_a_refusal_at_the_door_is_in_openai_s_shape_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    guarded = RequestGuard(Starlette(routes=openai_api.openai_routes()))
    transport = httpx.ASGITransport(guarded, client=("127.0.0.1", 1))
    async with httpx.AsyncClient(transport=transport, base_url="http://friend.example") as http:
        reply = await http.get("/v1/models")
    assert reply.status_code == 403
    assert reply.json()["error"]["message"] == reply.json()["detail"]


async def test_a_long_conversation_is_read_in_turns_and_no_other_answer_waits_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read_in = set[str]()

    def read(body: Any) -> Any:
        read_in.add(threading.current_thread().name)
        return read_chat(body)

    monkeypatch.setattr(openai_api, "read_chat", read)
    said = [{"role": "assistant", "content": "<" * 100_000}, *ASK["messages"] * 2]
    reply = await asked(ServerApi(answered()), monkeypatch, messages=said)
    assert reply.status_code == 200
    assert threading.current_thread().name not in read_in
    assert len(read_in) == 1


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b'{"model": 1}', b"[" * 100_000, b'{"model": "%s"}' % (b"x" * 900_000)],
)
async def test_what_is_no_request_is_refused_in_one_line(
    monkeypatch: pytest.MonkeyPatch, body: bytes
) -> None:
    async with serving(ServerApi(), monkeypatch) as http:
        for path in (CHAT, "/v1/responses"):
            reply = await http.post(path, content=body)
            assert reply.status_code == 400
            assert "\n" not in reply.json()["error"]["message"]
            assert len(reply.content) < 1_000


@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "embeddings"), ("GET", "chat/completions"), ("GET", "responses/resp_1"),
     ("DELETE", "models/agent"), ("POST", "a" * 2_000)],
)  # fmt: skip
async def test_what_else_the_api_has_is_refused_in_its_shape(
    monkeypatch: pytest.MonkeyPatch, method: str, path: str
) -> None:
    async with serving(ServerApi(), monkeypatch) as http:
        reply = await http.request(method, f"/v1/{path}")
    assert reply.status_code == 404
    assert "is not served" in reply.json()["error"]["message"]


def test_a_conversation_is_known_by_its_words_whatever_the_client_writes_around_them() -> None:
    def key(answer: str, **more: Any) -> str:
        question = {"role": "user", "content": [{"type": "text", "text": "Q"}]}
        messages = [question, {"role": "assistant", "content": answer},
                    {"role": "user", "content": "And then?"}]  # fmt: skip
        asked = read_chat({"model": "agent", "messages": messages, **more})
        return conversation_key(asked, asked.earlier)

    shown = '<details type="reasoning" done="true">\n<summary>Thought</summary>\nA\n</details>\n'
    for progress in ("<think>Searching</think>\n\n", shown):
        assert key("One.\n\nTwo.") == key(f"{progress}One.\nTwo. ")
    place = {"user_location": {"lng": 116.4, "lat": 39.9}}
    others = [key("Two."), key("One.", user="anna"), key("One.", tanlu=place),
              key("One.", model="team_answer"), key("One.")]  # fmt: skip
    assert len(set(others)) == len(others)
    alone = read_chat({"model": "agent", "messages": [{"role": "user", "content": "Q"}]})
    assert conversation_key(alone, alone.earlier) == ""


def test_a_long_conversation_keeps_its_end_and_fits_into_an_input() -> None:
    said = [Said(role, word * 9_000) for word in "abcd" for role in ("user", "assistant")]
    messages = history("q" * 8_000, said)
    assert messages[-1]["content"][0] == "q"
    assert [m["role"] for m in messages[:-1]] == ["user", "assistant"] * ((len(messages) - 1) // 2)
    assert sum(len(m["content"]) for m in messages) <= 22_000
    assert messages[-2]["content"] == "d" * 4_000
    assert history("q" * 20_000, said[-1:]) == [{"role": "user", "content": "q" * 20_000}]
