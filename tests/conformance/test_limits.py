"""Each owner may begin so much, on every engine; what is begun and refused is written down."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.conformance.cluster import Instance
from tests.conformance.conftest import Served
from tests.conformance.test_runs import PLAIN, QUESTION, asked, ended
from tests.support.dev_server import dev_server
from tests.support.two_owners import ALICE, BOB

pytestmark = [pytest.mark.server, pytest.mark.slow]


@contextmanager
def limited(served: Served, folder: Path, **limits: str) -> Iterator[Served]:
    """A server with limits: of several instances one more, which shares what the others count."""
    if served.engine == "dev":
        with dev_server(folder, env={**served.env, **limits}) as server:
            yield Served("dev", [server.url], served.model)
        return
    env = {**served.env, **limits, "TANLU_DATA_DIR": str(folder / "data")}
    instance = Instance(served.instances[0].python, folder, env)
    instance.start()
    try:
        instance.ready()
        yield Served("aegra", [instance.url], served.model)
    finally:
        instance.stop()


def accepted(reply: httpx.Response) -> dict[str, Any]:
    assert reply.status_code == 200, reply.text
    return dict(reply.json())


async def begin(http: httpx.AsyncClient) -> httpx.Response:
    thread = accepted(await http.post("/threads", json={}))["thread_id"]
    body = {"assistant_id": "agent", "input": asked(), "context": PLAIN}
    return await http.post(f"/threads/{thread}/runs", json=body)


async def admitted(http: httpx.AsyncClient) -> dict[str, Any]:
    """Ask again until there is room."""
    async with asyncio.timeout(30):
        while True:
            if (reply := await begin(http)).status_code == 200:
                return accepted(reply)
            await asyncio.sleep(0.2)


def refused(reply: httpx.Response) -> str:
    """What the caller is told, who may try again in so many seconds."""
    assert reply.status_code == 429, reply.text
    assert int(reply.headers["retry-after"]) >= 1
    return str(reply.json()["detail"])


async def test_an_owner_s_open_runs_and_runs_a_minute_are_limited_and_written_down(
    served: Served, tmp_path: Path
) -> None:
    log = tmp_path / "audit.jsonl"
    limits = {"TANLU_OPEN_RUNS": "1", "TANLU_RUNS_PER_MINUTE": "2", "TANLU_AUDIT_LOG": str(log)}
    with limited(served, tmp_path / "limited", **limits) as strict:
        async with strict.http() as http, strict.client() as anna, strict.http(key=BOB) as bob:
            served.model.pace(seconds=1.0)
            first = accepted(await begin(http))
            assert "1" in refused(await begin(http))
            served.model.pace()
            assert (await begin(bob)).status_code == 200
            await ended(anna, first["thread_id"], first["run_id"])
            # One that was let in a moment ago counts as open, even if it has ended.
            second = await admitted(http)
            await ended(anna, second["thread_id"], second["run_id"])
            refused(await begin(http))
    rows = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    told = [(row["owner"], row["outcome"], row.get("status")) for row in rows]
    refusal = ("alice", "refused", 429)
    assert (told[1], told[-1]) == (refusal, refusal)
    assert [row for row in told if row != refusal] == [
        (owner, "accepted", None) for owner in ("alice", "bob", "alice")
    ]
    assert rows[0]["thread"] == first["thread_id"]
    assert not any(secret in log.read_text("utf-8") for secret in (QUESTION, ALICE, BOB))


async def test_who_has_spent_the_day_s_dollars_begins_nothing_more(
    served: Served, tmp_path: Path
) -> None:
    """Of several instances it does not matter by which."""
    with limited(served, tmp_path, TANLU_DAILY_USD="0.0000001") as strict:
        spending = strict if served.engine == "dev" else served
        async with spending.http() as http, spending.client() as anna:
            run = accepted(await begin(http))
            assert await ended(anna, run["thread_id"], run["run_id"]) == "success"
        async with strict.http() as http:
            refused(await begin(http))
