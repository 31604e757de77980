"""Python's SDK, JavaScript's, an MCP client and `tanlu ask`: at a server with keys, and without.

A server without keys takes no notice of one that is sent.
"""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from langgraph_sdk import get_client
from langgraph_sdk.errors import AuthenticationError
from openai import AsyncOpenAI, BadRequestError
from openai import AuthenticationError as OpenAIKeyError

from tests.e2e.javascript import NEEDS_NODE, NODE, javascript_fixture
from tests.support.command_line import EN, NO_MAP, Cli, cli_fixture
from tests.support.command_line import KEYS as FIELDS
from tests.support.dev_server import DevServer, clean_environment, dev_server
from tests.support.mcp_client import HEADERS, connected, message, structured
from tests.support.two_owners import ALICE, BOB, KEYS

__all__ = ["cli_fixture", "javascript_fixture"]

pytestmark = [pytest.mark.server]

WRONG = "alice-key-0123456789abcdeX"
ASK: Any = {"messages": [{"role": "user", "content": EN}]}
CHEAP: Any = {"geo_routing": "never", "max_research_loops": 1}


@pytest.fixture(scope="module", name="keyed")
def keyed_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevServer]:
    with dev_server(tmp_path_factory.mktemp("keyed"), env=KEYS) as server:
        yield server


@pytest.fixture(scope="module", name="open_to_all")
def open_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevServer]:
    with dev_server(tmp_path_factory.mktemp("open")) as server:
        yield server


@pytest.fixture(params=["keyed", "open_to_all", "open_to_all without"])
def place(request: pytest.FixtureRequest) -> tuple[DevServer, str]:
    """A server, and the key that is sent there."""
    name, _, without = request.param.partition(" ")
    return request.getfixturevalue(name), "" if without else ALICE


async def test_python_s_sdk(place: tuple[DevServer, str]) -> None:
    server, key = place
    async with get_client(url=server.url, api_key=key or None) as client:
        thread = await client.threads.create()
        values: Any = await client.runs.wait(thread["thread_id"], "agent", input=ASK, context=CHEAP)
        assert values["messages"][-1]["additional_kwargs"]["sources"]
        assert await client.threads.search(ids=[thread["thread_id"]])


@pytest.mark.parametrize(
    "place", [pytest.param(p, marks=NEEDS_NODE) for p in ("keyed", "open_to_all")], indirect=True
)
def test_javascript_s_sdk(place: tuple[DevServer, str], javascript: Path) -> None:
    done = run_example(javascript, *place)
    assert done.returncode == 0, done.stderr
    assert "](http" in done.stdout


async def test_an_mcp_client(place: tuple[DevServer, str]) -> None:
    server, key = place
    async with connected(server.url, key=key) as session:
        tools = (await session.list_tools()).tools
        given = {"question": EN}
        first = structured(await session.call_tool("agent", given))
        again = {"question": EN, "thread_id": first["thread_id"]}
        second = structured(await session.call_tool("agent", again))
    assert "agent" in {tool.name for tool in tools}
    assert first["thread_id"] == second["thread_id"]
    async with get_client(url=server.url, api_key=key or None) as client:
        assert await client.threads.get(first["thread_id"])


async def test_openai_s_client(place: tuple[DevServer, str]) -> None:
    server, key = place
    async with AsyncOpenAI(base_url=f"{server.url}/v1", api_key=key or "any") as client:
        reply = await client.chat.completions.create(
            model="agent", messages=[{"role": "user", "content": EN}]
        )
    assert "](http" in (reply.choices[0].message.content or "")
    thread_id = (reply.model_extra or {})["tanlu"]["thread_id"]
    async with get_client(url=server.url, api_key=key or None) as client:
        assert await client.threads.get(thread_id)


