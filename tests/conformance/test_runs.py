"""Runs behave alike on every engine: streams, threads, pauses, cancellation, one at a time."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import APIStatusError, ConflictError, NotFoundError

from tests.conformance.conftest import Served
from tests.support.mcp_client import connected, structured
from tests.support.two_owners import ALICE

pytestmark = [pytest.mark.server, pytest.mark.slow]
QUESTION = "How do sodium-ion batteries work?"
PLAIN = {"geo_routing": "never", "max_research_loops": 1}
MODES: Any = ["custom", "messages-tuple", "updates", "values"]


def asked(text: str = QUESTION) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}]}


async def state_of(client: LangGraphClient, thread: str) -> dict[str, Any]:
    return dict(await client.threads.get_state(thread))


async def kinds(client: LangGraphClient, thread: str) -> list[str]:
    values = (await state_of(client, thread))["values"]
    return [message["type"] for message in values["messages"]]


async def ended(client: LangGraphClient, thread: str, run: str) -> str:
    """Wait for a run to end; return its status."""
    async with asyncio.timeout(90):
        while True:
            row = await client.runs.get(thread, run)
            if row["status"] not in ("pending", "running"):
                return str(row["status"])
            await asyncio.sleep(0.1)


async def test_a_run_streams_progress_text_and_state(anna: LangGraphClient) -> None:
    thread = (await anna.threads.create())["thread_id"]
    parts = [
        (part.event, part.data)
        async for part in anna.runs.stream(
            thread, "agent", input=asked(), context=PLAIN, stream_mode=MODES
        )
    ]
    told = {data["type"] for event, data in parts if event == "custom"}
    assert {"queries", "answering", "done"} <= told
    text = "".join(data[0]["content"] for event, data in parts if event == "messages")
    last = [data for event, data in parts if event == "values"][-1]
    assert text
    assert text[:200] in last["messages"][-1]["content"]
    assert any("finalize_answer" in data for event, data in parts if event == "updates")
    assert await kinds(anna, thread) == ["human", "ai"]


async def test_a_stream_is_read_again_from_its_start_at_another_address(served: Served) -> None:
    async with served.client() as here, served.client(1) as there:
        thread = (await here.threads.create())["thread_id"]
        run = await here.runs.create(
            thread, "agent", input=asked(), context=PLAIN, stream_mode=MODES, stream_resumable=True
        )
        live = [part async for part in _joined(here, thread, run["run_id"])]
        again = [part async for part in _joined(there, thread, run["run_id"])]
    assert [part.event for part in again] == [part.event for part in live]
    texts = ["".join(_text(part) for part in parts) for parts in (live, again)]
    assert texts[0] == texts[1] != ""


def _joined(client: LangGraphClient, thread: str, run: str) -> Any:
    return client.runs.join_stream(thread, run, last_event_id="-1")


def _text(part: Any) -> str:
    return str(part.data[0]["content"]) if part.event == "messages" else ""


async def test_a_stream_goes_on_where_its_listener_was_at_another_address(served: Served) -> None:
    """Events that share an id with the last one heard may come again, none is missing."""
    async with served.client() as here, served.client(1) as there:
        thread = (await here.threads.create())["thread_id"]
        run = await here.runs.create(
            thread, "agent", input=asked(), context=PLAIN, stream_mode=MODES, stream_resumable=True
        )
        whole = [part async for part in _joined(here, thread, run["run_id"])]
        heard = whole[len(whole) // 2]
        last = max(n for n, part in enumerate(whole) if part.id == heard.id)
        rest = there.runs.join_stream(thread, run["run_id"], last_event_id=heard.id)
        missed = [part async for part in rest]
    assert [part.event for part in missed] == [part.event for part in whole[last + 1 :]]
    assert [_text(part) for part in missed] == [_text(part) for part in whole[last + 1 :]]


async def test_newer_clients_hear_a_run_by_the_event_protocol(anna: LangGraphClient) -> None:
    text, told, values = "", set(), {}
    async with anna.threads.stream(assistant_id="agent") as thread:
        await thread.run.start(input=asked(), config={"configurable": PLAIN})
        async for event in thread.subscribe(["messages", "custom", "values", "lifecycle"]):
            data = event["params"]["data"]
            if event["method"] == "messages" and data["event"] == "content-block-delta":
                text += data["delta"]["text"]
            elif event["method"] == "custom":
                # Aegra wraps what a graph tells, as the protocol's specification has it.
                told.add(data.get("payload", data)["type"])
            elif event["method"] == "values":
                values = data
    assert {"queries", "answering", "done"} <= told
    assert text[:200] in values["messages"][-1]["content"]
    assert text


async def test_a_follow_up_knows_the_conversation(anna: LangGraphClient) -> None:
    thread = (await anna.threads.create())["thread_id"]
    for text in (QUESTION, "And how long do they last?"):
        run = await anna.runs.create(thread, "agent", input=asked(text), context=PLAIN)
        assert await ended(anna, thread, run["run_id"]) == "success"
    assert await kinds(anna, thread) == ["human", "ai", "human", "ai"]


async def test_a_thread_keeps_the_last_checkpoint_of_its_turns(anna: LangGraphClient) -> None:
    thread = (await anna.threads.create())["thread_id"]
    first = ""
    for text in (QUESTION, "And how long do they last?"):
        run = await anna.runs.create(thread, "agent", input=asked(text), context=PLAIN)
        assert await ended(anna, thread, run["run_id"]) == "success"
        history = await anna.threads.get_history(thread, limit=50)
        assert len(history) == 1
        first = first or str(history[0]["checkpoint"]["checkpoint_id"])
    with pytest.raises(ConflictError, match="does not keep that checkpoint"):
        await anna.runs.create(thread, "agent", input=asked(), context=PLAIN, checkpoint_id=first)
    assert await kinds(anna, thread) == ["human", "ai", "human", "ai"]


async def test_a_plan_waits_for_its_review_and_goes_on_at_another_address(served: Served) -> None:
    context = {**PLAIN, "review_plan": True}
    async with served.client() as here, served.client(1) as there:
        thread = (await here.threads.create())["thread_id"]
        run = await here.runs.create(thread, "agent", input=asked(), context=context)
        await ended(here, thread, run["run_id"])
        assert (await state_of(there, thread))["interrupts"]
        assert (await there.threads.get(thread))["status"] == "interrupted"
        command: Any = {"resume": {"decisions": [{"type": "approve"}]}}
        run = await there.runs.create(thread, "agent", command=command, context=context)
        assert await ended(there, thread, run["run_id"]) == "success"
        assert await kinds(there, thread) == ["human", "ai"]


async def test_a_command_goes_on_from_an_earlier_run_only(anna: LangGraphClient) -> None:
    thread = (await anna.threads.create())["thread_id"]
    command: Any = {"goto": "finalize_answer"}
    resume: Any = {"resume": {"cancel": True}}
    for nothing in (command, resume):
        with pytest.raises(APIStatusError, match="no earlier run on this thread"):
            await anna.runs.create(thread, "agent", command=nothing, context=PLAIN)
    steps: list[dict[str, Any]] = [{"input": asked()}, {"command": command}]
    for step in steps:
        run = await anna.runs.create(thread, "agent", context=PLAIN, **step)
        assert await ended(anna, thread, run["run_id"]) == "success"
    assert await kinds(anna, thread) == ["human", "ai", "ai"]


async def test_a_run_is_stopped_from_another_address_and_the_thread_goes_on(served: Served) -> None:
    async with served.client() as here, served.client(1) as there:
        thread = (await here.threads.create())["thread_id"]
        run = await here.runs.create(thread, "deep_research", input=asked(), context={})
        await until(lambda: _status(here, thread, run["run_id"], "running"))
        await there.runs.cancel(thread, run["run_id"])
        assert await ended(here, thread, run["run_id"]) == "interrupted"
        run = await there.runs.create(thread, "agent", input=asked(), context=PLAIN)
        assert await ended(there, thread, run["run_id"]) == "success"


async def _status(client: LangGraphClient, thread: str, run: str, status: str) -> bool:
    return (await client.runs.get(thread, run))["status"] in (status, "success")


async def until(holds: Callable[[], Awaitable[bool]], seconds: float = 60) -> None:
    async with asyncio.timeout(seconds):
        while True:
            if await holds():
                return
            await asyncio.sleep(0.05)


async def test_a_client_that_hangs_up_does_not_stop_its_run(anna: LangGraphClient) -> None:
    thread = (await anna.threads.create())["thread_id"]
    async for part in anna.runs.stream(thread, "agent", input=asked(), context=PLAIN):
        if part.event == "metadata":
            break
    (run,) = await anna.runs.list(thread)
    assert await ended(anna, thread, run["run_id"]) == "success"


async def test_a_run_without_a_thread_answers(anna: LangGraphClient) -> None:
    values: Any = await anna.runs.wait(None, "agent", input=asked(), context=PLAIN)
    assert values["messages"][-1]["type"] == "ai"


async def test_questions_at_once_on_one_thread_are_answered_one_after_the_other(
    served: Served,
) -> None:
    """Where a thread takes no more, the client asks again, as ours do."""
    async with served.client() as here, served.client(1) as there:
        thread = (await here.threads.create())["thread_id"]

        async def ask(number: int) -> str:
            client = (here, there)[number % 2]
            async with asyncio.timeout(90):
                while True:
                    try:
                        run = await client.runs.create(
                            thread, "agent", input=asked(f"Question {number}"), context=PLAIN,
                            multitask_strategy="enqueue",
                        )  # fmt: skip
                        break
                    except ConflictError:
                        await asyncio.sleep(0.2)
            return await ended(client, thread, run["run_id"])

        assert await asyncio.gather(*map(ask, range(8))) == ["success"] * 8
        messages = (await state_of(here, thread))["values"]["messages"]
        rows = await here.runs.list(thread, limit=20)
    assert [message["type"] for message in messages] == ["human", "ai"] * 8
    in_order = sorted(rows, key=lambda row: row["created_at"])
    questions = [_question(dict(row)) for row in in_order]
    assert [m["content"] for m in messages if m["type"] == "human"] == questions


def _question(run: dict[str, Any]) -> str:
    given = run.get("kwargs") or run
    return str(given["input"]["messages"][-1]["content"])


async def test_a_busy_thread_refuses_who_asks_to_be_rejected(anna: LangGraphClient) -> None:
    thread = (await anna.threads.create())["thread_id"]
    run = await anna.runs.create(thread, "agent", input=asked(), context=PLAIN)
    with pytest.raises(ConflictError):
        await anna.runs.create(
            thread, "agent", input=asked(), context=PLAIN, multitask_strategy="reject"
        )
    assert await ended(anna, thread, run["run_id"]) == "success"
    assert await kinds(anna, thread) == ["human", "ai"]


async def test_a_deleted_thread_is_gone(anna: LangGraphClient) -> None:
    thread = (await anna.threads.create())["thread_id"]
    await anna.threads.delete(thread)
    with pytest.raises(NotFoundError):
        await anna.threads.get(thread)


async def test_mcp_answers_with_progress_and_goes_on_with_its_thread(served: Served) -> None:
    told: list[str] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        told.append(message or "")

    async with connected(served.urls[-1], key=ALICE) as session:
        first = structured(
            await session.call_tool("agent", {"question": QUESTION}, progress_callback=hear)
        )
        again = {"question": "How long do they last?", "thread_id": first["thread_id"]}
        second = structured(await session.call_tool("agent", again))
    assert first["sources"]
    assert told
    assert second["thread_id"] == first["thread_id"]


async def test_an_answer_is_exported_by_who_may_read_it(served: Served) -> None:
    async with served.client() as anna, served.http() as http, served.http(key="") as nobody:
        thread = (await anna.threads.create())["thread_id"]
        run = await anna.runs.create(thread, "agent", input=asked(), context=PLAIN)
        await ended(anna, thread, run["run_id"])
        path = f"/app/runs/{thread}/answer.md"
        assert QUESTION in (await http.get(path)).text
        assert (await nobody.get(path)).status_code == 401


async def test_items_of_the_store_are_kept(anna: LangGraphClient) -> None:
    await anna.store.put_item(["notes"], "k", {"v": 1})
    assert (await anna.store.get_item(["notes"], "k"))["value"] == {"v": 1}
    await anna.store.delete_item(["notes"], "k")


async def test_a_terminated_instance_ends_its_runs_or_hands_them_on(served: Served) -> None:
    if served.engine != "aegra":
        pytest.skip("one server: tests/e2e/test_server.py ends it")
    served.model.pace(seconds=0.3, tokens_per_second=200)
    async with served.client(1) as there:
        runs = [await _begun(served.client(number), number) for number in range(6)]
        await asyncio.to_thread(served.instances[0].stop)
        ends = [await ended(there, thread, run) for thread, run in runs]
        served.model.pace()
        served.instances[0].start()
        await asyncio.to_thread(served.instances[0].ready)
    async with served.client(0) as back:
        conversations = [await kinds(back, thread) for thread, _ in runs]
    assert ends == ["success"] * 6
    assert conversations == [["human", "ai"]] * 6


async def _begun(opened: LangGraphClient, number: int) -> tuple[str, str]:
    async with opened as client:
        thread = (await client.threads.create())["thread_id"]
        question = asked(f"How do sodium-ion batteries work in {number}?")
        run = await client.runs.create(thread, "agent", input=question, context=PLAIN)
        return thread, run["run_id"]
