"""A deep research whose server or command line is killed goes on and repeats nothing finished.

Every call of a run is counted by the services, which outlive it.
"""

import asyncio
import json
import os
import random
import re
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import NotFoundError

from agent.sample.model.reply import SampleModel
from tests.support.command_line import CANARY, Cli, cli_fixture, until
from tests.support.dev_server import DevServer, dev_server
from tests.support.served import Served, serving
from tests.support.standins import GeminiService, TavilyService

__all__ = ["cli_fixture"]
pytestmark = [pytest.mark.server, pytest.mark.slow]
LAKE = "西湖一日游：交通、门票、餐饮"
CONTEXT = {"geo_routing": "never", "web_search": "tavily", "small_topic_tokens": 0}
LATENCY = 0.12
SEED = 20261121


@pytest.fixture
def standins() -> Iterator[Served]:
    gemini = GeminiService(SampleModel(), key=CANARY, latency=lambda request, body: LATENCY)
    tavily = TavilyService(key=CANARY, latency=lambda request, body: LATENCY)
    with serving(gemini, tavily) as running:
        yield running


def asked(standins: Served) -> Counter[str]:
    """How often each call arrived; the stand-in numbers its tool calls anew each time."""
    calls: Counter[str] = Counter()
    for name in ("gemini", "tavily"):
        for request in standins.requests(name):
            if request.method == "GET":
                continue
            body = re.sub(r"call-\d+", "call", json.dumps(request.body, sort_keys=True))
            calls[f"{name} {request.path} {body}"] += 1
    return calls


def kind(call: str) -> str:
    """`search`, `extract`, or the task of one of our prompts."""
    # Review and revision begin as the draft does.
    if phase := re.search(r"<phase>(\w+)<", call):
        return phase[1]
    found = re.match(r"tavily /(\w+)", call) or re.search(r"<task>(\w+)<", call)
    assert found, call[:200]
    return found[1]


def unfinished(standins: Served, folder: Path) -> int:
    """How many calls had been sent whose replies were not yet kept when the process died.

    What it sent last, stand-ins on a busy machine read after its death.
    """
    counts: list[int] = []

    def is_all_read() -> bool:
        for url in standins.urls.values():
            # On a busy machine this takes as long as what is waited for.
            httpx.get(url, trust_env=False, timeout=60)
        counts.append(asked(standins).total())
        return counts[-10:] == [counts[-1]] * 10

    until(is_all_read)
    return len(asked(standins)) - replies(folder)


def nothing_finished_was_repeated(standins: Served, lost: int) -> None:
    """Every call once, and `lost` ones, which a kill had cut off, again."""
    calls = asked(standins)
    kinds = Counter(kind(call) for call in calls)
    assert kinds["search"] == kinds["deep_compress"] == 4
    # What another topic has read is in the workspace.
    assert kinds["extract"] in (2, 3, 4)
    assert kinds["deep_report"] == kinds["review"] == kinds["revise"] == 1
    again = {call: times - 1 for call, times in calls.items() if times > 1}
    assert sum(again.values()) <= lost, Counter(kind(call) for call in again)


def replies(folder: Path) -> int:
    """Paid replies that would survive a crash now."""
    try:
        with closing(sqlite3.connect(folder / "runs.sqlite", timeout=10)) as database:
            return int(database.execute("SELECT count(*) FROM replies").fetchone()[0])
    except sqlite3.OperationalError:
        return 0


async def finished(client: LangGraphClient, thread_id: str) -> Any:
    """The thread's values once its report is there; a server just started may not know it yet."""
    async with asyncio.timeout(120):
        while True:
            with suppress(NotFoundError):
                state = await client.threads.get_state(thread_id)
                if (state["values"] or {}).get("report") and not state["next"]:
                    return state["values"]
            await asyncio.sleep(0.1)


async def test_a_server_killed_at_random_points_ends_the_research_by_itself(
    standins: Served, tmp_path: Path
) -> None:
    chance = random.Random(SEED)
    with dev_server(tmp_path / "server", env=standins.environment) as server:
        async with get_client(url=server.url) as client:
            thread = (await client.threads.create())["thread_id"]
            given: Any = {"messages": [{"role": "user", "content": LAKE}]}
            await client.runs.create(thread, "deep_research", input=given, context=CONTEXT)
        lost = 0
        for reached in sorted(chance.sample(range(3, 14), 3)):
            lost += await killed_after(server, reached, chance, standins)
        async with get_client(url=server.url) as client:
            values = await finished(client, thread)
    told = values["messages"][-1]["additional_kwargs"]
    assert [entry["topic"] for entry in values["search_results"]] == [
        "路线",
        "交通",
        "门票",
        "餐饮",
    ]
    assert (told["gaps"], told["degraded"]) == ([], False)
    nothing_finished_was_repeated(standins, lost)


async def killed_after(
    server: DevServer, calls: int, chance: random.Random, standins: Served
) -> int:
    """kill -9 at some moment after so many calls were paid; how many it cut off."""
    folder = server.folder / "threads"
    await asyncio.to_thread(until, lambda: replies(folder) >= calls)
    await asyncio.sleep(chance.uniform(0, LATENCY))
    server.kill()
    lost = unfinished(standins, folder)
    await asyncio.to_thread(server.start)
    return lost


@pytest.mark.parametrize("stage", ["extract", "deep_report"])
@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_a_killed_command_goes_on_with_its_thread(cli: Cli, standins: Served, stage: str) -> None:
    sets = [word for key, value in CONTEXT.items() for word in ("--set", f"{key}={value}")]
    deep = ("ask", "--assistant", "deep_research", *sets)
    process = cli.start(*deep, LAKE, **standins.environment)
    until(lambda: stage in {kind(call) for call in asked(standins)})
    process.kill()
    process.communicate(timeout=240)
    lost = unfinished(standins, cli.folder / "data")
    done = cli.run(*deep, "--json", "--thread", only_thread(cli), **standins.environment)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["gaps"] == []
    nothing_finished_was_repeated(standins, lost)


def only_thread(cli: Cli) -> str:
    with closing(sqlite3.connect(cli.folder / "data" / "runs.sqlite")) as database:
        (row,) = database.execute("SELECT thread_id FROM runs WHERE status = 'open'").fetchall()
    return str(row[0])
