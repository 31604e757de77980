"""Instances are killed at random: no run is lost, each turn has one answer, nothing is paid twice.

One server alone is killed by tests/e2e/test_server_recovery.py and its neighbours.
"""

import asyncio
import random
import time
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from langgraph_sdk.errors import APIError

from tests.conformance.conftest import Served
from tests.conformance.test_runs import PLAIN, asked

pytestmark = [pytest.mark.server, pytest.mark.slow]
_AWAY = (httpx.HTTPError, APIError)
"""What a client sees of an instance that was killed; it asks another one."""


@dataclass
class Campaign:
    """Asks questions of all instances while one after the other is killed and started again."""

    served: Served
    seed: int
    runs: int = 10
    kills: int = 3
    killed: list[float] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)

    async def play(self) -> None:
        self.served.model.answered.clear()
        chance = random.Random(self.seed)
        killing = asyncio.create_task(self._kill(chance))
        try:
            await asyncio.gather(*(self._ask(number, chance) for number in range(self.runs)))
        finally:
            await killing

    async def _kill(self, chance: random.Random) -> None:
        for _ in range(self.kills):
            await asyncio.sleep(chance.uniform(0.3, 2.5))
            instance = chance.choice(self.served.instances)
            self.killed.append(time.monotonic())
            await asyncio.to_thread(instance.kill)
            instance.start()
            await asyncio.to_thread(instance.ready)

    async def _ask(self, number: int, chance: random.Random) -> None:
        await asyncio.sleep(chance.uniform(0, 4))
        thread, run = await self._begun(number)
        status = await self._ended(number, thread, run)
        state = await self._any(number, "threads", "get_state", thread)
        kinds = [message["type"] for message in (state["values"] or {}).get("messages", [])]
        self.names.append(run)
        if (status, kinds) != ("success", ["human", "ai"]):
            self.lost.append(f"{run} on {thread}: {status}, {kinds}")

    async def _begun(self, number: int) -> tuple[str, str]:
        # The sample knows the subject; the number tells the calls of one run from another's.
        question = asked(f"How do sodium-ion batteries work in {100 * self.seed + number}?")
        thread = (await self._any(number, "threads", "create"))["thread_id"]
        run = await self._any(
            number, "runs", "create", thread, "agent", input=question, context=PLAIN
        )
        return thread, run["run_id"]

    async def _ended(self, number: int, thread: str, run: str) -> str:
        async with asyncio.timeout(120):
            while True:
                row = await self._any(number, "runs", "get", thread, run)
                if row["status"] not in ("pending", "running"):
                    return str(row["status"])
                await asyncio.sleep(0.2)

    async def _any(self, number: int, part: str, call: str, *given: Any, **named: Any) -> Any:
        """Make a call of whichever instance answers."""
        async with asyncio.timeout(60):
            while True:
                async with self.served.client(number) as client:
                    try:
                        return await getattr(getattr(client, part), call)(*given, **named)
                    except _AWAY:
                        number += 1
                        await asyncio.sleep(0.1)


async def test_runs_of_killed_instances_end_once_and_nothing_is_paid_twice(
    served: Served,
) -> None:
    if served.engine != "aegra":
        pytest.skip("one server: tests/e2e/test_server_recovery.py kills it")
    served.model.pace(seconds=0.3, tokens_per_second=200)
    campaign = Campaign(served, seed=23)
    try:
        await campaign.play()
    finally:
        served.model.pace()
    assert campaign.lost == []
    assert len(campaign.names) == campaign.runs
    assert served.model.paid_again(campaign.killed, streamed=False) == {}
    assert served.model.paid_again(campaign.killed, streamed=True) == {}


async def test_runs_outlive_a_restart_of_their_database(served: Served) -> None:
    """It is back after a second; whoever held a connection has lost it."""
    if served.postgres is None:
        pytest.skip("one server: tests/integration/test_postgres.py cuts its connections")
    served.model.pace(seconds=0.3, tokens_per_second=200)
    campaign = Campaign(served, seed=41, runs=12, kills=0)
    playing = asyncio.create_task(campaign.play())
    try:
        await asyncio.sleep(3)
        await asyncio.to_thread(served.postgres.stop)
        await asyncio.to_thread(served.postgres.start)
        await playing
    finally:
        served.model.pace()
    assert campaign.lost == []
    assert len(campaign.names) == campaign.runs