async def test_a_thread_and_a_response_of_another_owner_are_none_for_openai_s_client(
    keyed: DevServer,
) -> None:
    url = f"{keyed.url}/v1"
    async with (
        AsyncOpenAI(base_url=url, api_key=ALICE, max_retries=0) as alice,
        AsyncOpenAI(base_url=url, api_key=BOB, max_retries=0) as bob,
    ):
        first = await alice.responses.create(model="agent", input=EN)
        with pytest.raises(BadRequestError, match="There is no such response"):
            await bob.responses.create(model="agent", input=EN, previous_response_id=first.id)
        mine = {"thread_id": (first.metadata or {})["thread_id"]}
        asked: Any = [{"role": "user", "content": EN}]
        with pytest.raises(BadRequestError, match="There is no such thread"):
            await bob.chat.completions.create(model="agent", messages=asked, metadata=mine)
        # The same conversation, word by word, is another owner's, and so another thread.
        said: Any = [*asked, {"role": "assistant", "content": first.output_text}, *asked]
        reply = await bob.chat.completions.create(model="agent", messages=said)
    assert (reply.model_extra or {})["tanlu"]["thread_id"] != mine["thread_id"]


async def test_a_wrong_key_is_an_authentication_error_of_openai_s_client(keyed: DevServer) -> None:
    async with AsyncOpenAI(base_url=f"{keyed.url}/v1", api_key=WRONG, max_retries=0) as client:
        with pytest.raises(OpenAIKeyError, match="This key is not known"):
            await client.models.list()


def test_the_command_line(place: tuple[DevServer, str], cli: Cli) -> None:
    server, key = place
    env = {"TANLU_API_KEY": key} if key else {}
    done = cli.run("ask", "--url", server.url, "--json", *NO_MAP, EN, **env)
    assert done.returncode == 0, done.stderr
    assert list(json.loads(done.stdout))[: len(FIELDS)] == FIELDS


@pytest.mark.parametrize(
    ("sent", "told"), [(WRONG, "This key is not known"), ("", "A key is needed")]
)
async def test_a_wrong_key_is_said_plainly_to_every_sdk(
    keyed: DevServer, sent: str, told: str
) -> None:
    async with get_client(url=keyed.url, api_key=sent or None) as client:
        with pytest.raises(AuthenticationError, match=f"{told}.*: x-api-key"):
            await client.threads.create()
    headers = {**HEADERS, "authorization": f"Bearer {sent}"} if sent else HEADERS
    async with httpx.AsyncClient(
        base_url=keyed.url, headers=headers, trust_env=False, timeout=60
    ) as http:
        reply = await http.post("/mcp", json=message("tools/list", 1))
        assert reply.status_code == 401
        assert reply.json()["detail"].startswith(told)
        assert reply.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize(("sent", "told"), [(WRONG, "is not accepted by"), ("", "is needed by")])
def test_a_wrong_key_is_one_line_of_the_command_line(
    keyed: DevServer, cli: Cli, sent: str, told: str
) -> None:
    env = {"TANLU_API_KEY": sent} if sent else {}
    done = cli.run("ask", "--url", keyed.url, EN, **env)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"tanlu: TANLU_API_KEY {told} {keyed.url} (401).\n"


@pytest.mark.node
@pytest.mark.parametrize("_", [pytest.param(None, marks=NEEDS_NODE)])
def test_a_wrong_key_ends_a_javascript_example(keyed: DevServer, javascript: Path, _: None) -> None:
    done = run_example(javascript, keyed, WRONG)
    assert done.returncode == 1
    assert "401" in done.stderr
    assert WRONG not in done.stderr


def run_example(folder: Path, server: DevServer, key: str) -> subprocess.CompletedProcess[str]:
    env = clean_environment(TANLU_URL=server.url, TANLU_API_KEY=key)
    return subprocess.run(
        [str(NODE), str(folder / "stream.mjs"), EN],
        cwd=folder, env=env, capture_output=True, encoding="utf-8", check=False, timeout=400,
    )  # fmt: skip
