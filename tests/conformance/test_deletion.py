"""A deletion takes all of a thread; on Aegra one instance deletes what is old (TANLU_KEEP_DAYS).

On `langgraph dev`: tests/e2e/test_thread_deletion.py, tests/integration/test_retention.py.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psycopg
import pytest
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import NotFoundError

from agent.core.calls import Calls
from agent.knowledge.base import open_knowledge_base, own_meter
from agent.knowledge.types import Scope
from agent.settings import Settings
from tests.conformance.conftest import Served
from tests.conformance.test_runs import PLAIN, asked, ended, until
from tests.support.reading import simple_pdf

pytestmark = [pytest.mark.server, pytest.mark.slow]
_OLD = (
    "UPDATE thread SET updated_at = now() - interval '31 days' WHERE thread_id = %s",
    "UPDATE runs SET updated_at = now() - interval '31 days' WHERE thread_id = %s",
)
_LEFT = (
    "SELECT count(*) FROM thread WHERE thread_id = %(thread)s",
    "SELECT count(*) FROM runs WHERE thread_id = %(thread)s",
    "SELECT count(*) FROM checkpoints WHERE thread_id = %(thread)s",
    "SELECT count(*) FROM checkpoint_blobs WHERE thread_id = %(thread)s",
    "SELECT count(*) FROM checkpoint_writes WHERE thread_id = %(thread)s",
    "SELECT count(*) FROM tanlu.workspace WHERE thread = %(thread)s",
)
_READ = _LEFT[-1]


class House:
    """What an instance keeps in files, and the database of all."""

    def __init__(self, served: Served) -> None:
        self.folder = Path(served.instances[0].env["TANLU_DATA_DIR"])
        self.database = served.instances[0].env["DATABASE_URL"]
        self.knowledge = open_knowledge_base(Settings(tanlu_data_dir=self.folder), Calls())

    async def paper(self, name: str, pages: int) -> dict[str, Any]:
        """Keep a paper as a turn does; return how a message tells of it."""
        self.folder.mkdir(exist_ok=True)
        source = self.folder / f"{name}.source"
        source.write_bytes(simple_pdf(pages))
        url = f"https://papers.org/{name}"
        document = await self.knowledge.add_pdf(
            source, title=name, url=url, collection="papers", meter=own_meter(), shared=True
        )
        (self.folder / "papers").mkdir(exist_ok=True)
        source.rename(self.folder / "papers" / f"{document['sha256']}.pdf")
        return {"title": name, "url": url, "error": None}

    async def papers(self) -> tuple[list[str], int]:
        documents = await self.knowledge.documents(Scope(("papers",)))
        files = list((self.folder / "papers").glob("*.pdf"))
        return sorted(document["title"] for document in documents), len(files)

    def age(self, thread: str) -> None:
        with psycopg.connect(self.database) as connection:
            for statement in _OLD:
                connection.execute(statement.encode(), (thread,))

    def left(self, thread: str, *, of: Sequence[str] = _LEFT) -> int:
        with psycopg.connect(self.database) as connection:
            counts = [connection.execute(s.encode(), {"thread": thread}) for s in of]
            return sum(count.fetchone()[0] for count in counts)  # type: ignore[index]


async def answered(client: LangGraphClient, *papers: dict[str, Any]) -> str:
    thread = (await client.threads.create())["thread_id"]
    run = await client.runs.create(thread, "agent", input=asked(), context=PLAIN)
    assert await ended(client, thread, run["run_id"]) == "success"
    message = {"type": "ai", "content": "Read.", "additional_kwargs": {"papers": list(papers)}}
    await client.threads.update_state(thread, {"messages": [message]})
    return str(thread)


async def _is_gone(house: House, thread: str) -> bool:
    return not await asyncio.to_thread(house.left, thread)


async def test_old_threads_are_deleted_with_all_that_belongs_to_them(
    served: Served, anna: LangGraphClient, bo: LangGraphClient
) -> None:
    if served.engine != "aegra":
        pytest.skip(
            "langgraph dev: tests/e2e/test_thread_deletion.py, tests/integration/test_retention.py"
        )
    house = House(served)
    own, shown = await house.paper("own", 2), await house.paper("shown", 3)
    old, young = await answered(anna, own, shown), await answered(bo, shown)
    for thread in (old, young):
        assert await asyncio.to_thread(house.left, thread, of=[_READ])
    await asyncio.to_thread(house.age, old)
    (instance, *_) = served.instances
    await asyncio.to_thread(instance.stop)
    instance.start()
    await asyncio.to_thread(instance.ready)
    await until(lambda: _is_gone(house, old))
    with pytest.raises(NotFoundError):
        await anna.threads.get(old)
    assert await house.papers() == (["shown"], 1)
    await bo.threads.get(young)
    await bo.threads.delete(young)
    assert await asyncio.to_thread(house.left, young) == 0
    assert await house.papers() == ([], 0)
    await house.knowledge.aclose()
