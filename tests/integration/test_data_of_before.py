"""Nothing a user has on disk or in Postgres is lost: data that an earlier commit wrote.

tests/fixtures/README.md tells what is in it and how it was written.
"""

import asyncio
import json
import os
import shutil
import tarfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from langgraph.types import Command
from langgraph_sdk import get_client
from pydantic import SecretStr
from tools.data_fixture import HOME, digest

from agent.assistants.registry import Graph, compiled
from agent.cli import main
from agent.configuration import configure
from agent.runs.sql import Place
from agent.runs.threads import open_saver
from agent.sample.model.reply import SampleModel
from agent.services import close_process_services
from tests.support.command_line import CANARY
from tests.support.dev_server import dev_server
from tests.support.mixed_files import EN, marker
from tests.support.postgres import PostgresServer, postgres_fixture, runs_of
from tests.support.recovery_lab import answered
from tests.support.served import serving
from tests.support.standins import GeminiService, TavilyService

__all__ = ["postgres_fixture"]
BOOKS = {
    "query": "王府井 书店",
    "map": {"intent": "nearby", "place": "王府井", "keywords": ["书店"]},
}
REVIEW = {"review_plan": True}
Captured = pytest.CaptureFixture[str]
ARCHIVE = Path(__file__).parents[1] / "fixtures" / "data-7a6e667.tar.xz"


@dataclass(frozen=True)
class Before:
    """Name a copy of one place, with the assistant, question and messages of each thread."""

    folder: Path
    where: Place
    threads: dict[str, dict[str, Any]]

    def config(self, name: str) -> Any:
        """Return the config of a thread."""
        return {"configurable": {"thread_id": self.threads[name]["thread_id"]}}

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment of a process that uses this place."""
        folder = {"TANLU_DATA_DIR": str(self.folder / "data")}
        if isinstance(self.where, Path):
            return folder
        return {**folder, "DATABASE_URL": self.where.get_secret_value()}


@pytest.fixture(scope="session", name="archive")
def archive_fixture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Unpack the archive, to be copied from."""
    folder = tmp_path_factory.mktemp("before")
    with tarfile.open(ARCHIVE) as archive:
        # Debian 12's Python 3.11.2 has no filters yet; the archive is our own.
        safely = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
        archive.extractall(folder, **safely)
    return folder


@pytest.fixture(name="files")
def files_fixture(monkeypatch: pytest.MonkeyPatch, archive: Path, tmp_path: Path) -> Before:
    """Copy the data folder and the lists of a server, which belongs to the folder it starts in.

    Commands of this process use them.
    """
    monkeypatch.setenv("TANLU_DATA_DIR", str(tmp_path / "data"))
    for name in ("data", "server"):
        shutil.copytree(archive / name, tmp_path / name)
    here = os.path.realpath(tmp_path / "server")
    runs_of(
        tmp_path / "data",
        f"UPDATE runs SET place = 'server {here}' WHERE place = 'server {HOME / 'server'}'",
    )
    return Before(tmp_path, tmp_path / "data", _manifest(archive)["files"])


@pytest.fixture(params=["files", "postgres"], name="before")
def before_fixture(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, archive: Path, tmp_path: Path
) -> Before:
    """Copy the data folder, then restore the database; commands of this process use it."""
    if request.param == "files":
        files: Before = request.getfixturevalue("files")
        return files
    postgres: PostgresServer = request.getfixturevalue("postgres")
    url = postgres.new_database()
    _restore(url, (archive / "postgres.sql").read_bytes())
    monkeypatch.setenv("DATABASE_URL", url)
    return Before(tmp_path, SecretStr(url), _manifest(archive)["postgres"])


def _manifest(archive: Path) -> dict[str, dict[str, dict[str, Any]]]:
    places: dict[str, dict[str, dict[str, Any]]] = json.loads(
        (archive / "manifest.json").read_text("utf-8")
    )
    return places


def _restore(url: str, dump: bytes) -> None:
    import psycopg

    with psycopg.connect(url) as connection:
        connection.execute(dump)


@contextmanager
def documents_in_place(archive: Path) -> Iterator[Path]:
    """Put the documents where they were read, for one test run of this machine at a time."""
    import fcntl

    documents = HOME / "documents"
    with HOME.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        shutil.rmtree(documents, ignore_errors=True)
        shutil.copytree(archive / "documents", documents)
        try:
            yield documents
        finally:
            shutil.rmtree(documents)
            # Only an empty one: the writer of a new fixture leaves its own there.
            with suppress(OSError):
                HOME.rmdir()


