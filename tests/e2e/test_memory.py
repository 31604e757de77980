"""`tanlu memory` on a running server: each key's owner has their own."""

import json
from pathlib import Path
from typing import Any

import pytest
from langgraph_sdk import get_client

from tests.support.command_line import Cli, cli_fixture
from tests.support.dev_server import dev_server
from tests.support.two_owners import ALICE, BOB, KEYS

__all__ = ["cli_fixture"]
pytestmark = [pytest.mark.server, pytest.mark.slow]


async def test_what_one_owner_prefers_is_not_another_s_by_command_and_by_sdk(
    tmp_path: Path, cli: Cli
) -> None:
    with dev_server(tmp_path, env={**KEYS, "TANLU_MEMORY": "1"}) as server:

        def run(*words: str, key: str) -> Any:
            done = cli.run("memory", *words, "--json", "--url", server.url, TANLU_API_KEY=key)
            assert done.returncode == 0, done.stderr
            return json.loads(done.stdout)

        told = run("set", "home_city=Oulu", "diet=vegan", key=ALICE)
        assert (told["home_city"], told["on"]) == ("Oulu", False)
        assert run("show", key=BOB)["home_city"] == ""
        async with get_client(url=server.url, api_key=ALICE) as client:
            assert await client.http.get("/memory") == told
        wrong = cli.run("memory", "set", "budget=0", "--url", server.url, TANLU_API_KEY=BOB)
        assert (wrong.returncode, "budget" in wrong.stderr) == (2, True)
        assert run("forget", key=ALICE) == {"forgotten": True}
        assert run("show", key=ALICE)["home_city"] == ""
