"""A plan that waits is answered by the assistant that wrote it, and by no other of the thread."""

import os
from collections.abc import AsyncIterator, Iterator
from itertools import permutations
from typing import Any

import httpx
import pytest
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient

from agent.assistants.registry import ASSISTANTS
from agent.texts import say
from tests.support.command_line import Cli, cli_fixture
from tests.support.dev_server import DevServer, dev_server
from tests.support.terminal import terminal

__all__ = ["cli_fixture"]
pytestmark = [pytest.mark.server, pytest.mark.slow]
QUESTION = "宁德时代钠离子电池的技术路线与同行相比如何"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevServer]:
    with dev_server(tmp_path_factory.mktemp("server")) as started:
        yield started


@pytest.fixture
async def client(server: DevServer) -> AsyncIterator[LangGraphClient]:
    async with get_client(url=server.url) as opened:
        yield opened


async def waiting(client: LangGraphClient, assistant: str) -> str:
    thread: str = (await client.threads.create())["thread_id"]
    await client.runs.wait(
        thread, assistant, input={"messages": QUESTION}, context={"review_plan": True}
    )
    assert (await client.threads.get(thread))["status"] == "interrupted"
    return thread


@pytest.mark.parametrize("owner", list(ASSISTANTS))
async def test_another_assistant_is_refused_by_the_name_of_the_one_that_waits(
    client: LangGraphClient, owner: str
) -> None:
    thread = await waiting(client, owner)
    for one, other in permutations(ASSISTANTS, 2):
        if one != owner:
            continue
        with pytest.raises(httpx.HTTPStatusError) as refused:
            await client.runs.wait(
                thread, other, command={"resume": {"decisions": [{"type": "approve"}]}}
            )
        assert refused.value.response.status_code == 422
        assert say("faults.other_assistant", "en", assistant=owner) in str(refused.value.__notes__)
    assert (await client.threads.get(thread))["status"] == "interrupted"
    ended: Any = await client.runs.wait(thread, owner, command={"resume": {"cancel": True}})
    assert ended["cancelled"] is True
    assert (await client.threads.get(thread))["status"] == "idle"


@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal")
def test_a_command_with_another_assistant_says_whose_plan_waits(cli: Cli) -> None:
    env = cli.terminal_environment()
    ask = ("ask", "--offline", "--set", "review_plan=true")
    with terminal(*ask, QUESTION, folder=cli.folder, env=env) as first:
        first.expect("\n> ")
        assert first.interrupt() == 130
    thread = first.text.rsplit("--thread ", 1)[1].split()[0]
    other = (*ask, "--thread", thread, "--assistant", "team_answer")
    with terminal(*other, folder=cli.folder, env=env) as second:
        assert second.ends() == 1
        assert say("faults.other_assistant", "zh", assistant="agent") in second.text
        assert "Traceback" not in second.text
    with terminal(*ask, "--thread", thread, folder=cli.folder, env=env) as third:
        third.expect("\n> ")
        third.type("\n")
        assert third.ends() == 0, third.text