def run_json(capsys: Captured, *argv: str, code: int = 0) -> dict[str, Any]:
    """Run a command; return the object it prints with --json."""
    capsys.readouterr()
    ended = main([argv[0], "--json", *argv[1:]])
    out, err = capsys.readouterr()
    assert ended == code, err
    printed: dict[str, Any] = json.loads(out)
    return printed


@asynccontextmanager
async def open_graph(before: Before, name: str) -> AsyncIterator[Graph]:
    """Open the graph of a thread over the old data, in sample mode."""
    try:
        async with open_saver(before.where) as saver:
            yield compiled(before.threads[name]["assistant"], saver)
    finally:
        await close_process_services()


async def state_of(before: Before, name: str) -> Any:
    async with open_graph(before, name) as graph:
        return await graph.aget_state(before.config(name))


def as_written(known: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Return a thread's messages as the earlier commit read them."""
    data = [(message["type"], message["data"]) for message in known["messages"]]
    return [(kind, m["id"], m["content"], m["additional_kwargs"]) for kind, m in data]


def as_read(messages: list[Any]) -> list[tuple[Any, ...]]:
    return [(m.type, m.id, m.content, m.additional_kwargs) for m in messages]


async def test_every_thread_opens_with_its_messages_and_what_it_waits_for(before: Before) -> None:
    for name, known in before.threads.items():
        state = await state_of(before, name)
        assert as_read(state.values["messages"]) == as_written(known), name
        assert [waiting.value for waiting in state.interrupts] == known["waits"], name
        assert list(state.next) == known["next"], name
    texts = {
        name: [message["data"]["content"] for message in known["messages"]]
        for name, known in before.threads.items()
    }
    assert [len(texts[name]) for name in ("agent", "deep_research", "page")] == [4, 2, 2]
    assert [len(texts[name]) for name in ("waiting", "page_waiting", "server")] == [1, 1, 1]
    assert before.threads["interrupted"]["next"] == ["act"]
    assert "1934" in texts["team_answer"][-1]
    assert before.threads["waiting"]["waits"][0]["queries"][0]["map"]["place"] == "王府井"


@pytest.mark.node
def test_a_follow_up_question_knows_what_was_answered_before(
    before: Before, capsys: Captured
) -> None:
    thread = before.threads["agent"]["thread_id"]
    answer = run_json(capsys, "ask", "--offline", "--thread", thread, "王府井附近有什么书店？")
    assert "王府井书店" in [place["name"] for place in answer["places"]]
    messages = asyncio.run(state_of(before, "agent")).values["messages"]
    written = as_written(before.threads["agent"])
    assert [row[:3] for row in as_read(messages[:4])] == [row[:3] for row in written]
    # An answer before the last keeps what it cites; the rest of its evidence has left the thread.
    for message, (_, _, _, extras) in zip(messages[:4], written, strict=True):
        numbered = [source["url"] for source in extras.get("sources", []) if source["number"]]
        kept = message.additional_kwargs.get("sources", [])
        assert [source["url"] for source in kept] == numbered
        assert all(source["quotes"] for source in kept)
    assert [m.type for m in messages[4:]] == ["human", "ai"]


@pytest.mark.node
async def test_a_plan_that_waits_for_its_review_is_answered_and_goes_on(before: Before) -> None:
    resume: Any = Command(resume={"queries": [BOOKS]})
    async with open_graph(before, "waiting") as graph:
        config = before.config("waiting")
        state = await graph.ainvoke(resume, config, context=configure(REVIEW))  # type: ignore[arg-type]
    answer = state["messages"][-1]
    first = [query["query"] for query in state["queries"] if query["round"] == 1]
    assert first == [BOOKS["query"]]
    assert "王府井书店" in answer.text
    assert "王府井书店" in [place["name"] for place in answer.additional_kwargs["places"]]
    assert as_read(state["messages"][:1]) == as_written(before.threads["waiting"])


def test_the_interrupted_run_is_ended_by_the_next_start_and_pays_nothing_twice(
    before: Before, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = before.threads["interrupted"]
    asked = ("ask", "--assistant", "deep_research", "--thread", known["thread_id"])
    assert runs_of(before.where, "SELECT count(*) FROM replies") != [(0,)]
    gemini = GeminiService(SampleModel(), key=CANARY)
    with serving(gemini, TavilyService(key=CANARY)) as services:
        for name, value in services.environment.items():
            monkeypatch.setenv(name, value)
        answer = run_json(capsys, *asked)
        sent = {digest(request.body) for request in services.requests()}
    assert sent
    assert sent & set(known["answered"]) == set()
    assert "sodium" in answer["answer"]
    assert answer["sources"][0]["title"] == "[Sample] Sodium-ion batteries in brief"
    assert answer["gaps"] == []
    run = f"SELECT status, attempts FROM runs WHERE thread_id = '{known['thread_id']}'"
    assert runs_of(before.where, run) == [("success", 1)]


def test_the_knowledge_base_is_searched(
    files: Before, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    (hit, *_) = run_json(capsys, "search", marker(0))["hits"]
    assert (hit["title"], hit["page"], hit["path"]) == ("Report 0", 2, "documents/part0/file0.pdf")
    assert f"Here is {marker(0)}." in hit["text"]
    (row, *_) = run_json(capsys, "search", "--collection", "电池", marker(3))["hits"]
    assert (row["title"], row["kind"]) == ("Firm 3B", "csv")
    monkeypatch.setenv("EMBEDDING_MODEL", "tei:")
    (near, *_) = run_json(capsys, "search", "--offline", "--collection", "电池", EN)["hits"]
    assert EN in near["text"]


@pytest.mark.skipif(os.name != "posix", reason="absolute paths, and a lock of a file")
def test_documents_read_in_before_are_unchanged_and_a_changed_one_replaces_itself(
    files: Before, archive: Path, capsys: Captured
) -> None:
    with documents_in_place(archive) as documents:
        again = ("ingest", str(documents), "--collection", "电池")
        first = run_json(capsys, *again)
        (documents / "part1" / "file1.md").write_text("# Notes 1\n\nA wholly new note.\n", "utf-8")
        second = run_json(capsys, *again)
    assert (first["total"], first["unchanged"], first["read"]) == (4, 4, 0)
    assert (second["unchanged"], second["read"], second["failed"]) == (3, 1, 0)
    (hit,) = run_json(capsys, "search", "wholly")["hits"]
    assert hit["title"] == "Notes 1"
    assert main(["search", marker(1)]) == 1


@pytest.mark.node
def test_doctor_opens_it(before: Before, capsys: Captured) -> None:
    checks = {check["name"]: check for check in run_json(capsys, "doctor", "--offline")["checks"]}
    assert checks["threads"]["state"] == "ok"
    if isinstance(before.where, Path):
        knowledge = checks["knowledge base: sqlite"]
        assert knowledge["detail"] == "8 documents in 2 collections"


@pytest.mark.node
@pytest.mark.server
async def test_a_server_goes_on_with_what_one_before_it_had_accepted(before: Before) -> None:
    threads = {name: known["thread_id"] for name, known in before.threads.items()}
    with dev_server(before.folder / "server", env=before.environment) as server:
        async with get_client(url=server.url) as client:
            if isinstance(before.where, Path):
                (page,) = await client.threads.search(metadata={"asked_over": "page"})
                assert page["thread_id"] == threads["page"]
                assert (page["metadata"] or {})["title"] == before.threads["page"]["question"]
            continued: Any = await answered(client, threads["server"])
            resume: Any = {"resume": {"queries": [BOOKS]}}
            for name in ("page", "page_waiting"):
                await client.threads.create(
                    thread_id=threads[name], graph_id="agent", if_exists="do_nothing"
                )
            page_state: Any = await client.threads.get_state(threads["page"])
            reviewed: Any = await client.runs.wait(
                threads["page_waiting"], "agent", command=resume, context=REVIEW
            )
    assert [m["type"] for m in continued["values"]["messages"]] == ["human", "ai"]
    assert continued["values"]["messages"][-1]["additional_kwargs"]["sources"]
    last = before.threads["page"]["messages"][-1]["data"]
    assert page_state["values"]["messages"][-1]["content"] == last["content"]
    assert reviewed["search_query"][0] == BOOKS["query"]
    assert "王府井书店" in reviewed["messages"][-1]["content"]
    assert "Traceback" not in server.output()
