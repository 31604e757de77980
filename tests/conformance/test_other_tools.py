"""OpenAI's API, `search` and `fetch`, and shared answers behave alike on both engines."""

import asyncio
from typing import Any

import pytest
from openai import AsyncOpenAI, BadRequestError

from tests.conformance.conftest import Served
from tests.support.command_line import EN
from tests.support.mcp_client import connected, structured
from tests.support.two_owners import ALICE, BOB

pytestmark = [pytest.mark.server, pytest.mark.slow]
ASK: Any = {"model": "agent", "messages": [{"role": "user", "content": EN}]}


def client_of(served: Served, number: int = 0, key: str = ALICE) -> AsyncOpenAI:
    url = served.urls[number % len(served.urls)]
    return AsyncOpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0)


async def test_a_conversation_goes_on_with_its_thread_on_whichever_instance(
    served: Served,
) -> None:
    async with client_of(served) as one, client_of(served, 1) as other:
        stream = await one.chat.completions.create(**ASK, stream=True)
        chunks = [chunk async for chunk in stream]
        text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
        told = [(c.model_extra or {}).get("tanlu") for c in chunks]
        (further,) = [each for each in told if each]
        said = [*ASK["messages"], {"role": "assistant", "content": text}]
        again: Any = [*said, {"role": "user", "content": "And are they cheaper?"}]
        reply = await other.chat.completions.create(model="agent", messages=again)
    assert "](http" in text
    assert (reply.model_extra or {})["tanlu"]["thread_id"] == further["thread_id"]


async def test_a_response_is_its_owner_s(served: Served) -> None:
    async with client_of(served) as alice, client_of(served, 1, BOB) as bob:
        first = await alice.responses.create(model="agent", input=EN)
        with pytest.raises(BadRequestError, match="There is no such response"):
            await bob.responses.create(model="agent", input=EN, previous_response_id=first.id)
        mine = {"thread_id": (first.metadata or {})["thread_id"]}
        with pytest.raises(BadRequestError, match="There is no such thread"):
            await bob.chat.completions.create(**ASK, metadata=mine)


async def test_hanging_up_cancels_the_run(served: Served) -> None:
    served.model.pace(seconds=2.0)
    before = len(served.model.requests)
    try:
        async with served.http() as http:
            asking = asyncio.create_task(
                http.post("/v1/chat/completions", json={**ASK, "user": "hangs up"})
            )
            while len(served.model.requests) == before:  # noqa: ASYNC110 - another process asks
                await asyncio.sleep(0.05)
            asking.cancel()
            await asyncio.wait([asking])
        async with served.client() as client, asyncio.timeout(60):
            (thread, *_) = await client.threads.search(metadata={"user": "hangs up"})
            while True:
                (run,) = await client.runs.list(thread["thread_id"])
                if run["status"] not in ("pending", "running"):
                    break
                await asyncio.sleep(0.1)
    finally:
        served.model.pace()
    assert run["status"] == "interrupted"


async def test_a_search_over_mcp_finds_what_fetch_reads(served: Served) -> None:
    async with connected(served.urls[0], key=ALICE) as session:
        names = [tool.name for tool in (await session.list_tools()).tools]
        found = await session.call_tool("search", {"query": EN})
    assert names[-2:] == ["search", "fetch"]
    assert found.isError or structured(found)["results"]


async def test_a_shared_answer_is_read_on_every_instance_and_goes_with_its_thread(
    served: Served,
) -> None:
    async with client_of(served) as alice:
        reply = await alice.chat.completions.create(**ASK)
    thread = (reply.model_extra or {})["tanlu"]["thread_id"]
    async with served.http() as mine, served.http(1, key="") as strangers:
        assert (await strangers.post(f"/threads/{thread}/share", json={})).status_code == 401
        made = await mine.post(f"/threads/{thread}/share", json={})
        address = f"/{made.json()['path']}"
        page = await strangers.get(address)
        assert (page.status_code, EN in page.text) == (200, True)
        assert (await mine.delete(f"/threads/{thread}")).status_code < 300
        assert (await strangers.get(address)).status_code == 404
    for instance in served.instances:
        assert address.rpartition("/")[2] not in instance.output()
