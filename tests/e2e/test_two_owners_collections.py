"""Collections of own documents: each owner reads theirs and the shared ones."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient

from tests.support.command_line import Cli
from tests.support.dev_server import DevServer, dev_server
from tests.support.mcp_client import connected, said, structured
from tests.support.two_owners import ALICE, BOB, KEYS

pytestmark = [pytest.mark.server]

WORD = "Zinnwald"
"""In every document, so that one query would find them all."""
DOCUMENTS = {
    "alices": ("--owner", "alice"),
    "bobs": ("--owner", "bob"),
    "both": ("--owner", "bob", "--shared"),
    "mine": (),
}
"""The collections and whose they are; the last is the operator's, as on a server without keys."""
READ_BY = {"alice": ["alices", "both"], "bob": ["bobs", "both"], "": ["both", "mine"]}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevServer]:
    with dev_server(tmp_path_factory.mktemp("server"), env=KEYS) as started:
        yield started


@pytest.fixture(scope="module")
def shell(server: DevServer, tmp_path_factory: pytest.TempPathFactory) -> Cli:
    """The operator's, beside the server; the documents are read in."""
    shell = Cli(tmp_path_factory.mktemp("shell"))
    shell.env.update(KEYS, TANLU_DATA_DIR=str(server.folder / "threads"))
    for name, whose in DOCUMENTS.items():
        file = Path(shell.folder, f"{name}.md")
        file.write_text(f"# Notes of {name}\n\n{WORD} lithium, as {name} has it.\n", "utf-8")
        done = shell.run("ingest", "--offline", file.name, "--collection", name, *whose)
        assert done.returncode == 0, done.stderr
    return shell


async def asked(client: LangGraphClient, **given: Any) -> tuple[dict[str, Any], str]:
    """The state after a question on the documents, and how the run failed."""
    question = {"messages": f"What do the notes say on {WORD} lithium?", **given}
    thread = await client.threads.create()
    context: Any = {"max_tasks": 1, "max_downloads": 0, "max_executor_rounds": 0}
    run: Any = await client.runs.wait(
        thread["thread_id"], "plan_execute", input=question, context=context, raise_error=False
    )
    return run, str(run.get("__error__", {}).get("message", ""))


@pytest.mark.parametrize(("owner", "key"), [("alice", ALICE), ("bob", BOB)])
async def test_a_run_reads_its_owner_s_and_the_shared_ones(
    server: DevServer, shell: Cli, owner: str, key: str
) -> None:
    async with get_client(url=server.url, api_key=key) as client:
        state, failure = await asked(client)
    assert failure == ""
    assert state["owner"] == owner
    assert sorted(set(state["readable"]) & DOCUMENTS.keys()) == READ_BY[owner]
    told = json.dumps(state, ensure_ascii=False)
    for name in DOCUMENTS:
        assert (f"as {name} has it" in told) == (name in READ_BY[owner]), name


async def test_another_s_collection_is_answered_as_one_that_is_not_there(
    server: DevServer, shell: Cli
) -> None:
    async with get_client(url=server.url, api_key=BOB) as client:
        told = {name: (await asked(client, collections=[name]))[1] for name in
                ("alices", "mine", "nothing")}  # fmt: skip
        _, own = await asked(client, collections=["both"])
    (answer,) = {text.replace(f"'{name}'", "?") for name, text in told.items()}
    assert answer.startswith("collections: There is no ?; there are: bobs, both")
    assert own == ""


@pytest.mark.parametrize(("owner", "key"), [("alice", ALICE), ("bob", BOB)])
async def test_search_and_fetch_over_mcp_see_the_same(
    server: DevServer, shell: Cli, owner: str, key: str
) -> None:
    """An id is no secret: whoever has another's is told that there is no such document."""
    ids: dict[str, str] = {}
    for each in (ALICE, BOB):
        async with connected(server.url, key=each) as session:
            found = structured(await session.call_tool("search", {"query": f"{WORD} lithium"}))
        for result in found["results"]:
            if result["id"].startswith("document:"):
                ids[result["title"].removeprefix("Notes of ")] = result["id"]
    assert sorted(ids) == ["alices", "bobs", "both"]
    async with connected(server.url, key=key) as session:
        for name, id in ids.items():
            fetched = await session.call_tool("fetch", {"id": id})
            if name in READ_BY[owner]:
                page = structured(fetched)
                assert f"as {name} has it" in page["text"]
                assert page["metadata"]["collection"] == name
            else:
                assert said(fetched) == "id: There is no such document."


@pytest.mark.parametrize("owner", ["alice", "bob", ""])
def test_a_search_from_the_command_line_sees_the_same(shell: Cli, owner: str) -> None:
    whose = ("--owner", owner) if owner else ()
    done = shell.run("search", "--offline", "--json", WORD, *whose)
    hits = json.loads(done.stdout)["hits"]
    assert sorted(hit["collection"] for hit in hits) == READ_BY[owner]


def test_what_is_another_s_is_not_there_for_a_search(shell: Cli) -> None:
    done = shell.run("search", "--offline", WORD, "--owner", "bob", "--collection", "alices")
    assert done.returncode == 2
    assert "There is no alices; there are: bobs, both." in done.stderr


@pytest.mark.parametrize("command", [("search", WORD), ("ingest", ".")])
def test_an_owner_without_a_key_is_refused_with_those_that_have_one(
    shell: Cli, command: tuple[str, ...]
) -> None:
    done = shell.run(*command, "--offline", "--owner", "carol")
    assert done.returncode == 2
    assert done.stderr == "tanlu: --owner: No key has the name carol; there are: alice, bob.\n"
