"""Log accepted runs, which a restarted process must bring to their end.

A row is written when a run is accepted and closed when it ends. It belongs to the process that
works on it; whether that process lives is told by a lock that is dropped with it (`lease`).
Beside them, until its turn ends, is what a person asks of a run that goes on: it is written by
whoever serves the person and read by the process that works on the run, at each of its steps.
"""

import asyncio
import json
import logging
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from langgraph.types import Command
from typing_extensions import TypedDict

from agent.core.errors import InputError
from agent.core.redaction import is_secret, scrub
from agent.runs.lease import owner_in
from agent.runs.sql import KEEP_SECONDS, Place, SqlTables, open_database

log = logging.getLogger(__name__)

MAX_ATTEMPTS = 3
"""Times a run is taken up again after its process died."""

End = Literal["success", "error", "timeout", "interrupted", "cancelled", "failed"]

_COLUMNS = (
    "run_id, thread_id, assistant, input, context, options, url, earlier, attempts, accepted_at,"
    " owner, asker"
)
_SCHEMA = (
    """CREATE TABLE IF NOT EXISTS runs (
    run_id TEXT PRIMARY KEY, thread_id TEXT NOT NULL, assistant TEXT NOT NULL,
    input TEXT NOT NULL, context TEXT NOT NULL, options TEXT NOT NULL, url TEXT,
    earlier TEXT NOT NULL, attempts INTEGER NOT NULL, accepted_at DOUBLE PRECISION NOT NULL,
    owner TEXT NOT NULL, place TEXT NOT NULL, status TEXT NOT NULL,
    ended_at DOUBLE PRECISION, asker TEXT NOT NULL DEFAULT ''
)""",
    "CREATE INDEX IF NOT EXISTS runs_by_status ON runs (status, place, accepted_at)",
)
_AGAIN = ", ".join(
    f"{column} = excluded.{column}"
    for column in (*_COLUMNS.split(", ")[1:], "place", "status", "ended_at")
)


@dataclass(frozen=True)
class AcceptedRun:
    """Hold what is needed to begin a run again; plain JSON values only."""

    run_id: str
    thread_id: str
    assistant: str
    input: Any
    context: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    """Further arguments of the server's `runs.create` (command, checkpoint_id, …)."""
    url: str | None = None
    """The server it runs on, where that is not this process."""
    earlier: tuple[str, ...] = ()
    """Ids it had before it was begun again under the present one."""
    attempts: int = 0
    """Times it was taken up again."""
    accepted_at: float = 0.0
    owner: str = ""
    """The process that works on it."""
    asker: str = ""
    """Whose key it was asked with; empty where no keys are used."""

    @property
    def run_ids(self) -> tuple[str, ...]:
        return (*self.earlier, self.run_id)

    @property
    def graph_input(self) -> Any:
        """Return the graph's input, first time and again: the question, or a pause's answer."""
        resume = (self.options.get("command") or {}).get("resume")
        return self.input if resume is None else Command(resume=resume)


@dataclass(frozen=True)
class OpenRuns:
    """Count what has not ended."""

    open: int
    orphaned: int
    """Those whose process is gone."""
    processes: int
    """Living ones that work on some."""
    oldest: float
    """When the first orphaned one was accepted, in seconds since 1970; 0 without any."""


