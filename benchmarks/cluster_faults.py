"""Do to a cluster what a bad day does: kills at random and at exact moments, and failing stores.

The exact moments are those at which most would be lost: right after the last byte of a streamed
answer, and after a step's writes are kept but before its checkpoint is (`put_writes`, `put`).
"""

import asyncio
import contextlib
import os
import random
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
from tests.conformance.cluster import Instance
from tools.cluster import Whole

from benchmarks.processes import process_at
from benchmarks.standins import Call, Standins

LAST_TASKS = ("answer", "deep_report", "dossier", "team_synthesize")
"""Whose answers are streamed to who asked."""
_AFTER_LAST_BYTE = (0.0, 0.0, 0.002, 0.005, 0.01, 0.02, 0.05)
_EXACT_SECONDS = 120.0
"""At most until the moment comes."""
_GATE = 8039
_CLOSABLE = (
    f"""CREATE FUNCTION tell_and_wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    PERFORM set_config('application_name', coalesce(NEW.parent_checkpoint_id, ''), false);
    PERFORM pg_advisory_xact_lock_shared({_GATE});
    RETURN NEW;
END $$""",
    "CREATE TRIGGER waits BEFORE INSERT ON public.checkpoints"
    " FOR EACH ROW EXECUTE FUNCTION tell_and_wait()",
)
_WAITING = (
    "SELECT pid, client_port FROM pg_stat_activity AS a JOIN pg_locks AS l USING (pid)"
    f" WHERE l.locktype = 'advisory' AND l.objid = {_GATE} AND NOT l.granted"
    " AND EXISTS (SELECT 1 FROM public.checkpoint_writes AS w"
    " WHERE w.checkpoint_id = a.application_name)"
)
DISK_FULL = "agent, disk full"
_FULL_SECONDS = 20.0
_CLOSED_SECONDS = 0.5
_NO_SPACE = "No space left on device"


@dataclass
class Asked:
    """One question and what came of it."""

    assistant: str
    thread: str
    error: str = ""
    seconds: float = 0.0
    answers: int = 0


@dataclass
class Course:
    """What happened: questions, calls of the stand-ins, and what was done to the cluster."""

    asked: list[Asked] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    kills: list[float] = field(default_factory=list)
    faults: Counter[str] = field(default_factory=Counter)
    notes: dict[str, str] = field(default_factory=dict)
    busy: bool = True
    row: str = ""
    """Where the questions of now are counted, if not with their assistant."""


