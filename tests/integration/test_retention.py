"""Threads listed, shown and deleted with all that belongs to them, in files and in Postgres."""

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt

from agent.cli import main
from agent.core.calls import Calls
from agent.core.errors import AgentError
from agent.knowledge.base import KnowledgeBase, open_knowledge_base, own_meter
from agent.knowledge.types import Scope
from agent.retention import ThreadArchive, ThreadRemains
from agent.runs.run_log import RunLog
from agent.runs.sql import Place
from agent.runs.threads import Threads, open_threads, run_config
from agent.runs.workspace_store import Room, Thing
from agent.settings import Settings
from tests.support.postgres import database_fixture, postgres_fixture, where_fixture
from tests.support.reading import simple_pdf
from tests.support.run_fixtures import a_run

__all__ = ["database_fixture", "postgres_fixture", "where_fixture"]


class State(MessagesState, total=False):
    turn: dict[str, Any]


class House:
    """A place with threads, and the archive over it."""

    def __init__(self, threads: Threads, folder: Path) -> None:
        self.threads, self.folder = threads, folder
        settings = Settings(tanlu_data_dir=folder)
        self.knowledge: KnowledgeBase = open_knowledge_base(settings, Calls())
        self.evidence = ThreadRemains(
            threads.saver, threads.reply_cache, threads.workspace, threads.shares,
            papers=folder / "papers", knowledge=lambda: self.knowledge,
        )  # fmt: skip
        self.archive = ThreadArchive(threads.saver, threads.runs, self.evidence)

    async def answered(self, question: str, *, asks: str = "", **fields: Any) -> str:
        """Run a turn on a thread of its own; `asks` has it wait for a person."""

        def answer(_: State) -> dict[str, Any]:
            if asks:
                interrupt(asks)
            message = AIMessage("Yes.", additional_kwargs={"assistant": "agent", **fields})
            return {"messages": [message], "turn": {"id": f"turn-{question}"}}

        run = a_run(input={"messages": [("user", question)]})
        builder = StateGraph(State)
        builder.add_node("answer", answer)
        builder.add_edge(START, "answer")
        graph = builder.compile(checkpointer=self.threads.saver)
        await self.threads.runs.accept(run)
        await graph.ainvoke(run.input, run_config(run), durability="sync")
        await self.threads.runs.finish(run.run_id, "interrupted" if asks else "success")
        return run.thread_id

    async def paper(self, name: str, pages: int) -> dict[str, Any]:
        """A paper that is kept and read into the knowledge base; as a message tells of it."""
        source = self.folder / "source.pdf"
        source.write_bytes(simple_pdf(pages))
        document = await self.knowledge.add_pdf(
            source, title=name, url=f"https://papers.org/{name}", collection="papers",
            meter=own_meter(), shared=True,
        )  # fmt: skip
        (self.folder / "papers").mkdir(exist_ok=True)
        source.rename(self.folder / "papers" / f"{document['sha256']}.pdf")
        return {"title": name, "url": f"https://papers.org/{name}", "error": None}

    async def read(self, thread: str) -> None:
        thing = Thing("w", "example.org", "the whole page", "its title")
        await self.threads.workspace.keep(Room(thread, "alice", "turn"), [thing], most=1000)

    async def has_read(self, thread: str) -> bool:
        return bool(await self.threads.workspace.rows(Room(thread, "alice", "another turn")))

    async def papers(self) -> tuple[list[str], int]:
        documents = await self.knowledge.documents(Scope(("papers",)))
        files = list((self.folder / "papers").glob("*.pdf"))
        return sorted(document["title"] for document in documents), len(files)


@pytest.fixture(name="house")
async def house_fixture(where: Place, tmp_path: Path) -> AsyncIterator[House]:
    settings = (
        Settings(tanlu_data_dir=where) if isinstance(where, Path) else Settings(database_url=where)
    )
    async with open_threads(settings) as threads:
        house = House(threads, tmp_path)
        yield house
        await house.knowledge.aclose()


async def test_threads_are_listed_with_what_they_are_and_the_last_one_first(house: House) -> None:
    first = await house.answered("where?")
    second = await house.answered("and how?", asks="by which way?")
    rows = await house.archive.summaries(limit=10)
    found = [(row.thread_id, row.title, row.assistant, row.status, row.turns) for row in rows]
    assert found == [
        (second, "and how?", "", "waiting", 1),
        (first, "where?", "agent", "idle", 1),
    ]
    assert [row.thread_id for row in await house.archive.summaries(limit=1)] == [second]
    assert await house.archive.summaries(limit=10, owner="alice") == []
    assert all(row.updated_at.startswith(str(datetime.now(UTC).year)) for row in rows)


