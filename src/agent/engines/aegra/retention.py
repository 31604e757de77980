"""Delete threads on Aegra with all that belongs to them; old ones by one instance at a time."""

import asyncio
import logging
import sqlite3
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import httpx
import psycopg
from aegra_api.core.database import db_manager
from langgraph_sdk.errors import NotFoundError

from agent.core.errors import AgentError, StoreFailed
from agent.engines.aegra.checkpoints import PatientSaver
from agent.engines.aegra.thread_queue import LOCKS
from agent.retention import ThreadRemains
from agent.runs.engine import EVERYBODY, engine
from agent.runs.postgres_saver import OVERVIEW
from agent.runs.reply_cache import ReplyCache
from agent.runs.shares import Shares
from agent.runs.sql import ThreadSize
from agent.runs.threads import data_folder, memory_place
from agent.runs.workspace_store import WorkspaceStore
from agent.services import process_services
from agent.settings import RetentionSettings

log = logging.getLogger(__name__)
_PRUNE_SECONDS = 3600.0
_TURN = "(retention)"
"""No thread's id: of the lock of the instance that deletes."""
_OLD = (
    "SELECT thread_id, user_id FROM thread AS t"
    " WHERE updated_at < now() - make_interval(days => %s) AND NOT EXISTS"
    " (SELECT 1 FROM runs AS r WHERE r.thread_id = t.thread_id AND (r.status IN"
    " ('pending', 'running') OR r.updated_at >= now() - make_interval(days => %s)))"
    " ORDER BY updated_at"
)


class KeptThreads(PatientSaver):
    """Tell what is stored of all threads, and take a thread's evidence with it in each deletion."""

    evidence: ThreadRemains | None = None

    async def overview(self) -> Sequence[ThreadSize]:
        """Return what each thread takes, the one worked on last first."""
        return [ThreadSize(*row.values()) for row in await _rows(OVERVIEW)]

    async def adelete_thread(self, thread_id: str) -> None:
        """Remove a thread; who asked is told of it only when its evidence is gone."""
        if self.evidence is not None:
            await self.evidence.forget(thread_id)
        await super().adelete_thread(thread_id)


class Retention:
    """Delete threads older than TANLU_KEEP_DAYS, at the start and every hour."""

    def __init__(self) -> None:
        self._pruning: asyncio.Task[None] | None = None
        self._stores: tuple[ReplyCache, WorkspaceStore, Shares] | None = None

    def begin(self, threads: KeptThreads) -> None:
        """Begin once Aegra is connected."""
        where = memory_place()
        self._stores = ReplyCache(where), WorkspaceStore(where), Shares(where)
        threads.evidence = ThreadRemains(
            threads,
            *self._stores,
            papers=data_folder() / "papers",
            knowledge=lambda: process_services().knowledge(),
        )
        self._pruning = asyncio.create_task(_prune_regularly(threads.evidence), name="retention")

    async def aclose(self) -> None:
        """End, also in the middle of a deletion: the next hour goes on with it."""
        if self._pruning is not None:
            self._pruning.cancel()
            await asyncio.gather(self._pruning, return_exceptions=True)
        for store in self._stores or ():
            await store.aclose()


async def _prune_regularly(evidence: ThreadRemains) -> None:
    while True:
        try:
            if days := RetentionSettings().tanlu_keep_days:
                async with LOCKS.alone(_TURN):
                    await _prune(days)
                    await evidence.forget_uncited(days, datetime.now(UTC))
        except (AgentError, StoreFailed, psycopg.Error, sqlite3.Error, ValueError,
                httpx.HTTPError) as error:  # fmt: skip
            log.warning("old threads are not deleted now: %s", error)
        await asyncio.sleep(_PRUNE_SECONDS)


async def _prune(days: int) -> None:
    """Delete the threads on which nobody worked for so many days, as their owners would."""
    for row in await _rows(_OLD, days, days):
        owner = "" if row["user_id"] == EVERYBODY else str(row["user_id"])
        async with engine().client(owner) as client:
            try:
                await client.threads.delete(row["thread_id"])
            except NotFoundError:
                continue
        log.info("thread=%s is deleted: unused for %d days", row["thread_id"], days)


async def _rows(sql: str, *values: Any) -> list[Any]:
    assert db_manager.lg_pool is not None
    async with db_manager.lg_pool.connection() as connection:
        return list(await (await connection.execute(sql.encode(), values or None)).fetchall())