class Killer:
    """Do it, and start again what died."""

    def __init__(self, whole: Whole, standins: Standins, course: Course, seed: int) -> None:
        self._whole, self._standins, self._course = whole, standins, course
        self._random = random.Random(seed)

    async def kill(self, count: int) -> None:
        """kill -9 at random moments, one instance or two at once, `count` in all."""
        done = 0
        while done < count:
            await asyncio.sleep(self._random.uniform(0.2, 3.0))
            several = 2 if self._random.random() < 0.15 else 1
            chosen = self._random.sample(self._whole.cluster.instances, several)
            self._course.kills.append(time.monotonic())
            for instance in chosen:
                await asyncio.to_thread(instance.kill)
            self._course.faults["kill -9"] += several
            await asyncio.sleep(self._random.uniform(0, 1))
            for instance in chosen:
                await self._start(instance)
            done += several
            _say(f"killed {done} of {count}")

    async def kill_after_last_byte(self, count: int) -> None:
        """kill -9 who has just been sent the last byte of a streamed answer, at most 50 ms ago."""
        for number in range(count):
            before = len(await asyncio.to_thread(self._standins.killed))
            seconds = self._random.choice(_AFTER_LAST_BYTE)
            await asyncio.to_thread(self._standins.kill_next, LAST_TASKS, seconds)
            if not await asyncio.to_thread(self._died):
                _say("no answer ended in time")
                await asyncio.to_thread(self._standins.kill_next, (), 0)
                continue
            self._course.kills += (await asyncio.to_thread(self._standins.killed))[before:]
            self._course.faults["kill -9 0–50 ms after the last byte"] += 1
            await self._revive()
            _say(f"killed {number + 1} of {count} after the last byte")

    async def kill_before_put(self, count: int) -> None:
        """kill -9 who has kept a step's writes (`put_writes`) and not yet its checkpoint (`put`).

        The database holds every checkpoint back until one waits whose parent has writes. Its
        statement dies with the instance, so that it is never kept.
        """
        with psycopg.connect(self._whole.cluster.database, autocommit=True) as gate:
            for statement in _CLOSABLE:
                gate.execute(statement.encode())
        for number in range(count):
            await asyncio.sleep(self._random.uniform(0.2, 2.0))
            if await asyncio.to_thread(self._kill_at_gate):
                self._course.faults["kill -9 between put_writes and put"] += 1
                await self._revive()
                _say(f"killed {number + 1} of {count} before put")

    def _kill_at_gate(self) -> bool:
        until = time.monotonic() + _EXACT_SECONDS
        with psycopg.connect(self._whole.cluster.database, autocommit=True) as gate:
            while time.monotonic() < until:
                gate.execute("SELECT pg_advisory_lock(%s)", (_GATE,))
                if self._kill_who_waits(gate):
                    return True
                # Each instance may wait for a first checkpoint, which has no writes before it.
                gate.execute("SELECT pg_advisory_unlock(%s)", (_GATE,))
                time.sleep(self._random.uniform(0.05, 0.5))
        return False

    def _kill_who_waits(self, gate: psycopg.Connection[Any]) -> bool:
        until = time.monotonic() + _CLOSED_SECONDS
        while time.monotonic() < until:
            waiting = gate.execute(_WAITING.encode()).fetchall()
            pids = {process_at(port, self._whole.postgres.port) for _, port in waiting}
            for instance in self._whole.cluster.instances:
                if instance.process is not None and instance.process.pid in pids:
                    self._course.kills.append(time.monotonic())
                    instance.kill()
                    for backend, _ in waiting:
                        gate.execute("SELECT pg_terminate_backend(%s)", (backend,))
                    return True
            time.sleep(0.005)
        return False

    def _died(self) -> bool:
        """Wait until an instance has; return False if none does."""
        until = time.monotonic() + _EXACT_SECONDS
        while time.monotonic() < until:
            for instance in self._whole.cluster.instances:
                if instance.process is not None and instance.process.poll() is not None:
                    return True
            time.sleep(0.02)
        return False

    async def _revive(self) -> None:
        for instance in self._whole.cluster.instances:
            if instance.process is None or instance.process.poll() is not None:
                await self._start(instance)

    async def _start(self, instance: Instance) -> None:
        instance.start()
        await asyncio.to_thread(instance.ready)

    async def fail_stores(self) -> None:
        """Kill Redis, restart Postgres, and tell each instance to end, once."""
        redis, postgres = self._whole.cluster.redis, self._whole.postgres
        self._course.kills.append(time.monotonic())
        await asyncio.to_thread(redis.kill)
        await asyncio.sleep(4)
        redis.start()
        self._course.faults["Redis killed, back after 4 s"] += 1
        await asyncio.sleep(8)
        self._course.kills.append(time.monotonic())
        await asyncio.to_thread(postgres.stop)
        await asyncio.to_thread(postgres.start)
        self._course.faults["Postgres stopped at once and started"] += 1
        await asyncio.sleep(8)
        for instance in self._whole.cluster.instances:
            self._course.kills.append(time.monotonic())
            await asyncio.to_thread(instance.stop)
            await self._start(instance)
            self._course.faults["SIGTERM"] += 1

    async def fill_disk(self) -> None:
        """Leave Postgres no byte for a while, then give its disk back."""
        disk = self._whole.disk
        if disk is None:
            _say("no disk of Postgres' own could be mounted: it is not filled")
            return
        self._course.row = DISK_FULL
        log = self._whole.postgres.folder / "log"
        before = await asyncio.to_thread(log.read_text)
        await asyncio.sleep(5)
        self._course.kills.append(time.monotonic())
        await asyncio.to_thread(_fill, disk / "ballast")
        await asyncio.sleep(_FULL_SECONDS)
        self._course.row = ""
        (disk / "ballast").unlink()
        said = (await asyncio.to_thread(log.read_text))[len(before) :]
        self._course.faults[name := f"Postgres' disk full for {_FULL_SECONDS:.0f} s"] += 1
        self._course.notes[name] = (
            f"it said so {said.count(_NO_SPACE)} times, and ended {said.count('PANIC')} times"
        )
        if not await asyncio.to_thread(self._answers):
            await asyncio.to_thread(self._whole.postgres.start)
            self._course.notes[name] += "; a supervisor started it again"
        await self._revive()
        await asyncio.sleep(20)

    def _answers(self) -> bool:
        with contextlib.suppress(psycopg.Error), psycopg.connect(self._whole.cluster.database):
            return True
        return False


def _fill(path: Path) -> None:
    """Write a file that takes what the disk has left."""
    with path.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(bytes(1 << 20)):
            pass
    with path.open("ab", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(bytes(512)):
            pass
    os.sync()


def _say(words: str) -> None:
    print(f"  {words}", file=sys.stderr, flush=True)
