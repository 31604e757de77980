"""Limits of owners on a real server, whichever way runs are asked for."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import httpx
import pytest
from openai import AsyncOpenAI, RateLimitError

from tests.support.dev_server import REPOSITORY, DevServer, dev_server
from tests.support.mcp_client import connected, said
from tests.support.probe_service import Probe, probe_service

pytestmark = [pytest.mark.server]
KEYS = {
    "alice": "alice-key-0123456789",
    "bob": "bob-key-0123456789abc",
    "carl": "carl-key-0123456789ab",
    "dora": "dora-key-0123456789ab",
    "emil": "emil-key-0123456789ab",
}
PER_MINUTE = 4


@dataclass
class House:
    server: DevServer
    probe: Probe

    def ask(self, who: str, thread: str, question: str) -> httpx.Response:
        """Begin a run on a thread, made if need be; its reply does not wait for the end."""
        body: dict[str, Any] = {"assistant_id": "owner", "if_not_exists": "create"}
        body["input"] = {"messages": question}
        return httpx.post(
            f"{self.server.url}/threads/{thread}/runs",
            json=body, headers={"x-api-key": KEYS[who]}, timeout=60, trust_env=False,
        )  # fmt: skip


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with probe_service() as (probe, url):
        environment = {
            "PYTHONPATH": str(REPOSITORY),
            "PROBE_URL": url,
            "TANLU_API_KEYS": ",".join(f"{name}:{key}" for name, key in KEYS.items()),
            "TANLU_RUNS_PER_MINUTE": str(PER_MINUTE),
            "TANLU_OPEN_RUNS": "2",
        }
        config = {"graphs": {"owner": "tests.e2e.owner_graph:graph"}}
        folder = tmp_path_factory.mktemp("server")
        with dev_server(folder, env=environment, config=config) as started:
            yield House(started, probe)


def test_open_runs_and_runs_a_minute_are_limited_by_owner(house: House) -> None:
    threads = [str(uuid4()) for _ in range(3)]
    house.probe.held = {"one/whose", "two/whose"}
    for thread, question in zip(threads, ("one", "two"), strict=False):
        assert house.ask("alice", thread, question).status_code == 200
    house.probe.wait_until(lambda: len(house.probe.arrived) == 2, what="both runs")
    third = house.ask("alice", threads[2], "三个问题可以吗")
    assert (third.status_code, third.headers["retry-after"]) == (429, "5")
    assert third.json()["detail"].startswith("你已有 2 个问题在处理中")
    assert house.ask("bob", str(uuid4()), "bob's").status_code == 200
    house.probe.held = set()
    house.probe.wait_until(lambda: len(house.probe.answered) >= 3, what="their ends")
    replies = [house.ask("bob", str(uuid4()), f"more {n}") for n in range(2)]
    while not _is_paced(replies[-1]):
        assert len(replies) < 1000, replies[-1].text
        replies.append(house.ask("bob", str(uuid4()), f"more {len(replies)}"))
    assert [reply.status_code for reply in replies].count(200) == PER_MINUTE - 1
    assert 1 <= int(replies[-1].headers["retry-after"]) <= 60


def post(house: House, who: str, path: str, body: Any) -> httpx.Response:
    return httpx.post(
        f"{house.server.url}{path}",
        json=body, headers={"x-api-key": KEYS[who]}, timeout=60, trust_env=False,
    )  # fmt: skip


def busy(house: House, who: str) -> int:
    return len(post(house, who, "/threads/search", {"status": "busy", "limit": 100}).json())


def test_runs_without_a_thread_count_also_those_asked_for_at_once(house: House) -> None:
    house.probe.held = {f"held {n}/whose" for n in range(8)}
    bodies = [{"assistant_id": "owner", "input": {"messages": f"held {n}"}} for n in range(8)]
    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(lambda body: post(house, "carl", "/runs", body), bodies))
    assert sorted(reply.status_code for reply in replies) == [200] * 2 + [429] * 6
    assert busy(house, "carl") == 2
    house.probe.held = set()


def test_a_batch_counts_as_many_runs_as_it_has(house: House) -> None:
    house.probe.held = {f"batch {n}/whose" for n in range(10)}
    bodies = [{"assistant_id": "owner", "input": {"messages": f"batch {n}"}} for n in range(10)]
    reply = post(house, "dora", "/runs/batch", bodies)
    assert reply.status_code == 429
    assert busy(house, "dora") <= 2
    house.probe.held = set()


async def test_a_client_of_openai_s_api_and_a_search_over_mcp_meet_the_same_limit(
    house: House,
) -> None:
    url, key = house.server.url, KEYS["emil"]
    asked: Any = [{"role": "user", "content": "emil's"}]
    async with connected(url, key=key) as session:
        found = [await session.call_tool("search", {"query": "x"}) for _ in range(PER_MINUTE + 1)]
    assert "questions a minute" in said(found[-1])
    assert "questions a minute" not in said(found[0])
    async with AsyncOpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0) as client:
        for stream in (False, True):
            with pytest.raises(RateLimitError, match="questions a minute") as refused:
                await client.chat.completions.create(model="owner", messages=asked, stream=stream)
            assert 1 <= int(refused.value.response.headers["retry-after"]) <= 60


def _is_paced(reply: httpx.Response) -> bool:
    return reply.status_code == 429 and "questions a minute" in reply.json()["detail"]