class RunLog:
    """Log the runs of one place: the command line (`cli`), or a server."""

    def __init__(
        self, where: Place, place: str = "cli", clock: Callable[[], float] = time.time
    ) -> None:
        self.place = place
        self._clock = clock
        self._owner = owner_in(where)
        self._database = open_database(where, self._prepare, stays=True)

    def _prepare(self, db: SqlTables) -> None:
        for statement in (*_SCHEMA, _WISHES_SCHEMA):
            db.execute(statement)
        # Tables of before there were keys.
        if "asker" not in [
            column[0] for column in db.execute("SELECT * FROM runs LIMIT 0").description
        ]:
            db.execute("ALTER TABLE runs ADD COLUMN asker TEXT NOT NULL DEFAULT ''")
        db.execute("DELETE FROM runs WHERE accepted_at < ?", (self._clock() - KEEP_SECONDS,))
        self._owner.open(db)

    async def accept(self, run: AcceptedRun) -> None:
        """Write down a run before it is worked on; keys are never stored."""
        row = (
            run.run_id, run.thread_id, run.assistant, _stored(run.input),
            _stored(_without_secrets(run.context)), _stored(run.options), run.url,
            _stored(list(run.earlier)), run.attempts, run.accepted_at or self._clock(),
            self._owner.id, self.place, "open", None, run.asker,
        )  # fmt: skip
        marks = ", ".join("?" * len(row))
        await self._database.run(
            lambda db: db.execute(
                f"INSERT INTO runs VALUES ({marks}) ON CONFLICT (run_id) DO UPDATE SET {_AGAIN}",  # noqa: S608
                row,
            )
        )

    async def finish(self, run_id: str, status: End = "success") -> None:
        """Close a run of ours; what was asked is not kept any longer."""
        await self._close(run_id, status, self._owner.id)

    async def _close(self, run_id: str, status: End, owner: str) -> None:
        # A run that another process took up since, as we seemed to be dead, is that one's to close.
        row = (status, self._clock(), run_id, owner)
        await self._database.run(
            lambda db: db.execute(
                "UPDATE runs SET status = ?, ended_at = ?, input = 'null', context = '{}',"
                " options = '{}' WHERE run_id = ? AND status = 'open' AND owner = ?",
                row,
            )
        )

    async def forget(self, thread_id: str) -> None:
        """Remove all that is known of a thread's runs, whoever works on them."""

        def work(db: SqlTables) -> None:
            for table in ("runs", "wishes"):
                db.execute(f"DELETE FROM {table} WHERE thread_id = ?", (thread_id,))  # noqa: S608

        await self._database.run(work)

    async def is_worked_on(self, thread_id: str) -> bool:
        """Return whether a living process, of any place, works on a run of the thread."""

        def work(db: SqlTables) -> bool:
            query = "SELECT owner FROM runs WHERE status = 'open' AND thread_id = ?"
            owners = {owner for (owner,) in db.execute(query, (thread_id,))}
            return bool(owners - self._owner.dead(db, owners))

        return await self._database.run(work)

    async def unfinished(self) -> list[AcceptedRun]:
        """Open runs of this place whose process is gone, oldest first."""

        def work(db: SqlTables) -> list[AcceptedRun]:
            runs = self._open_runs(db)
            dead = self._owner.dead(db, {run.owner for run in runs})
            return [run for run in runs if run.owner in dead]

        return await self._database.run(work)

    async def pending(self) -> OpenRuns:
        """Count the open runs of every place that has its runs here."""

        def work(db: SqlTables) -> OpenRuns:
            query = "SELECT owner, accepted_at FROM runs WHERE status = 'open'"
            rows = db.execute(query).fetchall()
            owners = {owner for owner, _ in rows}
            dead = self._owner.dead(db, owners)
            orphaned = [accepted_at for owner, accepted_at in rows if owner in dead]
            oldest = min(orphaned, default=0.0)
            return OpenRuns(len(rows), len(orphaned), len(owners - dead), oldest)

        return await self._database.run(work)

    async def latest(self) -> AcceptedRun | None:
        """Return the run of this place that was accepted last, open or ended; None without any."""

        def work(db: SqlTables) -> list[AcceptedRun]:
            rows = db.execute(
                f"SELECT {_COLUMNS} FROM runs WHERE place = ?"  # noqa: S608
                " ORDER BY accepted_at DESC LIMIT 1",
                (self.place,),
            )
            return [_run(row) for row in rows]

        return next(iter(await self._database.run(work)), None)

    async def working(self) -> list[AcceptedRun]:
        """Open runs of this process."""
        runs = await self._database.run(self._open_runs)
        return [run for run in runs if run.owner == self._owner.id]

    async def ends(self, run_ids: Collection[str]) -> dict[str, End]:
        """Return the ends of those of these runs that have ended, wherever that was."""
        marks = ", ".join("?" * len(run_ids))
        rows = await self._database.run(
            lambda db: db.execute(
                f"SELECT run_id, status FROM runs WHERE status != 'open' AND run_id IN ({marks})",  # noqa: S608
                tuple(run_ids),
            ).fetchall()
        )
        return dict(rows)

    async def lately_ended(self) -> list[tuple[str, str, str]]:
        """Return (thread, assistant, asker) of what others ended in their last half minute."""
        rows = await self._database.run(
            lambda db: db.execute(
                "SELECT DISTINCT thread_id, assistant, asker FROM runs AS r"
                " WHERE place = ? AND owner != ? AND status IN ('success', 'error', 'interrupted')"
                " AND ended_at > (SELECT max(ended_at) FROM runs WHERE owner = r.owner) - 30",
                (self.place, self._owner.id),
            ).fetchall()
        )
        return [(thread_id, assistant, asker) for thread_id, assistant, asker in rows]

    async def take(self, run: AcceptedRun) -> AcceptedRun | None:
        """Make a dead process's run ours; None if another was faster or it failed too often."""
        if run.attempts >= MAX_ATTEMPTS:
            log.warning("run=%s given up after %d attempts", run.run_id, run.attempts)
            await self._close(run.run_id, "failed", run.owner)
            return None
        mine = replace(run, owner=self._owner.id, attempts=run.attempts + 1)
        row = (mine.owner, mine.attempts, run.run_id, run.owner)
        taken = await self._database.run(
            lambda db: (
                db.execute(
                    "UPDATE runs SET owner = ?, attempts = ?"
                    " WHERE run_id = ? AND owner = ? AND status = 'open'",
                    row,
                ).rowcount
            )
        )
        return mine if taken else None

    async def rename(self, run: AcceptedRun, run_id: str) -> AcceptedRun:
        """Note the id under which it was begun again, as a server gives every run its own."""
        renamed = replace(run, run_id=run_id, earlier=run.run_ids)
        row = (run_id, _stored(list(renamed.earlier)), run.run_id)
        await self._database.run(
            lambda db: db.execute("UPDATE runs SET run_id = ?, earlier = ? WHERE run_id = ?", row)
        )
        return renamed

    async def aclose(self) -> None:
        """Let go of what is still open: the next process of this place takes it up."""
        await self._database.aclose()
        await asyncio.to_thread(self._owner.close)

    def _open_runs(self, db: SqlTables) -> list[AcceptedRun]:
        rows = db.execute(
            f"SELECT {_COLUMNS} FROM runs WHERE status = 'open' AND place = ?"  # noqa: S608
            " ORDER BY accepted_at, run_id",
            (self.place,),
        )
        return [_run(row) for row in rows]


