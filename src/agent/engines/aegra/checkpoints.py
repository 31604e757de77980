"""Keep Aegra's runs through a restart of the database.

Aegra gives a run up at the first statement that fails, and its pool offers the connections that
broke one after the other, with growing pauses, until a run that waits is given up as well.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

import psycopg
from aegra_api.core.database import db_manager
from aegra_api.services import run_executor
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from sqlalchemy.exc import DBAPIError

from agent.runs.postgres import error_line

T = TypeVar("T")
log = logging.getLogger(__name__)

PAUSES = (0.3, 1.0, 2.0, 4.0, 8.0)
"""Before each new attempt of what a lost connection broke off."""
_CHECK_SECONDS = 2.0
_LOST = (psycopg.OperationalError, DBAPIError, OSError)
"""What is raised where the database is away, by our driver and by Aegra's own."""
_STATUS = ("start_run", "finalize_run")
"""How a run's status is written; each changes it once, however often it is called."""


async def again(work: Callable[[], Awaitable[T]]) -> T:
    """Return what `work` returns, begun again where the connection was lost; it must bear that."""
    for pause in PAUSES:
        try:
            return await work()
        except _LOST as error:
            log.info("tried again in %g s: %s", pause, error_line(error))
            await asyncio.sleep(pause)
    return await work()


def _patient(work: Callable[..., Awaitable[T]]) -> Callable[..., Awaitable[T]]:
    async def attempts(*arguments: Any, **options: Any) -> T:
        return await again(lambda: work(*arguments, **options))

    return attempts


class PatientSaver(AsyncPostgresSaver):
    """Try again what a restart of the database broke off; its statements may be repeated."""

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the checkpoint of a config, or the last one of its thread."""
        return await again(lambda: AsyncPostgresSaver.aget_tuple(self, config))

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint; its config."""
        return await again(
            lambda: AsyncPostgresSaver.aput(self, config, checkpoint, metadata, new_versions)
        )

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Store what one task of a step wrote."""
        await again(
            lambda: AsyncPostgresSaver.aput_writes(self, config, writes, task_id, task_path)
        )


S = TypeVar("S", bound=PatientSaver)


class PatientPool:
    """Have Aegra's runs wait for their database, over a pool without connections that broke."""

    def __init__(self) -> None:
        self._checking: asyncio.Task[None] | None = None

    def begin(self, saver: type[S]) -> S:
        """Begin once Aegra is connected; runs that begin now have our saver, which is returned."""
        pool: Any = db_manager.lg_pool
        db_manager._checkpointer = saver(conn=pool)
        for name in _STATUS:
            setattr(run_executor, name, _patient(getattr(run_executor, name)))
        self._checking = asyncio.create_task(self._check(pool), name="pool")
        ours: S = db_manager._checkpointer
        return ours

    async def _check(self, pool: Any) -> None:
        while True:
            await asyncio.sleep(_CHECK_SECONDS)
            try:
                await pool.check()
            except psycopg.Error as error:
                log.info("the pool cannot be looked at now: %s", error_line(error))

    async def aclose(self) -> None:
        """End; the pool is Aegra's to close."""
        if self._checking is not None:
            self._checking.cancel()
            await asyncio.gather(self._checking, return_exceptions=True)
