"""`tanlu share` and the address it prints, on running servers: one without keys, one with."""

import json
import uuid
from typing import Any

import httpx
import pytest
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient

from tests.e2e.server_fixtures import client_fixture, server_fixture
from tests.support.command_line import EN, Cli, cli_fixture
from tests.support.dev_server import DevServer, dev_server
from tests.support.two_owners import ALICE, BOB, KEYS

__all__ = ["cli_fixture", "client_fixture", "server_fixture"]
pytestmark = [pytest.mark.server, pytest.mark.slow]
ASK: Any = {"messages": [{"role": "user", "content": EN}]}
CHEAP: Any = {"geo_routing": "never", "max_research_loops": 1}


def read(url: str) -> httpx.Response:
    return httpx.get(url, trust_env=False, timeout=60)


async def test_an_answer_is_shared_listed_and_withdrawn_and_goes_with_its_thread(
    server: DevServer, client: LangGraphClient, cli: Cli
) -> None:
    thread = (await client.threads.create())["thread_id"]
    early = cli.run("share", thread, "--url", server.url)
    assert (early.returncode, "There is no answer on this thread yet" in early.stderr) == (1, True)
    await client.runs.wait(thread, "agent", input=ASK, context=CHEAP)
    made = cli.run("share", thread, "--url", server.url, "--days", "2", "--json")
    assert made.returncode == 0, made.stderr
    url = json.loads(made.stdout)["url"]
    assert "Only this machine" in made.stderr
    assert EN in read(url).text
    assert cli.run("share", thread, "--url", server.url, "--list").stdout.startswith(url)
    assert cli.run("share", thread, "--url", server.url, "--withdraw").stdout == "withdrawn\n"
    assert read(url).status_code == 404
    again = cli.run("share", thread, "--url", server.url).stdout.partition(" ")[0]
    assert (read(again).status_code, again == url) == (200, False)
    await client.threads.delete(thread)
    assert read(again).status_code == 404


@pytest.mark.parametrize("given", ["nothing", str(uuid.UUID(int=7))])
def test_a_thread_that_is_none_is_one_line(server: DevServer, cli: Cli, given: str) -> None:
    done = cli.run("share", given, "--url", server.url)
    assert done.returncode in (1, 2)
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


async def test_with_keys_its_owner_alone_shares_and_everybody_reads(
    tmp_path_factory: pytest.TempPathFactory, cli: Cli
) -> None:
    audit = tmp_path_factory.mktemp("audit") / "log.jsonl"
    env = {**KEYS, "TANLU_SHARING": "on", "TANLU_AUDIT_LOG": str(audit)}
    with dev_server(tmp_path_factory.mktemp("shared"), env=env) as server:
        async with get_client(url=server.url, api_key=ALICE) as client:
            thread = (await client.threads.create())["thread_id"]
            await client.runs.wait(thread, "agent", input=ASK, context=CHEAP)
        refused = cli.run("share", thread, "--url", server.url, TANLU_API_KEY=BOB)
        assert (refused.returncode, "There is no such thread." in refused.stderr) == (1, True)
        made = cli.run("share", thread, "--url", server.url, TANLU_API_KEY=ALICE)
        url = made.stdout.partition(" ")[0]
        assert EN in read(url).text
        assert read(f"{server.url}/threads/{thread}/share").status_code == 401
        cli.run("share", thread, "--url", server.url, "--withdraw", TANLU_API_KEY=ALICE)
        assert read(url).status_code == 404
    rows = [json.loads(line) for line in audit.read_text("utf-8").splitlines()]
    told = [(row["event"], row["outcome"], row["owner"]) for row in rows if row["event"] != "run"]
    assert told == [
        ("share", "refused", "bob"),
        ("share", "accepted", "alice"),
        ("withdrawal", "accepted", "alice"),
    ]
    for told_in in (audit.read_text("utf-8"), server.output()):
        assert url.rpartition("/")[2] not in told_in