def _run(row: tuple[Any, ...]) -> AcceptedRun:
    run_id, thread_id, assistant, question, context, options, url, earlier, *rest = row
    return AcceptedRun(
        run_id,
        thread_id,
        assistant,
        json.loads(question),
        json.loads(context),
        json.loads(options),
        url,
        tuple(json.loads(earlier)),
        *rest,
    )


def _stored(value: Any) -> str:
    return scrub(json.dumps(value, ensure_ascii=False))


def _without_secrets(context: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in context.items() if not is_secret(name)}


MOST_WISHES = 10
"""Of one turn."""
LONGEST_WISH = 500
"""Characters."""
_WISHES_SCHEMA = """CREATE TABLE IF NOT EXISTS wishes (
    turn_id TEXT NOT NULL, kind TEXT NOT NULL, text TEXT NOT NULL, thread_id TEXT NOT NULL,
    at DOUBLE PRECISION NOT NULL, PRIMARY KEY (turn_id, kind, text)
)"""


class Wish(TypedDict):
    """One thing that a person asks of a run: to look at something as well, or no more."""

    kind: Literal["wish", "drop"]
    text: str


class WishBox:
    """Keep the wishes of turns that go on, at most seven days."""

    def __init__(self, where: Place, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._database = open_database(where, self._prepare)

    def _prepare(self, tables: SqlTables) -> None:
        tables.execute(_WISHES_SCHEMA)
        tables.execute("DELETE FROM wishes WHERE at < ?", (self._clock() - KEEP_SECONDS,))

    async def put(self, thread_id: str, turn_id: str, wish: Wish) -> int:
        """Keep a wish, once; return how many more the turn takes.

        Raises InputError where there are too many, StoreFailed where it cannot be kept.
        """
        row = (turn_id, wish["kind"], wish["text"], thread_id, self._clock())

        def work(db: SqlTables) -> int:
            earlier = _wishes(db, turn_id)
            if wish in earlier:
                return MOST_WISHES - len(earlier)
            if len(earlier) >= MOST_WISHES:
                raise InputError(
                    wish["kind"], f"There are {MOST_WISHES} already, the most of a run"
                )
            db.execute("INSERT INTO wishes VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING", row)
            return MOST_WISHES - len(earlier) - 1

        return await self._database.run(work)

    async def of(self, turn_id: str) -> list[Wish]:
        """Return the wishes of a turn in the order in which they came."""
        return await self._database.run(lambda db: _wishes(db, turn_id))

    async def forget(self, turn_id: str) -> None:
        """Forget a turn that has ended."""
        await self._database.run(
            lambda db: db.execute("DELETE FROM wishes WHERE turn_id = ?", (turn_id,))
        )

    async def aclose(self) -> None:
        await self._database.aclose()


def _wishes(db: SqlTables, turn_id: str) -> list[Wish]:
    rows = db.execute("SELECT kind, text FROM wishes WHERE turn_id = ? ORDER BY at", (turn_id,))
    return [Wish(kind=kind, text=text) for kind, text in rows]