async def test_a_deletion_takes_all_of_a_thread_and_nothing_of_others(house: House) -> None:
    gone, kept = await house.answered("one"), await house.answered("two")
    for question in ("one", "two"):
        await house.threads.reply_cache.save(f"turn-{question}", "key", "paid")
    for thread in (gone, kept):
        await house.read(thread)
    one, two = [
        (await house.threads.shares.put(thread, "m1", "<p>é \x00</p>", days=1)).token
        for thread in (gone, kept)
    ]
    again = await house.threads.shares.put(kept, "m1", "<p>é, later</p>", days=2)
    assert (again.token, len(await house.threads.shares.of(kept))) == (two, 1)
    await house.archive.delete(gone)
    assert await house.threads.shares.page(one) is None
    assert str(await house.threads.shares.page(two)).startswith("<p>é")
    assert [row.thread_id for row in await house.archive.summaries(limit=10)] == [kept]
    assert await house.threads.reply_cache.load("turn-one", "key") is None
    assert await house.threads.reply_cache.load("turn-two", "key") == "paid"
    assert [await house.has_read(thread) for thread in (gone, kept)] == [False, True]
    assert (await house.threads.runs.latest()).thread_id == kept  # type: ignore[union-attr]
    with pytest.raises(AgentError, match="There is no thread"):
        await house.archive.delete(gone)


async def test_papers_go_with_the_last_thread_that_fetched_them(house: House) -> None:
    own, shared = await house.paper("own", 2), await house.paper("shared", 3)
    one = await house.answered("one", papers=[own, shared])
    two = await house.answered("two", papers=[shared])
    await house.archive.delete(one)
    assert await house.papers() == (["shared"], 1)
    await house.archive.delete(two)
    assert await house.papers() == ([], 0)


async def test_papers_of_a_thread_that_another_machine_deleted_go_when_they_are_old(
    house: House,
) -> None:
    own, shown = await house.paper("own", 2), await house.paper("shown", 3)
    one = await house.answered("one", papers=[own])
    await house.answered("two", papers=[shown])
    await house.threads.saver.adelete_thread(one)
    now = datetime.now(UTC)
    await house.evidence.forget_uncited(30, now + timedelta(days=29))
    assert await house.papers() == (["own", "shown"], 2)
    await house.evidence.forget_uncited(30, now + timedelta(days=31))
    assert await house.papers() == (["shown"], 1)


async def test_what_a_thread_that_another_machine_deleted_had_read_goes_when_it_is_old(
    house: House,
) -> None:
    gone, kept = await house.answered("one"), await house.answered("two")
    for thread in (gone, kept):
        await house.read(thread)
    await house.threads.saver.adelete_thread(gone)
    now = datetime.now(UTC)
    await house.archive.forget_uncited(30, now + timedelta(days=29))
    assert await house.has_read(gone)
    await house.archive.forget_uncited(30, now + timedelta(days=31))
    assert [await house.has_read(thread) for thread in (gone, kept)] == [False, True]


async def test_a_thread_on_which_a_run_works_is_not_deleted(house: House, where: Place) -> None:
    thread = await house.answered("busy")
    server = RunLog(where, "server")
    try:
        await server.accept(a_run(thread_id=thread))
        with pytest.raises(AgentError, match="stop it first"):
            await house.archive.delete(thread)
    finally:
        await server.aclose()
    await house.archive.delete(thread)
    assert await house.archive.summaries(limit=1) == []


async def test_what_is_old_is_told_by_the_last_checkpoint(house: House) -> None:
    threads = [await house.answered(name) for name in ("one", "two")]
    now = datetime.now(UTC)
    assert await house.archive.older_than(30, now) == []
    assert await house.archive.older_than(30, now + timedelta(days=30, seconds=5)) == threads
    assert await house.archive.older_than(30, now + timedelta(days=29, hours=23)) == []


def test_the_command_lists_shows_and_deletes_what_the_folder_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TANLU_DATA_DIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)

    def run(*words: str, code: int = 0) -> dict[str, Any]:
        capsys.readouterr()
        assert main(["threads", *words, "--json"]) == code
        printed: dict[str, Any] = json.loads(capsys.readouterr().out or "{}")
        return printed

    assert main(["ask", "--offline", "-q", "--set", "max_research_loops=1", "What is a heap?"]) == 0
    (row,) = run("list")["threads"]
    assert (row["title"], row["assistant"], row["turns"]) == ("What is a heap?", "agent", 1)
    shown = run("show", row["thread_id"])["messages"]
    assert [message["type"] for message in shown] == ["human", "ai"]
    assert run("prune", "--days", "1") == {"deleted": []}
    assert run("prune", code=2) == {}
    assert run("delete", row["thread_id"], "nonsense", code=1) == {"deleted": [row["thread_id"]]}
    assert run("list") == {"threads": []}
